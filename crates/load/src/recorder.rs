//! What a worker writes down: one bucket per second, sent away when it is full. Owned by one thread; nothing is shared.

use std::collections::BTreeMap;

use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::StatementCounts;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use crate::error::{DriverError, ErrorClass, ErrorCode};

/// Nanoseconds of a second.
pub const SECOND_NS: i64 = 1_000_000_000;
/// Shortest time without a completion that is kept as a gap of one worker.
const GAP_NS: i64 = 100_000_000;

/// The measured window, and the clock relative to its start: negative in the warm-up.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// When the measured window starts.
    pub opens: Instant,
    /// Its length in nanoseconds.
    pub length_ns: i64,
}

impl Window {
    /// Nanoseconds since the window opened.
    #[inline]
    pub fn now_ns(&self) -> i64 {
        let now = Instant::now();
        match now.checked_duration_since(self.opens) {
            Some(since) => since.as_nanos() as i64,
            None => -((self.opens - now).as_nanos() as i64),
        }
    }

    /// The second that holds `at`, cut at the window's end: (number, end). After the window all is one long drain.
    fn second(&self, at: i64) -> (i64, i64) {
        if at >= self.length_ns {
            return (i64::MAX, i64::MAX);
        }
        let number = at.div_euclid(SECOND_NS);
        let end = (number + 1) * SECOND_NS;
        (number, if at < 0 { end } else { end.min(self.length_ns) })
    }
}

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
#[derive(Debug)]
pub struct Bucket {
    /// The second, relative to the measured window; `i64::MAX` is the drain.
    pub second: i64,
    /// By kind of transaction.
    pub kinds: Vec<KindBucket>,
    /// Statements of the transactions that ended here.
    pub statements: StatementCounts,
    /// Attempts beyond the first.
    pub retries: u64,
    /// Errors of any kind.
    pub errors: u64,
}

/// Transactions of one kind in one second.
#[derive(Debug, Default)]
pub struct KindBucket {
    /// Committed.
    pub committed: u64,
    /// Rolled back by design.
    pub rolled_back: u64,
    /// Given up.
    pub failed: u64,
    /// Service time of the completed ones.
    pub service: Histogram,
}

impl Bucket {
    /// An empty bucket.
    pub(crate) fn new(second: i64, kinds: usize) -> Self {
        let kinds = (0..kinds).map(|_| KindBucket::default()).collect();
        Self { second, kinds, statements: StatementCounts::default(), retries: 0, errors: 0 }
    }

    fn is_empty(&self) -> bool {
        self.errors == 0 && self.kinds.iter().all(|k| k.committed + k.rolled_back + k.failed == 0)
    }
}

/// What a worker tells the executor while it works.
#[derive(Debug)]
pub enum Report {
    /// All its connections are open.
    Ready,
    /// A full second.
    Bucket(Box<Bucket>),
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

/// A finished transaction as the hot loop knows it.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Position in the workload's kinds.
    pub kind: u8,
    /// How it ended.
    pub outcome: Outcome,
    /// When the first attempt started, relative to the window.
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
    kinds: usize,
    bucket: Bucket,
    bucket_end: i64,
    /// Gone once finished: the collector waits until nobody can report any more.
    reports: Option<UnboundedSender<Report>>,
    last_done_ns: i64,
    /// Errors of the whole run by code.
    pub errors: ErrorCounts,
    /// Times of at least 0.1 s in which this worker completed nothing, within the window.
    pub gaps: Vec<(i64, i64)>,
    /// Statements of the whole run.
    pub whole: StatementCounts,
    /// Connections lost.
    pub lost: u64,
    /// Connections opened again.
    pub reconnects: u64,
    /// Transactions that ended after the window.
    pub drained: u64,
}

impl Recorder {
    /// A recorder that sends full buckets to `reports`.
    pub fn new(window: Window, kinds: usize, reports: UnboundedSender<Report>) -> Self {
        let (second, bucket_end) = window.second(window.now_ns());
        Self {
            window,
            kinds,
            bucket: Bucket::new(second, kinds),
            bucket_end,
            reports: Some(reports),
            last_done_ns: 0,
            errors: BTreeMap::new(),
            gaps: Vec::new(),
            whole: StatementCounts::default(),
            lost: 0,
            reconnects: 0,
            drained: 0,
        }
    }

