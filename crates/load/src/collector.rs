//! Gathers what the workers report, gives the common start and calls the observer; a few times a second, not per operation.

use std::collections::BTreeMap;
use std::time::Duration;

use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::Interval;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use crate::executor::{Observer, RunError, TrialSpec};
use crate::recorder::{Bucket, Report, SECOND_NS, Window};
use crate::stop::StopToken;

/// Seconds whose histograms are kept for workers that report late.
const KEPT_SECONDS: i64 = 5;

/// Gathers reports, starts the clock when all workers are ready, and calls the observer at the right times.
pub(crate) struct Collector<'a> {
    spec: &'a TrialSpec,
    workers: u32,
    trial_stop: StopToken,
    /// Gone when the run is given up, which frees the workers that wait for it.
    start: Option<watch::Sender<Option<Window>>>,
    /// Exact sums over the measured window.
    pub(crate) total: Bucket,
    /// The last few seconds, with their histograms; a long trial must not keep all of them.
    seconds: BTreeMap<i64, Bucket>,
    /// The seconds before.
    folded: BTreeMap<i64, Interval>,
    next_second: i64,
    observer: &'a mut dyn Observer,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(
        spec: &'a TrialSpec,
        (workers, kinds): (u32, usize),
        trial_stop: StopToken,
        start: watch::Sender<Option<Window>>,
        observer: &'a mut dyn Observer,
    ) -> Self {
        Self {
            spec,
            workers,
            trial_stop,
            start: Some(start),
            total: Bucket::new(0, kinds),
            seconds: BTreeMap::new(),
            folded: BTreeMap::new(),
            next_second: i64::MIN,
            observer,
        }
    }

    fn add(&mut self, bucket: Bucket) {
        if bucket.second >= 0 && bucket.second.saturating_mul(SECOND_NS) < self.spec.duration_ns as i64 {
            self.total.merge(&bucket);
        }
        if let Some(late) = self.folded.get_mut(&bucket.second) {
            // Its percentiles are settled; nothing is missing from its counts, nor from the totals.
            let more = bucket.interval(self.spec);
            late.transactions += more.transactions;
            late.statements += more.statements;
            late.errors += more.errors;
            late.max_ns = late.max_ns.max(more.max_ns);
            return;
        }
        match self.seconds.get_mut(&bucket.second) {
            Some(existing) => existing.merge(&bucket),
            None => {
                self.seconds.insert(bucket.second, bucket);
            }
        }
    }

    /// Returns when every worker has ended.
    pub(crate) async fn collect(
        &mut self,
        mut reports: mpsc::UnboundedReceiver<Report>,
        stop: &StopToken,
    ) -> Result<(), RunError> {
        let mut ready = 0;
        let mut window: Option<Window> = None;
        let mut edges = Edges::default();
        loop {
            let wake = Instant::now() + Duration::from_millis(20);
            let wake = window.map_or(wake, |w| wake.min(edges.next(&w).unwrap_or(wake)));
            tokio::select! {
                report = reports.recv() => match report {
                    Some(Report::Bucket(bucket)) => self.add(*bucket),
                    Some(Report::Ready) => {
                        ready += 1;
                        if ready == self.workers {
                            window = Some(self.begin());
                        }
                    }
                    Some(Report::GaveUp) => self.trial_stop.request(),
                    None => break,
                },
                () = sleep_until(wake) => {}
            }
            if self.trial_stop.requested() && window.is_none() {
                self.start = None;
            }
            for _ in u8::from(self.trial_stop.requested())..raised(stop) {
                self.trial_stop.request();
            }
            if let Some(w) = window {
                edges.pass(&w, self.observer);
                self.show(&w, w.now_ns());
            }
        }
        match window {
            Some(w) => {
                edges.pass_all(self.observer);
                self.show(&w, i64::MAX);
                Ok(())
            }
            None => Err(RunError::Interrupted),
        }
    }

    fn begin(&mut self) -> Window {
        // A moment ahead, so that every worker sees the start before it comes.
        let opens = Instant::now() + Duration::from_millis(5) + Duration::from_nanos(self.spec.warmup_ns);
        let window = Window { opens, length_ns: self.spec.duration_ns as i64 };
        self.next_second = first_second(self.spec);
        if let Some(start) = &self.start {
            start.send_replace(Some(window));
        }
        window
    }

    /// Shows every second that is over and that all workers have had time to report.
    fn show(&mut self, window: &Window, now_ns: i64) {
        const PATIENCE_NS: i64 = 150_000_000;
        let last = (window.length_ns - 1).div_euclid(SECOND_NS);
        while self.next_second <= last && (self.next_second + 1) * SECOND_NS + PATIENCE_NS <= now_ns {
            let empty = Bucket::new(self.next_second, 0);
            let seen = self.seconds.get(&self.next_second).unwrap_or(&empty);
            self.observer.second(&seen.interval(self.spec));
            self.next_second += 1;
        }
        self.fold(self.next_second - KEPT_SECONDS);
    }

    /// Turns all seconds before `limit` into figures.
    fn fold(&mut self, limit: i64) {
        while let Some(entry) = self.seconds.first_entry().filter(|e| *e.key() < limit) {
            let bucket = entry.remove();
            self.folded.insert(bucket.second, bucket.interval(self.spec));
        }
    }

    /// Every second of warm-up and window, empty ones included.
    pub(crate) fn intervals(&mut self) -> Vec<Interval> {
        self.fold(i64::MAX);
        let last = (self.spec.duration_ns as i64 - 1).div_euclid(SECOND_NS);
        let at = |s| self.folded.get(&s).cloned().unwrap_or_else(|| Bucket::new(s, 0).interval(self.spec));
        (first_second(self.spec)..=last).map(at).collect()
    }
}

