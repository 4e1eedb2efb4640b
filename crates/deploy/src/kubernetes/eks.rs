//! A cluster on Amazon EKS as a file of eksctl (`ClusterConfig`, `eksctl.io/v1alpha5`).
//!
//! No pod gets a right on AWS but the volume driver. A study names no bucket, so TiKV gets no right on one. For backups add an entry of
//! `iam.podIdentityAssociations` for the service account of TiKV's namespace.

use super::label;
use super::object::{Entry, Object, Value, entry, map, texts};
use super::plan::{Cluster, Group, Plan, Pool};

/// EKS wants subnets in so many zones for its control plane.
const CONTROL_PLANE_ZONES: usize = 2;
/// Pods that a node may have; `capacity` counts with it.
const PODS: u32 = 110;

/// The cluster and all its groups of machines.
pub fn config(plan: &Plan, cluster: &Cluster) -> Object {
    let names: Vec<&str> = cluster.systems.iter().map(|system| system.contender.as_str()).collect();
    let region = cluster.region.clone().unwrap_or_default();
    let metadata = [
        entry("name", cluster.cloud_name.as_str()),
        entry("region", region).of("`region` of the contenders, or the first of `price.regions`"),
        entry("version", cluster.kubernetes.as_str()).of("`deploy.kubernetes`"),
        entry("tags", texts([(label::STUDY, plan.study.as_str())])).of("Every resource that eksctl makes has them."),
    ];
    let pools = cluster.groups.iter().flat_map(|group| group.pools().into_iter().map(move |pool| (group, pool)));
    let groups: Vec<Value> = pools.map(|(group, pool)| map(node_group(plan, group, &pool))).collect();
    let mut object = Object::new(
        format!("The cluster of study {}, for {}.", plan.study, names.join(", ")),
        [
            entry("apiVersion", "eksctl.io/v1alpha5"),
            entry("kind", "ClusterConfig"),
            entry("metadata", map(metadata)),
            zones(cluster),
            entry("vpc", map(network())),
            entry("iam", map([entry("withOIDC", true).of("The volume driver gets its role by it.")])),
            entry("addonsConfig", map([entry("disableDefaultAddons", true).of("Only these run, and no metrics-server.")])),
            entry("addons", addons()).of("Their versions are EKS's defaults for this version of Kubernetes."),
            entry("managedNodeGroups", Value::List(groups)),
        ],
    );
    object.head.push("eksctl makes it: `eksctl create cluster -f`; and ends it: `eksctl delete cluster -f`.".to_owned());
    object
}

/// The zones of the network: those of the nodes, and another where the control plane needs it.
fn zones(cluster: &Cluster) -> Entry {
    let mut zones = cluster.zones.clone();
    let named = cluster.named_zones.iter().find(|zone| !zones.contains(zone)).cloned();
    let nodes = zones.join(", ");
    let comment = match (zones.len() < CONTROL_PLANE_ZONES, named) {
        (false, _) => "`deploy.zones`".to_owned(),
        (true, Some(named)) => {
            zones.push(named);
            format!("`deploy.zones`: the control plane needs two. All nodes stand in {nodes}.")
        }
        (true, None) => {
            zones.extend(zones.first().map(|zone| neighbour(zone)));
            format!("The control plane needs two zones; name another second one in `deploy.zones`. All nodes stand in {nodes}.")
        }
    };
    entry("availabilityZones", zones).of(comment)
}

/// A zone beside another: `us-east-1b` of `us-east-1a`, and `us-east-1a` of all others.
fn neighbour(zone: &str) -> String {
    let region = zone.trim_end_matches(|c: char| c.is_ascii_lowercase());
    format!("{region}{}", if zone.ends_with('a') { 'b' } else { 'a' })
}

fn network() -> Vec<Entry> {
    let endpoints = [entry("publicAccess", true), entry("privateAccess", true).of("Nodes reach it without the NAT gateway.")];
    vec![
        entry("nat", map([entry("gateway", "Single").of("Only images come through it; database and client share the network.")])),
        entry("clusterEndpoints", map(endpoints)),
    ]
}

fn addons() -> Value {
    let prefixes = "{\"env\": {\"ENABLE_PREFIX_DELEGATION\": \"true\"}}";
    let driver = map([entry("ebsCSIController", true)]);
    Value::List(vec![
        map([
            entry("name", "vpc-cni"),
            entry("configurationValues", prefixes).of("Without it small instances have fewer addresses than maxPodsPerNode."),
        ]),
        map([entry("name", "coredns")]),
        map([entry("name", "kube-proxy")]),
        map([
            entry("name", "aws-ebs-csi-driver"),
            entry("wellKnownPolicies", driver).of("A role for its service account alone."),
        ]),
    ])
}

