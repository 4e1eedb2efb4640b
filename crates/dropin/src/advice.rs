//! The way out of an error of a server, in the words of a command.

use perbuck_load::error::{DriverError, ErrorCode};

/// What the users of a command can do, by kind of trouble.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Advice {
    /// The server does not let us in.
    pub(crate) password: &'static str,
    /// There is no such database.
    pub(crate) database: &'static str,
    /// There is no such table.
    pub(crate) tables: &'static str,
    /// It takes no more connections.
    pub(crate) connections: &'static str,
    /// An error of a single transaction ended the run.
    pub(crate) errors: &'static str,
    /// It cannot be reached.
    pub(crate) reach: &'static str,
}

impl Advice {
    /// What a user can do about an answer; empty where nothing is known.
    pub(crate) fn of(&self, answer: &DriverError) -> &'static str {
        match answer.code {
            ErrorCode::Number("mysql", 1045 | 1698)
            | ErrorCode::State("sqlstate", [b'2', b'8', ..])
            | ErrorCode::Word("client", "auth") => self.password,
            ErrorCode::Number("mysql", 1049) | ErrorCode::State("sqlstate", [b'3', b'D', ..]) => self.database,
            ErrorCode::Number("mysql", 1146)
            | ErrorCode::State("sqlstate", [b'4', b'2', b'P', b'0', b'1'])
            | ErrorCode::Number("sqlite", 1) => self.tables,
            ErrorCode::Number("mysql", 1040) | ErrorCode::State("sqlstate", [b'5', b'3', b'3', ..]) => self.connections,
            ErrorCode::Number("mysql", 1062 | 1213 | 1205 | 1020) | ErrorCode::State("sqlstate", [b'4', b'0', ..]) => self.errors,
            // They say themselves what to write.
            ErrorCode::Word("client", "family" | "isolation") => "",
            ErrorCode::Word("client", _) | ErrorCode::Word("tikv", _) => self.reach,
            _ => "",
        }
    }

    /// The advice of the study commands, whose passwords and tables come otherwise, in the words of this one.
    pub(crate) fn instead<'a>(&'a self, help: &'a str) -> &'a str {
        match help {
            text if text.contains("password") => self.password,
            text if text.contains("perbuck prepare") => self.tables,
            text if text.contains("create it first") => self.database,
            text if text.contains("max_connections") => self.connections,
            text if text.contains("target") => self.reach,
            text => text,
        }
    }
}

/// An answer with its number.
pub(crate) fn answer_text(answer: &DriverError) -> String {
    match answer.code {
        ErrorCode::Number("mysql", number) => format!("error {number}: {}", answer.message),
        // Not the option of a study's target, which nobody can set here.
        _ => answer.to_string().replace("; see `read_timeout` of the target", ""),
    }
}
