//! The values of the 2021 study to the cent, and the answers of a bill that cannot be written.

use std::sync::LazyLock;

use perbuck_core::bill::{Bill, BillLine, LineGroup};
use perbuck_core::metric::{Counted, Metric, Period};
use perbuck_core::problem::Problem;
use perbuck_core::study::{Located, Rounding, Study};
use perbuck_core::units::MicroUsd;
use perbuck_core::workload_kind::WorkloadKind;
use proptest::prelude::*;

use crate::{Snapshot, bill, find};

const STUDY: &str = include_str!("../../../studies/tidb-eks-arm-2021.toml");

/// The metric that the study names; no bill depends on it.
static TPMC: Metric = Metric::rate("tpmc", "tpmC", ["new orders"; 2], Counted::Transactions, Period::Minute);
static TPCC: WorkloadKind = WorkloadKind { metrics: &[&TPMC], ..WorkloadKind::plain("tpcc", "TPC-C") };

fn study(text: &str) -> Study {
    // What the article printed lies in another file, and costs nothing.
    let text = text.split("[results]").next().unwrap_or_default();
    Study::read("s.toml", text, &[&TPCC]).unwrap_or_else(|p| panic!("{p:#?}"))
}

/// The bill of a contender by the snapshot that the study names.
fn try_bill(study: &Study, contender: &str, region: &str) -> Result<Bill, Vec<Problem>> {
    let snapshot = find(study.price.snapshot.as_ref().unwrap(), "`price.snapshot`", "s.toml")?;
    bill_by(&snapshot, study, contender, region)
}

fn bill_by(snapshot: &Snapshot, study: &Study, contender: &str, region: &str) -> Result<Bill, Vec<Problem>> {
    let region = Located { value: region.to_owned(), line: 4 };
    bill(study.contender(contender).unwrap(), &region, &study.price, snapshot, None, "s.toml")
}

fn article(contender: &str, region: &str) -> Bill {
    try_bill(&study(STUDY), contender, region).unwrap_or_else(|p| panic!("{p:#?}"))
}

fn printed(lines: &[&BillLine]) -> Vec<String> {
    lines.iter().map(|l| l.monthly.to_string()).collect()
}

fn compute(bill: &Bill) -> Vec<&BillLine> {
    bill.lines.iter().filter(|l| l.group == LineGroup::Compute && l.priced).collect()
}

/// Capacity and snapshots of one role.
fn storage(bill: &Bill, role: &str) -> String {
    let lines =
        bill.lines.iter().filter(|l| l.priced && l.item == role && matches!(l.group, LineGroup::Volume | LineGroup::Snapshot));
    lines.fold(MicroUsd(0), |sum, l| sum.plus(l.monthly).unwrap()).to_string()
}

fn storage_total(bill: &Bill) -> String {
    bill.monthly_of(LineGroup::Volume).plus(bill.monthly_of(LineGroup::Snapshot)).unwrap().to_string()
}

#[test]
fn machines_cost_what_the_article_printed() {
    assert_eq!(printed(&compute(&article("arm", "us-west-2"))), ["$595.68", "$883.01", "$49.64", "$49.64"]);
    assert_eq!(printed(&compute(&article("x86", "us-west-2"))), ["$744.60", "$1,103.76", "$62.05", "$62.05"]);
    // The article printed 1065.21 for TiKV: 3 × 730 × 0.4864 is 1065.216, which it cut instead of rounding.
    assert_eq!(printed(&compute(&article("arm", "ap-southeast-1"))), ["$686.78", "$1,065.22", "$57.23", "$57.23"]);
    assert_eq!(printed(&compute(&article("x86", "ap-southeast-1"))), ["$858.48", "$1,331.52", "$71.54", "$71.54"]);
}

