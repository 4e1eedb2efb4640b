//! A cluster on Google Kubernetes Engine, as commands of gcloud: argument vectors, and the script that runs them.

use super::label;
use super::plan::{ADMIN, Cluster, Group, Plan, Pool, dns};

/// GKE allows so many characters in the name of a cluster and of a node pool.
pub const NAME_LIMIT: usize = 40;
/// The end of a cluster's name, which is a part of its deployment's number, has so many.
pub const NUMBER: usize = 7;
/// Machine series that take Hyperdisk and no Persistent Disk: all six in nextflow-io/nextflow#6614, after Google's documentation, and c4a in
/// GoogleCloudPlatform/compute-image-tools#2692. Read 2026-11.
const HYPERDISK_ONLY: [&str; 6] = ["c4", "c4a", "c4d", "n4", "n4a", "n4d"];

/// Addresses of the machines of a cluster.
const RANGE: &str = "10.40.0.0/20";

/// One command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What it is for, in a sentence.
    pub comment: String,
    /// The program and its arguments.
    pub words: Vec<String>,
}

/// Whether machines of that type can have a Persistent Disk (`pd-ssd`, …).
pub fn takes_persistent_disks(instance: &str) -> bool {
    !HYPERDISK_ONLY.contains(&instance.split('-').next().unwrap_or_default())
}

/// The commands that make the cluster and its machines.
pub fn steps(plan: &Plan, cluster: &Cluster) -> Vec<Step> {
    let mut pools: Vec<(&Group, Pool)> =
        cluster.groups.iter().flat_map(|group| group.pools().into_iter().map(move |pool| (group, pool))).collect();
    // A cluster comes with a pool of its own: the first of the admin's is that, so no machine runs that the bill has not.
    let first = pools.iter().position(|(group, _)| group.role == ADMIN).unwrap_or_default();
    let (admin, default) = pools.remove(first);
    let zone = default.zone.clone().unwrap_or_default();
    let mut words = command(&["container", "clusters", "create", &cluster.cloud_name, "--zone", &zone]);
    words.extend(["--cluster-version", &cluster.kubernetes].map(str::to_owned));
    // Without a channel GKE upgrades nothing while a study runs.
    words.extend(["--release-channel", "None", "--enable-ip-alias"].map(str::to_owned));
    words.extend(["--network", &cluster.cloud_name, "--subnetwork", &cluster.cloud_name].map(str::to_owned));
    words.extend(["--labels".to_owned(), resource_labels(&[(label::STUDY, plan.study.clone())])]);
    // Collectors of metrics would run on the machines under test.
    words.extend(["--logging", "SYSTEM", "--monitoring", "SYSTEM", "--no-enable-managed-prometheus"].map(str::to_owned));
    words.extend(machines(plan, admin, &default));
    let comment = format!("The cluster; its default pool is for `{}`, where DNS and the operator run.", default.name);
    let mut steps = network(cluster);
    steps.push(Step { comment, words });
    for (group, pool) in pools {
        let mut words =
            command(&["container", "node-pools", "create", &pool.name, "--cluster", &cluster.cloud_name, "--zone", &zone]);
        words.extend(machines(plan, group, &pool));
        steps.push(Step { comment: format!("{}, with its `count` and `root_volume`.", group.source("instance")), words });
    }
    steps
}

/// A network of its own: in the project's default network every other machine would reach the databases, and some projects have none.
fn network(cluster: &Cluster) -> Vec<Step> {
    let (name, region) = (cluster.cloud_name.as_str(), cluster.region.as_deref().unwrap_or_default());
    let subnet = ["compute", "networks", "subnets", "create", name, "--network", name, "--region", region, "--range", RANGE];
    vec![
        Step {
            comment: "A network of its own; a machine that reaches the pods must be in it.".to_owned(),
            words: command(&["compute", "networks", "create", name, "--subnet-mode", "custom"]),
        },
        Step { comment: "Its addresses of machines; GKE adds those of pods.".to_owned(), words: command(&subnet) },
    ]
}

