//! What a worker writes down: sums over the window, and one small bucket per second that is sent away when it is full.
//! Owned by one thread; nothing is shared.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;

use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::StatementCounts;

use crate::error::{DriverError, ErrorClass, ErrorCode};
use crate::totals::Totals;
use crate::window::Window;

/// Shortest time without a completion that is kept as a gap of one worker.
const GAP_NS: i64 = 100_000_000;
/// A start that comes so much after its time although a connection was free is counted as late: one millisecond.
const LATE_NS: i64 = 1_000_000;

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Committed.
    Committed,
    /// Rolled back because the workload says so.
    RolledBack,
    /// Given up.
    Failed,
}

/// What one worker saw in one second.
#[derive(Debug, Default)]
pub struct Second {
    /// The second, relative to the measured window; `i64::MAX` is the drain.
    pub number: i64,
    /// Transactions completed.
    pub transactions: u64,
    /// Transactions given up.
    pub failed: u64,
    /// Statements of the transactions that ended here.
    pub statements: u64,
    /// Errors of any kind.
    pub errors: u64,
    /// Arrivals of an open loop that were started here.
    pub started: u64,
    /// Service time of the completed ones, in open loop response time.
    pub latency: Histogram,
}

impl Second {
    /// An empty one.
    pub(crate) fn new(number: i64) -> Self {
        Self { number, ..Self::default() }
    }

    fn is_empty(&self) -> bool {
        self.transactions + self.failed + self.errors + self.started == 0
    }

    /// Adds another worker's figures of the same second.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.failed += other.failed;
        self.statements += other.statements;
        self.errors += other.errors;
        self.started += other.started;
        self.latency.merge(&other.latency);
    }
}

/// What a worker tells the executor while it works.
#[derive(Debug)]
pub enum Report {
    /// All its connections are open.
    Ready,
    /// A full second.
    Second(Box<Second>),
    /// It failed; its error comes with the end of its thread.
    GaveUp,
}

/// How often an error came, and the first message.
#[derive(Debug, Clone)]
pub struct ErrorCount {
    /// What it means.
    pub class: ErrorClass,
    /// How often.
    pub count: u64,
    /// The first message.
    pub example: String,
}

/// Errors by code.
pub type ErrorCounts = BTreeMap<ErrorCode, ErrorCount>;

/// A finished transaction as the hot loop knows it; times in nanoseconds relative to the window.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Position in the workload's kinds.
    pub kind: u8,
    /// How it ended.
    pub outcome: Outcome,
    /// When it was due; in closed loop when it started.
    pub intended_ns: i64,
    /// When the first attempt started.
    pub started_ns: i64,
    /// When the last attempt ended.
    pub finished_ns: i64,
    /// Attempts beyond the first.
    pub retries: u32,
}

/// The recorder of one worker.
#[derive(Debug)]
pub struct Recorder {
    window: Window,
    open_loop: bool,
    kinds: usize,
    second: Second,
    second_ends: i64,
    /// Where the phases of the window end, the last one at its end; one phase where the study declares none.
    phase_ends: Vec<i64>,
    phase: usize,
    /// One for each phase; what ends in warm-up or drain is in none.
    pub totals: Vec<Totals>,
    reports: Option<Sender<Report>>,
    last_done_ns: i64,
    /// Errors of the whole run.
    pub errors: ErrorCounts,
    /// Times of at least 100 ms without a completion, within the window.
    pub gaps: Vec<(i64, i64)>,
    /// Statements from the first connection to the last.
    pub whole: StatementCounts,
    /// Connections lost.
    pub lost: u64,
    /// Connections opened again.
    pub reconnects: u64,
    /// Transactions that ended in the drain.
    pub drained: u64,
    /// Open loop: for how long arrivals had been due that had not ended when the window closed.
    pub unfinished: Histogram,
    /// Open loop: how late starts were although a connection was free, within the window.
    pub send_lag: Histogram,
    /// Those of them that were late by more than a millisecond.
    pub late_sends: u64,
}

impl Recorder {
    /// An empty recorder; full seconds go to `reports`.
    pub fn new(window: Window, phase_ends: Vec<i64>, kinds: usize, open_loop: bool, reports: Sender<Report>) -> Self {
        let (number, second_ends) = window.second(window.now_ns());
        Self {
            window,
            open_loop,
            kinds,
            second: Second::new(number),
            second_ends,
            totals: phase_ends.iter().map(|_| Totals::new(kinds)).collect(),
            phase_ends,
            phase: 0,
            reports: Some(reports),
            last_done_ns: 0,
            errors: BTreeMap::new(),
            gaps: Vec::new(),
            whole: StatementCounts::default(),
            lost: 0,
            reconnects: 0,
            drained: 0,
            unfinished: Histogram::new(),
            send_lag: Histogram::new(),
            late_sends: 0,
        }
    }

