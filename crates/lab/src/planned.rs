//! What a study would run, told without a server.

use std::collections::BTreeMap;
use std::time::Duration;

use perbuck_core::plan::TrialKey;
use perbuck_core::study::{Contender, NO_LIMIT_NS, Reset, Study, base_of};
use perbuck_core::units::{duration_text, thousands};
use serde::{Serialize, Serializer};

use crate::estimate::{Estimate, pilots};
use crate::inputs::Inputs;
use crate::preflight::megabytes;
use crate::progress::clock_text;

/// What a study would run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Planned {
    /// What is varied beside workloads and load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<PlannedFactor>,
    /// The data of each contender.
    pub data_sets: Vec<DataSet>,
    /// The points of each workload.
    pub points: Vec<Points>,
    /// Every trial, in the order in which they run.
    pub trials: Vec<TrialKey>,
    /// Trials that find data as another workload has changed them, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Blocks before the first look of a study that ends when its verdicts are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least: Option<u32>,
    /// Contenders without a target and without a server, whose trials cannot run.
    pub priced_only: Vec<String>,
    /// How long it takes where nothing is loaded yet, about, in seconds; `None` where a number of transactions alone ends trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_s: Option<f64>,
}

/// A factor and its levels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedFactor {
    /// Its name.
    pub name: String,
    /// The names of its levels.
    pub levels: Vec<String>,
    /// Whether the user sets them.
    pub by_hand: bool,
}

/// Tables that one or more workloads use.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DataSet {
    /// The benchmark that makes it.
    pub kind: String,
    /// The database that holds it, where it is another one than that of the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// The workloads that use it.
    pub workloads: Vec<String>,
    /// About how many rows it has, before a run.
    pub rows: u64,
    /// About how many bytes their values have, as text.
    pub bytes: u64,
    /// When it is loaded again.
    #[serde(serialize_with = "word")]
    pub reset: Reset,
}

/// The points of a workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Points {
    /// The workload, with factors `name@level,level`.
    pub workload: String,
    /// Its levels of factors, as `factor=level`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<String>,
    /// What varies, in ascending order.
    pub levels: Vec<u32>,
    /// What they are: `connections`, or `transactions/s offered`.
    pub unit: &'static str,
    /// How often each is measured on each contender in each deployment.
    pub trials: u32,
    /// How often every contender is deployed.
    pub deployments: u32,
    /// Time before the measured window, in nanoseconds; the longest, where pilot trials are to find it.
    pub warmup_ns: u64,
    /// The measured window, in nanoseconds; likewise. `None` where a number of transactions alone ends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
    /// The transactions that end the window before its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<u64>,
    /// Whether pilot trials are to find warm-up or window.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_pilots: bool,
}

impl Planned {
    /// What this study would run.
    pub fn of(inputs: &Inputs) -> Self {
        let study = &inputs.study;
        let points = study.workloads.iter().map(|w| points(study, &w.name)).collect();
        let endless = study.workloads.iter().any(|w| study.sweep_of(&w.name).duration_ns >= NO_LIMIT_NS);
        let estimated_s = (!endless).then(|| Estimate::of(inputs).total().as_secs_f64());
        let priced = study.contenders.iter().filter(|c| !c.is_driven());
        let priced_only = priced.map(|c| c.name.clone()).collect();
        let factors = study.factors.iter().map(|factor| PlannedFactor {
            name: factor.name.clone(),
            levels: factor.levels.iter().map(|level| level.name.clone()).collect(),
            by_hand: factor.by_hand,
        });
        let (factors, trials) = (factors.collect(), study.plan());
        let remarks = remarks(inputs, &trials);
        let least = study.decision.until.as_ref().map(|until| until.least);
        Self { factors, data_sets: data_sets(inputs), points, trials, remarks, least, priced_only, estimated_s }
    }

