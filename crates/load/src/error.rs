//! What a database can answer instead of a result, and what the engine does about it.

use std::fmt;
use std::ops::{Deref, DerefMut};

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

/// An error of a driver. One word, since every result of the hot path has room for it and is handed from level to level.
#[derive(Clone, PartialEq, Eq)]
pub struct DriverError(Box<Fault>);

/// What a [`DriverError`] says. Its message never holds a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What to do about it.
    pub class: ErrorClass,
    /// Under which code it is counted.
    pub code: ErrorCode,
    /// The server's words, or ours, for a person.
    pub message: String,
}

impl DriverError {
    /// An error under a code.
    #[cold]
    pub fn new(class: ErrorClass, code: ErrorCode, message: impl Into<String>) -> Self {
        Self(Box::new(Fault { class, code, message: message.into() }))
    }

    /// Its message alone.
    pub fn into_message(self) -> String {
        self.0.message
    }

    /// The same error, with another meaning.
    #[must_use]
    pub fn turned(mut self, class: ErrorClass) -> Self {
        self.0.class = class;
        self
    }

    /// An error found by the client itself.
    pub fn client(class: ErrorClass, word: &'static str, message: impl Into<String>) -> Self {
        Self::new(class, ErrorCode::Client(word), message)
    }
}

impl Deref for DriverError {
    type Target = Fault;

    fn deref(&self) -> &Fault {
        &self.0
    }
}

impl DerefMut for DriverError {
    fn deref_mut(&mut self) -> &mut Fault {
        &mut self.0
    }
}

impl fmt::Debug for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for DriverError {}
