//! `perbuck deploy` against a real API server: up, again, killed, stuck, expired, and down. `dev/kubernetes` runs it; CI does not.
//!
//! Machines and containers are kwok's, so this proves nothing about images, kubelets or clouds.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by it, and a long campaign shows how far it is")]

mod common;

use std::thread::sleep;
use std::time::{Duration, Instant};

use common::kubernetes::{
    CLIENT, CONTENDER, ROLE, STUDY, X86, desk, items, kubectl, kubectl_on, labelled, no_node_is_marked, node, node_in, nodes,
    nothing_is_left, ready_pods, rig, same_shape, shape, start, study, versions,
};
use common::{Desk, processes_of, signal, wait_until};
use serde_json::json;

/// How often `up` is killed, in all studies together.
const KILLS: u32 = 20;
/// Studies that are deployed beside each other, each on nodes of its own zone.
const PARALLEL: u32 = 4;

#[test]
fn a_second_up_changes_nothing_status_is_as_billed_and_down_leaves_nothing() {
    let desk = desk();
    nodes();
    desk.write("s.toml", &study(&[]));
    let up = desk.good(&["deploy", "up", "s.toml", "--yes"]);
    // By hand, an hour: 0.94256 + 1.11136 + 2 × 0.74968, and two volumes of 500 × 0.08 / 730.
    assert!(up.out.contains("up: arm and x86 cost $3.66 an hour"), "{up:#?}");
    for contender in ["arm", "x86"] {
        assert!(up.out.contains(&format!("{contender}: mysql://root@127.0.")), "{up:#?}");
    }
    ready_pods("perbuck-kw", 2);
    let (before, shape_before) = (versions("kw"), shape("kw"));
    assert!(before.len() > 12, "{before:?}");
    desk.good(&["deploy", "up", "s.toml", "--yes"]);
    assert_eq!(versions("kw"), before);
    same_shape(&shape("kw"), &shape_before, "after a second up");
    // What is up is paid for already, so perbuck does not ask.
    desk.good(&["deploy", "up", "s.toml"]);
    let status = desk.good(&["deploy", "status", "s.toml"]).out;
    for line in ["arm: 3 nodes, 1 of 1 pod ready, 1 volume\n  as billed", "x86: 3 nodes, 1 of 1 pod ready, 1 volume\n  as billed"]
    {
        assert!(status.contains(line), "{line}: {status}");
    }
    let down = desk.good(&["deploy", "down", "s.toml"]);
    assert!(down.out.starts_with("nothing of this study is left\n"), "{down:#?}");
    nothing_is_left("kw", "after down");
    no_node_is_marked("after down");
    assert!(desk.good(&["deploy", "down", "s.toml"]).out.starts_with("nothing is up\n"));
    assert!(desk.good(&["deploy", "status", "s.toml"]).out.starts_with("nothing is up\n"));
}

/// The next number below a bound, from a seed.
fn draw(seed: &mut u64, bound: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % bound
}

/// Each kill is in a part of its own of the time that an `up` takes.
#[test]
fn after_a_kill_of_up_the_next_one_comes_to_the_same_end() {
    let desk = desk();
    let names: Vec<String> = (0..PARALLEL).map(|one| format!("kill{one}")).collect();
    for (name, zone) in names.iter().zip(["us-east-1a", "us-east-1b", "us-east-1c", "us-east-1d"]) {
        let own = format!("name = \"{name}\"");
        desk.write(&format!("{name}.toml"), &study(&[("name = \"kw\"", &own), ("us-east-1a", zone)]));
        for (role, instance) in [("arm", "r8g.4xlarge"), ("x86", X86), ("c1", CLIENT), ("c2", CLIENT)] {
            node_in(zone, &format!("{name}-{role}"), instance, &[]);
        }
    }
    std::thread::scope(|scope| {
        for (one, name) in (0..PARALLEL).zip(&names) {
            let desk = &desk;
            scope.spawn(move || killed(desk, one, name));
        }
    });
    no_node_is_marked("after all kills");
}

