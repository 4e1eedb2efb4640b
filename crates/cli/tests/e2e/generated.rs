//! Tables of a user's own SQL whose rows perbuck draws.

use std::collections::BTreeMap;

use crate::common::Desk;
use crate::common::maria::Maria;
use crate::common::postgres::Postgres;
use rusqlite::Connection;

const TABLES: &str = "\
CREATE TABLE customers (id INT NOT NULL PRIMARY KEY, name VARCHAR(40) NOT NULL, balance DECIMAL(10,2), segment VARCHAR(10),
  signed_up DATE, seen TIMESTAMP NULL, city VARCHAR(30), country VARCHAR(30), referrer INT);
CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer INT NOT NULL, amount INT NOT NULL);
CREATE TABLE small (n INT);
INSERT INTO small VALUES (1), (2);
";
const FINISH: &str = "CREATE INDEX orders_customer ON orders (customer);\n";
const CITIES: &str = "city,country,people\nParis,France,2\n\"Saint-Denis, La Réunion\",France,1\nOslo,Norway,6\n";

const TABLE_LINES: &str = r#"
[[workload.table]]
name = "customers"
rows = 20_000
columns = [
  { name = "id", sequence = 1 },
  { name = "name", text = [5, 40] },
  { name = "balance", number = [-10, 1000], decimals = 2 },
  { name = "segment", choices = ["gold", "silver", "bronze"], weights = [1, 3, 16] },
  { name = "signed_up", date = ["2020-01-01", "2025-12-31"] },
  { name = "seen", timestamp = ["2025-06-01", "2025-06-30 23:59:59"] },
  { name = "city", csv = "cities.csv", column = "city", weights = "people" },
  { name = "country", csv = "cities.csv", column = "country", weights = "people" },
  { name = "referrer", references = "customers.id", distribution = "zipfian", parameter = 1.2, null = 0.1 },
]
[[workload.table]]
name = "orders"
rows = 60_000
columns = [
  { name = "id", sequence = 10, step = 10 },
  { name = "customer", references = "customers.id", distribution = "exponential", parameter = 4 },
  { name = "amount", number = [1, 500], distribution = "gaussian", parameter = 2.5 },
]
"#;

/// A study of contenders with their targets.
fn study(contenders: &[(&str, String)], more: &str, sweep: &str) -> String {
    let contender = |(name, target): &(&str, String)| format!("[[contender]]\nname = \"{name}\"\ntarget = \"{target}\"\n");
    let contenders: String = contenders.iter().map(contender).collect();
    format!(
        "schema = 1\nname = \"s\"\n{contenders}[[workload]]\nname = \"shop\"\nkind = \"script\"\nfile = \"look.sql\"\ninit = \"tables.sql\"\n\
         finish = \"indexes.sql\"\n{more}{TABLE_LINES}[sweep]\n{sweep}"
    )
}

const QUICK: &str = "connections = [1]\nwarmup = \"0s\"\nduration = \"200ms\"\ntrials = 1\n";

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("tables.sql", TABLES);
    desk.write("indexes.sql", FINISH);
    desk.write("cities.csv", CITIES);
    desk.write("look.sql", "\\set id random(1, 20000)\nSELECT name FROM customers WHERE id = :id;\n");
    desk
}

const ROWS: [&str; 2] = [
    "SELECT id, name, ROUND(balance * 100), segment, signed_up, seen, city, country, COALESCE(referrer, 0) FROM customers ORDER BY id",
    "SELECT id, customer, amount FROM orders ORDER BY id",
];

/// Rows whose numbers are written alike.
fn normalized(rows: &str) -> Vec<String> {
    let cell = |cell: &str| cell.parse::<f64>().map_or_else(|_| cell.to_owned(), |number| number.to_string());
    rows.lines().map(|row| row.split('\t').map(cell).collect::<Vec<_>>().join("\t")).collect()
}

fn sqlite(database: &Connection, sql: &str) -> String {
    use rusqlite::types::ValueRef;
    let mut statement = database.prepare(sql).unwrap();
    let (width, mut rows, mut out) = (statement.column_count(), statement.query([]).unwrap(), String::new());
    while let Some(row) = rows.next().unwrap() {
        let cell = |at| match row.get_ref(at).unwrap() {
            ValueRef::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
            ValueRef::Integer(value) => value.to_string(),
            ValueRef::Real(value) => value.to_string(),
            other => panic!("{other:?}"),
        };
        out.push_str(&(0..width).map(cell).collect::<Vec<_>>().join("\t"));
        out.push('\n');
    }
    out
}