/// How often somebody asked to stop, 0 to 2.
fn raised(stop: &StopToken) -> u8 {
    u8::from(stop.requested()) + u8::from(stop.aborted())
}

/// Which edges of the window the observer has seen.
#[derive(Default)]
struct Edges {
    opened: bool,
    closed: bool,
}

impl Edges {
    fn next(&self, window: &Window) -> Option<Instant> {
        match (self.opened, self.closed) {
            (false, _) => Some(window.opens),
            (true, false) => Some(window.opens + Duration::from_nanos(window.length_ns as u64)),
            (true, true) => None,
        }
    }

    fn pass(&mut self, window: &Window, observer: &mut dyn Observer) {
        let now = window.now_ns();
        if !self.opened && now >= 0 {
            self.opened = true;
            observer.opens();
        }
        if !self.closed && now >= window.length_ns {
            self.closed = true;
            observer.closes();
        }
    }

    fn pass_all(&mut self, observer: &mut dyn Observer) {
        if !std::mem::replace(&mut self.opened, true) {
            observer.opens();
        }
        if !std::mem::replace(&mut self.closed, true) {
            observer.closes();
        }
    }
}

impl Bucket {
    /// Adds another worker's figures of the same second.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            mine.committed += theirs.committed;
            mine.rolled_back += theirs.rolled_back;
            mine.failed += theirs.failed;
            mine.service.merge(&theirs.service);
        }
        self.statements.add(&other.statements);
        self.retries += other.retries;
        self.errors += other.errors;
    }

    /// What records and displays show of a second. The first of a warm-up that is no whole number of seconds is short.
    pub(crate) fn interval(&self, spec: &TrialSpec) -> Interval {
        let mut all = Histogram::new();
        self.kinds.iter().for_each(|k| all.merge(&k.service));
        let percentile = |p| all.percentile_ns(p).unwrap_or(0);
        let second_ns = self.second.saturating_mul(SECOND_NS);
        let start_ns = second_ns.max(-(spec.warmup_ns as i64));
        let end_ns = (second_ns + SECOND_NS).min(spec.duration_ns as i64);
        Interval {
            start_ms: start_ns / 1_000_000,
            length_ms: ((end_ns - start_ns).max(0) / 1_000_000) as u64,
            transactions: self.kinds.iter().map(|k| k.committed + k.rolled_back).sum(),
            statements: self.statements.total(),
            errors: self.errors,
            p50_ns: percentile(50.0),
            p95_ns: percentile(95.0),
            p99_ns: percentile(99.0),
            max_ns: all.max_ns(),
        }
    }
}

/// The second in which the warm-up starts, relative to the measured window; 0 without a warm-up.
fn first_second(spec: &TrialSpec) -> i64 {
    (-(spec.warmup_ns as i64)).div_euclid(SECOND_NS)
}
