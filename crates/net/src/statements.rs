//! What the sessions of all protocols have in common: how far a command is, and the errors of a wrong use.

use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::statement::StatementId;

/// How far a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It was written to the buffer.
    Begins,
    /// The socket takes it.
    Sends,
    /// Its answer is outstanding.
    Waits,
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
