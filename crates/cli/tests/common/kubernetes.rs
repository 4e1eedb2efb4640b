//! The cluster that `dev/kubernetes` starts: what a test does to it, and what is there.
//!
//! The API server, the controllers and the scheduler are real. kwok stands in for the machines, so pods become ready and no container runs.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test binary uses its own part of this")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

use super::{Desk, wait_until};

/// Labels and annotations that tell whose an object is.
pub const STUDY: &str = "perbuck/study";
pub const ROLE: &str = "perbuck/role";
pub const CONTENDER: &str = "perbuck/contender";
/// An instance type of each architecture for the servers, and the client's.
pub const ARM: &str = "r8g.4xlarge";
pub const X86: &str = "r8i.4xlarge";
pub const CLIENT: &str = "c8i.4xlarge";

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("this test needs {name}; run dev/kubernetes"))
}

/// Does something to the cluster, as `dev/kubernetes --help` says.
pub fn rig_output(words: &[&str]) -> Output {
    Command::new(variable("PERBUCK_TEST_KUBERNETES_RIG")).args(words).stdin(Stdio::null()).output().unwrap()
}

/// The same, which must succeed; what it prints.
pub fn rig(words: &[&str]) -> String {
    let done = rig_output(words);
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// Runs a command of kubectl, which must succeed.
pub fn kubectl(line: &str) -> String {
    let words: Vec<&str> = ["kubectl"].into_iter().chain(line.split(' ')).collect();
    rig(&words)
}

/// Runs a command of kubectl with one more word, which may hold spaces.
pub fn kubectl_with(line: &str, last: &str) -> String {
    let words: Vec<&str> = ["kubectl"].into_iter().chain(line.split(' ')).chain([last]).collect();
    rig(&words)
}

/// Applies or creates an object.
pub fn kubectl_on(desk: &Desk, line: &str, object: &Value) -> String {
    let path = desk.write("object.json", &object.to_string());
    kubectl(&format!("{line} -f {}", path.display()))
}

/// The objects of a list that kubectl prints.
pub fn items(line: &str) -> Vec<Value> {
    let read: Value = serde_json::from_str(&kubectl(&format!("get {line} -o json"))).unwrap();
    read["items"].as_array().cloned().unwrap_or_else(|| vec![read])
}

/// Adds a node of 16 CPUs.
pub fn node(name: &str, instance: &str, more: &[&str]) {
    node_in("us-east-1a", name, instance, more);
}

/// The same in another zone.
pub fn node_in(zone: &str, name: &str, instance: &str, more: &[&str]) {
    let arch = if instance == ARM { "arm64" } else { "amd64" };
    let memory = if instance == CLIENT { "32Gi" } else { "128Gi" };
    rig(&[&["node", name, instance, arch, zone, "16", memory], more].concat());
}

/// An empty cluster, and a desk whose perbuck reaches it.
pub fn desk() -> Desk {
    rig(&["clear"]);
    let mut desk = Desk::new();
    desk.set("KUBECONFIG", &variable("PERBUCK_TEST_KUBECONFIG"));
    desk
}

/// The nodes of [`study`].
pub fn nodes() {
    node("n-arm", ARM, &[]);
    node("n-x86", X86, &[]);
    node("n-c1", CLIENT, &[]);
    node("n-c2", CLIENT, &[]);
}

/// A study of MySQL on two machines with two machines for the client; every edit must be there.
pub fn study(edits: &[(&str, &str)]) -> String {
    let edit = |text: String, (from, to): &(&str, &str)| {
        assert!(text.contains(from), "{from} is not in the study:\n{text}");
        text.replace(from, to)
    };
    edits.iter().fold(MYSQL_STUDY.to_owned(), edit)
}

/// A command of the binary that runs; what it says lies in the file `said` of the desk.
pub fn start(desk: &Desk, words: &[&str], said: &str) -> Child {
    let file = File::create(desk.path(said)).unwrap();
    let both = file.try_clone().unwrap();
    desk.command(words).stdin(Stdio::null()).stdout(both).stderr(file).spawn().unwrap()
}

/// Every kind that can be listed, as kubectl takes them.
fn kinds() -> String {
    // Events tell what happened, and are no part of what is there.
    let all = kubectl("api-resources --verbs=list -o name");
    all.lines().filter(|kind| !kind.starts_with("events")).collect::<Vec<_>>().join(",")
}

/// All objects with the label of a study, of every kind.
pub fn labelled(study: &str) -> Vec<Value> {
    items(&format!("{} -A -l {STUDY}={study}", kinds()))
}

/// Nothing of a study is there: no object with its label, no mark on a node, no volume of its namespaces.
pub fn nothing_is_left(study: &str, after: &str) {
    let left: Vec<String> = labelled(study).iter().map(title).collect();
    assert!(left.is_empty(), "{after}: {left:?}");
    let namespace = format!("perbuck-{study}");
    let own = |v: &Value| v["spec"]["claimRef"]["namespace"].as_str().is_some_and(|n| n.starts_with(&namespace));
    assert!(!items("persistentvolumes").iter().any(own), "{after}");
    assert!(!items("namespaces").iter().any(|n| name(n).starts_with(&namespace)), "{after}");
    let marked = |n: &Value| n["metadata"]["annotations"]["perbuck/id"].is_string() && n["metadata"]["labels"][STUDY] == study;
    assert!(!items("nodes").iter().any(marked), "{after}");
}

/// No node has a mark of any study.
pub fn no_node_is_marked(after: &str) {
    for node in items("nodes") {
        let text = format!("{} {} {}", node["metadata"]["labels"], node["metadata"]["annotations"], node["spec"]["taints"]);
        assert!(!text.contains("perbuck/"), "{after}: {node}");
    }
}

pub fn name(of: &Value) -> &str {
    of["metadata"]["name"].as_str().unwrap()
}

/// The name of an object without the part that the server made up.
fn given_name(of: &Value) -> &str {
    of["metadata"]["generateName"].as_str().unwrap_or_else(|| name(of))
}

pub fn title(of: &Value) -> String {
    let namespace = of["metadata"]["namespace"].as_str().unwrap_or("-");
    format!("{} {namespace}/{}", of["kind"].as_str().unwrap(), name(of))
}

/// What is there of a study, without what differs between two deployments of it: how many there are of each object, and their specs.
pub fn shape(study: &str) -> BTreeMap<String, Vec<Value>> {
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for object in labelled(study) {
        let title = format!("{} {}/{}", object["kind"], object["metadata"]["namespace"], given_name(&object));
        found.entry(title.replace(study, "STUDY")).or_default().push(bare(&object, study));
    }
    found
}

/// Two shapes are the same.
pub fn same_shape(is: &BTreeMap<String, Vec<Value>>, was: &BTreeMap<String, Vec<Value>>, when: &str) {
    for title in is.keys().chain(was.keys()) {
        assert_eq!(is.get(title), was.get(title), "{when}: {title}");
    }
}

fn bare(object: &Value, study: &str) -> Value {
    let metadata = &object["metadata"];
    let mut kept = json!({ "labels": metadata["labels"], "spec": object["spec"], "data": object["data"] });
    match object["kind"].as_str().unwrap() {
        "Node" => kept = json!({ "labels": metadata["labels"], "taints": object["spec"]["taints"] }),
        // Which of equal machines it runs on is the scheduler's choice, and a password is a random one.
        "Pod" => kept["spec"].as_object_mut().unwrap().retain(|key, _| key != "nodeName"),
        "Secret" => kept["data"] = json!(object["data"].as_object().unwrap().keys().collect::<Vec<_>>()),
        "Service" => kept["spec"].as_object_mut().unwrap().retain(|key, _| !key.starts_with("clusterIP")),
        "PersistentVolumeClaim" => kept["spec"].as_object_mut().unwrap().retain(|key, _| key != "volumeName"),
        _ => {}
    }
    scrub(&mut kept);
    serde_json::from_str(&kept.to_string().replace(study, "STUDY")).unwrap()
}

/// Takes out the numbers that the server gives an object.
fn scrub(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !key.ends_with("-uid") && !key.ends_with("-hash"));
            map.values_mut().for_each(scrub);
        }
        Value::Array(all) => all.iter_mut().for_each(scrub),
        _ => {}
    }
}

