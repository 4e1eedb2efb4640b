//! YCSB on TiKV, raw and transactional, against the test server: every workload, what happens to regions and stores in the middle
//! of a run, and what data integrity finds.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{Desk, Ended, wait_until};
use perbuck_core::run_record::RunRecord;
use perbuck_tikv_server::Cluster;

/// The first records by their keys, with go-ycsb's hash.
const FIRST: &str = "usertable:user6284781860667377211";
const SECOND: &str = "usertable:user6284782960179005422";
const THIRD: &str = "usertable:user6284784059690633633";
const INTEGRITY: [&str; 4] = ["-p", "dataintegrity=true", "-p", "recordcount=500"];
/// Every way to commit, beside raw.
const KINDS: [&[&str]; 6] = [
    &["tikv.type=raw"],
    &["tikv.type=raw", "tikv.batchsize=0"],
    &["tikv.type=txn"],
    &["tikv.type=txn", "tikv.one_pc=false"],
    &["tikv.type=txn", "tikv.one_pc=false", "tikv.async_commit=false"],
    &["tikv.type=txn", "tikv.mode=pessimistic", "tikv.one_pc=false"],
];

fn words<'a>(order: &'a str, pd: &'a str, kind: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["ycsb", order, "tikv", "--results=results", "-p", pd];
    all.extend(kind.iter().flat_map(|property| ["-p", property]));
    all.extend_from_slice(more);
    all
}

