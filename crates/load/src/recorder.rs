//! What a worker writes down: sums over the window, and one small bucket per second that is sent away when it is full.
//! Owned by one thread; nothing is shared.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::Sender;

use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::{ErrorRecord, StatementCounts};

use crate::connection::Counts;
use crate::error::{DriverError, ErrorClass, ErrorCode};
use crate::gaps::Quiet;
use crate::listed::Listed;
use crate::totals::Totals;
use crate::window::Window;
use crate::workload::Facts;

mod recorded;
mod second;

pub(crate) use recorded::Recorded;
pub use second::{KindSecond, Second};

/// Transactions that are written down together. Each touches a dozen cache lines of histograms and sums, which the
/// database has pushed out of the cache meanwhile; together they touch them once.
const TOGETHER: usize = 64;
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

/// What a worker tells the executor while it works.
#[derive(Debug)]
pub enum Report {
    /// All its connections are open.
    Ready,
    /// A full second.
    Second(Box<Second>),
    /// Transactions one by one, where the observer wants them.
    Listed(Vec<Listed>),
    /// It failed; its error comes with the end of its thread.
    GaveUp,
}

/// Errors by code.
pub type ErrorCounts = BTreeMap<ErrorCode, ErrorRecord>;

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
    /// Statements that its last attempt sent.
    pub statements: Counts,
    /// What the workload counted of it; zeros where it failed.
    pub facts: Facts,
}

/// The recorder of one worker.
#[derive(Debug)]
pub struct Recorder {
    window: Window,
    open_loop: bool,
    /// Whether connections may be idle because no transaction is due: in open loop, and where terminals pause. A quiet time is
    /// then a gap only from when on a transaction was due.
    idle_at_times: bool,
    /// Kinds that seconds are told apart by; 0 where the observer does not want them.
    kinds_by_second: usize,
    /// Ended, and not written down yet; all of them in the second at hand.
    pending: Vec<Sample>,
    second_ends: i64,
    /// When the last transaction of a schedule is due that ends with the trial: what ends later was unfinished.
    schedule_ns: Option<i64>,
    second: Second,
    /// When the periods end: the warm-up, the phases of the window (one where the study declares none), the drain.
    period_ends: Vec<i64>,
    period: usize,
    /// One for each period.
    totals: Vec<Totals>,
    reports: Option<Sender<Report>>,
    last_done_ns: i64,
    /// Errors of the whole run.
    pub errors: ErrorCounts,
    /// Times of at least 100 ms without a completion, within the window.
    pub(crate) gaps: Vec<Quiet>,
    /// When the oldest of those that had not ended was due; only where connections may be idle.
    oldest_unfinished_ns: i64,
    /// Connections lost.
    pub lost: u64,
    /// The terminals that lost one before the window closed.
    pub lost_by: BTreeSet<u32>,
    /// Connections opened again.
    pub reconnects: u64,
    /// For how long what had not ended when the window closed had been due; in closed loop, had run.
    pub unfinished: Histogram,
    /// Those of them that had not started then either, where terminals have a schedule.
    pub(crate) unstarted: u64,
    /// Time of these within the window, in nanoseconds.
    pub unfinished_ns: u64,
    /// Of what ended in the window, the time before it, in nanoseconds.
    pub before_ns: u64,
    /// Open loop: how late starts were although a connection was free, within the window.
    pub send_lag: Histogram,
    /// Those of them that were late by more than a millisecond.
    pub late_sends: u64,
}

impl Recorder {
    /// An empty recorder; full seconds go to `reports`.
    pub fn new(window: Window, phase_ends: &[i64], kinds: usize, open_loop: bool, reports: Sender<Report>) -> Self {
        let (number, second_ends) = window.second(window.now_ns());
        let period_ends: Vec<i64> = [0].iter().chain(phase_ends).copied().chain([i64::MAX]).collect();
        let mut recorder = Self {
            window,
            open_loop,
            idle_at_times: open_loop,
            kinds_by_second: 0,
            pending: Vec::with_capacity(TOGETHER),
            second: Second::new(number),
            second_ends,
            schedule_ns: None,
            totals: period_ends.iter().map(|_| Totals::new(kinds)).collect(),
            period_ends,
            period: 0,
            reports: Some(reports),
            last_done_ns: i64::MIN / 2,
            errors: BTreeMap::new(),
            gaps: Vec::new(),
            oldest_unfinished_ns: i64::MAX,
            lost: 0,
            lost_by: BTreeSet::new(),
            reconnects: 0,
            unfinished: Histogram::new(),
            unstarted: 0,
            unfinished_ns: 0,
            before_ns: 0,
            send_lag: Histogram::new(),
            late_sends: 0,
        };
        recorder.find_period(window.now_ns());
        recorder
    }

