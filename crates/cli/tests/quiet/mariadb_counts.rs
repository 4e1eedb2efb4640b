//! What the server counted is what the record says: statements to the query, and pages that were read. In a binary of their own, one at a
//! time, because they read counters of the whole server.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::common::maria::{Maria, study};
use crate::common::{Desk, wait_until};
use perbuck_core::run_record::RunRecord;

static SERVER: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    SERVER.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn the_server_counted_what_the_record_says() {
    let _alone = alone();
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "counts");
    let sweep = "connections = [8]\nwarmup = \"200ms\"\nduration = \"1s\"\ntrials = 1";
    // One hot table of 200 rows, so that deadlocks and their rollbacks are part of what must agree.
    for (name, workload) in [
        ("rw", "kind = \"sysbench\"\ntables = 1\ntable_size = 200"),
        ("orders", "kind = \"tpcc\"\nwarehouses = 1\nreset = \"never\""),
    ] {
        desk.write("s.toml", &study(&maria.url(), workload, sweep).replace("name = \"s\"", &format!("name = \"{name}\"")));
        desk.good(&["prepare", "s.toml"]);
        let verbs = ["Com_update", "Com_begin", "Com_commit", "Com_rollback"];
        let before = verbs.map(|v| maria.status(v));
        desk.good(&["run", "s.toml"]);
        let after = verbs.map(|v| maria.status(v));
        let record = desk.records(&format!("results/{name}")).remove(0);
        let whole = record.statements_whole_run;
        // Read by the real client around the whole command: perbuck itself opens no transaction, and updates its lease alone, where the
        // machine is so slow that it has to.
        let seen: Vec<u64> = before.iter().zip(after).map(|(b, a)| (a - b) as u64).collect();
        assert_eq!(seen[1..], [whole.begin, whole.commit, whole.rollback], "{name}");
        assert!((whole.update..=whole.update + 3).contains(&seen[0]), "{name}: {seen:?} {whole:?}");
        // Read by perbuck around the load alone: the verbs that its own housekeeping uses as well.
        let server = |verb: &str| record.target.server_counters[verb] as u64;
        let counted = [server("Com_select"), server("Com_insert"), server("Com_update"), server("Com_delete")];
        assert_eq!(counted, [whole.select, whole.insert, whole.update, whole.delete], "{name}");
        assert!(whole.select > 100 && whole.update > 100);
        let errors: u64 = record.errors.values().map(|e| e.count).sum();
        let by_design: u64 = record.measured.transactions.values().map(|t| t.rolled_back).sum();
        assert!(whole.rollback >= errors + by_design, "{name}: {whole:?} {:?}", record.errors);
    }
}

#[test]
fn a_prewarm_brings_back_what_the_pool_has_lost() {
    let _alone = alone();
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "cold");
    let pool = maria.sql("SELECT @@innodb_buffer_pool_size");
    let cold = || {
        for size in ["25165824", pool.trim()] {
            maria.sql(&format!("SET GLOBAL innodb_buffer_pool_size = {size}"));
            let is_set = || maria.sql("SELECT @@innodb_buffer_pool_size").trim() == size;
            wait_until("the pool has another size", is_set);
        }
    };
    let workload = "kind = \"sysbench\"\nscript = \"oltp_read_only\"\ntables = 2\ntable_size = 100000";
    let sweep = "connections = [4]\nwarmup = \"100ms\"\nduration = \"500ms\"\ntrials = 1\nprewarm = \"indexes\"";
    let text = study(&maria.url(), workload, sweep);
    desk.write("s.toml", &text);
    desk.good(&["run", "s.toml"]);
    cold();
    desk.write("s.toml", &text.replace("trials = 1", "trials = 2"));
    let ran = desk.good(&["run", "s.toml"]);
    assert!(ran.err.contains("m, w: prewarm of indexes: ") && ran.err.contains("the last pass read nothing"), "{}", ran.err);
    cold();
    desk.write("none.toml", &text.replace("prewarm = \"indexes\"", "").replace("name = \"s\"", "name = \"none\""));
    desk.good(&["run", "none.toml"]);
    let (warm, cold) = (desk.records("results/s").remove(1), desk.records("results/none").remove(0));
    let prewarm = warm.workload.prewarm.clone().unwrap();
    assert_eq!((prewarm.what.as_str(), prewarm.pages_read, prewarm.bytes_read), ("indexes", Some(0), Some(0)));
    // The first pass reads, the second finds everything; the server's own work in the background may cost another.
    assert!(prewarm.passes >= 2, "{prewarm:?}");
    let pages = |record: &RunRecord| record.target.server_counters["server_pages_read"];
    // Scans read leaves of a tree; the warm-up reads the pages above them, and the server reads extents of 64 ahead.
    assert!(warm.key.trial == 2 && pages(&warm) < 250, "{}", pages(&warm));
    assert!(cold.workload.prewarm.is_none() && pages(&cold) > 500, "{:?}", cold.target);
    // What is read decides what is measured.
    desk.write("s.toml", &text.replace("indexes", "tables"));
    let refused = desk.perbuck(&["run", "s.toml"]);
    assert!(refused.code == Some(4) && refused.err.contains("workload w.prewarm: indexes → tables"), "{refused:#?}");
}
