//! Studies on EKS against a real API server. `dev/kubernetes` runs it; CI does not.
//!
//! A script stands in for eksctl: it adds kwok's nodes as the file of the cluster says, and writes a kubeconfig. So this proves what
//! perbuck does with what eksctl leaves, and nothing about eksctl or AWS.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by it, and says what it applied")]

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use common::kubernetes::{desk, items, labelled, rig, rig_output, start, study};
use common::{Desk, signal, wait_until};
use serde_json::Value;

const UP: [&str; 4] = ["deploy", "up", "s.toml", "--yes"];
const DOWN: [&str; 3] = ["deploy", "down", "s.toml"];

/// A study of two contenders on EKS.
fn eks_study() -> String {
    let root = "root_volume = { kind = \"gp3\", size_gb = 20 }";
    let admin = format!("  {{ role = \"admin\", instance = \"c8g.large\", count = 1, {root} }},\n  {{ role = \"client\"");
    study(&[
        ("provider = \"kubernetes\"", "provider = \"eks\""),
        (", storage = { provisioner = \"ebs.csi.aws.com\" }", ""),
        ("  { role = \"client\"", &admin),
    ])
}

/// A folder with a program `eksctl` that calls this test's own program.
fn stand_in(desk: &mut Desk) -> PathBuf {
    let made = desk.path("eks");
    std::fs::create_dir_all(&made).unwrap();
    // perbuck keeps its own variables from the tool, so they stand in the script.
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = version ] && echo 0.215.0 && exit\necho \"$*\" >> '{made}/calls'\n\
         export PERBUCK_TEST_KUBERNETES_RIG='{rig}' STAND_IN_MADE='{made}' STAND_IN_CONFIG='{config}' STAND_IN_WORDS=\"$*\"\n\
         exec '{program}' --exact eksctl_stands_in --ignored --nocapture\n",
        made = made.display(),
        rig = std::env::var("PERBUCK_TEST_KUBERNETES_RIG").unwrap(),
        config = std::env::var("PERBUCK_TEST_KUBECONFIG").unwrap(),
        program = std::env::current_exe().unwrap().display(),
    );
    let path = desk.write("bin/eksctl", &script);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    desk.set("PATH", &format!("{}:{}", desk.path("bin").display(), std::env::var("PATH").unwrap()));
    desk.set("KUBECONFIG", "/none");
    made
}

/// What the script of [`stand_in`] calls: eksctl's part, in a process of its own.
#[test]
#[ignore = "it is no test: the script of `stand_in` starts it"]
fn eksctl_stands_in() {
    let words = std::env::var("STAND_IN_WORDS").unwrap();
    let folder = PathBuf::from(std::env::var("STAND_IN_MADE").unwrap());
    let words: Vec<&str> = words.split(' ').collect();
    let after = |flag: &str| words.iter().position(|w| *w == flag).map(|at| words[at + 1]);
    let cluster = folder.join("cluster");
    match words[..2] {
        ["get", "cluster"] => assert!(cluster.exists(), "ResourceNotFoundException: No cluster found"),
        ["utils", "describe-stacks"] => assert!(cluster.exists(), "no eksctl-managed CloudFormation stacks found"),
        ["utils", "associate-iam-oidc-provider"] => {}
        ["create", "cluster"] => {
            assert!(!cluster.exists(), "the cluster exists already");
            std::fs::write(&cluster, "").unwrap();
            make_nodes(after("-f").unwrap());
        }
        ["create", "nodegroup"] => make_nodes(after("-f").unwrap()),
        ["create", "addon"] => {}
        ["utils", "write-kubeconfig"] => {
            let config = std::env::var("STAND_IN_CONFIG").unwrap();
            assert!(std::fs::copy(config, after("--kubeconfig").unwrap()).unwrap() > 0);
        }
        ["delete", "cluster"] => {
            items("nodes").iter().for_each(|n| drop(rig(&["unnode", common::kubernetes::name(n)])));
            std::fs::remove_file(&cluster).unwrap();
        }
        _ => panic!("eksctl {words:?}"),
    }
}