    /// The same for people.
    pub fn text(&self) -> String {
        let data: String = self.data_sets.iter().map(|set| format!("  {}\n", set.text())).collect();
        // At every level of a factor a workload has the same points.
        let mut points: Vec<String> = self.points.iter().map(|p| format!("  {}\n", p.text())).collect();
        points.dedup();
        let points = points.concat();
        let factors: String = self.factors.iter().map(|f| format!("  {}\n", f.text())).collect();
        let factors = if factors.is_empty() {
            factors
        } else {
            format!("factors, at every level of which all of it is measured\n{factors}")
        };
        let remarks: String = self.remarks.iter().map(|remark| format!("{remark}\n")).collect();
        let order: String = self.blocks().iter().map(|block| format!("  {block}\n")).collect();
        let took = match self.estimated_s.map(|s| clock_text(Duration::try_from_secs_f64(s).unwrap_or(Duration::MAX))) {
            Some(took) => format!("about {took} with loads and checks"),
            None => "whose time is not known, since a number of transactions or the last stream ends them".to_owned(),
        };
        let priced: String =
            self.priced_only.iter().map(|name| format!("{name} has no target and no server: it can only be priced\n")).collect();
        let count = thousands(self.trials.len() as u64);
        let (most, took) = match self.least {
            Some(least) => {
                (format!("until the verdicts are there, from block {least} on: at most "), took.replacen("about", "at most", 1))
            }
            None => (String::new(), took),
        };
        format!(
            "data of each contender\n{data}points of each contender\n{points}{factors}order of the trials\n{order}{most}{count} trials, {took}\n{remarks}{priced}"
        )
    }

    /// A line for each block: its points in their order, each with the contenders in theirs.
    fn blocks(&self) -> Vec<String> {
        let block = |keys: &[TrialKey]| {
            let same = |a: &TrialKey, b: &TrialKey| (&a.workload, a.level()) == (&b.workload, b.level());
            let point = |keys: &[TrialKey]| {
                let contenders: Vec<&str> = keys.iter().map(|key| key.contender.as_str()).collect();
                format!("{} {} ({})", keys[0].workload, thousands(keys[0].level().into()), contenders.join(", "))
            };
            let points: Vec<String> = keys.chunk_by(same).map(point).collect();
            let deployment = keys[0].deployment.map(|d| format!("deployment {d}, ")).unwrap_or_default();
            format!("{deployment}block {}: {}", keys[0].trial, points.join("; "))
        };
        let same = |a: &TrialKey, b: &TrialKey| (a.deployment(), a.trial) == (b.deployment(), b.trial);
        self.trials.chunk_by(same).map(block).collect()
    }
}

fn points(study: &Study, workload: &str) -> Points {
    let sweep = study.sweep_of(workload);
    let levels = study.workload(workload).into_iter().flat_map(|spec| study.levels_of(spec));
    Points {
        workload: workload.to_owned(),
        at: levels.map(|(factor, level)| format!("{}={}", factor.name, level.name)).collect(),
        levels: sweep.levels().to_vec(),
        unit: sweep.level_unit(),
        trials: sweep.trials,
        warmup_ns: sweep.warmup_ns,
        deployments: sweep.deployments,
        duration_ns: (sweep.duration_ns < NO_LIMIT_NS).then_some(sweep.duration_ns),
        events: sweep.events,
        by_pilots: sweep.auto.is_awaited(),
    }
}

/// Workloads of one kind in one database share their tables; a study in which they could not was refused.
fn data_sets(inputs: &Inputs) -> Vec<DataSet> {
    let mut sets: Vec<DataSet> = Vec::new();
    for (spec, plan) in inputs.study.workloads.iter().zip(&inputs.plans) {
        let known = sets.iter_mut().find(|set| (&set.kind, &set.database) == (&spec.kind.value, &spec.database));
        let size = plan.size();
        let default = if size.grows { Reset::PerBlock } else { Reset::Never };
        let reset = spec.reset.unwrap_or(default);
        let name = base_of(&spec.name).to_owned();
        if let Some(set) = known {
            if !set.workloads.contains(&name) {
                set.workloads.push(name);
            }
            // One that loads them again does so for all.
            set.reset = set.reset.max(reset);
            continue;
        }
        sets.push(DataSet {
            kind: spec.kind.value.clone(),
            database: spec.database.clone(),
            workloads: vec![name],
            rows: size.rows,
            bytes: size.bytes,
            reset,
        });
    }
    sets
}

