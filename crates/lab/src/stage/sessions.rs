//! Sessions of a stage besides those of trials: on the first server of its target, or on a chosen one.

use perbuck_database::Dialect;
use perbuck_load::driver::{Driver, Session, SessionId};
use perbuck_load::error::{Cause, DriverError, ErrorClass};
use perbuck_load::loader::{LoadError, on_loop};
use perbuck_load::values::Rows;

use super::Joined;
use crate::error::LabError;

impl<D: Driver, W, T> Joined<D, W, T> {
    /// Runs some work on a session of its own.
    pub(super) fn with_session<R>(
        &self,
        doing: &str,
        work: impl AsyncFnOnce(&mut D::Session) -> Result<R, LoadError>,
    ) -> Result<R, LabError> {
        let result = on_loop(async {
            let connected = self.driver.connect(SessionId(0)).await;
            let mut session = connected.map_err(|error| LoadError::Server { doing: doing.to_owned(), error })?;
            session.lift_timeout();
            let result = work(&mut session).await?;
            session.close().await;
            Ok(result)
        });
        result.map_err(|e| LabError::load(&self.title, &e))
    }

    /// Works on a session of its own with one of the servers.
    pub(super) fn with_host<R>(
        &self,
        host: u32,
        work: impl AsyncFnOnce(&mut D::Session) -> Result<R, DriverError>,
    ) -> Result<R, DriverError> {
        let server = |error| LoadError::Server { doing: String::new(), error };
        let done = on_loop(async {
            let mut session = self.driver.connect_at(SessionId(0), host).await.map_err(server)?;
            let done = work(&mut session).await.map_err(server)?;
            session.close().await;
            Ok(done)
        });
        done.map_err(|failed| match failed {
            LoadError::Server { error, .. } => error,
            other => DriverError::client(ErrorClass::Fatal, "machine", other.to_string()),
        })
    }

    /// Executes one statement; the first cell of its first row, or nothing where that is NULL or there is none.
    pub(super) fn cell_on_host(&self, host: u32, sql: &str) -> Result<Option<String>, DriverError> {
        self.with_host(host, async |session| {
            let mut rows = Rows::default();
            session.query(sql, &mut rows).await?;
            if rows.is_empty() || rows.is_null(0, 0)? { Ok(None) } else { rows.display(0, 0).map(Some) }
        })
    }
}

/// Makes sure that a session has the database that it asked for, where the server does not say so at the login.
///
/// # Errors
/// The server's answer, or in its place the code by which the others say it.
pub(super) async fn in_a_database<S: Session>(session: &mut S, dialect: &dyn Dialect) -> Result<(), DriverError> {
    let Some((ask, code)) = dialect.database_exists() else { return Ok(()) };
    let mut rows = Rows::default();
    session.query(ask, &mut rows).await?;
    if !rows.is_empty() {
        return Ok(());
    }
    let message = "the database that the target names does not exist";
    Err(DriverError::new(ErrorClass::Refused, code, message).because(Some(Cause::NoDatabase)))
}
