//! Why a load fails, and how its statements are retried.

use std::fmt;
use std::time::Duration;

use crate::driver::Session;
use crate::error::{DriverError, ErrorClass};
use crate::values::Rows;

/// Attempts of one transaction before the load fails.
pub(super) const ATTEMPTS: u32 = 10;

/// Why a load failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadError {
    /// The server's answer, and what was being done.
    Server {
        /// What was being done.
        doing: String,
        /// The answer.
        error: DriverError,
    },
    /// The server holds another number of rows than was sent.
    WrongCount {
        /// Which table.
        table: String,
        /// Rows that should be there.
        expected: u64,
        /// Rows that the table has.
        found: u64,
    },
    /// A loading thread panicked.
    WorkerDied(String),
    /// The ledger does not match the load.
    Ledger(String),
    /// The machine gives no more file descriptors, or no more threads.
    Machine(String),
    /// The user asked to stop.
    Interrupted,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server { doing, error } => write!(f, "{doing}: {error}"),
            Self::WrongCount { table, expected, found } => {
                write!(f, "table {table} holds {found} rows after the load, not {expected}")
            }
            Self::WorkerDied(e) => write!(f, "a loading thread died: {e}; this is a defect of perbuck, please report it"),
            Self::Ledger(e) => write!(f, "the load and its ledger in the target do not match: {e}"),
            Self::Machine(e) => f.write_str(e),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for LoadError {}

/// Says what was being done when the server answered with an error.
pub fn server(doing: impl Into<String>) -> impl FnOnce(DriverError) -> LoadError {
    let doing = doing.into();
    move |error| LoadError::Server { doing, error }
}

/// Runs a future on an event loop of its own.
///
/// # Errors
/// The future's, or that no event loop could be started.
pub fn on_loop<T>(future: impl Future<Output = Result<T, LoadError>>) -> Result<T, LoadError> {
    perbuck_event::block_on(future).unwrap_or_else(|e| Err(LoadError::Machine(format!("an event loop failed: {e}"))))
}

/// Executes a statement, in several attempts where it conflicts with those of other sessions.
pub(super) async fn execute<S: Session>(session: &mut S, sql: &str) -> Result<(), DriverError> {
    retry(session, async |session| session.query(sql, &mut Rows::default()).await.map(drop)).await
}

/// Repeats `attempt` after a conflict, which has changed nothing: statements about tables meet a catalogue with one writer, or
/// with changes since they began.
pub(super) async fn retry<S: Session, T>(
    session: &mut S,
    mut attempt: impl AsyncFnMut(&mut S) -> Result<T, DriverError>,
) -> Result<T, DriverError> {
    for failures in 1..ATTEMPTS {
        match attempt(session).await {
            Err(error) if error.class == ErrorClass::Retry => roll_back(session, failures).await?,
            done => return done,
        }
    }
    attempt(session).await
}

/// Rolls back after a conflict, and lets the other sessions go on before the next attempt.
pub(super) async fn roll_back<S: Session>(session: &mut S, failures: u32) -> Result<(), DriverError> {
    session.rollback().await?;
    perbuck_event::sleep(Duration::from_millis(50) * failures).await;
    Ok(())
}
