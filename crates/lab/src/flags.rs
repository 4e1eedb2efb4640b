//! Flags of a trial, which a reader must know beside its numbers: pure functions of the record.

use std::collections::BTreeMap;
use std::time::Duration;

use perbuck_core::histogram::Histogram;
use perbuck_core::load_model::LoadModel;
use perbuck_core::load_model::Phase;
use perbuck_core::run_record::{Flag, Health, HistogramRecord, Interval, Measured, OpenLoop, TransactionRecord, WorkerHealth};
use perbuck_core::steady::{self, Settled, Steadiness};
use perbuck_core::units::{self, duration_text};
use perbuck_load::driver::{BY_SERVER, CHANGES};
use perbuck_load::trial::TrialSpec;

use crate::error::LabError;

mod foreign;

pub(crate) use foreign::{foreign_load, long_queries};

/// What of its equal share a server may have more or less.
const UNEVEN: f64 = 0.1;
/// Share of one processor beyond which a load thread counts as full.
const FULL: f64 = 0.9;
/// A client that is late by less than this does not matter whatever the latency; one millisecond.
const LATE_NS: u64 = 1_000_000;
/// A client whose own delay is more than this share of the 99th percentile is part of the value.
const LATE_SHARE: f64 = 0.1;
/// How many times older a transaction in flight must be than all that were completed.
const MUCH_OLDER: u64 = 2;
/// A target that completes less than this share of what is offered does not keep the rate.
const KEEPS_UP: f64 = 0.99;
/// Segments sent again, as a share of all, beyond which a network loses packets: a healthy one stays far below. Each costs its
/// connection 200 ms or more, so few of them take much throughput.
const LOSSY: f64 = 0.001;
/// Fewer retransmissions than this happen anywhere, and are a large share of a short window.
const RETRANSMISSIONS: u64 = 5;

/// Stolen CPU time as a share of the machine's, or the share of its periods in which a limit of the container stopped perbuck. Less than
/// this is within the noise of trials.
const WITHHELD: f64 = 0.05;
/// A jump of the clock by less than this is what a time server corrects.
const JUMP: Duration = Duration::from_millis(200);

/// Who applied the load of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AppliedBy {
    ThisProcess,
    /// Each of them says itself whether it was the limit.
    Agents,
}

/// The flags of a trial. A histogram of its record that cannot be read is a defect of perbuck.
pub(crate) fn of((spec, by): (&TrialSpec, AppliedBy), measured: &Measured, health: &Health) -> Result<Vec<Flag>, LabError> {
    let mut flags = Vec::new();
    let total = |count: fn(&TransactionRecord) -> u64| measured.transactions.values().map(count).sum::<u64>();
    let (completed, failed) = (total(TransactionRecord::completed), total(|t| t.failed));
    flags.extend(many_errors(failed, completed));
    let gap_ms: u64 = health.gaps.iter().map(|g| g.length_ms).sum();
    if gap_ms > 0 {
        flags.push(Flag::Gap { total_ms: gap_ms });
    }
    let fact = |name: &str| measured.transactions.values().filter_map(|t| t.facts.get(name)).sum::<u64>();
    let (missing, wrong) = (fact("missing"), fact("wrong"));
    if missing + wrong > 0 {
        flags.push(Flag::WrongRows { missing, wrong });
    }
    if fact("diverged") > 0 {
        flags.push(Flag::Diverged { statements: fact("diverged"), compared: fact("compared") });
    }
    if health.aborted > 0 {
        flags.push(Flag::Aborted { count: health.aborted });
    }
    let by_itself = by == AppliedBy::ThisProcess;
    let full = by_itself.then(|| full_worker(&health.workers, measured.window_ns)).flatten();
    flags.extend(full.map(|why| Flag::ClientLimited { why }));
    if let Some(open) = &measured.open_loop {
        let unfinished = open.unfinished.count;
        // Streams go on after the last of them was due.
        let after = if spec.streams { unfinished } else { 0 };
        let ended = (completed + failed).saturating_sub(after) + young(open, measured.window_ns)?;
        if (ended as f64) < KEEPS_UP * open.offered as f64 && unfinished > 0 {
            flags.push(Flag::Overloaded { offered: open.offered, completed, unfinished });
        }
        let late = if by_itself { late_client(measured, health)? } else { None };
        flags.extend(late.map(|why| Flag::ClientLimited { why }));
    }
    flags.extend(packet_loss(health));
    flags.extend(unsettled(health.steadiness.as_ref()).map(|why| Flag::Unsettled { why }));
    flags.extend(still_running(measured, health));
    flags.extend(law(spec, health));
    Ok(flags)
}

