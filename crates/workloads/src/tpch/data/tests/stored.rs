//! The tables in a database: their checks hold, and find what is wrong.

use std::rc::Rc;

use super::*;
use crate::testing::{Database, SqliteSession, block_on};
use crate::tpch::data::refresh::{deleted, inserted};
use crate::tpch::data::schema::{ORDERS, PART};

fn broken(database: &Rc<Database>) -> Vec<String> {
    database
        .broken(&data(HUNDREDTH))
        .into_iter()
        .map(|found| format!("{}: {}", found.name, found.violations.join("; ")))
        .collect()
}

fn load() -> Rc<Database> {
    let data = data(HUNDREDTH);
    Database::load(&data, 0..data.parts())
}

/// Each table, a change of one row of it, and what must be said of the column.
const PLANTED: [(&str, &str, &str); 17] = [
    ("region", "UPDATE region SET r_name = 'EUROP' WHERE r_regionkey = 3", "r_name"),
    ("nation", "UPDATE nation SET n_regionkey = 2 WHERE n_nationkey = 7", "n_regionkey"),
    ("part", "UPDATE part SET p_retailprice = p_retailprice + 1 WHERE p_partkey = 1999", "p_retailprice"),
    ("part", "UPDATE part SET p_name = REPLACE(p_name, 'e', 'a') WHERE p_partkey = 1", "p_name"),
    ("supplier", "UPDATE supplier SET s_comment = SUBSTR(s_comment, 1, 20) WHERE s_suppkey = 50", "s_comment"),
    ("partsupp", "UPDATE partsupp SET ps_availqty = ps_availqty + 1 WHERE ps_partkey = 10 AND ps_suppkey = 11", "ps_availqty"),
    ("customer", "UPDATE customer SET c_acctbal = -c_acctbal WHERE c_custkey = 1", "c_acctbal"),
    ("orders", "UPDATE orders SET o_orderdate = '1996-01-03' WHERE o_orderkey = 1", "o_orderdate"),
    ("orders", "UPDATE orders SET o_custkey = o_custkey + 1 WHERE o_orderkey = 33", "o_custkey"),
    ("lineitem", "UPDATE lineitem SET l_discount = l_discount + 1 WHERE l_orderkey = 1 AND l_linenumber = 1", "l_discount"),
    ("lineitem", "UPDATE lineitem SET l_commitdate = '1996-02-29' WHERE l_orderkey = 1 AND l_linenumber = 2", "l_commitdate"),
    ("lineitem", "DELETE FROM lineitem WHERE l_orderkey = 3 AND l_linenumber = 6", "rows"),
    ("partsupp", "DELETE FROM partsupp WHERE ps_partkey = 7 AND ps_suppkey = 8", "rows"),
    ("customer", "DELETE FROM customer WHERE c_custkey = 3", "rows"),
    (
        "supplier",
        "INSERT INTO supplier SELECT 101, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment FROM supplier LIMIT 1",
        "rows",
    ),
    ("region", "DELETE FROM region", "rows"),
    ("nation", "DELETE FROM nation WHERE n_nationkey = 24", "rows"),
];

#[test]
fn checks_hold_and_find_a_wrong_row_of_each_table() {
    let database = load();
    for table in data(HUNDREDTH).tables() {
        assert_eq!(database.number(&format!("SELECT COUNT(*) FROM {}", table.bulk.name)) as u64, table.rows.unwrap());
    }
    assert_eq!(database.number("SELECT COUNT(*) FROM sqlite_master WHERE name LIKE 'idx_%'"), 9);
    assert_eq!(broken(&database), Vec::<String>::new());
    let mut seen = [false; 8];
    for (table, change, column) in PLANTED {
        database.sqlite.execute_batch("SAVEPOINT planted").unwrap();
        database.change(change);
        let found = broken(&database);
        let sums =
            found.iter().find(|line| line.starts_with(&format!("sums of {table}: "))).unwrap_or_else(|| panic!("{change}"));
        assert!(sums.contains(&format!("column {column}, found ")), "{sums}");
        assert!(found.iter().filter(|line| line.starts_with("sums of ")).count() == 1, "{found:?}");
        seen[TABLES.iter().position(|t| t.name == table).unwrap()] = true;
        database.sqlite.execute_batch("ROLLBACK TO planted; RELEASE planted").unwrap();
    }
    assert_eq!(seen, [true; 8]);
    assert_eq!(broken(&database), Vec::<String>::new());
}