/// The number after `Count: ` of an operation at the end of a run; 0 where there is none.
fn count(ended: &Ended, operation: &str) -> u64 {
    let end = ended.out.split("Run finished").last().unwrap();
    let line = end.lines().find(|l| l.split(" - ").next().unwrap().trim() == operation);
    line.map_or(0, |l| l.split("Count: ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap())
}

/// Whether any operation failed, missed, or found what is wrong.
fn trouble(ended: &Ended) -> bool {
    ["_MISSING", "_WRONG", "_ERROR", "_DUPLICATE"].iter().any(|word| ended.out.contains(word))
}

/// Three stores, and regions that cut the table in four.
fn cluster(transactional: bool) -> (Cluster, String) {
    let cluster = Cluster::start(3).unwrap();
    for digit in ["3", "5", "8"] {
        assert!(cluster.split(format!("usertable:user{digit}").as_bytes(), transactional));
    }
    let pd = format!("tikv.pd={}", cluster.pd());
    (cluster, pd)
}

/// How often the client of a record sent requests again, by reason.
fn retries(record: &RunRecord) -> i64 {
    let all = record.target.server_counters.iter().filter(|(name, _)| name.starts_with("client_retries_"));
    all.map(|(_, count)| count).sum()
}

#[test]
fn every_workload_is_right_in_every_way_to_commit() {
    for kind in KINDS {
        let transactional = kind[0].ends_with("txn");
        let ((cluster, pd), desk) = (cluster(transactional), Desk::new());
        let load = desk.good(&words("load", &pd, kind, &[&["-P", "workloada", "--threads=4"][..], &INTEGRITY].concat()));
        assert_eq!((count(&load, "INSERT"), trouble(&load)), (500, false), "{kind:?}: {load:?}");
        let (raw, txn) = cluster.keys();
        assert_eq!(if transactional { txn } else { raw }, 500, "{kind:?}");
        for workload in ["workloada", "workloadb", "workloadc", "workloadd", "workloade", "workloadf"] {
            // One connection: two that change one row at a time conflict, as they must.
            let run = desk.good(&words("run", &pd, kind, &[&["-P", workload][..], &INTEGRITY].concat()));
            assert!(count(&run, "TOTAL") >= 1000 && !trouble(&run), "{kind:?} {workload}: {run:?}");
        }
        assert_eq!(cluster.locks(), 0, "{kind:?}");
    }
}

#[test]
fn a_cluster_of_raw_keys_says_so_to_a_client_of_transactions() {
    let ((_cluster, pd), desk) = (cluster(false), Desk::new());
    let ended = desk.perbuck(&words("load", &pd, &["tikv.type=txn"], &["-P", "workloadc"]));
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.err.contains("the cluster holds keys without transactions") && ended.err.contains("leave out `type=txn`"),
        "{ended:?}"
    );
}

#[test]
fn version_2_of_the_interface_keeps_keyspaces_apart() {
    let ((cluster, pd), desk) = (cluster(true), Desk::new());
    for (keyspace, records) in [("tikv.keyspace=0", "recordcount=100"), ("tikv.keyspace=7", "recordcount=200")] {
        let kind = ["tikv.type=raw", "tikv.apiversion=V2", keyspace];
        desk.good(&words("load", &pd, &kind, &["-P", "workloadc", "-p", records]));
        let run = desk.good(&words("run", &pd, &kind, &["-P", "workloadc", "-p", records]));
        assert!(!trouble(&run), "{run:?}");
    }
    assert_eq!(cluster.keys(), (300, 0));
}

/// Makes an authority, and two certificates that it signed: for 127.0.0.1, and for a client.
fn certificates(desk: &Desk) {
    let sign = |name: &str, subject: &str| {
        format!(
            "openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN={subject} -keyout {name}-key.pem -out {name}.csr && \
             openssl x509 -req -in {name}.csr -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 3 -extfile ext -out {name}.pem"
        )
    };
    let ca = "printf 'subjectAltName=IP:127.0.0.1' > ext && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
              -days 3 -subj /CN=authority -keyout ca-key.pem -out ca.pem";
    let script = format!("{ca} && {} && {}", sign("server", "server"), sign("client", "client"));
    let made = std::process::Command::new("sh").args(["-c", &script]).current_dir(desk.path("")).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[test]
fn tls_wants_a_certificate_of_either_side() {
    let desk = Desk::new();
    certificates(&desk);
    let cluster = Cluster::start_tls(2, &desk.path("ca.pem"), &desk.path("server.pem"), &desk.path("server-key.pem")).unwrap();
    let pd = format!("tikv.pd={}", cluster.pd());
    let verified = ["tikv.tls=verify-identity", "tikv.ca=ca.pem", "tikv.cert=client.pem", "tikv.key=client-key.pem"];
    for kind in ["tikv.type=raw", "tikv.type=txn"] {
        let kind = [&[kind][..], &verified].concat();
        desk.good(&words("load", &pd, &kind, &["-P", "workloadc", "-p", "recordcount=100"]));
        let run = desk.good(&words("run", &pd, &kind, &["-P", "workloadc", "-p", "recordcount=100", "--threads=2"]));
        assert!(!trouble(&run), "{run:?}");
    }
    // Without one of our own, and with an authority that signed nothing.
    for wrong in [&verified[..2], &["tikv.tls=verify-ca", "tikv.ca=client.pem"]] {
        let refused = desk.perbuck(&words("run", &pd, wrong, &["-P", "workloadc"]));
        assert!(refused.code == Some(1) && refused.err.contains("cannot connect to tikv://"), "{refused:?}");
    }
}

#[test]
fn integrity_finds_what_was_planted_and_nothing_else() {
    for kind in [&["tikv.type=raw"][..], &["tikv.type=txn"]] {
        let ((cluster, pd), desk) = (cluster(kind[0].ends_with("txn")), Desk::new());
        // Rows of chance first, so that a store that lags returns wrong rows.
        desk.good(&words("load", &pd, kind, &["-P", "workloadc", "-p", "recordcount=500"]));
        cluster.freeze(THIRD.as_bytes());
        desk.good(&words("load", &pd, kind, &[&["-P", "workloadc"][..], &INTEGRITY].concat()));
        assert!(cluster.corrupt(FIRST.as_bytes()) && cluster.lose(SECOND.as_bytes()));
        let all = ["-P", "workloadc", "-p", "requestdistribution=sequential", "-p", "operationcount=500"];
        let run = desk.perbuck(&words("run", &pd, kind, &[&all[..], &INTEGRITY].concat()));
        assert_eq!((run.code, count(&run, "READ")), (Some(1), 500), "{run:?}");
        assert_eq!((count(&run, "READ_WRONG"), count(&run, "READ_MISSING"), count(&run, "READ_ERROR")), (2, 1, 0), "{run:?}");
        assert!(run.err.contains("1 operations did not find a row that must be there, and 2 found wrong rows"), "{}", run.err);
    }
}

fn rows(cluster: &Cluster, transactional: bool) -> usize {
    if transactional { cluster.keys().1 } else { cluster.keys().0 }
}

/// Runs a mix that inserts, reads and updates while `disturb` is done to the cluster; nothing may fail or be lost.
fn disturbed(kind: &[&str], disturb: &dyn Fn(&Cluster)) {
    let transactional = kind[0].ends_with("txn");
    let ((cluster, pd), desk) = (cluster(transactional), Desk::new());
    let records = ["-p", "dataintegrity=true", "-p", "recordcount=2000", "-p", "requestdistribution=uniform", "--threads=8"];
    desk.good(&words("load", &pd, kind, &[&["-P", "workloada"][..], &records].concat()));
    let mix = ["-p", "readproportion=0.4", "-p", "updateproportion=0.3", "-p", "insertproportion=0.3"];
    let time = ["-p", "maxexecutiontime=6", "-p", "operationcount=0"];
    let arguments = words("run", &pd, kind, &[&["-P", "workloada"][..], &records, &mix, &time].concat());
    let ended = std::thread::scope(|scope| {
        let running = scope.spawn(|| desk.perbuck(&arguments));
        wait_until("the run inserts", || rows(&cluster, transactional) > 2_050);
        disturb(&cluster);
        running.join().unwrap()
    });
    assert_eq!((ended.code, trouble(&ended)), (Some(0), false), "{kind:?}: {ended:?}");
    let record = desk.records("results").into_iter().find(|r| !r.key.workload.ends_with("load")).unwrap();
    // An operation whose retries all fail is still in flight at the end, and no error: what tells is that the run went on.
    let late: Vec<u64> = record.intervals.iter().rev().take(2).map(|second| second.transactions).collect();
    assert!(late.iter().sum::<u64>() > 0, "{kind:?}: nothing completed in the last seconds: {:?}", record.intervals);
    assert!(retries(&record) > 0 && cluster.refused() > 0, "{:?}", record.target.server_counters);
    // What was acknowledged is there: every record up to the last insert, with its values.
    let inserted = 2_000 + count(&ended, "INSERT");
    // A transaction counts as committed before its lock is replaced; readers do that where the writer did not.
    let ((raw, txn), locks) = (cluster.keys(), cluster.locks());
    assert!((raw + txn + locks) as u64 >= inserted, "{raw} {txn} {locks} {inserted}");
    let all = format!("recordcount={inserted}");
    let operations = format!("operationcount={inserted}");
    let check = ["-P", "workloadc", "-p", "dataintegrity=true", "-p", "requestdistribution=sequential"];
    let read = desk.good(&words("run", &pd, kind, &[&check[..], &["-p", &all, "-p", &operations]].concat()));
    assert_eq!((count(&read, "READ"), trouble(&read)), (inserted, false), "{read:?}");
}

#[test]
fn splits_leaders_restarts_and_busy_stores_lose_nothing_in_raw_mode() {
    disturbed(&["tikv.type=raw"], &|cluster| everything(cluster, false));
    disturbed(&["tikv.type=raw", "tikv.batchsize=0"], &|cluster| everything(cluster, false));
}

#[test]
fn splits_leaders_restarts_and_busy_stores_lose_nothing_in_transactions() {
    disturbed(&["tikv.type=txn", "tikv.mode=pessimistic"], &|cluster| everything(cluster, true));
    disturbed(&["tikv.type=txn", "tikv.mode=pessimistic", "tikv.one_pc=false"], &|cluster| everything(cluster, true));
}

/// A region split, a leader transfer, the restart of a store, and a second in which every store is busy.
fn everything(cluster: &Cluster, transactional: bool) {
    let refused = |before| wait_until("a request goes to the old place", || cluster.refused() > before);
    let before = cluster.refused();
    assert!(cluster.split(b"usertable:user61", transactional));
    refused(before);
    let before = cluster.refused();
    assert!(cluster.transfer_leader(FIRST.as_bytes(), transactional) > 0);
    refused(before);
    for store in 1..=3 {
        cluster.stop_store(store);
        let before = rows(cluster, transactional);
        wait_until("the run goes on without the store", || rows(cluster, transactional) > before + 50);
        cluster.start_store(store);
    }
    cluster.be_busy(Duration::from_secs(1));
}

#[test]
fn a_study_drives_tikv_and_checks_its_data() {
    let ((cluster, _), desk) = (cluster(false), Desk::new());
    let text = format!(
        "schema = 1\nname = \"s\"\n[[contender]]\nname = \"t\"\ntarget = \"tikv://{}/?type=raw\"\n\
         [[workload]]\nname = \"a\"\nkind = \"ycsb\"\nworkload = \"a\"\nrecordcount = 12345\ndataintegrity = true\n\
         [sweep]\nconnections = [8]\nwarmup = \"100ms\"\nduration = \"400ms\"\ntrials = 1\n",
        cluster.pd()
    );
    desk.write("s.toml", &text);
    desk.good(&["run", "s.toml"]);
    // The rows, and what perbuck notes of them; the lease is given back.
    assert_eq!(cluster.keys(), (12_346, 0));
    let records = desk.records("results/s");
    let read = &records[0].measured.transactions["READ"];
    assert!(read.committed > 0 && read.facts["missing"] == 0 && read.facts["wrong"] == 0, "{:?}", read.facts);
    assert!(records[0].target.version.contains("TiKV 7.5.0"), "{}", records[0].target.version);
    assert_eq!(desk.perbuck(&["prepare", "--check", "s.toml"]).code, Some(0));
    assert!(cluster.corrupt(FIRST.as_bytes()));
    let broken = desk.perbuck(&["prepare", "--check", "s.toml"]);
    assert!(broken.code != Some(0) && format!("{}{}", broken.out, broken.err).contains("usertable values"), "{broken:?}");
    let warmed = text.replace("trials = 1", "trials = 1\nprewarm = \"tables\"").replace("name = \"s\"", "name = \"warmed\"");
    desk.write("warmed.toml", &warmed);
    let refused = desk.perbuck(&["run", "warmed.toml"]);
    assert!(refused.code == Some(2) && refused.err.contains("t, a: `prewarm` reads tables by SQL"), "{refused:?}");
    let kind = "kind = \"ycsb\"\nworkload = \"a\"\nrecordcount = 12345\ndataintegrity = true";
    let text = text.replace(kind, "kind = \"sysbench\"").replace("name = \"s\"", "name = \"sql\"");
    let sql = desk.write("sql.toml", &text);
    let refused = desk.perbuck(&["run", sql.to_str().unwrap()]);
    assert!(refused.code == Some(2) && refused.err.contains("TiKV has no SQL"), "{refused:?}");
}

/// A status port that answers what `text` holds at the time, until the test ends.
fn status_port(text: Arc<Mutex<String>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 1024]);
            let body = text.lock().unwrap().clone();
            let _ = write!(stream, "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        }
    });
    port
}

