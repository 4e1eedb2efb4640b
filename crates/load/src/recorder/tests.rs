use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::*;
use crate::gaps::{common_gaps, waited_for};
use crate::window::SECOND_NS;

fn sample(outcome: Outcome, started_ns: i64, finished_ns: i64) -> Sample {
    Sample {
        kind: 0,
        outcome,
        intended_ns: started_ns,
        started_ns,
        finished_ns,
        statements: Counts { read: 1, ..Counts::default() },
        facts: [0; 4],
    }
}

/// A recorder of one kind, an hour before a window of that length, and what it reports.
fn recorder(phase_ends: &[i64], open_loop: bool) -> (Recorder, Receiver<Report>) {
    let (ahead, length_ns) = (Duration::from_secs(3600), *phase_ends.last().unwrap());
    let window = Window { opens: perbuck_event::now() + ahead, length_ns, warmup_ns: ahead.as_nanos() as i64 };
    let (send, receive) = channel();
    (Recorder::new(window, phase_ends, 1, open_loop, send), receive)
}

/// The phases of the window.
fn phases(r: &Recorder) -> &[Totals] {
    &r.totals[1..r.totals.len() - 1]
}

#[test]
fn every_sample_lands_in_its_second_and_none_is_lost() {
    let (mut r, receive) = recorder(&[2_500_000_000], false);
    for at in [-1_500_000_000, -1, 0, 999_999_999, 1_000_000_000, 2_499_999_999, 2_500_000_000, 9_000_000_000] {
        r.record(sample(Outcome::Committed, at - 10, at));
    }
    r.record(sample(Outcome::Failed, 0, 9_000_000_001));
    r.finish();
    let mut seen = Vec::new();
    while let Ok(Report::Second(s)) = receive.try_recv() {
        seen.push((s.number, s.transactions, s.failed, s.counts.total()));
    }
    assert_eq!(seen, [(-2, 1, 0, 1), (-1, 1, 0, 1), (0, 2, 0, 2), (1, 1, 0, 1), (2, 1, 0, 1), (i64::MAX, 2, 1, 3)]);
    assert_eq!((r.statements_whole_run().read, r.drained()), (9, 2));
    let total = &phases(&r)[0];
    assert_eq!((total.kinds[0].committed, total.statements.read), (4, 4));
    assert_eq!(total.kinds[0].service.count(), 4);
}

#[test]
fn phases_have_their_own_sums() {
    let (mut r, _) = recorder(&[2_000_000_000, 3_000_000_000, 6_000_000_000], true);
    for at in [-5, 0, 1_999_999_999, 2_000_000_000, 5_000_000_000, 5_999_999_999, 6_000_000_000] {
        r.record(sample(Outcome::Committed, at, at));
    }
    r.write_down();
    assert_eq!(phases(&r).iter().map(|t| t.kinds[0].committed).collect::<Vec<_>>(), [2, 1, 2]);
    assert_eq!(r.unfinished.count(), 0);
}

#[test]
fn an_open_loop_keeps_wait_service_and_response_apart() {
    let (mut r, _) = recorder(&[10_000_000_000], true);
    let late = Sample { intended_ns: 1_000_000, started_ns: 5_000_000, ..sample(Outcome::Committed, 0, 7_000_000) };
    r.started(1_000_000, 5_000_000, true);
    r.started(1_000_000, 5_000_000, false);
    r.record(late);
    r.write_down();
    let k = &phases(&r)[0].kinds[0];
    assert_eq!((k.wait.max_ns(), k.service.max_ns(), k.response.max_ns()), (4_000_000, 2_000_000, 6_000_000));
    assert_eq!((r.send_lag.count(), r.late_sends), (1, 1));
    // Ended in the drain: at the end of the window it had been due for four seconds.
    let drained = Sample { intended_ns: 6_000_000_000, ..sample(Outcome::Committed, 6_000_000_000, 11_000_000_000) };
    r.record(drained);
    r.write_down();
    r.unfinished(10_000_000_000);
    assert_eq!((r.unfinished.count(), r.unfinished.max_ns(), r.drained()), (1, 4_000_000_000, 1));
}

#[test]
fn transactions_across_an_edge_of_the_window_are_accounted_for() {
    let (mut r, _) = recorder(&[10_000_000_000], false);
    // Ended before the window, began before it, lies in it, failed across its beginning.
    r.record(sample(Outcome::Committed, -9, -5));
    r.record(sample(Outcome::Committed, -300, 700));
    r.record(sample(Outcome::Committed, 700, 9_999_999_999));
    r.record(sample(Outcome::Failed, -40, 60));
    // In flight at its end: one from within, one from before it began.
    r.record(sample(Outcome::Committed, 9_999_999_000, 10_000_000_000));
    r.record(sample(Outcome::Failed, -500, 11_000_000_000));
    r.finish();
    assert_eq!(r.before_ns, 340);
    assert_eq!((r.unfinished.count(), r.unfinished.max_ns(), r.unfinished_ns), (2, 10_000_000_500, 10_000_001_000));
}

fn quiet(from: i64, to: i64, due: i64) -> Quiet {
    Quiet { from, to, due }
}

#[test]
fn gaps_are_common_to_all_workers_and_start_when_a_transaction_is_due() {
    let closed = |f, t| quiet(f, t, i64::MIN);
    let all = [vec![closed(0, 10), closed(20, 40)], vec![closed(5, 30)], vec![closed(0, 100)]];
    assert_eq!(waited_for(common_gaps(&all)), [(5, 10), (20, 30)]);
    assert_eq!(common_gaps(&[vec![closed(0, 10)], vec![]]), []);
    assert_eq!(common_gaps(&[]), []);
    // The second worker ends the quiet time, with a transaction that was due at 25; nothing was asked for before.
    let open = [vec![quiet(0, 100, 90)], vec![quiet(10, 30, 25), quiet(40, 50, 50)]];
    assert_eq!(waited_for(common_gaps(&open)), [(25, 30)]);
}

#[test]
fn an_open_loop_that_asks_for_nothing_has_no_gap() {
    let (mut r, _) = recorder(&[10_000_000_000], true);
    for at in [1_000_000_000, 6_000_000_000] {
        r.record(Sample { intended_ns: at - 400_000_000, ..sample(Outcome::Committed, at - 400_000_000, at) });
    }
    r.finish();
    let gaps = waited_for(r.gaps);
    assert_eq!(gaps, [(600_000_000, 1_000_000_000), (5_600_000_000, 6_000_000_000)]);
}

#[test]
fn errors_are_counted_by_code() {
    let (mut r, _) = recorder(&[SECOND_NS], false);
    for code in [1213, 1213, 1062] {
        r.error(&DriverError::new(ErrorClass::Retry, ErrorCode::Number("sim", code), format!("m{code}")));
    }
    let counts: Vec<(String, u64)> = r.errors.iter().map(|(c, e)| (c.to_string(), e.count)).collect();
    assert_eq!(counts, [("sim 1062".to_owned(), 1), ("sim 1213".to_owned(), 2)]);
}
