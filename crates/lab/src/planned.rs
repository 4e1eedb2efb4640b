//! What a study would run, told without a server.

use std::time::Duration;

use perbuck_core::plan::TrialKey;
use perbuck_core::study::{Reset, Study};
use perbuck_core::units::{duration_text, thousands};
use serde::Serialize;

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
    /// How long it takes where nothing is loaded yet, about, in seconds.
    pub estimated_s: f64,
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
    /// When it is loaded again: `never`, `per-block` or `per-trial`.
    pub reset: String,
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
    /// How often each is measured on each contender.
    pub trials: u32,
    /// Time before the measured window, in nanoseconds.
    pub warmup_ns: u64,
    /// The measured window, in nanoseconds; `None` where a number of transactions alone ends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
}

impl Planned {
    /// What this study would run.
    pub fn of(inputs: &Inputs) -> Self {
        let study = &inputs.study;
        let points = study.workloads.iter().map(|w| points(study, &w.name)).collect();
        let estimated_s = Estimate::of(inputs).total().as_secs_f64();
        Self { data_sets: data_sets(inputs), points, trials: study.plan(), estimated_s }
    }

    /// The same for people.
    pub fn text(&self) -> String {
        let data: String = self.data_sets.iter().map(|set| format!("  {}\n", set.text())).collect();
        let points: String = self.points.iter().map(|p| format!("  {}\n", p.text())).collect();
        let order: String = self.blocks().iter().map(|block| format!("  {block}\n")).collect();
        let took = clock_text(Duration::try_from_secs_f64(self.estimated_s).unwrap_or(Duration::MAX));
        format!(
            "data of each contender\n{data}points of each contender\n{points}order of the trials\n{order}{} trials, about {took} with loads and checks\n",
            thousands(self.trials.len() as u64)
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
        duration_ns: sweep.events.is_none().then_some(sweep.duration_ns),
    }
}

/// Workloads of one kind in one database share their tables; a study in which they could not was refused.
fn data_sets(inputs: &Inputs) -> Vec<DataSet> {
    let mut sets: Vec<DataSet> = Vec::new();
    for (spec, plan) in inputs.study.workloads.iter().zip(&inputs.plans) {
        let known = sets.iter_mut().find(|set| (&set.kind, &set.database) == (&spec.kind.value, &spec.database));
        if let Some(set) = known {
            set.workloads.push(spec.name.clone());
            continue;
        }
        let size = plan.size();
        let default = if size.grows { Reset::PerBlock } else { Reset::Never };
        sets.push(DataSet {
            kind: spec.kind.value.clone(),
            database: spec.database.clone(),
            workloads: vec![spec.name.clone()],
            rows: size.rows,
            bytes: size.bytes,
            reset: spec.reset.unwrap_or(default).word().to_owned(),
        });
    }
    sets
}

impl DataSet {
    fn text(&self) -> String {
        let database = self.database.as_ref().map(|name| format!(" in database {name}")).unwrap_or_default();
        let reset = match self.reset.as_str() {
            "never" => "loaded once",
            "per-block" => "loaded again before each block",
            _ => "loaded again before each trial",
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
        let window = self.duration_ns.map_or("a number of transactions".to_owned(), duration_text);
        let times = if self.trials == 1 { "once".to_owned() } else { format!("{} times", self.trials) };
        let (warmup, unit) = (duration_text(self.warmup_ns), self.unit);
        format!("{}: {} {unit}, each {times}, {warmup} of warm-up and {window} measured", self.workload, levels.join(", "))
    }
}