/// The nodes of the managed node groups of a file, but for those that are there.
fn make_nodes(file: &str) {
    let config = perbuck_kubernetes::yaml(&std::fs::read_to_string(file).unwrap()).unwrap().remove(0);
    for group in config["managedNodeGroups"].as_array().unwrap() {
        let text = |key: &str| group[key].as_str().unwrap().to_owned();
        let pairs = |of: &Value| -> Vec<String> {
            of.as_object().unwrap().iter().map(|(key, value)| format!("{key}={}", value.as_str().unwrap())).collect()
        };
        let mut more = pairs(&group["labels"]);
        for taint in group["taints"].as_array().into_iter().flatten() {
            let word = |key: &str| taint[key].as_str().unwrap();
            more.push(format!("{}={}:{}", word("key"), word("value"), word("effect")));
        }
        let (instance, zone) = (text("instanceType"), group["availabilityZones"][0].as_str().unwrap().to_owned());
        let arch = if instance.split('.').next().unwrap().ends_with('g') { "arm64" } else { "amd64" };
        for n in 0..group["desiredCapacity"].as_u64().unwrap() {
            let name = format!("{}-{n}", text("name"));
            // The volume driver, which eksctl adds, sets this label.
            let driver = format!("topology.ebs.csi.aws.com/zone={zone}");
            let words = ["node", &name, &instance, arch, &zone, "16", "128Gi", &driver];
            let words: Vec<&str> = words.into_iter().chain(more.iter().map(String::as_str)).collect();
            let done = rig_output(&words);
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success() || said.contains("already exists") || said.contains("409"), "{words:?}: {said}");
        }
    }
}

fn calls(made: &Path) -> String {
    std::fs::read_to_string(made.join("calls")).unwrap_or_default()
}

fn nothing_is_there(made: &Path, after: &str) {
    assert!(items("nodes").is_empty() && !made.join("cluster").exists(), "{after}");
    assert!(labelled("kw").is_empty(), "{after}");
}

#[test]
fn without_eksctl_nothing_is_begun_and_it_is_named() {
    let mut desk = desk();
    desk.write("s.toml", &eks_study());
    desk.set("PATH", "/nowhere");
    let refused = desk.perbuck(&UP);
    assert!(refused.code == Some(2) && refused.err.contains("no eksctl was found in PATH"), "{refused:#?}");
    assert!(refused.err.contains("install eksctl 0.190 or later"), "{refused:#?}");
    let status = desk.perbuck(&["deploy", "status", "s.toml"]);
    assert!(status.code == Some(2) && status.err.contains("knows of no deployment of this study"), "{status:#?}");
    let path = desk.write("bin/eksctl", "#!/bin/sh\necho 0.140.0\n");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    desk.set("PATH", &format!("{}:/bin:/usr/bin", desk.path("bin").display()));
    let refused = desk.perbuck(&UP);
    assert!(refused.code == Some(2) && refused.err.contains("eksctl is 0.140, and perbuck needs 0.190"), "{refused:#?}");
}

#[test]
fn a_cluster_that_eksctl_makes_is_as_billed_and_goes_with_everything_on_it() {
    let mut desk = desk();
    let made = stand_in(&mut desk);
    desk.write("s.toml", &eks_study());
    let up = desk.good(&UP);
    assert!(up.out.contains("x86: mysql://root@127.0."), "{up:#?}");
    assert_eq!(items("nodes").len(), 6, "a server and an admin machine of each, and two of the client");
    let status = desk.good(&["deploy", "status", "s.toml"]).out;
    assert_eq!(status.matches("as billed").count(), 2, "{status}");
    for line in ["perbuck-kw-eks: control plane", "perbuck-kw-eks: NAT gateway", "arm mysql: r8g.4xlarge: its root volume"] {
        assert!(status.contains(line), "{line}: {status}");
    }
    desk.good(&UP);
    let all = calls(&made);
    assert_eq!(all.matches("create cluster").count(), 1, "{all}");
    assert!(all.contains("create nodegroup -f") && all.contains("create addon -f"), "{all}");
    let down = desk.good(&DOWN);
    assert!(down.out.contains("nothing of this study is left"), "{down:#?}");
    // The name in the account carries the deployment's number.
    let ended = calls(&made)
        .lines()
        .any(|call| call.starts_with("delete cluster --name perbuck-kw-eks-") && call.contains(" --region us-east-1 --wait"));
    assert!(ended, "{}", calls(&made));
    nothing_is_there(&made, "after down");
    assert!(!desk.path("results/kw/deployment-perbuck-kw-eks.kubeconfig").exists());
}

