//! The sweep of a study: which loads are measured, how long and how often.

use std::ops::RangeInclusive;

use crate::arrivals::Arrivals;
use crate::load_model::{HIGHEST_PER_S, Phase, PhaseLoad};
use crate::study::windows::{Auto, Length, read_length};
use crate::study::{Located, NO_LIMIT_NS, Prewarm, Profiled, Sweep, WorkloadSpec};
use crate::toml_reader::Section;
use crate::windows::SHORTEST_PILOT_S;
use crate::workload_kind::Streams;

use super::{MANY, word};

impl Default for Sweep {
    fn default() -> Self {
        Self {
            connections: vec![1, 4, 16],
            streams: Vec::new(),
            of_streams: false,
            schedule_ns: 0,
            rates_per_s: Vec::new(),
            arrivals: Arrivals::Poisson,
            phases: Vec::new(),
            warmup_ns: 10_000_000_000,
            duration_ns: 60_000_000_000,
            auto: Auto::default(),
            trials: 5,
            deployments: 1,
            cooldown_ns: 0,
            prewarm: None,
            cold: false,
            profile: None,
            workers: None,
            max_attempts: 10,
            events: None,
            collected: false,
            one_by_one: false,
        }
    }
}

/// Points of a sweep, and phases, at most: each has a row in every table of a report.
const POINTS: usize = 1000;

pub(super) fn read_sweep(s: &Section<'_>) -> Option<Sweep> {
    let mut sweep = Sweep::default();
    let counts = distinct(s, "sweep", "connections", MANY);
    if let Some(list) = &counts {
        sweep.connections.clone_from(list);
    }
    sweep.streams = distinct(s, "sweep", "streams", MANY).unwrap_or_default();
    sweep.rates_per_s = distinct(s, "sweep", "rate", HIGHEST_PER_S.into()).unwrap_or_default();
    sweep.arrivals =
        word(s, "arrivals", &[("poisson", Arrivals::Poisson), ("uniform", Arrivals::Uniform)]).unwrap_or(sweep.arrivals);
    let phases = s.each("phases", read_phase);
    let has_phases = s.has("phases");
    sweep.auto.pilot_ns = read_pilot(s).unwrap_or(sweep.auto.pilot_ns);
    sweep.events = s.int("events", 1..=i64::MAX).map(|v| v.value as u64);
    sweep.collected = s.boolean("collected").is_some_and(|v| v.value);
    sweep.one_by_one = word(s, "contenders", &[("side-by-side", false), ("one-by-one", true)]).unwrap_or(false);
    if sweep.events.is_some() {
        sweep.duration_ns = NO_LIMIT_NS;
    }
    let (warmup, duration) = (read_length(s, "warmup"), read_length(s, "duration"));
    long_enough(s, "sweep", duration);
    sweep.take_lengths(warmup, duration);
    sweep.trials = s.count("trials", TRIALS).unwrap_or(sweep.trials);
    sweep.deployments = s.count("deployments", 1..=99).unwrap_or(sweep.deployments);
    sweep.cooldown_ns = s.duration_ns("cooldown").map_or(0, |ns| ns.value);
    sweep.prewarm = read_prewarm(s);
    sweep.cold = read_caches(s).unwrap_or(sweep.cold);
    sweep.profile = word(s, "profile", &Profiled::WORDS).map(|value| Located { value, line: s.line_of("profile") });
    sweep.workers = s.count("workers", 1..=4096);
    sweep.max_attempts = s.count("max_attempts", 1..=1000).unwrap_or(sweep.max_attempts);
    sweep.phases = phases?;
    one_load(s, &mut sweep, counts.as_deref(), has_phases);
    if let Some((beside, why)) = sweep.without_pilots() {
        let key = if sweep.auto.warmup { "warmup" } else { "duration" };
        s.report(key, format!("`sweep.{key}` is \"auto\" beside {beside}"), format!("write a length: {why}"));
    }
    s.finish();
    Some(sweep)
}

fn read_prewarm(s: &Section<'_>) -> Option<Prewarm> {
    word(s, "prewarm", &[Prewarm::Tables, Prewarm::Indexes].map(|what| (what.word(), what)))
}

/// Whether caches are made cold before each trial.
fn read_caches(s: &Section<'_>) -> Option<bool> {
    word(s, "caches", &[("kept", false), ("cold", true)])
}

