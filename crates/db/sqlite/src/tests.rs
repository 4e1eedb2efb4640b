//! Sessions on real files: the suite of all drivers, and what is true of SQLite alone.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use perbuck_database::Dialect as _;
use perbuck_driver_suite::embedded::{now, number, query};
use perbuck_driver_suite::servers::{Server, assert_error, bound};
use perbuck_load::driver::{Access, Driver, Session, SessionId};
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};
use perbuck_load::values::{Params, Rows};
use rusqlite::ffi;
use tempfile::TempDir;

use crate::target::SqliteTarget;
use crate::{SqliteDialect, SqliteDriver, SqliteSession};

/// A folder that goes with the test.
#[derive(Debug)]
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn target(&self) -> SqliteTarget {
        SqliteTarget {
            path: self.0.path().join("test.db"),
            synchronous: "FULL".to_owned(),
            journal_mode: "WAL".to_owned(),
            busy_timeout_ms: 5_000,
            cache_kib: 2_048,
        }
    }
}

impl Server for Folder {
    type Driver = SqliteDriver;

    const TYPES: &'static [(&'static str, &'static str, &'static str)] = &[
        ("INTEGER", "-9223372036854775808", "-9223372036854775808"),
        ("REAL", "0.5", "0.5"),
        ("TEXT", "'zwölf'", "zwölf"),
        ("BLOB", "x'00ff'", "\0\u{fffd}"),
    ];
    const PARAMETERS: &'static str = "i INTEGER, d INTEGER, t TEXT, b BLOB";
    /// A row that is found counts as changed, whatever it is set to.
    const UPDATES: &'static [(i64, u64)] = &[(3, 1), (3, 1), (99, 0)];
    const LARGE: (&'static str, &'static [usize]) = ("BLOB", &[0, 65_536, 20_000_000]);
    const BULK: (&'static str, [&'static str; 3]) = ("d INTEGER, t TEXT NOT NULL, b BLOB", ["d", "t", "b"]);
    const NO_TABLE: ErrorCode = code(ffi::SQLITE_ERROR);
    const DUPLICATE: ErrorCode = code(ffi::SQLITE_CONSTRAINT_PRIMARYKEY);
    const WRONG_COUNT: [&'static str; 2] = ["sqlite", "shape"];

    fn all() -> Vec<Self> {
        vec![Self::new()]
    }

    fn driver(&self, _options: &str) -> SqliteDriver {
        SqliteDriver::new(self.target()).unwrap()
    }

    /// Decimals are unscaled.
    fn parameters() -> Vec<(Params, Vec<&'static str>)> {
        let row = |id: i64, i: i64, text: &str| {
            bound(|p| _ = p.int(id).int(i).decimal(-1_230, 2).text(text.as_bytes()).text(b"\0\xff\x80"))
        };
        vec![
            (row(1, i64::MIN, "zwölf"), vec!["1", "-9223372036854775808", "-1230", "zwölf", "\0\u{fffd}\u{fffd}"]),
            (row(2, i64::MAX, ""), vec!["2", "9223372036854775807", "-1230", "", "\0\u{fffd}\u{fffd}"]),
            (bound(|p| _ = p.int(3).null().decimal(5, 4).null().null()), vec!["3", "NULL", "5", "NULL", "NULL"]),
        ]
    }

    fn errors(table: &str) -> Vec<(String, ErrorClass, ErrorCode)> {
        vec![
            ("SELEC 1".to_owned(), ErrorClass::Fatal, code(ffi::SQLITE_ERROR)),
            (format!("SELECT no_such_column FROM {table}"), ErrorClass::Fatal, code(ffi::SQLITE_ERROR)),
        ]
    }

    fn odd(row: i64) -> (String, &'static [u8]) {
        (format!("{row}\t'\\\n\0\u{e9}"), b"\xff\x00'")
    }
}

const fn code(number: i32) -> ErrorCode {
    ErrorCode::Number("sqlite", number)
}

// There are neither deadlocks nor connections to be lost: a transaction that writes waits at its beginning, in this process.
perbuck_driver_suite::tests!(Folder: statements::{
    every_type_comes_back_the_same_from_a_text_and_from_a_prepared_statement,
    parameters_of_every_kind_arrive_and_change_their_kinds,
    large_values_go_both_ways,
    errors_have_the_classes_that_the_engine_acts_on_and_leave_the_connection_usable,
    transactions_commit_and_roll_back,
    rows_are_inserted_as_they_are_all_or_none,
});

fn connect(driver: &SqliteDriver) -> SqliteSession {
    now(driver.connect(SessionId::Own(0))).unwrap()
}