#[test]
fn storage_and_control_plane_cost_what_the_article_printed() {
    for contender in ["arm", "x86"] {
        let (us, asia) = (article(contender, "us-west-2"), article(contender, "ap-southeast-1"));
        let costs = |bill: &Bill| [storage(bill, "tikv"), storage(bill, "pd"), storage_total(bill)];
        assert_eq!(costs(&us), ["$456.75", "$9.75", "$466.50"]);
        assert_eq!(costs(&asia), ["$516.75", "$10.75", "$527.50"]);
        assert_eq!(us.monthly_of(LineGroup::Fee).to_string(), "$73.00");
    }
}

#[test]
fn totals_follow_the_rounding_rule_of_the_study() {
    // Compute as printed, month as printed, five years as printed, five years unrounded.
    let expected = [
        ("arm", "us-west-2", "$1,577.97", "$2,117.47", "$127,048.20", "$127,048.08"),
        ("x86", "us-west-2", "$1,972.46", "$2,511.96", "$150,717.60", "$150,717.60"),
        ("arm", "ap-southeast-1", "$1,866.46", "$2,466.96", "$148,017.60", "$148,017.84"),
        ("x86", "ap-southeast-1", "$2,333.08", "$2,933.58", "$176,014.80", "$176,014.80"),
    ];
    for (contender, region, ec2, month, five_years, exact) in expected {
        let rounded = article(contender, region);
        let got = [rounded.monthly_of(LineGroup::Compute), rounded.monthly(), rounded.horizon_total()];
        assert_eq!(got.map(|amount| amount.to_string()), [ec2, month, five_years]);
        let unrounded = Bill { round: Rounding::None, ..rounded };
        assert_eq!(unrounded.horizon_total().to_string(), exact);
    }
}

#[test]
fn formulas_are_complete_and_the_client_is_shown_unbilled() {
    let bill = article("arm", "us-west-2");
    let formulas: Vec<&str> = bill.lines.iter().map(|l| l.formula.as_str()).collect();
    let expected = [
        "3 × 730 h × $0.272",
        "3 × 730 h × $0.4032",
        "1 × 730 h × $0.068",
        "1 × 730 h × $0.068",
        "1 × 730 h × $0.68",
        "3 × 1000 GB × $0.10",
        "1 × 50 GB × $0.10",
        "1 × 1500 GB, no price needed",
        "3 × (1000 GB × $0.05 + 30 × 3 GB × $0.05 × ½)",
        "1 × (50 GB × $0.05 + 30 × 3 GB × $0.05 × ½)",
        "730 h × $0.10",
    ];
    assert_eq!(formulas, expected);
    let client: Vec<&BillLine> = bill.lines.iter().filter(|l| l.item == "client").collect();
    assert!(client.len() == 2 && client.iter().all(|l| !l.priced));
    assert_eq!(printed(&client), ["$496.40", "$0.00"]);
    assert!(bill.lines.iter().filter(|l| l.priced).all(|l| !l.price_date.is_empty() && !l.source.is_empty()));
}

#[test]
fn another_region_changes_prices_and_nothing_else() {
    let bare = |region: &str| -> Vec<_> {
        let bill = article("x86", region);
        bill.lines.into_iter().map(|l| (l.group, l.item, l.sku, l.unit, l.priced)).collect()
    };
    assert_eq!(bare("us-west-2"), bare("ap-southeast-1"));
    assert!(article("x86", "us-west-2").monthly() < article("x86", "ap-southeast-1").monthly());
}

const SMALL: &str = include_str!("published/tests/small.toml");