/// The commands that end the cluster, after its namespaces are deleted: they say what is left that still costs money.
pub fn teardown(plan: &Plan, cluster: &Cluster) -> Vec<Step> {
    let region = cluster.region.as_deref().unwrap_or_default();
    let (zone, filter) = (zone(cluster), format!("labels.{}", resource_labels(&[(label::STUDY, plan.study.clone())])));
    vec![
        Step {
            comment: "The cluster with all its machines.".to_owned(),
            words: command(&["container", "clusters", "delete", &cluster.cloud_name, "--zone", &zone, "--quiet"]),
        },
        Step {
            comment: "Its network.".to_owned(),
            words: command(&["compute", "networks", "subnets", "delete", &cluster.cloud_name, "--region", region, "--quiet"]),
        },
        Step {
            comment: "The network itself.".to_owned(),
            words: command(&["compute", "networks", "delete", &cluster.cloud_name, "--quiet"]),
        },
        Step {
            comment: "Volumes that are left; an empty list is right.".to_owned(),
            words: command(&["compute", "disks", "list", "--filter", &filter]),
        },
    ]
}

/// Labels of a resource of Google Cloud, whose keys hold no slash and whose values are in lower case.
pub fn resource_labels(labels: &[(&str, String)]) -> String {
    labels.iter().map(|(key, value)| format!("{}={}", dns(key), dns(value))).collect::<Vec<_>>().join(",")
}

/// The steps as a script for review.
pub fn script(steps: &[Step]) -> String {
    let steps: Vec<String> = steps.iter().map(|step| format!("\n# {}\n{}\n", step.comment, shell(&step.words))).collect();
    format!("#!/usr/bin/env bash\nset -euo pipefail\n{}", steps.concat())
}

/// The zone of the cluster: that of its default pool.
pub fn zone(cluster: &Cluster) -> String {
    let admin = cluster.groups.iter().find(|group| group.role == ADMIN);
    admin.and_then(|group| group.zones.first()).cloned().unwrap_or_default()
}

fn command(words: &[&str]) -> Vec<String> {
    ["gcloud"].iter().chain(words).map(|&word| word.to_owned()).collect()
}

/// What says which machines a pool has, of the cluster's own pool and of others.
fn machines(plan: &Plan, group: &Group, pool: &Pool) -> Vec<String> {
    let labels: Vec<String> = group.labels(&plan.study).iter().map(|(key, value)| format!("{key}={value}")).collect();
    let (count, size) = (pool.count.to_string(), group.root.size_gb.to_string());
    let labels = labels.join(",");
    let mut words: Vec<&str> = vec!["--machine-type", &group.instance, "--num-nodes", &count];
    // Nodes are counted by zone, and a pool has one.
    words.extend(pool.zone.iter().flat_map(|zone| ["--node-locations", zone]));
    words.extend(["--disk-type", &group.root.kind, "--disk-size", &size, "--node-labels", &labels]);
    let taint = format!("{}={}:NoSchedule", label::ROLE, group.role);
    if group.is_tainted() {
        words.extend(["--node-taints", &taint]);
    }
    // A node that is replaced or upgraded in a trial would be measured.
    words.extend(["--no-enable-autoupgrade", "--no-enable-autorepair"]);
    words.into_iter().map(str::to_owned).collect()
}

/// A command for a shell: each flag with its value on a line.
fn shell(words: &[String]) -> String {
    let mut text = String::new();
    for (n, word) in words.iter().enumerate() {
        let before = if n == 0 {
            ""
        } else if word.starts_with("--") {
            " \\\n    "
        } else {
            " "
        };
        text.push_str(before);
        text.push_str(&quoted(word));
    }
    text
}

/// A word that a shell takes for this word.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{plan, study};
    use super::*;

    const GKE: &str = r#"
