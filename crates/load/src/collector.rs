//! Gathers what the workers report, gives the common start and calls the observer; a few times a second, not per operation.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use perbuck_core::run_record::Interval;
use perbuck_event::Moment;

use crate::arrivals::DueCounter;
use crate::observer::{Observer, SecondSeen};
use crate::recorder::{Report, Second};
use crate::start::StartSignal;
use crate::stop::StopToken;
use crate::trial::{RunError, TrialSpec};
use crate::window::{SECOND_NS, Window};

/// Seconds whose histograms are kept for workers that report late.
const KEPT_SECONDS: i64 = 5;
/// How long after its end a second is shown, since workers need time to report it.
const REPORT_TIMEOUT_NS: i64 = 150_000_000;
/// How often it checks for requests to stop when nothing is reported.
const CHECK: Duration = Duration::from_millis(20);

/// Gathers reports, starts the clock when all workers are ready, and calls the observer at the right times.
pub(crate) struct Collector<'a> {
    spec: &'a TrialSpec,
    /// Workers, or agents.
    workers: u32,
    ready: u32,
    /// How long before it comes the start is given.
    lead: Duration,
    trial_stop: StopToken,
    start: StartSignal,
    window: Option<Window>,
    /// How many edges of the window the observer has seen: its opening and its close.
    edges: usize,
    /// The last few seconds, with their histograms; a long trial must not keep all of them.
    seconds: BTreeMap<i64, Second>,
    /// The seconds before.
    folded: BTreeMap<i64, Interval>,
    /// Arrivals started in each second.
    started: BTreeMap<i64, u64>,
    /// What came in after its second was shown.
    late: Second,
    /// When the first request to stop was seen, in nanoseconds relative to the window.
    pub(crate) stopped_ns: Option<i64>,
    /// What was due, as far as seconds were shown, and what was started and ended until then.
    live: Live,
    next_second: i64,
    observer: &'a mut dyn Observer,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(
        spec: &'a TrialSpec,
        (workers, lead): (u32, Duration),
        trial_stop: StopToken,
        start: StartSignal,
        observer: &'a mut dyn Observer,
    ) -> Self {
        Self {
            spec,
            workers,
            ready: 0,
            lead,
            trial_stop,
            start,
            window: None,
            edges: 0,
            seconds: BTreeMap::new(),
            folded: BTreeMap::new(),
            started: BTreeMap::new(),
            late: Second::default(),
            stopped_ns: None,
            live: Live::new(spec),
            next_second: i64::MIN,
            observer,
        }
    }

    fn add(&mut self, second: Second) {
        *self.started.entry(second.number).or_default() += second.started;
        if second.number < self.next_second {
            // Shown already. An embedded database reports only when its thread is free; who adds up what is shown must not
            // miss anything, so it comes with the next second.
            self.late.merge(&second);
        }
        if let Some(late) = self.folded.get_mut(&second.number) {
            // Its percentiles are final; nothing is missing from its counts, nor from the totals.
            late.transactions += second.transactions;
            late.statements += second.counts.total();
            late.errors += second.errors;
            late.max_ns = late.max_ns.max(second.latency.max_ns());
            return;
        }
        match self.seconds.get_mut(&second.number) {
            Some(existing) => existing.merge(&second),
            None => {
                self.seconds.insert(second.number, second);
            }
        }
    }

    pub(crate) fn take(&mut self, report: Report) {
        match report {
            Report::Second(second) => self.add(*second),
            Report::Ready => {
                self.ready += 1;
                if self.ready == self.workers {
                    self.start();
                }
            }
            Report::Listed(all) => self.observer.listed(&all),
            Report::GaveUp => self.trial_stop.request(),
        }
    }

    /// Passes requests to stop on, and calls the observer for what is over.
    pub(crate) fn check(&mut self, stop: &StopToken) {
        if self.trial_stop.requested() && self.window.is_none() {
            self.start.give(None);
        }
        if stop.requested() && self.stopped_ns.is_none() {
            self.stopped_ns = self.window.map(|w| w.now_ns());
        }
        for _ in self.trial_stop.stops()..stop.stops() {
            self.trial_stop.request();
        }
        if let Some(window) = self.window {
            self.pass_edges(&window, window.now_ns());
            self.show(&window, window.now_ns());
        }
    }

    /// When it has to check at the latest.
    fn next_check(&self) -> Moment {
        let check = perbuck_event::now() + CHECK;
        let edge = self.window.and_then(|w| w.edges().get(self.edges).map(|at_ns| w.moment(*at_ns)));
        edge.map_or(check, |edge| check.min(edge))
    }

    pub(crate) fn collect(&mut self, reports: &Receiver<Report>, stop: &StopToken) -> Result<(), RunError> {
        loop {
            let wait = self.next_check() - perbuck_event::now();
            match reports.recv_timeout(wait) {
                Ok(report) => self.take(report),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.check(stop);
        }
        self.end()
    }

    /// All workers have ended: shows the rest.
    pub(crate) fn end(&mut self) -> Result<(), RunError> {
        self.start.give(None);
        let Some(window) = self.window else { return Err(RunError::Interrupted) };
        self.pass_edges(&window, i64::MAX);
        // A run that was limited, stopped or failed may have ended years before its time; there is nothing to show of those.
        let now_ns = window.now_ns();
        let until = if now_ns < window.length_ns { now_ns.saturating_add(REPORT_TIMEOUT_NS) } else { i64::MAX };
        self.show(&window, until);
        // With the part of a second in which a limited run has ended; the drain comes after all seconds.
        let mut rest = std::mem::take(&mut self.late);
        self.seconds.range(self.next_second..i64::MAX).for_each(|(_, second)| rest.merge(second));
        self.observer.rest(&rest);
        Ok(())
    }

    fn start(&mut self) {
        // A moment ahead, so that every worker sees the start before it comes.
        let opens_in = self.lead + Duration::from_nanos(self.spec.warmup_ns);
        let opens = perbuck_event::now() + opens_in;
        let window = Window { opens, length_ns: self.spec.duration_ns as i64, warmup_ns: self.spec.warmup_ns as i64 };
        self.next_second = first_second(self.spec);
        self.window = Some(window);
        self.start.give(Some(window));
        self.observer.starts(opens_in);
    }

    /// Calls the observer for the edges of the window that lie before `until_ns`.
    fn pass_edges(&mut self, window: &Window, until_ns: i64) {
        while window.edges().get(self.edges).is_some_and(|at_ns| *at_ns <= until_ns) {
            if self.edges == 0 {
                self.observer.opens();
            } else {
                self.observer.closes();
            }
            self.edges += 1;
        }
    }

    /// Shows every second that is over and that all workers have had time to report.
    fn show(&mut self, window: &Window, now_ns: i64) {
        let last = (window.length_ns - 1).div_euclid(SECOND_NS);
        while self.next_second <= last && (self.next_second + 1) * SECOND_NS + REPORT_TIMEOUT_NS <= now_ns {
            let mut shown = Second { number: self.next_second, ..std::mem::take(&mut self.late) };
            if let Some(seen) = self.seconds.get(&self.next_second) {
                shown.merge(seen);
            }
            let mut interval = interval(&shown, self.spec);
            self.live.pass(&shown, self.spec, &mut interval);
            self.observer.second(&SecondSeen { interval: &interval, second: &shown, in_flight: self.live.in_flight });
            self.next_second += 1;
        }
        self.fold(self.next_second.saturating_sub(KEPT_SECONDS));
    }

    /// Turns all seconds before `limit` into intervals.
    fn fold(&mut self, limit: i64) {
        while let Some(entry) = self.seconds.first_entry().filter(|e| *e.key() < limit) {
            let second = entry.remove();
            self.folded.insert(second.number, interval(&second, self.spec));
        }
    }

    /// Every second of warm-up and window, empty ones included, with the backlog of an open loop.
    /// `spec` has the window as it was in truth.
    pub(crate) fn intervals(&mut self, spec: &TrialSpec) -> Vec<Interval> {
        self.fold(i64::MAX);
        let mut live = Live::new(spec);
        let last = (spec.duration_ns as i64 - 1).div_euclid(SECOND_NS);
        let mut whole = |number| {
            let started = self.started.get(&number).copied().unwrap_or(0);
            let empty = interval(&Second::new(number), spec);
            let mut one = self.folded.get(&number).cloned().unwrap_or_else(|| empty.clone());
            if number == last {
                one.length_ms = empty.length_ms;
            }
            live.pass(&Second { started, ..Second::new(number) }, spec, &mut one);
            one
        };
        (first_second(spec)..=last).map(&mut whole).collect()
    }

    /// Arrivals that were started before the window opened, and within it.
    pub(crate) fn started(&self) -> (u64, u64) {
        let sum = |range| self.started.range(range).map(|(_, n)| n).sum();
        let (before, within): (std::ops::Range<i64>, _) = (i64::MIN..0, 0..i64::MAX);
        (sum(before), sum(within))
    }
}