#[test]
fn trials_wait_until_the_stores_are_at_rest() {
    let ((cluster, _), desk) = (cluster(false), Desk::new());
    let compaction = |mib: u64| {
        let size = "tikv_store_size_bytes{type=\"available\"} 5000\ntikv_store_size_bytes{type=\"used\"} 1000\n";
        format!("{size}tikv_engine_pending_compaction_bytes{{cf=\"default\",db=\"kv\"}} {}\n", mib << 20)
    };
    let text = Arc::new(Mutex::new(compaction(4096)));
    cluster.status_at(status_port(Arc::clone(&text)));
    let study = |name: &str, limit: &str| {
        let text = format!(
            "schema = 1\nname = \"{name}\"\n[[contender]]\nname = \"t\"\ntarget = \"tikv://{}/?type=raw\"\nwait_ready = \"{limit}\"\n\
             [[workload]]\nname = \"c\"\nkind = \"ycsb\"\nworkload = \"c\"\nrecordcount = 500\n\
             [sweep]\nconnections = [2]\nwarmup = \"100ms\"\nduration = \"400ms\"\ntrials = 1\n",
            cluster.pd()
        );
        desk.write(&format!("{name}.toml"), &text);
        format!("{name}.toml")
    };
    let open = "4096 MiB wait for compaction on one of 3 stores (64 MiB are tolerated)";
    let short = desk.perbuck(&["check", &study("short", "10s")]);
    assert!(short.code == Some(2) && short.err.contains("`wait_ready` is 10 s, and nothing may move for 15 s"), "{short:?}");
    let held = desk.perbuck(&["prepare", &study("held", "16s")]);
    assert!(held.code == Some(1) && held.err.contains("after 0:16 min (`wait_ready`)"), "{held:?}");
    assert!(held.err.contains(open) && held.err.contains("`wait_ready = \"0s\"` measures at once"), "{held:?}");
    // One that is told to measures anyway; one with a longer limit goes on once they are done.
    desk.good(&["run", &study("atonce", "0s")]);
    let size = desk.records("results/atonce")[0].workload.data_size.unwrap();
    assert_eq!((size.tables_bytes, size.store_bytes), (None, Some(3000)), "three stores tell it");
    let name = study("patient", "5m");
    let said = std::fs::File::create(desk.path("said")).unwrap();
    let mut running = desk.command(&["run", &name]).stderr(said).spawn().unwrap();
    wait_until("it waits", || desk.read("said").contains(open));
    text.lock().unwrap().replace_range(.., &compaction(1));
    assert!(running.wait().unwrap().success(), "{}", desk.read("said"));
    let said = desk.read("said");
    assert!(
        said.contains("cannot tell whether these are at rest: pd (") && said.contains("the servers are at rest after"),
        "{said}"
    );
    // What the stores tell of a trial is in its record.
    let counters = &desk.records("results/patient")[0].target.server_counters;
    assert_eq!(counters.get("server_pending_compaction_bytes"), Some(&0), "{counters:?}");
}

