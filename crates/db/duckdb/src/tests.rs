//! Sessions on real files: the suite of all drivers, and what is true of DuckDB alone.

use std::path::PathBuf;

use perbuck_database::Dialect as _;
use perbuck_driver_suite::embedded::{now, number, query};
use perbuck_driver_suite::servers::{Server, assert_error, bound, variable};
use perbuck_load::driver::{Access, BulkTable, Driver, Effect, Session, SessionId};
use perbuck_load::error::{Cause, ErrorClass, ErrorCode};
use perbuck_load::statement::{Catalogue, Verb};
use perbuck_load::values::{Params, Rows, Value};
use tempfile::TempDir;

use crate::{DuckdbDialect, DuckdbDriver, DuckdbSession, DuckdbTarget, VARIABLE};

mod files;
mod loads;

/// A folder that goes with the test.
#[derive(Debug)]
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn target(&self) -> DuckdbTarget {
        DuckdbTarget {
            path: self.0.path().join("test.duckdb"),
            // `dev/with-servers` sets it.
            library: Some(PathBuf::from(variable(VARIABLE))),
            threads: Some(2),
            memory_limit: Some("1GiB".to_owned()),
            ..DuckdbTarget::default()
        }
    }
}

impl Server for Folder {
    type Driver = DuckdbDriver;

    const TYPES: &'static [(&'static str, &'static str, &'static str)] = &[
        ("BOOLEAN", "true", "1"),
        ("TINYINT", "-128", "-128"),
        ("SMALLINT", "-32768", "-32768"),
        ("INTEGER", "-2147483648", "-2147483648"),
        ("BIGINT", "-9223372036854775807 - 1", "-9223372036854775808"),
        ("UTINYINT", "255", "255"),
        ("USMALLINT", "65535", "65535"),
        ("UINTEGER", "4294967295", "4294967295"),
        ("UBIGINT", "18446744073709551615", "18446744073709551615"),
        ("HUGEINT", "170141183460469231731687303715884105727", "170141183460469231731687303715884105727"),
        ("FLOAT", "0.5", "0.5"),
        ("DOUBLE", "1e100", "1e100"),
        ("DECIMAL(4, 1)", "-999.9", "-999.9"),
        ("DECIMAL(5, 1)", "-9999.9", "-9999.9"),
        ("DECIMAL(9, 2)", "-0.05", "-0.05"),
        ("DECIMAL(10, 2)", "99999999.99", "99999999.99"),
        ("DECIMAL(18, 4)", "12345678901234.5678", "12345678901234.5678"),
        ("DECIMAL(19, 4)", "123456789012345.6789", "123456789012345.6789"),
        ("DECIMAL(38, 0)", "99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
        ("VARCHAR", "'zwölf'", "zwölf"),
        ("VARCHAR", "'more than twelve bytes: zwölf'", "more than twelve bytes: zwölf"),
        ("CHAR(9)", "'a'", "a"),
        ("BLOB", "'\\x00\\xff'::BLOB", "\0\u{fffd}"),
        ("DATE", "'1900-02-28'", "1900-02-28"),
        ("TIME", "'23:59:59.25'", "23:59:59.25"),
        ("TIMESTAMP", "'2010-02-01 03:04:05'", "2010-02-01 03:04:05"),
        ("TIMESTAMP", "'1969-12-31 23:59:59.999999'", "1969-12-31 23:59:59.999999"),
        ("TIMESTAMP_S", "'2010-02-01 03:04:05'", "2010-02-01 03:04:05"),
        ("TIMESTAMP_MS", "'2010-02-01 03:04:05.125'", "2010-02-01 03:04:05.125"),
        ("TIMESTAMPTZ", "'2010-02-01 03:04:05+01'", "2010-02-01 02:04:05+00"),
    ];
    const PARAMETERS: &'static str = "i BIGINT, d DECIMAL(9, 2), t VARCHAR, b BLOB";
    /// A row that is found counts as changed, whatever it is set to.
    const UPDATES: &'static [(i64, u64)] = &[(3, 1), (3, 1), (99, 0)];
    const LARGE: (&'static str, &'static [usize]) = ("BLOB", &[0, 12, 13, 65_536, 20_000_000]);
    const BULK: (&'static str, [&'static str; 3]) = ("d DECIMAL(9, 2), t VARCHAR NOT NULL, b BLOB", ["d", "t", "b"]);
    const NO_TABLE: ErrorCode = code("catalog");
    const DUPLICATE: ErrorCode = code("constraint");
    const WRONG_COUNT: [&'static str; 2] = ["parameters", "shape"];

    fn all() -> Vec<Self> {
        vec![Self::new()]
    }

    fn driver(&self, _options: &str) -> DuckdbDriver {
        DuckdbDriver::new(self.target())
    }

    fn parameters() -> Vec<(Params, Vec<&'static str>)> {
        let row = |id: i64, i: i64, text: &str| {
            bound(|p| _ = p.int(id).int(i).decimal(-1_230, 2).text(text.as_bytes()).text(b"\0\xff\x80"))
        };
        vec![
            (row(1, i64::MIN, "zwölf"), vec!["1", "-9223372036854775808", "-12.30", "zwölf", "\0\u{fffd}\u{fffd}"]),
            (row(2, i64::MAX, ""), vec!["2", "9223372036854775807", "-12.30", "", "\0\u{fffd}\u{fffd}"]),
            (bound(|p| _ = p.int(3).null().decimal(5, 1).null().null()), vec!["3", "NULL", "0.50", "NULL", "NULL"]),
            // Of other types than the columns.
            (bound(|p| _ = p.int(4).text(b"12").int(7).int(8).null()), vec!["4", "12", "7.00", "8", "NULL"]),
            (bound(|p| _ = p.int(5).null().text(b"-0.25").decimal(-1, 3).null()), vec!["5", "NULL", "-0.25", "-0.001", "NULL"]),
        ]
    }

    fn errors(table: &str) -> Vec<(String, ErrorClass, ErrorCode)> {
        vec![
            ("SELEC 1".to_owned(), ErrorClass::Fatal, code("parser")),
            (format!("SELECT no_such_column FROM {table}"), ErrorClass::Fatal, code("binder")),
            (format!("INSERT INTO {table} VALUES (NULL, 'a')"), ErrorClass::Failed, code("constraint")),
            (format!("INSERT INTO {table} VALUES ('a', 'a')"), ErrorClass::Fatal, code("conversion")),
            ("COMMIT".to_owned(), ErrorClass::Fatal, code("transaction")),
        ]
    }

    fn odd(row: i64) -> (String, &'static [u8]) {
        (format!("{row}\t'\\\n\0\u{e9}"), b"\xff\x00'")
    }
}

