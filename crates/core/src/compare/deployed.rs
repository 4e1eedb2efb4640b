//! Whether what ran on a Kubernetes cluster is what the study declares and bills: nodes, pods and volumes, line by line.

use std::collections::{BTreeMap, BTreeSet};

use super::Remark;
use crate::run_record::{Deployed, DeployedNode, DeployedPod, RunRecord};
use crate::study::{ADMIN, CLIENT, Contender, Node, Study};

/// What differs between the cluster and the `node` lines of a contender, in words; empty where nothing does.
pub fn deployed_otherwise(study: &Study, contender: &str, seen: &Deployed) -> Vec<String> {
    let Some(declared) = super::machines::declared(study, contender) else { return Vec::new() };
    let mut found = Vec::new();
    for node in &declared.nodes {
        nodes_of(node, declared, seen, &mut found);
        pods_of(node, seen, &mut found);
        volumes_of(node, seen, &mut found);
    }
    let declares = |role: &str| declared.nodes.iter().any(|node| node.role == role);
    // Machines that all contenders share may be another contender's line.
    let of_another = |node: &DeployedNode| node.shared && [ADMIN, CLIENT].contains(&node.role.as_str());
    for node in seen.nodes.iter().filter(|node| !declares(&node.role) && !of_another(node)) {
        found.push(format!("node {} has the role {}, which the bill does not have", node.name, word(&node.role)));
    }
    for pod in &seen.pods {
        state_of(pod, &mut found);
    }
    found
}

/// Pods that started again since they were made. That is told, and no difference from a bill.
pub fn deployed_restarts(seen: &Deployed) -> Vec<String> {
    let restarted = seen.pods.iter().filter(|pod| pod.restarts > 0);
    restarted.map(|pod| format!("pod {} restarted {}", pod.name, counted(pod.restarts as usize, "time"))).collect()
}

/// What became of pods between two looks at the same contender: one that moved, started again, or runs another image.
pub fn deployed_changes(before: &Deployed, after: &Deployed) -> Vec<String> {
    let later: BTreeMap<&str, &DeployedPod> = after.pods.iter().map(|pod| (pod.name.as_str(), pod)).collect();
    let mut found = Vec::new();
    for pod in &before.pods {
        let Some(now) = later.get(pod.name.as_str()) else {
            found.push(format!("pod {} is gone", pod.name));
            continue;
        };
        if now.node != pod.node {
            found.push(format!("pod {} moved from node {} to {}", pod.name, word(&pod.node), word(&now.node)));
        }
        if now.uid != pod.uid && now.node == pod.node {
            found.push(format!("pod {} was made again", pod.name));
        }
        if now.restarts > pod.restarts {
            found.push(format!("pod {} restarted {}", pod.name, counted((now.restarts - pod.restarts) as usize, "time")));
        }
        if now.digest != pod.digest {
            found.push(format!("pod {} runs another image: {}, before {}", pod.name, word(&now.digest), word(&pod.digest)));
        }
    }
    let known: BTreeSet<&str> = before.pods.iter().map(|pod| pod.name.as_str()).collect();
    let new = after.pods.iter().filter(|pod| !known.contains(pod.name.as_str()));
    found.extend(new.map(|pod| format!("pod {} is new", pod.name)));
    found
}

/// That contenders which were up one after the other were measured at different times, and what no interval covers therefore.
pub(super) fn one_by_one(study: &Study, records: &[RunRecord]) -> Option<Remark> {
    let first = records.first().filter(|_| study.sweep.one_by_one)?;
    let deployments = records.iter().map(|r| r.key.deployment()).max().unwrap_or(1);
    let text = if deployments > 1 {
        format!(
            "the contenders were up one after the other: the intervals cover how {deployments} deployments differ, and no steady drift"
        )
    } else {
        "the contenders were up one after the other, once: no interval covers what changed between them, or another deployment; \
         give `sweep.deployments = 3` or more"
            .to_owned()
    };
    Some(Remark { text, flag: None, trials: records.len(), example: first.key.path() })
}

/// The machines of one line of the bill.
fn nodes_of(node: &Node, contender: &Contender, seen: &Deployed, found: &mut Vec<String>) {
    let own: Vec<&DeployedNode> = seen.nodes.iter().filter(|n| n.role == node.role).collect();
    if own.len() != node.count as usize {
        let names: Vec<&str> = own.iter().map(|n| n.name.as_str()).collect();
        let names = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        let has = counted(own.len(), "node");
        found.push(format!("the bill has {} × {} for {}, and the cluster {has}{names}", node.count, node.instance, node.role));
    }
    spread(node, contender, &own, found);
    let arch = node.machine.as_ref().map(|machine| machine.arch.as_str()).or(contender.arch.as_deref());
    for one in own {
        if !one.instance.is_empty() && one.instance != node.instance {
            found.push(format!("node {} of {} is {}, and the bill has {}", one.name, node.role, one.instance, node.instance));
        }
        if let Some(arch) = arch.filter(|arch| *arch != one.arch) {
            found.push(format!("node {} of {} is {}, and the bill has {arch}", one.name, node.role, word(&one.arch)));
        }
        let zones = zones(node, contender);
        if !zones.is_empty() && !one.zone.is_empty() && !zones.contains(&one.zone.as_str()) {
            found.push(format!(
                "node {} of {} is in {}, and the study names {}",
                one.name,
                node.role,
                one.zone,
                zones.join(", ")
            ));
        }
    }
}

