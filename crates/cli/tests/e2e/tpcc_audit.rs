//! The consistency conditions of TPC-C on real servers: all hold after a load and after runs, each finds what breaks it.

use crate::common::Desk;
use crate::common::maria::{Maria, study};
use crate::common::postgres::Postgres;

const SHORT: &str = "connections = [8]\nwarmup = \"200ms\"\nduration = \"3s\"\ntrials = 1";

/// A change, what undoes it, and the conditions that it breaks, with the keys by which they name the row.
type Break = (&'static str, &'static str, &'static [(u8, &'static str)]);

/// A change for each condition that breaks it, each in a district of its own, with what undoes it; the conditions that it
/// breaks, and the keys by which they name the row.
const BREAKS: [Break; 8] = [
    (
        "UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 1",
        "UPDATE warehouse SET w_ytd = w_ytd - 1 WHERE w_id = 1",
        &[(1, "w_id 1, "), (8, "w_id 1, ")],
    ),
    (
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 3",
        "UPDATE district SET d_next_o_id = d_next_o_id - 1 WHERE d_w_id = 1 AND d_id = 3",
        &[(2, "d_w_id 1, d_id 3, ")],
    ),
    (
        "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 7 AND no_o_id = 2500",
        "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (1, 7, 2500)",
        &[(3, "no_w_id 1, no_d_id 7, "), (5, "o_w_id 1, o_d_id 7, o_id 2500, "), (11, "d_w_id 1, d_id 7, ")],
    ),
    (
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 1 AND o_d_id = 9 AND o_id = 9",
        "UPDATE orders SET o_ol_cnt = o_ol_cnt - 1 WHERE o_w_id = 1 AND o_d_id = 9 AND o_id = 9",
        &[(4, "d_w_id 1, d_id 9, "), (6, "o_w_id 1, o_d_id 9, o_id 9, ")],
    ),
    (
        "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 1 AND ol_d_id = 6 AND ol_o_id = 77 AND ol_number = 5",
        "UPDATE order_line SET ol_delivery_d = '2010-02-01 00:00:00' \
         WHERE ol_w_id = 1 AND ol_d_id = 6 AND ol_o_id = 77 AND ol_number = 5",
        &[(7, "ol_w_id 1, ol_d_id 6, ol_o_id 77, ")],
    ),
    (
        "UPDATE district SET d_ytd = d_ytd + 0.01 WHERE d_w_id = 1 AND d_id = 4",
        "UPDATE district SET d_ytd = d_ytd - 0.01 WHERE d_w_id = 1 AND d_id = 4",
        &[(9, "d_w_id 1, d_id 4, ")],
    ),
    (
        "UPDATE customer SET c_balance = c_balance + 0.01 WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 5",
        "UPDATE customer SET c_balance = c_balance - 0.01 WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 5",
        &[(10, "c_w_id 1, c_d_id 2, c_id 5, ")],
    ),
    (
        "UPDATE customer SET c_ytd_payment = c_ytd_payment + 0.01 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 44",
        "UPDATE customer SET c_ytd_payment = c_ytd_payment - 0.01 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 44",
        &[(12, "c_w_id 1, c_d_id 1, c_id 44, ")],
    ),
];

/// What the check says of a condition.
fn line(text: &str, condition: u8) -> &str {
    let name = format!(" 3.3.2.{condition} ");
    text.lines().find(|l| l.contains(&name) && l.contains("m, w: ")).unwrap_or_else(|| panic!("{name}: {text}"))
}

/// Loads one warehouse with `workload`, breaks and mends it, and runs on it.
fn audit(desk: &Desk, url: &str, workload: &str, sql: &dyn Fn(&str)) {
    desk.write("s.toml", &study(url, workload, SHORT));
    let loaded = desk.good(&["prepare", "s.toml"]);
    assert!(loaded.err.contains("m, w: 12 of 12 conditions hold\n"), "{}", loaded.err);
    for (change, _, _) in BREAKS {
        sql(change);
    }
    let broken = desk.perbuck(&["prepare", "--check", "s.toml"]);
    assert_eq!(broken.code, Some(1), "{broken:#?}");
    let mut seen = Vec::new();
    for (change, _, expected) in BREAKS {
        for (condition, keys) in expected {
            let said = line(&broken.err, *condition);
            assert!(said.contains("BROKEN") && said.contains(&format!(": {keys}")), "{change}: {said}");
            seen.push(*condition);
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, (1..=12).collect::<Vec<u8>>());
    BREAKS.iter().for_each(|(_, undo, _)| sql(undo));
    assert!(line(&desk.good(&["prepare", "--check", "--verbose", "s.toml"]).err, 11).contains(" holds: "));
    let ran = desk.good(&["run", "--verbose", "s.toml"]);
    assert!(
        line(&ran.err, 11).contains("is not applicable") && line(&ran.err, 11).contains("stated for fresh data"),
        "{}",
        ran.err
    );
    let after = desk.good(&["prepare", "--check", "--verbose", "s.toml"]);
    for condition in (1..=12).filter(|c| *c != 11) {
        assert!(line(&after.err, condition).contains(" holds: "), "{}", after.err);
    }
    let facts = desk.records("results/s").remove(0).measured.transactions;
    let lines = facts["new_order"].facts["order_lines"] as f64 / facts["new_order"].completed() as f64;
    assert!((8.0..12.0).contains(&lines), "{lines} lines an order: {facts:#?}");
    assert!(facts["payment"].facts["by_last_name"] > 0 && facts["payment"].facts["remote"] == 0, "one warehouse");
}

#[test]
fn every_condition_finds_its_row_on_mariadb() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "tpcc_audit");
    audit(&desk, &maria.url(), "kind = \"tpcc\"", &|sql| drop(maria.sql(sql)));
}

#[test]
fn every_condition_finds_its_row_on_postgres() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "tpcc_audit");
    audit(&desk, &postgres.url(), "kind = \"tpcc\"", &|sql| drop(postgres.sql(sql)));
}
