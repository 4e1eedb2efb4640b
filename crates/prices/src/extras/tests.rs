use std::sync::LazyLock;

use perbuck_core::bill::Bill;
use perbuck_core::problem::Problem;
use perbuck_core::study::Study;
use proptest::prelude::*;

use super::*;
use crate::{Snapshot, bills};

/// A list with everything that a bill can ask for, in two regions of other prices.
const LIST: &str = include_str!("tests/all.toml");

static SNAPSHOT: LazyLock<Snapshot> = LazyLock::new(|| Snapshot::read("p.toml", LIST).unwrap_or_else(|p| panic!("{p:#?}")));

/// A study with one contender of so much.
fn study(price: &str, contender: &str) -> Study {
    let text = format!(
        "schema = 1\nname = \"s\"\n[price]\nsnapshot = \"all\"\nregions = [\"near\", \"far\"]\n{price}\n\
         [[contender]]\nname = \"a\"\n{contender}\n[[workload]]\nname = \"w\"\nkind = \"sysbench\"\n"
    );
    Study::read("s.toml", &text, &[]).unwrap_or_else(|p| panic!("{p:#?}\n{text}"))
}

fn try_bills(price: &str, contender: &str) -> Result<Vec<Bill>, Vec<Problem>> {
    bills(&study(price, contender), Some(SNAPSHOT.clone()), "s.toml").map(|p| p.bills)
}

fn first(contender: &str) -> Bill {
    try_bills("", contender).unwrap_or_else(|p| panic!("{p:#?}")).swap_remove(0)
}

fn lines(bill: &Bill) -> Vec<(&'static str, String, String)> {
    bill.lines.iter().map(|l| (l.group.label(), l.formula.clone(), l.monthly.to_string())).collect()
}

