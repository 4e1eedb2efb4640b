//! Searches against servers whose capacity is known.

use proptest::prelude::*;

use super::*;
use crate::rng::{OpRng, tests::normal};
use crate::units::Seed;

fn rule() -> CapacityRule {
    CapacityRule {
        percentile: 99.0,
        at_most_ns: 2_000_000,
        lowest_per_s: 100,
        highest_per_s: None,
        resolution: 0.02,
        repeats: 3,
        keeps_up: 0.99,
    }
}

/// A trial in which everything was completed with this response time.
fn answer(probe: Probe, response_ns: u64) -> ProbeResult {
    let Probe { rate_per_s, repeat } = probe;
    let offered = u64::from(rate_per_s) * 10;
    let (completed, response_ns, client_limited) = (offered, Some(response_ns), false);
    ProbeResult { rate_per_s, repeat, offered, completed, young: 0, response_ns, failed: 0, client_limited }
}

/// Runs a search to its end, which must come within `most` trials.
fn run(rule: &CapacityRule, most: usize, mut server: impl FnMut(Probe) -> ProbeResult) -> CapacityResult {
    let mut search = Search::new(rule.clone()).unwrap();
    for _ in 0..=most {
        match search.next() {
            Step::Probe(probe) => search.tell(server(probe)).unwrap(),
            Step::Done(result) => return result,
        }
    }
    panic!("no end after {most} trials: {:?}", search.probes);
}

/// A server that keeps the objective up to a rate.
fn threshold(capacity: u32) -> impl Fn(Probe) -> ProbeResult {
    move |probe| answer(probe, if probe.rate_per_s <= capacity { 1_000_000 } else { 3_000_000 })
}

/// A queue with one server that serves `mu` per second: its p99 is ln(100)/(mu − rate), times lognormal noise.
fn queue(mu: f64, sigma: f64, seed: u64) -> impl FnMut(Probe) -> ProbeResult {
    let mut rng = OpRng::new(Seed(seed));
    move |probe| {
        let free = mu - f64::from(probe.rate_per_s);
        let p99 = if free > 0.0 { 100f64.ln() / free * 1e9 } else { 1e12 };
        answer(probe, (p99 * (sigma * normal(&mut rng)).exp()) as u64)
    }
}

#[test]
fn a_threshold_is_found_within_the_resolution() {
    for capacity in [100, 101, 199, 200, 4_137, 99_999, 90_000_000] {
        let result = run(&rule(), 200, threshold(capacity));
        let (kept, broken) = (result.capacity_per_s.unwrap(), result.broken_per_s.unwrap());
        assert!(kept <= capacity && capacity < broken, "{capacity}: {kept} {broken}");
        assert!(broken - kept <= 1 || f64::from(broken - kept) <= 0.02 * f64::from(kept));
        assert_eq!((result.why, result.at_least(), result.unsure.len()), (Why::Resolved, false, 0));
        let (kept, broken) = (result.kept.unwrap(), result.broken.unwrap());
        assert_eq!((kept.kept, kept.trials, broken.kept, broken.trials), (3, 3, 0, 3));
    }
}

#[test]
fn the_path_is_as_by_hand() {
    let rule = CapacityRule { resolution: 0.25, ..rule() };
    let result = run(&rule, 20, threshold(450));
    let path: Vec<(u32, u32)> = result.probes.iter().map(|p| (p.rate_per_s, p.repeat)).collect();
    let twice = [100, 200, 400, 800, 566, 476].map(|rate| [(rate, 1), (rate, 2)]).concat();
    assert_eq!(path, [twice, vec![(400, 3), (476, 3)]].concat());
    assert_eq!(result.sentence(), "the objective was kept in 3 of 3 trials at 400/s and broken in 3 of 3 at 476/s");
    let text = serde_json::to_string(&result).unwrap();
    assert_eq!(serde_json::from_str::<CapacityResult>(&text).unwrap(), result);
}

#[test]
fn even_the_lowest_may_be_broken() {
    let result = run(&rule(), 10, threshold(99));
    assert_eq!((result.capacity_per_s, result.broken_per_s, result.why), (None, Some(100), Why::LowestBroken));
    assert_eq!((result.probes.len(), result.at_least()), (3, false));
    assert_eq!(result.sentence(), "the objective was broken in 3 of 3 trials at 100/s, the lowest rate tried");
}

#[test]
fn the_highest_may_be_kept() {
    for (highest, most) in [(Some(5_000), 20), (Some(100), 3), (None, 60)] {
        let result = run(&CapacityRule { highest_per_s: highest, ..rule() }, most, threshold(u32::MAX));
        assert_eq!((result.capacity_per_s, result.broken_per_s), (Some(highest.unwrap_or(HIGHEST_PER_S)), None));
        assert_eq!((result.why, result.at_least(), result.kept.unwrap().trials), (Why::HighestKept, true, 3));
    }
    let result = run(&CapacityRule { highest_per_s: Some(5_000), repeats: 1, ..rule() }, 20, threshold(9_000));
    let expected = "the objective was kept in 1 of 1 trial at 5,000/s, the highest rate tried; the capacity is at least 5,000/s";
    assert_eq!(result.sentence(), expected);
}