/// Reports a workload whose data would be read into the memory that was made cold.
pub(super) fn one_temperature(root: &Section<'_>, spec: &WorkloadSpec, sweep: &Sweep) {
    if sweep.cold && sweep.prewarm.is_some() {
        let message = format!("workload `{}`: `prewarm` fills the caches that `caches = \"cold\"` empties", spec.name);
        root.file().report(spec.line, message, "leave one of them out, or make two workloads");
    }
}

/// Trials of a point.
const TRIALS: RangeInclusive<i64> = 1..=1000;

/// How long a pilot trial is.
fn read_pilot(s: &Section<'_>) -> Option<u64> {
    let pilot_ns = s.duration_ns("pilot")?.value;
    if pilot_ns < u64::from(SHORTEST_PILOT_S) * 1_000_000_000 {
        let help = format!("give at least \"{SHORTEST_PILOT_S}s\"; minutes where caches fill slowly");
        s.report("pilot", "`sweep.pilot` is too short to show a warm-up", help);
    }
    Some(pilot_ns)
}

fn long_enough(s: &Section<'_>, table: &str, duration: Option<Length>) {
    if matches!(duration, Some(Length::Ns(ns)) if ns < 100_000_000) {
        let help = "give at least \"100ms\"; minutes for a result to publish";
        s.report("duration", format!("`{table}.duration` is too short to measure anything"), help);
    }
}

/// What a workload has in place of the sweep's.
#[derive(Debug, Default)]
pub(super) struct Own {
    connections: Option<Vec<u32>>,
    streams: Option<Vec<u32>>,
    rates_per_s: Option<Vec<u32>>,
    warmup: Option<Length>,
    duration: Option<Length>,
    trials: Option<u32>,
    prewarm: Option<Prewarm>,
    cold: Option<bool>,
}

pub(super) fn read_own(s: &Section<'_>) -> Own {
    let duration = read_length(s, "duration");
    long_enough(s, "workload", duration);
    Own {
        connections: distinct(s, "workload", "connections", MANY),
        streams: distinct(s, "workload", "streams", MANY),
        rates_per_s: distinct(s, "workload", "rate", HIGHEST_PER_S.into()),
        warmup: read_length(s, "warmup"),
        duration,
        trials: s.count("trials", TRIALS),
        prewarm: read_prewarm(s),
        cold: read_caches(s),
    }
}

impl Own {
    /// The sweep of a workload of streams, of which there are so many by default. It has an end of its own.
    pub(super) fn of_streams(self, root: &Section<'_>, sweep: &Sweep, (line, of): (usize, Streams)) -> Sweep {
        let Self { connections, streams, rates_per_s, warmup, duration, trials, prewarm, cold } = self;
        if connections.is_some() || rates_per_s.is_some() || warmup.is_some() || duration.is_some() {
            let message = "a workload of streams ends with the last of them, without connections, rate, warm-up and duration";
            root.file().report(line, message, "give it `streams`, such as `streams = [2]`");
        } else if sweep.is_open() || !sweep.phases.is_empty() {
            root.file().report(line, "a workload of streams has no `rate` and no phases", "make a study of its own for it");
        }
        let all = streams.or_else(|| Some(sweep.streams.clone()).filter(|all| !all.is_empty()));
        Sweep {
            connections: all.unwrap_or_else(|| vec![of.default]),
            of_streams: true,
            schedule_ns: of.schedule_ns,
            rates_per_s: Vec::new(),
            phases: Vec::new(),
            warmup_ns: 0,
            duration_ns: NO_LIMIT_NS,
            auto: Auto::default(),
            events: None,
            trials: trials.unwrap_or(sweep.trials),
            prewarm: prewarm.or(sweep.prewarm),
            cold: cold.unwrap_or(sweep.cold),
            ..sweep.clone()
        }
    }

