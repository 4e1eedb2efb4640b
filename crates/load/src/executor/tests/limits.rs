//! Ends of a run before its time, statements timed, connections renewed.

use super::*;
use crate::listed::Listed;
use crate::recorder::Outcome;
use crate::statement_times::StepTotals;

#[test]
fn a_run_of_so_many_transactions_ends_with_the_last_of_them() {
    for connections in [1, 4, 7] {
        // Two statements of a millisecond each; a window of a hundred years would end no test.
        let century = 100 * 365 * 86_400 * 1_000_000_000;
        let spec = TrialSpec { max_events: Some(1_000), warmup_ns: 0, duration_ns: century, ..spec(connections) };
        let outcome = simulate(&spec, SimDriver::default()).unwrap();
        let measured = &outcome.measured;
        let ended: u64 = measured.transactions.values().map(|t| t.completed() + t.failed).sum();
        assert_eq!(ended, 1_000);
        let rounds = 1_000u64.div_ceil(u64::from(connections));
        let (least, most) = (rounds * 2_000_000 - 2_000_000, rounds * 2_000_000 + 2_000_000);
        assert!((least..=most).contains(&measured.window_ns), "{} with {connections}", measured.window_ns);
        assert_eq!(outcome.intervals.iter().map(|i| i.transactions).sum::<u64>(), 1_000);
        assert!(outcome.health.longest_gap_ns < 100_000_000, "{}", outcome.health.longest_gap_ns);
        assert_eq!(outcome.terminals.iter().map(|t| t.transactions).sum::<u64>(), 1_000);
        assert!(outcome.health.littles_law.is_some_and(|law| law.holds()), "{:?}", outcome.health.littles_law);
    }
}

#[test]
fn a_failed_transaction_is_one_of_so_many_where_the_workload_says_so() {
    for (counts_failed, completed) in [(false, 100), (true, 50)] {
        let workload = TwoSelects { counts_failed, ..TwoSelects::clone(&TwoSelects::new()) };
        let spec = TrialSpec { max_events: Some(100), max_attempts: 1, warmup_ns: 0, ..spec(1) };
        // Its third statement is the first of the second transaction, and so on.
        let driver = failing(3, ErrorClass::Failed, 1062);
        let outcome = simulate_with(&spec, driver, &Arc::new(workload), &mut |_| ()).unwrap();
        assert_eq!(transactions(&outcome).completed(), completed);
    }
}

#[test]
fn connections_that_find_no_more_transactions_are_not_missed() {
    // One of ten connections has a second transaction, and the others wait for half of the run.
    let spec = TrialSpec { max_events: Some(11), warmup_ns: 0, ..spec(10) };
    let outcome = simulate(&spec, SimDriver::default()).unwrap();
    assert!((4_000_000..5_000_000).contains(&outcome.measured.window_ns), "{}", outcome.measured.window_ns);
    let law = outcome.health.littles_law.unwrap();
    assert!(law.holds(), "{law:?}");
}

#[test]
fn time_ends_a_run_whose_transactions_are_not_used_up() {
    let spec = TrialSpec { max_events: Some(1_000_000), ..spec(2) };
    let outcome = simulate(&spec, SimDriver::default()).unwrap();
    assert_eq!((outcome.measured.window_ns, outcome.intervals.len()), (10_000_000_000, 11));
    let busy: u64 = outcome.terminals.iter().map(|t| t.busy_ns).sum();
    assert!((19_990_000_000..=20_010_000_000).contains(&busy), "{busy}");
}

#[test]
fn an_open_loop_of_so_many_transactions_ends_at_once() {
    let base = spec(4);
    let load = LoadModel::rate(10, Arrivals::Uniform, 1_000 * 1_000_000_000);
    let spec = TrialSpec { load, max_events: Some(50), duration_ns: 999 * 1_000_000_000, ..base };
    let outcome = simulate(&spec, SimDriver::default()).unwrap();
    let open = outcome.measured.open_loop.as_ref().unwrap();
    assert_eq!(open.started, 50);
    assert!((4_800_000_000..5_200_000_000).contains(&outcome.measured.window_ns), "{}", outcome.measured.window_ns);
    assert!(open.offered.abs_diff(50) <= 1 && open.unfinished.count == 0, "{open:?}");
}