#[test]
fn three_databases_hold_the_same_rows() {
    let mut desk = desk();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "generated_maria");
    let postgres = Postgres::fresh(&mut desk, "generated_postgres");
    desk.set("PERBUCK_MARIA_PASSWORD", &maria.password);
    desk.set("PERBUCK_PG_PASSWORD", &postgres.password);
    let targets = [("lite", "sqlite:lite.db".to_owned()), ("maria", maria.url()), ("pg", postgres.url())];
    desk.write("s.toml", &study(&targets, "", QUICK));
    let prepared = desk.good(&["prepare", "s.toml"]);
    for contender in ["lite", "maria", "pg"] {
        assert!(prepared.err.contains(&format!("{contender}, shop: loaded 80,000 rows")), "{prepared:#?}");
        assert!(prepared.err.contains(&format!("{contender}, shop: 2 of 2 conditions hold")), "{prepared:#?}");
    }
    let database = Connection::open(desk.path("lite.db")).unwrap();
    for (sql, count) in ROWS.iter().zip([20_000, 60_000]) {
        let rows = normalized(&sqlite(&database, sql));
        assert_eq!(rows.len(), count);
        for (name, other) in [("MariaDB", maria.sql(sql)), ("PostgreSQL", postgres.sql(sql))] {
            let different = rows.iter().zip(normalized(&other)).find(|(one, other)| *one != other);
            assert!(different.is_none() && other.lines().count() == count, "{name}: {different:?}");
        }
    }
    for (sql, expected) in [
        ("SELECT COUNT(DISTINCT id), COUNT(DISTINCT segment), COUNT(DISTINCT city) FROM customers", "20000\t3\t3"),
        ("SELECT COUNT(*) FROM orders WHERE customer NOT IN (SELECT id FROM customers)", "0"),
        (
            "SELECT COUNT(*) FROM customers c WHERE referrer IS NOT NULL AND NOT EXISTS (SELECT 1 FROM customers r WHERE r.id = c.referrer)",
            "0",
        ),
        ("SELECT COUNT(*) FROM customers WHERE city = 'Oslo' AND country <> 'Norway'", "0"),
        ("SELECT COUNT(*) FROM small", "2"),
    ] {
        let answers = [sqlite(&database, sql), maria.sql(sql), postgres.sql(sql)];
        assert!(answers.iter().all(|answer| answer.trim() == expected), "{sql}: {answers:?}");
    }
    let nulls: i64 = maria.sql("SELECT COUNT(*) FROM customers WHERE referrer IS NULL").trim().parse().unwrap();
    assert!((1_750..2_250).contains(&nulls), "{nulls}");
    // The index came after the rows, and its statistics after the index.
    assert!(maria.sql("SHOW INDEX FROM orders").contains("orders_customer"));
    assert!(postgres.sql("SELECT indexname FROM pg_indexes WHERE tablename = 'orders'").contains("orders_customer"));
    assert_eq!(postgres.sql("SELECT reltuples FROM pg_class WHERE relname = 'orders_customer'").trim(), "60000");
}

#[test]
fn results_hold_what_makes_the_rows_and_a_reset_reloads_them() {
    let desk = desk();
    desk.write("look.sql", "DELETE FROM orders WHERE id = 10;\nUPDATE customers SET balance = 0;\n");
    let sweep = QUICK.replace("trials = 1", "trials = 2\nevents = 1").replace("200ms", "30s");
    desk.write("s.toml", &study(&[("a", "sqlite:a.db".to_owned()), ("b", "sqlite:b.db".to_owned())], "", &sweep));
    let planned = desk.good(&["plan", "s.toml"]);
    assert!(planned.out.contains("about 80,000 rows"), "{planned:#?}");
    desk.good(&["run", "s.toml"]);
    let records = desk.records("results/s");
    let reloaded = records.iter().filter(|record| record.workload.data == "reloaded").count();
    assert_eq!((records.len(), reloaded), (4, 2));
    for record in &records {
        let rows: BTreeMap<&str, u64> = record.workload.rows_before.iter().map(|(name, rows)| (name.as_str(), *rows)).collect();
        assert_eq!((rows["customers"], rows["orders"], rows["small"]), (20_000, 60_000, 2));
        let told = &record.workload.parameters["table orders"];
        assert!(told.starts_with("60000 rows: id sequence=10 step=10; customer "), "{told}");
    }
    // Without the files beside it the kept study says everything.
    for name in ["tables.sql", "indexes.sql", "cities.csv", "look.sql", "s.toml"] {
        std::fs::remove_file(desk.path(name)).unwrap();
    }
    assert!(desk.read("results/s/study.toml").contains("La Réunion"));
    desk.good(&["report", "results/s"]);
    desk.good(&["check", "results/s/study.toml"]);
}

