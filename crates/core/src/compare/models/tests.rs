use proptest::prelude::*;

use super::*;
use crate::bill::{
    BillLine, Processors,
    tests::{bill_of, line},
};
use crate::metric::{QPS, TPS};
use crate::study::Rounding;

fn bill(contender: &str, lines: &[(LineGroup, i64)]) -> Bill {
    let machines =
        |group: &LineGroup| (*group == LineGroup::Compute).then_some(Processors { vcpus: 16, vcpus_per_core: Some(2) });
    let lines = lines.iter().map(|(group, monthly)| BillLine {
        unit: "hour".into(),
        processors: machines(group),
        ..line(*group, *monthly)
    });
    Bill { contender: contender.into(), ..bill_of(lines, Rounding::None) }
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= expected.abs() * 1e-9, "{found} is not {expected}");
}

#[test]
fn known_numbers_give_known_models() {
    let own = bill("a", &[(LineGroup::Compute, 730_000_000), (LineGroup::Volume, 270_000_000)]);
    let base = bill("b", &[(LineGroup::Compute, 1_460_000_000), (LineGroup::Volume, 40_000_000)]);
    let m = models(&own, 1200.0, &TPS, Some((&base, 1000.0))).unwrap();
    // $1000 a month is $1.36986 an hour; 1200 TPS make 3153.6 million transactions a month.
    near(m.throughput_per_usd_hour, 1200.0 / (1000.0 / 730.0));
    near(m.usd_per_million_transactions.unwrap(), 1000.0 / 3153.6);
    assert_eq!((m.vcpus, m.cores), (Some(16), Some(8.0)));
    near(m.usd_per_core_month.unwrap(), 125.0);
    near(m.throughput_per_vcpu.unwrap(), 75.0);
    let a = m.advantage.unwrap();
    near(a.work_per_usd, 1.8);
    near(a.break_even_usd_month, 1800.0);
    near(a.break_even_throughput, 1000.0 / 1.5);
    near(a.usd_month_for_same_throughput, 1000.0 / 1.2);
    near(a.throughput_for_same_money, 1800.0);
    near(a.price_share.unwrap(), 1.5f64.ln() / 1.8f64.ln());
    let scopes: Vec<(&str, f64)> = a.scopes.iter().map(|s| (s.name.as_str(), s.price)).collect();
    assert_eq!(scopes[0], ("compute", 2.0));
    assert_eq!(scopes.last().unwrap(), &("the whole bill", 1.5));
}

#[test]
fn what_is_not_known_is_absent() {
    let mut own = bill("a", &[(LineGroup::Compute, 1_000_000)]);
    own.lines[0].processors = None;
    let m = models(&own, 10.0, &QPS, None).unwrap();
    assert_eq!((m.vcpus, m.cores, m.usd_per_million_transactions, m.advantage), (None, None, None, None));
    assert_eq!(models(&bill("a", &[]), 10.0, &TPS, None), None);
}

proptest! {
    #[test]
    fn the_models_agree_with_each_other(
        cost in 1_000_000i64..1_000_000_000_000,
        base_cost in 1_000_000i64..1_000_000_000_000,
        value in 1.0f64..1e6,
        base_value in 1.0f64..1e6,
    ) {
        let own = bill("a", &[(LineGroup::Compute, cost)]);
        let base = bill("b", &[(LineGroup::Compute, base_cost)]);
        let m = models(&own, value, &TPS, Some((&base, base_value))).unwrap();
        let b = models(&base, base_value, &TPS, None).unwrap();
        let a = m.advantage.unwrap();
        // Work per dollar is the product of its two sources, and the ratio of every model of unit cost.
        near(a.work_per_usd, a.performance * a.price);
        near(a.work_per_usd, m.throughput_per_usd_hour / b.throughput_per_usd_hour);
        near(a.work_per_usd, b.usd_per_million_transactions.unwrap() / m.usd_per_million_transactions.unwrap());
        // At the break-even cost, and at the break-even throughput, nothing is left of it.
        near(base_value / (base_cost as f64 / 1e6), value / a.break_even_usd_month);
        near(base_value / (base_cost as f64 / 1e6), a.break_even_throughput / (cost as f64 / 1e6));
        near(a.throughput_for_same_money, base_value * a.work_per_usd);
    }
}
