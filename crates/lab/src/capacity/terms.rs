//! On which terms a capacity is searched: the objective, the first rates, and the window of each trial.

use perbuck_core::arrivals::Arrivals;
use perbuck_core::capacity::{CapacityRule, Search};
use perbuck_core::load_model::HIGHEST_PER_S;
use perbuck_core::plan;
use perbuck_core::study::{Study, Sweep, WorkloadSpec};
use perbuck_core::units::duration_text;

use super::CapacityRequest;
use crate::error::LabError;

/// The first rates of a search unless it is told one: if the first breaks the objective, the next one is tried.
const STARTS: [u32; 3] = [100, 10, 1];
/// Fewer transactions than this, expected in one window, tell nothing; none at all may come.
const LEAST_OFFERED: f64 = 10.0;
/// The share of the offered transactions that must be completed.
const KEEPS_UP: f64 = 0.99;
/// The shortest window of a trial, as in a study.
const SHORTEST_NS: u64 = 100_000_000;

/// What the searches of one command have in common.
#[derive(Debug)]
pub(super) struct Terms {
    rule: CapacityRule,
    /// First rates, highest first.
    pub(super) starts: Vec<u32>,
    /// The most transactions in flight.
    pub(super) connections: u32,
    pub(super) warmup_ns: u64,
    pub(super) duration_ns: u64,
    pub(super) arrivals: Arrivals,
    /// Agents that were asked for: each has a queue of its own, so that others wait for other times.
    agents: usize,
}

impl Terms {
    /// The terms of a command; where the command line says nothing, those of the study.
    pub(super) fn new(request: &CapacityRequest, study: &Study) -> Result<Self, LabError> {
        if !study.awaiting_pilots().is_empty() && (request.warmup_ns.is_none() || request.duration_ns.is_none()) {
            let message = "the study leaves warm-up or window to pilot trials, and a search runs none";
            return Err(LabError::usage(
                message,
                "give --warmup and --duration, or run the study first: its windows are then known",
            ));
        }
        let (percentile, at_most_ns) = objective(request, study)?;
        let duration_ns = of_all(study, request.duration_ns, "duration", |sweep| sweep.duration_ns)?;
        if duration_ns < SHORTEST_NS {
            let message = format!("--duration {} is too short to measure anything", duration_text(duration_ns));
            return Err(LabError::usage(message, "give at least 100ms; ten seconds or more for a result to publish"));
        }
        let highest = request.to_per_s.unwrap_or(HIGHEST_PER_S);
        let enough = |rate: u32| f64::from(rate) * (duration_ns as f64 / 1e9) >= LEAST_OFFERED;
        let starts: Vec<u32> = match request.from_per_s {
            Some(rate) => vec![rate],
            None => STARTS.into_iter().filter(|rate| *rate <= highest && enough(*rate)).collect(),
        };
        let Some(lowest_per_s) = starts.first().copied().filter(|rate| enough(*rate)) else {
            let (rate, option) = request.from_per_s.map_or((highest.min(STARTS[0]), "--to"), |rate| (rate, "--from"));
            let window = duration_text(duration_ns);
            let message =
                format!("{option}: at {rate}/s fewer than {LEAST_OFFERED} transactions are due in a window of {window}");
            return Err(LabError::usage(message, "give a longer --duration or a higher rate"));
        };
        let rule = CapacityRule {
            percentile,
            at_most_ns,
            lowest_per_s,
            highest_per_s: request.to_per_s,
            resolution: request.resolution,
            repeats: request.repeats,
            keeps_up: KEEPS_UP,
        };
        if let Err(message) = Search::new(rule.clone()) {
            return Err(LabError::usage(
                message,
                "mend --percentile, --at-most, --from, --to or --resolution; see `perbuck capacity --help`",
            ));
        }
        let arrivals = request.arrivals.unwrap_or(study.sweep.arrivals);
        let most = |sweep: &Sweep| sweep.connections.iter().copied().max().unwrap_or(1);
        let connections = of_all(study, request.connections, "connections", most)?;
        let warmup_ns = of_all(study, request.warmup_ns, "warmup", |sweep| sweep.warmup_ns)?;
        let agents = request.fleet.as_ref().map_or(0, |fleet| fleet.agents.len());
        Ok(Self { rule, starts, connections, warmup_ns, duration_ns, arrivals, agents })
    }

    pub(super) fn rule(&self, lowest_per_s: u32) -> CapacityRule {
        CapacityRule { lowest_per_s, ..self.rule.clone() }
    }

    /// `p99 at most 20.0 ms`.
    pub(super) fn objective(&self) -> String {
        format!("p{} at most {}", self.rule.percentile, duration_text(self.rule.at_most_ns))
    }

    /// The name of the folder of a search: another rule, load or version of the study has another one.
    pub(super) fn folder(&self, rule: &CapacityRule, study_fingerprint: &str) -> String {
        let Self { connections, warmup_ns, duration_ns, arrivals, .. } = self;
        let mut whole = format!("{rule:?} {connections} {warmup_ns} {duration_ns} {arrivals:?} {study_fingerprint}");
        if self.agents > 0 {
            whole += &format!(" {} agents", self.agents);
        }
        let mark = &plan::fingerprint(&whole)[..12];
        let at_most = duration_text(rule.at_most_ns).replace(' ', "").replace('µ', "u");
        format!("p{}-{at_most}-c{connections}-{mark}", rule.percentile)
    }
}

/// What is asked for, or else what the sweeps of all workloads have in common.
fn of_all<T: PartialEq>(study: &Study, asked: Option<T>, key: &str, of: impl Fn(&Sweep) -> T) -> Result<T, LabError> {
    if let Some(asked) = asked {
        return Ok(asked);
    }
    let first = study.workloads.first().map_or("", |w| w.name.as_str());
    let found = of(study.sweep_of(first));
    let differs = |w: &&WorkloadSpec| of(study.sweep_of(&w.name)) != found;
    let Some(other) = study.workloads.iter().find(differs) else { return Ok(found) };
    let message = format!("workloads `{first}` and `{}` differ in `{key}`", other.name);
    Err(LabError::usage(message, format!("give --{key}, or search for one of them with --workload")))
}

/// Percentile and bound, each from the command line or from the study.
fn objective(request: &CapacityRequest, study: &Study) -> Result<(f64, u64), LabError> {
    let slo = study.decision.slo.as_ref();
    let percentile = request.percentile.or(slo.map(|s| s.percentile));
    let at_most = request.at_most_ns.or(slo.map(|s| s.at_most_ns));
    percentile.zip(at_most).ok_or_else(|| {
        let missing = match (percentile, at_most) {
            (Some(_), None) => "--percentile is given, but not --at-most",
            (None, Some(_)) => "--at-most is given, but not --percentile",
            _ => "neither the command line nor the study has a latency objective",
        };
        let help = format!(
            "give --percentile 99 --at-most 20ms, or add `slo = {{ percentile = 99, at_most = \"20ms\" }}` to `[decision]` in {}",
            request.file
        );
        LabError::usage(missing, help)
    })
}
