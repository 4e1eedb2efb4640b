//! Terminals that key and think, and what else a workload counts.

use super::*;

/// Terminals that pause so long before and after each of their transactions, which take 2 ms.
pub(super) fn pausing(before_ms: u64, after_ms: u64) -> Arc<TwoSelects> {
    TwoSelects::with(None, Pauses { before_ns: before_ms * 1_000_000, after_ns: after_ms * 1_000_000 })
}

#[test]
fn facts_are_summed_under_their_names_but_for_nameless_ones_and_those_of_what_failed() {
    let outcome = simulate(&spec(4), SimDriver::default()).unwrap();
    let record = transactions(&outcome);
    assert_eq!(record.facts.keys().collect::<Vec<_>>(), ["selects", "thirds"]);
    assert_eq!(record.facts["selects"], 2 * record.completed());
    assert!(record.facts["thirds"].abs_diff(record.completed()) <= 4, "0, 1 and 2 in turn: {record:?}");
    let outcome = simulate(&spec(4), failing(5, ErrorClass::Failed, 1406)).unwrap();
    let record = transactions(&outcome);
    assert!(record.failed > 1_000 && record.facts["selects"] == 2 * record.completed());
}

#[test]
fn pauses_lie_outside_of_the_transaction() {
    // A cycle of exactly a second: ten of the window's seconds hold ten of each terminal.
    let workload = pausing(600, 398);
    let outcome = simulate_with(&spec(4), SimDriver::default(), &workload, &mut |_| {}).unwrap();
    let record = transactions(&outcome);
    assert_eq!((record.completed(), record.failed, outcome.health.aborted), (40, 0, 0));
    assert_eq!((record.service.max_ns, record.service.sum_ns), (2_000_000, 80_000_000));
    assert!(record.response.is_empty());
    // No transaction was due: these connections are idle by intention.
    assert_eq!((outcome.health.longest_gap_ns, outcome.health.gaps.len(), outcome.health.littles_law), (2_000_000, 0, None));
    let seen = outcome.pauses["two_selects"];
    assert!(seen.before.count.abs_diff(40) <= 4 && seen.after.count.abs_diff(40) <= 4, "{seen:?}");
    let means = [seen.before.mean_s().unwrap(), seen.after.mean_s().unwrap()];
    assert!((means[0] - 0.6).abs() < 1e-6 && (means[1] - 0.398).abs() < 1e-6, "{means:?}");
    assert!(simulate(&spec(4), SimDriver::default()).unwrap().pauses.is_empty());
}

#[test]
fn the_end_of_the_window_ends_a_pause() {
    let outcome = simulate_with(&spec(4), SimDriver::default(), &pausing(3_600_000, 0), &mut |_| {}).unwrap();
    assert_eq!((transactions(&outcome).completed(), outcome.health.aborted), (0, 0));
    assert_eq!(outcome.health.drained, 0);
    let outcome = simulate_with(&spec(4), SimDriver::default(), &pausing(0, 3_600_000), &mut |_| {}).unwrap();
    assert_eq!(outcome.health.gaps, [], "one each, in the warm-up, and nothing was asked for since");
}

#[test]
fn a_gap_starts_when_a_transaction_is_due() {
    // No statement ends from 2 s to 5 s of the window; a transaction starts each second, 600 ms after it began.
    let outcome = simulate_with(&spec(4), stalling(3, 6), &pausing(600, 398), &mut |_| {}).unwrap();
    let gap = outcome.health.gaps[0];
    assert!((2_500..=2_700).contains(&gap.start_ms) && (2_300..=2_500).contains(&gap.length_ms), "{gap:?}");
    // The server never comes back: those in flight are aborted, and the gap reaches to the end.
    let outcome = simulate_with(&spec(4), stalling(3, 1_000), &pausing(600, 398), &mut |_| {}).unwrap();
    let gap = outcome.health.gaps[0];
    assert!((2_500..=2_700).contains(&gap.start_ms) && gap.length_ms > 7_000, "{gap:?}");
    assert_eq!(outcome.health.aborted, 4);
}

#[test]
fn what_was_in_flight_at_the_end_is_neither_lost_nor_an_error() {
    // Transactions of two seconds and a window of three: each terminal ends one within, and one in the drain.
    let driver = SimDriver { service: Duration::from_secs(1), ..SimDriver::default() };
    let spec = TrialSpec { warmup_ns: 0, duration_ns: 3_000_000_000, ..spec(6) };
    let outcome = simulate(&spec, driver).unwrap();
    let record = transactions(&outcome);
    assert_eq!((record.completed(), record.failed, outcome.errors.len()), (6, 0, 0));
    assert_eq!((outcome.health.drained, outcome.health.aborted), (6, 0));
}
