//! `perbuck deploy render`: the same bytes each time, and machines, pods, volumes and fees as `perbuck price` bills them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::common::Desk;
use serde_json::Value;

/// The studies that perbuck can deploy.
const STUDIES: [&str; 4] = ["tidb-eks-arm-2021", "tidb-eks-arm-2021-on-8.5", "tidb-eks-arm-today", "tidb-two-clouds-today"];

/// Lines such as `arm tikv: 3 × r8g.2xlarge`.
type Table = BTreeSet<String>;

fn text_of(study: &str) -> String {
    std::fs::read_to_string(format!("{}/../../studies/{study}.toml", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("published/tidb-eks-arm-2021.toml", include_str!("../../../../studies/published/tidb-eks-arm-2021.toml"));
    for study in STUDIES {
        desk.write(&format!("{study}.toml"), &text_of(study));
    }
    desk
}

fn render(desk: &Desk, file: &str, out: &str) -> BTreeMap<PathBuf, String> {
    desk.good(&["deploy", "render", file, "--out", out]);
    let mut all = Vec::new();
    crate::common::files(&desk.path(out), &mut all);
    let read = |p: PathBuf| (p.strip_prefix(desk.path(out)).unwrap().to_owned(), std::fs::read_to_string(&p).unwrap());
    all.into_iter().map(read).collect()
}

/// What a bill says in its first region: `3 × 730 h × $0.47` is three machines, `3 × 1000 GB × $0.08` three volumes.
fn billed(desk: &Desk, file: &str) -> Table {
    let bills: Value = serde_json::from_str(&desk.good(&["price", "--json", file]).out).unwrap();
    let (mut table, mut seen) = (Table::new(), BTreeSet::new());
    for bill in bills.as_array().unwrap() {
        let contender = bill["contender"].as_str().unwrap();
        if !seen.insert(contender.to_owned()) {
            continue;
        }
        let mut volumes: Vec<(String, String)> = Vec::new();
        for line in bill["lines"].as_array().unwrap() {
            let word = |key: &str| line[key].as_str().unwrap();
            let (item, sku, formula) = (word("item"), word("sku"), word("formula"));
            let parts: Vec<&str> = formula.split(" × ").collect();
            let first = |text: &str| text.split(' ').next().unwrap().replace(',', "").parse::<u64>().unwrap();
            match word("group") {
                "compute" => {
                    table.insert(format!("{contender} {item}: {} × {sku}", parts[0]));
                    if !["admin", "client"].contains(&item) {
                        table.insert(format!("{contender} {item}: {} pods", parts[0]));
                    }
                }
                // `3000 IOPS above 3000` are 6000.
                "volume" if sku.ends_with(" IOPS") || sku.ends_with(" throughput") => {
                    let (_, last) = volumes.last_mut().unwrap();
                    let whole = first(parts[1]) + first(parts[1].split("above ").nth(1).unwrap());
                    *last += &format!(", {whole} {}", sku.rsplit(' ').next().unwrap());
                }
                // A price of the study's own says no size.
                "volume" if parts[1].starts_with('$') => volumes.push((item.to_owned(), format!("{} × {sku}", parts[0]))),
                "volume" => volumes.push((item.to_owned(), format!("{} × {sku} of {} GB", parts[0], first(parts[1])))),
                "fee" => drop(table.insert(format!("{contender}: {item}"))),
                other => assert_eq!(other, "snapshot"),
            }
        }
        table.extend(volumes.into_iter().map(|(role, text)| format!("{contender} {role}: {text}")));
    }
    table
}

/// What the rendered files say. Volumes whose price is the study's own stand without their size, as in the bill.
fn rendered(files: &BTreeMap<PathBuf, String>) -> Table {
    let mut table = Table::new();
    let folders: BTreeSet<&str> = files.keys().filter_map(|p| p.parent()?.to_str()).filter(|p| !p.is_empty()).collect();
    for folder in folders {
        let file = |name: &str| files.get(&PathBuf::from(folder).join(name)).map(String::as_str);
        let objects = |name: &str| perbuck_kubernetes::yaml(file(name).unwrap()).unwrap();
        let classes = objects("2-base.yaml");
        let (mut systems, own) = (Vec::new(), files.keys().filter(|p| p.starts_with(folder)));
        for name in own.filter_map(|p| p.file_name()?.to_str()?.strip_prefix("4-")?.strip_suffix(".yaml")) {
            systems.push(name);
            let all = objects(&format!("4-{name}.yaml"));
            let cluster = all.iter().find(|o| o["kind"] == "TidbCluster").unwrap();
            system(name, &cluster["spec"], &classes, &mut table);
        }
        match file("1-cluster.yaml") {
            Some(config) => eks(&perbuck_kubernetes::yaml(config).unwrap()[0], &systems, &mut table),
            None => gke(file("1-cluster.sh").unwrap(), &systems, &mut table),
        }
    }
    table
}

/// Pods and data volumes of a contender.
fn system(contender: &str, spec: &Value, classes: &[Value], table: &mut Table) {
    for role in ["pd", "tikv", "tidb"] {
        let replicas = &spec[role]["replicas"];
        table.insert(format!("{contender} {role}: {replicas} pods"));
        let Some(class_name) = spec[role]["storageClassName"].as_str() else { continue };
        let class = classes.iter().find(|c| c["kind"] == "StorageClass" && c["metadata"]["name"] == class_name).unwrap();
        let parameter = |key: &str| class["parameters"][key].as_str();
        let kind = parameter("type").unwrap();
        let mut line = format!("{contender} {role}: {replicas} × {kind}");
        if class["provisioner"] == "ebs.csi.aws.com" {
            line += &format!(" of {} GB", spec[role]["requests"]["storage"].as_str().unwrap().trim_end_matches("Gi"));
            let more = [("iops", "IOPS"), ("throughput", "throughput")];
            line.extend(more.iter().filter_map(|(key, word)| Some(format!(", {} {word}", parameter(key)?))));
        }
        table.insert(line);
    }
}

/// Machines, and what they boot from. The client's are those of each contender, in whose bill they are shown.
fn machines(labels: (Option<&str>, &str), systems: &[&str], lines: &[String], table: &mut Table) {
    let of: Vec<&str> = labels.0.map_or_else(|| systems.to_vec(), |own| vec![own]);
    for contender in of {
        table.extend(lines.iter().map(|line| format!("{contender} {}: {line}", labels.1)));
    }
}

fn eks(config: &Value, systems: &[&str], table: &mut Table) {
    // A role in several zones has a group in each.
    let mut roles: BTreeMap<(Option<&str>, &str), Vec<&Value>> = BTreeMap::new();
    for group in config["managedNodeGroups"].as_array().unwrap() {
        let labels = (group["labels"]["perbuck/contender"].as_str(), group["labels"]["perbuck/role"].as_str().unwrap());
        roles.entry(labels).or_default().push(group);
    }
    for (labels, groups) in roles {
        let key = |group: &Value, key: &str| group[key].clone();
        for of in ["instanceType", "volumeType", "volumeSize"] {
            assert!(groups.iter().all(|group| key(group, of) == key(groups[0], of)), "{groups:?}");
        }
        for of in ["minSize", "maxSize"] {
            assert!(groups.iter().all(|group| key(group, of) == group["desiredCapacity"]), "{groups:?}");
        }
        let count: u64 = groups.iter().map(|group| group["desiredCapacity"].as_u64().unwrap()).sum();
        let (group, word) = (groups[0], |key: &str| groups[0][key].as_str().unwrap());
        let root = format!("{count} × {} of {} GB", word("volumeType"), group["volumeSize"]);
        machines(labels, systems, &[format!("{count} × {}", word("instanceType")), root], table);
    }
    assert_eq!(config["vpc"]["nat"]["gateway"], "Single");
    for contender in systems {
        table.extend([format!("{contender}: EKS control plane"), format!("{contender}: NAT gateway")]);
    }
}

fn gke(script: &str, systems: &[&str], table: &mut Table) {
    for step in script.split("\n\n").filter(|step| step.contains("--machine-type")) {
        let after = |flag: &str| step.split(flag).nth(1).unwrap().split_whitespace().next().unwrap();
        let label = |key: &str| after("--node-labels").split(',').find_map(|pair| pair.strip_prefix(&format!("perbuck/{key}=")));
        let count = after("--num-nodes");
        let lines = ["--machine-type", "--disk-type"].map(|flag| format!("{count} × {}", after(flag)));
        machines((label("contender"), label("role").unwrap()), systems, &lines, table);
    }
    table.extend(systems.iter().map(|contender| format!("{contender}: GKE control plane")));
}

/// What is made and in no bill, as the README of the rendering says.
fn unbilled(study: &str, all: &Table) -> Table {
    let gap = |line: &&String| match study {
        // The article left them out, so its bill does.
        "tidb-eks-arm-2021" => line.ends_with("gp3 of 20 GB") || line.ends_with(": NAT gateway"),
        _ => line.contains(" client: ") && line.ends_with("gp3 of 20 GB"),
    };
    all.iter().filter(gap).cloned().collect()
}

fn agree(desk: &Desk, file: &str, study: &str) -> Table {
    let files = render(desk, file, &format!("out-{file}"));
    let (bill, made) = (billed(desk, file), rendered(&files));
    let gaps = unbilled(study, &made);
    let without: Table = made.difference(&gaps).cloned().collect();
    let only = |a: &Table, b: &Table| a.difference(b).cloned().collect::<Vec<_>>();
    assert_eq!((only(&without, &bill), only(&bill, &made)), (Vec::new(), Vec::new()), "{study}: only rendered, only billed");
    let readme = &files[&PathBuf::from("README.md")];
    // A row names a contender. The gateway belongs to the cluster, and the client's volumes are told to be the load's.
    // What is billed by use or by address is in no bill, and nothing that is rendered counts it.
    let counted = |row: &&str| row.contains("declare `root_volume`") || row.contains("| NAT gateway |");
    let told = readme.lines().filter(|row| row.contains("in no bill; ")).filter(counted).count();
    let expected = gaps.iter().filter(|line| !line.contains(" client: ")).count();
    let shared = gaps.iter().filter(|line| line.ends_with(": NAT gateway")).count().saturating_sub(1);
    assert_eq!(told, expected - shared, "{study}: {gaps:?} {readme}");
    made
}

#[test]
fn every_study_is_rendered_to_the_same_bytes_each_time() {
    let desk = desk();
    for study in STUDIES {
        let file = format!("{study}.toml");
        let (first, second) = (render(&desk, &file, "first"), render(&desk, &file, "second"));
        assert!(first.len() >= 6, "{study}: {:?}", first.keys());
        assert_eq!(first, second, "{study}");
        for folder in ["first", "second"] {
            std::fs::remove_dir_all(desk.path(folder)).unwrap();
        }
    }
}

#[test]
fn what_is_rendered_is_what_is_billed() {
    let desk = desk();
    for study in STUDIES {
        let table = agree(&desk, &format!("{study}.toml"), study);
        assert!(table.len() > 25, "{study}: {table:#?}");
    }
    // The comparison is one of content.
    let today = agree(&desk, "tidb-eks-arm-today.toml", "tidb-eks-arm-today");
    for line in [
        "arm tikv: 3 × r8g.2xlarge",
        "arm tikv: 3 pods",
        "arm tikv: 3 × gp3 of 1000 GB, 6000 IOPS, 500 throughput",
        "arm tikv: 3 × gp3 of 20 GB",
        "x86 client: 1 × c8i.4xlarge",
        "x86: EKS control plane",
        "x86: NAT gateway",
    ] {
        assert!(today.contains(line), "{line}: {today:#?}");
    }
}

#[test]
fn one_count_in_the_study_changes_bill_and_rendering() {
    let desk = desk();
    let (study, from) = ("tidb-eks-arm-today", "instance = \"r8g.2xlarge\", count = 3");
    let text = text_of(study);
    assert!(text.contains(from));
    desk.write("more.toml", &text.replace(from, &from.replace('3', "5")));
    let (before, after) = (agree(&desk, &format!("{study}.toml"), study), agree(&desk, "more.toml", study));
    let new: Vec<&str> = after.difference(&before).map(String::as_str).collect();
    let of = |what: &str| format!("arm tikv: 5 {what}");
    let expected = ["pods", "× gp3 of 1000 GB, 6000 IOPS, 500 throughput", "× gp3 of 20 GB", "× r8g.2xlarge"].map(of);
    assert_eq!(new.iter().copied().collect::<BTreeSet<_>>(), expected.iter().map(String::as_str).collect());
    assert_eq!(before.difference(&after).count(), 4);
}

#[test]
fn wrong_inputs_are_told_with_the_way_out() {
    let desk = desk();
    let text = text_of("tidb-eks-arm-today");
    let refused = |edit: (&str, &str), code: i32, says: &[&str]| {
        assert!(text.contains(edit.0), "{}", edit.0);
        desk.write("wrong.toml", &text.replace(edit.0, edit.1));
        let ended = desk.perbuck(&["deploy", "render", "wrong.toml", "--out", "out"]);
        assert_eq!(ended.code, Some(code), "{ended:#?}");
        says.iter().for_each(|words| assert!(ended.err.contains(words), "{words}: {}", ended.err));
        assert!(!desk.path("out").exists(), "nothing is written");
    };
    refused(("provider = \"eks\"", "provider = \"azure\""), 2, &["wrong.toml:", "`provider` is \"azure\"", "use one of \"eks\""]);
    refused(("operator = \"v1.6.6\"\n", ""), 2, &["`deploy` says no version of TiDB Operator", "add `operator = \"v1.6.6\"`"]);
    refused(("kind = \"tidb\"", "kind = \"tidbb\""), 2, &["`deploy.kind` is `tidbb`", "did you mean `tidb`"]);
    refused(("zones = [\"us-east-1a\", \"us-east-1b\"]", "zones = []"), 2, &["`deploy` names no zone"]);
    refused(("role = \"tikv\"", "role = \"kv\""), 2, &["runs nothing on a node of role `kv`", "no node of role `tikv`"]);
    desk.write("no.toml", &crate::common::SQLITE_STUDY.replace("name = \"small\"", "name = \"no\""));
    let none = desk.perbuck(&["deploy", "render", "no.toml", "--out", "out"]);
    assert!(none.code == Some(2) && none.err.contains("no contender of no.toml has `deploy`"), "{none:#?}");
    desk.write("a-file", "");
    let file = desk.perbuck(&["deploy", "render", "tidb-eks-arm-today.toml", "--out", "a-file"]);
    assert!(file.code == Some(5) && file.err.contains("a-file"), "{file:#?}");
}