#[test]
fn an_up_that_is_killed_while_eksctl_works_goes_on_and_goes_down() {
    let mut desk = desk();
    let made = stand_in(&mut desk);
    desk.write("s.toml", &eks_study());
    for nodes in [0, 2, 5] {
        let mut up = start(&desk, &UP, "said");
        wait_until("eksctl makes nodes", || made.join("cluster").exists() && items("nodes").len() >= nodes);
        signal(&up, "KILL");
        up.wait().unwrap();
        if nodes == 2 {
            // What there is of the cluster is ended by its tool, whether its API server answers or not.
            wait_until("eksctl has ended", || items("nodes").len() == 6);
            desk.good(&DOWN);
            nothing_is_there(&made, "after down of a half-made cluster");
            continue;
        }
        desk.good(&UP);
        assert_eq!(items("nodes").len(), 6);
        let status = desk.good(&["deploy", "status", "s.toml"]).out;
        assert_eq!(status.matches("as billed").count(), 2, "{status}");
        desk.good(&DOWN);
        nothing_is_there(&made, "after down");
        println!("killed at {nodes} nodes");
    }
}

/// The files of a rendering that hold objects of the API server, in order.
fn object_files(desk: &Desk, folder: &str) -> Vec<PathBuf> {
    let mut all = Vec::new();
    common::files(&desk.path(folder), &mut all);
    let holds = |p: &PathBuf| {
        let name = p.file_name().unwrap().to_str().unwrap();
        name.ends_with(".yaml") && !name.starts_with("1-")
    };
    all.into_iter().filter(holds).collect()
}

/// The definitions lack the fields that perbuck does not write, so an unknown field in what it writes is refused.
#[test]
fn every_object_of_the_eks_studies_is_taken_without_a_warning() {
    let desk = desk();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/tests/data/tidb-operator-1.6.6");
    for name in ["tidbclusters", "tidbmonitors"] {
        rig(&["kubectl", "apply", "--server-side", "-f", data.join(format!("{name}.json")).to_str().unwrap()]);
        let crd = format!("crd {name}.pingcap.com");
        wait_until("its kind is served", || items(&crd)[0]["status"]["conditions"].to_string().contains("\"Established\""));
    }
    for name in ["tidb-eks-arm-today", "tidb-eks-arm-2021-on-8.5"] {
        let text = std::fs::read_to_string(format!("{}/../../studies/{name}.toml", env!("CARGO_MANIFEST_DIR"))).unwrap();
        desk.write(&format!("{name}.toml"), &text);
        let article = "published/tidb-eks-arm-2021.toml";
        desk.write(article, include_str!("../../../studies/published/tidb-eks-arm-2021.toml"));
        desk.good(&["deploy", "render", &format!("{name}.toml"), "--out", name]);
        let mut objects = 0;
        for file in object_files(&desk, name) {
            let words = ["kubectl", "apply", "--server-side", "--validate=strict", "-f", file.to_str().unwrap()];
            let mut done = rig_output(&words);
            // A definition is served a moment after it is established.
            for _ in 0..5 {
                if done.status.success() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_secs(1));
                done = rig_output(&words);
            }
            let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
            assert!(done.status.success() && err.is_empty(), "{}: {err}", file.display());
            objects += out.lines().count();
        }
        assert!(objects > 10, "{objects}");
        println!("{name}: {objects} objects");
    }
}
