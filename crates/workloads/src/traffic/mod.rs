//! Recorded traffic as a benchmark: the statements of a server's log, session by session, sent again at their recorded times, at other
//! speeds, or as fast as they go.
//!
//! A log is read once into a [`Recording`]. A study holds its [`Summary`] in place of it, so that no statement's literals get into results.

mod bracketed;
mod builder;
mod deal;
mod executed;
mod format;
mod general_log;
mod in_order;
mod lex;
mod lines;
mod one_line;
mod options;
mod plan;
mod recording;
mod registration;
mod server_log;
mod session;
mod slow_log;
mod spread;
mod statement;
mod summary;
mod terminal;
#[cfg(test)]
mod tests;
mod time;
mod workload;

pub use format::{Fault, Format, LogFile, read};
pub use options::{Options, keep};
pub use recording::Recording;
pub use registration::KIND;
pub use summary::{Noted, OfDatabase, Summary};
pub use terminal::TrafficTerminal;
pub use workload::Traffic;
