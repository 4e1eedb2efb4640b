//! What the SQLSTATEs of PostgreSQL mean for a load generator ("PostgreSQL Error Codes"), and those that CockroachDB and
//! YugabyteDB add: theirs are used by none of the others.
//!
//! What is not in the table is fatal: a syntax error or a full disk fails every transaction, and a run that counts
//! thousands of them measures nothing.

use perbuck_load::error::{Cause, DriverError, ErrorClass, ErrorCode};

use crate::wire::messages::text;
use ErrorClass::{Failed, Fatal, Lost, Refused, Retry};
use perbuck_net::reader::Reader;
use perbuck_net::{Malformed, Parsed, error_words};

const FEATURE_NOT_SUPPORTED: &[u8; 5] = b"0A000";
const INVALID_STATEMENT_NAME: &[u8; 5] = b"26000";
const TOO_MANY_CONNECTIONS: &[u8; 5] = b"53300";
pub(crate) const IN_FAILED_TRANSACTION: &[u8; 5] = b"25P02";

/// Codes by their beginning; of several the longest counts.
#[rustfmt::skip]
const TABLE: &[(&str, &str, ErrorClass)] = &[
    // The transaction was rolled back, or must be, because of what others did at the same time.
    ("40", "transaction_rollback: serialization_failure 40001, deadlock_detected 40P01", Retry),
    ("40002", "transaction_integrity_constraint_violation", Failed),
    ("40003", "statement_completion_unknown", Failed),
    ("55P03", "lock_not_available: lock_timeout, NOWAIT", Retry),
    ("72000", "snapshot_too_old", Retry),
    ("26000", "invalid_sql_statement_name", Retry), // the session prepares again, see session.rs
    ("CR000", "of CockroachDB before it said 40001", Retry),
    // About the values of one transaction.
    ("21", "cardinality_violation", Failed),
    ("22", "data_exception", Failed),
    ("23", "integrity_constraint_violation: unique_violation 23505", Failed),
    ("44", "with_check_option_violation", Failed),
    ("P0", "raised by a function", Failed),
    ("25P02", "in_failed_sql_transaction", Failed),
    // One statement was stopped; the connection is as good as before.
    ("57014", "query_canceled: statement_timeout", Failed),
    // CockroachDB lost a node, or the majority of a range: the statement has failed, and the next one may succeed.
    ("58C00", "range_unavailable", Failed),
    ("58C01", "internal_connection_failure, between two nodes", Failed),
    ("XXA00", "transaction_committed_with_schema_change_failure", Failed),
    // The connection is gone, or the server is about to go.
    ("08", "connection_exception", Lost),
    ("25P03", "idle_in_transaction_session_timeout", Lost),
    ("25P04", "transaction_timeout", Lost),
    ("57P01", "admin_shutdown: also pg_terminate_backend", Lost),
    ("57P02", "crash_shutdown", Lost),
    ("57P03", "cannot_connect_now: it starts or stops", Lost),
    ("57P05", "idle_session_timeout", Lost),
    // The server refuses the login. Too many connections belong here: what is lost is opened again, for ever in this
    // case, and a trial with fewer connections than it says would be measured wrongly.
    ("28", "invalid_authorization_specification: invalid_password 28P01", Refused),
    ("3D000", "invalid_catalog_name: no such database", Refused),
    ("42501", "insufficient_privilege", Refused),
    ("53300", "too_many_connections", Refused),
    ("57P04", "database_dropped", Refused),
    // Of a class above, and yet fatal.
    ("08P01", "protocol_violation", Fatal),
];

pub(crate) fn class_of(state: &[u8; 5]) -> ErrorClass {
    let fits = |(prefix, _, _): &&(&str, &str, ErrorClass)| state.starts_with(prefix.as_bytes());
    TABLE.iter().filter(fits).max_by_key(|(prefix, _, _)| prefix.len()).map_or(Fatal, |(_, _, class)| *class)
}

