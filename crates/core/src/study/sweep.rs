//! The sweep of a study, or of one of its workloads.

use crate::arrivals::Arrivals;
use crate::load_model::{LoadModel, Phase, PhaseLoad};
use crate::units::TEN_YEARS_NS;

use super::Located;
use super::windows::Auto;

/// Which points are measured and how long.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// Connections of each point, ascending, no doubles; one count where `rates_per_s` or `phases` vary the load. Empty where the
    /// logs of an imported study say them.
    pub connections: Vec<u32>,
    /// The same of workloads whose connections are streams, each with an end; empty is what each of them does by default.
    pub streams: Vec<u32>,
    /// Whether this is the sweep of such a workload.
    pub of_streams: bool,
    /// When the last transaction of such a workload is due, in nanoseconds from the start; 0 where that is not known before.
    pub schedule_ns: u64,
    /// Open loop: transactions per second of each point, ascending, no doubles; empty is closed loop.
    pub rates_per_s: Vec<u32>,
    /// How the intended starts of an open loop lie in time.
    pub arrivals: Arrivals,
    /// The load of one point in phases, all rates or all connections; empty is a constant load.
    pub phases: Vec<Phase>,
    /// Time before the measured window, in nanoseconds.
    pub warmup_ns: u64,
    /// The measured window, in nanoseconds.
    pub duration_ns: u64,
    /// Which of the two are left to pilot trials.
    pub auto: Auto,
    /// Blocks: how often each point is measured on each contender, in each deployment.
    pub trials: u32,
    /// How often every contender is deployed.
    pub deployments: u32,
    /// Idle time before each trial, in nanoseconds.
    pub cooldown_ns: u64,
    /// What is read into the servers' memory before a trial that may find it cold; `None` is nothing.
    pub prewarm: Option<Prewarm>,
    /// Whether caches are made cold before each trial.
    pub cold: bool,
    /// Whose processor time is profiled in the warm-up of each trial; `None` is of none.
    pub profile: Option<Located<Profiled>>,
    /// Load threads; `None` is what the machine has.
    pub workers: Option<u32>,
    /// How often one transaction is tried before it is given up, at least 1.
    pub max_attempts: u32,
    /// The window ends early with the last of so many transactions.
    pub events: Option<u64>,
    /// Whether the contenders that perbuck deploys are up one after the other, so that no block pairs them in time.
    pub one_by_one: bool,
    /// Whether a user started the trials one by one (`perbuck sysbench`), so that they come in no shuffled blocks and have
    /// seeds of their own.
    pub collected: bool,
}

/// What is read into the servers' memory before trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prewarm {
    /// All tables.
    Tables,
    /// All tables and all their indexes.
    Indexes,
}

impl Prewarm {
    /// Its word in a study.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tables => "tables",
            Self::Indexes => "indexes",
        }
    }
}

/// Whose processor time is profiled in the warm-up of each trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profiled {
    /// perbuck's own.
    Client,
    /// That of the servers that perbuck starts.
    Servers,
    /// Both.
    Both,
}

impl Profiled {
    /// The words of a study.
    pub const WORDS: [(&str, Self); 3] = [("client", Self::Client), ("servers", Self::Servers), ("both", Self::Both)];
    /// A warm-up that is shorter has no room for a profile, in nanoseconds.
    pub const SHORTEST_WARMUP_NS: u64 = 5_000_000_000;
    /// A profile ends so long before the measured window opens, in nanoseconds.
    pub const BEFORE_WINDOW_NS: u64 = 2_000_000_000;
    /// The longest one, in nanoseconds.
    const LONGEST_NS: u64 = 5_000_000_000;

    /// Whether perbuck's own is.
    pub fn has_client(self) -> bool {
        self != Self::Servers
    }

    /// Whether that of the servers is.
    pub fn has_servers(self) -> bool {
        self != Self::Client
    }

    /// How long it takes in a warm-up of this length, in nanoseconds: half of it, at most 5 s; `None` where it has no room.
    pub fn length_ns(warmup_ns: u64) -> Option<u64> {
        (warmup_ns >= Self::SHORTEST_WARMUP_NS).then_some((warmup_ns / 2).min(Self::LONGEST_NS))
    }
}

/// The window of a trial that only its number of transactions ends: ten years.
pub const NO_LIMIT_NS: u64 = TEN_YEARS_NS;

impl Sweep {
    /// Whether transactions are due by a schedule.
    pub fn is_open(&self) -> bool {
        !self.rates_per_s.is_empty() || self.phases.iter().any(|p| matches!(p.load, PhaseLoad::Rate { .. }))
    }

    /// What varies from point to point: rates if there are any, else connections.
    pub fn levels(&self) -> &[u32] {
        if self.rates_per_s.is_empty() { &self.connections } else { &self.rates_per_s }
    }

    /// The unit of [`Self::levels`], for tables and axes.
    pub fn level_unit(&self) -> &'static str {
        match (self.of_streams, self.rates_per_s.is_empty()) {
            (true, _) => "streams",
            (false, true) => "connections",
            (false, false) => "transactions/s offered",
        }
    }

    /// The points: connections and rate.
    pub fn points(&self) -> Vec<(u32, Option<u32>)> {
        if self.rates_per_s.is_empty() {
            return self.connections.iter().map(|c| (*c, None)).collect();
        }
        let connections = self.connections.first().copied().unwrap_or(1);
        self.rates_per_s.iter().map(|r| (connections, Some(*r))).collect()
    }

    /// How load is applied at a point.
    pub fn load_model(&self, rate_per_s: Option<u32>) -> LoadModel {
        match rate_per_s {
            Some(rate) => LoadModel::rate(rate, self.arrivals, self.warmup_ns + self.duration_ns),
            None if self.phases.is_empty() => LoadModel::closed(),
            None => LoadModel::phased(&self.phases, self.arrivals, self.warmup_ns),
        }
    }
}

/// When the data of a workload are loaded again, the least often first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reset {
    /// Once, before the first trial.
    Never,
    /// Once, too: a copy that was saved then is restored before the first trial of each block.
    Restore,
    /// Before the first trial of each block.
    PerBlock,
    /// Before every trial.
    PerTrial,
}

impl Reset {
    /// Its word in a study.
    pub fn word(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Restore => "restore",
            Self::PerBlock => "per-block",
            Self::PerTrial => "per-trial",
        }
    }

    /// Whether the data are as they were loaded at the start of each block, and belong to it from then on.
    pub fn is_per_block(self) -> bool {
        matches!(self, Self::Restore | Self::PerBlock)
    }
}

#[cfg(test)]
mod tests {
    use super::Profiled;

    #[test]
    fn a_profile_has_half_of_the_warm_up_and_ends_before_the_window() {
        let of = |s: u64| Profiled::length_ns(s * 1_000_000_000).map(|ns| ns / 1_000_000);
        assert_eq!([of(0), of(4), of(5), of(8), of(10), of(60)], [None, None, Some(2500), Some(4000), Some(5000), Some(5000)]);
        assert!((5..=60).all(|s| of(s).unwrap() * 1_000_000 + Profiled::BEFORE_WINDOW_NS < s * 1_000_000_000));
    }
}
