//! Tests that execute the profiles against SQLite, with two warehouses so that remote work exists.

use std::rc::Rc;
use std::sync::{Mutex, OnceLock};

use perbuck_core::units::Seed;
use perbuck_load::error::ErrorClass;
use perbuck_load::share::Share;
use perbuck_load::workload::{Check, Dataset, Done, TerminalId};

use super::{Options, Tpcc, TpccData, TpccTerminal, deck};
use crate::testing::{Client, Database, SQLITE, block_on};

const DATA_SEED: Seed = Seed(42);
const TRIAL_SEED: Seed = Seed(7);
const ALL: [u8; 5] = [deck::NEW_ORDER, deck::PAYMENT, deck::ORDER_STATUS, deck::DELIVERY, deck::STOCK_LEVEL];

fn options() -> Options {
    Options { warehouses: 2, ..Options::default() }
}

fn data() -> TpccData {
    TpccData::new(options(), SQLITE, DATA_SEED)
}

/// A fresh database: the loaded one, copied page by page.
fn fresh() -> Rc<Database> {
    static LOADED: OnceLock<Mutex<rusqlite::Connection>> = OnceLock::new();
    let load = || {
        let database = Database::load(&data(), 0..data().parts());
        Mutex::new(Rc::into_inner(database).unwrap().sqlite)
    };
    let loaded = LOADED.get_or_init(load).lock().unwrap();
    let mut copy = rusqlite::Connection::open_in_memory().unwrap();
    rusqlite::backup::Backup::new(&loaded, &mut copy).unwrap().step(-1).unwrap();
    Database::new(copy)
}

fn client(database: &Rc<Database>, index: u32, options: &Options) -> Client<TpccTerminal> {
    let workload = Tpcc::new(options.clone(), SQLITE, DATA_SEED);
    Client::new(database, &workload, TerminalId { index, of: 3, seed: TRIAL_SEED, share: Share::WHOLE })
}

impl Client<TpccTerminal> {
    /// The next operation of that kind.
    fn run_kind(&mut self, kind: u8) -> Done {
        while self.kind(self.next) != kind {
            self.next += 1;
        }
        self.run_next().unwrap()
    }

    fn rollback(&mut self) {
        block_on(self.connection.rollback()).unwrap();
    }
}

/// The conditions that the database breaks, each with the values of the first offending row.
fn violations(database: &Rc<Database>) -> Vec<(String, Vec<String>)> {
    let value = |cell: &str| cell.rsplit(' ').next().unwrap_or_default().to_owned();
    let first = |rows: Vec<String>| rows[0].split(", ").map(value).collect();
    database.broken(&data()).into_iter().map(|found| (found.name, first(found.violations))).collect()
}

