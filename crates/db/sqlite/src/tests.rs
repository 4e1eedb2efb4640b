//! Sessions on real files.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use perbuck_load::driver::{Access, BulkTable, Driver, Effect, Session, SessionId};
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};
use perbuck_load::statement::{Catalogue, StatementId, Verb};
use perbuck_load::values::{Params, Rows};
use rusqlite::ffi;

use crate::target::SqliteTarget;
use crate::{SqliteDriver, SqliteSession};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("perbuck-sqlite-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn target(&self) -> SqliteTarget {
        SqliteTarget {
            path: self.0.join("test.db"),
            synchronous: "FULL".to_owned(),
            journal_mode: "WAL".to_owned(),
            busy_timeout_ms: 5_000,
            cache_kib: 2_048,
        }
    }

    fn driver(&self) -> SqliteDriver {
        SqliteDriver::new(self.target()).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An embedded database never waits for an event, so one poll finishes.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("SQLite waited for an event"),
    }
}

fn connect(driver: &SqliteDriver) -> SqliteSession {
    now(driver.connect(SessionId(0))).unwrap()
}

fn query(session: &mut SqliteSession, sql: &str) -> Result<(Effect, Rows), DriverError> {
    let mut rows = Rows::default();
    now(session.query(sql, &mut rows)).map(|effect| (effect, rows))
}

fn number(session: &mut SqliteSession, sql: &str) -> i64 {
    query(session, sql).unwrap().1.int(0, 0).unwrap()
}

#[test]
fn every_kind_of_value_comes_back() {
    let folder = Folder::new();
    let mut session = connect(&folder.driver());
    let mut catalogue = Catalogue::default();
    let insert = catalogue.add(Verb::Insert, "INSERT INTO t VALUES (?, ?, ?, ?)");
    let kept = catalogue.add_read("SELECT a, b, c, d, 0.5 FROM t ORDER BY a");
    let counted = catalogue.add(Verb::Select, "SELECT a FROM t");
    let update = catalogue.add(Verb::Update, "UPDATE t SET a = a + ?");
    let delete = catalogue.add(Verb::Delete, "DELETE FROM t WHERE a = ?");
    now(session.prepare(&Arc::new(catalogue))).unwrap();
    assert_eq!(query(&mut session, "CREATE TABLE t (a INTEGER, b TEXT, c INTEGER, d TEXT)").unwrap().0, Effect::Affected(0));

    let (mut params, mut rows) = (Params::default(), Rows::default());
    let mut execute = |id: StatementId, fill: &dyn Fn(&mut Params)| {
        fill(params.clear());
        now(session.execute(id, &params, &mut rows)).map(|effect| (effect, std::mem::take(&mut rows)))
    };
    let row = |p: &mut Params| {
        p.int(i64::MIN).text("zwölf".as_bytes()).decimal(-1_999, 2).null();
    };
    assert_eq!(execute(insert, &row).unwrap().0, Effect::Affected(1));
    let row = |p: &mut Params| {
        p.int(i64::MAX).text(b"").decimal(5, 4).text(b"x");
    };
    assert_eq!(execute(insert, &row).unwrap().0, Effect::Affected(1));

    let (effect, found) = execute(kept, &|_| ()).unwrap();
    assert_eq!((effect, found.len(), found.width()), (Effect::ResultSet, 2, 5));
    assert_eq!((found.int(0, 0), found.int(1, 0)), (Ok(i64::MIN), Ok(i64::MAX)));
    assert_eq!((found.text(0, 1), found.text(1, 1)), (Ok("zwölf".as_bytes()), Ok(&b""[..])));
    assert_eq!((found.decimal(0, 2, 2), found.decimal(1, 2, 4)), (Ok(-1_999), Ok(5)));
    assert_eq!((found.is_null(0, 3), found.is_null(1, 3)), (Ok(true), Ok(false)));
    assert_eq!(found.display(0, 4).unwrap(), "0.5");

    let (effect, found) = execute(counted, &|_| ()).unwrap();
    assert_eq!((effect, found.len(), found.width()), (Effect::ResultSet, 2, 0));
    assert_eq!(
        execute(update, &|p| {
            p.int(0);
        })
        .unwrap()
        .0,
        Effect::Affected(2)
    );
    assert_eq!(
        execute(delete, &|p| {
            p.int(3);
        })
        .unwrap()
        .0,
        Effect::Affected(0)
    );
    let error = execute(update, &|_| ()).unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Fatal, ErrorCode::Word("client", "sqlite")), "{error}");
}

