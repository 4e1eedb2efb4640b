//! `perbuck audit` on the published studies and on an article of a user's own.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use common::Desk;
use serde_json::Value;

const EKS: &str = include_str!("../../../studies/published/tidb-eks-arm-2021.toml");
const T2A: &str = include_str!("../../../studies/published/tidb-t2a-graviton2-2022.toml");
const KUNPENG: &str = include_str!("../../../studies/published/mysql-kunpeng-2020.toml");
const TIKV: &str = include_str!("../../../studies/published/tikv-arm64-2019.toml");

fn audit(text: &str) -> Value {
    let desk = Desk::new();
    desk.write("s.toml", text);
    serde_json::from_str(&desk.good(&["audit", "s.toml", "--json"]).out).unwrap()
}

fn number<'v>(found: &'v Value, name: &str) -> &'v Value {
    found["numbers"].as_array().unwrap().iter().find(|f| f["name"] == name).unwrap_or_else(|| panic!("no number {name}"))
}

/// Name, right value and class of every number that is neither exact nor its rounding.
fn wrong(found: &Value) -> Vec<(String, String, String)> {
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    let all = found["numbers"].as_array().unwrap().iter();
    let off = all.filter(|f| !["exact", "rounded", "not-derivable"].contains(&f["class"].as_str().unwrap()));
    off.map(|f| (text(&f["name"]), text(&f["right"]), text(&f["class"]))).collect()
}

#[test]
fn every_number_of_the_eks_study_is_listed_and_the_wrong_ones_are_named() {
    let found = audit(EKS);
    assert_eq!(found["numbers"].as_array().unwrap().len(), 90);
    let expected = [
        ("compute arm ap-southeast-1 tikv", "1,065.22", "truncated"),
        ("total arm us-west-2", "127,048.08", "from-rounded"),
        ("total arm ap-southeast-1", "148,017.84", "from-rounded"),
        ("difference medium1 1000", "7.15", "truncated"),
        ("difference sysbench 300", "−3.69", "truncated"),
        ("throughput small arm", "12,338", "truncated"),
        ("throughput small x86", "12,226", "truncated"),
        ("throughput medium1 x86", "52,602", "truncated"),
        ("throughput medium2 arm", "62,455", "truncated"),
        ("throughput medium2 x86", "61,291", "truncated"),
        // The mean of the three printed throughputs is 2654.2433.
        ("throughput sysbench arm", "2,654.24", "inconsistent"),
        ("unit cost medium1 arm us-west-2", "2.36", "truncated"),
        ("advantage small us-west-2", "−16.47", "inconsistent"),
        ("advantage medium1 us-west-2", "−17.77", "from-rounded"),
        ("advantage medium2 us-west-2", "−17.28", "from-rounded"),
        ("advantage sysbench us-west-2", "−16.01", "from-rounded"),
        ("IOPS of the pd volume", "150", "inconsistent"),
    ];
    let expected: Vec<_> = expected.map(|(n, r, c)| (n.to_owned(), r.to_owned(), c.to_owned())).into();
    assert_eq!(wrong(&found), expected);
    assert!(found["checks"].as_array().unwrap().iter().all(|c| c["holds"] == "yes"), "{}", found["checks"]);
}

#[test]
fn another_raw_number_gives_another_audit() {
    // The numbers know nothing: with this throughput its printed difference and all that follows from it are wrong.
    let changed = audit(&EKS.replace("11211.4", "12211.4"));
    assert_eq!(number(&changed, "difference small 150")["right"], "−8.39");
    assert_eq!(number(&changed, "difference small 150")["class"], "inconsistent");
    let before = audit(EKS);
    assert_eq!(number(&before, "difference small 150")["class"], "rounded");
    // A digit more in a printed number.
    let printed = audit(&EKS.replace("\"arm ap-southeast-1 tikv\" = \"1065.21\"", "\"arm ap-southeast-1 tikv\" = \"1065.22\""));
    assert_eq!(number(&printed, "compute arm ap-southeast-1 tikv")["class"], "rounded");
    // Another number of machines.
    let fewer = audit(&EKS.replace("instance = \"r6g.2xlarge\", count = 3", "instance = \"r6g.2xlarge\", count = 2"));
    assert_eq!(number(&fewer, "compute arm us-west-2 tikv")["right"], "588.67");
    assert!(wrong(&fewer).len() > wrong(&before).len() + 10);
}

#[test]
fn the_scope_of_costs_of_the_t2a_study_is_found() {
    let found = audit(T2A);
    let read = number(&found, "price-performance read-only");
    assert_eq!((read["class"].as_str(), read["right"].as_str()), (Some("truncated"), Some("16.38")));
    assert!(read["rule"].as_str().unwrap().starts_with("compute only, more work per dollar"), "{read}");
    let write = number(&found, "price-performance write-only");
    assert_eq!(write["right"], "16.91");
    assert!(write["rule"].as_str().unwrap().starts_with("compute only, lower cost per unit"), "{write}");
    // The other scopes are told with what they would have said, and none of them gives the printed digits.
    for f in [read, write] {
        let readings = f["readings"].as_array().unwrap();
        assert_eq!(readings.len(), 6);
        let fit = readings.iter().filter(|r| r["class"] != "inconsistent").count();
        assert_eq!(fit, 1, "{f}");
    }
    for (name, right) in [("vCPUs of c6g.large", "2"), ("memory of c6g.large", "4")] {
        assert_eq!((&number(&found, name)["right"], &number(&found, name)["class"]), (&right.into(), &"inconsistent".into()));
    }
}

