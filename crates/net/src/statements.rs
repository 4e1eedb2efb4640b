//! What the sessions of all protocols have in common: the way of a command and its answer, and the errors of a wrong use.

use std::ops::DerefMut;
use std::task::{Poll, ready};

use perbuck_load::driver::Effect;
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::statement::StatementId;

use crate::link::Link;

/// Sends what was written, unless it is `sent`, and reads its answer by `read`. As a rule the socket takes it at once and one read
/// brings the whole answer. One future with one state, since every level of futures is a detour on the way back from the event loop,
/// through memory that the database has pushed out of the caches.
#[inline]
pub fn poll_answer<W: DerefMut<Target = Link>>(
    wire: &mut W,
    sent: &mut bool,
    mut read: impl FnMut(&mut W) -> Result<Option<Effect>, DriverError>,
) -> Poll<Result<Effect, DriverError>> {
    if !*sent {
        ready!(wire.poll_send())?;
        *sent = true;
    }
    loop {
        ready!(wire.poll_receive())?;
        if let Some(effect) = read(wire)? {
            return Poll::Ready(Ok(effect));
        }
    }
}

/// The error of a statement that is not in a catalogue of `count`.
#[cold]
pub fn unknown_statement(id: StatementId, count: usize) -> DriverError {
    let message = format!("statement {} is not one of the {count} of the catalogue", id.0);
    DriverError::client(ErrorClass::Fatal, "catalogue", message)
}

/// The error of a statement with another number of values than it has parameters.
#[cold]
pub fn wrong_count(expected: usize, bound: usize) -> DriverError {
    let message = format!("the statement has {expected} parameters, but {bound} values were bound");
    DriverError::client(ErrorClass::Fatal, "parameters", message)
}
