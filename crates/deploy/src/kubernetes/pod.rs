//! What the pods of all objects have in common: labels, nodes, tolerations, resources, and how images and volumes are written.

use perbuck_core::study::{Provider, Volume};

use super::capacity::{self, Share};
use super::component::Component;
use super::object::{Entry, Value, entry, map, texts};
use super::plan::{Cluster, Group, Plan, dns};
use super::{label, storage};

/// The label of a node's processors, which Kubernetes sets.
const ARCH: &str = "kubernetes.io/arch";
/// The label of a node's zone, which Kubernetes sets.
pub(super) const ZONE: &str = "topology.kubernetes.io/zone";
/// The label of a node's name, which Kubernetes sets.
pub(super) const HOST: &str = "kubernetes.io/hostname";

/// The labels of all that belongs to a contender, or to all of them.
pub(super) fn of_contender(plan: &Plan, contender: Option<&str>) -> Vec<(&'static str, String)> {
    let of = contender.map(|of| (label::CONTENDER, dns(of)));
    [(label::STUDY, plan.study.clone())].into_iter().chain(of).collect()
}

/// The labels of what runs on machines of a role.
pub(super) fn of_role(role: &str, component: Option<Component>) -> Vec<(&'static str, String)> {
    let component = component.map(|component| (label::COMPONENT, component.role().to_owned()));
    [(label::ROLE, role.to_owned())].into_iter().chain(component).collect()
}

/// The labels of a pod on the machines of a group.
pub(super) fn labels(plan: &Plan, group: &Group) -> Vec<(&'static str, String)> {
    let mut all = of_contender(plan, group.contender.as_deref());
    all.extend(of_role(&group.role, group.component));
    all
}

/// The name, the namespace and the labels of an object.
pub(super) fn metadata(name: &str, namespace: Option<&str>, labels: Vec<(&'static str, String)>) -> Entry {
    let namespace = namespace.map(|namespace| entry("namespace", namespace));
    let entries = [entry("name", name)].into_iter().chain(namespace);
    entry("metadata", map(entries.chain([entry("labels", texts(labels))])))
}

/// A namespace.
pub(super) fn namespace(plan: &Plan, name: &str) -> super::Object {
    let metadata = metadata(name, None, of_contender(plan, None));
    super::Object::new(
        "What perbuck itself runs for the study.",
        [entry("apiVersion", "v1"), entry("kind", "Namespace"), metadata],
    )
}

/// An architecture as Kubernetes names it.
fn arch(group: &Group) -> &'static str {
    if group.machine.arch == "aarch64" { "arm64" } else { "amd64" }
}

/// The nodes of a group, and not those of another study on the same cluster.
pub(super) fn node_selector(plan: &Plan, group: &Group) -> Entry {
    let of = group.contender.as_deref().map(|of| (label::CONTENDER, dns(of)));
    let nodes = [(label::ROLE, group.role.clone()), (ARCH, arch(group).to_owned())];
    entry("nodeSelector", texts([(label::STUDY, plan.study.clone())].into_iter().chain(of).chain(nodes)))
}

/// What keeps all other pods off a group's nodes.
pub(super) fn tolerations(cluster: &Cluster, group: &Group) -> Option<Entry> {
    let taint = |key: &str, value: &str| {
        map([entry("key", key), entry("operator", "Equal"), entry("value", value), entry("effect", "NoSchedule")])
    };
    let own = (group.role != super::plan::ADMIN).then(|| taint(label::ROLE, &group.role));
    let arm = (cluster.provider == Provider::Gke && arch(group) == "arm64").then(|| taint(ARCH, "arm64"));
    let all: Vec<Value> = own.into_iter().chain(arm).collect();
    (!all.is_empty()).then(|| entry("tolerations", all))
}

/// No two pods with these labels on one machine.
pub(super) fn apart(labels: Vec<(&'static str, String)>) -> Entry {
    let term = map([entry("labelSelector", map([entry("matchLabels", texts(labels))])), entry("topologyKey", HOST)]);
    let rule = map([entry("requiredDuringSchedulingIgnoredDuringExecution", vec![term])]);
    entry("affinity", map([entry("podAntiAffinity", rule).of("one on each machine")]))
}

/// What a pod can have of each machine of a group.
pub(super) fn share(cluster: &Cluster, group: &Group) -> Share {
    capacity::pod(cluster.provider, &group.machine)
}

/// What a component may take of its machine; `storage` is a volume that its object asks for in the same place.
///
/// A CPU limit would throttle it below the processors of its machine. With no other pod there, it needs none.
pub(super) fn resources(cluster: &Cluster, group: &Group, storage: Option<&Volume>) -> [Entry; 2] {
    let share = share(cluster, group);
    let machine = &group.machine;
    let left = format!("what kubelet and system leave of {} vCPU and {} GiB", machine.vcpus, machine.memory_bytes >> 30);
    let storage = storage.map(|volume| entry("storage", storage::size(volume)).of(format!("{} of the node", volume.kind)));
    let requests = [entry("cpu", share.cpu()), entry("memory", share.memory())].into_iter().chain(storage);
    [
        entry("requests", map(requests)).of(left),
        entry("limits", map([entry("memory", share.memory())])).of("no CPU limit: it may use every processor of its machine"),
    ]
}

/// An image as its name and its tag; one that is named by its digest, or has no tag, is all name.
pub(super) fn image(image: &str) -> (&str, &str) {
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') && !image.contains('@') => (name, tag),
        _ => (image, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_has_a_name_and_a_tag() {
        assert_eq!(image("pingcap/tikv:v8.5.3"), ("pingcap/tikv", "v8.5.3"));
        assert_eq!(image("registry.example:5000/own/tikv"), ("registry.example:5000/own/tikv", ""));
        assert_eq!(image("registry.example:5000/tikv:1"), ("registry.example:5000/tikv", "1"));
        assert_eq!(image("own/tikv:1@sha256:ab"), ("own/tikv:1@sha256:ab", ""));
    }
}