fn small(replace: &[(&str, &str)], region: &str) -> Result<Bill, Vec<Problem>> {
    let mut text = SMALL.to_owned();
    for (from, to) in replace {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    try_bill(&study(&text), "a", region)
}

#[test]
fn gp3_bills_what_exceeds_the_included() {
    let bill = small(&[], "us-west-2").unwrap();
    let volume: Vec<(&str, String)> =
        bill.lines.iter().filter(|l| l.group == LineGroup::Volume).map(|l| (l.formula.as_str(), l.monthly.to_string())).collect();
    let expected = [
        ("1 × 1000 GB × $0.08", "$80.00".to_owned()),
        ("1 × 0 IOPS above 3000 × $0.005", "$0.00".to_owned()),
        ("1 × 125 MiB/s above 125 × $0.04", "$5.00".to_owned()),
    ];
    assert_eq!(volume, expected);
    assert_eq!(bill.monthly_of(LineGroup::Volume).to_string(), "$85.00");
    assert!(bill.lines[0].source.ends_with("[inferred]"), "{:?}", bill.lines[0]);
}

#[test]
fn google_and_azure_prices_keep_their_unit_and_their_doubts() {
    let gcp = [
        ("aws-2026-07", "gcp-2026-07"),
        ("c8g.large", "c4d-standard-8"),
        ("gp3", "pd-ssd"),
        (", iops = 3000, throughput_mib_s = 250", ""),
    ];
    let bill = small(&gcp, "us-central1").unwrap();
    assert_eq!(bill.lines[0].formula, "1 × 730 h × $0.377982");
    assert!(bill.lines[0].source.contains("listed at $0.377981788"));
    assert_eq!((bill.lines[1].formula.as_str(), bill.lines[1].unit.as_str()), ("1 × 1000 GiB × $0.17", "GiB-month"));
    let node = "c8g.large\", volume = { kind = \"gp3\", size_gb = 1000, iops = 3000, throughput_mib_s = 250 }";
    let azure = small(&[("aws-2026-07", "azure-2026-06"), (node, "Standard_E8as_v5\"")], "eastus");
    assert!(azure.unwrap().lines[0].source.contains("[disputed: another list says $0.82]"));
}

/// What is replaced, the region, and what the first problem says: line, message, help.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, usize, &'a str, &'a str);

#[test]
fn what_cannot_be_priced_names_line_and_way_out() {
    let cases: [Case<'_>; 9] = [
        (&[("c8g.large", "c8g.lage")], "us-west-2", 10, "`c8g.lage` has no price in us-west-2", "did you mean `c8g.large`?"),
        (
            &[("aws-2026-07", "aws-2024-08"), ("c8g.large", "r8g.large")],
            "eu-west-1",
            10,
            "`r8g.large` has no price in eu-west-1 (price snapshot aws-2024-08): not sold there by then",
            "it has a price in: us-west-2",
        ),
        (&[("c8g.large", "mainframe")], "us-west-2", 10, "`mainframe`", "machine types here: c5.large, c5.xlarge"),
        (&[], "us-west2", 4, "no region `us-west2`", "did you mean `us-west-2`? its regions are: us-east-1, us-west-2"),
        (&[("\"gp3\"", "\"gp9\"")], "us-west-2", 10, "`gp9` has no price", "did you mean `gp"),
        (
            &[("aws-2026-07", "aws-2024-08"), ("c8g.large", "c7g.large")],
            "ap-southeast-1",
            10,
            "`gp3` has no price in ap-southeast-1 (price snapshot aws-2024-08): no source with a date was found",
            "it has a price in: us-west-2",
        ),
        (&[("\"gp3\"", "\"gp2\"")], "us-west-2", 10, "`gp2` does not sell IOPS", "leave `iops` out; it includes 3 IOPS per GB"),
        (
            &[("\"gp3\"", "\"io1\""), ("iops = 3000, throughput_mib_s = 250", "snapshots = \"daily\"")],
            "us-east-1",
            10,
            "`io1` needs `iops`",
            "add `iops",
        ),
        (
            &[("size_gb = 1000", "size_gb = 1000000"), ("c8g.large\"", "c8g.large\", count = 1000000")],
            "us-west-2",
            10,
            "billion dollars",
            "check its count",
        ),
    ];
    for (replace, region, line, message, help) in cases {
        let problems = small(replace, region).unwrap_err();
        let p = &problems[0];
        assert_eq!(p.line, line, "{p}");
        assert!(p.message.contains(message) && p.help.contains(help), "{p}");
        assert_eq!(p.file, "s.toml");
    }
}

#[test]
fn all_problems_of_a_contender_are_told_at_once() {
    let two = "{ role = \"x\", instance = \"none.such\" },\n  { role = \"db\"";
    let problems = small(&[("{ role = \"db\"", two), ("\"gp3\"", "\"gp2\"")], "us-west-2").unwrap_err();
    assert_eq!(problems.iter().map(|p| p.line).collect::<Vec<_>>(), [10, 11, 11]);
}

#[test]
fn a_bill_stays_below_the_lines_that_its_sums_can_carry() {
    let mut study = study(SMALL);
    let node = study.contenders[0].nodes[0].clone();
    study.contenders[0].nodes = vec![node; 251];
    let problems = try_bill(&study, "a", "us-west-2").unwrap_err();
    assert_eq!((problems.len(), problems[0].line), (1, 7));
    assert!(problems[0].message.contains("1004 lines"), "{}", problems[0]);
}

#[test]
fn a_volume_may_have_a_price_of_the_studys_own() {
    let own = ("kind = \"gp3\", size_gb = 1000", "kind = \"P30\", size_gb = 1024, count = 2, usd_per_month = 135.17");
    let bill = small(&[own], "us-west-2").unwrap();
    let line = &bill.lines[1];
    assert_eq!(
        (line.formula.as_str(), line.unit.as_str(), line.monthly),
        ("1 × 2 × $135.17", "volume-month", MicroUsd(270_340_000))
    );
    assert_eq!((line.price_date.as_str(), line.source.as_str()), ("as declared", "s.toml, line 10"));
    assert_eq!(bill.lines.len(), 2, "its performance is in the price");
}

#[test]
fn an_unpriced_machine_needs_no_price() {
    let bill = small(&[("c8g.large\"", "none.such\", priced = false"), ("\"gp3\"", "\"gp2\"")], "us-west-2").unwrap();
    assert_eq!(bill.lines[0].formula, "1 × 730 h, no price needed");
    assert_eq!(bill.lines[1].formula, "1 × 1000 GB × $0.10");
    assert_eq!(bill.lines[2].formula, "1 × 3000 IOPS, no price needed");
    assert_eq!(bill.monthly_exact(), MicroUsd(0));
}

/// Read once: the properties below are about arithmetic.
static READ: LazyLock<(Snapshot, Study)> = LazyLock::new(|| {
    let study = study(SMALL);
    (find(study.price.snapshot.as_ref().unwrap(), "`price.snapshot`", "s.toml").unwrap(), study)
});

proptest! {
    #[test]
    fn amounts_are_exact_for_every_count_and_size(count in 1u32..200, size in 1u32..65_536, iops in 3000u32..16_000) {
        let (snapshot, mut study) = (&READ.0, READ.1.clone());
        let node = &mut study.contenders[0].nodes[0];
        node.count = count;
        let volume = &mut node.volumes[0];
        (volume.size_gb, volume.iops, volume.daily_snapshots) = (size, Some(iops), true);
        let bill = bill_by(snapshot, &study, "a", "us-west-2").unwrap();
        let (count, size, iops) = (i64::from(count), i64::from(size), i64::from(iops));
        prop_assert_eq!(bill.monthly_of(LineGroup::Compute).0, count * 730 * 79_760);
        prop_assert_eq!(bill.monthly_of(LineGroup::Volume).0, count * (size * 80_000 + (iops - 3000) * 5_000 + 125 * 40_000));
        prop_assert_eq!(bill.monthly_of(LineGroup::Snapshot).0, count * (size * 50_000 + 90 * 25_000));
    }

    #[test]
    fn reading_never_panics(text in "(\\[\\[?[a-z_.]{1,8}\\]\\]?\n|[a-z_]{1,8} = (1|\"x\"|\\[\\{\\}\\])\n){0,12}") {
        prop_assert!(Snapshot::read("p.toml", &text).is_err());
    }
}
