//! Deadlocks and duplicate keys in numbers: each error is counted by its code, each broken transaction rolled back as a
//! whole, and no terminal retries for ever.

use std::sync::{Mutex, PoisonError};

use crate::common::both::{Both, options};
use perbuck_load::trial::TrialOutcome;
use perbuck_mysql::MysqlDriver;

/// The counters are the whole server's, so that one storm has to wait for another.
static ALONE: Mutex<()> = Mutex::new(());

/// One table of a hundred rows for 64 connections: all four kinds of statements meet on every row.
const HOT: [(&str, &str); 3] = [("tables", "1"), ("table_size", "100"), ("index_updates", "3")];

fn status(maria: &Both<MysqlDriver>, name: &str) -> u64 {
    maria
        .sql(&format!("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = '{name}'"))
        .parse()
        .unwrap()
}

fn count(outcome: &TrialOutcome, code: &str) -> u64 {
    outcome.errors.get(code).map_or(0, |e| e.count)
}

/// The increments of `k`, without pairs of DELETE and INSERT, which draw a new one.
#[test]
fn no_half_transaction_is_committed_whatever_deadlocks_there_are() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let maria = Both::on_mariadb("storm_sum");
    let options = options("oltp_write_only", &[&HOT[..], &[("delete_inserts", "0"), ("non_index_updates", "2")]].concat());
    maria.our_prepare(&options);
    let sum = || maria.sql("SELECT SUM(k) FROM sbtest1").parse::<u64>().unwrap();
    let (sum_before, deadlocks_before) = (sum(), status(&maria, "INNODB_DEADLOCKS"));
    let rollbacks_before = status(&maria, "COM_ROLLBACK");
    let outcome = maria.ours_for(&options, 64, 4);
    let (errors, whole) = (count(&outcome, "mysql 1213"), outcome.statements_whole_run);
    assert!(errors > 50, "a storm: {:?}", outcome.errors);
    assert_eq!(status(&maria, "INNODB_DEADLOCKS") - deadlocks_before, errors);
    assert_eq!(outcome.errors.values().map(|e| e.count).sum::<u64>(), errors + count(&outcome, "mysql 1205"));
    // A ROLLBACK for each, and three increments for each COMMIT, of the drain as well.
    assert_eq!(status(&maria, "COM_ROLLBACK") - rollbacks_before, whole.rollback);
    assert_eq!(whole.rollback, errors + count(&outcome, "mysql 1205"));
    assert_eq!(sum() - sum_before, 3 * whole.commit);
    assert_eq!((outcome.health.aborted, outcome.health.connections_lost), (0, 0));
}

#[test]
fn rows_are_neither_lost_nor_doubled_in_a_storm() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let maria = Both::on_mariadb("storm_rows");
    let options = options("oltp_write_only", &HOT);
    maria.our_prepare(&options);
    let before = status(&maria, "INNODB_DEADLOCKS");
    let outcome = maria.ours_for(&options, 64, 4);
    assert!(count(&outcome, "mysql 1213") > 50, "{:?}", outcome.errors);
    assert_eq!(status(&maria, "INNODB_DEADLOCKS") - before, count(&outcome, "mysql 1213"));
    let record = &outcome.measured.transactions["oltp_write_only"];
    assert!(record.committed > 0 && outcome.health.aborted == 0, "{record:?}");
    assert_eq!(maria.sql("SELECT COUNT(*) FROM sbtest1"), "100");
    maria.checks_hold(&options);
}

/// Without transactions another terminal's INSERT comes between a DELETE and its own: the failure is that statement's alone.
#[test]
fn duplicate_keys_are_failures_and_not_retried() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let maria = Both::on_mariadb("storm_keys");
    let options = options("oltp_write_only", &[&HOT[..], &[("skip_trx", "on")]].concat());
    maria.our_prepare(&options);
    let inserts_before = status(&maria, "COM_INSERT");
    let outcome = maria.ours_for(&options, 64, 3);
    let duplicates = count(&outcome, "mysql 1062");
    assert!(duplicates > 0, "{:?}", outcome.errors);
    let failed = outcome.measured.transactions["oltp_write_only"].failed;
    assert!(failed > 0 && failed <= duplicates, "{failed} of {duplicates}");
    // The server saw every INSERT, those that failed as well.
    assert_eq!(status(&maria, "COM_INSERT") - inserts_before, outcome.statements_whole_run.insert);
    assert_eq!((outcome.health.aborted, outcome.health.connections_lost), (0, 0));
}