#[test]
fn a_load_by_inserts_is_compared_with_what_the_cluster_holds() {
    let ((cluster, pd), desk) = (cluster(false), Desk::new());
    let load = |more: &[&str]| desk.perbuck(&words("load", &pd, &["tikv.type=raw"], &[&["-P", "workloadc"], more].concat()));
    // It is answered as missing, whatever is written.
    cluster.freeze(FIRST.as_bytes());
    let lost = load(&[]);
    assert!(lost.code == Some(1) && lost.err.contains("usertable keys BROKEN"), "{lost:?}");
    let ((cluster, pd), small) = (self::cluster(false), ["-p", "fieldlength=10"]);
    let load = |more: &[&str]| desk.perbuck(&words("load", &pd, &["tikv.type=raw"], &[&["-P", "workloadc"], more].concat()));
    assert_eq!(load(&small).code, Some(0));
    cluster.freeze(FIRST.as_bytes());
    let old = load(&[]);
    assert!(old.code == Some(1) && old.err.contains("usertable values BROKEN"), "{old:?}");
    assert!(!old.err.contains("usertable keys"), "{old:?}");
}

#[test]
fn a_cluster_that_is_not_there_is_named_with_the_way_out() {
    let desk = Desk::new();
    // No server listens on that port.
    let none = desk.perbuck(&words("run", "tikv.pd=127.0.0.1:1", &[], &["-P", "workloadc"]));
    assert_eq!(none.code, Some(1), "{none:?}");
    assert!(
        none.err.contains("cannot connect to tikv://127.0.0.1:1/") && none.err.contains("127.0.0.1:1 cannot be reached"),
        "{}",
        none.err
    );
}
