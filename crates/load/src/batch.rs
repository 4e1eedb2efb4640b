//! Statements that are sent together: none waits for the answers of those before it.

use crate::driver::Effect;
use crate::statement::StatementId;
use crate::values::{Params, Rows};

/// What a session is asked to do with a batch. After an error within it the server passes over all that follows, up to a point or the end.
pub enum Batch<'a> {
    /// Opens a batch of some of these statements: they are prepared where the session prepares statements, so that nothing of it has to wait.
    Open(&'a [StatementId]),
    /// Adds a statement with its parameters.
    Add(StatementId, &'a Params),
    /// Sets a point: what follows it is executed even after an error before it, and is no part of an implicit transaction with it.
    Point,
    /// Sends all of it, and reads all answers. Each statement that was executed, and the first that failed, is told with its effect; rows
    /// are counted.
    End(&'a mut Rows, &'a mut dyn FnMut(StatementId, Option<Effect>)),
}

/// What a statement of a batch is counted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Member {
    /// A statement of the catalogue, by its verb.
    Statement,
    /// It begins a transaction, and does nothing else.
    Begin,
    /// It commits.
    Commit,
    /// It rolls back.
    Rollback,
}