[[contender]]
name = "Axion.1"
region = "us-central1"
node = [
  { role = "mysql", instance = "c4a-standard-8", count = 1, volume = { kind = "hyperdisk-balanced", size_gb = 500 } },
  { role = "admin", instance = "c4a-standard-2", count = 1 },
  { role = "client", instance = "c4a-standard-8", count = 3, zones = 2, root_volume = { kind = "hyperdisk-balanced", size_gb = 9 } },
]
deploy = { provider = "gke", kind = "mysql", version = "8.4", kubernetes = "1.35", zones = ["us-central1-a", "us-central1-b"] }
"#;

    fn value<'a>(step: &'a Step, flag: &str) -> Option<&'a str> {
        step.words.iter().position(|word| word == flag).map(|n| step.words[n + 1].as_str())
    }

    #[test]
    fn the_admin_is_the_default_pool_and_each_zone_has_a_pool() {
        let plan = plan(&study(GKE)).unwrap().unwrap();
        let steps = steps(&plan, &plan.clusters[0]);
        let [network, subnet, cluster, database, near, far] = steps.as_slice() else { panic!("{steps:#?}") };
        assert_eq!((network.words[2].as_str(), value(subnet, "--region")), ("networks", Some("us-central1")));
        assert_eq!(cluster.words[..5], ["gcloud", "container", "clusters", "create", "perbuck-arm-value-gke"]);
        assert_eq!(value(cluster, "--machine-type"), Some("c4a-standard-2"));
        assert_eq!(value(cluster, "--node-taints"), None);
        assert_eq!(value(cluster, "--labels"), Some("perbuck-study=arm-value"));
        assert_eq!(value(database, "--node-taints"), Some("perbuck/role=mysql:NoSchedule"));
        assert_eq!(
            value(database, "--node-labels"),
            Some("perbuck/study=arm-value,perbuck/contender=axion-1,perbuck/role=mysql")
        );
        for (step, name, count, zone) in [(near, "client-a", "2", "us-central1-a"), (far, "client-b", "1", "us-central1-b")] {
            assert_eq!(step.words[4], name);
            assert_eq!((value(step, "--num-nodes"), value(step, "--node-locations")), (Some(count), Some(zone)));
            assert_eq!((value(step, "--zone"), value(step, "--disk-size")), (Some("us-central1-a"), Some("9")));
        }
        // Nothing was said of the other root volumes: a c4a boots from what it can.
        assert_eq!((value(database, "--disk-type"), value(database, "--disk-size")), (Some("hyperdisk-balanced"), Some("20")));
        let ends = teardown(&plan, &plan.clusters[0]);
        assert_eq!(value(&ends[0], "--zone"), Some("us-central1-a"));
        assert_eq!(value(&ends[3], "--filter"), Some("labels.perbuck-study=arm-value"));
    }

    #[test]
    fn what_gke_refuses_is_refused_before() {
        for (from, to, said) in [
            ("volume = { kind = \"hyperdisk-balanced\"", "volume = { kind = \"pd-ssd\"", "`c4a-standard-8` takes no `pd-ssd`"),
            ("root_volume = { kind = \"hyperdisk-balanced\"", "root_volume = { kind = \"pd-ssd\"", "takes no `pd-ssd`"),
            ("Axion.1", "an-arm-contender-with-quite-a-long-name", "above 40"),
            ("Axion.1", "1-axion", "begins with a digit"),
        ] {
            let problems = plan(&study(&GKE.replace(from, to))).unwrap_err();
            let text: String = problems.iter().map(ToString::to_string).collect();
            assert!(text.contains(said), "{to}: {text}");
        }
        assert!(takes_persistent_disks("t2a-standard-8") && takes_persistent_disks("c3-standard-8"));
    }

    #[test]
    fn words_reach_the_program_as_they_are() {
        for word in ["", "plain", "a b", "it's", "$HOME `x` \"y\"", "--flag", "a\\b", "*"] {
            let text = format!("printf %s {}", shell(&["x".to_owned(), word.to_owned()]).trim_start_matches("x "));
            let run = std::process::Command::new("bash").args(["-c", &text]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&run.stdout), word, "{text}");
        }
    }
}
