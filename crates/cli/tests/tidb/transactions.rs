//! What TiDB's transactions do, as perbuck counts it and as TiDB itself does; every way in which a study can ask for them.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{scope, sleep, spawn};
use std::time::Duration;

use perbuck_core::run_record::{ErrorRecord, RunRecord, ServerWork};

use super::common::cluster::Calm;
use super::common::tidb::{CONFLICTS, SMALL, Tidb};

/// The errors of these records by the number of TiDB's error.
fn errors(records: &[RunRecord]) -> BTreeMap<String, ErrorRecord> {
    let mut sums: BTreeMap<String, ErrorRecord> = BTreeMap::new();
    for (code, e) in records.iter().flat_map(|record| &record.errors) {
        let number = code.rsplit(' ').next().unwrap().to_owned();
        let sum = sums.entry(number).or_insert_with(|| ErrorRecord { count: 0, ..e.clone() });
        sum.count += e.count;
    }
    sums
}

/// The sum of a counter of the server over these records.
fn counted(records: &[RunRecord], name: &str) -> i64 {
    records.iter().map(|record| record.target.server_counters.get(name).copied().unwrap_or(0)).sum()
}

#[test]
fn conflicts_are_counted_as_tidb_counts_them() {
    let tidb = Tidb::start();
    // Optimistic: the client sees each conflict, and retries.
    let (name, with) = ("tidb_server_execute_error_total", "type=\"kv:9007\"");
    let before = tidb.metric(name, with);
    let record = &tidb.study("", "&set.tidb_txn_mode=optimistic", CONFLICTS, SMALL)[0];
    let conflicts = record.errors.iter().filter(|(code, _)| code.ends_with("9007")).map(|(_, e)| e.count).sum::<u64>();
    assert!(conflicts > 100, "{:?}", record.errors);
    assert_eq!(conflicts as f64, tidb.metric(name, with) - before);
    assert_eq!(record.target.server_counters["server_errors_kv:9007"], conflicts as i64);
    assert_eq!(record.target.variables["session tidb_txn_mode"], "optimistic");
    // Every statement that TiDB executed was perbuck's own.
    let Some(ServerWork::Statements { all, own }) = record.target.work else { panic!("{:?}", record.target.work) };
    assert!(all == own && all > 1_000, "{all} statements, {own} of them perbuck's");
}

#[test]
fn retries_within_tidb_are_in_the_record_and_on_the_page() {
    let tidb = Tidb::start();
    let name = "tidb_session_statement_pessimistic_retry_count_sum";
    let before = tidb.metric(name, "");
    let record = &tidb.study("", "", CONFLICTS, SMALL)[0];
    let retries = record.target.server_counters["server_retries_pessimistic_lock"];
    assert!(retries > 0, "{:?}", record.target.server_counters);
    assert_eq!(retries as f64, tidb.metric(name, "") - before);
    tidb.desk.good(&["report", "results/s"]);
    let page = tidb.desk.read("results/s/report.md");
    assert!(page.contains("Retries within servers") && page.contains("pessimistic_lock"), "{page}");
}

/// Statements, commits, conflicts and retries of ten trials against the metrics of TiDB over the whole run.
#[test]
fn ten_trials_are_what_tidb_counted() {
    let tidb = Tidb::start();
    let ten = SMALL.replace("trials = 1", "trials = 10");
    let study = |mode: &str| tidb.study(&format!("transactions.mode = \"{mode}\""), "", CONFLICTS, &ten);
    let executed = "tidb_executor_statement_total";
    // The data are there, and perbuck's own sessions begin and end no transaction.
    tidb.study("", "", CONFLICTS, SMALL);
    for (mode, name, with, told) in [
        ("optimistic", "tidb_server_execute_error_total", "type=\"kv:9007\"", "server_errors_kv:9007"),
        ("pessimistic", "tidb_session_statement_pessimistic_retry_count_sum", "", "server_retries_pessimistic_lock"),
    ] {
        std::fs::remove_dir_all(tidb.desk.path("results")).unwrap();
        let now = || ["type=\"Begin\"", "type=\"Commit\""].map(|of| tidb.metric(executed, of));
        let (before, transactions) = (tidb.metric(name, with), now());
        let records = study(mode);
        assert_eq!(records.len(), 10);
        let risen = tidb.metric(name, with) - before;
        assert!(risen > 100.0 && counted(&records, told) as f64 == risen, "{mode}: {risen} {}", counted(&records, told));
        if mode == "optimistic" {
            assert_eq!(errors(&records)["9007"].count as f64, risen);
        }
        let [begun, committed] = now();
        let ours: u64 = records.iter().map(|r| r.statements_whole_run.commit).sum();
        assert_eq!((committed - transactions[1]) as u64, ours, "{mode}: commits");
        let ours: u64 = records.iter().map(|r| r.statements_whole_run.begin).sum();
        assert_eq!((begun - transactions[0]) as u64, ours, "{mode}: transactions that began");
        for record in &records {
            let Some(ServerWork::Statements { all, own }) = record.target.work else { panic!("{:?}", record.target.work) };
            assert_eq!(all, own, "every statement of the trial was perbuck's");
        }
    }
}

