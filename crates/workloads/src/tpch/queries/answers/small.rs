//! The texts and the answers at scale 0.01, on SQLite: tables of the crate `tpchgen`, answers of another database.

use perbuck_core::units::Seed;
use perbuck_load::values::Rows;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params_from_iter};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator, RegionGenerator,
    SupplierGenerator,
};

use super::*;
use crate::testing::SQLITE;
use crate::tpch::Scale;
use crate::tpch::queries::{Substitution, compare, digest, numbers, statement};

const SCALE: Scale = Scale::hundredths(1);
const ANSWERS: &str = include_str!("answers-0.01.txt");
/// Of each query its digests in five rounds of stream 3 with seed 1.
const DIGESTS: &str = include_str!("digests-0.01.txt");

/// Table, columns with `i` for a whole number, `d` for hundredths, `t` for text, and what follows them.
const TABLES: [(&str, &str, &str); 8] = [
    ("region", "r_regionkey i r_name t r_comment t", ""),
    ("nation", "n_nationkey i n_name t n_regionkey i n_comment t", ""),
    ("supplier", "s_suppkey i s_name t s_address t s_nationkey i s_phone t s_acctbal d s_comment t", "PRIMARY KEY (s_suppkey)"),
    (
        "part",
        "p_partkey i p_name t p_mfgr t p_brand t p_type t p_size i p_container t p_retailprice d p_comment t",
        "PRIMARY KEY (p_partkey)",
    ),
    ("partsupp", "ps_partkey i ps_suppkey i ps_availqty i ps_supplycost d ps_comment t", "PRIMARY KEY (ps_partkey, ps_suppkey)"),
    (
        "customer",
        "c_custkey i c_name t c_address t c_nationkey i c_phone t c_acctbal d c_mktsegment t c_comment t",
        "PRIMARY KEY (c_custkey)",
    ),
    (
        "orders",
        "o_orderkey i o_custkey i o_orderstatus t o_totalprice d o_orderdate t o_orderpriority t o_clerk t o_shippriority i o_comment t",
        "PRIMARY KEY (o_orderkey)",
    ),
    (
        "lineitem",
        "l_orderkey i l_partkey i l_suppkey i l_linenumber i l_quantity d l_extendedprice d l_discount d l_tax d l_returnflag t \
         l_linestatus t l_shipdate t l_commitdate t l_receiptdate t l_shipinstruct t l_shipmode t l_comment t",
        "PRIMARY KEY (l_orderkey, l_linenumber)",
    ),
];

/// The rows of a table as dbgen writes them.
fn lines(table: &str) -> Box<dyn Iterator<Item = String>> {
    let sf = SCALE.factor();
    match table {
        "region" => Box::new(RegionGenerator::new(sf, 1, 1).iter().map(|row| row.to_string())),
        "nation" => Box::new(NationGenerator::new(sf, 1, 1).iter().map(|row| row.to_string())),
        "supplier" => Box::new(SupplierGenerator::new(sf, 1, 1).iter().map(|row| row.to_string())),
        "part" => Box::new(PartGenerator::new(sf, 1, 1).iter().map(|row| row.to_string())),
        "partsupp" => Box::new(PartSuppGenerator::new(sf, 1, 1).iter().map(|row| row.to_string())),
        "customer" => Box::new(CustomerGenerator::new(sf, 1, 1).iter().map(|row| row.to_string())),
        "orders" => Box::new(OrderGenerator::new(sf, 1, 1).iter().map(|row| row.to_string())),
        _ => Box::new(LineItemGenerator::new(sf, 1, 1).iter().map(|row| row.to_string())),
    }
}

fn value(kind: &str, text: &str) -> Value {
    match kind {
        "i" => Value::Integer(text.parse().unwrap()),
        "d" => {
            let (whole, cents) = text.split_once('.').unwrap_or((text, "00"));
            Value::Integer(format!("{whole}{cents:0<2}").parse().unwrap())
        }
        _ => Value::Text(text.to_owned()),
    }
}

