//! What the runs of a study have counted since they are followed.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use perbuck_core::plan::TrialKey;
use perbuck_lab::live::{ClientCpu, Counts, Event, Line, Price};

/// Points of a study at most: contender × workload × load level. What is beyond is not counted, so that a scrape stays small.
const MOST_POINTS: usize = 1000;

/// Bytes of the names of a contender and a workload at most: each is the name of a folder.
const LONGEST_NAMES: usize = 512;
/// The exponential buckets of all durations from 1 ns to some hours.
const INDEXES: RangeInclusive<i32> = -960..=480;
/// Classes of errors.
pub(super) const CLASSES: [&str; 5] = ["retry", "failed", "lost", "refused", "fatal"];

/// A point: contender, workload, connections, rate.
pub(super) type Point = (String, String, u32, Option<u32>);

/// A trial that runs.
#[derive(Debug, Clone)]
pub(super) struct Running {
    pub(super) key: TrialKey,
    /// Start of its last second, relative to the measured window, and where that ended; milliseconds.
    pub(super) start_ms: i64,
    pub(super) end_ms: i64,
    pub(super) in_flight: u64,
    pub(super) backlog: u64,
}

/// Sums over all runs that were followed, and the state of the last one.
#[derive(Debug, Default)]
pub(super) struct Counted {
    /// By point. The counts of a second, and their sums, have the same type.
    pub(super) points: BTreeMap<Point, Counts>,
    pub(super) client: Option<ClientCpu>,
    pub(super) prices: Vec<Price>,
    pub(super) planned: u64,
    pub(super) done: u64,
    /// Seconds that the run still takes, while that is known.
    pub(super) left_s: Option<u64>,
    pub(super) running: Option<Running>,
    /// When the last line was written, milliseconds since 1970 UTC; 0 before the first.
    pub(super) at_ms: u64,
    pub(super) has_ended: bool,
}

impl Counted {
    pub(super) fn add(&mut self, line: &Line) {
        self.at_ms = line.at_ms;
        self.has_ended = matches!(line.event, Event::Ended);
        match &line.event {
            Event::Began { trials, on_disk, prices } => {
                (self.planned, self.done) = (*trials as u64, *on_disk as u64);
                self.prices.clone_from(prices);
                self.prices.sort_by(|a, b| (&a.contender, &a.region).cmp(&(&b.contender, &b.region)));
                self.prices.dedup_by(|a, b| (&a.contender, &a.region) == (&b.contender, &b.region));
                (self.running, self.left_s) = (None, None);
            }
            Event::Doing { .. } => self.running = None,
            Event::Second { trial, left_s, second, counts, .. } => {
                self.left_s = Some(*left_s);
                self.running = Some(Running {
                    key: trial.clone(),
                    start_ms: second.start_ms,
                    end_ms: second.start_ms.saturating_add_unsigned(second.length_ms),
                    in_flight: counts.as_ref().map_or(0, |c| c.in_flight),
                    backlog: second.backlog,
                });
                if let Some(counts) = counts {
                    self.sum(trial, counts);
                }
            }
            Event::Rest { trial, counts } => self.sum(trial, counts),
            Event::Done { .. } => (self.running, self.done) = (None, self.done + 1),
            Event::Ended => (self.running, self.left_s) = (None, None),
        }
    }

    fn sum(&mut self, trial: &TrialKey, counts: &Counts) {
        if let Some(cpu) = counts.client {
            let all = self.client.get_or_insert_default();
            all.user_ns = all.user_ns.saturating_add(cpu.user_ns);
            all.system_ns = all.system_ns.saturating_add(cpu.system_ns);
        }
        let point = (trial.contender.clone(), trial.workload.clone(), trial.connections, trial.rate_per_s);
        let is_new = !self.points.contains_key(&point);
        let is_long = trial.contender.len() + trial.workload.len() > LONGEST_NAMES;
        let is_odd = counts.latency.exponential.iter().any(|(index, _)| !INDEXES.contains(index));
        if is_long || is_odd || is_new && self.points.len() >= MOST_POINTS {
            return;
        }
        let all = self.points.entry(point).or_default();
        let add = |sum: &mut u64, n: u64| *sum = sum.saturating_add(n);
        add(&mut all.transactions, counts.transactions);
        add(&mut all.failed, counts.failed);
        add(&mut all.statements, counts.statements);
        add(&mut all.retries, counts.retries);
        add(&mut all.reconnects, counts.reconnects);
        for class in CLASSES.into_iter().filter(|class| counts.errors.contains_key(*class)) {
            add(all.errors.entry(class.to_owned()).or_default(), counts.errors[class]);
        }
        all.latency.merge(&counts.latency);
    }
}