#[test]
fn the_claims_of_the_kunpeng_study_are_checked() {
    let found = audit(KUNPENG);
    let claim = |text: &str| {
        let all = found["claims"].as_array().unwrap();
        all.iter().find(|c| c["text"].as_str().unwrap().ends_with(text)).unwrap()["holds"].clone()
    };
    assert_eq!((claim("cheaper: Huawei"), claim("cheaper: packet")), ("no".into(), "yes".into()));
    assert_eq!(number(&found, "processors for the same money")["right"], "2.29");
    assert_eq!(number(&found, "computing power arm")["class"], "rounded");
    // Digitised: where the reading error spans the bound, nothing is decided.
    assert_eq!(claim("uniform, in memory, 512 threads"), "unknown");
}

#[test]
fn runs_of_seconds_are_told_from_the_samples() {
    let found = audit(TIKV);
    let checks = found["checks"].as_array().unwrap();
    let check = |text: &str| checks.iter().find(|c| c["text"].as_str().unwrap().contains(text)).unwrap();
    assert_eq!(check("a run of at least 60 s: B, x86")["holds"], "no");
    assert!(check("a run of at least 60 s: B, x86")["found"].as_str().unwrap().starts_with("10.3 s"));
    assert_eq!(check("95 % reads: B, arm64")["holds"], "yes");
}

const OWN: &str = r#"
schema = 1
name = "mine"
baseline = "old"
[price]
snapshot = "example"
regions = ["here"]
horizon_months = 12
[[contender]]
name = "old"
node = [{ role = "db", instance = "m1.large" }]
[[contender]]
name = "new"
node = [{ role = "db", instance = "m2.large" }]
[[workload]]
name = "points"
kind = "sysbench"
script = "oltp_point_select"
[results]
title = "Our move to m2"
[[number]]
name = "cost {contender}"
each = ["contender"]
formula = "months * bill('{contender}', 'here')"
[number.printed]
"old" = "700.80"
"new" = "613.20"
[[number]]
name = "saved"
about = "percent of the cost of a transaction"
formula = "percent(1 - ([cost new] / summary('points', 'new')) / ([cost old] / summary('points', 'old')))"
printed = "30"
"#;

const PRICES: &str = r#"
schema = 1
name = "example"
provider = "example"
as_of = "2026-11-01"
currency = "USD"
capacity_unit = "GB"
[sources]
quote = "the example company's offer of 2026-11-01"
[[family]]
name = "m1"
arch = "x86_64"
cpu = "Example CPU 1"
size = [{ type = "m1.large", vcpu = 2, memory_gib = 8 }]
[[family]]
name = "m2"
arch = "aarch64"
cpu = "Example CPU 2"
size = [{ type = "m2.large", vcpu = 2, memory_gib = 8 }]
[[region]]
name = "here"
date = "2026-11-01"
source = "quote"
instance = [{ type = "m1.large", usd_per_hour = 0.08 }, { type = "m2.large", usd_per_hour = 0.07 }]
"#;

const RESULTS: &str = "workload,contender,connections,tps,mean_ms
points,old,8,1000,8
points,old,8,1010,7.9
points,new,8,1200,6.7
points,new,8,1195,
";

#[test]
fn an_article_of_ones_own_is_audited_from_a_csv_file_and_a_price_list() {
    let desk = Desk::new();
    [("s.toml", OWN), ("p.toml", PRICES), ("r.csv", RESULTS)].iter().for_each(|(name, text)| {
        desk.write(name, text);
    });
    let with = ["audit", "s.toml", "--prices", "p.toml", "--results", "r.csv"];
    let text = desk.good(&with).out;
    assert!(text.starts_with("3 printed numbers: 2 exact, 1 inconsistent.\n"), "{text}");
    // 1 − (613.2/1197.5)/(700.8/1005) is 26.6 %.
    assert!(text.contains("saved") && text.contains("26.56") && text.contains("30"), "{text}");
    let strict = desk.perbuck(&[&with[..], &["--strict"]].concat());
    assert_eq!(strict.code, Some(1), "{strict:#?}");
    desk.write("r.csv", &RESULTS.replace("points,new,8,1200", "points,newer,8,1200"));
    let wrong = desk.perbuck(&with);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("r.csv:4: `newer` is no contender of the study mine"), "{}", wrong.err);
}

#[test]
fn wrong_formulas_and_studies_without_results_are_refused() {
    let desk = Desk::new();
    desk.write(
        "s.toml",
        &EKS.replace("[storage {region} tikv] + [storage {region} pd]", "[storage {region} tikv] + [storag {region} pd]"),
    );
    let bad = desk.perbuck(&["audit", "s.toml"]);
    assert_eq!(bad.code, Some(2));
    assert!(
        bad.err.contains("[storag us-west-2 pd] is no printed number and no given number; did you mean [storage us-west-2 pd]?"),
        "{}",
        bad.err
    );
    desk.write("s.toml", include_str!("../../../studies/ycsb-local.toml"));
    let none = desk.perbuck(&["audit", "s.toml"]);
    assert!(none.code == Some(2) && none.err.contains("has no `[results]` with numbers"), "{}", none.err);
}
