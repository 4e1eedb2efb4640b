//! `perbuck audit` on the published studies and on an article of a user's own.

use crate::common::Desk;
use serde_json::Value;

const EKS: &str = include_str!("../../../../studies/published/tidb-eks-arm-2021.toml");
const T2A: &str = include_str!("../../../../studies/published/tidb-t2a-graviton2-2022.toml");
const KUNPENG: &str = include_str!("../../../../studies/published/mysql-kunpeng-2020.toml");
const TIKV: &str = include_str!("../../../../studies/published/tikv-arm64-2019.toml");

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

/// The words of every check and claim that does not hold.
fn not_held(found: &Value) -> Vec<&str> {
    let all = ["claims", "checks"].into_iter().flat_map(|key| found[key].as_array().unwrap());
    all.filter(|c| c["holds"] == "no").map(|c| c["text"].as_str().unwrap()).collect()
}

#[test]
fn every_number_of_the_eks_study_is_listed_and_the_wrong_ones_are_named() {
    let found = audit(EKS);
    assert_eq!(found["numbers"].as_array().unwrap().len(), 125);
    let expected = [
        ("vCPUs of c6g.large", "2", "inconsistent"),
        ("vCPUs of c5.large", "2", "inconsistent"),
        ("memory of c6g.large", "4", "inconsistent"),
        ("memory of c5.large", "4", "inconsistent"),
        // The price list has 5 Gbit/s for as long as one likes; 10 are the burst.
        ("network of c5.4xlarge", "5", "inconsistent"),
        ("compute arm ap-southeast-1 tikv", "1,065.22", "truncated"),
        ("total arm us-west-2", "127,048.1", "from-rounded"),
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
        ("advantage medium1 us-west-2", "−17.77", "from-rounded"),
        ("advantage medium2 us-west-2", "−17.28", "from-rounded"),
        ("advantage sysbench us-west-2", "−16.01", "from-rounded"),
        ("IOPS of the pd volume", "150", "inconsistent"),
    ];
    let expected: Vec<_> = expected.map(|(n, r, c)| (n.to_owned(), r.to_owned(), c.to_owned())).into();
    assert_eq!(wrong(&found), expected);
    // -16.5 is printed with one decimal, and −16.47 rounds to it.
    let small = number(&found, "advantage small us-west-2");
    assert_eq!((&small["printed"], &small["right"], &small["class"]), (&"-16.5".into(), &"−16.5".into(), &"rounded".into()));
}

#[test]
fn the_sample_outputs_and_claims_of_the_eks_study_are_held_against_its_tables() {
    let found = audit(EKS);
    let expected = [
        "dollars per unit of work on average 15 % lower",
        "the performance of both does not differ that much",
        "the bytes of a row of sysbench",
        "tpmc of a run without waits lies within what the waits of the benchmark allow: small",
        "tpmc of a run without waits lies within what the waits of the benchmark allow: medium1",
        "tpmc of a run without waits lies within what the waits of the benchmark allow: medium2",
        "the verdict does not depend on the points of the mean: medium2",
        "the run has the declared length: the sample output of TPC-C",
        "the sample output is of a run in the table: the sample output of TPC-C",
        "the run has the declared length: the sample output of sysbench",
        "reads, writes and others of a transaction are 14, 4, 2: the sample output of sysbench",
        "the share of reads: the sample output of sysbench",
        "the version of the TPC-C program, the same at each place",
        "how much lower the price-performance ratio is, the same at each place",
        "the decimals of the total system cost, the same at each place",
    ];
    assert_eq!(not_held(&found), expected);
    // A planted fault: the output of sysbench with another rate is of no row, and its rate does not follow from its count.
    let planted = audit(&EKS.replace("per_second = \"2489.02\"", "per_second = \"2589.02\""));
    let more: Vec<&str> = not_held(&planted).into_iter().filter(|text| !expected.contains(text)).collect();
    assert_eq!(
        more,
        [
            "per second follows from count and seconds: the sample output of sysbench",
            "the sample output is of a run in the table: the sample output of sysbench"
        ]
    );
}

/// The page that lists what the audits of the four articles find.
const FINDINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/method/audit-findings.md");

/// The four articles, the youngest first.
const ARTICLES: [(&str, &str, &str); 4] = [
    ("TiDB on Tau T2A and Graviton2, 2022", "tidb-t2a-graviton2-2022", T2A),
    ("TiDB on EKS, 2021", "tidb-eks-arm-2021", EKS),
    ("MySQL on Kunpeng 920, 2020", "mysql-kunpeng-2020", KUNPENG),
    ("TiKV on Arm64, 2019", "tikv-arm64-2019", TIKV),
];

