//! What the error numbers of MySQL, MariaDB and TiDB mean for a load generator ("Server Error Message Reference",
//! MariaDB's "Error Codes", TiDB's "Error Codes and Troubleshooting").
//!
//! What is not in the table is fatal: a syntax error or a full disk fails every transaction, and a run that counts
//! thousands of them measures nothing.

use perbuck_load::error::{Cause, DriverError, ErrorClass, ErrorCode};

use ErrorClass::{Failed, Fatal, Lost, Refused, Retry};
use perbuck_net::reader::Reader;
use perbuck_net::{Malformed, Parsed, error_words};

const ER_STMT_COUNT: u16 = 1461;
const ER_UNSUPPORTED_PS: u16 = 1295;
const ER_NEED_REPREPARE: u16 = 1615;
/// What TiDB says of errors that have no number, and its words for those that others caused at the same time.
const UNKNOWN: u16 = 1105;
const OF_OTHERS: [&str; 2] = ["lock wait timeout", "pessimistic lock retry limit reached"];

/// Numbers with their names, by what they mean.
#[rustfmt::skip]
const TABLE: &[(ErrorClass, &[(u16, &str)])] = &[
    // The transaction was rolled back, or must be, because of what others did at the same time.
    (Retry, &[
        (1020, "ER_CHECKREAD"), // MariaDB's innodb_snapshot_isolation
        (1205, "ER_LOCK_WAIT_TIMEOUT"), (1213, "ER_LOCK_DEADLOCK"), (1412, "ER_TABLE_DEF_CHANGED"),
        (1614, "ER_XA_RBDEADLOCK"),
        (ER_NEED_REPREPARE, "ER_NEED_REPREPARE"), // the session prepares again, see session.rs
        (3101, "ER_TRANSACTION_ROLLBACK_DURING_COMMIT"), // group replication certified another one
        (3572, "ER_LOCK_NOWAIT"), (8002, "TiDB ErrForUpdateCantRetry"), (8005, "TiDB ErrWriteConflictInTiDB"),
        (8022, "TiDB ErrTxnRetryable"), (8028, "TiDB ErrInfoSchemaChanged"), (9004, "TiDB ErrResolveLockTimeout"),
        (9007, "TiDB ErrWriteConflict"),
    ]),
    // About the values of one transaction.
    (Failed, &[
        (1022, "ER_DUP_KEY"), (1048, "ER_BAD_NULL_ERROR"), (1062, "ER_DUP_ENTRY"), (1169, "ER_DUP_UNIQUE"),
        (1216, "ER_NO_REFERENCED_ROW"), (1217, "ER_ROW_IS_REFERENCED"), (1242, "ER_SUBQUERY_NO_1_ROW"),
        (1264, "ER_WARN_DATA_OUT_OF_RANGE"), (1265, "WARN_DATA_TRUNCATED"), (1292, "ER_TRUNCATED_WRONG_VALUE"),
        (1365, "ER_DIVISION_BY_ZERO"), (1366, "ER_TRUNCATED_WRONG_VALUE_FOR_FIELD"), (1406, "ER_DATA_TOO_LONG"),
        (1451, "ER_ROW_IS_REFERENCED_2"), (1452, "ER_NO_REFERENCED_ROW_2"), (1586, "ER_DUP_ENTRY_WITH_KEY_NAME"),
        (1690, "ER_DATA_OUT_OF_RANGE"), (3819, "ER_CHECK_CONSTRAINT_VIOLATED"), (4025, "MariaDB ER_CONSTRAINT_FAILED"),
    ]),
    // One statement was stopped; the connection is as good as before. KILL QUERY is 1317, KILL is 1927 or nothing.
    (Failed, &[
        (1317, "ER_QUERY_INTERRUPTED"), (1969, "MariaDB ER_STATEMENT_TIMEOUT"), (3024, "ER_QUERY_TIMEOUT"),
        (8175, "TiDB ErrMemoryExceedForQuery"),
    ]),
    // A part of the cluster was away for a moment; TiDB has retried already, so that another try is no conflict.
    (Failed, &[
        (9001, "TiDB ErrPDServerTimeout"), (9002, "TiDB ErrTiKVServerTimeout"), (9003, "TiDB ErrTiKVServerBusy"),
        (9005, "TiDB ErrRegionUnavailable"), (9012, "TiDB ErrTiFlashServerTimeout"), (9013, "TiDB ErrTiFlashServerBusy"),
    ]),
    // The connection is gone, or the server is about to go.
    (Lost, &[
        (1053, "ER_SERVER_SHUTDOWN"), (1077, "ER_NORMAL_SHUTDOWN"), (1079, "ER_SHUTDOWN_COMPLETE"),
        (1080, "ER_FORCING_CLOSE"), (1152, "ER_ABORTING_CONNECTION"), (1158, "ER_NET_READ_ERROR"),
        (1159, "ER_NET_READ_INTERRUPTED"), (1160, "ER_NET_ERROR_ON_WRITE"), (1161, "ER_NET_WRITE_INTERRUPTED"),
        (1184, "ER_NEW_ABORTING_CONNECTION"), (1927, "MariaDB ER_CONNECTION_KILLED"),
        (2006, "CR_SERVER_GONE_ERROR"), // numbers of the client, sent by proxies for what happened at their servers
        (2013, "CR_SERVER_LOST"), (3169, "ER_SESSION_WAS_KILLED"), (4031, "ER_CLIENT_INTERACTION_TIMEOUT"),
    ]),
    // The server refuses the login. Too many connections belong here: what is lost is opened again, for ever in this
    // case, and a trial with fewer connections than it says would be measured wrongly.
    (Refused, &[
        (1040, "ER_CON_COUNT_ERROR"), (1044, "ER_DBACCESS_DENIED_ERROR"), (1045, "ER_ACCESS_DENIED_ERROR"),
        (1049, "ER_BAD_DB_ERROR"), (1129, "ER_HOST_IS_BLOCKED"), (1130, "ER_HOST_NOT_PRIVILEGED"),
        (1131, "ER_PASSWORD_ANONYMOUS_USER"), (1142, "ER_TABLEACCESS_DENIED_ERROR"),
        (1143, "ER_COLUMNACCESS_DENIED_ERROR"), (1203, "ER_TOO_MANY_USER_CONNECTIONS"), (1226, "ER_USER_LIMIT_REACHED"),
        (1227, "ER_SPECIFIC_ACCESS_DENIED_ERROR"), (1251, "ER_NOT_SUPPORTED_AUTH_MODE"),
        (1275, "ER_SERVER_IS_IN_SECURE_AUTH_MODE"), (1370, "ER_PROCACCESS_DENIED_ERROR"),
        (1524, "ER_PLUGIN_IS_NOT_LOADED"), (1698, "ER_ACCESS_DENIED_NO_PASSWORD_ERROR"),
        (1820, "ER_MUST_CHANGE_PASSWORD"), (1862, "ER_MUST_CHANGE_PASSWORD_LOGIN"),
        (1873, "ER_ACCESS_DENIED_CHANGE_USER_ERROR"), (2061, "CR_AUTH_PLUGIN_ERR"), (3118, "ER_ACCOUNT_HAS_BEEN_LOCKED"),
        (3159, "ER_SECURE_TRANSPORT_REQUIRED"), (3955, "ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK"),
        (4151, "MariaDB ER_ACCOUNT_HAS_BEEN_LOCKED"),
    ]),
];

