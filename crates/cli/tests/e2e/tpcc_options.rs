//! The options of TPC-C on real servers: whatever is chosen, the data load, the transactions run and the conditions hold.

use crate::common::Desk;
use crate::common::maria::{Maria, study};
use crate::common::postgres::Postgres;
use crate::common::tpcc_rows::as_if_cut_off;
use perbuck_core::run_record::{RunRecord, TransactionRecord};

const SHORT: &str = "connections = [8]\nwarmup = \"100ms\"\nduration = \"2s\"\ntrials = 1";

/// Loads with these options, runs, and checks all conditions; the record of the run, in which nothing failed for good.
fn tried(desk: &Desk, url: &str, options: &str) -> RunRecord {
    desk.write("s.toml", &study(url, &format!("kind = \"tpcc\"\n{options}"), SHORT));
    let loaded = desk.good(&["prepare", "s.toml"]);
    assert_eq!(loaded.err.matches(": 12 of 12 conditions hold\n").count(), 1, "{options}: {}", loaded.err);
    // At strict levels eight terminals of one warehouse give up more than one transaction in a hundred, which is refused.
    let ran = desk.perbuck(&["run", "s.toml"]);
    assert!(matches!(ran.code, Some(0 | 4)), "{options}: {ran:#?}");
    assert_eq!(ran.err.matches(" BROKEN").count(), 0, "{options}: {}", ran.err);
    assert!(ran.err.contains("after the last trial 11 of 12 conditions hold, 1 does not apply\n"), "{options}: {}", ran.err);
    let record = desk.records("results/s").remove(0);
    for kind in ["new_order", "payment"] {
        assert!(record.measured.transactions[kind].completed() > 5, "{options}: {kind}: {record:#?}");
    }
    assert!(record.errors.values().all(|e| e.class == "retry"), "{options}: {:?}", record.errors);
    record
}

/// A load that goes on at its very end finds its indexes and references made, and takes them.
fn goes_on(desk: &Desk, sql: &dyn Fn(&str)) {
    // Rows that no run has added to; and tables go in the reverse order of their references.
    desk.good(&["prepare", "--force", "s.toml"]);
    as_if_cut_off(sql, "tpcc", 11);
    let resumed = desk.good(&["prepare", "s.toml"]);
    assert!(resumed.err.contains("going on with a load that was cut off"), "{resumed:#?}");
    assert!(resumed.err.contains(": 12 of 12 conditions hold\n"), "{resumed:#?}");
}

#[test]
fn mariadb_takes_partitions_and_statements_of_many_rows() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "tpcc_partitions");
    tried(&desk, &maria.url(), "partitions = 2\nhistory_key = true\nbatch = true\nisolation = \"read-committed\"");
    let parts = "SELECT COUNT(*) FROM information_schema.partitions WHERE table_schema = DATABASE() AND partition_name = 'p1'";
    assert_eq!(maria.sql(parts).trim(), "8", "every table but item");
    let keys = "SELECT COUNT(DISTINCT h_id) = COUNT(*) FROM history";
    assert_eq!(maria.sql(keys).trim(), "1");
}

#[test]
fn mariadb_takes_references_and_the_traffic_of_go_tpc() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "tpcc_references");
    let record = tried(&desk, &maria.url(), "foreign_keys = true\ncompat = \"go-tpc\"\nisolation = \"serializable\"");
    assert_eq!((record.workload.parameters["compat"].as_str(), record.workload.parameters["batch"].as_str()), ("go-tpc", "true"));
    let references = "SELECT COUNT(*) FROM information_schema.referential_constraints WHERE constraint_schema = DATABASE()";
    assert_eq!(maria.sql(references).trim(), "10");
    goes_on(&desk, &|sql| drop(maria.sql(sql)));
}

#[test]
fn postgres_takes_partitions_and_the_level_that_is_asked_for() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "tpcc_partitions");
    let options = "partitions = 2\nhistory_key = true\nbatch = true\nisolation = \"serializable\"";
    let record = tried(&desk, &postgres.url(), options);
    assert!(record.errors.contains_key("sqlstate 40001"), "the mark of that level: {:?}", record.errors);
    assert_eq!(
        postgres.sql("SELECT COUNT(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE c.relkind = 'r'").trim(),
        "16"
    );
}

#[test]
fn postgres_takes_references_and_the_traffic_of_go_tpc() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "tpcc_references");
    tried(&desk, &postgres.url(), "foreign_keys = true\ncompat = \"go-tpc\"\nisolation = \"repeatable-read\"");
    assert_eq!(postgres.sql("SELECT COUNT(*) FROM pg_constraint WHERE contype = 'f'").trim(), "10");
    goes_on(&desk, &|sql| drop(postgres.sql(sql)));
}

#[test]
fn terminals_that_wait_are_idle_and_nothing_is_wrong_with_that() {
    let desk = Desk::new();
    let sweep = "connections = [10]\nwarmup = \"6s\"\nduration = \"6s\"\ntrials = 1";
    desk.write("s.toml", &study("sqlite:w.db", "kind = \"tpcc\"\nwait = true", sweep));
    desk.good(&["run", "s.toml"]);
    let record = desk.records("results/s").remove(0);
    let ended: u64 = record.measured.transactions.values().map(TransactionRecord::completed).sum();
    // Ten terminals of a mean cycle of 20.7 s, of which the first seconds go to keying.
    assert!((1..=20).contains(&ended), "{ended}");
    assert_eq!((record.health.littles_law, record.health.gaps.len()), (None, 0));
    assert!(record.flags.iter().all(|f| f.refused_unless().is_none()), "{:?}", record.flags);
}

#[test]
fn what_a_database_does_not_have_is_refused_before_anything_is_loaded() {
    let desk = Desk::new();
    for (options, named) in [
        ("partitions = 4", "SQLite has no partitioned tables"),
        ("foreign_keys = true", "SQLite cannot add them"),
        ("compat = \"go-tpc\"", "does not know SQLite"),
    ] {
        desk.write("s.toml", &study("sqlite:r.db", &format!("kind = \"tpcc\"\n{options}"), SHORT));
        let refused = desk.perbuck(&["prepare", "s.toml"]);
        assert_eq!(refused.code, Some(2), "{refused:#?}");
        assert!(refused.err.contains("workload `w`, contender `m`: ") && refused.err.contains(named), "{}", refused.err);
    }
    let rate = "connections = [4]\nrate = [10]\nwarmup = \"100ms\"\nduration = \"1s\"\ntrials = 1";
    desk.write("s.toml", &study("sqlite:r.db", "kind = \"tpcc\"\nwait = true", rate));
    let refused = desk.perbuck(&["check", "s.toml"]);
    assert!(refused.code != Some(0) && refused.err.contains("lets terminals pause"), "{refused:#?}");
    assert!(!desk.path("r.db").exists());
}