    /// The window is known; nothing was recorded before.
    pub(crate) fn start(&mut self, window: Window) {
        let now_ns = window.now_ns();
        (self.second.number, self.second_ends) = window.second(now_ns);
        (self.window, self.period) = (window, 0);
        self.find_period(now_ns);
    }

    /// Says whether terminals pause between their transactions, and whether seconds are wanted by kind of transaction.
    pub(crate) fn with(mut self, pauses: bool, by_kind: bool) -> Self {
        self.idle_at_times |= pauses;
        self.kinds_by_second = if by_kind { self.totals[0].kinds.len() } else { 0 };
        self.second = Second::with_kinds(self.second.number, self.kinds_by_second);
        self
    }

    /// Says when the last transaction of a schedule is due, if the terminals have one of their own.
    pub(crate) fn closing_at(mut self, schedule_ns: Option<u64>) -> Self {
        self.schedule_ns = schedule_ns.map(|ns| i64::try_from(ns).unwrap_or(i64::MAX));
        self
    }

    /// From when on what ends was unfinished.
    #[inline]
    fn close_ns(&self) -> i64 {
        self.schedule_ns.unwrap_or(self.window.length_ns)
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

    /// A transaction that was due at `intended_ns` had not ended when the window closed.
    pub fn unfinished(&mut self, intended_ns: i64) {
        self.oldest_unfinished_ns = self.oldest_unfinished_ns.min(intended_ns);
        let close_ns = self.close_ns();
        if intended_ns < close_ns {
            let age_ns = (close_ns - intended_ns) as u64;
            self.unfinished.record(age_ns);
            self.unfinished_ns += age_ns.min(close_ns as u64);
        }
    }

    /// Counts a finished transaction in the second and the period in which it ended.
    #[inline]
    pub fn record(&mut self, sample: Sample) {
        self.roll(sample.finished_ns);
        self.pending.push(sample);
        if self.pending.len() == TOGETHER {
            self.write_down();
        }
    }

    /// A terminal has paused before, or else after, a transaction of that kind, until `ended_ns`. What ends after the window
    /// was cut short by it.
    pub fn paused(&mut self, kind: u8, before: bool, length_ns: i64, ended_ns: i64) {
        self.roll(ended_ns);
        let ns = length_ns.max(0) as u64;
        let whole = self.totals[self.period].kinds.get_mut(usize::from(kind)).map(|k| &mut k.pauses);
        let second = self.second.kinds.get_mut(usize::from(kind)).map(|k| &mut k.pauses);
        for pauses in [whole, second].into_iter().flatten() {
            let waited = if before { &mut pauses.before } else { &mut pauses.after };
            waited.add(ns);
        }
    }

    /// Counts statements that belong to no single transaction, in the period in which they ended.
    pub fn sent_after(&mut self, statements: &Counts, ended_ns: i64) {
        self.roll(ended_ns);
        self.sent(statements);
    }

    #[inline]
    fn sent(&mut self, statements: &Counts) {
        statements.add_to(&mut self.totals[self.period].statements);
        statements.add_to(&mut self.second.counts);
        self.second.reconnects += u64::from(statements.reconnects);
        self.reconnects += u64::from(statements.reconnects);
    }

    /// An attempt has failed. Its statements count in the period in which it ended, whatever becomes of its transaction.
    pub fn attempt(&mut self, statements: &Counts, retried: bool, ended_ns: i64) {
        self.sent_after(statements, ended_ns);
        self.totals[self.period].retries += u64::from(retried);
        self.second.retries += u64::from(retried);
    }

    fn write_down(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.iter().for_each(|sample| self.count(sample));
        pending.clear();
        self.pending = pending;
    }

    fn count(&mut self, sample: &Sample) {
        let service = (sample.finished_ns - sample.started_ns).max(0) as u64;
        self.sent(&sample.statements);
        let kind = &mut self.totals[self.period].kinds[usize::from(sample.kind)];
        match sample.outcome {
            Outcome::Committed => kind.committed += 1,
            Outcome::RolledBack => kind.rolled_back += 1,
            Outcome::Failed => {
                kind.failed += 1;
                kind.failed_service.record(service);
                self.second.failed += 1;
                if let Some(kind) = self.second.kinds.get_mut(usize::from(sample.kind)) {
                    kind.failed.record((sample.finished_ns - sample.intended_ns).max(0) as u64);
                }
                return self.ended(sample);
            }
        }
        kind.facts.iter_mut().zip(sample.facts).for_each(|(sum, fact)| *sum += u64::from(fact));
        kind.service.record(service);
        self.second.transactions += 1;
        let mut latency = service;
        if self.open_loop {
            latency = (sample.finished_ns - sample.intended_ns).max(0) as u64;
            kind.response.record(latency);
            kind.wait.record((sample.started_ns - sample.intended_ns).max(0) as u64);
        }
        self.second.latency.record(latency);
        if let Some(kind) = self.second.kinds.get_mut(usize::from(sample.kind)) {
            kind.completed.record(latency);
        }
        if sample.finished_ns - self.last_done_ns >= GAP_NS {
            self.gap(sample.finished_ns, if self.idle_at_times { sample.intended_ns } else { i64::MIN });
        }
        // In the warm-up and the drain it has no meaning; `gap` knows.
        self.last_done_ns = sample.finished_ns;
        self.ended(sample);
    }

    /// What ends in the drain was unfinished when the window closed; what started in the warm-up lies in the window in part.
    #[inline]
    fn ended(&mut self, sample: &Sample) {
        if sample.finished_ns >= self.close_ns() {
            self.unstarted += u64::from(sample.started_ns >= self.close_ns());
            self.unfinished(sample.intended_ns);
        } else if sample.started_ns < 0 && sample.finished_ns >= 0 {
            self.before_ns += sample.started_ns.unsigned_abs();
        }
    }

    /// Nothing was completed for some time; what of it lies in the window is kept.
    #[cold]
    fn gap(&mut self, until_ns: i64, due: i64) {
        let (from, to) = (self.last_done_ns.max(0), until_ns.min(self.window.length_ns));
        if to - from >= GAP_NS {
            self.gaps.push(Quiet { from, to, due });
        }
    }

    /// Counts an error.
    pub fn error(&mut self, error: &DriverError) {
        self.roll(self.window.now_ns());
        self.second.errors += 1;
        self.second.by_class[error.class as usize] += 1;
        self.second.losses += u64::from(error.class == ErrorClass::Lost);
        let fresh = || ErrorRecord { class: error.class.word().to_owned(), count: 0, example: error.message.clone() };
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
        self.write_down();
        let (number, end) = self.window.second(now_ns);
        self.second_ends = end;
        self.find_period(now_ns);
        let done = std::mem::replace(&mut self.second, Second::with_kinds(number, self.kinds_by_second));
        self.send(done);
    }

    /// Periods end where seconds do.
    fn find_period(&mut self, now_ns: i64) {
        while self.period + 1 < self.period_ends.len() && now_ns >= self.period_ends[self.period] {
            self.period += 1;
        }
    }

    fn send(&self, second: Second) {
        // The receiver is gone only when the run was given up; then nothing is recorded.
        if let Some(reports) = self.reports.as_ref().filter(|_| !second.is_empty()) {
            let _ = reports.send(Report::Second(Box::new(second)));
        }
    }

    /// A connection was opened again.
    pub fn reconnected(&mut self) {
        self.roll(self.window.now_ns());
        self.second.reconnects += 1;
        self.reconnects += 1;
    }

    /// Sends what is left and closes the last gap.
    pub fn finish(&mut self) {
        self.write_down();
        let done = std::mem::replace(&mut self.second, Second::new(i64::MAX));
        self.send(done);
        self.reports = None;
        self.second_ends = i64::MAX;
        // Where the transactions were limited, the worker has ended before its window.
        self.gap(self.window.now_ns(), if self.idle_at_times { self.oldest_unfinished_ns } else { i64::MIN });
    }

    /// Statements from the first connection to the last.
    pub fn statements_whole_run(&self) -> StatementCounts {
        let mut whole = StatementCounts::default();
        self.totals.iter().for_each(|t| whole.add(&t.statements));
        whole
    }

    /// Transactions that ended in the drain.
    pub fn drained(&self) -> u64 {
        self.totals.last().map_or(0, |drain| drain.kinds.iter().map(|k| k.committed + k.rolled_back).sum())
    }
}

#[cfg(test)]
mod tests;
