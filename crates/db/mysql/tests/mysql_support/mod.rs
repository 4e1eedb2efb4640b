//! What MySQL and MariaDB supply to the suite of all drivers.
#![allow(dead_code, unused_imports, reason = "each test binary uses its own part of this")]

use perbuck_load::driver::{Driver, SessionId, TargetFacts};
use perbuck_load::error::{ErrorClass, ErrorCode};
use perbuck_load::values::Params;
use perbuck_mysql::{MysqlDriver, MysqlSession};

pub(crate) use perbuck_driver_suite::servers::*;

/// A server, by the variable that holds its address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mysql(pub(crate) &'static str);

pub(crate) const MARIADB: Mysql = Mysql("PERBUCK_TEST_MARIADB");
pub(crate) const MYSQL9: Mysql = Mysql("PERBUCK_TEST_MYSQL9");

pub(crate) const fn number(code: i32) -> ErrorCode {
    ErrorCode::Number("mysql", code)
}

impl Server for Mysql {
    type Driver = MysqlDriver;

    const TYPES: &'static [(&'static str, &'static str, &'static str)] = &[
        ("tinyint", "-128", "-128"),
        ("tinyint unsigned", "255", "255"),
        ("smallint", "-32768", "-32768"),
        ("smallint unsigned", "65535", "65535"),
        ("mediumint", "-8388608", "-8388608"),
        ("mediumint unsigned", "16777215", "16777215"),
        ("int", "-2147483648", "-2147483648"),
        ("int unsigned", "4294967295", "4294967295"),
        ("bigint", "-9223372036854775808", "-9223372036854775808"),
        ("bigint unsigned", "18446744073709551615", "18446744073709551615"),
        ("decimal(20,4)", "-1234567890123456.7890", "-1234567890123456.7890"),
        ("float", "1.5", "1.5"),
        ("double", "-2.25e100", "-2.25e100"),
        ("year", "2024", "2024"),
        ("date", "'2024-02-29'", "2024-02-29"),
        ("datetime", "'2024-02-29 23:59:58'", "2024-02-29 23:59:58"),
        ("datetime(6)", "'2024-02-29 23:59:58.000123'", "2024-02-29 23:59:58.000123"),
        ("datetime(3)", "'2024-02-29 00:00:00'", "2024-02-29 00:00:00.000"),
        ("timestamp", "'2024-02-29 01:02:03'", "2024-02-29 01:02:03"),
        ("time", "'-838:59:59'", "-838:59:59"),
        ("time(2)", "'00:00:00.5'", "00:00:00.50"),
        ("char(5)", "'abc'", "abc"),
        ("varchar(100)", "'ä''\\\\€😀'", "ä'\\€😀"),
        ("text", "'t'", "t"),
        ("blob", "x'00ff'", "\0\u{fffd}"),
        ("enum('a','b')", "'b'", "b"),
        ("set('a','b')", "'a,b'", "a,b"),
        ("bit(12)", "b'000101100001'", "\u{1}a"),
    ];
    const PARAMETERS: &'static str = "i bigint, d decimal(12,2), t varchar(40), b blob";
    /// Without FOUND_ROWS an update that changes nothing has changed no row.
    const UPDATES: &'static [(i64, u64)] = &[(3, 1), (3, 0), (99, 0)];
    /// Around the largest packet in one part, for rows of both protocols, and beyond two parts.
    const LARGE: (&'static str, &'static [usize]) =
        ("longblob", &[16_777_209, 16_777_210, 16_777_211, 16_777_212, 16_777_215, 34_000_000]);
    const BULK: (&'static str, [&'static str; 3]) = ("d decimal(12,2), t varchar(200), b blob", ["d", "t", "b"]);
    const MODES: &'static [&'static str] = &["SET sql_mode = ''", "SET sql_mode = 'NO_BACKSLASH_ESCAPES'"];
    const TABLE_WORDS: &'static str = " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4";
    const NO_TABLE: ErrorCode = number(1146);
    const DUPLICATE: ErrorCode = number(1062);

    fn all() -> Vec<Self> {
        vec![MARIADB, MYSQL9]
    }

    fn driver(&self, options: &str) -> MysqlDriver {
        self.owner(options)
    }

    fn parameters() -> Vec<(Params, Vec<&'static str>)> {
        let minimum = "-9223372036854775808";
        let bytes = "\0\u{fffd}\u{fffd}";
        vec![
            (
                bound(|p| _ = p.int(1).int(i64::MIN).decimal(-1230, 2).text("ä'\\".as_bytes()).text(b"\0\xff\x80")),
                vec!["1", minimum, "-12.30", "ä'\\", bytes],
            ),
            (bound(|p| _ = p.int(2).null().null().null().null()), vec!["2", "NULL", "NULL", "NULL", "NULL"]),
            (bound(|p| _ = p.int(3).decimal(7, 0).int(5).int(12).text(b"")), vec!["3", "7", "5.00", "12", ""]),
            (bound(|p| _ = p.int(4).text(b"8").text(b"9.10").null().int(1)), vec!["4", "8", "9.10", "NULL", "1"]),
        ]
    }

    fn errors(table: &str) -> Vec<(String, ErrorClass, ErrorCode)> {
        vec![
            (format!("INSERT INTO {table} VALUES (2, 'long')"), ErrorClass::Failed, number(1406)),
            ("SELEC 1".to_owned(), ErrorClass::Fatal, number(1064)),
            (format!("SELECT no_such_column FROM {table}"), ErrorClass::Fatal, number(1054)),
        ]
    }

    /// Beside what ends a field or a row there is what is no text.
    fn odd(row: i64) -> (String, &'static [u8]) {
        (format!("{row}\t'\\\n\u{e9}\u{1f600}\0\\N\r {}", "x".repeat(100)), b"\xff\x00\t'\\")
    }
}

impl SharedServer for Mysql {
    type Database = perbuck_mysql::Mysql;

    const OWNER: &'static str = "root";
    const DEADLOCK: ErrorCode = number(1213);
    const KILLED: ErrorCode = number(1927);
    const CONNECTION: &'static str = "SELECT CONNECTION_ID()";
    const USER: &'static str = "SELECT CURRENT_USER()";
    const USER_END: &'static str = "@%";
    const ACCOUNTS: &'static [(&'static str, &'static str, &'static str)] = &[
        ("PERBUCK_TEST_MARIADB", "native_user", "PERBUCK_TEST_MARIADB_NATIVE_PASSWORD"),
        ("PERBUCK_TEST_MARIADB", "ed_user", "PERBUCK_TEST_MARIADB_ED25519_PASSWORD"),
    ];
    const WRONG_PASSWORD: [&'static [ErrorCode]; 2] = [&[number(1045), number(1698)]; 2];
    const NO_TLS: ErrorCode = number(1045);
    const NO_DATABASE: ErrorCode = number(1049);
    const FACTS: (&'static [(&'static str, &'static str)], &'static str) =
        (&[("innodb_flush_log_at_trx_commit", "1"), ("innodb_buffer_pool_size", "268435456")], "datadir");
    const COUNTERS: (&'static str, &'static [&'static str]) = ("Com_select", &["Questions", "Bytes_sent", "Handler_read_key"]);

    fn variable(&self) -> &'static str {
        self.0
    }

    fn sleep(seconds: f64) -> String {
        format!("SELECT SLEEP({seconds})")
    }

    fn kill(connection: &str) -> String {
        format!("KILL {connection}")
    }

    fn check_version(facts: &TargetFacts) {
        assert_eq!(facts.variables["version"], facts.version);
    }

    async fn admin(&self) -> MysqlSession {
        self.session("").await
    }
}