const fn code(word: &'static str) -> ErrorCode {
    ErrorCode::Word("duckdb", word)
}

// There are neither deadlocks nor connections to be lost: a transaction never waits for another one.
perbuck_driver_suite::tests!(Folder: statements::{
    every_type_comes_back_the_same_from_a_text_and_from_a_prepared_statement,
    parameters_of_every_kind_arrive_and_change_their_kinds,
    large_values_go_both_ways,
    errors_have_the_classes_that_the_engine_acts_on_and_leave_the_connection_usable,
    transactions_commit_and_roll_back,
    rows_are_inserted_as_they_are_all_or_none,
    rows_are_loaded_as_they_are_all_or_none,
});

fn connect(driver: &DuckdbDriver) -> DuckdbSession {
    now(driver.connect(SessionId::Own(0))).unwrap()
}

#[test]
fn a_row_that_another_transaction_changes_is_a_retry() {
    let folder = Folder::new();
    let driver = folder.driver("");
    let (mut first, mut second) = (connect(&driver), connect(&driver));
    query(&mut first, "CREATE TABLE t (a INTEGER PRIMARY KEY, n INTEGER)").unwrap();
    query(&mut first, "INSERT INTO t VALUES (1, 0)").unwrap();
    now(second.begin(Access::Write)).unwrap();
    assert_eq!(number(&mut second, "SELECT n FROM t"), 0);
    now(first.begin(Access::Write)).unwrap();
    query(&mut first, "UPDATE t SET n = 1").unwrap();
    assert_error(&query(&mut second, "UPDATE t SET n = 2").unwrap_err(), ErrorClass::Retry, code("transaction"));
    // Nothing goes on in it but its end.
    assert_error(&query(&mut second, "SELECT 1").unwrap_err(), ErrorClass::Fatal, code("transaction"));
    assert_eq!(now(second.rollback()), Ok(true));
    assert_eq!(now(second.rollback()), Ok(false));
    now(first.commit()).unwrap();
    assert_eq!(number(&mut second, "SELECT n FROM t"), 1);
    // The same key from two transactions: the second commit is refused, and has ended its transaction.
    now(first.begin(Access::Write)).unwrap();
    now(second.begin(Access::Write)).unwrap();
    query(&mut first, "INSERT INTO t VALUES (2, 0)").unwrap();
    query(&mut second, "INSERT INTO t VALUES (2, 0)").unwrap();
    now(first.commit()).unwrap();
    let error = now(second.commit()).unwrap_err();
    assert_error(&error, ErrorClass::Retry, code("transaction"));
    assert_eq!((error.cause, now(second.rollback())), (Some(Cause::DuplicateKey), Ok(false)));
    let error = query(&mut second, "INSERT INTO t VALUES (2, 0)").unwrap_err();
    assert_error(&error, ErrorClass::Failed, code("constraint"));
}

