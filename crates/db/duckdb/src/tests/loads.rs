//! What a transaction loads, and several sessions at once.

use perbuck_driver_suite::servers::{Server, assert_error, bound};
use perbuck_load::driver::{Access, BulkTable, Session};
use perbuck_load::error::ErrorClass;
use perbuck_load::values::Params;

use super::{Folder, code, connect, now, number, query};

const COUNT: &str = "SELECT COUNT(*) FROM t";

fn table() -> BulkTable {
    BulkTable { name: "t".to_owned(), columns: vec!["a".to_owned()] }
}

fn rows(of: std::ops::Range<i64>) -> Params {
    bound(|p| of.for_each(|i| _ = p.int(i)))
}

#[test]
fn rows_of_a_transaction_are_there_for_its_next_statement_and_refused_with_it() {
    let folder = Folder::new();
    let mut session = connect(&folder.driver(""));
    let mut other = connect(&folder.driver(""));
    query(&mut session, "CREATE TABLE t (a BIGINT PRIMARY KEY)").unwrap();
    now(session.begin(Access::Write)).unwrap();
    for batch in 0..5 {
        assert_eq!(now(session.load_rows(&table(), &rows(1_000 * batch..1_000 * (batch + 1)))), Ok(1_000));
    }
    assert_eq!((number(&mut session, COUNT), number(&mut other, COUNT)), (5_000, 0));
    assert_eq!(now(session.load_rows(&table(), &rows(5_000..5_001))), Ok(1));
    now(session.commit()).unwrap();
    assert_eq!(number(&mut other, COUNT), 5_001);
    // A key that is there already: the commit says so, and nothing of the transaction is kept.
    now(session.begin(Access::Write)).unwrap();
    assert_eq!(now(session.load_rows(&table(), &rows(5_000..5_010))), Ok(10));
    let error = now(session.commit()).unwrap_err();
    assert_error(&error, ErrorClass::Failed, code("constraint"));
    assert_eq!(now(session.rollback()), Ok(true));
    // What was not written yet goes with its transaction, too.
    now(session.begin(Access::Write)).unwrap();
    assert_eq!(now(session.load_rows(&table(), &rows(6_000..6_010))), Ok(10));
    assert_eq!(now(session.rollback()), Ok(true));
    assert_eq!((number(&mut session, COUNT), number(&mut session, "SELECT MAX(a) FROM t")), (5_001, 5_000));
}

#[test]
fn duckdb_has_no_threads_of_its_own_while_several_sessions_load() {
    let folder = Folder::new();
    let mut watcher = connect(&folder.driver(""));
    let mut threads = move || number(&mut watcher, "SELECT current_setting('threads')");
    let mut sessions = [connect(&folder.driver("")), connect(&folder.driver(""))];
    query(&mut sessions[0], "CREATE TABLE t (a BIGINT PRIMARY KEY)").unwrap();
    let mut seen = vec![threads()];
    for (at, session) in sessions.iter_mut().enumerate() {
        let at = 10 * at as i64;
        assert_eq!(now(session.load_rows(&table(), &rows(at..at + 10))), Ok(10));
        seen.push(threads());
    }
    for session in sessions {
        drop(session);
        seen.push(threads());
    }
    assert_eq!(seen, [2, 2, 1, 2, 2]);
}
