//! What a database can answer instead of a result, and what the engine does about it.

use std::fmt;

/// What an error means for the transaction, the connection and the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorClass {
    /// The transaction may be tried again after a ROLLBACK (deadlock, write conflict, lock wait, busy).
    Retry,
    /// This transaction failed and the next one may well succeed (duplicate key); not tried again.
    Failed,
    /// The connection is gone; it is opened again and the transaction counts as failed.
    Lost,
    /// The server does not let us in (password, certificate, permission): the run ends.
    Refused,
    /// No transaction can succeed (missing table, syntax, full disk, protocol violation): the run ends.
    Fatal,
}

impl ErrorClass {
    /// The word in records.
    pub fn word(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Failed => "failed",
            Self::Lost => "lost",
            Self::Refused => "refused",
            Self::Fatal => "fatal",
        }
    }
}

/// The code under which errors are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorCode {
    /// Error number of a MySQL-protocol server.
    Mysql(u16),
    /// Extended result code of SQLite.
    Sqlite(i32),
    /// SQLSTATE of a PostgreSQL-protocol server.
    SqlState([u8; 5]),
    /// What a TiKV store or PD answered, in a word.
    Tikv(&'static str),
    /// Found by the client: `closed`, `timeout`, `tls`, `protocol`, …
    Client(&'static str),
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mysql(n) => write!(f, "mysql {n}"),
            Self::Sqlite(n) => write!(f, "sqlite {n}"),
            Self::SqlState(s) => write!(f, "sqlstate {}", String::from_utf8_lossy(s)),
            Self::Tikv(word) => write!(f, "tikv {word}"),
            Self::Client(word) => write!(f, "client {word}"),
        }
    }
}

/// An error of a driver. Its message never holds a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverError {
    /// What to do about it.
    pub class: ErrorClass,
    /// Under which code it is counted.
    pub code: ErrorCode,
    /// The server's words, or ours, for a person.
    pub message: String,
}

impl DriverError {
    /// An error found by the client itself.
    pub fn client(class: ErrorClass, word: &'static str, message: impl Into<String>) -> Self {
        Self { class, code: ErrorCode::Client(word), message: message.into() }
    }
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for DriverError {}