#[test]
fn falling_behind_or_answering_nothing_breaks_the_objective() {
    let behind = |probe: Probe| {
        let mut result = answer(probe, 1);
        result.completed = result.completed.min(30_000);
        result.failed = result.offered - result.completed;
        result
    };
    let result = run(&rule(), 100, behind);
    // 3,000/s for ten seconds, and a hundredth may be missing.
    assert!((2_970..=3_031).contains(&result.capacity_per_s.unwrap()), "{result:?}");
    let silent = run(&rule(), 100, |probe| ProbeResult { response_ns: None, ..answer(probe, 1) });
    assert_eq!(silent.why, Why::LowestBroken);
}

#[test]
fn a_limited_client_makes_it_at_least() {
    let client = |probe: Probe| ProbeResult { client_limited: probe.rate_per_s > 3_000, ..threshold(3_000)(probe) };
    let result = run(&rule(), 100, client);
    assert_eq!((result.why, result.at_least()), (Why::ClientLimited, true));
    assert!(result.sentence().contains("; the client was the limit; the capacity is at least 2,"), "{}", result.sentence());
    // Far from the edges it does not matter.
    let far = |probe: Probe| ProbeResult { client_limited: probe.rate_per_s > 6_000, ..threshold(3_000)(probe) };
    assert_eq!(run(&rule(), 100, far).why, Why::Resolved);
    let lowest = run(&rule(), 100, |probe| ProbeResult { client_limited: true, ..threshold(1)(probe) });
    assert_eq!((lowest.why, lowest.capacity_per_s, lowest.at_least()), (Why::ClientLimited, None, false));
    // What it broke says nothing of the database.
    assert_eq!(lowest.range(&rule()), (None, None));
}

#[test]
fn a_noisy_queue_is_found_within_its_noise() {
    // ln(100)/2 ms = 2,303/s must be free of 5,000/s: the objective is kept up to 2,697/s.
    let mut sum = 0.0;
    for seed in 0..200 {
        let result = run(&rule(), 100, queue(5_000.0, 0.1, seed));
        let capacity = f64::from(result.capacity_per_s.unwrap());
        // Noise of 10 % moves the boundary by 230/s; three of these.
        assert!((capacity - 2_697.0).abs() < 3.0 * 230.0, "seed {seed}: {}", result.sentence());
        sum += capacity;
    }
    assert!((sum / 200.0 / 2_697.0 - 1.0).abs() < 0.04, "{}", sum / 200.0);
}

#[test]
fn later_trials_overturn_an_edge_and_the_search_goes_on() {
    // Of five trials at 200/s the first two keep the objective and the others break it.
    let rule = CapacityRule { repeats: 5, resolution: 1.0, ..rule() };
    let lucky = |probe: Probe| {
        let kept = probe.rate_per_s < 200 || (probe.rate_per_s == 200 && probe.repeat <= 2);
        answer(probe, if kept { 1 } else { 9_000_000 })
    };
    let result = run(&rule, 40, lucky);
    assert_eq!((result.capacity_per_s, result.broken_per_s, result.why), (Some(100), Some(200), Why::Resolved));
    assert_eq!((result.unsure.len(), result.unsure[0].kept, result.unsure[0].trials), (1, 2, 5));
    assert!(result.sentence().ends_with("; outcomes were mixed at 200/s"), "{}", result.sentence());
}

#[test]
fn a_boundary_that_never_holds_still_is_called_noisy() {
    // Every rate is kept twice and then broken three times: each is overturned once it is an edge.
    let rule = CapacityRule { repeats: 5, resolution: 0.001, ..rule() };
    let fickle = |probe: Probe| {
        answer(probe, if probe.rate_per_s < 1_000 || (probe.repeat <= 2 && probe.rate_per_s < 2_000) { 1 } else { 9_000_000 })
    };
    let result = run(&rule, 300, fickle);
    assert_eq!(result.why, Why::Noisy, "{}", result.sentence());
    assert!(result.sentence().contains("the boundary is noisy"));
}

#[test]
fn intervals_are_those_of_clopper_and_pearson() {
    // From the tables: 3 of 3, 0 of 3, 2 of 3, 7 of 10.
    for (k, n, low, high) in [(3, 3, 0.2924, 1.0), (0, 3, 0.0, 0.7076), (2, 3, 0.0943, 0.9916), (7, 10, 0.3475, 0.9333)] {
        let keeps = Votes::new(1, k, n).keeps;
        assert!((keeps.low - low).abs() < 1e-4 && (keeps.high - high).abs() < 1e-4, "{k} of {n}: {keeps:?}");
    }
}

