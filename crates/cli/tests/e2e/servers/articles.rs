//! Each of the four articles, scaled down to this machine, from its study in `studies/` to the table of published beside measured.

use perbuck_core::compare::{Agreement, Comparison, Outcome};
use perbuck_tikv_server::Cluster;

use crate::common::{Desk, maria::Maria};

const EDITS: [(&str, &str); 6] = [
    ("seed = 42", "seed = 42\nnotional = true"),
    ("warmup = \"30s\"", "warmup = \"0s\""),
    ("warmup = \"1m\"", "warmup = \"0s\""),
    ("duration = \"2m\"", "duration = \"300ms\""),
    ("duration = \"10m\"", "duration = \"500ms\""),
    ("trials = 5", "trials = 2"),
];

/// A study of the repository with all that says how large it is made smaller, and with its article beside it.
fn scaled(desk: &Desk, name: &str, edits: &[(&str, &str)]) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies");
    let read = |path: String| std::fs::read_to_string(path).unwrap();
    desk.write(&format!("published/{name}.toml"), &read(format!("{folder}/published/{name}.toml")));
    // Here private servers take the place of clusters.
    let whole = read(format!("{folder}/{name}.toml"));
    let mut text = String::new();
    for part in whole.split_inclusive("\n\n").filter(|part| !part.contains("[contender.deploy]")) {
        text.push_str(part);
    }
    for (from, to) in EDITS.iter().filter(|(from, _)| text.contains(from)).copied().collect::<Vec<_>>() {
        text = text.replace(from, to);
    }
    for (from, to) in edits {
        assert!(text.contains(from), "{name}: {from}");
        text = text.replace(from, to);
    }
    desk.write(&format!("{name}.toml"), &text);
    format!("{name}.toml")
}

/// Runs a study and reads what follows from it.
fn run(desk: &Desk, study: &str, more: &[&str]) -> Comparison {
    let ran = desk.good(&[&["run", study, "--json"], more].concat());
    let comparison: Comparison = serde_json::from_str(&ran.out).unwrap();
    let name = study.trim_end_matches(".toml");
    desk.good(&["report", &format!("results/{name}")]);
    assert!(desk.read(&format!("results/{name}/report.md")).contains("Published beside measured"));
    comparison
}

/// How many printed numbers were measured, and how many were not.
fn counts(comparison: &Comparison) -> (usize, usize) {
    let rows = &comparison.beside.as_ref().unwrap().rows;
    let not = rows.iter().filter(|row| row.outcome == Agreement::NotMeasured).count();
    (rows.len() - not, not)
}

const PRIVATE: &str = "server = { kind = \"mariadb\", config = { innodb_flush_log_at_trx_commit = 0 } }\n";

fn private(arch: &str) -> String {
    format!("{PRIVATE}arch = \"{arch}\"")
}

#[test]
fn mysql_with_two_pools_and_two_laws_of_access_on_one_data_set() {
    let desk = Desk::new();
    let edits = [
        ("arch = \"x86_64\"", &*private("x86_64")),
        ("arch = \"aarch64\"", &*private("aarch64")),
        ("tables = 100", "tables = 2"),
        ("table_size = 3_000_000", "table_size = 20_000"),
        ("85899345920", "67108864"),
        ("37580963840", "8388608"),
        ("connections = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]", "connections = [4, 16]"),
        ("trials = 3", "trials = 2"),
    ];
    let study = scaled(&desk, "mysql-kunpeng-2020", &edits);
    let comparison = run(&desk, &study, &[]);
    assert_eq!((comparison.found, comparison.workloads.len()), (160, 20));
    let records = desk.records("results/mysql-kunpeng-2020");
    // Loaded once for both laws, as uniform; and the pool is what the level says.
    for record in &records {
        let zipfian = record.key.workload.ends_with(",zipfian");
        assert_eq!(record.workload.parameters["rand_type"], if zipfian { "zipfian" } else { "uniform" });
        assert!(!zipfian || record.workload.parameters["data_rand_type"] == "uniform");
        let pool = if record.key.workload.contains("@cpu,") { "67108864" } else { "8388608" };
        assert_eq!(record.target.variables["innodb_buffer_pool_size"], pool, "{}", record.key.title());
        assert_eq!(record.workload.data, "kept");
        let read = record.target.server_counters["server_pages_read"];
        // A scan reads no page of the inner tree, and the first trial after it does; the server reads extents of 64 ahead.
        let in_memory = pool == "67108864" && record.key.workload.starts_with("point-select");
        assert!(!in_memory || read < 250, "{read}: {}", record.key.title());
    }
    // What a page embeds goes on where the run did: some parameters follow from those of other workloads.
    let page = "results/mysql-kunpeng-2020/report.html";
    desk.good(&["verify", page, "--extract", "extracted"]);
    assert_eq!(desk.read("extracted/fingerprint"), desk.read("results/mysql-kunpeng-2020/fingerprint"));
    let names: Vec<&str> = comparison.factors.iter().map(|f| f.factor.as_str()).collect();
    assert_eq!(names, ["pool", "access"]);
    assert!(
        comparison.factors.iter().all(|f| f.changes.len() == 6 && f.changes.iter().all(|c| c.change.ratio.interval.is_some()))
    );
    let decided = |outcome| comparison.claims.iter().filter(|claim| claim.outcome == outcome).count();
    // The claim on thread counts that were left out is not measured, and nothing else is.
    let away = |text: &str| text.starts_with("the gap of read-write from 128 threads");
    assert_eq!(decided(Outcome::NotMeasured), comparison.claims.iter().filter(|claim| away(&claim.text)).count());
    let (measured, not) = counts(&comparison);
    assert!(measured > 40 && not > 100, "{measured} {not}");
    let slope = comparison.claims.iter().find(|claim| claim.text.starts_with("Arm scales better")).unwrap();
    assert!(slope.value.is_some() && slope.interval.is_some() && slope.printed.is_none());
    let prices = comparison.claims.iter().find(|claim| claim.text == "Arm is 2 to 4 times cheaper: packet").unwrap();
    assert!(prices.outcome == Outcome::Holds && prices.printed.is_some());
}