#[test]
fn sessions_on_their_own_threads_lose_no_update() {
    let folder = Folder::new();
    let driver = folder.driver("");
    let mut session = connect(&driver);
    query(&mut session, "CREATE TABLE t (n INTEGER)").unwrap();
    query(&mut session, "INSERT INTO t VALUES (0)").unwrap();
    let add_one = |session: &mut DuckdbSession| {
        now(session.begin(Access::Write))?;
        let n = query(session, "SELECT n FROM t")?.int(0, 0)?;
        query(session, &format!("UPDATE t SET n = {}", n + 1))?;
        now(session.commit())
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut session = connect(&driver);
                for _ in 0..25 {
                    while let Err(error) = add_one(&mut session) {
                        assert_eq!(error.class, ErrorClass::Retry, "{error}");
                        now(session.rollback()).unwrap();
                    }
                }
                now(session.close());
            });
        }
    });
    assert_eq!(number(&mut session, "SELECT n FROM t"), 100);
}

#[test]
fn a_load_takes_columns_in_any_order_and_defaults_for_the_others() {
    let folder = Folder::new();
    let mut session = connect(&folder.driver(""));
    let numbered = DuckdbDialect.numbered(true);
    query(&mut session, &format!("CREATE TABLE t (a INTEGER, b TIMESTAMP, c DATE, d VARCHAR DEFAULT 'x', id {numbered})"))
        .unwrap();
    let columns = ["c", "b", "a"].map(str::to_owned).to_vec();
    let table = BulkTable { name: "t".to_owned(), columns };
    let rows = bound(|p| {
        for i in 0..5_000 {
            p.text(b"2024-02-29").text(b"2010-02-01 03:04:05").int(i);
        }
        p.null().null().null();
    });
    assert_eq!(now(session.load_rows(&table, &rows)), Ok(5_001));
    let sums = "SELECT COUNT(*), SUM(a), COUNT(DISTINCT id), MIN(id) > 1000000000, MAX(d), MAX(b), MIN(c), COUNT(b) FROM t";
    let found = query(&mut session, sums).unwrap();
    let cells: Vec<String> = (0..8).map(|i| found.display(0, i).unwrap()).collect();
    assert_eq!(cells, ["5001", "12497500", "5001", "1", "x", "2010-02-01 03:04:05", "2024-02-29", "5000"]);
    // What is no date, or beyond the column, is DuckDB's error, and nothing is kept, also of the batches before.
    for wrong in [bound(|p| _ = p.text(b"2024-02-30").null().int(1)), bound(|p| _ = p.null().null().int(1 << 40))] {
        let mut all = rows.clone();
        for value in wrong.iter() {
            _ = match value {
                Value::Int(v) => all.int(v),
                Value::Text(text) => all.text(text),
                _ => all.null(),
            };
        }
        assert_eq!(now(session.load_rows(&table, &all)).unwrap_err().class, ErrorClass::Fatal);
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM t"), 5_001);
    }
    let text = now(session.load_rows(&table, &bound(|p| _ = p.null().null().text(b"77"))));
    assert_eq!((text, number(&mut session, "SELECT COUNT(*) FROM t")), (Ok(1), 5_002));
    assert_eq!(number(&mut session, "SELECT MAX(a) FROM t WHERE b IS NULL"), 77);
}

