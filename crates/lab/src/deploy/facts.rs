//! What the objects of an API server say of nodes, pods and volumes.

use perbuck_core::run_record::{Deployed, DeployedNode, DeployedPod, DeployedVolume, arch};
use perbuck_deploy::kubernetes::plan::dns;
use perbuck_deploy::kubernetes::{System, label};
use serde_json::Value;

use super::quantity::{bytes, cpu_m, unix_s};

const GIB: u64 = 1 << 30;

/// The text at a path of keys; empty where there is none. Keys may hold `/` and `.`.
pub(super) fn text<'v>(of: &'v Value, path: &[&str]) -> &'v str {
    at(of, path).as_str().unwrap_or_default()
}

/// The value at a path of keys.
pub(super) fn at<'v>(of: &'v Value, path: &[&str]) -> &'v Value {
    path.iter().fold(of, |of, key| &of[*key])
}

fn list<'v>(of: &'v Value, path: &[&str]) -> &'v [Value] {
    at(of, path).as_array().map_or(&[], Vec::as_slice)
}

/// The name of an object.
pub(super) fn name(of: &Value) -> &str {
    text(of, &["metadata", "name"])
}

fn label_of<'v>(of: &'v Value, key: &str) -> &'v str {
    text(of, &["metadata", "labels", key])
}

/// What is known of one contender: its own nodes and those of the client, its pods, and its volumes by the classes that they are of.
pub(super) fn deployed(
    (cluster, kubernetes): (&str, &str),
    system: &System,
    nodes: &[Value],
    (pods, claims, classes): (&[Value], &[Value], &[Value]),
) -> Deployed {
    let own = dns(&system.contender);
    let is_own = |of: &&Value| [own.as_str(), ""].contains(&label_of(of, label::CONTENDER));
    let mut nodes: Vec<DeployedNode> = nodes.iter().filter(is_own).map(node).collect();
    let mut pods: Vec<DeployedPod> = pods.iter().filter(|pod| !label_of(pod, label::COMPONENT).is_empty()).map(pod).collect();
    let mut volumes: Vec<DeployedVolume> = claims.iter().map(|claim| volume(claim, classes)).collect();
    nodes.sort_by(|a, b| a.name.cmp(&b.name));
    pods.sort_by(|a, b| a.name.cmp(&b.name));
    volumes.sort_by(|a, b| a.claim.cmp(&b.claim));
    Deployed { cluster: cluster.to_owned(), kubernetes: kubernetes.to_owned(), nodes, pods, volumes }
}

/// A node by its labels and its status.
pub(super) fn node(of: &Value) -> DeployedNode {
    let word = label_of(of, "kubernetes.io/arch");
    DeployedNode {
        name: name(of).to_owned(),
        role: label_of(of, label::ROLE).to_owned(),
        shared: label_of(of, label::CONTENDER).is_empty(),
        instance: label_of(of, "node.kubernetes.io/instance-type").to_owned(),
        arch: arch(word).unwrap_or(word).to_owned(),
        zone: label_of(of, "topology.kubernetes.io/zone").to_owned(),
        kernel: text(of, &["status", "nodeInfo", "kernelVersion"]).to_owned(),
        allocatable_cpu_m: cpu_m(text(of, &["status", "allocatable", "cpu"])),
        allocatable_bytes: bytes(text(of, &["status", "allocatable", "memory"])),
        created_unix_s: unix_s(text(of, &["metadata", "creationTimestamp"])),
    }
}

/// A pod; its main container is the first.
pub(super) fn pod(of: &Value) -> DeployedPod {
    let containers = list(of, &["spec", "containers"]);
    let requested = |what: &str, read: fn(&str) -> u64| -> u64 {
        containers.iter().map(|container| read(text(container, &["resources", "requests", what]))).sum()
    };
    let statuses = list(of, &["status", "containerStatuses"]);
    let first = containers.first().map(|container| text(container, &["name"])).unwrap_or_default();
    let main = statuses.iter().find(|status| text(status, &["name"]) == first);
    let restarts = statuses.iter().filter_map(|status| status["restartCount"].as_u64()).sum::<u64>();
    DeployedPod {
        name: name(of).to_owned(),
        uid: text(of, &["metadata", "uid"]).to_owned(),
        role: label_of(of, label::COMPONENT).to_owned(),
        node: text(of, &["spec", "nodeName"]).to_owned(),
        ready: is_ready(of),
        cpu_m: requested("cpu", cpu_m),
        memory_bytes: requested("memory", bytes),
        restarts: u32::try_from(restarts).unwrap_or(u32::MAX),
        image: containers.first().map(|container| text(container, &["image"])).unwrap_or_default().to_owned(),
        // `docker.io/pingcap/tikv@sha256:…`: the digest alone is the same on every node.
        digest: main
            .map(|status| text(status, &["imageID"]))
            .and_then(|id| id.rsplit_once('@'))
            .map_or(String::new(), |(_, digest)| digest.to_owned()),
    }
}