/// Contender, kind and database: who has tables, and which.
type Tables<'a> = (&'a str, &'a str, Option<&'a str>);

/// The block of the last trial on some tables, and who has written to them since the last load.
type LastUse<'a> = ((u32, u32, String), Option<&'a str>);

/// What a user should know before such trials run.
pub(crate) fn remarks(inputs: &Inputs, trials: &[TrialKey]) -> Vec<String> {
    let volumes = inputs.study.contenders.iter().flat_map(Contender::volumes_beyond_machines);
    let pilots = pilots_text(&inputs.study);
    pilots.into_iter().chain(reads_after_writes(inputs, trials)).chain(volumes).collect()
}

/// What pilot trials are to find, and how long they take; `None` where the study needs none.
pub fn pilots_text(study: &Study) -> Option<String> {
    let auto = study.workloads.iter().map(|w| &study.sweep_of(&w.name).auto).find(|auto| auto.is_awaited())?;
    let (trials, time) = pilots(study);
    let (each, all, most) = (duration_text(auto.pilot_ns), clock_text(time), duration_text(auto.pilot_ns / 2));
    let names = study.awaiting_pilots().join(", ");
    Some(format!(
        "pilot trials first find the lengths of {names}: {trials} of {each}, about {all} without loads; each length is then at most {most}"
    ))
}

/// A sentence for each workload that only reads, and in some trial finds its tables as another one has changed them.
fn reads_after_writes(inputs: &Inputs, trials: &[TrialKey]) -> Vec<String> {
    let study = &inputs.study;
    let mut seen: BTreeMap<Tables<'_>, LastUse<'_>> = BTreeMap::new();
    let mut found: Vec<(&str, &str)> = Vec::new();
    for key in trials {
        let Some((spec, plan)) = study.workloads.iter().zip(&inputs.plans).find(|(spec, _)| spec.name == key.workload) else {
            continue;
        };
        let reset = spec.reset.unwrap_or(if plan.size().grows { Reset::PerBlock } else { Reset::Never });
        let block = (key.deployment(), key.trial, study.server_state(spec));
        let data = (key.contender.as_str(), spec.kind.value.as_str(), spec.database.as_deref());
        let (last, writer) = seen.entry(data).or_insert((block.clone(), None));
        if reset == Reset::PerTrial || (reset == Reset::PerBlock && *last != block) || last.0 != block.0 {
            *writer = None;
        }
        *last = block;
        let name = base_of(&spec.name);
        match *writer {
            _ if spec.writes() => *writer = Some(name),
            Some(writer) if found.iter().all(|(reader, _)| *reader != name) => found.push((name, writer)),
            _ => {}
        }
    }
    let text = |(reader, writer): (&str, &str)| {
        format!(
            "`{reader}` also reads tables after `{writer}` has changed them; `reset = \"per-block\"` in `{reader}` loads them again"
        )
    };
    found.into_iter().map(text).collect()
}

fn word<S: Serializer>(reset: &Reset, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(reset.word())
}

impl PlannedFactor {
    fn text(&self) -> String {
        let by = if self.by_hand { "; you set it, and run one at a time with --at" } else { "" };
        format!("{}: {}{by}", self.name, self.levels.join(", "))
    }
}

impl DataSet {
    fn text(&self) -> String {
        let database = self.database.as_ref().map(|name| format!(" in database {name}")).unwrap_or_default();
        let reset = match self.reset {
            Reset::Never => "loaded once",
            Reset::PerBlock => "loaded again before each block",
            Reset::PerTrial => "loaded again before each trial",
        };
        format!(
            "{}{database} for {}: about {} rows, {} as text; {reset}",
            self.kind,
            self.workloads.join(", "),
            thousands(self.rows),
            megabytes(self.bytes)
        )
    }
}

