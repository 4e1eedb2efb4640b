//! How a command line loads the database.

use std::time::{SystemTime, UNIX_EPOCH};

use perbuck_core::arrivals::Arrivals;
use perbuck_core::load_model::LoadModel;
use perbuck_core::study::{NO_LIMIT_NS, Sweep};
use perbuck_core::units::Seed;
use perbuck_load::limit::Tolerance;
use perbuck_load::share::Share;
use perbuck_load::trial::TrialSpec;

pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// The most load threads that a study can name.
pub(crate) const MOST_WORKERS: u32 = 4096;

/// One load: a point of a sweep, with what a study does not say of it.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    pub(crate) connections: u32,
    /// Transactions per second offered; `None` is closed loop.
    pub(crate) rate: Option<u32>,
    /// Nanoseconds before the measured window.
    pub(crate) warmup_ns: u64,
    /// Nanoseconds of the measured window; `None` is no limit.
    pub(crate) window_ns: Option<u64>,
    /// The most transactions; `None` is no limit.
    pub(crate) events: Option<u64>,
    /// Load threads; `None` is one per processor.
    pub(crate) workers: Option<u32>,
    /// How often a transaction is tried, at most; beyond it, it counts as failed and the next one starts.
    pub(crate) attempts: u32,
    /// How long the last transactions are waited for.
    pub(crate) drain_ns: u64,
    /// Whether the times of statements are taken.
    pub(crate) time_statements: bool,
    /// After which errors the run goes on.
    pub(crate) tolerance: Tolerance,
    pub(crate) seed: Seed,
}

impl Load {
    pub(crate) fn spec(&self) -> TrialSpec {
        let duration_ns = self.window_ns.unwrap_or(NO_LIMIT_NS);
        let open = |rate| LoadModel::rate(rate, Arrivals::Poisson, self.warmup_ns + duration_ns);
        TrialSpec {
            load: self.rate.map_or_else(LoadModel::closed, open),
            phases: Vec::new(),
            connections: self.connections,
            workers: self.workers,
            warmup_ns: self.warmup_ns,
            duration_ns,
            max_attempts: self.attempts,
            seed: self.seed,
            drain_ns: self.drain_ns,
            max_events: self.events,
            streams: false,
            time_statements: self.time_statements,
            tolerance: self.tolerance.clone(),
            share: Share::WHOLE,
        }
    }

    /// How long a run lasts at most, with a minute on top, in seconds; `None` where it has no end.
    pub(crate) fn longest_s(&self) -> Option<u64> {
        self.window_ns.map(|window_ns| (window_ns + self.warmup_ns + self.drain_ns) / SECOND_NS + 60)
    }

    /// The sweep whose only point it is.
    pub(crate) fn sweep(&self, trials: u32) -> Sweep {
        let standard = Sweep::default();
        let unlimited_ns = if self.events.is_some() { NO_LIMIT_NS } else { standard.duration_ns };
        Sweep {
            connections: vec![self.connections],
            rates_per_s: self.rate.into_iter().collect(),
            warmup_ns: self.warmup_ns,
            duration_ns: self.window_ns.unwrap_or(unlimited_ns),
            trials,
            workers: self.workers,
            max_attempts: self.attempts,
            events: self.events,
            collected: true,
            ..standard
        }
    }

    /// The same as a study writes it, but for the number of trials.
    pub(crate) fn text(&self) -> String {
        let (connections, warmup) = (self.connections, duration(self.warmup_ns));
        let optional = [
            self.window_ns.map(|ns| format!("duration = \"{}\"\n", duration(ns))),
            self.events.map(|events| format!("events = {events}\n")),
            self.rate.map(|rate| format!("rate = [{rate}]\narrivals = \"poisson\"\n")),
            self.workers.map(|workers| format!("workers = {workers}\n")),
        ];
        let (optional, attempts) = (optional.into_iter().flatten().collect::<String>(), self.attempts);
        format!(
            "[sweep]\ncollected = true\nconnections = [{connections}]\nwarmup = \"{warmup}\"\n{optional}max_attempts = {attempts}\n"
        )
    }
}

/// A duration as a study writes it.
fn duration(ns: u64) -> String {
    if ns.is_multiple_of(SECOND_NS) { format!("{}s", ns / SECOND_NS) } else { format!("{}ms", ns / 1_000_000) }
}

/// A seed out of the time, for a run without one.
pub(crate) fn drawn_seed() -> u64 {
    let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
    Seed(now_ns).derive("the seed of a run").0
}