    /// Counts a finished transaction in the second in which it ended.
    #[inline]
    pub fn record(&mut self, sample: Sample, statements: &StatementCounts) {
        self.roll(sample.finished_ns);
        self.whole.add(statements);
        self.bucket.statements.add(statements);
        self.bucket.retries += u64::from(sample.retries);
        let kind = &mut self.bucket.kinds[usize::from(sample.kind)];
        match sample.outcome {
            Outcome::Committed => kind.committed += 1,
            Outcome::RolledBack => kind.rolled_back += 1,
            Outcome::Failed => {
                kind.failed += 1;
                return;
            }
        }
        kind.service.record((sample.finished_ns - sample.started_ns).max(0) as u64);
        if sample.finished_ns >= self.window.length_ns {
            self.drained += 1;
        } else if sample.finished_ns >= 0 {
            if sample.finished_ns - self.last_done_ns >= GAP_NS {
                self.gaps.push((self.last_done_ns, sample.finished_ns));
            }
            self.last_done_ns = sample.finished_ns;
        }
    }

    /// Counts an error.
    pub fn error(&mut self, error: &DriverError) {
        self.roll(self.window.now_ns());
        self.bucket.errors += 1;
        let fresh = || ErrorCount { class: error.class, count: 0, example: error.message.clone() };
        self.errors.entry(error.code).or_insert_with(fresh).count += 1;
    }

    /// Sends the bucket away if its second is over.
    #[inline]
    pub fn roll(&mut self, now_ns: i64) {
        if now_ns >= self.bucket_end {
            let (second, end) = self.window.second(now_ns);
            self.bucket_end = end;
            let done = std::mem::replace(&mut self.bucket, Bucket::new(second, self.kinds));
            self.send(done);
        }
    }

    fn send(&self, bucket: Bucket) {
        // The receiver is gone only when the run was given up; then nobody wants the figures.
        if let Some(reports) = self.reports.as_ref().filter(|_| !bucket.is_empty()) {
            let _ = reports.send(Report::Bucket(Box::new(bucket)));
        }
    }

    /// Sends what is left and closes the last gap.
    pub fn finish(&mut self) {
        let done = std::mem::replace(&mut self.bucket, Bucket::new(i64::MAX, 0));
        self.send(done);
        self.reports = None;
        self.bucket_end = i64::MAX;
        if self.window.length_ns - self.last_done_ns >= GAP_NS {
            self.gaps.push((self.last_done_ns, self.window.length_ns));
        }
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
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::sync::mpsc::unbounded_channel;

    fn sample(outcome: Outcome, started_ns: i64, finished_ns: i64) -> Sample {
        Sample { kind: 0, outcome, started_ns, finished_ns, retries: 1 }
    }

    #[test]
    fn every_sample_lands_in_its_second_and_none_is_lost() {
        let window = Window { opens: Instant::now() + Duration::from_secs(3600), length_ns: 2_500_000_000 };
        let (send, mut receive) = unbounded_channel();
        let mut r = Recorder::new(window, 1, send);
        let one = StatementCounts { read: 1, ..StatementCounts::default() };
        for at in [-1_500_000_000, -1, 0, 999_999_999, 1_000_000_000, 2_499_999_999, 2_500_000_000, 9_000_000_000] {
            r.record(sample(Outcome::Committed, at - 10, at), &one);
        }
        r.record(sample(Outcome::Failed, 0, 9_000_000_001), &one);
        r.finish();
        let mut seen = Vec::new();
        while let Ok(Report::Bucket(b)) = receive.try_recv() {
            seen.push((b.second, b.kinds[0].committed, b.kinds[0].failed, b.statements.read, b.retries));
        }
        assert_eq!(
            seen,
            [(-2, 1, 0, 1, 1), (-1, 1, 0, 1, 1), (0, 2, 0, 2, 2), (1, 1, 0, 1, 1), (2, 1, 0, 1, 1), (i64::MAX, 2, 1, 3, 3)]
        );
        assert_eq!((r.whole.read, r.drained), (9, 2));
    }

    #[test]
    fn gaps_are_common_to_all_workers() {
        assert_eq!(common_gaps(&[vec![(0, 10), (20, 40)], vec![(5, 30)], vec![(0, 100)]]), [(5, 10), (20, 30)]);
        assert_eq!(common_gaps(&[vec![(0, 10)], vec![]]), []);
        assert_eq!(common_gaps(&[]), []);
    }

    #[test]
    fn errors_are_counted_by_code() {
        let window = Window { opens: Instant::now(), length_ns: SECOND_NS };
        let (send, _receive) = unbounded_channel();
        let mut r = Recorder::new(window, 1, send);
        for code in [1213, 1213, 1062] {
            r.error(&DriverError { class: ErrorClass::Retry, code: ErrorCode::Mysql(code), message: format!("m{code}") });
        }
        let counts: Vec<(String, u64)> = r.errors.iter().map(|(c, e)| (c.to_string(), e.count)).collect();
        assert_eq!(counts, [("mysql 1062".to_owned(), 1), ("mysql 1213".to_owned(), 2)]);
    }
}