#[test]
fn a_load_whose_end_failed_goes_on() {
    let desk = desk();
    desk.write("indexes.sql", &format!("{FINISH}CREATE INDEX later_n ON later (n);\n"));
    desk.write("s.toml", &study(&[("a", "sqlite:a.db".to_owned())], "", QUICK));
    let failed = desk.perbuck(&["prepare", "s.toml"]);
    assert!(failed.code != Some(0) && failed.err.contains("no such table: main.later"), "{failed:#?}");
    Connection::open(desk.path("a.db")).unwrap().execute_batch("CREATE TABLE later (n INT)").unwrap();
    let resumed = desk.good(&["prepare", "s.toml"]);
    assert!(resumed.err.contains("a, shop: loaded 80,000 rows, 0 of them now"), "{resumed:#?}");
    let database = Connection::open(desk.path("a.db")).unwrap();
    assert_eq!(sqlite(&database, "SELECT COUNT(*) FROM sqlite_master WHERE name IN ('orders_customer', 'later_n')").trim(), "2");
    assert_eq!(sqlite(&database, "SELECT COUNT(*) FROM orders").trim(), "60000");
}

#[test]
fn another_rule_or_another_file_is_another_study() {
    let desk = desk();
    let text = study(&[("a", "sqlite:a.db".to_owned())], "", QUICK);
    desk.write("s.toml", &text);
    desk.good(&["run", "s.toml"]);
    for (from, to, named) in [
        ("number = [1, 500]", "number = [1, 600]", "workload shop.table orders: 60000 rows with hash"),
        ("rows = 20_000", "rows = 20_001", "workload shop.table customers: 20000 rows with hash"),
    ] {
        desk.write("s.toml", &text.replace(from, to));
        let refused = desk.perbuck(&["run", "s.toml"]);
        assert!(refused.code != Some(0) && refused.err.contains(named), "{refused:#?}");
    }
    desk.write("s.toml", &text);
    desk.write("cities.csv", &CITIES.replace("Oslo", "Bergen"));
    let refused = desk.perbuck(&["run", "s.toml"]);
    assert!(refused.code != Some(0) && refused.err.contains("file cities.csv: a file with hash"), "{refused:#?}");
}

#[test]
fn everything_is_checked_before_anything_runs() {
    let desk = desk();
    let text = study(&[("a", "sqlite:a.db".to_owned())], "", QUICK);
    let line = |words: &str| text.lines().position(|line| line.contains(words)).unwrap() + 1;
    for (from, to, at, message) in [
        (
            "name = \"orders\"",
            "name = \"ordres\"",
            "name = \"orders\"",
            "workload `shop`: table `ordres`: `init` does not make it",
        ),
        ("rows = 60_000", "rows = 0", "rows = 60_000", "table `orders`: `rows` is 0, not from 1"),
        ("\"customers.id\", distribution = \"exp", "\"customers.no\", distribution = \"exp", "exponential", "has no column `no`"),
        ("\"2025-12-31\"", "\"2025-02-31\"", "signed_up", "\"2025-02-31\" is no date"),
        ("column = \"city\"", "column = \"town\"", "column = \"city\"", "cities.csv:1: there is no column `town`"),
        (
            "\"cities.csv\", column = \"city\"",
            "\"towns.csv\", column = \"city\"",
            "column = \"city\"",
            "there is no file `towns.csv`",
        ),
        ("sequence = 1 ", "sequense = 1 ", "sequence = 1 ", "unknown key `sequense`"),
        ("number = [1, 500]", "number = [500, 1]", "number = [1, 500]", "`number` is [500, 1], not a range"),
        ("\"indexes.sql\"", "\"none.sql\"", "finish", "there is no file `none.sql`"),
    ] {
        assert!(text.contains(from), "{from}");
        desk.write("s.toml", &text.replacen(from, to, 1));
        let found = desk.perbuck(&["check", "s.toml"]);
        let start = format!("s.toml:{}: ", line(at));
        assert!(
            found.code != Some(0) && found.err.lines().any(|l| l.contains(&start) && l.contains(message)),
            "{to}: {found:#?}"
        );
    }
    desk.write("indexes.sql", "\\set x 1\n");
    desk.write("s.toml", &text);
    assert!(desk.perbuck(&["check", "s.toml"]).err.contains("indexes.sql:1: a meta command in `finish`"));
    desk.write("indexes.sql", "CREATE INDEX i ON nothing (x);\n");
    let failed = desk.perbuck(&["prepare", "s.toml"]);
    assert!(failed.code != Some(0) && failed.err.contains("nothing"), "{failed:#?}");
    desk.write("indexes.sql", FINISH);
    desk.write("s.toml", &text.replace("{ name = \"amount\", ", "{ name = \"total\", "));
    let failed = desk.perbuck(&["prepare", "s.toml"]);
    assert!(failed.code != Some(0) && failed.err.contains("total"), "{failed:#?}");
    // A file that would not fit into the results.
    desk.write("cities.csv", &format!("city,country,people\n{}", "Paris,France,1\n".repeat(100_000)));
    desk.write("s.toml", &text);
    let large = desk.perbuck(&["check", "s.toml"]);
    assert!(large.code != Some(0) && large.err.contains("cities.csv is too large to be kept with the results"), "{large:#?}");
}