/// What an open loop owes while it runs.
struct Live {
    due: DueCounter,
    backlog: u64,
    in_flight: u64,
}

impl Live {
    fn new(spec: &TrialSpec) -> Self {
        Self { due: DueCounter::new(spec), backlog: 0, in_flight: 0 }
    }

    /// Moves on by one second and completes its numbers.
    fn pass(&mut self, second: &Second, spec: &TrialSpec, interval: &mut Interval) {
        if !spec.load.is_open() {
            self.in_flight = u64::from(spec.connections);
            return;
        }
        let end_ns = (second.number + 1).saturating_mul(SECOND_NS).min(spec.duration_ns as i64);
        interval.due = self.due.until(end_ns);
        self.backlog = (self.backlog + interval.due).saturating_sub(second.started);
        interval.backlog = self.backlog;
        self.in_flight = (self.in_flight + second.started).saturating_sub(second.transactions + second.failed);
    }
}

/// What records and displays show of a second. The first of a warm-up that is no whole number of seconds is short.
fn interval(second: &Second, spec: &TrialSpec) -> Interval {
    let percentile = |p| second.latency.percentile_ns(p).unwrap_or(0);
    let second_ns = second.number.saturating_mul(SECOND_NS);
    let start_ns = second_ns.max(-(spec.warmup_ns as i64));
    let end_ns = second_ns.saturating_add(SECOND_NS).min(spec.duration_ns as i64);
    Interval {
        start_ms: start_ns / 1_000_000,
        length_ms: ((end_ns - start_ns).max(0) / 1_000_000) as u64,
        transactions: second.transactions,
        statements: second.counts.total(),
        errors: second.errors,
        due: 0,
        backlog: 0,
        p50_ns: percentile(50.0),
        p95_ns: percentile(95.0),
        p99_ns: percentile(99.0),
        max_ns: second.latency.max_ns(),
    }
}

/// The second in which the warm-up starts, relative to the measured window; 0 without a warm-up.
fn first_second(spec: &TrialSpec) -> i64 {
    (-(spec.warmup_ns as i64)).div_euclid(SECOND_NS)
}
