//! What `perbuck deploy status` says of a cluster that is not as billed: each difference is planted in a live API server, found, and
//! taken away again. `dev/kubernetes` runs it; CI does not. Differences on data are in crates/core/src/compare/tests/deployed.rs.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by it, and says what it found")]

mod common;

use common::kubernetes::{
    ARM, CLIENT, CONTENDER, ROLE, STUDY, X86, desk, items, kubectl, kubectl_on, kubectl_with, no_node_is_marked, node,
    nothing_is_left, ready_pods, rig, study,
};
use common::{Desk, wait_until};
use serde_json::{Value, json};

const STATUS: [&str; 3] = ["deploy", "status", "s.toml"];

/// A study whose storage class requests what the bill has.
fn billed() -> String {
    study(&[("size_gb = 500", "size_gb = 500, iops = 6000, throughput_mib_s = 500")])
}

/// A deployment that is up and as billed.
struct Site {
    desk: Desk,
    found: u32,
}

impl Site {
    fn up() -> Self {
        let desk = desk();
        node("n-arm", ARM, &[]);
        node("n-x86", X86, &[]);
        node("n-c1", CLIENT, &[]);
        node("n-c2", CLIENT, &[]);
        desk.write("s.toml", &billed());
        desk.good(&["deploy", "up", "s.toml", "--yes"]);
        let site = Self { desk, found: 0 };
        site.is_as_billed("at first");
        site
    }

    fn is_as_billed(&self, when: &str) {
        let mut said = String::new();
        wait_until(&format!("it is as billed {when}"), || {
            let status = self.desk.perbuck(&STATUS);
            said = format!("{status:#?}");
            status.code == Some(0) && status.out.matches("  as billed\n").count() == 2
        });
    }

    /// Plants a difference, which `status` must tell in these lines and no others; then takes it away.
    fn finds(&mut self, plant: impl FnOnce(&Desk), lines: &[&str], undo: impl FnOnce(&Desk)) {
        plant(&self.desk);
        let status = self.desk.perbuck(&STATUS);
        assert_eq!(status.code, Some(7), "{lines:?}: {status:#?}");
        assert!(status.err.contains("what runs is not what is billed"), "{status:#?}");
        let told: Vec<&str> = status.out.lines().filter(|line| line.starts_with("  ") && *line != "  as billed").collect();
        let told: Vec<&str> = told.into_iter().map(str::trim).collect();
        assert_eq!(told, lines);
        undo(&self.desk);
        self.is_as_billed(&format!("again after {lines:?}"));
        self.found += 1;
        println!("found: {}", lines.join("; "));
    }

    fn ends(self, expected: u32) {
        assert_eq!(self.found, expected);
        self.desk.good(&["deploy", "down", "s.toml"]);
        nothing_is_left("kw", "after down");
        no_node_is_marked("after down");
    }
}

/// A label of node `n-arm`, and what it is to be after the test.
fn relabel(site: &mut Site, key: &str, (wrong, right): (&str, &str), line: &str) {
    let set = |value: &str| drop(kubectl(&format!("label node n-arm --overwrite {key}={value}")));
    site.finds(|_| set(wrong), &[line], |_| set(right));
}

#[test]
fn machines_that_are_not_billed_are_told() {
    let mut site = Site::up();
    let kind = "node n-arm of mysql is r8g.8xlarge, and the bill has r8g.4xlarge";
    relabel(&mut site, "node.kubernetes.io/instance-type", ("r8g.8xlarge", ARM), kind);
    let zone = "node n-arm of mysql is in us-east-1b, and the study names us-east-1a";
    relabel(&mut site, "topology.kubernetes.io/zone", ("us-east-1b", "us-east-1a"), zone);
    let arch = "node n-arm of mysql is x86_64, and the bill has aarch64";
    relabel(&mut site, "kubernetes.io/arch", ("amd64", "arm64"), arch);
    let marks = [format!("{STUDY}=kw"), format!("{CONTENDER}=arm"), format!("{ROLE}=mysql")];
    let marks: Vec<&str> = marks.iter().map(String::as_str).collect();
    let extra = "the bill has 1 × r8g.4xlarge for mysql, and the cluster 2 nodes: n-arm, n-more";
    site.finds(|_| node("n-more", ARM, &marks), &[extra], |_| drop(rig(&["unnode", "n-more"])));
    let spare = [format!("{STUDY}=kw"), format!("{CONTENDER}=x86"), format!("{ROLE}=spare")];
    let spare: Vec<&str> = spare.iter().map(String::as_str).collect();
    let unknown = "node n-spare has the role spare, which the bill does not have";
    site.finds(|_| node("n-spare", X86, &spare), &[unknown], |_| drop(rig(&["unnode", "n-spare"])));
    // A machine of the client is one of both contenders.
    let fewer = "the bill has 2 × c8i.4xlarge for client, and the cluster 1 node: n-c1";
    let client = |sign: &str| drop(kubectl(&format!("label node n-c2 {ROLE}{sign}")));
    site.finds(
        |_| drop(kubectl(&format!("label node n-c2 {STUDY}-"))),
        &[fewer, fewer],
        |_| drop(kubectl(&format!("label node n-c2 {STUDY}=kw"))),
    );
    let nameless = "node n-c2 has the role none, which the bill does not have";
    site.finds(|_| client("-"), &[fewer, nameless, fewer, nameless], |_| client("=client"));
    site.ends(7);
}