/// The flags of an imported trial: what can be told from the counters of a log, and from its seconds where it has them.
pub(crate) fn of_imported(measured: &Measured, steadiness: Option<&Steadiness>) -> Vec<Flag> {
    let of = |count: fn(&TransactionRecord) -> u64| units::total(measured.transactions.values().map(count));
    let unsettled = unsettled(steadiness).map(|why| Flag::Unsettled { why });
    many_errors(of(|t| t.failed), of(TransactionRecord::completed)).into_iter().chain(unsettled).collect()
}

fn many_errors(failed: u64, completed: u64) -> Option<Flag> {
    (failed.saturating_mul(100) > completed || completed == 0).then_some(Flag::ManyErrors { failed, completed })
}

/// What was wrong with the machine of the client in a window of this length; `civil_s` is its length by the clock that people set.
pub(crate) fn of_machine(length: Duration, civil_s: f64, stolen: f64, stopped: Option<f64>) -> Vec<Flag> {
    let mut flags = Vec::new();
    if stolen > WITHHELD {
        let why = format!("the hypervisor stole {:.0} % of it", stolen * 100.0);
        flags.push(Flag::Throttled { why });
    }
    if let Some(share) = stopped.filter(|share| *share > WITHHELD) {
        let why = format!("the CPU limit of its container stopped it in {:.0} % of its periods", share * 100.0);
        flags.push(Flag::Throttled { why });
    }
    let jump_s = civil_s - length.as_secs_f64();
    if jump_s.abs() > JUMP.as_secs_f64() {
        flags.push(Flag::ClockTrouble { jump_ms: (jump_s * 1000.0).round() as i64 });
    }
    flags
}

/// What changed in the cluster of the servers, by the differences of their counters.
pub(crate) fn cluster_changed(differences: &BTreeMap<String, i64>) -> Option<Flag> {
    let named = differences.iter().filter_map(|(name, by)| Some((name.strip_prefix(CHANGES)?.to_owned(), *by)));
    let changes: BTreeMap<String, i64> = named.filter(|(_, by)| *by != 0).collect();
    (!changes.is_empty()).then_some(Flag::ClusterChanged { changes })
}

/// Whether one of several servers executed too much or too little, by the differences of their counters.
pub(crate) fn uneven_servers(differences: &BTreeMap<String, i64>) -> Option<Flag> {
    let of_server =
        |(name, n): (&String, &i64)| Some((name.strip_prefix(BY_SERVER)?.parse::<u32>().ok()?, u64::try_from(*n).ok()?));
    let by_number: BTreeMap<u32, u64> = differences.iter().filter_map(of_server).collect();
    let statements: Vec<u64> = by_number.into_values().collect();
    let equal = statements.iter().sum::<u64>() as f64 / statements.len().max(1) as f64;
    let uneven = |n: &u64| (*n as f64 - equal).abs() > UNEVEN * equal;
    statements.iter().any(uneven).then_some(Flag::UnevenServers { statements })
}

/// Transactions in flight when the window closed that were due for no more than a hundredth of it: a longer window would hold their
/// end.
fn young(open: &OpenLoop, window_ns: u64) -> Result<u64, LabError> {
    let ages = histogram(&open.unfinished)?;
    Ok(ages.buckets().filter(|(age_ns, _)| *age_ns <= window_ns / 100).map(|(_, count)| count).sum())
}

fn histogram(record: &HistogramRecord) -> Result<Histogram, LabError> {
    let help = "this is a defect of perbuck; please report it";
    record.to_histogram().map_err(|e| LabError::failed(format!("a histogram just made cannot be read: {e}"), help))
}

