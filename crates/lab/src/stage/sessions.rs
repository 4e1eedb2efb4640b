//! Sessions of a stage between trials: on the first server of its target, or on a chosen one.

use perbuck_database::Dialect;
use perbuck_load::driver::{Driver, Session, SessionId};
use perbuck_load::error::{Cause, DriverError, ErrorClass};
use perbuck_load::loader::LoadError;
use perbuck_load::values::Rows;
use perbuck_load::watch::Waiting;

use super::Joined;
use crate::data::server;
use crate::error::LabError;

impl<D: Driver, W, T> Joined<D, W, T> {
    /// What a server answers to a question of the driver.
    pub(super) fn ask<R>(&self, doing: &str, question: impl Future<Output = Result<R, DriverError>>) -> Result<R, LabError> {
        self.waiting.on_loop(doing, async { question.await.map_err(server(doing)) }).map_err(|e| self.failed(&e))
    }

    /// Runs some work on a session of its own.
    pub(super) fn with_session<R>(
        &self,
        doing: &str,
        work: impl AsyncFnOnce(&mut D::Session) -> Result<R, LoadError>,
    ) -> Result<R, LabError> {
        let result = self.waiting.on_loop(doing, async {
            let mut session = self.driver.connect(SessionId(0)).await.map_err(server(doing))?;
            session.lift_timeout();
            let result = work(&mut session).await?;
            session.close().await;
            Ok(result)
        });
        result.map_err(|e| self.failed(&e))
    }

    /// Works on a session of its own with one of the servers.
    pub(super) fn with_host<R>(
        &self,
        (host, doing): (u32, &str),
        work: impl AsyncFnOnce(&mut D::Session) -> Result<R, DriverError>,
    ) -> Result<R, DriverError> {
        answer(&self.waiting, doing, async {
            let mut session = self.driver.connect_at(SessionId(0), host).await?;
            let done = work(&mut session).await?;
            session.close().await;
            Ok(done)
        })
    }

    pub(super) fn failed(&self, error: &LoadError) -> LabError {
        LabError::load(&self.waiting.title, error)
    }
}

/// Waits for the answer of a server on an event loop of its own.
pub(crate) fn answer<R>(
    waiting: &Waiting,
    doing: &str,
    question: impl Future<Output = Result<R, DriverError>>,
) -> Result<R, DriverError> {
    waiting.on_loop(doing, async { question.await.map_err(server("")) }).map_err(|failed| match failed {
        LoadError::Server { error, .. } => error,
        LoadError::Interrupted => DriverError::client(ErrorClass::Fatal, "stopped", "interrupted").because(Some(Cause::Stopped)),
        other => DriverError::client(ErrorClass::Fatal, "machine", other.to_string()),
    })
}

/// Makes sure that a session has the database that it asked for, where the server does not say so at the login. Then the error has
/// the code by which other servers say it.
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