/// The page as the audits give it.
fn findings_page() -> String {
    let mut page = "# What the audits find\n\n\
        Every finding of `perbuck audit` in the four [published studies](../commands/replay.md), in order of weight. A test compares\n\
        this page with the audits. `UPDATE_GOLDEN=1 cargo test -p perbuck --test e2e audit::` writes it.\n\n\
        | weight | is |\n|---|---|\n\
        | conclusion | a conclusion that the article's own numbers do not support |\n\
        | number | a number that does not follow from the others |\n\
        | reproduction | what cannot be reproduced or told from the article |\n\
        | rounding or slip | conclusions stand |\n"
        .to_owned();
    for (title, name, text) in ARTICLES {
        let found = audit(text);
        page += &format!("\n## {title}\n\n`perbuck audit studies/published/{name}.toml`\n\n");
        page += "| no. | weight | finding | class | numbers, claims and checks |\n|--:|---|---|---|---|\n";
        for (i, remark) in found["list"].as_array().unwrap().iter().enumerate() {
            let [weight, sentence, class] = ["weight", "sentence", "class"].map(|key| remark[key].as_str().unwrap());
            let weight = weight.replace("slip", "rounding or slip");
            let of = remark["of"].as_array().unwrap().iter().map(|of| format!("`{}`", of.as_str().unwrap()));
            let of = if class == "not given" { String::new() } else { of.collect::<Vec<_>>().join(", ") };
            page += &format!("| {} | {weight} | {sentence} | {class} | {of} |\n", i + 1);
        }
    }
    page
}

#[test]
fn the_page_of_findings_is_what_the_audits_find() {
    let page = findings_page();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(FINDINGS, &page).unwrap();
    }
    let kept = std::fs::read_to_string(FINDINGS).unwrap_or_default();
    assert!(kept == page, "{FINDINGS} is out of date; write it with UPDATE_GOLDEN=1 and read the difference");
}

#[test]
fn the_list_ends_the_audit_in_order_of_weight_and_loses_no_finding() {
    for (_, name, text) in ARTICLES {
        let desk = Desk::new();
        desk.write("s.toml", text);
        let out = desk.good(&["audit", "s.toml"]).out;
        let list = out.split("Findings in order of weight").nth(1).unwrap_or_else(|| panic!("{name}: {out}"));
        assert!(!list.contains("Every printed number"), "{name}: the list is the end");
        let found = audit(text);
        let remarks = found["list"].as_array().unwrap();
        let order = ["conclusion", "number", "reproduction", "slip"];
        let ranks: Vec<usize> = remarks.iter().map(|r| order.iter().position(|w| r["weight"] == *w).unwrap()).collect();
        assert!(ranks.is_sorted(), "{name}: {ranks:?}");
        let listed: Vec<&str> = remarks.iter().flat_map(|r| r["of"].as_array().unwrap()).map(|of| of.as_str().unwrap()).collect();
        let numbers = found["numbers"].as_array().unwrap().iter();
        let off = numbers.filter(|f| !["exact", "rounded"].contains(&f["class"].as_str().unwrap())).map(|f| &f["name"]);
        let checks = ["claims", "checks"].into_iter().flat_map(|key| found[key].as_array().unwrap());
        let failed = checks.filter(|c| c["holds"] != "yes").map(|c| &c["text"]);
        for finding in off.chain(failed) {
            assert!(listed.contains(&finding.as_str().unwrap()), "{name}: {finding}");
        }
        for remark in remarks {
            let sentence = remark["sentence"].as_str().unwrap();
            assert!(sentence.split_whitespace().count() <= 42 && sentence.ends_with('.'), "{name}: {sentence}");
        }
    }
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
    let expected = [
        "price-performance of read-write is a draw, the whole bill",
        "price-performance is better where it is lower",
        "an average of several values: price-performance",
        "two percentages have one base: price-performance read-only and price-performance write-only",
        "t2a is dated 2021-07-13",
        "the cost that price-performance divides by, the same at each place",
    ];
    assert_eq!(not_held(&found), expected);
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
    for text in ["Arm consistently beats x86", "in read-only Arm lags marginally at lower scalability"] {
        assert_eq!(claim(text), "no", "{text}");
    }
    assert_eq!(claim("in the majority of scenarios"), "yes");
    for text in ["faster in some scenarios", "slower in some scenarios even at higher scalability"] {
        assert_eq!(claim(text), "yes", "{text}");
    }
    // Digitised: where the reading error spans the bound, nothing is decided.
    for text in ["the gap of read-write from 128 threads is around 12 %", "Arm scales better than x86"] {
        assert_eq!(claim(text), "unknown", "{text}");
    }
    // With zipfian access a pool of 35 GB gives what 80 GB give. The article does not say otherwise: these are checks.
    let failed = not_held(&found);
    for (access, differ) in [("zipfian", false), ("uniform", true)] {
        let text = format!("the {access} charts headed IO bound differ from those headed CPU bound: x86");
        assert_eq!(failed.contains(&text.as_str()), !differ, "{text}");
    }
    assert!(failed.contains(&"the highest throughput of Arm is above that of x86"), "{failed:#?}");
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
    desk.write("s.toml", include_str!("../../../../studies/ycsb-local.toml"));
    let none = desk.perbuck(&["audit", "s.toml"]);
    assert!(none.code == Some(2) && none.err.contains("has no `[results]` with numbers"), "{}", none.err);
}