#[test]
fn statements_are_timed_where_the_trial_asks_for_it() {
    assert!(simulate(&spec(3), SimDriver::default()).unwrap().statement_latency.is_empty());
    let outcome = simulate(&TrialSpec { time_statements: true, ..spec(3) }, SimDriver::default()).unwrap();
    let select = &outcome.statement_latency["select"];
    // Three terminals, two statements of a millisecond, ten seconds; begin and commit are never sent.
    assert_eq!((outcome.statement_latency.len(), select.max_ns), (1, 1_000_000));
    assert!(select.count.abs_diff(30_000) <= 6, "{}", select.count);
    assert_eq!(select.sum_ns, select.count * 1_000_000);
    // The second statement of each transaction fails, and what failed is not timed: of each two one.
    let outcome = simulate(&TrialSpec { time_statements: true, ..spec(3) }, failing(2, ErrorClass::Failed, 1062)).unwrap();
    let (select, sent) = (&outcome.statement_latency["select"], outcome.measured.statements.total());
    assert!(select.count > 10_000 && sent.abs_diff(2 * select.count) <= 6, "{} of {sent}", select.count);
}

#[test]
fn steps_are_timed_where_the_trial_asks_for_it() {
    assert!(simulate(&spec(3), SimDriver::default()).unwrap().steps.is_empty());
    let timed = |driver| simulate(&TrialSpec { time_statements: true, ..spec(3) }, driver).unwrap().steps;
    for step in timed(SimDriver::default()) {
        assert!(step.count.abs_diff(15_000) <= 6 && step.sum_ns == step.count * 1_000_000, "{step:?}");
        assert_eq!((step.failures, step.retries), (0, 0));
    }
    // The second step of each attempt fails: of three attempts, the last one is given up.
    let steps = timed(failing(2, ErrorClass::Retry, 1213));
    assert_eq!((steps[0].failures, steps[0].retries, steps[1].count), (0, 0, 0));
    assert!(steps[1].failures > 4_000 && steps[1].retries.abs_diff(2 * steps[1].failures) <= 6, "{steps:?}");
    // What cannot be tried again is no failure of its step.
    assert_eq!(timed(failing(2, ErrorClass::Failed, 1062))[1], StepTotals::default());
}

