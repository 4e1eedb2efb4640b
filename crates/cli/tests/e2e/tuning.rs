//! Settings of this machine: those of a study hold in its trials alone, and those of `doctor --apply` until its script is run.
//!
//! All tests of this file change the same machine, so one runs at a time.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::common::planted::{as_root, rooted};
use crate::common::{Desk, Ended, ended, wait_until};

const SWAPPINESS: &str = "/proc/sys/vm/swappiness";
const SCAN: &str = "/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs";

static MACHINE: Mutex<()> = Mutex::new(());

/// This machine, with values that the tests know; as it was when this is dropped.
struct Planted(Vec<(&'static str, String)>, #[allow(dead_code, reason = "held")] MutexGuard<'static, ()>);

impl Planted {
    fn new(values: &[(&'static str, &str)]) -> Self {
        let alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
        let before = values.iter().map(|(path, _)| (*path, now(path))).collect();
        values.iter().for_each(|(path, value)| drop(as_root(&format!("echo '{value}' >{path}"))));
        Self(before, alone)
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        self.0.iter().for_each(|(path, was)| drop(as_root(&format!("echo '{was}' >{path}"))));
    }
}

fn now(path: &str) -> String {
    fs::read_to_string(path).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn run(desk: &Desk, words: &[&str]) -> Ended {
    ended(rooted(&desk.command(words)).output().unwrap())
}

#[test]
fn what_doctor_applies_its_script_puts_back_to_the_value() {
    const BACKLOG: &str = "/proc/sys/net/core/somaxconn";
    const PORTS: &str = "/proc/sys/net/ipv4/ip_local_port_range";
    let _planted = Planted::new(&[(BACKLOG, "128"), (PORTS, "40000 45000")]);
    let desk = Desk::new();
    let found: serde_json::Value = serde_json::from_str(&run(&desk, &["doctor", "--json"]).out).unwrap();
    let mends = found.as_array().unwrap().iter().flat_map(|finding| finding["mends"].as_array().unwrap().clone());
    let paths: Vec<String> = mends.filter_map(|mend| Some(format!("/{}", mend["set"]["path"].as_str()?))).collect();
    let values = || paths.iter().map(|path| (path.clone(), now(path))).collect::<BTreeMap<_, _>>();
    let before = values();
    assert!(before[BACKLOG] == "128" && before[PORTS] == "40000 45000", "{before:?}");

    let applied = run(&desk, &["doctor", "--apply", "undo.sh"]);
    assert!(applied.code == Some(0) && applied.out.contains("/proc/sys/net/core/somaxconn = 4096 (it was 128)"), "{applied:#?}");
    assert_eq!((now(BACKLOG), now(PORTS)), ("4096".to_owned(), "10240 65535".to_owned()));
    let after = run(&desk, &["doctor"]).out;
    assert!(!after.contains("somaxconn") && !after.contains("local ports"), "{after}");

    // A script is all that knows what was before, so none is replaced.
    let script = desk.read("undo.sh");
    let second = run(&desk, &["doctor", "--apply", "undo.sh"]);
    assert!(second.code != Some(0) && second.err.contains("undo.sh") && desk.read("undo.sh") == script, "{second:#?}");
    as_root(&format!("sh {}", desk.path("undo.sh").display()));
    assert_eq!(values(), before);
}

fn study(tuning: &str, duration: &str) -> String {
    format!(
        "schema = 1\nname = \"s\"\nseed = 1\n[[contender]]\nname = \"plain\"\nserver = {{ kind = \"mariadb\" }}\n\
         [[contender]]\nname = \"tuned\"\nserver = {{ kind = \"mariadb\" }}\n[contender.tuning]\n{tuning}\n\
         [[workload]]\nname = \"w\"\nkind = \"sysbench\"\nscript = \"oltp_point_select\"\ntables = 1\ntable_size = 100\n\
         [sweep]\nconnections = [2]\nwarmup = \"100ms\"\nduration = \"{duration}\"\ntrials = 2\n"
    )
}

/// Two network devices of four queues, one the end of the other; removed when this is dropped.
struct Queues;

impl Queues {
    const COUNT: &str = "numtxqueues 4 numrxqueues 4";

    fn new() -> Self {
        as_root(&format!("ip link add perbuck-q0 {} type veth peer name perbuck-q1 {}", Self::COUNT, Self::COUNT));
        Self
    }

    fn values(file: &str) -> Vec<String> {
        (0..4).map(|n| now(&format!("/sys/class/net/perbuck-q0/queues/{}", file.replace('#', &n.to_string())))).collect()
    }
}

impl Drop for Queues {
    fn drop(&mut self) {
        as_root("ip link delete perbuck-q0");
    }
}

#[test]
fn files_of_network_queues_are_as_they_were_after_a_study() {
    let _planted = Planted::new(&[("/proc/sys/net/core/rps_sock_flow_entries", "0")]);
    let _queues = Queues::new();
    let steered = "\"/sys/class/net/perbuck-q0/queues/*/xps_cpus\" = \"1\"\n\"/sys/class/net/perbuck-q0/queues/*/rps_flow_cnt\" = 8192\n\
                   \"/proc/sys/net/core/rps_sock_flow_entries\" = 32768";
    let all = || [Queues::values("tx-#/xps_cpus"), Queues::values("rx-#/rps_flow_cnt")];
    let before = all();
    let desk = Desk::new();
    desk.write("s.toml", &study(steered, "1s"));
    let ran = run(&desk, &["run", "s.toml"]);
    assert!(matches!(ran.code, Some(0 | 4)), "{ran:#?}");
    let records = desk.records("results/s");
    let tuned = records.iter().find(|record| record.key.contender == "tuned").unwrap();
    assert_eq!(tuned.target.tuned.len(), 9, "{:?}", tuned.target.tuned);
    assert_eq!((all(), now("/proc/sys/net/core/rps_sock_flow_entries")), (before, "0".to_owned()));
}

fn both() -> String {
    format!("\"{SWAPPINESS}\" = 7\n\"{SCAN}\" = 20000")
}

#[test]
fn tuning_holds_in_the_trials_of_its_contender_alone() {
    let _planted = Planted::new(&[(SWAPPINESS, "61"), (SCAN, "10001")]);
    let desk = Desk::new();
    desk.write("s.toml", &study(&both(), "1s"));
    let ran = run(&desk, &["run", "s.toml"]);
    // So short a trial on a busy machine may be no fair measurement, as the exit code says.
    assert!(matches!(ran.code, Some(0 | 4)), "{ran:#?}");
    let said = "in each of its trials its machine has /proc/sys/vm/swappiness = 7, it was 61; ";
    assert!(ran.err.contains(said), "{}", ran.err);
    let (mut plain, mut tuned) = (0, 0);
    for record in desk.records("results/s") {
        let told: Vec<(&str, &str, &str)> =
            record.target.tuned.iter().map(|t| (t.path.as_str(), t.value.as_str(), t.was.as_str())).collect();
        // What the kernel had in the trial is a fact of the record, by another reader.
        let swappiness = record.host.facts.as_ref().unwrap().memory.swappiness;
        assert_eq!(swappiness, Some(61), "the facts are those of before");
        if record.key.contender == "tuned" {
            assert_eq!(told, [(SWAPPINESS, "7", "61"), (SCAN, "20000", "10001")]);
            tuned += 1;
        } else {
            assert!(told.is_empty(), "{told:?}");
            plain += 1;
        }
    }
    assert_eq!((plain, tuned), (2, 2));
    assert_eq!((now(SWAPPINESS), now(SCAN)), ("61".to_owned(), "10001".to_owned()));
    desk.good(&["report", "results/s", "--format", "md", "--insist", "client-limited"]);
    assert!(desk.read("results/s/report.md").contains("7; without perbuck 61"), "the report says it");
    let other = study(&both().replace('7', "8"), "1s");
    desk.write("s.toml", &other);
    let refused = run(&desk, &["run", "s.toml"]);
    assert!(refused.code != Some(0) && refused.err.contains("tuning./proc/sys/vm/swappiness"), "{refused:#?}");
}

#[test]
fn a_machine_without_the_setting_is_found_before_anything_is_loaded() {
    let _planted = Planted::new(&[(SWAPPINESS, "61")]);
    let desk = Desk::new();
    desk.write("s.toml", &study("\"/proc/sys/vm/swappiness\" = 7\n\"/sys/none/x\" = 1", "1s"));
    let ran = run(&desk, &["run", "s.toml"]);
    let why = "contender `tuned`: line 10: `tuning` cannot hold: this machine has no /sys/none/x";
    assert!(ran.code == Some(3) && ran.err.contains(why), "{ran:#?}");
    assert_eq!(now(SWAPPINESS), "61");
}

#[test]
fn what_a_killed_run_has_set_is_put_back() {
    let _planted = Planted::new(&[(SWAPPINESS, "61")]);
    let desk = Desk::new();
    desk.write("killed.toml", &study("\"/proc/sys/vm/swappiness\" = 7", "60s"));
    for with_guards in [false, true] {
        let child = rooted(&desk.command(&["run", "killed.toml"])).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut child = child.unwrap();
        wait_until("a trial is tuned", || now(SWAPPINESS) == "7");
        let what = if with_guards { "run killed.toml|hold-server" } else { "run killed.toml" };
        // The shell of this script has the words, too, but for its brackets.
        as_root(&format!("pkill -KILL -f '[p]erbuck ({what})'"));
        child.wait().unwrap();
        if with_guards {
            // Nothing of it runs, so the next command does it.
            let mut next =
                rooted(&desk.command(&["run", "killed.toml"])).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
            wait_until("the next command has put it back", || now(SWAPPINESS) == "61");
            wait_until("and tunes its own trial", || now(SWAPPINESS) == "7");
            as_root("pkill -INT -f '[p]erbuck run killed.toml'; sleep 1; pkill -INT -f '[p]erbuck run killed.toml' || true");
            next.wait().unwrap();
        }
        wait_until("it is restored", || now(SWAPPINESS) == "61");
    }
}
