//! Namespaces of systems, and the storage classes of their volumes.

use std::collections::BTreeMap;

use perbuck_core::study::{Provider, Volume};

use super::component::{Component, Kind};
use super::object::{Entry, Object, Value, entry, map, texts};
use super::plan::{Cluster, Group, Plan, System, dns};
use super::{gke, label, operator, pod};

/// The key of `deploy.storage` that names the volume driver of a cluster that exists.
pub const PROVISIONER: &str = "provisioner";
/// The volume drivers of Amazon and Google, whose parameters perbuck knows.
const EBS: &str = "ebs.csi.aws.com";
const PD: &str = "pd.csi.storage.gke.io";
/// Parameters that `node.volume` gives, so that the bill has what runs.
pub const BILLED: [&str; 6] =
    ["type", "iops", "iopspergb", "throughput", "provisioned-iops-on-create", "provisioned-throughput-on-create"];
/// The parameter that names the file system.
const FILE_SYSTEM: &str = "csi.storage.k8s.io/fstype";

/// The namespace of each system, and a storage class for each component that keeps data.
pub fn objects(plan: &Plan, cluster: &Cluster) -> Vec<Object> {
    let mut objects = vec![pod::namespace(plan, &operator::namespace(plan))];
    for system in &cluster.systems {
        objects.push(namespace(plan, system));
        for (component, group) in cluster.groups_of(system) {
            objects.extend(group.data.as_ref().map(|volume| storage_class(plan, cluster, system, component, group, volume)));
        }
    }
    objects
}

/// The name of the storage class of a component: its namespace and its role, since a storage class is in no namespace.
pub fn class(system: &System, component: Component) -> String {
    format!("{}-{}", system.namespace, component.role())
}

/// The size of a volume as Kubernetes writes it. Amazon and Google bill a GiB where their lists say GB; `G` would be 10^9 bytes.
pub fn size(volume: &Volume) -> String {
    format!("{}Gi", volume.size_gb)
}

fn labels(plan: &Plan, system: &System) -> Vec<(&'static str, String)> {
    vec![(label::STUDY, plan.study.clone()), (label::CONTENDER, dns(&system.contender))]
}

fn namespace(plan: &Plan, system: &System) -> Object {
    let metadata = [entry("name", system.namespace.as_str()), entry("labels", texts(labels(plan, system)))];
    Object::new(
        format!("All of contender {}.", system.contender),
        [entry("apiVersion", "v1"), entry("kind", "Namespace"), entry("metadata", map(metadata))],
    )
}

fn storage_class(
    plan: &Plan,
    cluster: &Cluster,
    system: &System,
    component: Component,
    group: &Group,
    volume: &Volume,
) -> Object {
    let mut with_role = labels(plan, system);
    with_role.push((label::ROLE, group.role.clone()));
    let metadata = [entry("name", class(system, component)), entry("labels", texts(with_role.clone()))];
    let (provisioner, zone) = match cluster.provider {
        Provider::Eks => (entry("provisioner", EBS), "topology.ebs.csi.aws.com/zone"),
        Provider::Gke => (entry("provisioner", PD), "topology.gke.io/zone"),
        Provider::Kubernetes => {
            let named = system.storage.get(PROVISIONER).map(String::as_str).unwrap_or_default();
            (entry("provisioner", named).of("`deploy.storage.provisioner`"), "")
        }
    };
    let own = cluster.provider != Provider::Kubernetes;
    let driver = driver(cluster.provider, system.storage.get(PROVISIONER).map(String::as_str));
    let mut parameters = if driver == Provider::Kubernetes { Vec::new() } else { provided(driver, group, volume, &with_role) };
    let file_system = override_with(&mut parameters, &system.storage);
    let mut entries = vec![
        entry("apiVersion", "storage.k8s.io/v1"),
        entry("kind", "StorageClass"),
        entry("metadata", map(metadata)),
        provisioner,
        entry("parameters", map(parameters)),
        entry("reclaimPolicy", "Delete").of("Volumes go with the study; one that stays is billed."),
        entry("volumeBindingMode", "WaitForFirstConsumer").of("The volume is made in the zone of its pod."),
    ];
    // A driver that perbuck does not know may refuse these.
    if own {
        entries.push(entry("allowVolumeExpansion", true));
        // TiDB's documentation of Kubernetes advises nodelalloc, an option of ext4 alone.
        let options =
            if system.kind == Kind::Tidb && file_system == "ext4" { vec!["noatime", "nodelalloc"] } else { vec!["noatime"] };
        entries.push(entry("mountOptions", options));
        if !group.zones.is_empty() {
            let zones = map([entry("key", zone), entry("values", group.zones.clone())]);
            let terms = map([entry("matchLabelExpressions", Value::List(vec![zones]))]);
            entries.push(entry("allowedTopologies", Value::List(vec![terms])));
        }
    }
    Object::new(format!("The volumes of {} of {}.", component.role(), system.contender), entries)
}

/// Whose volume driver a system has: that of its provider, or the one that the study names for a cluster that exists.
pub(in crate::kubernetes) fn driver(provider: Provider, named: Option<&str>) -> Provider {
    match (provider, named) {
        (Provider::Kubernetes, Some(EBS)) => Provider::Eks,
        (Provider::Kubernetes, Some(PD)) => Provider::Gke,
        (own, _) => own,
    }
}