#[test]
fn each_choice_about_transactions_is_in_force() {
    let tidb = Tidb::start();
    for (choice, variable, value) in [
        ("mode = \"optimistic\"", "tidb_txn_mode", "optimistic"),
        ("mode = \"pessimistic\"", "tidb_txn_mode", "pessimistic"),
        ("isolation = \"read-committed\"", "transaction_isolation", "READ-COMMITTED"),
        ("isolation = \"repeatable-read\"", "transaction_isolation", "REPEATABLE-READ"),
        ("async_commit = false", "tidb_enable_async_commit", "OFF"),
        ("async_commit = true", "tidb_enable_async_commit", "ON"),
        ("one_phase_commit = false", "tidb_enable_1pc", "OFF"),
        ("one_phase_commit = true", "tidb_enable_1pc", "ON"),
        ("reads = \"follower\"", "tidb_replica_read", "follower"),
        ("reads = \"closest-replicas\"", "tidb_replica_read", "closest-replicas"),
        ("staleness = \"2s\"", "tidb_read_staleness", "-2"),
    ] {
        // In a transaction TiDB refuses stale reads.
        let skip_trx = choice.starts_with("staleness");
        let workload =
            format!("kind = \"sysbench\"\nscript = \"oltp_read_only\"\ntables = 1\ntable_size = 100\nskip_trx = {skip_trx}");
        let sweep = SMALL.replace("3s", "1s");
        let records = tidb.study(&format!("transactions.{choice}"), "", &workload, &sweep);
        assert_eq!(records[0].target.variables[&format!("session {variable}")], value);
        assert!(records[0].errors.is_empty(), "{choice}: {:?}", records[0].errors);
        std::fs::remove_dir_all(tidb.desk.path("results")).unwrap();
    }
    // A server that does not do what the study asks for is no server for that study.
    let text = tidb.text("transactions.isolation = \"serializable\"", "", CONFLICTS, SMALL);
    tidb.desk.write("s.toml", &text);
    let refused = tidb.desk.perbuck(&["run", "s.toml"]);
    assert!(refused.code == Some(3) && refused.err.contains("SERIALIZABLE"), "{refused:?}");
}

/// A port at which TiDB is reached, too; the errors that TiDB answers there gather in `errors`, by number, as the bytes after their 0xff.
fn eavesdrop(server: u16, errors: Arc<Mutex<BTreeMap<u16, Vec<u8>>>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
            // Else each statement takes 40 ms, which is a wide-area network.
            client.set_nodelay(true).and(server.set_nodelay(true)).unwrap();
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            spawn(move || {
                // The end of either side ends the other.
                let _ = std::io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Both);
            });
            let errors = Arc::clone(&errors);
            spawn(move || {
                let (mut server, mut client) = (server, client);
                let mut head = [0; 4];
                while server.read_exact(&mut head).is_ok() {
                    let mut packet = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
                    if server.read_exact(&mut packet).is_err() || client.write_all(&[&head, packet.as_slice()].concat()).is_err()
                    {
                        break;
                    }
                    if let [0xff, low, high, ..] = packet[..] {
                        errors.lock().unwrap().entry(u16::from_le_bytes([low, high])).or_insert_with(|| packet[1..].to_vec());
                    }
                }
                let _ = client.shutdown(Shutdown::Both);
            });
        }
    });
    port
}

/// The errors after which perbuck repeats a transaction, as far as a server with the embedded store gives them.
#[test]
fn errors_that_tidb_wants_retried_are_retried_and_counted() {
    let mut tidb = Tidb::start();
    let heard = Arc::default();
    tidb.port = eavesdrop(tidb.port, Arc::clone(&heard));
    let retried = |records: &[RunRecord], number: &str| {
        let errors = errors(records);
        let found = errors.get(number).unwrap_or_else(|| panic!("{number}: {errors:?}"));
        assert!(found.count > 0 && found.class == "retry", "{number}: {found:?}");
        assert!(records[0].measured.transactions.values().all(|t| t.committed > 0));
        std::fs::remove_dir_all(tidb.desk.path("results")).unwrap();
    };
    retried(&tidb.study("transactions.mode = \"pessimistic\"", "", CONFLICTS, SMALL), "1213");
    retried(&tidb.study("transactions.mode = \"optimistic\"", "", CONFLICTS, SMALL), "9007");
    // Another program holds the rows for longer than a terminal waits, or changes the table under it.
    let (blocked, changed) = ("BEGIN; SELECT * FROM sbtest1 FOR UPDATE; SELECT SLEEP(1.5); ROLLBACK", "ALTER TABLE sbtest1 ");
    tidb.sql("SET GLOBAL tidb_enable_metadata_lock = OFF");
    for (number, target, mode) in [("1205", "&set.innodb_lock_wait_timeout=1", "pessimistic"), ("8028", "", "optimistic")] {
        let done = AtomicBool::new(false);
        let records = scope(|s| {
            let _calm = Calm(&done);
            s.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    if number == "1205" {
                        tidb.client(blocked);
                    } else {
                        ["ADD COLUMN extra INT", "DROP COLUMN extra"]
                            .iter()
                            .for_each(|how| drop(tidb.client(&format!("{changed}{how}"))));
                    }
                    sleep(Duration::from_millis(200));
                }
            });
            tidb.study(&format!("transactions.mode = \"{mode}\""), target, CONFLICTS, SMALL)
        });
        // Which of its two words TiDB has for a lock that came too late depends on its version.
        let number = if errors(&records).contains_key("1105") { "1105" } else { number };
        retried(&records, number);
    }
    // What CI reads in place of a TiDB.
    if std::env::var_os("PERBUCK_CAPTURE").is_some() {
        let text = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let lines: String = heard.lock().unwrap().iter().map(|(number, bytes)| format!("{number} {}\n", text(bytes))).collect();
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/../db/mysql/src/tidb_errors.txt"), lines).unwrap();
    }
}