    /// The sweep of a workload, on this line; `None` where it has nothing of its own.
    pub(super) fn over(self, root: &Section<'_>, sweep: &Sweep, spec: &WorkloadSpec) -> Option<Sweep> {
        let Self { connections, streams, rates_per_s, warmup, duration, trials, prewarm, cold } = self;
        if streams.is_some() {
            let instead = spec.known.and_then(|kind| kind.interference).map_or("connections", |beside| beside.streams);
            let help = format!("give `{instead}` in place of `streams`");
            root.file().report(spec.line, "the connections of this workload are no streams", help);
        }
        let points = connections.is_some() || rates_per_s.is_some();
        let length = warmup.is_some() || duration.is_some() || trials.is_some();
        if !points && !length && prewarm.is_none() && cold.is_none() {
            return None;
        }
        let report = |message: &str, help: &str| root.file().report(spec.line, message, help);
        if !sweep.phases.is_empty() && (points || duration.is_some()) {
            report("the phases of the sweep say the load of every workload", "leave out what the workload has of its own");
        } else if rates_per_s.is_some() && sweep.rates_per_s.is_empty() {
            report(
                "a workload has a `rate`, and the sweep has none",
                "give the sweep a `rate` too: a study is open loop as a whole",
            );
        } else if !sweep.rates_per_s.is_empty() && connections.as_ref().is_some_and(|counts| counts.len() != 1) {
            report("an open loop needs exactly one count of connections", "name one: at most so many transactions are in flight");
        }
        let mut own = Sweep {
            connections: connections.unwrap_or_else(|| sweep.connections.clone()),
            rates_per_s: rates_per_s.unwrap_or_else(|| sweep.rates_per_s.clone()),
            trials: trials.unwrap_or(sweep.trials),
            prewarm: prewarm.or(sweep.prewarm),
            cold: cold.unwrap_or(sweep.cold),
            ..sweep.clone()
        };
        own.take_lengths(warmup, duration);
        // What is wrong with the sweep of the study is told there.
        if let Some((beside, why)) = own.without_pilots().filter(|_| sweep.without_pilots().is_none()) {
            let message = format!("workload `{}` has a length \"auto\" beside {beside}", spec.name);
            report(&message, &format!("write a length: {why}"));
        }
        Some(own)
    }
}

/// Where all workloads are streams, so is the sweep of the study, which says what its points are called. What it says of others plays no part.
pub(super) fn of_streams(root: &Section<'_>, sweep: Sweep, workloads: &[WorkloadSpec]) -> Sweep {
    let own = workloads.iter().map(|w| w.sweep.as_ref().filter(|own| own.of_streams)).collect::<Option<Vec<_>>>();
    // Who does not know the kinds of workload cannot tell.
    let without = |w: &WorkloadSpec| w.known.is_some() && w.sweep.as_ref().is_none_or(|own| !own.of_streams);
    if !sweep.streams.is_empty() && workloads.iter().all(without) {
        without_streams(root, workloads);
    }
    let Some(first) = own.as_ref().and_then(|own| own.first()) else { return sweep };
    if let Some(s) = root.table("sweep") {
        for key in ["connections", "warmup", "duration", "pilot", "events"].into_iter().filter(|key| s.has(key)) {
            let message = format!("`sweep.{key}` plays no part: all workloads are streams, which end with their last query");
            s.report(
                key,
                message,
                "leave it out; `streams` says how many streams there are, and `limit` how long a query may take",
            );
        }
    }
    Sweep { of_streams: true, connections: first.connections.clone(), auto: Auto::default(), ..sweep }
}

/// `streams` of a sweep that no workload has. One whose queries run beside its load says with a parameter how many.
fn without_streams(root: &Section<'_>, workloads: &[WorkloadSpec]) {
    let Some(s) = root.table("sweep") else { return };
    let beside = workloads.iter().find_map(|w| w.known?.interference);
    let help = beside.map_or_else(
        || "leave it out; `connections` says how many connections there are".to_owned(),
        |beside| format!("leave it out; `{}` of a workload says how many run beside its connections", beside.streams),
    );
    s.report("streams", "`sweep.streams` plays no part: no workload ends with its streams", help);
}

/// A list of counts: ascending, no doubles, not empty.
fn distinct(s: &Section<'_>, table: &str, key: &str, most: i64) -> Option<Vec<u32>> {
    let list = s.ints(key, 1..=most)?;
    let mut counts: Vec<u32> = list.value.iter().map(|v| *v as u32).collect();
    counts.sort_unstable();
    counts.dedup();
    if counts.is_empty() {
        s.report(key, format!("`{table}.{key}` is empty"), "give at least one number, such as `[1, 16, 64]`");
    } else if counts.len() > POINTS {
        let message = format!("`{table}.{key}` has {} numbers, above {POINTS}", counts.len());
        s.report(key, message, "name fewer, or divide the study");
    } else if counts.len() != list.value.len() {
        s.report(key, format!("`{table}.{key}` holds a number twice"), "name each number once");
    }
    Some(counts)
}

