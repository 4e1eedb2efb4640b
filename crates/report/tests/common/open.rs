//! Open-loop trials: a queue with as many servers as connections, simulated arrival by arrival.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use perbuck_core::arrivals::Schedule;
use perbuck_core::histogram::Histogram;
use perbuck_core::load_model::LoadModel;
use perbuck_core::plan::{TrialKey, trial_seed};
use perbuck_core::rng::OpRng;
use perbuck_core::run_record::{
    Flag, Health, HistogramRecord, Interval, Measured, OpenLoop, PhaseRecord, RunRecord, TransactionRecord, WorkerHealth,
};
use perbuck_core::steady;
use perbuck_core::study::Study;

const SECOND: i64 = 1_000_000_000;

/// Two contenders, three rates; the last one is more than `x86` can do.
pub const STUDY: &str = r#"
schema = 1
name = "arrivals"
question = "Which cluster keeps the rate, and how long do users wait?"
baseline = "x86"
seed = 42
[[contender]]
name = "arm"
label = "Arm (Graviton2)"
target = "mysql://root@arm.example:4000/test"
[[contender]]
name = "x86"
label = "x86 (Xeon)"
target = "mysql://root@x86.example:4000/test"
[[workload]]
name = "points"
kind = "sysbench"
script = "oltp_point_select"
[sweep]
connections = [16]
rate = [200, 500, 900]
warmup = "10s"
duration = "30s"
trials = 3
[summary]
over = [200, 900]
[decision]
slo = { percentile = 99, at_most = "100ms" }
"#;

/// The same in phases: calm, a ramp beyond what `x86` can do, calm.
pub fn phased() -> Study {
    let phases =
        r#"phases = [{ time = "10s", rate = 200 }, { time = "20s", rate = 200, to = 1200 }, { time = "10s", rate = 100 }]"#;
    let text = STUDY.replace("rate = [200, 500, 900]", phases).replace("duration = \"30s\"\n", "");
    Study::read("study.toml", &text.replace("over = [200, 900]", "over = \"peak\""), &super::KINDS).unwrap()
}

pub fn study() -> Study {
    Study::read("study.toml", STUDY, &super::KINDS).unwrap()
}

/// One arrival; times relative to the window.
struct Arrival {
    due: i64,
    start: i64,
    end: i64,
    /// Whether a connection had waited for it.
    free: bool,
}

fn arrivals(study: &Study, key: &TrialKey) -> Vec<Arrival> {
    let seed = trial_seed(study.seed, key);
    let LoadModel::Open { arrivals, phases } = study.sweep.load_model(key.rate_per_s) else { panic!("closed loop") };
    let mut rng = OpRng::new(seed.derive(&key.contender));
    let mean_ns = if key.contender == "arm" { 12e6 } else { 22e6 };
    let mut free: BinaryHeap<Reverse<i64>> = (0..key.connections).map(|_| Reverse(i64::MIN)).collect();
    let run = |at: u64| {
        let due = at as i64 - study.sweep.warmup_ns as i64;
        let Reverse(idle) = free.pop().unwrap();
        // A client is late by some ten microseconds even where a connection is free.
        let late = (2e4 - 6e4 * (1.0 - rng.unit_f64()).ln()) as i64;
        let (start, free_then) = if idle <= due { (due + late, true) } else { (idle.max(due), false) };
        let end = start + (mean_ns * (0.4 - 0.6 * (1.0 - rng.unit_f64()).ln())) as i64;
        free.push(Reverse(end));
        Arrival { due, start, end, free: free_then }
    };
    Schedule::new(&phases, arrivals, seed).map(run).collect()
}

/// Transactions that ended in a part of the window.
fn ended(all: &[Arrival], from: i64, to: i64) -> TransactionRecord {
    let (mut wait, mut service, mut response) = (Histogram::new(), Histogram::new(), Histogram::new());
    for a in all.iter().filter(|a| (from..to).contains(&a.end)) {
        wait.record((a.start - a.due) as u64);
        service.record((a.end - a.start) as u64);
        response.record((a.end - a.due) as u64);
    }
    let [wait, service, response] = [wait, service, response].map(|h| HistogramRecord::from_histogram(&h));
    TransactionRecord { committed: service.count, service, wait, response, ..TransactionRecord::default() }
}

