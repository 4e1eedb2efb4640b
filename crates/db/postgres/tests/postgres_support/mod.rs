//! What PostgreSQL supplies to the suite of all drivers.
#![allow(dead_code, unused_imports, reason = "each test binary uses its own part of this")]

use perbuck_load::driver::{Driver, SessionId, TargetFacts};
use perbuck_load::error::{ErrorClass, ErrorCode};
use perbuck_load::values::Params;
use perbuck_postgres::{PostgresDriver, PostgresSession};

pub(crate) use perbuck_driver_suite::servers::*;

/// The server of the tests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Postgres;

pub(crate) const SERVER: Postgres = Postgres;
pub(crate) const OWNER_PASSWORD: &str = "PERBUCK_TEST_POSTGRES_PASSWORD";

pub(crate) const fn state(code: &[u8; 5]) -> ErrorCode {
    ErrorCode::State("sqlstate", *code)
}

impl Server for Postgres {
    type Driver = PostgresDriver;

    const TYPES: &'static [(&'static str, &'static str, &'static str)] = &[
        ("smallint", "-32768", "-32768"),
        ("integer", "-2147483648", "-2147483648"),
        ("bigint", "-9223372036854775808", "-9223372036854775808"),
        ("numeric(20,4)", "-1234567890123456.7890", "-1234567890123456.7890"),
        ("numeric", "'NaN'", "NaN"),
        ("real", "1.5", "1.5"),
        ("double precision", "-2.25", "-2.25"),
        ("boolean", "true", "t"),
        ("date", "'2024-02-29'", "2024-02-29"),
        ("timestamp", "'2024-02-29 23:59:58.000123'", "2024-02-29 23:59:58.000123"),
        ("time", "'00:00:00.5'", "00:00:00.5"),
        ("char(5)", "'abc'", "abc  "),
        ("varchar(100)", "'ä''\\€😀'", "ä'\\€😀"),
        ("text", "'t'", "t"),
        ("bytea", "'\\x00ff'", "\0\u{fffd}"),
        ("uuid", "'00000000-0000-0000-0000-000000000007'", "00000000-0000-0000-0000-000000000007"),
        ("jsonb", "'{\"a\": 1}'", "{\"a\": 1}"),
        ("integer[]", "'{1,2}'", "{1,2}"),
        ("oid", "4294967295", "4294967295"),
    ];
    const PARAMETERS: &'static str = "s smallint, i bigint, d numeric(12,2), f real, t varchar(40), b bytea";
    /// A row that is found counts as changed, whatever it is set to; one that is not found does not.
    const UPDATES: &'static [(i64, u64)] = &[(3, 1), (3, 1), (99, 0)];
    const LARGE: (&'static str, &'static [usize]) = ("bytea", &[0, 32_768, 65_536, 20_000_000]);
    /// The last column has a name that must stay in quotes.
    const BULK: (&'static str, [&'static str; 3]) = ("d numeric(12,2), t varchar(200), \"order\" text", ["d", "t", "order"]);
    const NO_TABLE: ErrorCode = state(b"42P01");
    const DUPLICATE: ErrorCode = state(b"23505");

    fn all() -> Vec<Self> {
        vec![Self]
    }

    fn driver(&self, options: &str) -> PostgresDriver {
        self.owner(options)
    }

    fn parameters() -> Vec<(Params, Vec<&'static str>)> {
        let first =
            bound(|p| _ = p.int(1).int(-5).int(i64::MIN).decimal(-1230, 2).int(3).text("ä'\\".as_bytes()).text(b"\0\xff\x80"));
        let second = bound(|p| _ = p.int(2).null().null().null().null().null().null());
        let third = bound(|p| _ = p.text(b"3").text(b"4").int(0).int(5).decimal(25, 1).int(12).text(b""));
        let fourth = bound(|p| _ = p.int(4).int(8).text(b"9").text(b"9.10").text(b"0.5").null().text(b"x"));
        vec![
            (first, vec!["1", "-5", "-9223372036854775808", "-12.30", "3", "ä'\\", "\0\u{fffd}\u{fffd}"]),
            (second, vec!["2", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL"]),
            (third, vec!["3", "4", "0", "5.00", "2.5", "12", ""]),
            (fourth, vec!["4", "8", "9", "9.10", "0.5", "NULL", "x"]),
        ]
    }

    fn errors(table: &str) -> Vec<(String, ErrorClass, ErrorCode)> {
        vec![
            (format!("INSERT INTO {table} VALUES (2, 'long')"), ErrorClass::Failed, state(b"22001")),
            ("SELECT 1 / 0".to_owned(), ErrorClass::Failed, state(b"22012")),
            ("SELEC 1".to_owned(), ErrorClass::Fatal, state(b"42601")),
            (format!("SELECT no_such_column FROM {table}"), ErrorClass::Fatal, state(b"42703")),
            ("SELECT * FROM pg_authid".to_owned(), ErrorClass::Refused, state(b"42501")),
        ]
    }

    fn odd(row: i64) -> (String, &'static [u8]) {
        (format!("{row}\t'\\\n\r\\.\\N\"é😀\u{8}"), b"")
    }
}

pub(crate) const ADMIN: (&str, &str) = ("postgres", "PERBUCK_TEST_POSTGRES_ADMIN_PASSWORD");

impl Postgres {
    /// The driver of a user, with the variable of the password, in another database than that of most tests.
    pub(crate) fn driver_in(database: &str, (user, password): (&str, &str)) -> PostgresDriver {
        let mut target = Self.target(user, "");
        database.clone_into(&mut target.server.database);
        Self::driver_of(&target, &variable(password)).unwrap()
    }
}

impl SharedServer for Postgres {
    type Database = perbuck_postgres::Postgres;

    const OWNER: &'static str = "perbuck";
    const DEADLOCK: ErrorCode = state(b"40P01");
    const KILLED: ErrorCode = state(b"57P01");
    const CONNECTION: &'static str = "SELECT pg_backend_pid()";
    const USER: &'static str = "SELECT current_user";
    const USER_END: &'static str = "";
    const ACCOUNTS: &'static [(&'static str, &'static str, &'static str)] = &[
        ("PERBUCK_TEST_POSTGRES", "perbuck", OWNER_PASSWORD),
        ("PERBUCK_TEST_POSTGRES", "md5_user", "PERBUCK_TEST_POSTGRES_MD5_PASSWORD"),
    ];
    const WRONG_PASSWORD: [&'static [ErrorCode]; 2] = [&[state(b"28P01")], &[ErrorCode::Word("client", "auth")]];
    const NO_TLS: ErrorCode = state(b"28000");
    const NO_DATABASE: ErrorCode = state(b"3D000");
    const FACTS: (&'static [(&'static str, &'static str)], &'static str) = (
        &[("shared_buffers", "256MB"), ("fsync", "on"), ("synchronous_commit", "on"), ("max_connections", "1100")],
        "data_directory",
    );
    const COUNTERS: (&'static str, &'static [&'static str]) = ("xact_commit", &["blks_hit", "deadlocks"]);

    fn variable(&self) -> &'static str {
        "PERBUCK_TEST_POSTGRES"
    }

    fn sleep(seconds: f64) -> String {
        format!("SELECT pg_sleep({seconds})")
    }

    fn kill(connection: &str) -> String {
        format!("SELECT pg_terminate_backend({connection}, 5000)")
    }

    fn check_version(facts: &TargetFacts) {
        assert!(facts.version.starts_with("PostgreSQL "), "{facts:?}");
    }

    /// The superuser.
    async fn admin(&self) -> PostgresSession {
        Self::driver_of(&self.target(ADMIN.0, ""), &variable(ADMIN.1)).unwrap().connect(SessionId::Own(0)).await.unwrap()
    }
}
