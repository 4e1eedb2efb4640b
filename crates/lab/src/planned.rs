//! What a study would run, told without a server.

use std::time::Duration;

use perbuck_core::plan::TrialKey;
use perbuck_core::study::{NO_LIMIT_NS, Reset, Study};
use perbuck_core::units::{duration_text, thousands};
use serde::{Serialize, Serializer};

use crate::estimate::Estimate;
use crate::inputs::Inputs;
use crate::preflight::megabytes;
use crate::progress::clock_text;

/// What a study would run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Planned {
    /// The data of each contender.
    pub data_sets: Vec<DataSet>,
    /// The points of each workload.
    pub points: Vec<Points>,
    /// Every trial, in the order in which they run.
    pub trials: Vec<TrialKey>,
    /// Contenders without a target and without a server, whose trials cannot run.
    pub priced_only: Vec<String>,
    /// How long it takes where nothing is loaded yet, about, in seconds; `None` where a number of transactions alone ends trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_s: Option<f64>,
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
    /// The workload.
    pub workload: String,
    /// What varies, in ascending order.
    pub levels: Vec<u32>,
    /// What they are: `connections`, or `transactions/s offered`.
    pub unit: &'static str,
    /// How often each is measured on each contender in each deployment.
    pub trials: u32,
    /// How often every contender is deployed.
    pub deployments: u32,
    /// Time before the measured window, in nanoseconds.
    pub warmup_ns: u64,
    /// The measured window, in nanoseconds; `None` where a number of transactions alone ends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
    /// The transactions that end the window before its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<u64>,
}

impl Planned {
    /// What this study would run.
    pub fn of(inputs: &Inputs) -> Self {
        let study = &inputs.study;
        let points = study.workloads.iter().map(|w| points(study, &w.name)).collect();
        let endless = study.workloads.iter().any(|w| study.sweep_of(&w.name).duration_ns >= NO_LIMIT_NS);
        let estimated_s = (!endless).then(|| Estimate::of(inputs).total().as_secs_f64());
        let priced = study.contenders.iter().filter(|c| c.target.is_none() && c.server.is_none());
        let priced_only = priced.map(|c| c.name.clone()).collect();
        Self { data_sets: data_sets(inputs), points, trials: study.plan(), priced_only, estimated_s }
    }

    /// The same for people.
    pub fn text(&self) -> String {
        let data: String = self.data_sets.iter().map(|set| format!("  {}\n", set.text())).collect();
        let points: String = self.points.iter().map(|p| format!("  {}\n", p.text())).collect();
        let order: String = self.blocks().iter().map(|block| format!("  {block}\n")).collect();
        let took = match self.estimated_s.map(|s| clock_text(Duration::try_from_secs_f64(s).unwrap_or(Duration::MAX))) {
            Some(took) => format!("about {took} with loads and checks"),
            None => "whose time is not known, since a number of transactions alone ends them".to_owned(),
        };
        let priced: String =
            self.priced_only.iter().map(|name| format!("{name} has no target and no server: it can only be priced\n")).collect();
        let count = thousands(self.trials.len() as u64);
        format!(
            "data of each contender\n{data}points of each contender\n{points}order of the trials\n{order}{count} trials, {took}\n{priced}"
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
    Points {
        workload: workload.to_owned(),
        levels: sweep.levels().to_vec(),
        unit: sweep.level_unit(),
        trials: sweep.trials,
        warmup_ns: sweep.warmup_ns,
        deployments: sweep.deployments,
        duration_ns: (sweep.duration_ns < NO_LIMIT_NS).then_some(sweep.duration_ns),
        events: sweep.events,
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
        if let Some(set) = known {
            set.workloads.push(spec.name.clone());
            // One that loads them again does so for all.
            set.reset = set.reset.max(reset);
            continue;
        }
        sets.push(DataSet {
            kind: spec.kind.value.clone(),
            database: spec.database.clone(),
            workloads: vec![spec.name.clone()],
            rows: size.rows,
            bytes: size.bytes,
            reset,
        });
    }
    sets
}

fn word<S: Serializer>(reset: &Reset, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(reset.word())
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
            (None, events) => format!("{} transactions", events.unwrap_or_default()),
        };
        let times = if self.trials == 1 { "once".to_owned() } else { format!("{} times", self.trials) };
        let deployments =
            if self.deployments > 1 { format!(" in each of {} deployments", self.deployments) } else { String::new() };
        let unit = if self.levels == [1] && self.unit == "connections" { "connection" } else { self.unit };
        let (name, levels, warmup) = (&self.workload, levels.join(", "), duration_text(self.warmup_ns));
        format!("{name}: {levels} {unit}, each {times}{deployments}, {warmup} of warm-up and {window} measured")
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
        let endless = planned("[[workload]]\nname = \"r\"\nkind = \"sysbench\"\n", "connections = [1]\nevents = 150\n");
        assert_eq!(endless.estimated_s, None);
        assert!(
            endless.text().contains("150 transactions measured") && endless.text().contains("not known"),
            "{}",
            endless.text()
        );
    }
}