/// What YugabyteDB says without a code of its own ("Transaction error codes in YSQL", and its source): a code, the beginning
/// or a part of its message, which is never translated, and what it means.
#[rustfmt::skip]
const BY_MESSAGE: &[(&[u8; 5], &str, ErrorClass)] = &[
    // Tables or indexes were changed by another session: what was known of them is read again with the next statement.
    (b"XX000", "Catalog Version Mismatch", Retry),
    (b"XX000", "schema version mismatch", Retry),
    // Before these had 40001.
    (b"XX000", "Restart read required", Retry),
    (b"XX000", "expired or aborted by a conflict", Retry),
    // The transaction was aborted by another; PostgreSQL has this code for the statements that come after the error.
    (b"25P02", "current transaction is expired or aborted", Retry),
    // A tablet has no leader at the moment, or its server is gone.
    (b"XX000", "Timed out: ", Failed),
    (b"XX000", "Network error: ", Failed),
    (b"XX000", "Service unavailable: ", Failed),
    (b"XX000", "Leader not ready", Failed),
];

/// The class of an error that only its message tells.
fn class_by_message(state: &[u8; 5], message: &[u8]) -> Option<ErrorClass> {
    let said = |part: &str| message.windows(part.len()).any(|some| some == part.as_bytes());
    BY_MESSAGE.iter().find(|(code, part, _)| *code == state && said(part)).map(|(_, _, class)| *class)
}