fn second(all: &[Arrival], begin: i64) -> Interval {
    let end = begin + SECOND;
    let mut response = Histogram::new();
    all.iter().filter(|a| (begin..end).contains(&a.end)).for_each(|a| response.record((a.end - a.due) as u64));
    let percentile = |p| response.percentile_ns(p).unwrap_or(0);
    Interval {
        start_ms: begin / 1_000_000,
        length_ms: 1000,
        transactions: response.count(),
        statements: response.count(),
        errors: 0,
        due: all.iter().filter(|a| (begin..end).contains(&a.due)).count() as u64,
        backlog: waiting(all, end),
        p50_ns: percentile(50.0),
        p95_ns: percentile(95.0),
        p99_ns: percentile(99.0),
        max_ns: response.max_ns(),
    }
}

fn waiting(all: &[Arrival], at: i64) -> u64 {
    all.iter().filter(|a| a.due < at && a.start >= at).count() as u64
}

/// One trial.
pub fn record(study: &Study, key: &TrialKey, position: u32) -> RunRecord {
    let all = arrivals(study, key);
    let window = study.sweep.duration_ns as i64;
    let mut unfinished = Histogram::new();
    all.iter().filter(|a| a.due < window && a.end >= window).for_each(|a| unfinished.record((window - a.due) as u64));
    let within = |at: &i64| (0..window).contains(at);
    let open = OpenLoop {
        offered: all.iter().filter(|a| within(&a.due)).count() as u64,
        started: all.iter().filter(|a| within(&a.start)).count() as u64,
        backlog_at_open: waiting(&all, 0),
        backlog_at_close: waiting(&all, window),
        unfinished: HistogramRecord::from_histogram(&unfinished),
    };
    let mut begin = 0;
    let phase = |p: &perbuck_core::load_model::Phase| {
        let from = begin;
        begin += p.length_ns as i64;
        PhaseRecord { phase: *p, transactions: BTreeMap::from([("point_select".to_owned(), ended(&all, from, begin))]) }
    };
    let phases: Vec<PhaseRecord> = study.sweep.phases.iter().map(phase).collect();
    let done = ended(&all, 0, window);
    let mut flags = Vec::new();
    if done.committed * 100 < open.offered * 99 {
        let unfinished = open.unfinished.count;
        flags.push(Flag::Overloaded { offered: open.offered, completed: done.committed, unfinished });
    }
    let warmup = study.sweep.warmup_ns as i64;
    let intervals: Vec<Interval> = (-warmup / SECOND..window / SECOND).map(|i| second(&all, i * SECOND)).collect();
    let mut record = super::record(study, key, position);
    record.load.model = "open".into();
    (record.load.rate_per_s, record.load.arrivals) = (key.rate_per_s, Some(study.sweep.arrivals));
    record.load.phases.clone_from(&study.sweep.phases);
    record.health = health(&all, study, &intervals, position);
    record.measured = Measured {
        window_ns: window as u64,
        transactions: BTreeMap::from([("point_select".to_owned(), done)]),
        open_loop: Some(open),
        phases,
        ..Measured::default()
    };
    (record.intervals, record.flags) = (intervals, flags);
    record
}

fn health(all: &[Arrival], study: &Study, intervals: &[Interval], position: u32) -> Health {
    let (mut lag, mut send_lag) = (Histogram::new(), Histogram::new());
    let mut rng = OpRng::new(perbuck_core::units::Seed(u64::from(position)));
    let mut late = || (2e4 - 6e4 * (1.0 - rng.unit_f64()).ln()) as u64;
    (0..3_000).for_each(|_| lag.record(late()));
    all.iter().filter(|a| a.due >= 0 && a.free).for_each(|a| send_lag.record((a.start - a.due) as u64));
    let busy = all.iter().filter(|a| a.end >= 0).count() as u64 * 60_000;
    let series: Vec<f64> = intervals.iter().map(|i| i.transactions as f64).collect();
    let steadiness = study.sweep.phases.is_empty().then(|| steady::judge(&series, 10));
    Health {
        client_user_ns: busy * 3 / 2,
        client_system_ns: busy / 2,
        workers: [busy, busy * 9 / 10].map(|cpu_ns| WorkerHealth { connections: 8, cpu_ns, busiest_phase: 0.0 }).to_vec(),
        lag: HistogramRecord::from_histogram(&lag),
        send_lag: HistogramRecord::from_histogram(&send_lag),
        peak_memory_bytes: (90 << 20) + (u64::from(position) << 20),
        steadiness,
        ..Health::default()
    }
}

/// Every planned trial.
pub fn records(study: &Study) -> Vec<RunRecord> {
    study.plan().iter().zip(0..).map(|(key, position)| record(study, key, position)).collect()
}
