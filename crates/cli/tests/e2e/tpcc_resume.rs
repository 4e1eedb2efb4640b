//! Loads of TPC-C that are cut off, by the death of perbuck and by that of the server: the same command goes on after the
//! last commit, and the rows are those of a load that nothing disturbed.

use std::process::{Child, Command, Stdio};

use crate::common::maria::{Maria, study};
use crate::common::postgres::Postgres;
use crate::common::tpcc_rows::as_if_cut_off;
use crate::common::{Desk, Ended, ended, server, signal, tpcc_rows, wait_until};

const SHORT: &str = "connections = [1]\nwarmup = \"100ms\"\nduration = \"1s\"\ntrials = 1";
const TPCC: &str = "kind = \"tpcc\"";
/// Rows in the ledger of a load.
const LOADED: &str = "SELECT COALESCE(SUM(loaded), 0) FROM perbuck_load_tpcc";
const LEDGERS: &str = "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'perbuck_load_tpcc'";

fn loading(desk: &Desk) -> Child {
    let mut command = desk.command(&["prepare", "--sessions", "4", "s.toml"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until some rows are noted as loaded.
fn under_way(sql: &dyn Fn(&str) -> String) {
    wait_until("rows are in", || sql(LEDGERS).trim() == "1" && sql(LOADED).trim().parse::<u64>().unwrap() > 100_000);
}

/// The same command once more; the rows with which it said to go on.
fn goes_on(desk: &Desk) -> (u64, Ended) {
    let rerun = desk.good(&["prepare", "--sessions", "4", "s.toml"]);
    let line = rerun
        .err
        .lines()
        .find(|l| l.contains("going on with a load that was cut off after "))
        .unwrap_or_else(|| panic!("{rerun:#?}"));
    let rows = line.rsplit("after ").next().unwrap().trim_end_matches(" rows").replace(',', "");
    (rows.parse().unwrap(), rerun)
}

/// Loads once undisturbed, for the sums; then from the start, cut off twice.
fn cut_off_twice(desk: &Desk, sql: &dyn Fn(&str) -> String, sums: &dyn Fn() -> String, restart: &str) {
    desk.good(&["prepare", "s.toml"]);
    let undisturbed = sums();
    assert_eq!(sql(LEDGERS).trim(), "0", "the ledger goes when the load has ended");
    let reload = || {
        let mut command = desk.command(&["prepare", "--force", "--sessions", "4", "s.toml"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };

    let child = reload();
    under_way(sql);
    signal(&child, "KILL");
    assert_eq!(ended(child.wait_with_output().unwrap()).code, None, "killed");
    let checked = desk.perbuck(&["prepare", "--check", "s.toml"]);
    assert!(checked.code == Some(1) && checked.err.contains("has not ended"), "{checked:#?}");

    // Read after the death: until then the load went on committing.
    let seen: u64 = sql(LOADED).trim().parse().unwrap();
    let child = loading(desk);
    wait_until("it goes on", || sql(LOADED).trim().parse::<u64>().unwrap() > seen + 50_000);
    let seen: u64 = sql(LOADED).trim().parse().unwrap();
    assert!(Command::new(restart).status().unwrap().success());
    let lost = ended(child.wait_with_output().unwrap());
    assert!(matches!(lost.code, Some(1 | 3)) && lost.err.contains("going on with a load that was cut off after"), "{lost:#?}");
    assert!(lost.err.contains("run the same command again, and the load goes on from there"), "{lost:#?}");

    let (before, rerun) = goes_on(desk);
    assert!(before >= seen, "what was committed before the crash is there: {seen}, then {before}");
    assert!(rerun.err.contains(": 12 of 12 conditions hold\n"), "{rerun:#?}");
    assert_eq!(sums(), undisturbed, "{rerun:#?}");
    assert_eq!(sql(LEDGERS).trim(), "0");
}

#[test]
fn mariadb_holds_the_same_rows_after_two_deaths() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB_KILL", "tpcc_resume");
    desk.write("s.toml", &study(&maria.url(), TPCC, SHORT));
    cut_off_twice(&desk, &|sql| maria.sql(sql), &|| tpcc_rows::of_maria(&maria), &server("PERBUCK_TEST_MARIADB_RESTART"));
}

#[test]
fn postgres_holds_the_same_rows_after_two_deaths() {
    let mut desk = Desk::new();
    let postgres = Postgres::mortal(&mut desk, "tpcc_resume");
    desk.write("s.toml", &study(&postgres.url(), TPCC, SHORT));
    let restart = server("PERBUCK_TEST_POSTGRES_RESTART");
    cut_off_twice(&desk, &|sql| postgres.sql(sql), &|| tpcc_rows::of_postgres(&postgres), &restart);
}

/// A table of a thousand rows is one part.
#[test]
fn a_load_that_cannot_go_on_starts_over_or_says_why() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "load_resume");
    let small = "kind = \"sysbench\"\ntable_size = 1000\ntables = 2";
    desk.write("s.toml", &study(&maria.url(), small, SHORT));
    desk.good(&["prepare", "s.toml"]);
    let cut_off = |first: &str| {
        as_if_cut_off(&|sql| drop(maria.sql(sql)), "sysbench", 2);
        maria.sql(&format!("UPDATE perbuck_load_sysbench SET {first} WHERE part = 0"));
    };
    let reload = || {
        let rerun = desk.good(&["prepare", "s.toml"]);
        assert!(!rerun.err.contains("going on") && rerun.err.contains("loaded 2,000 rows"), "{rerun:#?}");
    };
    // All is in, and an index that was made already is no obstacle to who goes on.
    cut_off("loaded = 1000");
    let (rows, rerun) = goes_on(&desk);
    assert!(rows == 1_000 && rerun.err.contains("loaded 1,000 rows, 0 of them now"), "{rerun:#?}");
    cut_off("done = 1");
    maria.sql("DROP TABLE sbtest2");
    reload();
    // A ledger that is not whole, or one of other data, cannot tell what was loaded.
    cut_off("done = 1");
    maria.sql("DELETE FROM perbuck_load_sysbench WHERE part = 1");
    reload();
    cut_off("done = 1");
    desk.write("s.toml", &study(&maria.url(), &small.replace("2", "3"), SHORT));
    let other = desk.good(&["prepare", "s.toml"]);
    assert!(!other.err.contains("going on") && other.err.contains("loaded 3,000 rows"), "{other:#?}");
    desk.write("s.toml", &study(&maria.url(), small, SHORT));
    desk.good(&["prepare", "--force", "s.toml"]);
    // Batches that another version cut otherwise, and rows that were lost meanwhile.
    cut_off("batches = 5, loaded = 7, done = 0");
    let refused = desk.perbuck(&["prepare", "s.toml"]);
    assert!(refused.code == Some(1) && refused.err.contains("7 rows of part 0 after 5 batches"), "{refused:#?}");
    assert!(refused.err.contains("`perbuck prepare --force STUDY`"), "{refused:#?}");
    maria.sql(
        "UPDATE perbuck_load_sysbench SET batches = 1, loaded = 1000, done = 1 WHERE part = 0; DELETE FROM sbtest1 WHERE id = 5",
    );
    let short = desk.perbuck(&["prepare", "s.toml"]);
    assert!(short.code == Some(1) && short.err.contains("table sbtest1 holds 999 rows after the load, not 1000"), "{short:#?}");
    assert!(short.err.contains("`perbuck prepare --force STUDY`"), "{short:#?}");
}
