//! On real PD, TiKV and TiDB: private clusters, and YCSB on three stores whose regions split, whose leaders move and one of which is
//! killed, beside go-ycsb. `dev/tidb` runs this where it is given the programs; CI does not have them.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by it, and its table goes into docs/tested.md")]

mod common;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::thread::{scope, sleep};
use std::time::Duration;

use common::cluster::{Calm, Cluster, PASSWORD, TIKV, program};
use common::{Desk, processes_of, server, wait_until};
use perbuck_core::run_record::Flag;
use perbuck_deploy::local::Kind;

const POINT_SELECT: &str = "kind = \"sysbench\"\nscript = \"oltp_point_select\"\ntables = 1\ntable_size = 100";
/// Small regions, so that a small table has many.
const SMALL_REGIONS: [(&str, &str); 2] = [("coprocessor.region-split-size", "16MB"), ("coprocessor.region-max-size", "24MB")];
const RECORDS: u32 = 120_000;

/// `server` of a contender, with the settings that every store needs here.
fn private(desk: &Desk, kind: &str, more: &str) -> String {
    let prefix = if kind == "tidb" { "tikv." } else { "" };
    let config: Vec<String> = TIKV.iter().map(|(key, value)| format!("\"{prefix}{key}\" = \"{value}\"")).collect();
    let config = config.join(", ").replace("\"2000\"", "2000").replace("\"1000\"", "1000");
    let (path, folder) = (program(&format!("{kind}-server")), desk.path("servers"));
    std::fs::create_dir_all(&folder).unwrap();
    let (path, folder) = (path.display(), folder.display());
    format!("server = {{ kind = \"{kind}\", program = \"{path}\", folder = \"{folder}\", {more}, config = {{ {config} }} }}")
}

fn study(contender: &str, workload: &str) -> String {
    format!(
        "schema = 1\nname = \"s\"\nseed = 7\n[[contender]]\nname = \"t\"\n{contender}\n[[workload]]\nname = \"w\"\n{workload}\n\
         [sweep]\nconnections = [8]\nwarmup = \"1s\"\nduration = \"4s\"\ntrials = 1\nmax_attempts = 50\n"
    )
}

