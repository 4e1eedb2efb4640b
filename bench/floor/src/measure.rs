//! Counters that a thread publishes once a batch, and what the process cost between two moments.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use nix::sys::resource::{Usage, UsageWho, getrusage};

/// What one thread has done so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) queries: u64,
    pub(crate) transactions: u64,
    pub(crate) errors: u64,
}

/// A thread's counters as others see them, on cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Shared {
    queries: AtomicU64,
    transactions: AtomicU64,
    errors: AtomicU64,
    stopping: AtomicBool,
}

impl Shared {
    /// Publishes; only the owner writes, so no read-modify-write is needed.
    #[inline]
    pub(crate) fn publish(&self, counts: &Counts) {
        self.queries.store(counts.queries, Ordering::Relaxed);
        self.transactions.store(counts.transactions, Ordering::Relaxed);
        self.errors.store(counts.errors, Ordering::Relaxed);
    }

    /// Asks the thread to send no more.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Whether no more is to be sent.
    #[inline]
    pub(crate) fn stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

/// All counters at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    counts: Counts,
    user_ns: u64,
    system_ns: u64,
    context_switches: u64,
}

impl Snapshot {
    /// Now.
    pub(crate) fn take(threads: &[Shared]) -> Result<Self, String> {
        let usage = getrusage(UsageWho::RUSAGE_SELF).map_err(|e| format!("getrusage: {e}"))?;
        let sum = |field: fn(&Shared) -> &AtomicU64| threads.iter().map(|t| field(t).load(Ordering::Relaxed)).sum();
        let counts = Counts { queries: sum(|t| &t.queries), transactions: sum(|t| &t.transactions), errors: sum(|t| &t.errors) };
        Ok(Self {
            counts,
            user_ns: ns(usage.user_time()),
            system_ns: ns(usage.system_time()),
            context_switches: switches(&usage),
        })
    }

    /// What happened since an earlier moment.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let (now, then) = (&self.counts, &earlier.counts);
        let counts = Counts {
            queries: now.queries - then.queries,
            transactions: now.transactions - then.transactions,
            errors: now.errors - then.errors,
        };
        Self {
            counts,
            user_ns: self.user_ns - earlier.user_ns,
            system_ns: self.system_ns - earlier.system_ns,
            context_switches: self.context_switches - earlier.context_switches,
        }
    }

    /// The program's one line.
    pub(crate) fn json(&self, seconds: f64) -> Result<String, String> {
        let Counts { queries, transactions, errors } = self.counts;
        let (user, system, switches, peak) = (self.user_ns, self.system_ns, self.context_switches, peak_bytes()?);
        Ok(format!(
            "{{\"queries\": {queries}, \"transactions\": {transactions}, \"errors\": {errors}, \"seconds\": {seconds:.6}, \
             \"user_ns\": {user}, \"system_ns\": {system}, \"peak_rss_bytes\": {peak}, \"context_switches\": {switches}}}"
        ))
    }
}

fn ns(time: nix::sys::time::TimeVal) -> u64 {
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_usec() as u64 * 1000
}

fn switches(usage: &Usage) -> u64 {
    (usage.voluntary_context_switches() + usage.involuntary_context_switches()) as u64
}

fn peak_bytes() -> Result<u64, String> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|e| format!("/proc/self/status: {e}"))?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).ok_or("no VmHWM in /proc/self/status")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().map_err(|_| format!("strange VmHWM: {line}"))?;
    Ok(kib * 1024)
}