/// The kills of one study.
fn killed(desk: &Desk, one: u32, name: &str) {
    let file = format!("{name}.toml");
    let (up, down) = (["deploy", "up", &file, "--yes"], ["deploy", "down", &file]);
    let since = Instant::now();
    desk.good(&up);
    let mut took_ms = since.elapsed().as_millis() as u64;
    ready_pods(&format!("perbuck-{name}"), 2);
    let whole = shape(name);
    assert!(whole.len() > 12 && whole.values().all(|same| same.len() == 1), "each once: {whole:?}");
    desk.good(&down);
    let (mut seed, mut n) = (u64::from(one) + 1, one);
    while n < KILLS {
        let part = took_ms.max(u64::from(KILLS)) / u64::from(KILLS);
        let after_ms = u64::from(n) * part + draw(&mut seed, part);
        let mut child = start(desk, &up, &format!("{name}.said"));
        sleep(Duration::from_millis(after_ms));
        let runs = child.try_wait().unwrap().is_none();
        if runs {
            signal(&child, "KILL");
            child.wait().unwrap();
        }
        let of = format!("kill {} of {KILLS}, after {after_ms} of {took_ms} ms", n + 1);
        let there = labelled(name).len();
        desk.good(&up);
        ready_pods(&format!("perbuck-{name}"), 2);
        same_shape(&shape(name), &whole, &of);
        let status = desk.good(&["deploy", "status", &file]).out;
        assert_eq!(status.matches("as billed").count(), 2, "{of}: {status}");
        desk.good(&down);
        nothing_is_left(name, &of);
        if runs {
            println!("{of}: {there} objects were there, nothing left after down");
            n += PARALLEL;
        } else {
            // The machine is quicker now: this kill met nothing, and is tried again.
            took_ms /= 2;
        }
    }
}

#[test]
fn two_studies_that_come_up_at_once_take_no_node_twice() {
    let desk = desk();
    for n in 1..=4 {
        node(&format!("x{n}"), X86, &[]);
        node(&format!("a{n}"), "r8g.4xlarge", &[]);
        node(&format!("c{n}"), CLIENT, &[]);
        node(&format!("d{n}"), CLIENT, &[]);
    }
    let names = ["one", "two", "three", "four"];
    for name in names {
        desk.write(&format!("{name}.toml"), &study(&[("name = \"kw\"", &format!("name = \"{name}\""))]));
    }
    std::thread::scope(|scope| {
        for name in names {
            let desk = &desk;
            scope.spawn(move || desk.good(&["deploy", "up", &format!("{name}.toml"), "--yes"]));
        }
    });
    for name in names {
        let status = desk.good(&["deploy", "status", &format!("{name}.toml")]).out;
        assert_eq!(status.matches("as billed").count(), 2, "{name}: {status}");
        ready_pods(&format!("perbuck-{name}"), 2);
    }
    // No pod runs on the machines of another study.
    let nodes = items("nodes");
    for pod in items(&format!("pods -A -l {STUDY}")) {
        let own = nodes.iter().find(|n| n["metadata"]["name"] == pod["spec"]["nodeName"]).unwrap();
        assert_eq!(own["metadata"]["labels"][STUDY], pod["metadata"]["labels"][STUDY], "{pod}");
    }
    std::thread::scope(|scope| {
        for name in names {
            let desk = &desk;
            scope.spawn(move || desk.good(&["deploy", "down", &format!("{name}.toml")]));
        }
    });
    no_node_is_marked("after down");
}

/// A refusal: its exit code, and what it says.
fn refused(desk: &Desk, words: &[&str], code: i32, says: &[&str]) {
    let ended = desk.perbuck(words);
    assert_eq!(ended.code, Some(code), "{words:?}: {ended:#?}");
    says.iter().for_each(|text| assert!(ended.err.contains(text), "{text}: {}", ended.err));
}

const UP: [&str; 4] = ["deploy", "up", "s.toml", "--yes"];
const DOWN: [&str; 3] = ["deploy", "down", "s.toml"];

