//! Files, processes and libraries.

use std::path::{Path, PathBuf};
use std::process::Command;

use perbuck_driver_suite::servers::{Server, assert_error, bound};
use perbuck_load::driver::{Access, BulkTable, Driver, Session, SessionId};
use perbuck_load::error::{Cause, DriverError, ErrorClass, ErrorCode};

use super::{Folder, code, connect, now, number, query};
use crate::{DuckdbDriver, DuckdbTarget, database};

/// Runs a test again in a process of its own, with a path in this variable.
fn in_a_process(test: &str, variable: &str, path: &Path) -> std::process::Output {
    let program = std::env::current_exe().unwrap();
    Command::new(program).args(["--exact", &format!("tests::files::{test}")]).env(variable, path).output().unwrap()
}

/// In a process of its own: the files that other tests open in this one would close those of this test.
#[test]
fn a_file_is_opened_once_and_closed_when_nobody_uses_it() {
    const CHILD: &str = "PERBUCK_TEST_DUCKDB_ALONE";
    if std::env::var_os(CHILD).is_none() {
        let child = in_a_process("a_file_is_opened_once_and_closed_when_nobody_uses_it", CHILD, Path::new("/"));
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let (one, other) = (Folder::new(), Folder::new());
    let log = one.target().path.with_added_extension("wal");
    let (first, second) = (one.driver(""), one.driver(""));
    let mut session = connect(&first);
    query(&mut session, "CREATE TABLE t (a INTEGER)").unwrap();
    assert_eq!(number(&mut connect(&second), "SELECT COUNT(*) FROM t"), 0);
    drop(session);
    assert!(log.exists(), "it is still open");
    // Another file takes its turn.
    let elsewhere = other.driver("");
    drop(connect(&elsewhere));
    assert!(!log.exists(), "DuckDB writes the log into the file when it is closed");
    let mut session = connect(&first);
    query(&mut session, "INSERT INTO t VALUES (1)").unwrap();
    drop(connect(&elsewhere));
    assert!(log.exists() && !first.close_files(), "it has a session");
    drop(session);
    assert!(first.close_files() && !log.exists());
    query(&mut connect(&first), "INSERT INTO t VALUES (2)").unwrap();
    assert!(log.exists());
    drop(first);
    assert!(!log.exists() && database::close_idle(&other.target()));
}

/// The refusal to connect to that file.
fn refusal(path: &Path) -> DriverError {
    let folder = Folder::new();
    let driver = DuckdbDriver::new(DuckdbTarget { path: path.to_path_buf(), ..folder.target() });
    let error = now(driver.connect(SessionId::Own(0))).unwrap_err();
    assert_error(&error, ErrorClass::Fatal, code("io"));
    assert!(error.message.contains(&path.display().to_string()) && error.cause == Some(Cause::File), "{error}");
    error
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let folder = Folder::new();
    let other = folder.0.path().join("other.db");
    std::fs::write(&other, "This is a letter, and not a short one. ".repeat(1000)).unwrap();
    assert!(refusal(&other).message.contains("delete this one"));
    // Without its own settings DuckDB would load code that reads it.
    std::fs::write(&other, b"SQLite format 3\0").unwrap();
    refusal(&other);
    assert!(refusal(&folder.0.path().join("missing/test.db")).message.contains("check that its folder exists"));
    // A folder that refuses even root: file modes would not.
    for path in [Path::new("/proc/perbuck-test.db"), &*other.join("below-a-file.db"), folder.0.path()] {
        refusal(path);
    }
}

#[test]
fn a_missing_library_says_where_one_comes_from() {
    let folder = Folder::new();
    let not_one = folder.0.path().join("libduckdb.so");
    std::fs::write(&not_one, "no library").unwrap();
    for (library, words) in [
        (folder.0.path().join("missing.so"), "node-bindings-linux-x64"),
        (not_one, "libduckdb-linux-amd64.zip"),
        // A library, but another one.
        (PathBuf::from("/lib/x86_64-linux-gnu/libc.so.6"), "the library lacks duckdb_library_version"),
        (PathBuf::from("/lib/aarch64-linux-gnu/libc.so.6"), "the library lacks duckdb_library_version"),
    ] {
        if library.starts_with("/lib") && !library.exists() {
            continue;
        }
        let target = DuckdbTarget { library: Some(library.clone()), ..folder.target() };
        let error = now(DuckdbDriver::new(target).connect(SessionId::Own(0))).unwrap_err();
        assert_error(&error, ErrorClass::Fatal, ErrorCode::Word("client", "library"));
        let words = if cfg!(target_env = "musl") { "a static program" } else { words };
        assert!(error.message.contains(words) && error.cause == Some(Cause::File), "{library:?}: {error}");
    }
    assert!(!folder.target().path.exists(), "no file was made");
}

/// Another process that has the file open.
#[test]
fn a_file_of_another_process_is_refused() {
    const CHILD: &str = "PERBUCK_TEST_DUCKDB_HOLD";
    if let Some(path) = std::env::var_os(CHILD) {
        let folder = Folder::new();
        let driver = DuckdbDriver::new(DuckdbTarget { path: path.into(), ..folder.target() });
        let error = now(driver.connect(SessionId::Own(0))).unwrap_err();
        assert_error(&error, ErrorClass::Fatal, code("io"));
        assert!(error.message.contains("one process at a time") && error.cause == Some(Cause::File), "{error}");
        return;
    }
    let folder = Folder::new();
    let _session = connect(&folder.driver(""));
    let child = in_a_process("a_file_of_another_process_is_refused", CHILD, &folder.target().path);
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn what_a_process_that_is_killed_has_committed_is_there() {
    const CHILD: &str = "PERBUCK_TEST_DUCKDB_KILLED";
    if let Some(path) = std::env::var_os(CHILD) {
        let folder = Folder::new();
        let mut session = connect(&DuckdbDriver::new(DuckdbTarget { path: path.into(), ..folder.target() }));
        query(&mut session, "CREATE TABLE t (a INTEGER PRIMARY KEY)").unwrap();
        let table = BulkTable { name: "t".to_owned(), columns: vec!["a".to_owned()] };
        let rows = |range: std::ops::Range<i64>| bound(|p| range.for_each(|i| _ = p.int(i)));
        now(session.load_rows(&table, &rows(0..300_000))).unwrap();
        now(session.begin(Access::Write)).unwrap();
        now(session.load_rows(&table, &rows(300_000..600_000))).unwrap();
        std::process::abort();
    }
    let folder = Folder::new();
    let child = in_a_process("what_a_process_that_is_killed_has_committed_is_there", CHILD, &folder.target().path);
    assert!(!child.status.success());
    assert_eq!(number(&mut connect(&folder.driver("")), "SELECT COUNT(*) FROM t"), 300_000);
}