pub(crate) fn class_of(number: u16, message: &str) -> ErrorClass {
    if number == UNKNOWN && OF_OTHERS.contains(&message) {
        return Retry;
    }
    TABLE.iter().find(|(_, all)| all.iter().any(|(n, _)| *n == number)).map_or(Fatal, |(class, _)| *class)
}

/// The cause that the user can remove.
fn cause_of(number: u16, message: &str) -> Option<Cause> {
    Some(match number {
        1045 | 1698 => Cause::Password,
        1049 => Cause::NoDatabase,
        1044 | 1142 | 1227 => Cause::NoRight,
        1146 => Cause::NoTable,
        1040 => Cause::Connections,
        1021 | 1114 => Cause::DiskFull,
        1062 => Cause::DuplicateKey,
        // ER_DUP_KEYNAME and ER_FK_DUP_NAME; MariaDB says of a reference that is there that it cannot make the table, and
        // the error of its engine: 121, a key that is there.
        1061 | 1826 => Cause::AlreadyThere,
        1005 if message.contains("errno: 121") => Cause::AlreadyThere,
        1193 => Cause::NoSetting,
        1231 => Cause::SettingValue,
        1232 => Cause::SettingType,
        1238 => Cause::SettingFixed,
        _ => return None,
    })
}

pub(crate) fn code(number: u16) -> ErrorCode {
    ErrorCode::Number("mysql", number.into())
}

