//! What SQLite's result codes mean for a run.

use std::path::Path;

use perbuck_load::error::{Cause, DriverError, ErrorClass, ErrorCode};
use rusqlite::{Error, ffi};

/// The driver's error for one of the library's, naming the file.
pub(crate) fn driver_error(error: &Error, path: &Path) -> DriverError {
    let file = path.display();
    let (code, words) = match error {
        Error::SqliteFailure(e, Some(words)) => (e.extended_code, words.clone()),
        Error::SqliteFailure(e, None) => (e.extended_code, e.to_string()),
        Error::SqlInputError { error, msg, .. } => (error.extended_code, msg.clone()),
        // Found by rusqlite before SQLite was asked: a wrong number of parameters, a NUL in the text, two statements.
        other => return DriverError::client(ErrorClass::Fatal, "sqlite", format!("SQLite file {file}: {other}")),
    };
    let (class, mut hint) = judge(code);
    if words.starts_with("no such table") {
        hint = "prepare the data of this workload first";
    }
    let message =
        if hint.is_empty() { format!("SQLite file {file}: {words}") } else { format!("SQLite file {file}: {words}; {hint}") };
    DriverError::new(class, ErrorCode::Number("sqlite", code), message).because(cause_of(code, &words))
}

/// The cause that the user can remove.
fn cause_of(extended: i32, words: &str) -> Option<Cause> {
    match extended {
        ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_UNIQUE => Some(Cause::DuplicateKey),
        // Neither has a code of its own.
        ffi::SQLITE_ERROR if words.starts_with("no such table") => Some(Cause::NoTable),
        ffi::SQLITE_ERROR if words.contains("already exists") => Some(Cause::AlreadyThere),
        _ if matches!(extended & 0xff, ffi::SQLITE_READONLY | ffi::SQLITE_CANTOPEN | ffi::SQLITE_NOTADB) => Some(Cause::File),
        _ => None,
    }
}

/// Class and advice by result code, <https://www.sqlite.org/rescode.html>. The low byte is the primary code.
fn judge(extended: i32) -> (ErrorClass, &'static str) {
    match extended & 0xff {
        // Another session holds a lock, or (BUSY_SNAPSHOT) wrote after our transaction began to read.
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => (ErrorClass::Retry, ""),
        ffi::SQLITE_CONSTRAINT => (ErrorClass::Failed, ""),
        // Its limit of time ended it.
        ffi::SQLITE_INTERRUPT => (ErrorClass::Failed, ""),
        ffi::SQLITE_NOTADB => (ErrorClass::Fatal, "name another file, or delete this one"),
        ffi::SQLITE_CORRUPT => (ErrorClass::Fatal, "the database is damaged; prepare it again"),
        ffi::SQLITE_FULL => (ErrorClass::Fatal, "free some space on its disk, or put the file on a larger one"),
        ffi::SQLITE_READONLY => (ErrorClass::Fatal, "give perbuck the right to write the file and its folder"),
        ffi::SQLITE_CANTOPEN => (ErrorClass::Fatal, "check that its folder exists and that perbuck may create files there"),
        ffi::SQLITE_IOERR => (ErrorClass::Fatal, "the disk or its file system reported an error"),
        _ => (ErrorClass::Fatal, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_classes_that_runs_need() {
        for (code, class) in [
            (ffi::SQLITE_BUSY, ErrorClass::Retry),
            (ffi::SQLITE_BUSY_SNAPSHOT, ErrorClass::Retry),
            (ffi::SQLITE_BUSY_RECOVERY, ErrorClass::Retry),
            (ffi::SQLITE_LOCKED_SHAREDCACHE, ErrorClass::Retry),
            (ffi::SQLITE_CONSTRAINT_PRIMARYKEY, ErrorClass::Failed),
            (ffi::SQLITE_FULL, ErrorClass::Fatal),
            (ffi::SQLITE_READONLY_DIRECTORY, ErrorClass::Fatal),
            (ffi::SQLITE_IOERR_WRITE, ErrorClass::Fatal),
            (ffi::SQLITE_MISUSE, ErrorClass::Fatal),
        ] {
            assert_eq!(judge(code).0, class, "{code}");
        }
    }
}