fn pod(name: &str, node: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "namespace": "perbuck-kw-arm", "labels": {
            "perbuck/study": "kw", "perbuck/contender": "arm", "perbuck/role": "mysql", "perbuck/component": "mysql" } },
        "spec": { "nodeName": node, "containers": [{ "name": "mysql", "image": "i" }] } })
}

fn patch_pod(status: &Value) {
    let line = "patch pod mysql-0 -n perbuck-kw-arm --subresource=status --type=strategic -p";
    kubectl_with(line, &json!({ "status": status }).to_string());
}

fn kill_pod(name: &str) {
    rig(&["kill-pod", "perbuck-kw-arm", name]);
}

#[test]
fn pods_that_are_not_as_billed_are_told() {
    let mut site = Site::up();
    let two =
        ["2 pods of mysql share node n-arm: mysql-0, mysql-extra", "the bill has 1 machine for mysql, and the cluster 2 pods"];
    let extra = |desk: &Desk| {
        kubectl_on(desk, "create", &pod("mysql-extra", "n-arm"));
        ready_pods("perbuck-kw-arm", 2);
    };
    site.finds(extra, &two, |_| kill_pod("mysql-extra"));
    let container = |restarts: u32| json!({ "name": "mysql", "restartCount": restarts });
    site.finds(
        |_| patch_pod(&json!({ "containerStatuses": [container(2)] })),
        &["pod mysql-0 restarted 2 times"],
        |_| patch_pod(&json!({ "containerStatuses": [container(0)] })),
    );
    let ready = |is: &str| json!({ "conditions": [{ "type": "Ready", "status": is }] });
    site.finds(|_| patch_pod(&ready("False")), &["pod mysql-0 is not ready"], |_| patch_pod(&ready("True")));
    let scale = |count: u32| drop(kubectl(&format!("scale statefulset mysql -n perbuck-kw-arm --replicas={count}")));
    let none = |_: &Desk| {
        scale(0);
        wait_until("the pod is gone", || items("pods -n perbuck-kw-arm").is_empty());
    };
    site.finds(none, &["the bill has 1 machine for mysql, and the cluster 0 pods"], |_| scale(1));
    let homeless = |_: &Desk| {
        kubectl("cordon n-arm");
        kill_pod("mysql-0");
        wait_until("the pod is there again", || items("pods -n perbuck-kw-arm").len() == 1);
    };
    site.finds(homeless, &["pod mysql-0 runs on no node"], |_| drop(kubectl("uncordon n-arm")));
    moved(&mut site);
    site.ends(6);
}

/// The pod moves to a machine that has the marks, as after the loss of its own one; the marks go, the pod stays.
fn moved(site: &mut Site) {
    let marks = [format!("{STUDY}=kw"), format!("{CONTENDER}=arm"), format!("{ROLE}=mysql")];
    let marks: Vec<&str> = marks.iter().map(String::as_str).collect();
    let on_spare = || items("pods -n perbuck-kw-arm").iter().any(|p| p["spec"]["nodeName"] == "n-spare");
    let plant = |_: &Desk| {
        node("n-spare", ARM, &marks);
        kubectl("cordon n-arm");
        kill_pod("mysql-0");
        wait_until("the pod runs on the other machine", on_spare);
        ready_pods("perbuck-kw-arm", 1);
        kubectl(&format!("label node n-spare {STUDY}-"));
    };
    let line = "pod mysql-0 of mysql runs on n-spare, which is no node of this contender";
    site.finds(plant, &[line], |_| {
        kubectl("uncordon n-arm");
        rig(&["unnode", "n-spare"]);
    });
}