#[test]
fn a_load_writes_numbers_of_every_width() {
    let folder = Folder::new();
    let mut session = connect(&folder.driver(""));
    let kinds = ["TINYINT", "SMALLINT", "INTEGER", "BIGINT"];
    let digits = [(4, 1), (5, 1), (9, 2), (10, 2), (18, 2), (19, 2), (38, 2)];
    let decimals = digits.map(|(width, scale)| format!("DECIMAL({width}, {scale})"));
    let kinds: Vec<&str> = kinds.into_iter().chain(decimals.iter().map(String::as_str)).chain(["DOUBLE"]).collect();
    let columns: Vec<String> = (0..kinds.len()).map(|i| format!("c{i}")).collect();
    let defined: Vec<String> = columns.iter().zip(&kinds).map(|(name, kind)| format!("{name} {kind}")).collect();
    query(&mut session, &format!("CREATE TABLE t ({})", defined.join(", "))).unwrap();
    let table = BulkTable { name: "t".to_owned(), columns };
    let rows = bound(|p| {
        for sign in [-1, 1] {
            p.int(-127 * sign).int(-32_767 * sign).int(-2_147_483_647 * sign).int(-i64::MAX * sign);
            p.decimal(9_999 * sign, 1).decimal(99_999 * sign, 1).decimal(999_999_999 * sign, 2).decimal(9_999_999_999 * sign, 2);
            p.decimal(999_999_999_999_999_999 * sign, 2).decimal(i64::MAX * sign, 2).int(7 * sign).int(sign);
        }
    });
    assert_eq!(now(session.load_rows(&table, &rows)), Ok(2));
    let found = query(&mut session, "SELECT * FROM t ORDER BY c0").unwrap();
    let cells: Vec<String> = (0..12).map(|i| found.display(0, i).unwrap()).collect();
    let large = ["999.9", "9999.9", "9999999.99", "99999999.99", "9999999999999999.99", "92233720368547758.07", "7.00", "1"];
    assert_eq!(cells[..4], ["-127", "-32767", "-2147483647", "-9223372036854775807"]);
    assert_eq!(cells[4..], large);
    let cells: Vec<String> = (4..12).map(|i| found.display(1, i).unwrap()).collect();
    assert_eq!(cells, large.map(|text| format!("-{text}")));
}

#[test]
fn a_statement_ends_at_its_limit_and_the_session_goes_on() {
    let folder = Folder::new();
    let mut session = connect(&folder.driver(""));
    let limit = DuckdbDialect.statement_limit(1).unwrap();
    query(&mut session, &limit).unwrap();
    let long = "SELECT SUM(a.i * b.i) FROM range(10000000) a (i), range(10000000) b (i)";
    assert_error(&query(&mut session, long).unwrap_err(), ErrorClass::Failed, code("interrupt"));
    let mut catalogue = Catalogue::default();
    let prepared = catalogue.add_read(long);
    now(session.prepare(&std::sync::Arc::new(catalogue))).unwrap();
    let error = now(session.execute(prepared, &Params::default(), &mut Rows::default())).unwrap_err();
    assert_error(&error, ErrorClass::Failed, code("interrupt"));
    assert_eq!(number(&mut session, "SELECT 7"), 7);
    assert_eq!(number(&mut connect(&folder.driver("")), "SELECT COUNT(*) FROM range(1000)"), 1000);
}