#[test]
fn tidb_on_two_clusters_with_tpcc_and_sysbench_at_threads_of_their_own() {
    let desk = Desk::new();
    let edits = [
        ("arch = \"x86_64\"", &*private("x86_64")),
        ("arch = \"aarch64\"", &*private("aarch64")),
        ("warehouses = 100\n", "warehouses = 1\n"),
        ("warehouses = 500\n", "warehouses = 1\n"),
        ("warehouses = 10\n", "warehouses = 1\n"),
        ("connections = [150, 300, 500, 800, 1000]", "connections = [150]"),
        ("over = [300, 600, 900]", "over = [300]"),
        ("connections = [300, 600, 900]", "connections = [300]"),
        ("over = [300, 500, 800]", "over = [150]"),
        ("tables = 16", "tables = 2"),
        // 300 connections on fewer rows wait for each other's locks, and a slow machine completes nothing in its window.
        ("table_size = 10_000_000", "table_size = 50_000"),
    ];
    let study = scaled(&desk, "tidb-eks-arm-2021", &edits);
    let comparison = run(&desk, &study, &[]);
    assert_eq!((comparison.found, comparison.planned), (16, 16));
    // Dollars per unit of work: four workloads in two regions. Servers of one machine differ by their bills alone, and by noise.
    let cheaper = comparison.claims.iter().filter(|claim| claim.text.starts_with("dollars per unit of work at least 15 %"));
    assert!(cheaper.clone().count() == 8 && cheaper.into_iter().all(|claim| claim.value.is_some() && claim.printed.is_some()));
    let faster: Vec<_> = comparison.claims.iter().filter(|claim| claim.text.starts_with("x86 performance")).collect();
    assert!(faster.len() == 4 && faster.iter().all(|claim| claim.value.is_some()));
    let differences = comparison.beside.as_ref().unwrap().differences.join("\n");
    assert!(differences.contains("in the article; here") && differences.contains("MariaDB"), "{differences}");
}

#[test]
fn tidb_on_two_clouds_where_only_ratios_were_printed() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "articles_gcp");
    maria.in_database("", "DROP DATABASE IF EXISTS articles_aws; CREATE DATABASE articles_aws");
    desk.set("PERBUCK_GCP_PASSWORD", &maria.password);
    desk.set("PERBUCK_AWS_PASSWORD", &maria.password);
    let edits = [("tables = 16", "tables = 2"), ("table_size = 10_000_000", "table_size = 1000")];
    let study = scaled(&desk, "tidb-t2a-graviton2-2022", &edits);
    let refused = desk.perbuck(&["run", &study]);
    assert!(refused.code == Some(2) && refused.err.contains("has no target to drive"), "{refused:?}");
    let target = |name: &str, database: &str| format!("{name}={}", maria.url().replace("articles_gcp", database));
    let (gcp, aws) = (target("gcp", "articles_gcp"), target("aws", "articles_aws"));
    let comparison = run(&desk, &study, &["--target", &gcp, "--target", &aws]);
    assert_eq!(comparison.found, 12);
    // Points and workloads of one rival; there are no values to compare.
    let rows = &comparison.beside.as_ref().unwrap().rows;
    assert!(rows.len() == 6 && rows.iter().all(|row| row.is_ratio && row.measured.is_some()), "{rows:?}");
    // What was asked on the command line is in the folder: the same command without it finds all trials there.
    assert!(desk.read("results/tidb-t2a-graviton2-2022/study.toml").contains("[targets]"));
    desk.good(&["compare", "results/tidb-t2a-graviton2-2022", "--study", &study]);
    maria.in_database("", "DROP DATABASE articles_aws");
}

#[test]
fn tikv_with_a_million_operations_of_ycsb() {
    let desk = Desk::new();
    let (one, other) = (Cluster::start(1).unwrap(), Cluster::start(1).unwrap());
    let edits = [("recordcount = 1_000_000", "recordcount = 1000"), ("events = 1_000_000", "events = 1000")];
    let study = scaled(&desk, "tikv-arm64-2019", &edits);
    let target = |name: &str, cluster: &Cluster| format!("{name}=tikv://{}/?type=raw", cluster.pd());
    let comparison = run(&desk, &study, &["--target", &target("x86", &one), "--target", &target("arm64", &other)]);
    assert_eq!(comparison.found, 16);
    assert_eq!(counts(&comparison).1, 0);
    assert!(comparison.claims.iter().all(|claim| claim.value.is_some()), "{:?}", comparison.claims);
}