#[test]
fn too_few_nodes_and_wrong_versions_are_told_and_mark_nothing() {
    let desk = desk();
    desk.write("s.toml", &study(&[]));
    refused(&desk, &UP, 3, &["arm-mysql needs 1 more node of r8g.4xlarge: none is there", "correct `instance` and `count`"]);
    nodes();
    kubectl("delete node n-c2");
    node_in("us-east-1b", "n-far", CLIENT, &[]);
    node("n-taint", CLIENT, &["own=x:NoSchedule"]);
    let other = [format!("{STUDY}=other"), format!("{ROLE}=client")];
    node("n-other", CLIENT, &[&other[0], &other[1]]);
    let near = ["n-c1 is free", "n-far is in us-east-1b", "n-taint is tainted or not ready", "n-other has the study other"];
    refused(&desk, &UP, 3, &[&["client needs 2 more nodes of c8i.4xlarge: "][..], &near].concat());
    assert!(labelled("kw").is_empty());
    desk.good(&DOWN);
    desk.write("v.toml", &study(&[("name = \"kw\"", "name = \"v\""), ("kubernetes = \"1.37\"", "kubernetes = \"1.33\"")]));
    let says = "the API server of perbuck-v is v1.37.2, and the study says Kubernetes 1.33";
    refused(&desk, &["deploy", "up", "v.toml", "--yes"], 7, &[says, "correct `deploy.kubernetes`"]);
    refused(&desk, &["deploy", "up", "v.toml"], 2, &["cannot ask whether to deploy", "give --yes"]);
    assert!(labelled("v").is_empty());
    let context =
        study(&[("name = \"kw\"", "name = \"c\""), ("kubernetes = \"1.37\"", "kubernetes = \"1.37\", context = \"none\"")]);
    desk.write("c.toml", &context);
    refused(&desk, &["deploy", "up", "c.toml", "--yes"], 3, &["no context `none`; it has admin, nothing, plugin"]);
    desk.write("c.toml", &context.replace("\"none\"", "\"nothing\""));
    refused(&desk, &["deploy", "up", "c.toml", "--yes"], 3, &["cannot ", "resource"]);
}