/// Whether machines are spread as evenly over the study's zones as they can be.
fn spread(node: &Node, contender: &Contender, own: &[&DeployedNode], found: &mut Vec<String>) {
    let zones = zones(node, contender);
    let counts: Vec<usize> = zones.iter().map(|zone| own.iter().filter(|one| one.zone == *zone).count()).collect();
    let (most, least) = (counts.iter().max().copied().unwrap_or(0), counts.iter().min().copied().unwrap_or(0));
    if most > least + 1 {
        let all: Vec<String> = zones.iter().zip(&counts).map(|(zone, count)| format!("{count} in {zone}")).collect();
        found.push(format!("the nodes of {} are spread unevenly: {}", node.role, all.join(", ")));
    }
}

/// The zones that a node may be in, where the study says.
fn zones<'a>(node: &'a Node, contender: &'a Contender) -> Vec<&'a str> {
    let of_deploy = contender.deploy.iter().flat_map(|deploy| &deploy.zones).map(|zone| zone.value.as_str());
    node.zone.as_deref().map_or_else(|| of_deploy.take(node.zones.unwrap_or(1) as usize).collect(), |zone| vec![zone])
}

/// Where the pods of one line run: one on each of its machines.
fn pods_of(node: &Node, seen: &Deployed, found: &mut Vec<String>) {
    let pods: Vec<&DeployedPod> = seen.pods.iter().filter(|pod| pod.role == node.role).collect();
    let mut on: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for pod in &pods {
        on.entry(pod.node.as_str()).or_default().push(pod.name.as_str());
        let there = seen.nodes.iter().find(|n| n.name == pod.node);
        if !pod.node.is_empty() && there.is_none_or(|there| there.role != node.role) {
            let of = there.map_or_else(|| "no node of this contender".to_owned(), |there| format!("a node of {}", there.role));
            found.push(format!("pod {} of {} runs on {}, which is {of}", pod.name, node.role, pod.node));
        }
    }
    for (name, pods) in on.into_iter().filter(|(name, pods)| !name.is_empty() && pods.len() > 1) {
        found.push(format!("{} pods of {} share node {name}: {}", pods.len(), node.role, pods.join(", ")));
    }
    let runs_pods = ![ADMIN, CLIENT].contains(&node.role.as_str());
    if runs_pods && pods.len() != node.count as usize {
        let (machines, has) = (counted(node.count as usize, "machine"), counted(pods.len(), "pod"));
        found.push(format!("the bill has {machines} for {}, and the cluster {has}", node.role));
    }
}

/// The volumes of one line: one on each of its machines.
fn volumes_of(node: &Node, seen: &Deployed, found: &mut Vec<String>) {
    let Some(volume) = node.volumes.first() else { return };
    let own: Vec<_> = seen.volumes.iter().filter(|v| v.role == node.role).collect();
    if own.len() != node.count as usize {
        let (billed, has) = (counted(node.count as usize, "volume"), counted(own.len(), "volume"));
        found.push(format!("the bill has {billed} for {}, and the cluster {has}", node.role));
    }
    for one in own {
        let mut differs = |what: &str, is: Option<String>, billed: Option<String>| {
            if let (is, Some(billed)) = (is.unwrap_or_else(|| "not requested".to_owned()), billed)
                && is != billed
            {
                found.push(format!("volume {} of {} has {what} {is}, and the bill has {billed}", one.claim, node.role));
            }
        };
        differs("the size", Some(format!("{} GiB", one.size_gib)), Some(format!("{} GiB", volume.size_gb)));
        if !one.kind.is_empty() {
            differs("the kind", Some(one.kind.clone()), Some(volume.kind.clone()));
        }
        differs("IOPS", one.iops.map(|n| n.to_string()), volume.iops.map(|n| n.to_string()));
        let rate = |n: u32| format!("{n} MiB/s");
        differs("a throughput of", one.throughput_mib_s.map(rate), volume.throughput_mib_s.map(rate));
    }
}

fn state_of(pod: &DeployedPod, found: &mut Vec<String>) {
    if pod.node.is_empty() {
        found.push(format!("pod {} runs on no node", pod.name));
    } else if !pod.ready {
        found.push(format!("pod {} is not ready", pod.name));
    }
}

/// `1 pod`, `2 pods`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn word(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}