/// The cause that the user can remove.
fn cause_of(state: &[u8; 5]) -> Option<Cause> {
    Some(match state {
        b"28P01" | b"28000" => Cause::Password,
        b"3D000" => Cause::NoDatabase,
        b"42501" => Cause::NoRight,
        b"42P01" => Cause::NoTable,
        TOO_MANY_CONNECTIONS => Cause::Connections,
        b"53100" => Cause::DiskFull,
        b"23505" => Cause::DuplicateKey,
        // duplicate_table, which an index is, too, and duplicate_object.
        b"42P07" | b"42710" => Cause::AlreadyThere,
        b"P0001" => Cause::Raised,
        _ => return None,
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerError {
    pub(crate) error: DriverError,
    /// The server gives up the connection (severity FATAL or PANIC); it will say no more.
    pub(crate) ends_connection: bool,
}

/// The error in an ErrorResponse ("Error and Notice Message Fields").
pub(crate) fn from_message(body: &[u8]) -> Parsed<ServerError> {
    let mut r = Reader::new(body);
    let (mut severity, mut state, mut message, mut hint, mut routine) = (&b""[..], None, &b""[..], &b""[..], &b""[..]);
    loop {
        match r.u8()? {
            0 => break,
            // The second is not translated; servers before 9.6 have the first only.
            b'S' if severity.is_empty() => severity = text(&mut r)?,
            b'V' => severity = text(&mut r)?,
            b'C' => state = text(&mut r)?.first_chunk().copied(),
            b'M' => message = text(&mut r)?,
            b'H' => hint = text(&mut r)?,
            b'R' => routine = text(&mut r)?,
            _ => _ = text(&mut r)?,
        }
    }
    let state = state.ok_or(Malformed("an error has no SQLSTATE"))?;
    let ends_connection = severity == b"FATAL" || severity == b"PANIC";
    // "cached plan must not change result type": the table was altered. The function is named the same in all languages.
    let stale = &state == FEATURE_NOT_SUPPORTED && routine == b"RevalidateCachedQuery";
    let class = match class_by_message(&state, message).unwrap_or_else(|| class_of(&state)) {
        _ if stale => Retry,
        Retry | Failed | Fatal if ends_connection => Lost,
        class => class,
    };
    let code = ErrorCode::State("sqlstate", if stale { *INVALID_STATEMENT_NAME } else { state });
    let words = error_words(message, hint, &state == TOO_MANY_CONNECTIONS);
    Ok(ServerError { error: DriverError::new(class, code, words).because(cause_of(&state)), ends_connection })
}

/// Whether a prepared statement is gone or stale, so that it must be prepared again.
pub(crate) fn is_stale(error: &DriverError) -> bool {
    error.code == ErrorCode::State("sqlstate", *INVALID_STATEMENT_NAME)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn nothing_is_listed_twice() {
        assert_eq!(TABLE.iter().map(|(prefix, ..)| prefix).collect::<BTreeSet<_>>().len(), TABLE.len());
    }

    #[test]
    fn classes_are_what_the_engine_needs() {
        for (state, class) in [
            (b"40001", Retry),
            (b"40P01", Retry),
            (b"CR000", Retry),
            (b"58C01", Failed),
            (b"58030", Fatal),
            (b"55P03", Retry),
            (b"23505", Failed),
            (b"22003", Failed),
            (b"40003", Failed),
            (b"57014", Failed),
            (b"57P01", Lost),
            (b"08006", Lost),
            (b"28P01", Refused),
            (b"3D000", Refused),
            (b"42501", Refused),
            (b"53300", Refused),
            (b"42P01", Fatal),
            (b"53100", Fatal),
            (b"08P01", Fatal),
            (b"ZZZZZ", Fatal),
        ] {
            assert_eq!(class_of(state), class, "{}", String::from_utf8_lossy(state));
        }
    }

    fn fields(all: &[&str]) -> Vec<u8> {
        let mut body: Vec<u8> = all.iter().flat_map(|field| [field.as_bytes(), b"\0"].concat()).collect();
        body.push(0);
        body
    }

    #[test]
    fn fields_are_read_in_any_language() {
        for (body, class, code, ends, message) in [
            (
                &["SFEHLER", "VERROR", "C40P01", "Mdeadlock detected", "HSee log.", "Dmore"][..],
                Retry,
                b"40P01",
                false,
                "deadlock detected; See log.",
            ),
            (&["SFATAL", "C57P01", "M"], Lost, b"57P01", true, "the server gives no reason"),
            // Whatever ends the connection is no matter of one transaction.
            (&["VFATAL", "C40001", "Mconflict with recovery"], Lost, b"40001", true, "conflict with recovery"),
            (&["VFATAL", "C08P01", "Mgone"], Lost, b"08P01", true, "gone"),
        ] {
            let ServerError { error, ends_connection } = from_message(&fields(body)).unwrap();
            assert_eq!(
                (error.class, error.code, ends_connection),
                (class, ErrorCode::State("sqlstate", *code), ends),
                "{body:?}"
            );
            assert_eq!(error.message, message, "{body:?}");
        }
        let many = from_message(&fields(&["VFATAL", "C53300", "Msorry, too many clients already"])).unwrap();
        assert!(many.error.class == Refused && many.error.message.contains("raise max_connections"));
        for broken in [&b""[..], b"C40001", b"C40001\0", b"Mx\0\0", b"C400\0\0"] {
            assert!(from_message(broken).is_err());
        }
    }

    #[test]
    fn what_only_a_message_tells_is_not_fatal() {
        for (code, message, class) in [
            // As YugabyteDB wrote them in its issues 1457, 14800, 31996 and 1197.
            ("XX000", "Catalog Version Mismatch: A DDL occurred while processing this query. Try Again.", Retry),
            ("XX000", "Query error: schema version mismatch for table 0000: expected 1, got 0", Retry),
            ("25P02", "current transaction is expired or aborted (query layer retry isn't possible)", Retry),
            ("XX000", "Timed out: Read(tablet: f286, num_ops: 1) passed its deadline", Failed),
            // PostgreSQL's own words for these codes.
            ("25P02", "current transaction is aborted, commands ignored until end of transaction block", Failed),
            ("XX000", "could not find block containing chunk 0x55", Fatal),
            // As CockroachDB writes them.
            ("40001", "restart transaction: TransactionRetryWithProtoRefreshError: WriteTooOldError", Retry),
            ("40003", "result is ambiguous: error=ba: EndTxn", Failed),
            ("58C00", "replica unavailable: (n1,s1):1 unable to serve request", Failed),
            ("57P01", "server is shutting down", Lost),
        ] {
            let found = from_message(&fields(&["VERROR", &format!("C{code}"), &format!("M{message}")])).unwrap();
            assert_eq!(found.error.class, class, "{code}: {message}");
        }
    }

    #[test]
    fn a_stale_plan_may_be_retried_and_other_missing_features_are_fatal() {
        let body = ["VERROR", "C0A000", "Mcached plan must not change result type", "RRevalidateCachedQuery"];
        let stale = from_message(&fields(&body)).unwrap().error;
        assert!(stale.class == Retry && is_stale(&stale));
        let missing = from_message(&fields(&body[..3])).unwrap().error;
        assert!(missing.class == Fatal && !is_stale(&missing));
    }
}