#[test]
fn what_another_deployment_made_is_left_alone() {
    let desk = desk();
    nodes();
    desk.write("s.toml", &study(&[]));
    desk.good(&UP);
    let (before, id) = (versions("kw"), state(&desk, "results/kw")["id"].as_str().unwrap().to_owned());
    let elsewhere = |words: &[&'static str]| [words, &["--results", "elsewhere"]].concat();
    let whose = format!("of deployment {id}");
    refused(&desk, &elsewhere(&UP), 4, &["the cluster has a namespace perbuck-kw", &whose, "another `name`"]);
    refused(&desk, &elsewhere(&DOWN), 2, &["elsewhere/kw knows of no deployment of this study"]);
    assert_eq!(versions("kw"), before, "the down of a deployment that made nothing takes nothing away");
    desk.good(&["deploy", "status", "s.toml"]);
    desk.good(&DOWN);
    nothing_is_left("kw", "after the right down");
    kubectl("create namespace perbuck-kw-x86");
    refused(&desk, &UP, 4, &["the cluster has a namespace perbuck-kw-x86 that perbuck did not make"]);
    desk.good(&DOWN);
    assert_eq!(items("namespaces perbuck-kw-x86").len(), 1);
    no_node_is_marked("after a refusal");
}

fn state(desk: &Desk, folder: &str) -> serde_json::Value {
    serde_json::from_str(&desk.read(&format!("{folder}/deployment.json"))).unwrap()
}

#[test]
fn a_pod_that_no_node_takes_is_told_while_up_waits_and_ctrl_c_ends_the_wait() {
    let desk = desk();
    nodes();
    desk.write("s.toml", &study(&[]));
    desk.good(&UP);
    kubectl("cordon n-arm");
    rig(&["kill-pod", "perbuck-kw-arm", "mysql-0"]);
    let mut waiting = start(&desk, &UP, "said");
    wait_until("up says why it waits", || desk.read("said").contains("pod mysql-0: no node takes it: 0/4 nodes are available"));
    signal(&waiting, "INT");
    assert_eq!(waiting.wait().unwrap().code(), Some(130), "{}", desk.read("said"));
    refused(&desk, &["deploy", "status", "s.toml"], 7, &["what runs is not what is billed"]);
    kubectl("uncordon n-arm");
    desk.good(&UP);
    desk.good(&["deploy", "status", "s.toml"]);
    // A finalizer of another program holds the namespace: down waits, says for what, and goes on when it is called again.
    kubectl_on(
        &desk,
        "create",
        &json!({ "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "held", "namespace": "perbuck-kw-arm", "finalizers": ["perbuck.test/held"] } }),
    );
    let mut waiting = start(&desk, &DOWN, "said");
    wait_until("down says for what it waits", || {
        desk.read("said").contains("waiting for the end of 1 namespace: perbuck-kw-arm")
    });
    signal(&waiting, "INT");
    assert_eq!(waiting.wait().unwrap().code(), Some(130), "{}", desk.read("said"));
    // Nothing can be made in it until it is gone, so up waits as well.
    let mut waiting = start(&desk, &UP, "said");
    wait_until("up says for what it waits", || desk.read("said").contains("waiting for the end of 1 namespace: perbuck-kw-arm"));
    kubectl("patch configmap held -n perbuck-kw-arm --type=merge -p {\"metadata\":{\"finalizers\":null}}");
    assert!(waiting.wait().unwrap().success(), "{}", desk.read("said"));
    desk.good(&["deploy", "status", "s.toml"]);
    desk.good(&DOWN);
    nothing_is_left("kw", "after the second down");
}

#[test]
fn a_deployment_that_expires_goes_by_itself_also_after_a_kill() {
    let desk = desk();
    nodes();
    desk.write("s.toml", &study(&[]));
    let up = [&UP[..], &["--ttl", "4s"]].concat();
    for killed in [false, true] {
        let mut child = start(&desk, &up, "said");
        if killed {
            wait_until("a namespace is there", || !labelled("kw").is_empty());
            signal(&child, "KILL");
        }
        assert_eq!(child.wait().unwrap().success(), !killed, "{}", desk.read("said"));
        wait_until("the process that waits has ended", || processes_of(&desk.path(".")).is_empty());
        nothing_is_left("kw", "after the expiry");
        let log = desk.read("results/kw/deployment-expiry.log");
        assert!(log.contains("nothing of this study is left") && log.contains("cost $"), "{log}");
        assert!(desk.good(&DOWN).out.starts_with("nothing is up\n"));
    }
    // Who takes it down by hand ends the wait as well.
    desk.good(&[&UP[..], &["--ttl", "1h"]].concat());
    assert_eq!(processes_of(&desk.path(".")).len(), 1);
    desk.good(&DOWN);
    wait_until("the process that waits has ended", || processes_of(&desk.path(".")).is_empty());
    assert_eq!(desk.read("results/kw/deployment-expiry.log"), "");
    nothing_is_left("kw", "after down by hand");
}

/// The marks of nodes are those of the study's groups.
#[test]
fn nodes_have_the_marks_of_their_group() {
    let desk = desk();
    nodes();
    desk.write("s.toml", &study(&[]));
    desk.good(&UP);
    for (name, role, contender) in
        [("n-arm", "mysql", json!("arm")), ("n-x86", "mysql", json!("x86")), ("n-c1", "client", json!(null))]
    {
        let node = items(&format!("node {name}")).remove(0);
        let labels = &node["metadata"]["labels"];
        assert_eq!((&labels[STUDY], &labels[ROLE], &labels[CONTENDER]), (&json!("kw"), &json!(role), &contender));
        let taints = node["spec"]["taints"].as_array().unwrap();
        assert!(taints.contains(&json!({ "key": ROLE, "value": role, "effect": "NoSchedule" })), "{taints:?}");
    }
    desk.good(&DOWN);
}