#[test]
fn a_second_writer_is_told_to_retry() {
    let folder = Folder::new();
    let driver = SqliteDriver::new(SqliteTarget { busy_timeout_ms: 30, ..folder.target() }).unwrap();
    let (mut first, mut second) = (connect(&driver), connect(&driver));
    query(&mut first, "CREATE TABLE t (a INTEGER PRIMARY KEY)").unwrap();
    now(first.begin(Access::Write)).unwrap();
    query(&mut first, "INSERT INTO t VALUES (1)").unwrap();

    let started = Instant::now();
    let error = now(second.begin(Access::Write)).unwrap_err();
    assert_error(&error, ErrorClass::Retry, code(ffi::SQLITE_BUSY));
    assert!(started.elapsed() >= Duration::from_millis(25), "it waits for busy_timeout: {:?}", started.elapsed());
    now(second.rollback()).unwrap();

    now(second.begin(Access::Read)).unwrap();
    assert_eq!(number(&mut second, "SELECT COUNT(*) FROM t"), 0, "readers see the state before");
    now(first.commit()).unwrap();
    let error = query(&mut second, "INSERT INTO t VALUES (2)").unwrap_err();
    assert_error(&error, ErrorClass::Retry, code(ffi::SQLITE_BUSY_SNAPSHOT));
    now(second.rollback()).unwrap();

    now(second.begin(Access::Write)).unwrap();
    query(&mut second, "INSERT INTO t VALUES (2)").unwrap();
    now(second.commit()).unwrap();
    assert_eq!(number(&mut first, "SELECT COUNT(*) FROM t"), 2);
    let error = query(&mut first, "INSERT INTO t VALUES (2)").unwrap_err();
    assert_error(&error, ErrorClass::Failed, code(ffi::SQLITE_CONSTRAINT_PRIMARYKEY));
}

#[test]
fn sessions_on_their_own_threads_lose_no_update() {
    let folder = Folder::new();
    let driver = folder.driver("");
    let mut session = connect(&driver);
    query(&mut session, "CREATE TABLE t (n INTEGER)").unwrap();
    query(&mut session, "INSERT INTO t VALUES (0)").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut session = connect(&driver);
                for _ in 0..25 {
                    now(session.begin(Access::Write)).unwrap();
                    let n = number(&mut session, "SELECT n FROM t");
                    query(&mut session, &format!("UPDATE t SET n = {}", n + 1)).unwrap();
                    now(session.commit()).unwrap();
                }
                now(session.close());
            });
        }
    });
    assert_eq!(number(&mut session, "SELECT n FROM t"), 100);
}

#[test]
fn settings_are_in_force_and_in_the_facts() {
    for (journal, synchronous) in
        [("WAL", "FULL"), ("delete", "extra"), ("TRUNCATE", "NORMAL"), ("MEMORY", "OFF"), ("WAL", "FULL")]
    {
        let folder = Folder::new();
        let target = SqliteTarget { journal_mode: journal.to_owned(), synchronous: synchronous.to_owned(), ..folder.target() };
        let driver = SqliteDriver::new(target).unwrap();
        let facts = now(driver.facts()).unwrap();
        assert!(facts.version.starts_with("SQLite 3.") && facts.on_this_machine && facts.local_pid.is_none());
        let variable = |name: &str| facts.variables[name].as_str();
        assert_eq!((variable("journal_mode"), variable("synchronous")), (&*journal.to_lowercase(), &*synchronous.to_uppercase()));
        assert_eq!((variable("busy_timeout"), variable("cache_size"), variable("temp_store")), ("5000", "-2048", "2"));
        assert!(variable("compile_options").contains("THREADSAFE=") && variable("page_size") == "4096");
        assert!(now(driver.counters()).unwrap().is_empty());
    }
}

#[test]
fn unknown_settings_and_private_databases_are_refused() {
    let folder = Folder::new();
    for target in [
        SqliteTarget { synchronous: "FUL".to_owned(), ..folder.target() },
        SqliteTarget { journal_mode: "OFF; DROP TABLE t".to_owned(), ..folder.target() },
        SqliteTarget { busy_timeout_ms: u32::MAX, ..folder.target() },
        SqliteTarget { path: ":memory:".into(), ..folder.target() },
        SqliteTarget { path: PathBuf::new(), ..folder.target() },
    ] {
        assert_eq!(SqliteDriver::new(target).unwrap_err().class, ErrorClass::Fatal);
    }
}