fn nothing_is_left(desk: &Desk) {
    let folder = desk.path("servers");
    wait_until("the processes are gone", || processes_of(&folder).is_empty());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_private_cluster_goes_from_nothing_to_a_report() {
    let desk = Desk::new();
    let workload = "kind = \"sysbench\"\nscript = \"oltp_read_write\"\ntables = 1\ntable_size = 1000";
    desk.write("s.toml", &study(&private(&desk, "tidb", "version = \"8\", tikv = 3, tidb = 2"), workload));
    let ran = desk.good(&["run", "s.toml"]);
    assert!(ran.err.contains("contender `t`: TiDB 8."), "{ran:?}");
    let record = &desk.records("results/s")[0];
    let told = |part: &str| record.target.variables[&format!("cluster {part}")].clone();
    assert!(told("tikv").starts_with("3 × 8.") && told("tidb").starts_with("2 × 8.") && told("pd").starts_with("1 × 8."));
    // The configuration in force, the machines, and what its processes did.
    assert_eq!(record.target.variables["tikv storage.block-cache.capacity"], "512MiB");
    assert_eq!(record.target.variables["pd replication.max-replicas"], "3");
    assert_eq!(record.target.variables["tidb settings, all others"].len(), 12);
    let seen = |role: &str, of: &str| {
        let mut all = record.target.observed.iter().filter(|o| o.role.as_deref() == Some(role) && o.source.ends_with(of));
        all.next().cloned().unwrap_or_else(|| panic!("{role}: {:?}", record.target.observed))
    };
    let here = std::thread::available_parallelism().unwrap().get();
    for role in ["pd", "tidb", "tikv"] {
        assert_eq!(seen(role, "cluster_info").machines, Some(1), "all of them are on this one");
        assert!(seen(role, "cluster_hardware").vcpus.is_some_and(|n| n as usize >= here));
        assert!(record.target.server_counters[&format!("server_cpu_ms_{role}")] > 0, "{:?}", record.target.server_counters);
    }
    assert!(record.target.server_cpu_ns.is_some_and(|ns| ns > 1_000_000_000), "{:?}", record.target.server_cpu_ns);
    // A cluster is no server for functional use alone.
    desk.good(&["report", "results/s"]);
    let page = desk.read("results/s/report.md");
    assert!(!page.contains("say nothing about the product") && page.contains("Processor time of each part of the servers"));
    nothing_is_left(&desk);
}

#[test]
fn a_store_that_dies_ends_the_study_by_its_name() {
    let desk = Desk::new();
    let server = private(&desk, "tikv", "tikv = 3");
    let text = study(&server, "kind = \"ycsb\"\nworkload = \"a\"").replace("duration = \"4s\"", "duration = \"60s\"");
    desk.write("s.toml", &text);
    let said = std::fs::File::create(desk.path("said")).unwrap();
    let mut run = desk.command(&["run", "s.toml"]).stderr(said).spawn().unwrap();
    wait_until("the trial runs", || desk.read("said").contains("conditions hold"));
    let is_second = |pid: &u32| {
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).split('\0').any(|word| word.ends_with("/tikv-2"))
    };
    let second = processes_of(&desk.path("servers")).into_iter().find(is_second).unwrap();
    assert!(Command::new("kill").args(["-KILL", &second.to_string()]).status().unwrap().success());
    let ended = run.wait().unwrap();
    let said = desk.read("said");
    assert!(ended.code() == Some(3) && said.contains("contender `t`: tikv-2 ended (signal: 9"), "{ended:?} {said}");
    nothing_is_left(&desk);
}

#[test]
fn another_bill_than_the_cluster_is_refused() {
    let desk = Desk::new();
    let server = private(&desk, "tidb", "tikv = 1");
    let declared = "replication_factor = 3\nnode = [{ role = \"tikv\", instance = \"m8g.large\", count = 3 }]\n";
    desk.write("s.toml", &study(&format!("{declared}{server}"), POINT_SELECT));
    let refused = desk.perbuck(&["run", "s.toml"]);
    for said in ["`replication_factor = 3`, and run on 1 copy", "3 × tikv, and run on 1 machine of tikv"] {
        assert!(refused.code == Some(7) && refused.err.contains(said), "{refused:?}");
    }
    nothing_is_left(&desk);
}

#[test]
fn servers_with_uneven_shares_are_said() {
    let mut cluster = Cluster::start(Kind::Tidb, &[("tikv", 1), ("tidb", 2)], &[]);
    cluster.desk.set("PERBUCK_T_PASSWORD", PASSWORD);
    let hosts = cluster.recipe.target.split(['@', '/']).nth(3).unwrap().to_owned();
    let (first, second) = hosts.split_once(',').unwrap();
    for (hosts, uneven) in [(hosts.clone(), false), (format!("{first},{first},{first},{first},{second}"), true)] {
        let contender = format!("target = \"tidb://perbuck@{hosts}/perbuck?tls=disabled\"");
        let text = study(&contender, POINT_SELECT).replace("connections = [8]", "connections = [20]");
        cluster.desk.write("s.toml", &text.replace("name = \"s\"", &format!("name = \"{uneven}\"")));
        cluster.desk.good(&["run", "s.toml"]);
        let record = &cluster.desk.records(&format!("results/{uneven}"))[0];
        let said = record.flags.iter().find(|flag| matches!(flag, Flag::UnevenServers { .. }));
        assert_eq!(said.is_some(), uneven, "{hosts}: {:?} {:?}", record.flags, record.target.server_counters);
        // The connections of each, and perbuck's own.
        let connections = [1, 2].map(|n| record.target.server_counters[&format!("server_connections_{n}")]);
        let most = if uneven { 20..32 } else { 10..20 };
        assert!(most.contains(connections.iter().max().unwrap()) && connections.iter().sum::<i64>() >= 20, "{connections:?}");
        cluster.desk.good(&["report", &format!("results/{uneven}")]);
        let page = cluster.desk.read(&format!("results/{uneven}/report.md"));
        assert!(page.contains("Connections and statements of each TiDB server"), "{page}");
    }
}