/// The error in an ERR packet ("ERR_Packet"); before the login it has no SQLSTATE.
pub(crate) fn from_packet(payload: &[u8]) -> Parsed<DriverError> {
    let mut reader = Reader::new(payload);
    if reader.u8()? != 0xff {
        return Err(Malformed("an error was expected"));
    }
    let number = reader.le_u16()?;
    let text = reader.rest();
    let text = match text {
        [b'#', _, _, _, _, _, rest @ ..] => rest,
        _ => text,
    };
    let message = error_words(text, b"", number == 1040);
    let cause = cause_of(number, &message);
    Ok(DriverError::new(class_of(number, &message), code(number), message).because(cause))
}

/// Whether a statement that cannot be prepared can still be executed as text: no more may be prepared, or none of its
/// kind.
pub(crate) fn asks_for_text(error: &DriverError) -> bool {
    [ER_STMT_COUNT, ER_UNSUPPORTED_PS].map(code).contains(&error.code)
}

/// Whether a prepared statement has become stale.
pub(crate) fn is_stale(error: &DriverError) -> bool {
    error.code == code(ER_NEED_REPREPARE)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_number_is_listed_twice() {
        let all: Vec<u16> = TABLE.iter().flat_map(|(_, all)| all.iter().map(|(number, _)| *number)).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }

    #[test]
    fn classes_are_what_the_engine_needs() {
        for (number, class) in [
            (1213, Retry),
            (9007, Retry),
            (1062, Failed),
            (1317, Failed),
            (1927, Lost),
            (1045, Refused),
            (1146, Fatal),
            (7, Fatal),
        ] {
            assert_eq!(class_of(number, ""), class, "{number}");
        }
        assert_eq!((class_of(1105, "lock wait timeout"), class_of(1105, "rpc error")), (Retry, Fatal));
    }

    /// What TiDB 8.5.6 answered to perbuck, as `PERBUCK_CAPTURE=1 dev/tidb` heard it. It gave none of 8002, 8022, 9004 and the like.
    #[test]
    fn errors_of_a_real_tidb_are_repeated() {
        let hex = |text: &str| -> Vec<u8> {
            (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
        };
        let mut numbers = Vec::new();
        for line in include_str!("tidb_errors.txt").lines() {
            let (number, bytes) = line.split_once(' ').unwrap();
            let error = from_packet(&[&[0xff], hex(bytes).as_slice()].concat()).unwrap();
            assert_eq!((error.class, error.code), (Retry, code(number.parse().unwrap())), "{}", error.message);
            numbers.push(number);
        }
        assert_eq!(numbers, ["1105", "1205", "1213", "8028", "9007"]);
    }

    #[test]
    fn an_error_packet_is_read_with_and_without_its_state() {
        let packet = b"\xff\xbd\x04#40001Deadlock found";
        let error = from_packet(packet).unwrap();
        assert_eq!((error.class, error.code, &*error.message), (Retry, ErrorCode::Number("mysql", 1213), "Deadlock found"));
        let error = from_packet(b"\xff\x10\x04Too many connections").unwrap();
        assert_eq!((error.class, error.code), (Refused, ErrorCode::Number("mysql", 1040)));
        assert!(error.message.contains("raise max_connections"));
        assert!(from_packet(b"\xff\x10").is_err() && from_packet(b"\x00\x10\x04").is_err());
        let error = from_packet(b"\xff\x10\x27\x1b[31mred\n\xc3").unwrap();
        assert_eq!((error.class, &*error.message), (Fatal, " [31mred \u{fffd}"));
    }
}
