//! What tests of a database within this process ask it, without an event loop.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use perbuck_load::driver::Session;
use perbuck_load::error::DriverError;
use perbuck_load::values::Rows;

/// The output of a call of an embedded database, which never waits for an event: one poll finishes it.
pub fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("an embedded database waited for an event"),
    }
}

/// The rows that a statement gives.
///
/// # Errors
/// The database's answer.
pub fn query<S: Session>(session: &mut S, sql: &str) -> Result<Rows, DriverError> {
    let mut rows = Rows::default();
    now(session.query(sql, &mut rows)).map(|_| rows)
}

/// The first cell of the first row.
pub fn number<S: Session>(session: &mut S, sql: &str) -> i64 {
    query(session, sql).and_then(|rows| rows.int(0, 0)).unwrap_or_else(|error| panic!("{sql}: {error}"))
}