/// A network that loses packets, as far as the client sees it.
fn packet_loss(health: &Health) -> Option<Flag> {
    let network = health.network.as_ref()?;
    let (retransmitted, sent) = (network.segments_retransmitted, network.segments_sent);
    let lossy = retransmitted >= RETRANSMISSIONS && retransmitted as f64 > LOSSY * sent as f64;
    lossy.then_some(Flag::PacketLoss { retransmitted, sent })
}

/// A load thread that had no processor time left: it measured itself. (An embedded database has none in the record.)
pub(crate) fn full_worker(workers: &[WorkerHealth], window_ns: u64) -> Option<String> {
    let share = |w: &WorkerHealth| w.busiest_phase.max(w.cpu_ns as f64 / window_ns.max(1) as f64);
    let (number, worker) = workers.iter().enumerate().max_by(|(_, a), (_, b)| share(a).total_cmp(&share(b)))?;
    let full = workers.iter().filter(|w| share(w) > FULL).count();
    (full > 0).then(|| {
        let of = workers.len();
        let percent = share(worker) * 100.0;
        format!("{full} of its {of} load threads were full; number {number} used {percent:.0} % of a processor (see `workers`)")
    })
}

/// In open loop, starts that were late although a connection was free, by an amount that is seen in the response time.
fn late_client(measured: &Measured, health: &Health) -> Result<Option<String>, LabError> {
    let p99 = |h: &HistogramRecord| Ok::<_, LabError>(histogram(h)?.percentile_ns(99.0).unwrap_or(0));
    let late_ns = p99(&health.send_lag)?;
    let mut response_ns = 0;
    for transactions in measured.transactions.values() {
        response_ns = response_ns.max(p99(&transactions.response)?);
    }
    Ok(late(late_ns, response_ns))
}

/// The same by the 99th percentiles of both times.
pub(crate) fn late(late_ns: u64, response_ns: u64) -> Option<String> {
    let matters = late_ns > LATE_NS && late_ns as f64 > LATE_SHARE * response_ns as f64;
    let text = || {
        format!(
            "it started transactions late though a connection was free: p99 {} of a response time of {}",
            duration_text(late_ns),
            duration_text(response_ns)
        )
    };
    matters.then(text)
}

/// Judges the whole seconds of warm-up and window; a load in phases is not meant to be steady.
pub(crate) fn steadiness(phases: &[Phase], intervals: &[Interval]) -> Option<Steadiness> {
    if !phases.is_empty() {
        return None;
    }
    let whole: Vec<&Interval> = intervals.iter().filter(|i| i.length_ms == 1000).collect();
    let warmup = whole.iter().filter(|i| i.start_ms < 0).count();
    let series: Vec<f64> = whole.iter().map(|i| i.transactions as f64).collect();
    Some(steady::judge(&series, warmup))
}

fn unsettled(steadiness: Option<&Steadiness>) -> Option<String> {
    let steadiness = steadiness?;
    match steadiness.verdict {
        Settled::Settled | Settled::TooShortToTell => None,
        Settled::WarmupTooShort => Some(match steadiness.mser5_truncation_s {
            Some(seconds) => format!("it settled only {seconds} s after the start of the warm-up, so give a longer `warmup`"),
            None => "the warm-up was too short".to_owned(),
        }),
        Settled::Drifting => Some(match steadiness.slope_percent {
            Some(percent) => format!("throughput changed by {percent:+.0} % over the window"),
            None => "throughput changed over the window".to_owned(),
        }),
    }
}

/// In closed loop, one that is in flight at the end and is much older than any that was completed. It may be a little older by chance.
fn still_running(measured: &Measured, health: &Health) -> Option<Flag> {
    let oldest_ns = health.edges?.oldest_ns;
    let longest_ns = measured.transactions.values().map(|t| t.service.max_ns).max().filter(|ns| *ns > 0)?;
    let (oldest_ms, longest_completed_ms) = (oldest_ns / 1_000_000, longest_ns / 1_000_000);
    (oldest_ns > MUCH_OLDER * longest_ns).then_some(Flag::StillRunning { oldest_ms, longest_completed_ms })
}

