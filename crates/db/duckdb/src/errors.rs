//! What DuckDB's messages mean for a run. They start with their kind, such as `Constraint Error: `; the C API has no code for all of them.

use std::path::Path;

use perbuck_load::error::{Cause, DriverError, ErrorClass, ErrorCode};

/// The first words of messages, what they are counted as, and their class; <https://duckdb.org/docs/stable/dev/internal_errors> and
/// `ExceptionTypeToString` of its sources.
const KINDS: [(&str, &str, ErrorClass); 14] = [
    // Another transaction changed a row, or a table, that this one wants to change, or has committed the same key.
    ("TransactionContext", "transaction", ErrorClass::Retry),
    ("Constraint", "constraint", ErrorClass::Failed),
    ("Catalog", "catalog", ErrorClass::Fatal),
    ("Parser", "parser", ErrorClass::Fatal),
    ("Binder", "binder", ErrorClass::Fatal),
    ("Conversion", "conversion", ErrorClass::Fatal),
    ("Invalid Input", "input", ErrorClass::Fatal),
    ("Out of Range", "range", ErrorClass::Fatal),
    ("Out of Memory", "memory", ErrorClass::Fatal),
    ("IO", "io", ErrorClass::Fatal),
    ("Connection", "connection", ErrorClass::Lost),
    // At the limit of a statement.
    ("INTERRUPT", "interrupt", ErrorClass::Failed),
    ("FATAL", "fatal", ErrorClass::Fatal),
    ("INTERNAL", "internal", ErrorClass::Fatal),
];
/// Transactions end, so these are no conflicts: the client, or an error before, is at fault.
const NO_CONFLICT: [&str; 3] = ["no transaction is active", "Current transaction is aborted", "within a transaction"];

/// Words in a message, the cause that the user can remove, and what to do.
const CAUSES: [(&str, &str, Option<Cause>, &str); 12] = [
    ("catalog", "Table with name", Some(Cause::NoTable), "prepare the data of this workload first"),
    ("catalog", "could not be found", Some(Cause::NoTable), "prepare the data of this workload first"),
    ("catalog", "already exists", Some(Cause::AlreadyThere), ""),
    ("constraint", "uplicate key", Some(Cause::DuplicateKey), ""),
    ("transaction", "uplicate key", Some(Cause::DuplicateKey), ""),
    ("io", "Could not set lock", Some(Cause::File), "one process at a time opens a DuckDB file; end the other one"),
    ("io", "not a valid DuckDB database", Some(Cause::File), "name another file, or delete this one"),
    ("io", "No space left", None, "free some space on its disk, or put the file on a larger one"),
    ("io", "Cannot open file", Some(Cause::File), "check that its folder exists and that perbuck may create files there"),
    ("io", "ermission denied", Some(Cause::File), "give perbuck the right to write the file and its folder"),
    ("io", "", Some(Cause::File), ""),
    ("memory", "", None, "raise `memory_limit` of the target, or give it a `temp_directory` with more room"),
];

/// The driver's error for a message of DuckDB, naming the file.
#[cold]
pub(crate) fn driver_error(message: &str, path: &Path) -> DriverError {
    let (kind, rest) = match message.split_once(" Error: ") {
        Some(parts) => parts,
        // The appender leaves the kind out.
        None if message.contains(" constraint") => ("Constraint", message),
        None => ("", message),
    };
    let known = KINDS.iter().find(|(first, ..)| *first == kind);
    let (word, mut class) = known.map_or(("other", ErrorClass::Fatal), |(_, word, class)| (*word, *class));
    if class == ErrorClass::Retry && NO_CONFLICT.iter().any(|words| rest.contains(words)) {
        class = ErrorClass::Fatal;
    }
    // A table that is not there has one message, and one that is there another; both name it.
    let there = rest.contains("already exists");
    let cause = CAUSES
        .iter()
        .find(|(of, words, cause, _)| *of == word && rest.contains(words) && !(there && *cause == Some(Cause::NoTable)));
    let (cause, help) = cause.map_or((None, ""), |(_, _, cause, help)| (*cause, *help));
    let file = path.display();
    // The statement with a mark at the error follows an empty line.
    let said = message.split("\n\n").next().unwrap_or_default().split('\n').collect::<Vec<_>>().join(" ");
    let said =
        if help.is_empty() { format!("DuckDB file {file}: {said}") } else { format!("DuckDB file {file}: {said}; {help}") };
    DriverError::new(class, ErrorCode::Word("duckdb", word), said).because(cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_classes_that_runs_need() {
        use ErrorClass::{Failed, Fatal, Retry};
        for (message, class, word, cause) in [
            ("TransactionContext Error: Conflict on update!", Retry, "transaction", None),
            ("TransactionContext Error: Catalog write-write conflict on create with \"t\"", Retry, "transaction", None),
            (
                "TransactionContext Error: Failed to commit: PRIMARY KEY or UNIQUE constraint violation: duplicate key \"7\"",
                Retry,
                "transaction",
                Some(Cause::DuplicateKey),
            ),
            ("TransactionContext Error: cannot commit - no transaction is active", Fatal, "transaction", None),
            ("TransactionContext Error: Current transaction is aborted (please ROLLBACK)", Fatal, "transaction", None),
            (
                "Constraint Error: Duplicate key \"id: 5\" violates primary key constraint.",
                Failed,
                "constraint",
                Some(Cause::DuplicateKey),
            ),
            ("Constraint Error: NOT NULL constraint failed: t.a", Failed, "constraint", None),
            (
                "Failed to append: PRIMARY KEY or UNIQUE constraint violation: duplicate key \"0\"",
                Failed,
                "constraint",
                Some(Cause::DuplicateKey),
            ),
            (
                "Catalog Error: Table with name t does not exist!\nDid you mean \"u\"?\n\nLINE 1: …",
                Fatal,
                "catalog",
                Some(Cause::NoTable),
            ),
            ("Catalog Error: Table with name \"t\" already exists!", Fatal, "catalog", Some(Cause::AlreadyThere)),
            ("Parser Error: syntax error at or near \"FORM\"", Fatal, "parser", None),
            ("IO Error: Could not set lock on file \"a\": Conflicting lock is held", Fatal, "io", Some(Cause::File)),
            ("IO Error: Could not write file \"a\": No space left on device", Fatal, "io", None),
            ("Out of Memory Error: could not allocate block", Fatal, "memory", None),
            ("something new", Fatal, "other", None),
        ] {
            let error = driver_error(message, Path::new("x.duckdb"));
            assert_eq!((error.class, error.code, error.cause), (class, ErrorCode::Word("duckdb", word), cause), "{message}");
            assert!(error.message.starts_with("DuckDB file x.duckdb: ") && !error.message.contains('\n'), "{error}");
        }
    }
}