impl Points {
    fn text(&self) -> String {
        let levels: Vec<String> = self.levels.iter().map(|level| thousands((*level).into())).collect();
        let window = match (self.duration_ns.map(duration_text), self.events.map(thousands)) {
            (Some(length), None) => length,
            (Some(length), Some(events)) => format!("{length}, or {events} transactions if that is less,"),
            (None, Some(events)) => format!("{events} transactions"),
            (None, None) => {
                let (name, levels) = (base_of(&self.workload), levels.join(", "));
                return format!("{name}: {levels} {}, each {}, to the end of the last stream", self.unit, self.times());
            }
        };
        let unit = if self.levels == [1] && self.unit == "connections" { "connection" } else { self.unit };
        let (name, levels, warmup) = (base_of(&self.workload), levels.join(", "), duration_text(self.warmup_ns));
        let most = if self.by_pilots { "at most " } else { "" };
        format!("{name}: {levels} {unit}, each {}, {most}{warmup} of warm-up and {window} measured", self.times())
    }

    fn times(&self) -> String {
        let times = if self.trials == 1 { "once".to_owned() } else { format!("{} times", self.trials) };
        let deployments =
            if self.deployments > 1 { format!(" in each of {} deployments", self.deployments) } else { String::new() };
        times + &deployments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs;
    use crate::registry::Registry;

    fn planned(workloads: &str, sweep: &str) -> Planned {
        let text = format!(
            "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\ntarget = \"sqlite:a.db\"\n[[contender]]\nname = \"b\"\n\
             {workloads}\n[sweep]\n{sweep}"
        );
        let inputs = inputs::check("s.toml", text, None, Registry::default());
        Planned::of(&inputs.unwrap_or_else(|problems| panic!("{problems:?}")))
    }

    #[test]
    fn what_a_study_would_run_is_told_as_it_is() {
        let workloads = "[[workload]]\nname = \"r\"\nkind = \"sysbench\"\nscript = \"oltp_read_only\"\nconnections = [1]\nduration = \"2s\"\n\
                         [[workload]]\nname = \"w\"\nkind = \"sysbench\"\nscript = \"oltp_read_write\"\nreset = \"per-block\"\n";
        let sweep = "connections = [1, 8]\nwarmup = \"1s\"\nduration = \"4s\"\nevents = 150\ntrials = 2\ndeployments = 3\n";
        let plan = planned(workloads, sweep);
        assert_eq!((plan.data_sets.len(), plan.data_sets[0].reset, plan.trials.len()), (1, Reset::PerBlock, 36));
        let text = plan.text();
        for line in [
            "sysbench for r, w: about 10,000 rows, 1 MB as text; loaded again before each block",
            "r: 1 connection, each 2 times in each of 3 deployments, 1 s of warm-up and 2 s, or 150 transactions if that is less, measured",
            "w: 1, 8 connections, each 2 times",
            "deployment 3, block 2: ",
            "b has no target and no server: it can only be priced",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        let auto = planned(
            "[[workload]]\nname = \"r\"\nkind = \"sysbench\"\n",
            "connections = [1]\nwarmup = \"auto\"\npilot = \"2m\"\n",
        );
        for line in [
            "r: 1 connection, each 5 times, at most 60 s of warm-up and 60 s measured",
            "pilot trials first find the lengths of r: 6 of 2 min, about 12:03 min without loads; each length is then at most 60 s",
        ] {
            assert!(auto.text().contains(line), "{line}: {}", auto.text());
        }
        let endless = planned("[[workload]]\nname = \"r\"\nkind = \"sysbench\"\n", "connections = [1]\nevents = 150\n");
        assert_eq!(endless.estimated_s, None);
        assert!(
            endless.text().contains("150 transactions measured") && endless.text().contains("not known"),
            "{}",
            endless.text()
        );
    }
}
