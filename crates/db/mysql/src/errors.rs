//! What the error numbers of MySQL, MariaDB and TiDB mean for a load generator ("Server Error Message Reference",
//! MariaDB's "Error Codes", TiDB's "Error Codes and Troubleshooting").
//!
//! What is not in the table is fatal: a syntax error or a full disk fails every transaction, and a run that counts
//! thousands of them measures nothing.

use perbuck_load::error::{Cause, DriverError, ErrorClass, ErrorCode};

use ErrorClass::{Failed, Fatal, Lost, Refused, Retry};
use perbuck_net::reader::Reader;
use perbuck_net::{Malformed, Parsed, printable};

const ER_STMT_COUNT: u16 = 1461;
const ER_UNSUPPORTED_PS: u16 = 1295;
const ER_NEED_REPREPARE: u16 = 1615;

#[rustfmt::skip]
const TABLE: &[(u16, &str, ErrorClass)] = &[
    // The transaction was rolled back, or must be, because of what others did at the same time.
    (1020, "ER_CHECKREAD", Retry), // MariaDB's innodb_snapshot_isolation
    (1205, "ER_LOCK_WAIT_TIMEOUT", Retry),
    (1213, "ER_LOCK_DEADLOCK", Retry),
    (1412, "ER_TABLE_DEF_CHANGED", Retry),
    (1614, "ER_XA_RBDEADLOCK", Retry),
    (ER_NEED_REPREPARE, "ER_NEED_REPREPARE", Retry), // the session prepares again, see session.rs
    (3101, "ER_TRANSACTION_ROLLBACK_DURING_COMMIT", Retry), // group replication certified another one
    (3572, "ER_LOCK_NOWAIT", Retry),
    (8002, "TiDB ErrForUpdateCantRetry", Retry),
    (8005, "TiDB ErrWriteConflictInTiDB", Retry),
    (8022, "TiDB ErrTxnRetryable", Retry),
    (8028, "TiDB ErrInfoSchemaChanged", Retry),
    (9004, "TiDB ErrResolveLockTimeout", Retry),
    (9007, "TiDB ErrWriteConflict", Retry),
    // About the values of one transaction.
    (1022, "ER_DUP_KEY", Failed),
    (1048, "ER_BAD_NULL_ERROR", Failed),
    (1062, "ER_DUP_ENTRY", Failed),
    (1169, "ER_DUP_UNIQUE", Failed),
    (1216, "ER_NO_REFERENCED_ROW", Failed),
    (1217, "ER_ROW_IS_REFERENCED", Failed),
    (1242, "ER_SUBQUERY_NO_1_ROW", Failed),
    (1264, "ER_WARN_DATA_OUT_OF_RANGE", Failed),
    (1265, "WARN_DATA_TRUNCATED", Failed),
    (1292, "ER_TRUNCATED_WRONG_VALUE", Failed),
    (1365, "ER_DIVISION_BY_ZERO", Failed),
    (1366, "ER_TRUNCATED_WRONG_VALUE_FOR_FIELD", Failed),
    (1406, "ER_DATA_TOO_LONG", Failed),
    (1451, "ER_ROW_IS_REFERENCED_2", Failed),
    (1452, "ER_NO_REFERENCED_ROW_2", Failed),
    (1586, "ER_DUP_ENTRY_WITH_KEY_NAME", Failed),
    (1690, "ER_DATA_OUT_OF_RANGE", Failed),
    (3819, "ER_CHECK_CONSTRAINT_VIOLATED", Failed),
    (4025, "MariaDB ER_CONSTRAINT_FAILED", Failed),
    // One statement was stopped; the connection is as good as before. KILL QUERY is 1317, KILL is 1927 or nothing.
    (1317, "ER_QUERY_INTERRUPTED", Failed),
    (1969, "MariaDB ER_STATEMENT_TIMEOUT", Failed),
    (3024, "ER_QUERY_TIMEOUT", Failed),
    (8175, "TiDB ErrMemoryExceedForQuery", Failed),
    // A part of the cluster was away for a moment; TiDB has retried already, so that another try is no conflict.
    (9001, "TiDB ErrPDServerTimeout", Failed),
    (9002, "TiDB ErrTiKVServerTimeout", Failed),
    (9003, "TiDB ErrTiKVServerBusy", Failed),
    (9005, "TiDB ErrRegionUnavailable", Failed),
    (9012, "TiDB ErrTiFlashServerTimeout", Failed),
    (9013, "TiDB ErrTiFlashServerBusy", Failed),
    // The connection is gone, or the server is about to go.
    (1053, "ER_SERVER_SHUTDOWN", Lost),
    (1077, "ER_NORMAL_SHUTDOWN", Lost),
    (1079, "ER_SHUTDOWN_COMPLETE", Lost),
    (1080, "ER_FORCING_CLOSE", Lost),
    (1152, "ER_ABORTING_CONNECTION", Lost),
    (1158, "ER_NET_READ_ERROR", Lost),
    (1159, "ER_NET_READ_INTERRUPTED", Lost),
    (1160, "ER_NET_ERROR_ON_WRITE", Lost),
    (1161, "ER_NET_WRITE_INTERRUPTED", Lost),
    (1184, "ER_NEW_ABORTING_CONNECTION", Lost),
    (1927, "MariaDB ER_CONNECTION_KILLED", Lost),
    (2006, "CR_SERVER_GONE_ERROR", Lost), // numbers of the client, sent by proxies for what happened at their servers
    (2013, "CR_SERVER_LOST", Lost),
    (3169, "ER_SESSION_WAS_KILLED", Lost),
    (4031, "ER_CLIENT_INTERACTION_TIMEOUT", Lost),
    // The server refuses the login. Too many connections belong here: what is lost is opened again, for ever in this
    // case, and a trial with fewer connections than it says would be measured wrongly.
    (1040, "ER_CON_COUNT_ERROR", Refused),
    (1044, "ER_DBACCESS_DENIED_ERROR", Refused),
    (1045, "ER_ACCESS_DENIED_ERROR", Refused),
    (1049, "ER_BAD_DB_ERROR", Refused),
    (1129, "ER_HOST_IS_BLOCKED", Refused),
    (1130, "ER_HOST_NOT_PRIVILEGED", Refused),
    (1131, "ER_PASSWORD_ANONYMOUS_USER", Refused),
    (1142, "ER_TABLEACCESS_DENIED_ERROR", Refused),
    (1143, "ER_COLUMNACCESS_DENIED_ERROR", Refused),
    (1203, "ER_TOO_MANY_USER_CONNECTIONS", Refused),
    (1226, "ER_USER_LIMIT_REACHED", Refused),
    (1227, "ER_SPECIFIC_ACCESS_DENIED_ERROR", Refused),
    (1251, "ER_NOT_SUPPORTED_AUTH_MODE", Refused),
    (1275, "ER_SERVER_IS_IN_SECURE_AUTH_MODE", Refused),
    (1370, "ER_PROCACCESS_DENIED_ERROR", Refused),
    (1524, "ER_PLUGIN_IS_NOT_LOADED", Refused),
    (1698, "ER_ACCESS_DENIED_NO_PASSWORD_ERROR", Refused),
    (1820, "ER_MUST_CHANGE_PASSWORD", Refused),
    (1862, "ER_MUST_CHANGE_PASSWORD_LOGIN", Refused),
    (1873, "ER_ACCESS_DENIED_CHANGE_USER_ERROR", Refused),
    (2061, "CR_AUTH_PLUGIN_ERR", Refused),
    (3118, "ER_ACCOUNT_HAS_BEEN_LOCKED", Refused),
    (3159, "ER_SECURE_TRANSPORT_REQUIRED", Refused),
    (3955, "ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK", Refused),
    (4151, "MariaDB ER_ACCOUNT_HAS_BEEN_LOCKED", Refused),
];

/// What an error number means.
pub(crate) fn class_of(number: u16) -> ErrorClass {
    TABLE.iter().find(|(n, _, _)| *n == number).map_or(Fatal, |(_, _, class)| *class)
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

/// The code of an error number.
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
    let mut message = printable(text);
    if message.is_empty() {
        message.push_str("the server gives no reason");
    }
    if number == 1040 {
        message.push_str("; raise max_connections of the server or use fewer connections");
    }
    let cause = cause_of(number, &message);
    Ok(DriverError::new(class_of(number), code(number), message).because(cause))
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
        assert_eq!(TABLE.iter().map(|(number, ..)| number).collect::<BTreeSet<_>>().len(), TABLE.len());
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
            assert_eq!(class_of(number), class, "{number}");
        }
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
