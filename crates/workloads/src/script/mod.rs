//! SQL scripts in the language of pgbench (PostgreSQL's manual), on every database that speaks SQL.
//!
//! What differs, on purpose: random numbers come from perbuck's own streams, so the same seed draws other numbers than pgbench; `permute`
//! is another permutation; `\shell` and `\setshell` are refused; statements that `\;` joins are sent one by one where the
//! database takes no such text, or where their results are stored.

#[cfg(test)]
pub(crate) mod allocation_tests;
mod builtin;
mod compile;
mod data;
mod expression;
mod made;
mod options;
mod pieces;
#[cfg(test)]
mod pipeline_tests;
mod program;
mod protocol;
pub(crate) mod random;
mod registration;
mod sql;
mod terminal;
mod value;
mod variables;

pub use builtin::{BUILTIN, BUILTINS, Builtin};
pub use compile::Scripts;
pub use data::{AccountsPart, ScriptData, TABLES};
pub use made::MadeTables;
pub use options::Options;
pub use program::Fault;
pub use protocol::Protocol;
pub use registration::{FINISH, KIND, OPTIONS};
pub(crate) use sql::{Control, control as control_of, verb as verb_of};
pub use terminal::{ScriptTerminal, say_debug_by};
pub use value::Value;

pub use crate::generated::TABLE;
