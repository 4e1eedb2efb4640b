//! `perbuck run` of a study that perbuck deploys: up, trials, down, its cost, and what becomes of it when perbuck or an agent is killed.
//!
//! `dev/kubernetes` runs it; CI does not. The API server is real. MariaDB and the agents are real as well, and stand at the addresses of
//! kwok's pods; they are processes of this machine, so nothing here is a measurement.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by it, and says how far it is")]

mod common;

use std::io::Write;
use std::process::Child;

use common::kubernetes::{
    CLIENT, desk, items, kubectl, kubectl_on, labelled, no_node_is_marked, node, nothing_is_left, rig, start, study,
};
use common::pods::Containers;
use common::{Desk, signal, wait_until};
use serde_json::{Value, json};

/// Two instance types with the processors of this machine.
const TYPES: [&str; 2] =
    if cfg!(target_arch = "aarch64") { ["m8g.4xlarge", "r8g.4xlarge"] } else { ["r8i.4xlarge", "m8i.4xlarge"] };
const RUN: [&str; 3] = ["run", "s.toml", "--yes"];
const DOWN: [&str; 3] = ["deploy", "down", "s.toml"];

/// A cluster with the machines of [`own_study`].
fn site() -> (Desk, Containers) {
    let desk = desk();
    node("n-one", TYPES[0], &[]);
    node("n-two", TYPES[1], &[]);
    node("n-c1", CLIENT, &[]);
    node("n-c2", CLIENT, &[]);
    (desk, Containers::start())
}

/// The study on machines whose processors are those of this one. It is a notional one, since the servers run here.
fn own_study(edits: &[(&str, &str)]) -> String {
    let [one, two] = TYPES;
    let own = [
        ("seed = 1", "seed = 1\nnotional = true"),
        ("name = \"arm\"", "name = \"other\""),
        ("r8g.4xlarge", two),
        ("r8i.4xlarge", one),
    ];
    study(&[&own[..2], &own[3..], &own[2..3], edits].concat())
}

fn said(desk: &Desk) -> String {
    desk.read("said")
}

/// Every trial is on disk, with what ran on the cluster beside it.
fn records_tell_the_cluster(desk: &Desk, count: usize) {
    let records = desk.records("results/kw");
    assert_eq!(records.len(), count);
    for record in &records {
        let deployed = record.target.deployed.as_ref().unwrap();
        assert_eq!((deployed.cluster.as_str(), deployed.kubernetes.as_str()), ("perbuck-kw", "v1.37.2"));
        let own = if record.key.contender == "x86" { ("n-one", TYPES[0]) } else { ("n-two", TYPES[1]) };
        let server: Vec<_> = deployed.nodes.iter().filter(|n| n.role == "mysql").collect();
        assert_eq!((server.len(), server[0].name.as_str(), server[0].instance.as_str()), (1, own.0, own.1));
        assert_eq!((server[0].zone.as_str(), server[0].allocatable_cpu_m), ("us-east-1a", 16_000));
        assert_eq!(deployed.nodes.iter().filter(|n| n.role == "client").count(), 2);
        let pods: Vec<_> = deployed.pods.iter().map(|p| (p.name.as_str(), p.node.as_str(), p.ready, p.restarts)).collect();
        assert_eq!(pods, [("mysql-0", own.0, true, 0)]);
        let volumes: Vec<_> = deployed.volumes.iter().map(|v| (v.claim.as_str(), v.role.as_str(), v.size_gib)).collect();
        assert_eq!(volumes, [("data-mysql-0", "mysql", 500)]);
        assert_eq!(record.agents.len(), 2, "the agents of the Job apply the load");
        assert!(record.target.address.contains("127.0."), "{}", record.target.address);
    }
}

/// A run of which the first trial runs.
fn measuring(desk: &Desk) -> Child {
    let mut run = start(desk, &RUN, "said");
    wait_until("the first trial runs", || {
        assert!(run.try_wait().unwrap().is_none(), "{}", said(desk));
        std::fs::read_to_string(desk.path("results/kw/live.jsonl")).is_ok_and(|text| text.contains("\"second\""))
    });
    run
}