/// A change, and the condition that finds it without knowing any sum.
const UNRELATED: [(&str, &str); 12] = [
    ("DELETE FROM region WHERE r_regionkey = 1", "1.4.2 nation, region"),
    ("UPDATE supplier SET s_nationkey = 25 WHERE s_suppkey = 1", "1.4.2 supplier, nation"),
    ("UPDATE customer SET c_nationkey = -1 WHERE c_custkey = 1", "1.4.2 customer, nation"),
    ("DELETE FROM part WHERE p_partkey = 9", "1.4.2 partsupp, part"),
    ("DELETE FROM supplier WHERE s_suppkey = 9", "1.4.2 partsupp, supplier"),
    ("DELETE FROM customer WHERE c_custkey = 370", "1.4.2 orders, customer"),
    ("DELETE FROM orders WHERE o_orderkey = 7", "1.4.2 lineitem, orders"),
    ("UPDATE lineitem SET l_suppkey = l_suppkey % 100 + 1 WHERE l_orderkey = 7 AND l_linenumber = 1", "1.4.2 lineitem, partsupp"),
    ("DELETE FROM partsupp WHERE ps_partkey = 7 AND ps_suppkey = 8", "4.2.3 partsupp"),
    ("UPDATE lineitem SET l_tax = l_tax + 1 WHERE l_orderkey = 7 AND l_linenumber = 1", "4.2.3 o_totalprice"),
    ("UPDATE orders SET o_orderstatus = 'P' WHERE o_orderkey = 7", "4.2.3 o_orderstatus"),
    ("UPDATE lineitem SET l_returnflag = 'R' WHERE l_orderkey = 7 AND l_linenumber = 1", "4.2.3 lineitem"),
];

#[test]
fn rows_that_do_not_fit_together_are_found() {
    let database = load();
    for (change, check) in UNRELATED {
        database.sqlite.execute_batch("SAVEPOINT planted").unwrap();
        database.change(change);
        let found = broken(&database);
        assert!(found.iter().any(|line| line.starts_with(&format!("{check}: "))), "{change}: {found:?}");
        database.sqlite.execute_batch("ROLLBACK TO planted; RELEASE planted").unwrap();
    }
}

#[test]
fn what_is_no_sum_holds_after_refresh_sets() {
    let database = load();
    let tables = data(HUNDREDTH).tables();
    let mut session = SqliteSession::new(&database);
    let orders = || database.number("SELECT COUNT(*) FROM orders");
    for set in 1..=3 {
        use perbuck_load::driver::Session;
        for new in inserted(HUNDREDTH, set) {
            block_on(session.insert_rows(&tables[ORDERS].bulk, &new.order)).unwrap();
            block_on(session.insert_rows(&tables[LINEITEM].bulk, &new.lines)).unwrap();
        }
        assert_eq!(orders(), 15_010);
        for key in deleted(HUNDREDTH, set) {
            database.change(&format!("DELETE FROM lineitem WHERE l_orderkey = {key}"));
            database.change(&format!("DELETE FROM orders WHERE o_orderkey = {key}"));
        }
        assert_eq!(orders(), 15_000);
    }
    assert_eq!(broken(&database), Vec::<String>::new());
    let used = data(HUNDREDTH).checks().into_iter().filter_map(|check| check.unless_used);
    assert_eq!(used.map(|sql| database.number(&sql)).collect::<Vec<_>>(), [1, 1]);
    // Sums of the other tables still are looked at.
    database.change("UPDATE part SET p_size = p_size + 1 WHERE p_partkey = 5");
    assert_eq!((broken(&database).len(), TABLES[PART].name), (1, "part"));
}
