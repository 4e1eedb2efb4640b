//! Nodes of a cluster that exists: perbuck marks those that a study runs on, and takes the marks off at its end.

use std::collections::BTreeMap;

use perbuck_deploy::kubernetes::plan::dns;
use perbuck_deploy::kubernetes::{Group, label};
use perbuck_kubernetes::{ApiError, Kind};
use serde_json::{Value, json};

use super::cluster::{MANAGER, Reached, told};
use super::facts::{at, name, node, text};
use crate::error::{ErrorKind, LabError};
use crate::progress::Progress;

/// Names that a message shows, at most.
const NAMES_SHOWN: usize = 8;

/// Attempts to mark nodes that other programs change at the same time.
const ATTEMPTS: u32 = 20;

/// Marks as many free nodes as each group has machines in each of its zones; those that are marked already stay.
///
/// # Errors
/// Too few nodes of a type are free.
pub(super) fn claim(reached: &Reached<'_>, id: &str, progress: &mut dyn Progress) -> Result<(), LabError> {
    let mut last = Ok(());
    for _ in 0..ATTEMPTS {
        match claim_listed(reached, id, progress)? {
            Ok(()) => return Ok(()),
            Err(conflict) => last = Err(told(conflict)),
        }
    }
    last
}

/// The same with the nodes as they are listed now. The inner error is that of a node that changed since: another study may have it.
fn claim_listed(reached: &Reached<'_>, id: &str, progress: &mut dyn Progress) -> Result<Result<(), ApiError>, LabError> {
    let nodes = reached.list(("v1", "Node"), None, "")?;
    let marked: BTreeMap<&str, &Value> = nodes.iter().filter(|n| !study_of(n).is_empty()).map(|n| (name(n), n)).collect();
    let mut free: Vec<&Value> = nodes.iter().filter(|n| !marked.contains_key(name(n)) && is_usable(n)).collect();
    free.sort_by_key(|n| name(n));
    let mut taken: Vec<(&Group, &Value)> = Vec::new();
    let pools = reached.rendered.cluster.groups.iter().flat_map(|group| group.pools().into_iter().map(move |pool| (group, pool)));
    for (group, pool) in pools {
        let in_zone = |n: &Value| pool.zone.as_deref().is_none_or(|zone| node(n).zone == zone);
        let own = |n: &&&Value| study_of(n) == reached.rendered.study && is_of(n, group) && in_zone(n);
        let have = marked.values().filter(own).count();
        let fits = |n: &&Value| fits(n, group) && in_zone(n);
        let wanted = (pool.count as usize).saturating_sub(have);
        let chosen: Vec<&Value> = free.iter().copied().filter(fits).take(wanted).collect();
        if chosen.len() < wanted {
            return Err(too_few(group, wanted, &nodes));
        }
        free.retain(|n| !chosen.iter().any(|c| name(c) == name(n)));
        taken.extend(chosen.into_iter().map(|n| (group, n)));
    }
    for (group, of) in taken {
        progress.detail(&format!("node {} is for {}", name(of), group.name));
        match reached.api.apply(&mark(reached, group, of, id), MANAGER) {
            Ok(_) => {}
            Err(error) if error.kind == perbuck_kubernetes::ErrorKind::Conflict => return Ok(Err(error)),
            Err(error) => return Err(told(error)),
        }
    }
    Ok(Ok(()))
}

/// Takes the marks of this study off all nodes. A controller that wrote taints since owns all of them, so no apply would do it.
///
/// # Errors
/// A node that changes all the time.
pub(super) fn release(reached: &Reached<'_>, id: &str) -> Result<(), LabError> {
    let mut last = Ok(());
    for _ in 0..ATTEMPTS {
        let nodes = reached.list(("v1", "Node"), None, "")?;
        let own =
            |n: &&Value| study_of(n) == reached.rendered.study || text(n, &["metadata", "annotations", super::cluster::ID]) == id;
        let released = nodes
            .iter()
            .filter(own)
            .try_for_each(|of| reached.api.merge((&Kind::of("v1", "Node"), None, name(of)), &unmark(of), MANAGER).map(drop));
        match released {
            Ok(()) => return Ok(()),
            Err(error) if error.kind == perbuck_kubernetes::ErrorKind::Conflict => last = Err(told(error)),
            Err(error) => return Err(told(error)),
        }
    }
    last
}