/// What the study says of a volume, in the words of the provider's driver.
fn provided(provider: Provider, group: &Group, volume: &Volume, labels: &[(&'static str, String)]) -> Vec<Entry> {
    let (iops, throughput, unit) = match provider {
        Provider::Eks => ("iops", "throughput", ""),
        _ => ("provisioned-iops-on-create", "provisioned-throughput-on-create", "Mi"),
    };
    let mut all = vec![entry("type", volume.kind.as_str()).of(group.source("volume.kind"))];
    all.extend(volume.iops.map(|n| entry(iops, n.to_string()).of(group.source("volume.iops"))));
    let mib = volume.throughput_mib_s;
    all.extend(mib.map(|n| entry(throughput, format!("{n}{unit}")).of(group.source("volume.throughput_mib_s"))));
    all.push(entry(FILE_SYSTEM, "ext4"));
    if provider == Provider::Eks {
        all.push(entry("encrypted", "true"));
        // So that a volume that is left can be found.
        all.extend(
            labels.iter().zip(1..).map(|((key, value), n)| entry(format!("tagSpecification_{n}"), format!("{key}={value}"))),
        );
    } else {
        all.push(entry("labels", gke::resource_labels(labels)));
    }
    all
}

/// Puts the study's own parameters over those that perbuck gives; says which file system comes of it.
fn override_with(parameters: &mut Vec<Entry>, own: &BTreeMap<String, String>) -> String {
    for (key, value) in own.iter().filter(|(key, _)| *key != PROVISIONER) {
        // The drivers' old name of the file system.
        let key = if key.eq_ignore_ascii_case("fstype") { FILE_SYSTEM } else { key };
        let put = entry(key, value.as_str()).of(format!("`deploy.storage.{key}`"));
        match parameters.iter_mut().find(|of| of.key().eq_ignore_ascii_case(key)) {
            Some(given) => *given = put,
            None => parameters.push(put),
        }
    }
    let named = parameters.iter().find(|of| of.key() == FILE_SYSTEM).and_then(|of| of.value().text());
    named.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{MYSQL, TIDB, plan, study};
    use super::*;

    fn made(text: &str) -> Vec<Object> {
        let plan = plan(&study(text)).unwrap().unwrap();
        objects(&plan, &plan.clusters[0])
    }

    #[test]
    fn each_system_has_a_namespace_and_a_class_for_each_volume() {
        let objects = made(TIDB);
        let names: Vec<(&str, &str)> = objects.iter().map(|object| (object.kind(), object.name())).collect();
        let of = |contender: &str| format!("perbuck-arm-value-{contender}");
        let (arm, x86) = (of("arm"), of("x86"));
        let (arm_tikv, arm_pd, x86_tikv, x86_pd) = (of("arm-tikv"), of("arm-pd"), of("x86-tikv"), of("x86-pd"));
        let own = "perbuck-arm-value".to_owned();
        let expected = [("Namespace", &own), ("Namespace", &arm), ("StorageClass", &arm_tikv), ("StorageClass", &arm_pd)];
        let expected = expected.into_iter().chain([("Namespace", &x86), ("StorageClass", &x86_tikv), ("StorageClass", &x86_pd)]);
        assert_eq!(names, expected.map(|(kind, name)| (kind, name.as_str())).collect::<Vec<_>>());
        let tikv = objects[2].value.json();
        let expected = serde_json::json!({
            "type": "gp3", "iops": "6000", "throughput": "500", "csi.storage.k8s.io/fstype": "ext4", "encrypted": "true",
            "tagSpecification_1": "perbuck/study=arm-value", "tagSpecification_2": "perbuck/contender=arm",
            "tagSpecification_3": "perbuck/role=tikv",
        });
        assert_eq!(tikv["parameters"], expected);
        assert_eq!(tikv["mountOptions"], serde_json::json!(["noatime", "nodelalloc"]));
        let topology = &tikv["allowedTopologies"][0]["matchLabelExpressions"][0];
        assert_eq!(*topology, serde_json::json!({ "key": "topology.ebs.csi.aws.com/zone", "values": ["us-east-1a"] }));
        assert_eq!(tikv["metadata"]["labels"]["perbuck/role"], "tikv");
        // What the size includes is not asked for.
        assert!(objects[3].value.at("parameters").unwrap().at("iops").is_none());
    }

    #[test]
    fn the_study_chooses_another_file_system_but_no_other_volume() {
        let with = |storage: &str| TIDB.replace("image = { agent", &format!("storage = {{ {storage} }}, image = {{ agent"));
        let tikv = made(&with("fsType = \"xfs\", kmsKeyId = \"key\", encrypted = \"false\""))[2].value.json();
        assert_eq!(tikv["parameters"]["csi.storage.k8s.io/fstype"], "xfs");
        assert_eq!((&tikv["parameters"]["kmsKeyId"], &tikv["parameters"]["encrypted"]), (&"key".into(), &"false".into()));
        assert_eq!(tikv["mountOptions"], serde_json::json!(["noatime"]));
        for (storage, said) in [("iops = 9000", "`node.volume` says"), ("provisioner = \"x\"", "brings its own volume driver")] {
            let text: String = plan(&study(&with(storage))).unwrap_err().iter().map(ToString::to_string).collect();
            assert!(text.contains(said), "{storage}: {text}");
        }
    }

    #[test]
    fn an_existing_cluster_has_the_driver_that_the_study_names() {
        let class = made(MYSQL)[2].value.json();
        assert_eq!((&class["provisioner"], &class["parameters"]), (&"rancher.io/local-path".into(), &serde_json::json!({})));
        assert!(class.get("mountOptions").is_none() && class.get("allowedTopologies").is_none());
        let without = MYSQL.replace("storage = { provisioner = \"rancher.io/local-path\" }, ", "");
        let text: String = plan(&study(&without)).unwrap_err().iter().map(ToString::to_string).collect();
        assert!(text.contains("no volume driver"), "{text}");
    }
}