#[test]
fn volumes_that_are_not_as_billed_are_told() {
    let mut site = Site::up();
    let class = || items("storageclass perbuck-kw-arm-mysql").remove(0);
    let put = |desk: &Desk, class: &Value| {
        kubectl("delete storageclass perbuck-kw-arm-mysql");
        kubectl_on(desk, "create", class);
    };
    let mut right = class();
    for key in ["resourceVersion", "uid", "creationTimestamp", "managedFields"] {
        right["metadata"].as_object_mut().unwrap().remove(key);
    }
    let mut wrong = right.clone();
    wrong["parameters"] = json!({ "type": "gp2", "iops": "3000" });
    let of = "volume data-mysql-0 of mysql has";
    let lines = [
        format!("{of} the kind gp2, and the bill has gp3"),
        format!("{of} IOPS 3000, and the bill has 6000"),
        format!("{of} a throughput of not requested, and the bill has 500 MiB/s"),
    ];
    site.finds(|desk| put(desk, &wrong), &lines.each_ref().map(String::as_str), |desk| put(desk, &right));
    let small = json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": { "name": "small", "namespace": "perbuck-kw-arm" },
        "spec": { "accessModes": ["ReadWriteOnce"], "storageClassName": "perbuck-kw-arm-mysql",
            "resources": { "requests": { "storage": "100Gi" } } } });
    let two = "the bill has 1 volume for mysql, and the cluster 2 volumes";
    let size = "volume small of mysql has the size 100 GiB, and the bill has 500 GiB";
    site.finds(
        |desk| drop(kubectl_on(desk, "create", &small)),
        &[two, size],
        |_| {
            kubectl("delete pvc small -n perbuck-kw-arm");
        },
    );
    // A claim grows where its class allows it; the driver says so in its status.
    let grown = |size: &str| {
        let status = json!({ "status": { "capacity": { "storage": size } } }).to_string();
        kubectl_with("patch pvc data-mysql-0 -n perbuck-kw-arm --subresource=status --type=merge -p", &status);
    };
    site.finds(
        |_| grown("700Gi"),
        &["volume data-mysql-0 of mysql has the size 700 GiB, and the bill has 500 GiB"],
        |_| grown("500Gi"),
    );
    site.ends(3);
}

#[test]
fn a_lost_machine_is_told_and_another_one_stands_in() {
    let site = Site::up();
    rig(&["unnode", "n-arm"]);
    wait_until("the pod is there again", || items("pods -n perbuck-kw-arm").len() == 1);
    let status = site.desk.perbuck(&STATUS);
    assert_eq!(status.code, Some(7), "{status:#?}");
    for line in ["the bill has 1 × r8g.4xlarge for mysql, and the cluster 0 nodes", "pod mysql-0 runs on no node"] {
        assert!(status.out.contains(line), "{line}: {status:#?}");
    }
    let up = site.desk.perbuck(&["deploy", "up", "s.toml", "--yes"]);
    assert!(up.code == Some(3) && up.err.contains("arm-mysql needs 1 more node of r8g.4xlarge: none is there"), "{up:#?}");
    node("n-new", ARM, &[]);
    site.desk.good(&["deploy", "up", "s.toml", "--yes"]);
    site.is_as_billed("on the new machine");
    // Both machines are in what it has cost.
    let status = site.desk.good(&STATUS).out;
    assert!(status.lines().any(|l| l.starts_with("arm mysql: r8g.4xlarge") && l.contains(" 2 ")), "{status}");
    // Nothing is measured on other machines than the billed ones.
    kubectl("label node n-new --overwrite node.kubernetes.io/instance-type=r8g.8xlarge");
    let run = site.desk.perbuck(&["run", "s.toml", "--yes"]);
    let line = "arm: node n-new of mysql is r8g.8xlarge, and the bill has r8g.4xlarge";
    assert!(run.code == Some(7) && run.err.contains(line) && run.err.contains("the clusters are up, at $"), "{run:#?}");
    site.ends(0);
}