/// One group of machines in one zone. It is a managed one, whose nodes EKS drains before it ends them, and of a fixed size.
fn node_group(plan: &Plan, group: &Group, pool: &Pool) -> Vec<Entry> {
    let labels = group.labels(&plan.study);
    let mut entries = vec![
        entry("name", pool.name.as_str()),
        entry("instanceType", group.instance.as_str()).of(group.source("instance")),
        entry("amiFamily", "AmazonLinux2023").of(format!("For {}, as the instance type has it.", group.machine.arch)),
        entry("desiredCapacity", pool.count).of(group.source("count")),
        entry("minSize", pool.count),
        entry("maxSize", pool.count),
        entry("availabilityZones", pool.zone.iter().map(String::as_str).collect::<Vec<_>>()).of("`deploy.zones`, `node.zones`"),
        entry("privateNetworking", true),
        entry("maxPodsPerNode", PODS),
    ];
    entries.extend(root(group));
    entries.push(entry("labels", texts(labels.clone())));
    if group.is_tainted() {
        let taint = map([entry("key", label::ROLE), entry("value", group.role.as_str()), entry("effect", "NoSchedule")]);
        entries.push(entry("taints", Value::List(vec![taint])));
    }
    entries.push(entry("tags", texts(labels)));
    entries
}

fn root(group: &Group) -> Vec<Entry> {
    let root = &group.root;
    let source = |key: &str| root.declared.as_ref().map_or_else(|| "perbuck's choice".to_owned(), |_| group.source(key));
    let mut entries = vec![
        entry("volumeType", root.kind.as_str()).of(source("root_volume.kind")),
        entry("volumeSize", root.size_gb).of(source("root_volume.size_gb")),
        entry("volumeEncrypted", true),
    ];
    let Some(declared) = &root.declared else { return entries };
    entries.extend(declared.iops.map(|iops| entry("volumeIOPS", iops).of(source("root_volume.iops"))));
    let throughput = declared.throughput_mib_s;
    entries.extend(throughput.map(|mib| entry("volumeThroughput", mib).of(source("root_volume.throughput_mib_s"))));
    entries
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{TIDB, plan, study};
    use super::*;

    fn made(text: &str) -> String {
        let plan = plan(&study(text)).unwrap().unwrap();
        config(&plan, &plan.clusters[0]).yaml()
    }

    #[test]
    fn the_control_plane_has_two_zones_and_the_nodes_stay_in_theirs() {
        let one = made(TIDB);
        assert!(one.contains("\navailabilityZones: [us-east-1a, us-east-1b]"), "{one}");
        let named = made(&TIDB.replace("zones = [\"us-east-1a\"]", "zones = [\"us-east-1a\", \"us-east-1f\"]"));
        assert!(named.contains("\navailabilityZones: [us-east-1a, us-east-1f]"), "{named}");
        for text in [one, named] {
            let nodes: Vec<&str> = text.lines().filter(|line| line.starts_with("    availabilityZones")).collect();
            assert_eq!(nodes.len(), 9);
            assert!(nodes.iter().all(|line| line.contains("[us-east-1a]")), "{nodes:?}");
        }
        assert_eq!(neighbour("ap-northeast-1c"), "ap-northeast-1a");
    }

    #[test]
    fn machines_of_several_zones_are_a_group_for_each() {
        let text = TIDB
            .replace("zones = [\"us-east-1a\"]", "zones = [\"us-east-1a\", \"us-east-1b\", \"us-east-1c\"]")
            .replace("\"r6g.2xlarge\", count = 3", "\"r6g.2xlarge\", count = 4, zones = 3");
        let text = made(&text);
        for (name, count, zone) in [("1a", 2, "us-east-1a"), ("1b", 1, "us-east-1b"), ("1c", 1, "us-east-1c")] {
            let group = text.split("\n  - ").find(|group| group.starts_with(&format!("name: arm-tikv-{name}\n"))).unwrap();
            for line in
                [format!("desiredCapacity: {count} "), format!("availabilityZones: [{zone}]"), format!("maxSize: {count}\n")]
            {
                assert!(group.contains(&line), "{line}: {group}");
            }
        }
        assert!(text.contains("\navailabilityZones: [us-east-1a, us-east-1b, us-east-1c]  # `deploy.zones`\n"), "{text}");
    }

    #[test]
    fn only_the_admin_has_no_taint_and_a_declared_root_volume_is_made() {
        let root = "root_volume = { kind = \"gp3\", size_gb = 80, iops = 4000, throughput_mib_s = 200 }";
        let text = made(&TIDB.replacen("\"c6g.large\", count = 1 }", &format!("\"c6g.large\", count = 1, {root} }}"), 1));
        let groups: Vec<&str> = text.split("\n  - name: ").filter(|group| group.contains("instanceType")).collect();
        assert_eq!(groups.len(), 9);
        for group in groups {
            assert_eq!(group.contains("taints:"), !group.lines().next().unwrap().ends_with("-admin"), "{group}");
        }
        for line in ["volumeSize: 80", "volumeIOPS: 4000", "volumeThroughput: 200"] {
            assert_eq!(text.matches(line).count(), 1, "{line}");
        }
    }
}