/// The versions of all objects of a study; of a node its marks, since its machine reports all the time.
pub fn versions(study: &str) -> BTreeSet<String> {
    let version = |of: &Value| match of["kind"].as_str() {
        Some("Node") => format!("{} {} {}", title(of), of["metadata"]["labels"], of["metadata"]["annotations"]["perbuck/id"]),
        _ => format!("{} {}", title(of), of["metadata"]["resourceVersion"]),
    };
    labelled(study).iter().map(version).collect()
}

/// Waits until a namespace has as many ready pods.
pub fn ready_pods(namespace: &str, count: usize) {
    let ready = |p: &Value| p["status"]["conditions"].to_string().contains("\"type\":\"Ready\"") && is_ready(p);
    wait_until("pods are ready", || items(&format!("pods -n {namespace}")).iter().filter(|p| ready(p)).count() == count);
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().unwrap();
    conditions.iter().any(|c| c["type"] == "Ready" && c["status"] == "True")
}

const MYSQL_STUDY: &str = r#"schema = 1
name = "kw"
question = "q"
baseline = "x86"
seed = 1
[price]
snapshot = "aws-2026-07"
regions = ["us-east-1"]

[[contender]]
name = "arm"
node = [
  { role = "mysql", instance = "r8g.4xlarge", count = 1, volume = { kind = "gp3", size_gb = 500 } },
  { role = "client", instance = "c8i.4xlarge", count = 2, priced = false },
]
deploy = { provider = "kubernetes", kind = "mysql", version = "8.4", kubernetes = "1.37", zones = ["us-east-1a"], image = { agent = "registry.example/perbuck:1" }, storage = { provisioner = "ebs.csi.aws.com" } }

[[contender]]
name = "x86"
node = [
  { role = "mysql", instance = "r8i.4xlarge", count = 1, volume = { kind = "gp3", size_gb = 500 } },
  { role = "client", instance = "c8i.4xlarge", count = 2, priced = false },
]
deploy = { provider = "kubernetes", kind = "mysql", version = "8.4", kubernetes = "1.37", zones = ["us-east-1a"], image = { agent = "registry.example/perbuck:1" }, storage = { provisioner = "ebs.csi.aws.com" } }

[[workload]]
name = "rw"
kind = "sysbench"
script = "oltp_read_write"
tables = 1
table_size = 1000

[sweep]
connections = [2]
warmup = "1s"
duration = "2s"
trials = 2
"#;