fn database() -> Connection {
    let db = Connection::open_in_memory().unwrap();
    db.execute_batch("BEGIN").unwrap();
    for (table, columns, key) in TABLES {
        let words: Vec<&str> = columns.split_whitespace().collect();
        let columns: Vec<String> = words
            .chunks(2)
            .map(|column| format!("{} {}", column[0], if column[1] == "t" { "TEXT" } else { "INTEGER" }))
            .collect();
        let key = if key.is_empty() { String::new() } else { format!(", {key}") };
        db.execute_batch(&format!("CREATE TABLE {table} ({}{key})", columns.join(", "))).unwrap();
        let marks = vec!["?"; columns.len()].join(", ");
        let mut insert = db.prepare(&format!("INSERT INTO {table} VALUES ({marks})")).unwrap();
        for line in lines(table) {
            let values = line.split('|').zip(words.iter().skip(1).step_by(2)).map(|(text, kind)| value(kind, text));
            insert.execute(params_from_iter(values)).unwrap();
        }
    }
    db.execute_batch(
        "CREATE INDEX l_part ON lineitem (l_partkey, l_suppkey); CREATE INDEX o_customer ON orders (o_custkey); ANALYZE; COMMIT",
    )
    .unwrap();
    db
}

/// Names of the columns, and the rows.
fn ask(db: &Connection, sql: &str) -> (Vec<String>, Rows) {
    let mut query = db.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let names: Vec<String> = query.column_names().map(str::to_owned).collect();
    let (mut rows, mut found) = (Rows::default(), query.query([]).unwrap());
    rows.start(true);
    while let Some(row) = found.next().unwrap() {
        for at in 0..names.len() {
            match row.get_ref(at).unwrap() {
                ValueRef::Null => rows.push_null(),
                ValueRef::Integer(v) => rows.push_int(v),
                ValueRef::Real(v) => rows.push_float(v),
                ValueRef::Text(text) | ValueRef::Blob(text) => rows.push_text(text),
            }
        }
        rows.end_row();
    }
    (names, rows)
}

#[test]
fn sqlite_answers_all_queries_as_another_database_did() {
    let db = database();
    let answers = Answer::parse_all(ANSWERS).unwrap();
    assert!(answers.iter().map(Answer::number).eq(1..=22));
    for answer in &answers {
        let number = answer.number();
        let (names, rows) = ask(&db, &statement(&Substitution::validation(number, SCALE), SQLITE));
        let columns = columns::of(number).columns;
        assert_eq!(names.len(), columns.len(), "query {number}");
        let named = names.iter().zip(columns).all(|(name, column)| name == column.name || column.name == "sum_quantity");
        assert!(named, "query {number}: {names:?}");
        compare(number, answer, &rows, SQLITE).unwrap_or_else(|difference| panic!("query {number}: {difference}"));
        assert_eq!(digest(number, &rows, SQLITE), Ok(answer.digest()), "query {number}");
    }
    // Other data are noticed: one line less changes the first answer.
    db.execute_batch("DELETE FROM lineitem WHERE l_orderkey = 1 AND l_linenumber = 1").unwrap();
    let (_, rows) = ask(&db, &statement(&Substitution::validation(1, SCALE), SQLITE));
    assert!(matches!(compare(1, &answers[0], &rows, SQLITE), Err(Difference::Cell { column: "sum_qty", .. })));
    // None of so few suppliers has complaints of customers (4.2.3); the parts of one that has lose a supplier.
    db.execute_batch("UPDATE supplier SET s_comment = 'a Customer has Complaints' WHERE s_suppkey = 1").unwrap();
    let (_, rows) = ask(&db, &statement(&Substitution::validation(16, SCALE), SQLITE));
    assert!(compare(16, &answers[15], &rows, SQLITE).is_err());
}

#[test]
fn drawn_values_have_the_answers_that_other_databases_gave() {
    let db = database();
    let lines: Vec<&str> = DIGESTS.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines.len(), 22);
    for (number, line) in (1..).zip(lines) {
        for (round, expected) in (1..).zip(line.split(' ')) {
            let values = Substitution::drawn(number, &mut numbers(Seed(1), 3, round, number), SCALE);
            let (_, rows) = ask(&db, &statement(&values, SQLITE));
            let found = digest(number, &rows, SQLITE).unwrap();
            assert_eq!(format!("{found:016x}"), expected, "query {number}, round {round}: {values:?}");
        }
    }
}

#[test]
fn a_file_of_answers_comes_back_as_it_was_written() {
    let answers = Answer::parse_all(ANSWERS).unwrap();
    let text = Answer::all_to_text(&answers);
    assert_eq!(Answer::parse_all(&text), Ok(answers));
    let without_comments: String = ANSWERS.lines().skip(2).map(|line| format!("{line}\n")).collect();
    assert_eq!(text, without_comments);
    for (wrong, message) in [("1|2", "`1|2` stands before"), ("# 23\n", "no query 23"), ("# 4\na|b\n1|2|3\n", "3 columns")] {
        assert!(Answer::parse_all(wrong).unwrap_err().contains(message), "{wrong}");
    }
}