/// What takes the marks off a node, unless it changed since it was listed.
fn unmark(of: &Value) -> Value {
    let taints = at(of, &["spec", "taints"]).as_array().map_or(&[][..], Vec::as_slice);
    let others: Vec<&Value> = taints.iter().filter(|taint| text(taint, &["key"]) != label::ROLE).collect();
    json!({
        "metadata": {
            "resourceVersion": text(of, &["metadata", "resourceVersion"]),
            "labels": { label::STUDY: null, label::CONTENDER: null, label::ROLE: null },
            "annotations": { super::cluster::ID: null },
        },
        "spec": { "taints": others },
    })
}

fn mark(reached: &Reached<'_>, group: &Group, of: &Value, id: &str) -> Value {
    // The server refuses the mark if the node changed since it was listed.
    let version = text(of, &["metadata", "resourceVersion"]);
    let own = [(label::STUDY, reached.rendered.study.clone()), (label::ROLE, group.role.clone())];
    let labels: BTreeMap<&str, String> =
        own.into_iter().chain(group.contender.as_deref().map(|of| (label::CONTENDER, dns(of)))).collect();
    let mut object = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": { "name": name(of), "resourceVersion": version, "labels": labels, "annotations": { super::cluster::ID: id } },
    });
    if group.is_tainted() {
        object["spec"] = json!({ "taints": [{ "key": label::ROLE, "value": group.role, "effect": "NoSchedule" }] });
    }
    object
}

fn study_of(of: &Value) -> &str {
    text(of, &["metadata", "labels", label::STUDY])
}

/// Whether a marked node is one of a group.
fn is_of(of: &Value, group: &Group) -> bool {
    let labels = |key: &str| text(of, &["metadata", "labels", key]);
    labels(label::ROLE) == group.role && labels(label::CONTENDER) == group.contender.as_deref().map(dns).unwrap_or_default()
}

/// Whether pods may come to a node.
fn is_usable(of: &Value) -> bool {
    let conditions = at(of, &["status", "conditions"]).as_array().map_or(&[][..], Vec::as_slice);
    let ready = conditions.iter().any(|c| text(c, &["type"]) == "Ready" && text(c, &["status"]) == "True");
    let tainted = at(of, &["spec", "taints"]).as_array().is_some_and(|taints| !taints.is_empty());
    ready && !tainted && of["spec"]["unschedulable"].as_bool() != Some(true)
}

/// Whether a node is such a machine, in such a zone.
fn fits(of: &Value, group: &Group) -> bool {
    let node = node(of);
    node.instance == group.instance
        && node.arch == group.machine.arch
        && (group.zones.is_empty() || group.zones.contains(&node.zone))
}

fn too_few(group: &Group, wanted: usize, nodes: &[Value]) -> LabError {
    let near: Vec<String> = nodes
        .iter()
        .filter(|n| node(n).instance == group.instance)
        .take(NAMES_SHOWN)
        .map(|n| {
            let of = study_of(n);
            let why = match () {
                () if !of.is_empty() => format!("has the study {of}"),
                () if !is_usable(n) => "is tainted or not ready".to_owned(),
                () if !fits(n, group) => format!("is in {}", node(n).zone),
                () => "is free".to_owned(),
            };
            format!("{} {why}", name(n))
        })
        .collect();
    let near = if near.is_empty() { "none is there".to_owned() } else { near.join(", ") };
    let nodes = if wanted == 1 { "node" } else { "nodes" };
    let message = format!("{} needs {wanted} more {nodes} of {}: {near}", group.name, group.instance);
    LabError::new(ErrorKind::Target, message, "add such nodes to the cluster, or correct `instance` and `count` of the `node`")
}