#[test]
fn what_was_not_wanted_is_refused() {
    let mut search = Search::new(rule()).unwrap();
    let wanted = Probe { rate_per_s: 100, repeat: 1 };
    assert_eq!(search.next(), Step::Probe(wanted));
    assert!(search.tell(answer(Probe { rate_per_s: 200, repeat: 1 }, 1)).unwrap_err().contains("200/s was not wanted"));
    assert!(search.tell(answer(Probe { rate_per_s: 100, repeat: 2 }, 1)).is_err());
    assert!(search.tell(ProbeResult { offered: 0, ..answer(wanted, 1) }).unwrap_err().contains("nothing was offered"));
    assert_eq!(search.next(), Step::Probe(wanted));
    for repeat in 1..=3 {
        search.tell(answer(Probe { rate_per_s: 100, repeat }, u64::MAX)).unwrap();
    }
    assert!(search.tell(answer(Probe { rate_per_s: 100, repeat: 4 }, 1)).unwrap_err().contains("the search is over"));
}

#[test]
fn rules_out_of_range_are_refused() {
    let wrong = [
        CapacityRule { percentile: 0.0, ..rule() },
        CapacityRule { percentile: f64::NAN, ..rule() },
        CapacityRule { at_most_ns: 0, ..rule() },
        CapacityRule { lowest_per_s: 0, ..rule() },
        CapacityRule { highest_per_s: Some(99), ..rule() },
        CapacityRule { resolution: 0.0, ..rule() },
        CapacityRule { repeats: 0, ..rule() },
        CapacityRule { keeps_up: 1.01, ..rule() },
    ];
    for rule in wrong {
        assert!(Search::new(rule.clone()).is_err(), "{rule:?}");
    }
}

/// No search may need more: each of the passes between two overturned rates doubles and halves at most this often, and
/// every rate is tried at most `repeats` times.
fn most_trials(rule: &CapacityRule) -> usize {
    let span = (f64::from(rule.highest()) / f64::from(rule.lowest_per_s)).ln().max(1e-9);
    let doublings = (span / 2f64.ln()).ceil() + 2.0;
    let halvings = (span / rule.resolution.ln_1p()).log2().max(0.0).ceil() + 2.0;
    (doublings + halvings) as usize * (OVERTURNS + 2) * rule.repeats as usize
}

fn rules() -> impl Strategy<Value = CapacityRule> {
    let highest = prop_oneof![Just(None), (0u32..2_000_000).prop_map(Some)];
    (1u32..50_000, highest, 0.001f64..1.0, 1u32..8).prop_map(|(lowest_per_s, more, resolution, repeats)| {
        let highest_per_s = more.map(|more| lowest_per_s + more);
        CapacityRule { lowest_per_s, highest_per_s, resolution, repeats, ..rule() }
    })
}

fn check_end(rule: &CapacityRule, result: &CapacityResult) -> Result<(), TestCaseError> {
    for votes in [result.kept, result.broken].into_iter().flatten() {
        prop_assert_eq!(votes.trials, rule.repeats);
    }
    match (result.capacity_per_s, result.broken_per_s) {
        (Some(kept), Some(broken)) => {
            let narrow = broken - kept <= 1 || f64::from(broken - kept) <= rule.resolution * f64::from(kept);
            prop_assert!(kept < broken && narrow == (result.why == Why::Resolved), "{:?}", result);
        }
        (Some(kept), None) => prop_assert!(kept == rule.highest() || result.why == Why::Noisy, "{:?}", result),
        (None, broken) => prop_assert_eq!(broken, Some(rule.lowest_per_s)),
    }
    Ok(())
}

proptest! {
    #[test]
    fn thresholds_are_bracketed(rule in rules(), capacity in prop_oneof![0u32..200_000, any::<u32>()]) {
        let result = run(&rule, most_trials(&rule), threshold(capacity));
        check_end(&rule, &result)?;
        prop_assert!(result.capacity_per_s.is_none_or(|kept| kept <= capacity));
        prop_assert!(result.broken_per_s.is_none_or(|broken| broken > capacity));
        prop_assert!(result.why != Why::Noisy);
    }

    #[test]
    fn noise_neither_loops_nor_ends_early(rule in rules(), mu in 1.0f64..300_000.0, sigma in 0.0f64..4.0, seed in any::<u64>()) {
        let result = run(&rule, most_trials(&rule), queue(mu, sigma, seed));
        check_end(&rule, &result)?;
    }

    #[test]
    fn coins_neither_loop_nor_end_early(rule in rules(), probability in 0.0f64..1.0, seed in any::<u64>()) {
        let mut rng = OpRng::new(Seed(seed));
        let server = |probe| answer(probe, if rng.unit_f64() < probability { 1 } else { u64::MAX });
        let result = run(&rule, most_trials(&rule), server);
        check_end(&rule, &result)?;
    }
}