#[test]
fn a_cluster_out_of_balance_is_waited_for() {
    let mut cluster = Cluster::start(Kind::Tidb, &[("tikv", 3), ("tidb", 1)], &SMALL_REGIONS);
    cluster.desk.set("PERBUCK_T_PASSWORD", PASSWORD);
    let contender = format!("target = \"{}\"", cluster.recipe.target.replace("mysql:", "tidb:"));
    let text = |name: &str, limit: &str| {
        study(&contender, POINT_SELECT)
            .replace("name = \"s\"", &format!("name = \"{name}\""))
            .replace("[[workload]]", &format!("wait_ready = \"{limit}\"\n[[workload]]"))
    };
    // No store but two leads a region any more, until PD is told otherwise.
    let pd = |method: &str, path: &str, body: &str| {
        let url = format!("http://{}/pd/api/v1/schedulers{path}", cluster.pd);
        let done = Command::new("curl").args(["-sSf", "-X", method, &url, "-d", body]).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    let store = cluster.regions().1.into_iter().next().unwrap();
    pd("POST", "", &format!("{{\"name\": \"evict-leader-scheduler\", \"store_id\": {store}}}"));
    sleep(Duration::from_secs(15));
    cluster.desk.write("held.toml", &text("held", "20s"));
    let held = cluster.desk.perbuck(&["run", "held.toml"]);
    assert!(held.code == Some(1) && held.err.contains("after 0:20 min (`wait_ready`) the servers are not at rest"), "{held:?}");
    assert!(held.err.contains("stores lead from 0 to "), "{held:?}");
    pd("DELETE", &format!("/evict-leader-scheduler-{store}"), "");
    cluster.desk.write("calm.toml", &text("calm", "5m"));
    let ran = cluster.desk.good(&["run", "calm.toml"]);
    assert!(ran.err.contains("the servers are at rest after"), "{ran:?}");
}

#[test]
fn a_private_tikv_holds_raw_keys_and_transactions() {
    for options in ["type=raw", "type=txn&mode=pessimistic"] {
        let desk = Desk::new();
        let server = private(&desk, "tikv", &format!("options = \"{options}\""));
        desk.write("s.toml", &study(&server, "kind = \"ycsb\"\nworkload = \"a\""));
        let ran = desk.good(&["run", "s.toml"]);
        assert!(ran.err.contains("contender `t`: TiKV 8."), "{ran:?}");
        nothing_is_left(&desk);
    }
}

#[test]
fn an_unknown_setting_of_a_part_is_refused_by_its_program() {
    for (key, says) in
        [("tikv.storage.no-such-key", "unknown configuration options"), ("pd.schedule.no-such-key", "undefined item")]
    {
        let desk = Desk::new();
        let server = private(&desk, "tidb", "tikv = 1").replace("config = {", &format!("config = {{ \"{key}\" = 1,"));
        desk.write("s.toml", &study(&server, "kind = \"ycsb\"\nworkload = \"a\""));
        let refused = desk.perbuck(&["run", "s.toml"]);
        assert!(refused.code != Some(0) && refused.err.contains(says), "{refused:?}");
        nothing_is_left(&desk);
    }
}

/// YCSB's programs on the stores of a cluster.
struct Ycsb {
    pd: String,
    folder: PathBuf,
    /// `raw` or `txn`.
    kind: &'static str,
}

impl Ycsb {
    fn words(&self, workload: &str, more: &[&str]) -> Vec<String> {
        let pd = format!("tikv.pd={}", self.pd);
        let (kind, records) = (format!("tikv.type={}", self.kind), format!("recordcount={RECORDS}"));
        let fixed = [&pd, &kind, &records, "threadcount=16", "dataintegrity=true"];
        let workload = self.folder.join(format!("workload{workload}"));
        let options = fixed.into_iter().chain(more.iter().copied()).flat_map(|option| ["-p".to_owned(), option.to_owned()]);
        ["tikv".to_owned(), "-P".to_owned(), workload.display().to_string()].into_iter().chain(options).collect()
    }

    /// Runs a program of YCSB; its output, operations per second, and seconds of CPU.
    fn ycsb(&self, program: &[&str], order: &str, words: &[String]) -> (String, f64, f64) {
        let mut timed = Command::new("bash");
        timed.args(["-c", "TIMEFORMAT='cpu %U %S'; time \"$@\"", "_"]).args(program).arg(order).args(words);
        let output = timed.current_dir(&self.folder).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{program:?} {order}: {out}{err}");
        let cpu = err.lines().rev().find_map(|line| line.strip_prefix("cpu ")).unwrap();
        let cpu: f64 = cpu.split(' ').map(|seconds| seconds.parse::<f64>().unwrap()).sum();
        let total = out.lines().rev().find(|line| line.starts_with("TOTAL")).unwrap_or_else(|| panic!("{out}{err}"));
        let ops: f64 = total.split("OPS: ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
        (out.into_owned(), ops, cpu)
    }

    fn ours(&self, order: &str, words: &[String]) -> (String, f64, f64) {
        self.ycsb(&[env!("CARGO_BIN_EXE_perbuck"), "ycsb"], order, words)
    }

    fn theirs(&self, order: &str, words: &[String]) -> (String, f64, f64) {
        self.ycsb(&[&server("PERBUCK_TEST_GO_YCSB")], order, words)
    }
}

/// What failed at the end, and how often: `17 UPDATE_ERROR`.
fn failures(out: &str) -> Vec<String> {
    let failed = |l: &&str| ["_ERROR", "_MISSING", "_WRONG"].iter().any(|word| l.contains(word));
    // go-ycsb prints each summary every ten seconds; the last one counts.
    let mut last = BTreeMap::new();
    for line in out.lines().filter(failed) {
        let name = line.split(' ').next().unwrap_or(line);
        let count = line.split("Count: ").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("?");
        last.insert(name, count);
    }
    last.into_iter().map(|(name, count)| format!("{count} {name}")).collect()
}

/// A list in words.
fn some(all: &[String]) -> String {
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

/// The errors of all runs, by code, but for conflicts of transactions, which go-ycsb has too.
fn errors(desk: &Desk) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for record in desk.records("state/perbuck/ycsb") {
        for (code, e) in record.errors.iter().filter(|(code, _)| !code.ends_with("write_conflict")) {
            *sums.entry(code.clone()).or_default() += e.count;
        }
    }
    sums
}

/// The mixes of YCSB's core workloads, which go-ycsb reads from files, and how many operations of each.
const MIXES: [(&str, &str, u32); 6] = [
    ("a", "readproportion=0.5\nupdateproportion=0.5\nrequestdistribution=zipfian", 4_000),
    ("b", "readproportion=0.95\nupdateproportion=0.05\nrequestdistribution=zipfian", 8_000),
    ("c", "readproportion=1\nupdateproportion=0\nrequestdistribution=zipfian", 8_000),
    ("d", "readproportion=0.95\nupdateproportion=0\ninsertproportion=0.05\nrequestdistribution=latest", 8_000),
    ("e", "readproportion=0\nupdateproportion=0\nscanproportion=0.95\ninsertproportion=0.05\nrequestdistribution=zipfian", 600),
    ("f", "readproportion=0.5\nupdateproportion=0\nreadmodifywriteproportion=0.5\nrequestdistribution=zipfian", 4_000),
];

fn through_splits_transfers_and_a_kill(kind: &'static str) {
    let mut stores = Cluster::start(Kind::Tikv, &[("tikv", 3)], &SMALL_REGIONS);
    for (name, mix, _) in MIXES {
        let text = format!("workload=core\nreadallfields=true\nmaxscanlength=100\nscanlengthdistribution=uniform\n{mix}\n");
        stores.desk.write(&format!("workload{name}"), &text);
    }
    let ycsb = Ycsb { pd: stores.pd.clone(), folder: stores.desk.path(""), kind };
    let before = stores.regions().0.len();
    // The load, and a run of each workload, while leaders move; one store is killed during the first run, and comes back.
    let (third, victim) = (stores.running.len() - 1, stores.running.pop().unwrap());
    let held = &stores;
    let (restarted, outputs) = scope(|s| {
        let calm = Calm(&held.stop);
        s.spawn(|| held.disturb());
        let mut outputs = vec![("load", ycsb.ours("load", &ycsb.words("a", &[])).0)];
        let killer = s.spawn(|| {
            sleep(Duration::from_secs(4));
            let mut victim = victim;
            victim.kill().unwrap();
            victim.wait().unwrap();
            sleep(Duration::from_secs(5));
            held.spawn(&held.recipe.stages[1][2])
        });
        for (name, _, operations) in MIXES {
            outputs.push((name, ycsb.ours("run", &ycsb.words(name, &[&format!("operationcount={operations}")])).0));
        }
        drop(calm);
        (killer.join().unwrap(), outputs)
    });
    stores.running.insert(third, restarted);
    let (splits, transfers) = (stores.regions().0.len() - before, stores.transfers.load(Ordering::Relaxed));
    assert!(splits >= 10 && transfers >= 5, "{splits} splits, {transfers} leaders moved");
    let failed = errors(&stores.desk);
    assert!(failed.is_empty(), "{failed:?}");
    let conflicts: Vec<String> =
        outputs.iter().flat_map(|(name, out)| failures(out).into_iter().map(move |line| format!("{name}: {line}"))).collect();
    assert!(kind == "txn" || conflicts.is_empty(), "{conflicts:?}");
    assert!(conflicts.iter().all(|line| line.contains("_ERROR")), "{conflicts:?}");
    println!(
        "| {kind}: A to F through {splits} splits, {transfers} moves of leaders, one kill -9 | no failed operation but conflicts: {} |",
        some(&conflicts)
    );
    // Each reads what the other wrote, value by value.
    for (name, _, operations) in MIXES {
        let words = ycsb.words(name, &[&format!("operationcount={operations}")]);
        let (theirs, their_ops, their_cpu) = ycsb.theirs("run", &words);
        if name == "c" {
            assert_eq!(failures(&theirs), Vec::<String>::new(), "go-ycsb reads what perbuck wrote");
        }
        let conflicts = some(&failures(&theirs));
        let (_, our_ops, our_cpu) = ycsb.ours("run", &words);
        println!(
            "| {kind} {name}: perbuck {our_ops:.0} operations/s, {our_cpu:.2} s of CPU; go-ycsb {their_ops:.0}, {their_cpu:.2} s; \
             failed in go-ycsb: {conflicts} | {:.2} × the throughput, {:.2} × the CPU |",
            our_ops / their_ops,
            our_cpu / their_cpu
        );
    }
    let others = ["table=theirs", "recordcount=2000", "operationcount=2000"];
    ycsb.theirs("load", &ycsb.words("c", &others));
    let (read, ..) = ycsb.ours("run", &ycsb.words("c", &others));
    assert_eq!(failures(&read), Vec::<String>::new(), "perbuck reads what go-ycsb wrote");
}

#[test]
fn raw_keys_survive_splits_moved_leaders_and_a_killed_store() {
    through_splits_transfers_and_a_kill("raw");
}

#[test]
fn transactions_survive_splits_moved_leaders_and_a_killed_store() {
    through_splits_transfers_and_a_kill("txn");
}
