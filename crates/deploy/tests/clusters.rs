//! What perbuck makes for the studies that come with it: each one with `deploy` can be planned, and eksctl takes its file.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use common::{golden, plan, schema, shipped};
use perbuck_core::study::Provider;
use perbuck_deploy::kubernetes::{Plan, eks, gke, object, storage};
use serde_json::{Value, json};

const SCHEMA: &str = include_str!("data/eksctl-schema.json");

fn plan_of(file: &str) -> Plan {
    let (name, text) = shipped().into_iter().find(|(name, _)| name == file).unwrap();
    plan(&name, &text).unwrap()
}

/// All clusters of that provider, by the file of their study.
fn clusters(provider: Provider) -> Vec<(String, Plan)> {
    let plans = shipped().into_iter().filter_map(|(name, text)| Some((name.clone(), plan(&name, &text)?)));
    plans.filter(|(_, plan)| plan.clusters.iter().any(|cluster| cluster.provider == provider)).collect()
}

#[test]
fn the_studies_that_say_how_they_are_deployed_can_be() {
    let names = |provider| clusters(provider).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    let eks =
        ["tidb-eks-arm-2021-on-8.5.toml", "tidb-eks-arm-2021.toml", "tidb-eks-arm-today.toml", "tidb-two-clouds-today.toml"];
    assert_eq!(names(Provider::Eks), eks);
    assert_eq!(names(Provider::Gke), ["tidb-two-clouds-today.toml"]);
}

#[test]
fn eksctl_takes_the_files_of_all_studies() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    for (name, plan) in clusters(Provider::Eks) {
        for cluster in plan.clusters.iter().filter(|cluster| cluster.provider == Provider::Eks) {
            assert_eq!(schema::faults(&schema, &eks::config(&plan, cluster).value.json()), [""; 0], "{name}");
        }
    }
}

#[test]
fn a_file_that_eksctl_would_refuse_is_found() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let plan = plan_of("tidb-eks-arm-today.toml");
    let good = eks::config(&plan, &plan.clusters[0]).value.json();
    for (pointer, wrong, fault) in [
        ("/metadata/name", Value::Null, "/metadata/name: is no \"string\""),
        ("/managedNodeGroups/0/desiredCapacity", json!("3"), "/managedNodeGroups/0/desiredCapacity: is no \"integer\""),
        ("/managedNodeGroups/1/volumeType", json!("gp9"), "/managedNodeGroups/1/volumeType: \"gp9\" is none of"),
        ("/addons/3/wellKnownPolicies", json!({ "ebs": true }), "/addons/3/wellKnownPolicies/ebs: is not known"),
        ("/managedNodeGroups/0/labels", json!({ "a": 1 }), "/managedNodeGroups/0/labels/a: is no \"string\""),
        ("/metadata", json!({ "name": "a" }), "/metadata: has no \"region\""),
        ("/kind", json!("Cluster"), "/kind: \"Cluster\" is none of"),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = wrong;
        let found = schema::faults(&schema, &bad);
        assert!(found.len() == 1 && found[0].starts_with(fault), "{pointer}: {found:?}");
    }
}

#[test]
fn the_cluster_of_a_study_on_eks() {
    let plan = plan_of("tidb-eks-arm-today.toml");
    let cluster = &plan.clusters[0];
    golden("eks-cluster.yaml", &eks::config(&plan, cluster).yaml());
    golden("eks-storage.yaml", &object::yaml_file(&[], &storage::objects(&plan, cluster)));
}

#[test]
fn the_cluster_of_a_study_on_gke() {
    let plan = plan_of("tidb-two-clouds-today.toml");
    let cluster = plan.clusters.iter().find(|cluster| cluster.provider == Provider::Gke).unwrap();
    golden("gke-cluster.sh", &gke::script(&gke::steps(&plan, cluster)));
    golden("gke-teardown.sh", &gke::script(&gke::teardown(&plan, cluster)));
    golden("gke-storage.yaml", &object::yaml_file(&[], &storage::objects(&plan, cluster)));
}