/// Little's law. While a connection is opened again it is in no transaction.
fn law(spec: &TrialSpec, health: &Health) -> Option<Flag> {
    let law = health.littles_law.filter(|_| spec.load == LoadModel::closed() && health.connections_lost == 0)?;
    (!law.holds()).then_some(Flag::LittlesLaw { busy: law.busy_connections, connections: law.connections })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use std::collections::BTreeMap;

    use perbuck_core::load_model::{Phase, PhaseLoad};
    use perbuck_core::run_record::{NetworkRecord, WindowEdges};
    use perbuck_core::units::Seed;

    use super::*;

    #[test]
    fn a_machine_that_is_held_back_or_whose_clock_jumps_is_flagged() {
        let of = |civil_s, stolen, stopped| of_machine(Duration::from_secs(10), civil_s, stolen, stopped);
        assert!(of(10.1, 0.04, Some(0.04)).is_empty());
        assert_eq!(of(6.0, 0.0, None), [Flag::ClockTrouble { jump_ms: -4000 }]);
        let both = of(10.0, 0.2, Some(0.07));
        let texts: Vec<String> = both.iter().map(Flag::text).collect();
        assert!(texts.len() == 2 && texts[0].contains("20 %") && texts[1].contains("7 %"), "{texts:?}");
    }

    #[test]
    fn a_network_that_loses_packets_is_flagged() {
        let flag = |sent, retransmitted| {
            let network = NetworkRecord { segments_sent: sent, segments_retransmitted: retransmitted };
            packet_loss(&Health { network: Some(network), ..Health::default() })
        };
        assert_eq!((flag(1_000_000, 1_000), flag(10, 4), packet_loss(&Health::default())), (None, None, None));
        assert!(flag(12_000, 300).unwrap().text().contains("300 of 12000 segments again (2.5 %)"));
        assert!(flag(4_000, 5).is_some());
    }

    fn waiting(ns: u64, count: u64) -> HistogramRecord {
        let mut h = Histogram::new();
        (0..count).for_each(|_| h.record(ns));
        HistogramRecord::from_histogram(&h)
    }

    fn spec() -> TrialSpec {
        TrialSpec {
            load: LoadModel::closed(),
            phases: Vec::new(),
            connections: 8,
            workers: None,
            warmup_ns: 0,
            duration_ns: 10_000_000_000,
            max_attempts: 1,
            seed: Seed(1),
            drain_ns: 0,
            max_events: None,
            streams: false,
            time_statements: false,
            tolerance: perbuck_load::limit::Tolerance::All,
            share: perbuck_load::share::Share::WHOLE,
        }
    }

    fn measured(completed: u64, each_ns: u64) -> Measured {
        let service = waiting(each_ns, completed);
        let one = TransactionRecord { committed: completed, response: service.clone(), service, ..TransactionRecord::default() };
        Measured { window_ns: 10_000_000_000, transactions: BTreeMap::from([("t".to_owned(), one)]), ..Measured::default() }
    }

    /// All flags hold these words together; without words there is none.
    fn flags(measured: &Measured, health: &Health, words: &[&str]) {
        let text: String =
            of((&spec(), AppliedBy::ThisProcess), measured, health).unwrap().iter().map(|f| f.text() + "\n").collect();
        assert!(text.is_empty() == words.is_empty() && words.iter().all(|w| text.contains(w)), "{words:?}: {text}");
    }

    #[test]
    fn uneven_servers_and_changes_of_a_cluster_are_flagged_by_their_counters() {
        let of = |counted: &[(&str, i64)]| counted.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect::<BTreeMap<_, _>>();
        let shares = |a, b| uneven_servers(&of(&[("server_statements_1", a), ("server_statements_2", b), ("Uptime", 9)]));
        assert_eq!(shares(80, 20), Some(Flag::UnevenServers { statements: vec![80, 20] }));
        assert_eq!([shares(54, 46), shares(0, 0), uneven_servers(&of(&[("server_statements_1", 7)]))], [None, None, None]);
        let changed = |moved| cluster_changed(&of(&[("server_changes_leaders_moved", moved), ("server_cpu_ms_tikv", 900)]));
        assert_eq!(changed(0), None);
        assert_eq!(changed(3).unwrap().text(), "the cluster changed while it was measured: leaders moved +3");
    }

    #[test]
    fn a_full_load_thread_limits_the_client_and_a_busy_one_does_not() {
        let worker = |cpu_ns| WorkerHealth { connections: 4, cpu_ns, busiest_phase: 0.0 };
        let health = |a, b| Health { workers: vec![worker(a), worker(b)], ..Health::default() };
        flags(&measured(1000, 1000), &health(8_900_000_000, 0), &[]);
        let full = "limited by the client: 1 of its 2 load threads were full; number 1 used 95 %";
        flags(&measured(1000, 1000), &health(1, 9_500_000_000), &[full]);
        // One phase was too much for the client, though over the window it had time to spare.
        let phase = WorkerHealth { busiest_phase: 0.99, ..worker(2_000_000_000) };
        let phased = Health { workers: vec![worker(1), phase], ..Health::default() };
        flags(&measured(1000, 1000), &phased, &["number 1 used 99 %"]);
    }

    #[test]
    fn an_open_loop_says_who_was_late() {
        let open =
            |unfinished, offered| OpenLoop { offered, unfinished: waiting(5_000_000_000, unfinished), ..OpenLoop::default() };
        let with = |open| Measured { open_loop: Some(open), ..measured(1000, 20_000_000) };
        flags(&with(open(0, 1000)), &Health::default(), &[]);
        let slow = "could not keep the rate: 2000 offered, 1000 completed, 1000 unfinished";
        flags(&with(open(1000, 2000)), &Health::default(), &[slow]);
        let late = |ns| Health { send_lag: waiting(ns, 100), ..Health::default() };
        flags(&with(open(0, 1000)), &late(1_500_000), &[]);
        flags(&with(open(0, 1000)), &late(3_000_000), &["late though a connection was free"]);
    }

    #[test]
    fn numbers_that_do_not_account_for_all_connections_are_named() {
        let law = |n: u128| perbuck_core::littles_law::check(8, n * 2_000_000, 10_000_000_000);
        let health = |n| Health { littles_law: Some(law(n)), ..Health::default() };
        flags(&measured(40_000, 2_000_000), &health(40_000), &[]);
        flags(&measured(36_000, 2_000_000), &health(36_000), &["7.2 busy connections of 8"]);
    }

    #[test]
    fn a_transaction_that_never_ended_in_the_window_is_named_if_it_is_much_older_than_the_others() {
        let edges = |oldest_ns| WindowEdges { in_flight: 1, oldest_ns, in_flight_ns: oldest_ns, before_ns: 0 };
        let health = |oldest_ns| Health { edges: Some(edges(oldest_ns)), ..Health::default() };
        flags(&measured(1000, 100_000_000), &health(190_000_000), &[]);
        let starved = ["had run for 9500 ms", "that was completed took 1"];
        flags(&measured(1000, 100_000_000), &health(9_500_000_000), &starved);
    }

    #[test]
    fn only_whole_seconds_are_judged_and_phases_are_not() {
        let second = |i: i64| Interval { start_ms: i * 1000, length_ms: 1000, transactions: 100, ..Interval::default() };
        let mut intervals: Vec<Interval> = (-10..40).map(second).collect();
        intervals.push(Interval { length_ms: 200, ..second(40) });
        assert_eq!(steadiness(&spec().phases, &intervals).unwrap().verdict, Settled::Settled);
        intervals.iter_mut().filter(|i| i.start_ms >= 20_000).for_each(|i| i.transactions = 60);
        let judged = steadiness(&spec().phases, &intervals).unwrap();
        assert!(unsettled(Some(&judged)).unwrap().contains("over the window"), "{judged:?}");
        let phase = Phase { length_ns: 1, load: PhaseLoad::Connections(1) };
        assert_eq!(steadiness(&[phase], &intervals), None);
    }
}