#[test]
fn a_second_writer_is_told_to_try_again() {
    let folder = Folder::new();
    let driver = SqliteDriver::new(SqliteTarget { busy_timeout_ms: 30, ..folder.target() }).unwrap();
    let (mut first, mut second) = (connect(&driver), connect(&driver));
    query(&mut first, "CREATE TABLE t (a INTEGER PRIMARY KEY)").unwrap();
    now(first.begin(Access::Write)).unwrap();
    query(&mut first, "INSERT INTO t VALUES (1)").unwrap();

    let started = Instant::now();
    let error = now(second.begin(Access::Write)).unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Retry, ErrorCode::Number("sqlite", ffi::SQLITE_BUSY)), "{error}");
    assert!(started.elapsed() >= Duration::from_millis(25), "it waits for busy_timeout: {:?}", started.elapsed());
    now(second.rollback()).unwrap();

    now(second.begin(Access::Read)).unwrap();
    assert_eq!(number(&mut second, "SELECT COUNT(*) FROM t"), 0, "readers see the state before");
    now(first.commit()).unwrap();
    let error = query(&mut second, "INSERT INTO t VALUES (2)").unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Retry, ErrorCode::Number("sqlite", ffi::SQLITE_BUSY_SNAPSHOT)), "{error}");
    now(second.rollback()).unwrap();

    now(second.begin(Access::Write)).unwrap();
    query(&mut second, "INSERT INTO t VALUES (2)").unwrap();
    now(second.commit()).unwrap();
    assert_eq!(number(&mut first, "SELECT COUNT(*) FROM t"), 2);
    let error = query(&mut first, "INSERT INTO t VALUES (2)").unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Failed, ErrorCode::Number("sqlite", ffi::SQLITE_CONSTRAINT_PRIMARYKEY)));
}