    /// An arrival of an open loop is started; `free` where a connection had been waiting for it.
    #[inline]
    pub fn started(&mut self, intended_ns: i64, started_ns: i64, free: bool) {
        self.roll(started_ns);
        self.second.started += 1;
        if free && started_ns >= 0 && started_ns < self.window.length_ns {
            let lag = (started_ns - intended_ns).max(0);
            self.send_lag.record(lag as u64);
            self.late_sends += u64::from(lag > LATE_NS);
        }
    }

    /// An arrival that was due at `intended_ns` had not ended when the window closed.
    pub fn unfinished(&mut self, intended_ns: i64) {
        if intended_ns < self.window.length_ns {
            self.unfinished.record((self.window.length_ns - intended_ns) as u64);
        }
    }

    /// Counts a finished transaction in the second in which it ended.
    #[inline]
    pub fn record(&mut self, sample: Sample, statements: &StatementCounts) {
        self.roll(sample.finished_ns);
        self.whole.add(statements);
        self.second.statements += statements.total();
        let service = (sample.finished_ns - sample.started_ns).max(0) as u64;
        let response = (sample.finished_ns - sample.intended_ns).max(0) as u64;
        let completed = sample.outcome != Outcome::Failed;
        if completed {
            self.second.transactions += 1;
            self.second.latency.record(if self.open_loop { response } else { service });
        } else {
            self.second.failed += 1;
        }
        if sample.finished_ns >= self.window.length_ns {
            self.drained += u64::from(completed);
            if self.open_loop {
                self.unfinished(sample.intended_ns);
            }
            return;
        }
        if sample.finished_ns < 0 {
            return;
        }
        let totals = &mut self.totals[self.phase];
        totals.statements.add(statements);
        totals.retries += u64::from(sample.retries);
        let kind = &mut totals.kinds[usize::from(sample.kind)];
        match sample.outcome {
            Outcome::Committed => kind.committed += 1,
            Outcome::RolledBack => kind.rolled_back += 1,
            Outcome::Failed => {
                kind.failed += 1;
                return;
            }
        }
        kind.service.record(service);
        if self.open_loop {
            kind.response.record(response);
            kind.wait.record((sample.started_ns - sample.intended_ns).max(0) as u64);
        }
        if sample.finished_ns - self.last_done_ns >= GAP_NS {
            self.gaps.push((self.last_done_ns, sample.finished_ns));
        }
        self.last_done_ns = sample.finished_ns;
    }

    /// Counts an error.
    pub fn error(&mut self, error: &DriverError) {
        self.roll(self.window.now_ns());
        self.second.errors += 1;
        let fresh = || ErrorCount { class: error.class, count: 0, example: error.message.clone() };
        self.errors.entry(error.code).or_insert_with(fresh).count += 1;
    }

    /// Sends the second away if it is over, and goes to the phase that holds `now_ns`.
    #[inline]
    pub fn roll(&mut self, now_ns: i64) {
        if now_ns >= self.second_ends {
            self.next_second(now_ns);
        }
    }

    #[cold]
    fn next_second(&mut self, now_ns: i64) {
        let (number, end) = self.window.second(now_ns);
        self.second_ends = end;
        while self.phase + 1 < self.phase_ends.len() && now_ns >= self.phase_ends[self.phase] {
            self.phase += 1;
        }
        let done = std::mem::replace(&mut self.second, Second::new(number));
        self.send(done);
    }

    fn send(&self, second: Second) {
        // The receiver is gone only when the run was given up; then nobody wants the figures.
        if let Some(reports) = self.reports.as_ref().filter(|_| !second.is_empty()) {
            let _ = reports.send(Report::Second(Box::new(second)));
        }
    }

    /// Sends what is left and closes the last gap.
    pub fn finish(&mut self) {
        let done = std::mem::replace(&mut self.second, Second::new(i64::MAX));
        self.send(done);
        self.reports = None;
        self.second_ends = i64::MAX;
        if self.window.length_ns - self.last_done_ns >= GAP_NS {
            self.gaps.push((self.last_done_ns, self.window.length_ns));
        }
    }

    /// How many kinds of transactions it knows.
    pub fn kinds(&self) -> usize {
        self.kinds
    }
}

/// The times in which no worker completed anything: the intersection of all workers' gaps, each list ascending.
pub fn common_gaps(workers: &[Vec<(i64, i64)>]) -> Vec<(i64, i64)> {
    let Some((first, rest)) = workers.split_first() else { return Vec::new() };
    let mut common = first.clone();
    for other in rest {
        let mut next = Vec::new();
        for (from, to) in &common {
            let overlaps = other.iter().map(|(f, t)| (*f.max(from), *t.min(to)));
            next.extend(overlaps.filter(|(f, t)| t > f));
        }
        common = next;
    }
    common
}

#[cfg(test)]
mod tests;