/// Whether a pod takes work.
pub(super) fn is_ready(pod: &Value) -> bool {
    if ["Failed", "Succeeded"].contains(&text(pod, &["status", "phase"])) {
        return false;
    }
    let condition = list(pod, &["status", "conditions"]).iter().find(|c| text(c, &["type"]) == "Ready");
    condition.is_some_and(|c| text(c, &["status"]) == "True") && pod["metadata"]["deletionTimestamp"].is_null()
}

/// A volume by its claim, and what its class requests.
fn volume(claim: &Value, classes: &[Value]) -> DeployedVolume {
    let class_name = text(claim, &["spec", "storageClassName"]);
    let class = classes.iter().find(|class| name(class) == class_name).unwrap_or(&Value::Null);
    let parameter = |keys: [&str; 2]| -> Option<u32> {
        keys.iter().find_map(|key| text(class, &["parameters", key]).trim_end_matches("Mi").parse().ok())
    };
    let size = text(claim, &["status", "capacity", "storage"]);
    let size = if size.is_empty() { text(claim, &["spec", "resources", "requests", "storage"]) } else { size };
    DeployedVolume {
        claim: name(claim).to_owned(),
        role: label_of(class, label::ROLE).to_owned(),
        class: class_name.to_owned(),
        kind: text(class, &["parameters", "type"]).to_owned(),
        size_gib: bytes(size) / GIB,
        iops: parameter(["iops", "provisioned-iops-on-create"]),
        throughput_mib_s: parameter(["throughput", "provisioned-throughput-on-create"]),
        created_unix_s: unix_s(text(claim, &["metadata", "creationTimestamp"])),
    }
}

/// Why a pod does not run, in the cluster's words; `None` of one that does, or that has just begun.
pub(super) fn trouble(pod: &Value) -> Option<String> {
    let unscheduled = list(pod, &["status", "conditions"])
        .iter()
        .find(|c| text(c, &["type"]) == "PodScheduled" && text(c, &["status"]) == "False")
        .map(|c| format!("no node takes it: {}", text(c, &["message"])));
    let waiting = || {
        let statuses = ["initContainerStatuses", "containerStatuses"].map(|key| list(pod, &["status", key]));
        let all = statuses.iter().flat_map(|statuses| statuses.iter());
        let reasons =
            all.map(|status| (text(status, &["state", "waiting", "reason"]), text(status, &["state", "waiting", "message"])));
        let bad = reasons.into_iter().find(|(reason, _)| !["", "ContainerCreating", "PodInitializing"].contains(reason));
        bad.map(|(reason, message)| format!("{reason}: {message}"))
    };
    unscheduled.or_else(waiting).or_else(|| ended(pod)).map(|why| format!("pod {}: {why}", name(pod)))
}

/// How a pod, or a container of it, has ended: evicted, out of memory, by an exit code.
fn ended(pod: &Value) -> Option<String> {
    let (reason, message) = (text(pod, &["status", "reason"]), text(pod, &["status", "message"]));
    if !reason.is_empty() {
        return Some(format!("{reason}: {message}"));
    }
    list(pod, &["status", "containerStatuses"]).iter().find_map(|status| {
        let is_back = at(status, &["state", "terminated"]).is_null();
        let end = at(status, &[if is_back { "lastState" } else { "state" }, "terminated"]);
        let (code, reason) = (end["exitCode"].as_i64()?, text(end, &["reason"]));
        let after = if is_back { ", and was started again" } else { "" };
        Some(format!("container {} ended with exit code {code} ({reason}){after}", text(status, &["name"])))
    })
}

/// What an event warns of, such as a volume that cannot be made or a quota; `None` of one that does not.
pub(super) fn warning(event: &Value) -> Option<String> {
    let (kind, of) = (text(event, &["involvedObject", "kind"]), text(event, &["involvedObject", "name"]));
    let (reason, message) = (text(event, &["reason"]), text(event, &["message"]));
    (text(event, &["type"]) == "Warning").then(|| format!("{} {of}: {reason}: {message}", kind.to_lowercase()))
}