/// `{ time = "30s", rate = 500 }`, `{ time = "30s", rate = 500, to = 2000 }` or `{ time = "30s", connections = 64 }`.
fn read_phase(s: &Section<'_>) -> Option<Phase> {
    let time = s.duration_ns("time");
    if time.is_none() && !s.has("time") {
        s.report("time", "a phase has no `time`", "give its length, such as `time = \"30s\"`");
    }
    let per_s = |key| s.int(key, 0..=HIGHEST_PER_S.into()).map(|v| v.value as f64);
    let (rate, to) = (per_s("rate"), per_s("to"));
    let connections = s.int("connections", 1..=MANY);
    s.finish();
    let time = time?;
    if time.value == 0 || !time.value.is_multiple_of(1_000_000_000) {
        let help = "perbuck keeps numbers by the second; write for instance \"30s\"";
        s.report("time", "the `time` of a phase is not whole seconds", help);
    }
    let load = match (rate, to, connections) {
        (Some(from_per_s), to, None) => PhaseLoad::Rate { from_per_s, to_per_s: to.unwrap_or(from_per_s) },
        (None, None, Some(count)) => PhaseLoad::Connections(count.value as u32),
        _ => {
            let help = "give either `rate` (and `to` for a ramp) or `connections`";
            s.report("rate", "a phase needs exactly one load", help);
            return None;
        }
    };
    Some(Phase { length_ns: time.value, load })
}

/// A sweep varies one thing: connections, or the rate, or phases within one point.
fn one_load(s: &Section<'_>, sweep: &mut Sweep, counts: Option<&[u32]>, has_phases: bool) {
    let limit = "add `connections = [64]`: at most so many transactions are in flight, and others wait";
    if !sweep.rates_per_s.is_empty() && has_phases {
        s.report("phases", "`sweep` has both `rate` and `phases`", "the phases say the rates; remove one of the two");
    }
    if s.has("arrivals") && !sweep.is_open() {
        s.report("arrivals", "`arrivals` without a rate", "it says how the starts of an open loop lie in time: give `rate` too");
    }
    if sweep.is_open() && counts.is_none_or(|c| c.len() != 1) {
        s.report("connections", "an open loop needs exactly one count of connections", limit);
    }
    if !has_phases {
        return;
    }
    if sweep.phases.len() > POINTS {
        let message = format!("`sweep.phases` has {} phases, above {POINTS}", sweep.phases.len());
        s.report("phases", message, "name fewer, or divide the study");
        return;
    }
    let rates = sweep.phases.iter().filter(|p| matches!(p.load, PhaseLoad::Rate { .. })).count();
    if sweep.phases.is_empty() {
        s.report("phases", "`sweep.phases` is empty", "give at least one, such as `{ time = \"30s\", rate = 500 }`");
    } else if rates != 0 && rates != sweep.phases.len() {
        s.report("phases", "`sweep.phases` mixes rates and connections", "make two studies: one is open loop, the other closed");
    } else if sweep.phases.iter().all(|p| p.load == PhaseLoad::Rate { from_per_s: 0.0, to_per_s: 0.0 }) {
        s.report("phases", "`sweep.phases` offers nothing in any phase", "give at least one phase a `rate` above 0");
    } else if rates == 0 {
        if s.has("connections") {
            s.report("connections", "`sweep` has both `connections` and phases of connections", "remove `connections`");
        }
        let most = |p: &Phase| if let PhaseLoad::Connections(n) = p.load { n } else { 0 };
        sweep.connections = vec![sweep.phases.iter().map(most).max().unwrap_or(1)];
    }
    if sweep.events.is_some() {
        s.report("events", "`sweep` has both `events` and `phases`", "the phases say how long; remove `events`");
    }
    if s.has("duration") {
        s.report("duration", "`sweep` has both `duration` and `phases`", "the phases say how long; remove `duration`");
    }
    let whole_ns = sweep.phases.iter().fold(0, |sum: u64, p| sum.saturating_add(p.length_ns));
    if whole_ns > NO_LIMIT_NS {
        s.report("phases", "`sweep.phases` take more than ten years", "give them less time");
    }
    sweep.duration_ns = whole_ns.clamp(1_000_000_000, NO_LIMIT_NS);
}