#[test]
fn settings_are_in_force_and_in_the_facts() {
    let folder = Folder::new();
    let target = DuckdbTarget {
        threads: Some(3),
        memory_limit: Some("512MiB".to_owned()),
        checkpoint_threshold: Some("4MiB".to_owned()),
        temp_directory: Some(folder.0.path().join("spill")),
        ..folder.target()
    };
    let driver = DuckdbDriver::new(target.clone());
    let facts = now(driver.facts()).unwrap();
    assert!(facts.version.starts_with("DuckDB ") && facts.on_this_machine && facts.local_pid.is_none(), "{facts:?}");
    let variable = |name: &str| facts.variables[name].as_str();
    assert_eq!((variable("threads"), variable("memory_limit"), facts.page_memory_bytes), ("3", "512.0 MiB", Some(512 << 20)));
    assert_eq!((variable("checkpoint_threshold"), variable("default_block_size")), ("4.0 MiB", "262144"));
    assert_eq!((variable("autoinstall_known_extensions"), variable("autoload_known_extensions")), ("false", "false"));
    assert!(variable("temp_directory").ends_with("/spill") && now(driver.counters()).unwrap().is_empty());
    // The file is open with these, so other ones have to wait.
    let session = connect(&driver);
    let other = DuckdbDriver::new(DuckdbTarget { threads: Some(1), ..target.clone() });
    let error = now(other.connect(SessionId::Own(0))).unwrap_err();
    assert_error(&error, ErrorClass::Fatal, ErrorCode::Word("client", "setting"));
    drop(session);
    assert_eq!(now(other.facts()).unwrap().variables["threads"], "1");
    let wrong = DuckdbDriver::new(DuckdbTarget { memory_limit: Some("1 elephant".to_owned()), ..target });
    assert_eq!(now(wrong.facts()).unwrap_err().class, ErrorClass::Fatal);
}

#[test]
fn the_size_of_data_is_that_of_the_blocks_of_their_columns() {
    let folder = Folder::new();
    let driver = folder.driver("");
    let mut session = connect(&driver);
    for sql in [
        "CREATE TABLE large (id INTEGER PRIMARY KEY, pad VARCHAR)",
        "INSERT INTO large SELECT i, md5(i::VARCHAR) || md5((i + 1)::VARCHAR) FROM range(100000) r (i)",
        "CREATE TABLE small (id INTEGER)",
        "INSERT INTO small VALUES (1)",
    ] {
        query(&mut session, sql).unwrap();
    }
    let size = |tables: &[&str]| now(driver.data_size(&tables.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>())).unwrap();
    let (large, small, both) = (size(&["large"]), size(&["small"]), size(&["large", "small"]));
    assert!(large.tables_bytes.unwrap() > 3_000_000 && small.tables_bytes.unwrap() <= 262_144, "{large:?} {small:?}");
    assert!(both.tables_bytes <= Some(large.tables_bytes.unwrap() + small.tables_bytes.unwrap()), "{both:?}");
    assert!(both.store_bytes > both.tables_bytes && both.indexes_bytes.is_none(), "{both:?}");
    assert_eq!(size(&["none"]).tables_bytes, Some(0));
    let list = query(&mut session, &DuckdbDialect.scans("large", true)).unwrap();
    let scan = list.display(0, 0).unwrap();
    assert!(list.len() == 1 && scan.contains("hash(pad)"), "{scan}");
    assert_eq!(query(&mut session, &scan).unwrap().len(), 1);
}

#[test]
fn statements_are_planned_once_for_values_of_their_types() {
    let folder = Folder::new();
    let mut session = connect(&folder.driver(""));
    query(&mut session, "CREATE TABLE t (id INTEGER PRIMARY KEY, s SMALLINT, d DECIMAL(12, 2), v VARCHAR)").unwrap();
    let mut catalogue = Catalogue::default();
    let insert = catalogue.add(Verb::Insert, "INSERT INTO t VALUES (?, ?, ?, ?)");
    let read = catalogue.add_read("SELECT v, d FROM t WHERE id = ? AND s BETWEEN ? AND ?");
    let missing = catalogue.add_read("SELECT * FROM no_such_table");
    now(session.prepare(&std::sync::Arc::new(catalogue))).unwrap();
    assert_error(&now(session.prepare_ahead()).unwrap_err(), ErrorClass::Fatal, code("catalog"));
    let mut rows = Rows::default();
    for id in 0..100 {
        let params = bound(|p| _ = p.int(id).int(7).decimal(id, 2).text(b"text"));
        assert_eq!(now(session.execute(insert, &params, &mut rows)), Ok(Effect::Affected(1)));
    }
    now(session.execute(read, &bound(|p| _ = p.int(42).int(-1).int(7)), &mut rows)).unwrap();
    assert_eq!((rows.len(), rows.decimal(0, 1, 2), rows.text(0, 0)), (1, Ok(42), Ok(&b"text"[..])));
    assert_error(&now(session.execute(missing, &Params::default(), &mut rows)).unwrap_err(), ErrorClass::Fatal, code("catalog"));
}