/// The refusal to connect to that file.
fn refusal(path: &Path) -> DriverError {
    let folder = Folder::new();
    let driver = SqliteDriver::new(SqliteTarget { path: path.to_path_buf(), ..folder.target() }).unwrap();
    let error = now(driver.connect(SessionId::Own(0))).unwrap_err();
    assert_eq!(error.class, ErrorClass::Fatal);
    assert!(error.message.contains(&path.display().to_string()), "{error}");
    error
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let folder = Folder::new();
    let other = folder.0.path().join("other.db");
    std::fs::write(&other, "This is a letter, and not a short one. ".repeat(100)).unwrap();
    assert_eq!(refusal(&other).code, code(ffi::SQLITE_NOTADB));
    let error = refusal(&folder.0.path().join("missing/test.db"));
    assert_eq!(error.code, code(ffi::SQLITE_CANTOPEN));
    assert!(error.message.contains("check that its folder exists"), "{error}");
    // A folder that refuses even root: file modes would not.
    assert_eq!(refusal(Path::new("/proc/perbuck-test.db")).code, code(ffi::SQLITE_CANTOPEN));
    for path in [&*other.join("below-a-file.db"), folder.0.path()] {
        let error = refusal(path);
        assert!(matches!(error.code, ErrorCode::Number("sqlite", code) if code & 0xff == ffi::SQLITE_CANTOPEN), "{error:?}");
    }
}

#[test]
fn a_full_disk_and_a_missing_table_end_the_run() {
    let folder = Folder::new();
    let mut session = connect(&folder.driver(""));
    query(&mut session, "CREATE TABLE t (a TEXT)").unwrap();
    query(&mut session, "PRAGMA max_page_count = 4").unwrap();
    now(session.begin(Access::Write)).unwrap();
    let error = query(&mut session, "INSERT INTO t VALUES (zeroblob(100000))").unwrap_err();
    assert_error(&error, ErrorClass::Fatal, code(ffi::SQLITE_FULL));
    now(session.rollback()).unwrap();
    let error = query(&mut session, "SELECT c FROM sbtest1").unwrap_err();
    assert_error(&error, ErrorClass::Fatal, code(ffi::SQLITE_ERROR));
    assert!(error.message.contains("no such table: sbtest1; prepare the data") && error.message.contains("test.db"), "{error}");
    assert_eq!(query(&mut session, "SELECT 1; SELECT 2").unwrap_err().class, ErrorClass::Fatal);
}

#[test]
fn a_switch_of_journal_that_others_prevent_is_no_retry() {
    let folder = Folder::new();
    let mut session = connect(&folder.driver(""));
    query(&mut session, "CREATE TABLE t (a TEXT)").unwrap();
    let target = SqliteTarget { journal_mode: "DELETE".to_owned(), busy_timeout_ms: 10, ..folder.target() };
    let driver = SqliteDriver::new(target).unwrap();
    let error = now(driver.connect(SessionId::Own(0))).unwrap_err();
    assert_error(&error, ErrorClass::Lost, code(ffi::SQLITE_BUSY));
}

#[test]
fn the_size_of_data_is_that_of_the_pages_of_their_trees() {
    let folder = Folder::new();
    let driver = SqliteDriver::new(folder.target()).unwrap();
    let mut session = connect(&driver);
    for sql in [
        "CREATE TABLE whole (id INTEGER PRIMARY KEY, k INTEGER, pad TEXT)",
        "CREATE INDEX k_1 ON whole (k)",
        "CREATE TABLE keyed (id INTEGER, pad TEXT, PRIMARY KEY (id)) WITHOUT ROWID",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) \
         INSERT INTO whole SELECT i, i * 7, hex(zeroblob(90)) FROM n",
        "INSERT INTO keyed SELECT id, pad FROM whole",
        "PRAGMA wal_checkpoint(TRUNCATE)",
    ] {
        query(&mut session, sql).unwrap();
    }
    let size = |tables: &[&str]| now(driver.data_size(&tables.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>())).unwrap();
    let (whole, both) = (size(&["whole"]), size(&["whole", "keyed"]));
    let file = number(&mut session, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size") as u64;
    let (rows, keys) = (both.tables_bytes.unwrap(), both.indexes_bytes.unwrap());
    // The first page of the file is that of the schema.
    assert_eq!((rows + keys + 4096, both.store_bytes), (file, Some(file)));
    assert!(whole.tables_bytes < both.tables_bytes && whole.indexes_bytes == both.indexes_bytes, "{whole:?} {both:?}");
    assert!(whole.tables_bytes.unwrap() > 20_000 * 180 && keys > 20_000 * 4, "{whole:?}");
    assert_eq!(size(&["none"]).tables_bytes, Some(0));
    for (table, scans) in [("whole", 2), ("keyed", 1)] {
        let list = SqliteDialect.scans(table, true);
        let mut rows = Rows::default();
        now(session.query(&list, &mut rows)).unwrap();
        assert_eq!(rows.len(), scans, "{list}");
        let each = (0..scans as usize).map(|row| rows.display(row, 0).unwrap());
        assert!(each.into_iter().all(|scan| number(&mut session, &scan) == 20_000), "{list}");
    }
}
