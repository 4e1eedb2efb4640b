//! Every way in which a cluster can differ from its bill is found, and a cluster as billed has none.

use super::super::{deployed_changes, deployed_otherwise, deployed_restarts};
use crate::run_record::{Deployed, DeployedNode, DeployedPod, DeployedVolume};
use crate::study::{Machine, Study};

fn study() -> Study {
    let text = "schema = 1\nname = \"s\"\n[[contender]]\nname = \"arm\"\n\
        node = [{ role = \"tidb\", instance = \"c6g.2xlarge\", count = 2 }, { role = \"client\", instance = \"c5.4xlarge\", priced = false },\n\
        { role = \"tikv\", instance = \"r6g.2xlarge\", count = 3, volume = { kind = \"gp3\", size_gb = 1000, iops = 6000, throughput_mib_s = 500 } }]\n\
        deploy = { provider = \"eks\", kind = \"tidb\", version = \"v8.5.3\", zones = [\"us-east-1a\", \"us-east-1b\"] }\n\
        [[workload]]\nname = \"w\"\nkind = \"k\"\n[sweep]\nconnections = [1]\n";
    let mut study = Study::read("s.toml", text, &[]).unwrap();
    for node in &mut study.contenders[0].nodes {
        let arch = if node.role == "client" { "x86_64" } else { "aarch64" };
        node.machine = Some(Machine { arch: arch.to_owned(), ..Machine::default() });
    }
    study
}

/// A cluster as the study bills it.
fn billed() -> Deployed {
    let node = |name: &str, role: &str, instance: &str| DeployedNode {
        name: name.to_owned(),
        role: role.to_owned(),
        instance: instance.to_owned(),
        arch: if role == "client" { "x86_64" } else { "aarch64" }.to_owned(),
        zone: "us-east-1a".to_owned(),
        ..DeployedNode::default()
    };
    let pod = |name: &str, role: &str, node: &str| DeployedPod {
        name: name.to_owned(),
        role: role.to_owned(),
        node: node.to_owned(),
        ready: true,
        digest: "sha256:1".to_owned(),
        ..DeployedPod::default()
    };
    let volume = |n: usize| DeployedVolume {
        claim: format!("tikv-{n}"),
        role: "tikv".to_owned(),
        kind: "gp3".to_owned(),
        size_gib: 1000,
        iops: Some(6000),
        throughput_mib_s: Some(500),
        ..DeployedVolume::default()
    };
    let tidb = (0..2).map(|n| node(&format!("a{n}"), "tidb", "c6g.2xlarge"));
    let tikv = (0..3).map(|n| node(&format!("b{n}"), "tikv", "r6g.2xlarge"));
    Deployed {
        nodes: tidb.chain(tikv).chain([node("c0", "client", "c5.4xlarge")]).collect(),
        pods: (0..2)
            .map(|n| pod(&format!("tidb-{n}"), "tidb", &format!("a{n}")))
            .chain((0..3).map(|n| pod(&format!("tikv-{n}"), "tikv", &format!("b{n}"))))
            .collect(),
        volumes: (0..3).map(volume).collect(),
        ..Deployed::default()
    }
}

#[test]
fn a_planted_difference_of_each_kind_is_found_and_a_clean_cluster_has_none() {
    let study = study();
    assert_eq!(deployed_otherwise(&study, "arm", &billed()), Vec::<String>::new());
    type Plant = fn(&mut Deployed);
    let planted: [(Plant, &str); 16] = [
        (|d| d.nodes[2].instance = "r6g.xlarge".into(), "node b0 of tikv is r6g.xlarge, and the bill has r6g.2xlarge"),
        (|d| d.nodes[2].arch = "x86_64".into(), "node b0 of tikv is x86_64, and the bill has aarch64"),
        (|d| d.nodes[2].zone = "us-east-1b".into(), "node b0 of tikv is in us-east-1b, and the study names us-east-1a"),
        (
            |d| d.nodes.push(DeployedNode { name: "b9".into(), ..d.nodes[2].clone() }),
            "the bill has 3 × r6g.2xlarge for tikv, and the cluster 4 nodes: b0, b1, b2, b9",
        ),
        (
            |d| d.nodes.push(DeployedNode { name: "x".into(), role: "pd".into(), ..d.nodes[2].clone() }),
            "node x has the role pd, which the bill does not have",
        ),
        (|d| drop(d.nodes.pop()), "the bill has 1 × c5.4xlarge for client, and the cluster 0 nodes"),
        (|d| d.pods[3].node = "b0".into(), "2 pods of tikv share node b0: tikv-0, tikv-1"),
        (|d| d.pods[3].node = "a0".into(), "pod tikv-1 of tikv runs on a0, which is a node of tidb"),
        (|d| d.pods[3].node = "z".into(), "pod tikv-1 of tikv runs on z, which is no node of this contender"),
        (|d| drop(d.pods.pop()), "the bill has 3 machines for tikv, and the cluster 2 pods"),
        (|d| d.pods[0].ready = false, "pod tidb-0 is not ready"),
        (|d| d.pods[0].node.clear(), "pod tidb-0 runs on no node"),
        (|d| d.volumes[1].size_gib = 500, "volume tikv-1 of tikv has the size 500 GiB, and the bill has 1000 GiB"),
        (|d| d.volumes[1].kind = "gp2".into(), "volume tikv-1 of tikv has the kind gp2, and the bill has gp3"),
        (|d| d.volumes[1].iops = None, "volume tikv-1 of tikv has IOPS not requested, and the bill has 6000"),
        (
            |d| d.volumes[1].throughput_mib_s = Some(125),
            "volume tikv-1 of tikv has a throughput of 125 MiB/s, and the bill has 500 MiB/s",
        ),
    ];
    for (plant, said) in planted {
        let mut seen = billed();
        plant(&mut seen);
        let found = deployed_otherwise(&study, "arm", &seen);
        assert!(found.iter().any(|text| text == said), "{said}: {found:?}");
    }
}

#[test]
fn machines_in_one_of_several_zones_are_found() {
    let mut study = study();
    study.contenders[0].nodes[2].zones = Some(2);
    let found = deployed_otherwise(&study, "arm", &billed());
    assert_eq!(found, ["the nodes of tikv are spread unevenly: 3 in us-east-1a, 0 in us-east-1b"]);
    let mut even = billed();
    even.nodes[2].zone = "us-east-1b".into();
    assert_eq!(deployed_otherwise(&study, "arm", &even), Vec::<String>::new());
}

#[test]
fn a_pod_that_changed_between_two_looks_is_told() {
    assert_eq!(deployed_changes(&billed(), &billed()), Vec::<String>::new());
    let mut after = billed();
    after.pods[0].node = "a9".into();
    after.pods[1].restarts = 1;
    after.pods[2].digest = "sha256:2".into();
    after.pods[3].name = "tikv-7".into();
    after.pods[4].uid = "2".into();
    let expected = [
        "pod tidb-0 moved from node a0 to a9",
        "pod tidb-1 restarted 1 time",
        "pod tikv-0 runs another image: sha256:2, before sha256:1",
        "pod tikv-1 is gone",
        "pod tikv-2 was made again",
        "pod tikv-7 is new",
    ];
    assert_eq!(deployed_changes(&billed(), &after), expected);
    assert_eq!(deployed_restarts(&after), ["pod tidb-1 restarted 1 time"]);
}
