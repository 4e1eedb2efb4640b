//! The statements that the server counted are those that the record says, to the query. Alone in its binary, because it
//! reads counters of the whole server.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use common::Desk;
use common::maria::{Maria, study};

#[test]
fn the_server_counted_what_the_record_says() {
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
        // Read by the real client around the whole command: perbuck itself updates nothing and opens no transaction.
        let seen: Vec<u64> = before.iter().zip(after).map(|(b, a)| (a - b) as u64).collect();
        assert_eq!(seen, [whole.update, whole.begin, whole.commit, whole.rollback], "{name}");
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