#[test]
fn a_run_brings_clusters_up_measures_takes_them_down_and_says_the_cost() {
    let (desk, _containers) = site();
    desk.write("s.toml", &own_study(&[]));
    let ran = desk.good(&RUN);
    assert!(ran.err.contains("this study's clusters cost $"), "{ran:#?}");
    records_tell_the_cluster(&desk, 4);
    nothing_is_left("kw", "after the run");
    no_node_is_marked("after the run");
    // What is on disk needs no cluster, and no consent.
    let second = desk.good(&["run", "s.toml"]);
    assert!(second.err.contains("are on disk"), "{second:#?}");
    assert!(labelled("kw").is_empty());
    desk.good(&["report", "results/kw"]);
    // A user who brought it up takes it down.
    desk.good(&["deploy", "up", "s.toml", "--yes", "--results", "by-hand"]);
    let ran = desk.good(&[&RUN[..], &["--results", "by-hand"]].concat());
    assert!(ran.err.contains("the clusters stay up, as `perbuck deploy up` left them"), "{ran:#?}");
    assert!(!labelled("kw").is_empty());
    desk.good(&[&DOWN[..], &["--results", "by-hand"]].concat());
    nothing_is_left("kw", "after down");
}

#[test]
fn a_run_that_is_killed_in_each_step_goes_on_with_the_same_command() {
    let (desk, _containers) = site();
    desk.write("s.toml", &own_study(&[("table_size = 1000", "table_size = 20000"), ("duration = \"2s\"", "duration = \"4s\"")]));
    let live = || std::fs::read_to_string(desk.path("results/kw/live.jsonl")).unwrap_or_default();
    let has_namespace = || items("namespaces").iter().any(|n| common::kubernetes::name(n).starts_with("perbuck-kw"));
    let killed_when = |step: &str, so: &dyn Fn() -> bool| {
        let mut run = start(&desk, &RUN, "said");
        wait_until(step, || {
            assert!(run.try_wait().unwrap().is_none(), "{step}: {}", said(&desk));
            so()
        });
        signal(&run, "KILL");
        run.wait().unwrap();
        println!("killed: {step}");
    };
    killed_when("a namespace is there", &has_namespace);
    killed_when("the load has begun", &|| live().contains("load"));
    let seconds = || live().matches("\"second\"").count();
    killed_when("the first trial runs", &|| seconds() > 0);
    killed_when("two trials are on disk", &|| desk.path("results/kw/other").exists() && desk.records("results/kw").len() >= 2);
    // Another program's finalizer holds a namespace, so that down takes until the test takes it off.
    let object = json!({ "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "held", "namespace": "perbuck-kw-x86", "finalizers": ["perbuck.test/held"] } });
    kubectl_on(&desk, "create", &object);
    killed_when("down waits", &|| said(&desk).contains("waiting for the end of"));
    assert_eq!(desk.records("results/kw").len(), 4);
    kubectl("patch configmap held -n perbuck-kw-x86 --type=merge -p {\"metadata\":{\"finalizers\":null}}");
    let ran = desk.good(&RUN);
    assert!(ran.err.contains("this study's clusters cost $"), "{ran:#?}");
    records_tell_the_cluster(&desk, 4);
    common::nothing_half_written(&desk.path("results/kw"));
    nothing_is_left("kw", "after the last run");
    no_node_is_marked("after the last run");
}

#[test]
fn an_interrupted_run_says_that_the_clusters_are_up_and_what_they_cost() {
    let (desk, _containers) = site();
    desk.write("s.toml", &own_study(&[("duration = \"2s\"", "duration = \"60s\"")]));
    let mut run = measuring(&desk);
    signal(&run, "INT");
    assert_eq!(run.wait().unwrap().code(), Some(130), "{}", said(&desk));
    assert!(said(&desk).contains("the clusters are up, at $"), "{}", said(&desk));
    assert!(!labelled("kw").is_empty());
    desk.good(&DOWN);
    nothing_is_left("kw", "after down");
}

#[test]
fn an_agent_of_another_build_is_refused_and_a_lost_one_is_told_with_its_pod() {
    let (desk, containers) = site();
    desk.write("s.toml", &own_study(&[("duration = \"2s\"", "duration = \"10s\"")]));
    // The same program with a byte after its end runs as before, and is another build.
    let copy = desk.path("copy");
    std::fs::copy(env!("CARGO_BIN_EXE_perbuck"), &copy).unwrap();
    std::fs::OpenOptions::new().append(true).open(&copy).unwrap().write_all(b"x").unwrap();
    containers.agent_is("client-1", Some(&copy));
    let refused = desk.perbuck(&RUN);
    assert!(refused.code == Some(3) && refused.err.contains("it is another build of perbuck"), "{refused:#?}");
    assert!(
        refused.err.contains("copy the program of this machine") && refused.err.contains("the clusters are up, at $"),
        "{refused:#?}"
    );
    containers.agent_is("client-1", None);
    containers.kill("client-1");
    desk.good(&DOWN);
    let mut run = measuring(&desk);
    let pod =
        items("pods -n perbuck-kw").iter().map(|p| common::kubernetes::name(p).to_owned()).find(|n| n.starts_with("client-1"));
    rig(&["exit-pod", "perbuck-kw", &pod.clone().unwrap(), "137"]);
    wait_until("the pod has ended", || items("pods -n perbuck-kw").iter().any(|p| p["status"]["phase"] == "Failed"));
    // The process of a pod that has ended ends with it.
    let words = format!("pod {}: container agent ended with exit code 137 (Error)", pod.unwrap());
    wait_until("the loss is told", || said(&desk).contains("going on with 1 of 2 agents"));
    assert!(said(&desk).contains("void, and measured again: ") && said(&desk).contains(&words), "{words}: {}", said(&desk));
    signal(&run, "INT");
    assert_eq!(run.wait().unwrap().code(), Some(130), "{}", said(&desk));
    // The same command starts both again.
    let ran = desk.good(&RUN);
    assert!(ran.err.contains("a pod of job client has ended"), "{ran:#?}");
    records_tell_the_cluster(&desk, 4);
    nothing_is_left("kw", "after the run");
}

/// An amount in micro-dollars as perbuck prints it.
fn dollars(micros: i128) -> String {
    let cents = (micros + 5_000) / 10_000;
    format!("${}.{:02}", cents / 100, cents % 100)
}

/// A price an hour, in micro-dollars, by the price list of the study.
fn an_hour(instance: &str) -> i128 {
    let list = include_str!("../../../prices/aws-2026-07.toml");
    let line = list.lines().find(|l| l.contains(&format!("type = \"{instance}\", usd_per_hour = "))).unwrap();
    let number = line.split("usd_per_hour = ").nth(1).unwrap().split([',', ' ']).next().unwrap();
    let (whole, part) = number.split_once('.').unwrap();
    format!("{whole}{part:0<6}").parse().unwrap()
}

/// The test moves the times at which machines and volumes were seen first: hours in a second.
#[test]
fn the_printed_cost_is_hours_times_price() {
    let desk = desk();
    common::kubernetes::nodes();
    desk.write("s.toml", &study(&[]));
    desk.good(&["deploy", "up", "s.toml", "--yes"]);
    let mut state: Value = serde_json::from_str(&desk.read("results/kw/deployment.json")).unwrap();
    for (n, seen) in state["seen"].as_object_mut().unwrap().values_mut().enumerate() {
        let from = seen["from_unix_s"].as_u64().unwrap();
        seen["from_unix_s"] = json!(from - 3_600 * (5 + 7 * n as u64) - 17 * n as u64);
    }
    desk.write("results/kw/deployment.json", &state.to_string());
    let down = desk.good(&DOWN);
    let state: Value = serde_json::from_str(&desk.read("results/kw/deployment.json")).unwrap();
    let seen: Vec<&Value> = state["seen"].as_object().unwrap().values().collect();
    assert_eq!(seen.len(), 6, "four machines and two volumes");
    let mut total = 0;
    for row in [
        ("arm mysql: r8g.4xlarge", 1),
        ("x86 mysql: r8i.4xlarge", 1),
        ("client: c8i.4xlarge", 2),
        ("arm mysql: volume", 1),
        ("x86 mysql: volume", 1),
    ] {
        let title = |s: &Value| {
            let of = format!("{} {}", s["contender"].as_str().unwrap(), s["role"].as_str().unwrap());
            format!("{}: {}", of.trim(), s["what"]["node"].as_str().unwrap_or("volume"))
        };
        let own: Vec<_> = seen.iter().filter(|s| title(s) == row.0).collect();
        assert_eq!(own.len(), row.1, "{row:?}");
        let seconds: i128 =
            own.iter().map(|s| i128::from(s["to_unix_s"].as_u64().unwrap() - s["from_unix_s"].as_u64().unwrap())).sum();
        // 500 GB of gp3 at $0.08 a month of 730 hours.
        let micros = match row.0.split_once(": ").unwrap().1 {
            "volume" => (40_000_000 * seconds + 730 * 1_800) / (730 * 3_600),
            instance => (an_hour(instance) * seconds + 1_800) / 3_600,
        };
        let line = down.out.lines().find(|l| l.starts_with(row.0)).unwrap();
        assert!(line.ends_with(&dollars(micros)), "{line}: {micros} µ$ for {seconds} s");
        total += micros;
    }
    assert!(total > 50_000_000, "{total}");
    let line = format!("this study's clusters cost {} until now", dollars(total));
    assert!(down.out.contains(&line), "{line}: {}", down.out);
    println!("{} lines, {line}", seen.len());
}
