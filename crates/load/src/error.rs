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
    /// The server refuses the login (password, certificate, permission): the run ends.
    Refused,
    /// No transaction can succeed (missing table, syntax, full disk, protocol violation): the run ends.
    Fatal,
}

impl ErrorClass {
    /// All classes, in their order.
    pub const ALL: [Self; 5] = [Self::Retry, Self::Failed, Self::Lost, Self::Refused, Self::Fatal];

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

/// The code under which errors are counted: a family of codes, and the value in it. Its text stands in records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorCode {
    /// A number, such as `mysql 1213`.
    Number(&'static str, i32),
    /// Five characters, such as `sqlstate 40001`.
    State(&'static str, [u8; 5]),
    /// A word, such as `client timeout`: of the family `client` is what the client found itself.
    Word(&'static str, &'static str),
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(family, number) => write!(f, "{family} {number}"),
            Self::State(family, state) => write!(f, "{family} {}", String::from_utf8_lossy(state)),
            Self::Word(family, word) => write!(f, "{family} {word}"),
        }
    }
}

/// A cause that the user can remove. It is the same for every database; the driver knows it from the error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The user or the password is wrong.
    Password,
    /// There is no such database.
    NoDatabase,
    /// The user lacks a right.
    NoRight,
    /// There is no such table.
    NoTable,
    /// The server accepts no more connections.
    Connections,
    /// The server cannot be reached.
    Unreachable,
    /// TLS cannot be agreed on.
    Tls,
    /// No answer came within the time that the target allows.
    Timeout,
    /// The server's disk is full.
    DiskFull,
    /// The file of the database cannot be opened or written, or is no database.
    File,
    /// A row with this key exists already.
    DuplicateKey,
    /// The table, index or foreign key exists already.
    AlreadyThere,
    /// A statement of perbuck raised it on purpose.
    Raised,
    /// There is no such setting.
    NoSetting,
    /// The setting does not accept this value.
    SettingValue,
    /// The setting does not accept a value of this type.
    SettingType,
    /// The setting cannot be changed while the server runs.
    SettingFixed,
    /// The user asked to stop, and the answer is not waited for.
    Stopped,
}

/// An error of a driver. It has the size of one pointer, because every result on the hot path has room for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverError(Box<Fault>);

/// What a [`DriverError`] says. Its message never holds a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What to do about it.
    pub class: ErrorClass,
    /// The code under which it is counted.
    pub code: ErrorCode,
    /// The cause that the user can remove, if the driver knows one.
    pub cause: Option<Cause>,
    /// The message of the server or of perbuck.
    pub message: String,
}

impl DriverError {
    /// An error under a code.
    #[cold]
    pub fn new(class: ErrorClass, code: ErrorCode, message: impl Into<String>) -> Self {
        Self(Box::new(Fault { class, code, cause: None, message: message.into() }))
    }

    /// Its message alone.
    pub fn into_message(self) -> String {
        self.0.message
    }

    /// The same error with its cause.
    #[must_use]
    pub fn because(mut self, cause: Option<Cause>) -> Self {
        self.0.cause = cause;
        self
    }

    /// The same error in another class.
    #[must_use]
    pub fn with_class(mut self, class: ErrorClass) -> Self {
        self.0.class = class;
        self
    }

    /// An error found by the client itself.
    pub fn client(class: ErrorClass, word: &'static str, message: impl Into<String>) -> Self {
        let cause = match word {
            "auth" => Some(Cause::Password),
            "unreachable" | "pd" => Some(Cause::Unreachable),
            "tls" => Some(Cause::Tls),
            _ => None,
        };
        Self::new(class, ErrorCode::Word("client", word), message).because(cause)
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

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for DriverError {}