#[test]
fn sessions_on_their_own_threads_lose_no_update() {
    let folder = Folder::new();
    let driver = folder.driver();
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
fn transactions_commit_and_roll_back() {
    let folder = Folder::new();
    let mut session = connect(&folder.driver());
    query(&mut session, "CREATE TABLE t (a INTEGER)").unwrap();
    now(session.rollback()).unwrap();
    now(session.begin(Access::Write)).unwrap();
    query(&mut session, "INSERT INTO t VALUES (1)").unwrap();
    now(session.rollback()).unwrap();
    now(session.rollback()).unwrap();
    assert_eq!(number(&mut session, "SELECT COUNT(*) FROM t"), 0);
    now(session.begin(Access::Write)).unwrap();
    query(&mut session, "INSERT INTO t VALUES (1)").unwrap();
    now(session.commit()).unwrap();
    now(session.close());
    assert_eq!(number(&mut connect(&folder.driver()), "SELECT COUNT(*) FROM t"), 1);
}

#[test]
fn a_batch_is_kept_whole_or_not_at_all() {
    let folder = Folder::new();
    let mut session = connect(&folder.driver());
    query(&mut session, "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT NOT NULL, c INTEGER)").unwrap();
    let table = BulkTable { name: "t".to_owned(), columns: vec!["a", "b", "c"] };
    let mut cells = Params::default();
    for a in 0..1_000 {
        cells.int(a).text(b"row").decimal(a * 100, 2);
    }
    assert_eq!(now(session.insert_rows(&table, &cells)), Ok(1_000));
    assert_eq!(number(&mut session, "SELECT SUM(c) FROM t"), 49_950_000);

    cells.clear();
    for a in 1_000..1_100 {
        cells.int(a).text(b"row").null();
    }
    cells.int(7).text(b"again").null();
    assert_eq!(now(session.insert_rows(&table, &cells)).unwrap_err().class, ErrorClass::Failed);
    assert_eq!(number(&mut session, "SELECT COUNT(*) FROM t"), 1_000);
    cells.int(8);
    assert_eq!(now(session.insert_rows(&table, &cells)).unwrap_err().code, ErrorCode::Word("client", "shape"));
    cells.clear();
    assert_eq!(now(session.insert_rows(&table, &cells)), Ok(0));
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
    let error = now(driver.connect(SessionId(0))).unwrap_err();
    assert_eq!(error.class, ErrorClass::Fatal);
    assert!(error.message.contains(&path.display().to_string()), "{error}");
    error
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let folder = Folder::new();
    let other = folder.0.join("other.db");
    std::fs::write(&other, "This is a letter, and not a short one. ".repeat(100)).unwrap();
    assert_eq!(refusal(&other).code, ErrorCode::Number("sqlite", ffi::SQLITE_NOTADB));
    let error = refusal(&folder.0.join("missing/test.db"));
    assert_eq!(error.code, ErrorCode::Number("sqlite", ffi::SQLITE_CANTOPEN));
    assert!(error.message.contains("folder does not exist"), "{error}");
    assert!(
        matches!(refusal(&other.join("below-a-file.db")).code, ErrorCode::Number("sqlite", code) if code & 0xff == ffi::SQLITE_CANTOPEN)
    );
    assert!(matches!(refusal(&folder.0).code, ErrorCode::Number("sqlite", code) if code & 0xff == ffi::SQLITE_CANTOPEN));
}

/// A folder that refuses even root: file modes would not.
#[test]
fn a_folder_without_permission_is_named() {
    let error = refusal(Path::new("/proc/perbuck-test.db"));
    assert_eq!(error.code, ErrorCode::Number("sqlite", ffi::SQLITE_CANTOPEN));
}

#[test]
fn a_full_disk_and_a_missing_table_end_the_run() {
    let folder = Folder::new();
    let mut session = connect(&folder.driver());
    query(&mut session, "CREATE TABLE t (a TEXT)").unwrap();
    query(&mut session, "PRAGMA max_page_count = 4").unwrap();
    now(session.begin(Access::Write)).unwrap();
    let error = query(&mut session, "INSERT INTO t VALUES (zeroblob(100000))").unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Fatal, ErrorCode::Number("sqlite", ffi::SQLITE_FULL)), "{error}");
    now(session.rollback()).unwrap();
    let error = query(&mut session, "SELECT c FROM sbtest1").unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Fatal, ErrorCode::Number("sqlite", ffi::SQLITE_ERROR)));
    assert!(error.message.contains("no such table: sbtest1; prepare the data") && error.message.contains("test.db"), "{error}");
    assert_eq!(query(&mut session, "SELECT 1; SELECT 2").unwrap_err().class, ErrorClass::Fatal);
}

#[test]
fn a_switch_of_journal_that_others_prevent_is_no_retry() {
    let folder = Folder::new();
    let mut session = connect(&folder.driver());
    query(&mut session, "CREATE TABLE t (a TEXT)").unwrap();
    let target = SqliteTarget { journal_mode: "DELETE".to_owned(), busy_timeout_ms: 10, ..folder.target() };
    let driver = SqliteDriver::new(target).unwrap();
    let error = now(driver.connect(SessionId(0))).unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Lost, ErrorCode::Number("sqlite", ffi::SQLITE_BUSY)), "{error}");
}