fn expect(bill: &Bill, expected: &[(&str, &str, &str)]) {
    let found = lines(bill);
    let found: Vec<(&str, &str, &str)> = found.iter().map(|(g, f, m)| (*g, f.as_str(), m.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn fees_are_paid_by_the_hour_the_month_the_unit_the_vcpu_and_as_a_share() {
    let node = "node = [{ role = \"db\", instance = \"m.large\", count = 2 }]\n";
    let fees = "fee = [\n { name = \"EKS\", item = \"cluster\" },\n { name = \"balancer\", usd_per_hour = 0.02, count = 2 },\n \
                { name = \"engine\", usd_per_vcpu_month = 10, group = \"licence\" },\n \
                { name = \"support\", percent = 10 },\n { name = \"more\", percent = 1, at_least = 50 },\n]";
    let bill = first(&format!("{node}{fees}"));
    let expected = [
        ("compute", "2 × 730 h × $0.10", "$146.00"),
        ("fee", "730 h × $0.10", "$73.00"),
        ("fee", "2 × 730 h × $0.02", "$29.20"),
        ("licence", "8 vCPU × $10.00", "$80.00"),
        ("support", "10 % of $328.20", "$32.82"),
        ("support", "1 % of $328.20, at least $50.00", "$50.00"),
    ];
    expect(&bill, &expected);
    assert_eq!((bill.vcpus(), bill.cores()), (Some(8), Some(4.0)));
}

#[test]
fn traffic_goes_through_the_tiers_of_the_list_at_each_end_that_pays() {
    let traffic = "traffic = [\n { name = \"Raft\", item = \"zones\", gb_per_month = 500, ends = 2, measured = true },\n \
                   { name = \"clients\", item = \"out\", bytes_per_transaction = 8000, transactions_per_s = 1000 },\n \
                   { name = \"own\", usd_per_gb = 0.5, gb_per_month = 3 },\n]";
    // 8000 × 1000 × 3600 × 730 bytes are 21,024 GB: 10,240 at 0.09 and 10,784 at 0.085.
    let expected = [
        ("traffic", "2 ends × 500 GB, measured × $0.01", "$10.00"),
        ("traffic", "10240 of 21024 GB (8000 B × 1000/s × 730 h), assumed × $0.09", "$921.60"),
        ("traffic", "10784 of 21024 GB (8000 B × 1000/s × 730 h), assumed × $0.085", "$916.64"),
        ("traffic", "3 GB, assumed × $0.50", "$1.50"),
    ];
    expect(&first(traffic), &expected);
}

#[test]
fn volumes_have_numbers_tiers_and_the_steady_rule() {
    let price = "volume_snapshots = \"steady\"";
    let node = "node = [{ role = \"db\", instance = \"m.large\", usd_per_hour = 0.2, count = 3, \
                volumes = [{ kind = \"ssd\", size_gb = 100, count = 2, iops = 40000, snapshots = \"daily\", daily_change_gb = 5 }] }]";
    let expected = [
        ("compute", "3 × 730 h × $0.20", "$438.00"),
        ("volume", "3 × 2 × 100 GB × $0.10", "$60.00"),
        ("volume", "3 × 2 × 29000 IOPS above 3000 × $0.065", "$11,310.00"),
        ("volume", "3 × 2 × 8000 IOPS above 32000 × $0.0455", "$2,184.00"),
        ("snapshot", "3 × 2 × (100 GB + 30 × 5 GB) × $0.05", "$75.00"),
    ];
    expect(&try_bills(price, node).unwrap()[0], &expected);
}

#[test]
fn commitments_spot_and_discounts_are_scenarios_beside_the_list_price() {
    let price = "scenario = [{ name = \"spot\", spot = true }, { name = \"1 year\", commitment = \"1y\" }, \
                 { name = \"agreement\", discount = [{ name = \"agreed\", percent = 12.5 }] }]";
    let node =
        "node = [{ role = \"db\", instance = \"m.large\" }, { role = \"client\", instance = \"m.large\", priced = false }]";
    let all = try_bills(price, node).unwrap();
    let totals: Vec<(&str, String)> = all.iter().map(|b| (b.region.as_str(), b.monthly().to_string())).collect();
    let expected = [
        ("near", "$73.00"),
        ("near, spot", "$21.90"),
        // 730 × 0.05 and 100 ÷ 12.
        ("near, 1 year", "$44.83"),
        ("near, agreement", "$63.88"),
        ("far", "$94.90"),
        ("far, spot", "$29.20"),
        ("far, 1 year", "$54.63"),
        ("far, agreement", "$83.04"),
    ];
    assert_eq!(totals, expected.map(|(r, t)| (r, t.to_owned())));
    let year = lines(&all[2]);
    assert_eq!(year[2].1, "1 × 730 h × $0.10", "the client is not priced and keeps its list price");
    assert_eq!(year[1].1, "1 × $100.00 ÷ 12 months (1y)");
}

#[test]
fn what_has_no_price_is_told_with_its_line() {
    let node = |extra: &str| format!("node = [{{ role = \"db\", instance = \"m.large\"{extra} }}]");
    for (contender, expected) in [
        (node(", volume = { kind = \"partly\", size_gb = 9, iops = 40000 }"), "price is known up to 32000 only"),
        (node(", volume = { kind = \"capped\", size_gb = 9, iops = 40000 }"), "16000 is the most that can be bought"),
        (node(", commitment = \"3y\""), "`m.large under `3y`` has no price"),
        ("fee = [{ name = \"x\", item = \"clusters\" }]".to_owned(), "`clusters` has no price in near"),
        ("fee = [{ name = \"x\", item = \"zones\" }]".to_owned(), "`zones` is sold by GB, and the fee names no `quantity`"),
        ("traffic = [{ name = \"x\", item = \"zone\", gb_per_month = 1 }]".to_owned(), "`zone` has no price in near"),
    ] {
        let problems = try_bills("", &contender).unwrap_err();
        assert!(problems[0].message.contains(expected) && problems[0].line > 6, "{problems:?}");
        assert!(!problems[0].help.is_empty());
    }
}

proptest! {
    #[test]
    fn totals_are_the_sums_of_their_lines_to_the_micro_dollar(
        count in 1u32..50, gb in 1u32..5000, iops in 3000u32..60_000, traffic in 0u32..100_000, percent in 0u32..10_000,
    ) {
        let contender = format!(
            "node = [{{ role = \"db\", instance = \"m.large\", count = {count}, volume = {{ kind = \"ssd\", size_gb = {gb}, iops = {iops}, snapshots = \"daily\" }} }}]\n\
             fee = [{{ name = \"c\", item = \"cluster\" }}, {{ name = \"s\", percent = {}.{:02} }}]\n\
             traffic = [{{ name = \"t\", item = \"out\", gb_per_month = {traffic} }}]\n\
             discount = [{{ name = \"d\", percent = {}.{:02}, of = [\"compute\", \"traffic\"] }}]",
            percent / 100, percent % 100, percent / 100, percent % 100
        );
        for bill in try_bills("", &contender).unwrap() {
            let sum: i64 = bill.lines.iter().filter(|l| l.priced).map(|l| l.monthly.0).sum();
            prop_assert_eq!(bill.monthly_exact().0, sum);
            let groups: i64 = LineGroup::ALL.iter().map(|g| bill.monthly_of(*g).0).sum();
            prop_assert_eq!(groups, sum);
            prop_assert_eq!(bill.horizon_total().0, sum * i64::from(bill.horizon_months));
            // Tiers neither lose nor double a unit.
            let sold: i64 = bill.lines.iter().filter(|l| l.sku == "out" && l.unit_price.0 > 0).map(|l| l.monthly.0 / l.unit_price.0).sum();
            prop_assert_eq!(sold, i64::from(traffic));
        }
    }

    #[test]
    fn another_region_changes_prices_and_nothing_else(count in 1u32..50, gb in 1u32..5000, iops in 3000u32..60_000) {
        let contender = format!(
            "node = [{{ role = \"db\", instance = \"m.large\", count = {count}, volume = {{ kind = \"ssd\", size_gb = {gb}, iops = {iops} }} }}]\n\
             fee = [{{ name = \"c\", item = \"cluster\" }}]"
        );
        let all = try_bills("", &contender).unwrap();
        let bare = |bill: &Bill| -> Vec<(LineGroup, String, String, String, Option<i64>, bool)> {
            let units = |l: &BillLine| (l.unit_price.0 != 0).then(|| l.monthly.0 / l.unit_price.0);
            bill.lines.iter().map(|l| (l.group, l.item.clone(), l.sku.clone(), l.unit.clone(), units(l), l.priced)).collect()
        };
        prop_assert_eq!(bare(&all[0]), bare(&all[1]));
        prop_assert!(all[0].monthly_exact() < all[1].monthly_exact());
    }

    #[test]
    fn a_share_is_rounded_once_to_the_micro_dollar(base in 0i64..1_000_000_000_000_000, percent in 0i128..10_000) {
        let share = percent_of(base, Exact::fraction(percent, 100).unwrap()).unwrap();
        let twice = i128::from(base) * percent * 2;
        prop_assert!((i128::from(share) * 20_000 - twice).abs() <= 10_000, "{share}");
    }
}