#[test]
fn an_error_that_is_not_tolerated_ends_the_run() {
    let driver = failing(50, ErrorClass::Failed, 1062);
    let listed = |codes: &[&str]| Tolerance::Listed {
        codes: codes.iter().map(|c| (*c).to_owned()).collect(),
        retries: true,
        losses: true,
    };
    let run = |tolerance| simulate(&TrialSpec { tolerance, ..spec(2) }, driver.clone());
    assert!(run(Tolerance::All).is_ok() && run(listed(&["sim 1062"])).is_ok());
    match run(listed(&["sim 1205"])) {
        Err(RunError::Fatal(error)) => assert_eq!(error.code.to_string(), "sim 1062"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn seconds_show_what_an_open_loop_owes() {
    let load = LoadModel::rate(3_000, Arrivals::Uniform, 11_000_000_000);
    let (mut last, mut reads) = ((0, 0), 0);
    let mut see = |seen: &SecondSeen<'_>| {
        last = (seen.interval.backlog, seen.in_flight);
        reads += seen.second.counts.read;
        assert_eq!(seen.second.latency.count(), seen.interval.transactions);
    };
    let outcome = simulate_with(&TrialSpec { load, ..spec(4) }, SimDriver::default(), &TwoSelects::new(), &mut see).unwrap();
    // Four connections complete 2 000 a second of 3 000.
    let open = outcome.measured.open_loop.unwrap();
    assert_eq!(last.0, open.backlog_at_close);
    assert!(last.1 <= 4 && last.0 > 10_000, "{last:?}");
    assert!(reads > 40_000, "{reads}");
}

#[test]
fn a_workload_may_ask_for_new_connections() {
    let outcome =
        simulate_with(&spec(2), SimDriver::default(), &TwoSelects::with(Some(10), Pauses::default()), &mut |_| {}).unwrap();
    let ended: u64 = outcome.measured.transactions.values().map(TransactionRecord::completed).sum();
    let all = ended + outcome.intervals[0].transactions;
    assert!((all / 10).abs_diff(outcome.health.reconnects) <= 2, "{all} and {}", outcome.health.reconnects);
    assert_eq!((outcome.health.connections_lost, outcome.errors.len()), (0, 0));
}

#[test]
fn a_run_without_a_limit_that_fails_ends_at_once() {
    let driver = failing(500, ErrorClass::Fatal, 1146);
    let spec = TrialSpec { duration_ns: 100 * 365 * 86_400 * 1_000_000_000, ..spec(2) };
    let mut seconds = 0;
    let outcome = simulate_with(&spec, driver, &TwoSelects::new(), &mut |_| seconds += 1);
    assert!(matches!(outcome, Err(RunError::Fatal(_))), "{outcome:?}");
    assert!(seconds <= 2, "{seconds}");
}

#[test]
fn failed_transactions_are_replaced_by_others() {
    let spec = TrialSpec { max_events: Some(1_000), ..spec(4) };
    let outcome = simulate(&spec, failing(9, ErrorClass::Failed, 1062)).unwrap();
    let t = transactions(&outcome);
    assert_eq!(t.completed(), 1_000);
    assert!(t.failed > 200, "{}", t.failed);
    let done: u64 = outcome.terminals.iter().map(|t| t.transactions).sum();
    let busy: u64 = outcome.terminals.iter().map(|t| t.busy_ns).sum();
    assert_eq!((done, busy), (1_000, t.service.sum_ns));
}

#[test]
fn statements_of_failed_attempts_count_when_they_were_sent() {
    let driver = failing(5, ErrorClass::Retry, 1213);
    let outcome = simulate(&TrialSpec { warmup_ns: 0, max_attempts: u32::MAX, ..spec(4) }, driver).unwrap();
    let (counts, errors) = (outcome.measured.statements, outcome.errors["sim 1213"].count);
    // Every statement is a SELECT, one in five of which fails and is followed by a ROLLBACK.
    assert!(counts.rollback.abs_diff(errors) <= 4, "{counts:?} and {errors}");
    assert!(counts.select.abs_diff(5 * errors) <= 24, "{counts:?} and {errors}");
    assert!(outcome.measured.retries.abs_diff(errors) <= 4);
    let shown: u64 = outcome.intervals.iter().map(|i| i.statements).sum();
    assert_eq!(shown, counts.read + counts.write + counts.other);
}

#[test]
fn a_run_that_is_ended_keeps_what_it_measured_but_for_the_second_request() {
    let ended = |requests: u32, warmup_ns| {
        let stop = StopToken::keeping();
        let spec = TrialSpec { warmup_ns, ..spec(4) };
        let mut asked = 0;
        let mut observer = Seconds(|seen: &SecondSeen<'_>| {
            if seen.interval.start_ms >= 0 || warmup_ns > 2_000_000_000 {
                (asked..requests).for_each(|_| stop.request());
                asked = requests;
            }
        });
        run_trial(&spec, &Arc::new(SimDriver::default()), &TwoSelects::new(), &stop, &mut observer)
    };
    let outcome = ended(1, 0).unwrap();
    let (measured, completed) = (&outcome.measured, transactions(&outcome).completed());
    assert!((1_000_000_000..10_000_000_000).contains(&measured.window_ns), "{}", measured.window_ns);
    assert_eq!(outcome.terminals.iter().map(|t| t.transactions).sum::<u64>(), completed);
    assert_eq!(outcome.intervals.iter().map(|i| i.transactions).sum::<u64>(), completed);
    assert_eq!((outcome.health.aborted, outcome.health.drained), (0, 0), "those in flight count");
    assert_eq!(ended(2, 0), Err(RunError::Interrupted));
    assert_eq!(ended(1, 3_000_000_000), Err(RunError::Interrupted), "nothing was measured yet");
}

#[test]
fn a_stuck_transaction_does_not_hold_up_a_run_that_is_ended() {
    let stop = StopToken::keeping();
    let spec = TrialSpec { drain_ns: 100_000_000, duration_ns: 3_600_000_000_000, warmup_ns: 0, ..spec(4) };
    let mut observer = Seconds(|_: &SecondSeen<'_>| {
        if !stop.requested() {
            stop.request();
        }
    });
    let stall = Some(Duration::from_millis(500)..Duration::from_secs(3_600));
    let driver = SimDriver { stall, ..SimDriver::default() };
    let outcome = run_trial(&spec, &Arc::new(driver), &TwoSelects::new(), &stop, &mut observer).unwrap();
    assert_eq!(outcome.health.aborted, 4);
    assert!(outcome.measured.window_ns >= 1_000_000_000, "the time without a completion is part of it");
}

