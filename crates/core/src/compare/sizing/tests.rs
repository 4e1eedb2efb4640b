use super::*;
use crate::arrivals::Arrivals;
use crate::bill::LineGroup;
use crate::bill::tests::{bill_of, line};
use crate::capacity::{CAPACITY_SCHEMA, CapacityRule, ProbeResult, Search, Step};
use crate::study::Rounding;
use crate::units::Seed;

fn study() -> Study {
    let text = "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\ntarget = \"sqlite:a.db\"\n[[contender]]\nname = \"b\"\n\
        target = \"sqlite:b.db\"\n[[workload]]\nname = \"w\"\nkind = \"k\"\n[sweep]\nconnections = [1]\n";
    Study::read("s.toml", text, &[]).unwrap()
}

fn bill(contender: &str, dollars: i64) -> Bill {
    Bill { contender: contender.into(), ..bill_of([line(LineGroup::Compute, dollars * 1_000_000)], Rounding::None) }
}

/// A search whose trials keep the objective up to a rate; of those at `lucky` the second one does not, or does.
fn searched(contender: &str, capacity_per_s: u32, odd: Option<u32>, highest_per_s: Option<u32>) -> CapacityRecord {
    let rule = CapacityRule {
        percentile: 99.0,
        at_most_ns: 20_000_000,
        lowest_per_s: 100,
        highest_per_s,
        resolution: 0.1,
        repeats: 3,
        keeps_up: 0.99,
    };
    let mut search = Search::new(rule.clone()).unwrap();
    let result = loop {
        match search.next() {
            Step::Done(result) => break result,
            Step::Probe(probe) => {
                let kept = (probe.rate_per_s <= capacity_per_s) != (odd == Some(probe.rate_per_s) && probe.repeat == 2);
                let (rate_per_s, repeat) = (probe.rate_per_s, probe.repeat);
                let (offered, completed, young, failed, client_limited) = (1_000, 1_000, 0, 0, false);
                let response_ns = Some(if kept { 1_000_000 } else { 50_000_000 });
                let told = ProbeResult { rate_per_s, repeat, offered, completed, young, response_ns, failed, client_limited };
                search.tell(told).unwrap();
            }
        }
    };
    CapacityRecord {
        schema: CAPACITY_SCHEMA,
        perbuck: "0".into(),
        study: "s".into(),
        study_fingerprint: String::new(),
        seed: Seed(1),
        contender: contender.into(),
        workload: "w".into(),
        objective: "p99 at most 20.0 ms".into(),
        connections: 1,
        arrivals: Arrivals::Poisson,
        warmup_ns: 0,
        duration_ns: 1,
        rule,
        sentence: result.sentence(),
        result,
    }
}

fn one(a: (CapacityRecord, i64), b: (CapacityRecord, i64), demand_per_s: u32) -> Sizing {
    let bills = [bill("a", a.1), bill("b", b.1)];
    sizing(&study(), &bills, &[a.0, b.0], demand_per_s).pop().unwrap()
}

#[test]
fn a_demand_is_served_by_whole_systems_and_the_range_of_the_capacity_is_that_of_the_cost() {
    // a: kept at 1,600/s and 2,263/s, broken at 2,691/s and 3,200/s; b: kept at 400/s.
    let found = one((searched("a", 2_300, None, None), 200), (searched("b", 400, None, None), 50), 10_000);
    let (a, b) = (&found.contenders[0], &found.contenders[1]);
    let (low, high) = (a.at_least_per_s.unwrap(), a.below_per_s.unwrap());
    assert!(low <= 2_300 && high > 2_300 && Some(low) == a.capacity_per_s, "{a:?}");
    assert_eq!(a.needed, Some(Systems { count: 5, monthly: MicroUsd(1_000_000_000) }));
    assert_eq!((a.fewest.count, a.most.map(|most| most.count)), (10_000_u32.div_ceil(high), Some(10_000_u32.div_ceil(low))));
    assert_eq!(b.needed, Some(Systems { count: 25, monthly: MicroUsd(1_250_000_000) }));
    assert_eq!((found.cheapest.as_deref(), found.surely), (Some("a"), b.fewest.monthly > a.most.unwrap().monthly));
    let text = found.sentence();
    assert!(text.starts_with("w in r: 10,000 TPS with p99 at most 20.0 ms cost $1,000.00 a month on a (5 systems"), "{text}");
    assert!(text.contains(", and $1,250.00 a month on b (25 systems, "), "{text}");
}

#[test]
fn one_system_that_is_large_enough_has_one_cost_and_is_surely_cheaper_than_a_dearer_bill() {
    let found = one((searched("a", 2_300, None, None), 200), (searched("b", 2_300, None, None), 300), 1_000);
    assert_eq!((found.cheapest.as_deref(), found.surely), (Some("a"), true));
    let text = found.sentence();
    assert!(
        text.contains("$200.00 a month on a (1 system), and $300.00 a month on b (1 system); a is the cheapest, wherever"),
        "{text}"
    );
    let same = one((searched("a", 2_300, None, None), 200), (searched("b", 2_300, None, None), 200), 1_000);
    assert!(same.cheapest.as_deref() == Some("a") && !same.surely, "{same:?}");
}

#[test]
fn mixed_outcomes_widen_the_range() {
    let plain = searched("a", 2_300, None, None);
    let edge = plain.result.capacity_per_s.unwrap();
    let mixed = searched("a", 2_300, Some(edge), None);
    let found = sizing(&study(), &[bill("a", 200)], &[mixed], 10_000).pop().unwrap();
    assert_eq!((found.cheapest, found.surely), (None, false), "one contender has no rival");
    let a = &found.contenders[0];
    assert!(a.capacity_per_s == Some(edge) && a.at_least_per_s.unwrap() < edge, "{a:?}");
}

#[test]
fn an_end_that_is_not_known_is_open() {
    let kept = searched("a", 2_300, None, Some(400));
    let broken = searched("b", 50, None, None);
    let found = one((kept, 200), (broken, 50), 1_000);
    let (a, b) = (&found.contenders[0], &found.contenders[1]);
    assert_eq!((a.below_per_s, a.fewest.count, a.needed.unwrap().count), (None, 1, 3), "it may do more than was tried");
    assert_eq!((b.needed, b.most, b.fewest.count), (None, None, 10), "below 100/s");
    assert_eq!(b.range_text(""), "$500.00 or more");
    assert!(found.sentence().contains("more on b than could be found"), "{}", found.sentence());
    assert_eq!((found.cheapest.as_deref(), found.surely), (Some("a"), false));
}