fn broken(database: &Rc<Database>) -> Vec<String> {
    violations(database).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn all_conditions_hold_after_the_load_and_after_five_hundred_of_each_kind() {
    let database = fresh();
    assert_eq!(data().checks().len(), 12);
    let used = |c: Check| c.unless_used.map(|sql| database.number(&sql) > 0);
    let stated_for_fresh: Vec<bool> = data().checks().into_iter().filter_map(used).collect();
    assert_eq!((broken(&database), stated_for_fresh), (Vec::new(), vec![false]));
    let mut clients: Vec<Client<TpccTerminal>> = (0..3).map(|i| client(&database, i, &options())).collect();
    let orders = "SELECT SUM(d_next_o_id) FROM district";
    let (before, mut rolled_back) = (database.number(orders), 0);
    for n in 0..500 {
        for kind in ALL {
            rolled_back += i64::from(clients[n % 3].run_kind(kind).rolled_back);
        }
    }
    assert_eq!(broken(&database), Vec::<String>::new());
    assert_eq!(data().checks().into_iter().filter_map(used).collect::<Vec<_>>(), [true], "3.3.2.11 does not apply any more");
    assert!((1..=15).contains(&rolled_back), "{rolled_back} of 500");
    assert_eq!(database.number(orders) - before, 500 - rolled_back);
    assert_eq!(database.number("SELECT COUNT(*) FROM history") - 60_000, 500);
    assert_eq!(database.number("SELECT SUM(c_delivery_cnt) FROM customer"), 5_000);
    assert_eq!(
        database.number("SELECT SUM(ol_quantity) FROM order_line WHERE ol_o_id > 3000"),
        database.number("SELECT SUM(s_ytd) FROM stock")
    );
    assert_eq!(
        database.number("SELECT COUNT(*) FROM order_line WHERE ol_o_id > 3000"),
        database.number("SELECT SUM(s_order_cnt) FROM stock")
    );
}

#[test]
fn remote_lines_change_the_stock_of_the_other_warehouse() {
    let database = fresh();
    // Warehouse 1 alone orders, so whatever moved in warehouse 2 was remote.
    let mut client = client(&database, 0, &options());
    for _ in 0..300 {
        client.run_kind(deck::NEW_ORDER);
    }
    let remote = "FROM order_line WHERE ol_o_id > 3000 AND ol_supply_w_id = 2";
    let lines = database.number(&format!("SELECT COUNT(*) {remote}"));
    assert!(lines > 5, "{lines}");
    let sums = |sql: &str| database.number(&format!("SELECT {sql} FROM stock WHERE s_w_id = 2"));
    assert_eq!((sums("SUM(s_order_cnt)"), sums("SUM(s_remote_cnt)")), (lines, lines));
    assert_eq!(sums("SUM(s_ytd)"), database.number(&format!("SELECT SUM(ol_quantity) {remote}")));
    assert_eq!(database.number("SELECT SUM(s_remote_cnt) FROM stock WHERE s_w_id = 1"), 0);
    let wrong = "SELECT COUNT(*) FROM orders WHERE o_id > 3000 AND o_all_local = EXISTS (SELECT 1 FROM order_line \
                 WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id AND ol_supply_w_id <> o_w_id)";
    assert_eq!(database.number(wrong), 0, "O_ALL_LOCAL");
    let amounts = "SELECT COUNT(*) FROM order_line JOIN item ON i_id = ol_i_id \
                   WHERE ol_o_id > 3000 AND ol_amount <> ol_quantity * i_price";
    assert_eq!(database.number(amounts), 0, "neither tax nor discount");
    let dist_info: String = (1..=10).map(|d| format!(" WHEN {d} THEN s_dist_{d:02}")).collect();
    let wrong = format!(
        "SELECT COUNT(*) FROM order_line JOIN stock ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id \
         WHERE ol_o_id > 3000 AND ol_dist_info <> CASE ol_d_id{dist_info} END"
    );
    assert_eq!(database.number(&wrong), 0, "S_DIST_xx");
}

#[test]
fn a_rolled_back_order_does_its_work_and_leaves_no_trace() {
    let database = fresh();
    let mut client = client(&database, 1, &options());
    let state = || {
        let sums = ["d_next_o_id) FROM district", "s_ytd) FROM stock", "s_quantity) FROM stock", "o_id) FROM orders"];
        let counts = ["orders", "new_order", "order_line"];
        let numbers =
            sums.iter().map(|s| format!("SELECT SUM({s}")).chain(counts.iter().map(|t| format!("SELECT COUNT(*) FROM {t}")));
        numbers.map(|sql| database.number(&sql)).collect::<Vec<i64>>()
    };
    let before = state();
    // No commit comes through, so the first operation that ends well is one that rolled itself back.
    database.fail_commit.set(true);
    let done = loop {
        database.log.borrow_mut().clear();
        match client.run_next() {
            Ok(done) => break done,
            Err(_) => client.rollback(),
        }
    };
    assert!(done.rolled_back && done.kind == deck::NEW_ORDER);
    assert_eq!(state(), before);
    let sent = |part: &str| database.sent(part);
    assert!(sent("INSERT INTO order_line") >= 4);
    assert_eq!(sent("FROM item"), sent("INSERT INTO order_line") + 1, "the unused item was looked for");
    assert_eq!(sent("UPDATE stock"), sent("INSERT INTO order_line"));
    assert_eq!((sent("ROLLBACK"), sent("COMMIT")), (1, 0));
}

#[test]
fn a_retried_operation_sends_the_same() {
    let database = fresh();
    let mut client = client(&database, 2, &options());
    for sequence in 0..46 {
        database.log.borrow_mut().clear();
        database.fail_commit.set(true);
        if let Err(error) = client.run(sequence) {
            assert_eq!(error.class, ErrorClass::Retry);
            client.rollback();
        }
        let mut attempt = database.log.take();
        attempt.retain(|s| !s.starts_with("ROLLBACK"));
        database.fail_commit.set(false);
        client.run(sequence).unwrap();
        let mut retry = database.log.take();
        retry.retain(|s| !s.starts_with("COMMIT") && !s.starts_with("ROLLBACK"));
        assert!(attempt.len() > 2);
        assert_eq!(attempt, retry);
    }
    assert_eq!(broken(&database), Vec::<String>::new());
}

#[test]
fn payments_charge_the_middle_customer_of_a_name() {
    let database = fresh();
    let mut client = client(&database, 0, &options());
    for _ in 0..200 {
        database.log.borrow_mut().clear();
        client.run_kind(deck::PAYMENT);
        let log = database.log.borrow();
        let Some(by_name) = log.iter().find(|s| s.contains("ORDER BY c_first")) else { continue };
        assert!(by_name.contains("c_last = '"), "{by_name}");
        let middle = "SELECT COUNT(*) FROM history JOIN customer c \
             ON c.c_w_id = h_c_w_id AND c.c_d_id = h_c_d_id AND c.c_id = h_c_id, \
             (SELECT COUNT(*) AS n, SUM(o.c_first <= c2.c_first) AS place FROM history \
             JOIN customer c2 ON c2.c_w_id = h_c_w_id AND c2.c_d_id = h_c_d_id AND c2.c_id = h_c_id \
             JOIN customer o ON o.c_w_id = c2.c_w_id AND o.c_d_id = c2.c_d_id AND o.c_last = c2.c_last \
             WHERE history.rowid = (SELECT MAX(rowid) FROM history)) \
             WHERE history.rowid = (SELECT MAX(rowid) FROM history) AND place = (n + 1) / 2";
        assert_eq!(database.number(middle), 1, "{by_name}");
    }
    let long = "SELECT COUNT(*) FROM customer WHERE c_credit = 'BC' AND c_payment_cnt > 1 AND c_data LIKE c_id || ' ' || c_d_id || ' %|%'";
    assert!(database.number(long) > 5);
    let h_data = "SELECT COUNT(*) FROM history JOIN warehouse ON w_id = h_w_id JOIN district ON d_w_id = h_w_id AND d_id = h_d_id \
                  WHERE h_data = w_name || '    ' || d_name";
    assert_eq!(database.number(h_data), 200);
}

#[test]
fn deliveries_skip_empty_districts_and_the_conditions_still_hold() {
    let database = fresh();
    let mut client = client(&database, 0, &options());
    // Warehouse 1 keeps one undelivered order in district 4 and none elsewhere; the dropped orders are delivered ones.
    database.change("UPDATE orders SET o_carrier_id = 1 WHERE o_w_id = 1 AND NOT (o_d_id = 4 AND o_id = 3000)");
    database.change("DELETE FROM new_order WHERE no_w_id = 1 AND NOT (no_d_id = 4 AND no_o_id = 3000)");
    // They cost nothing, so that no customer's balance has to know of them.
    database.change(
        "UPDATE order_line SET ol_delivery_d = '2010-02-01 00:00:00', ol_amount = 0 \
         WHERE ol_w_id = 1 AND ol_o_id > 2100 AND NOT (ol_d_id = 4 AND ol_o_id = 3000)",
    );
    assert_eq!(broken(&database), Vec::<String>::new());
    assert_eq!(client.run_kind(deck::DELIVERY).facts, [9, 1, 0, 0]);
    assert_eq!(client.run_kind(deck::DELIVERY).facts, [10, 1, 0, 0]);
    assert_eq!(broken(&database), Vec::<String>::new());
    for _ in 0..40 {
        client.run_kind(deck::NEW_ORDER);
    }
    assert_eq!(broken(&database), Vec::<String>::new());
}

mod batched;
mod conditions;