/// An observer of each transaction.
#[derive(Default)]
struct Listing(Vec<Listed>);

impl Observer for Listing {
    fn lists(&self) -> bool {
        true
    }

    fn listed(&mut self, all: &[Listed]) {
        self.0.extend_from_slice(all);
    }
}

#[test]
fn each_transaction_is_listed_once() {
    let spec = TrialSpec { warmup_ns: 200_000_000, duration_ns: 2_000_000_000, max_attempts: 1, ..spec(4) };
    let (driver, mut listing) = (failing(50, ErrorClass::Retry, 1213), Listing::default());
    let outcome = run_trial(&spec, &Arc::new(driver), &TwoSelects::new(), &StopToken::default(), &mut listing).unwrap();
    let record = transactions(&outcome);
    let (failed, completed): (Vec<Listed>, Vec<Listed>) =
        listing.0.iter().copied().partition(|listed| listed.sample.outcome == Outcome::Failed);
    assert_eq!((completed.len() as u64, failed.len() as u64), (record.completed(), record.failed));
    assert!(failed.iter().all(|listed| matches!(listed.error, Some((ErrorClass::Retry, _)))) && !failed.is_empty());
    assert!(completed.iter().all(|listed| listed.error.is_none()));
    for terminal in 0..4 {
        let numbers: Vec<u64> = listing.0.iter().filter(|l| l.terminal == terminal).map(|l| l.number).collect();
        assert!(numbers.len() > 100 && numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
    }
}

/// An observer of seconds by kind.
struct Seconds<F>(F);

impl<F: FnMut(&SecondSeen<'_>)> Observer for Seconds<F> {
    fn by_kind(&self) -> bool {
        true
    }

    fn second(&mut self, seen: &SecondSeen<'_>) {
        (self.0)(seen);
    }
}

#[test]
fn seconds_by_kind_add_up_to_the_trial() {
    let driver = failing(50, ErrorClass::Failed, 1062);
    let spec = TrialSpec { warmup_ns: 0, duration_ns: 2_000_000_000, ..spec(4) };
    let (mut completed, mut failed, mut whole) = (0, 0, 0);
    let mut observer = Seconds(|seen: &SecondSeen<'_>| {
        assert_eq!(seen.second.kinds.len(), 1);
        completed += seen.second.kinds[0].completed.count();
        failed += seen.second.kinds[0].failed.count();
        whole += seen.second.latency.count();
    });
    let outcome = run_trial(&spec, &Arc::new(driver), &TwoSelects::new(), &StopToken::default(), &mut observer).unwrap();
    let record = transactions(&outcome);
    assert!(record.failed > 0);
    assert_eq!((completed, failed, whole), (record.completed(), record.failed, record.completed()));
    assert_eq!(outcome.failed_latency["two_selects"].count, record.failed);
}
