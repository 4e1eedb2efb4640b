//! Whether a run is noisier than its targets were before: by the trials of earlier studies of the same targets in the same folder of results.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::RunRecord;
use perbuck_core::stats::Deviation;
use perbuck_core::study::Study;

use crate::error::LabError;
use crate::folder;
use crate::inputs::Limit;
use crate::progress::Progress;
use crate::rates::newest;
use crate::store::STUDY_FILE;
use crate::stored;

/// Earlier studies that are read, the newest first.
const STUDIES: usize = 10;
/// How often a run as noisy as its history may be called noisier, at each look at a contender with a workload.
const LEVEL: f64 = 0.001;
/// Degrees of freedom of a history that says something.
const LEAST_FREEDOM: f64 = 4.0;

/// The target of each contender.
type Targets = BTreeMap<String, String>;

/// The values of each point: by target, workload and load.
type Values = BTreeMap<String, Vec<f64>>;

/// What is known of the scatter of a run.
#[derive(Default)]
pub(crate) struct Noise {
    /// Of each point, over earlier studies.
    history: BTreeMap<String, Deviation>,
    /// The targets of the contenders, controls included.
    targets: Targets,
    /// Of this study, by contender and workload.
    now: BTreeMap<(String, String), Values>,
    /// Contenders and workloads that were told.
    told: BTreeSet<(String, String)>,
    block: (u32, u32),
}

impl Noise {
    /// Reads earlier studies beside the results folder of this one.
    pub(crate) fn start(study: &Study, results: &Path, root: &Path, progress: &mut dyn Progress) -> Result<Self, LabError> {
        let mut noise = Self { targets: targets(study), ..Self::default() };
        if noise.targets.is_empty() {
            return Ok(noise);
        }
        let wanted: BTreeSet<&String> = noise.targets.values().collect();
        // A folder that cannot be read is no history, and its own command says what is wrong with it.
        let mut silent = |folder: &Path, error: &LabError| {
            progress.detail(&format!("{} tells nothing of noise: {}", folder.display(), error.words().0));
        };
        let folders = newest(results, STUDY_FILE, STUDIES + 1).unwrap_or_else(|error| {
            silent(results, &error);
            Vec::new()
        });
        for folder in folders.into_iter().filter(|folder| folder != root).take(STUDIES) {
            match history_of(&folder, &wanted) {
                Ok(Some((known, records))) => add(&mut noise.history, &known, &records),
                Ok(None) => {}
                Err(error) => silent(&folder, &error),
            }
        }
        if let Some(usual) = noise.history.values().fold(Deviation::default(), |all, known| all.and(*known)).each() {
            progress.detail(&format!("trials of earlier studies of these targets scatter by {:.1} %", 100.0 * usual));
            stored::records(root)?.0.iter().filter(|r| r.void.is_none()).for_each(|record| noise.saw(record));
        }
        Ok(noise)
    }

    /// Takes a trial of this study.
    pub(crate) fn saw(&mut self, record: &RunRecord) {
        let Some(target) = self.targets.get(&record.key.contender).filter(|_| !self.history.is_empty()) else { return };
        let point = point(target, record);
        let of = self.now.entry((record.key.contender.clone(), record.key.workload.clone())).or_default();
        of.entry(point).or_default().push(value(record));
    }

    /// Says what was noisier than before, once, before the first trial of each block.
    pub(crate) fn before(&mut self, key: &TrialKey, progress: &mut dyn Progress) {
        let block = (key.deployment(), key.trial);
        if std::mem::replace(&mut self.block, block) == block {
            return;
        }
        for (whose, points) in &self.now {
            let known = || points.iter().filter_map(|(point, values)| Some((self.history.get(point)?, values)));
            let usual = known().fold(Deviation::default(), |all, (history, _)| all.and(*history));
            let own = known().fold(Deviation::default(), |all, (_, values)| all.and(Deviation::of(values)));
            if usual.freedom() < LEAST_FREEDOM || !own.exceeds(usual, LEVEL) || !self.told.insert(whose.clone()) {
                continue;
            }
            let percent = |deviation: Deviation| 100.0 * deviation.each().unwrap_or(0.0);
            progress.alert(&format!(
                "{} on {} is noisier than before: its trials scatter by {:.1} %, those of earlier studies of this target by {:.1} %; \
                 something disturbs it, and `perbuck doctor` looks for what on this machine",
                whose.0,
                whose.1,
                percent(own),
                percent(usual)
            ));
        }
    }
}

/// The target of each contender; a control has that of the contender that it repeats.
fn targets(study: &Study) -> Targets {
    let target = |name: &str| Some(study.contender(study.twin(name))?.target.as_ref()?.value.clone());
    study.contenders.iter().filter_map(|c| Some((c.name.clone(), target(&c.name)?))).collect()
}

/// The targets and the trials of another study; `None` of one that has none of these targets.
fn history_of(folder: &Path, wanted: &BTreeSet<&String>) -> Result<Option<(Targets, Vec<RunRecord>)>, LabError> {
    let text = folder::read_text("the study", &folder.join(STUDY_FILE), Limit::TEXT)?;
    let known = targets(&stored::read_study(&text).map_err(|problems| LabError::problems(&problems))?);
    if known.values().any(|target| wanted.contains(target)) { Ok(Some((known, stored::records(folder)?.0))) } else { Ok(None) }
}

/// Adds the scatter of the trials of a study; one that differs between its deployments or contenders is around the mean of each.
fn add(history: &mut BTreeMap<String, Deviation>, targets: &Targets, records: &[RunRecord]) {
    let mut points: BTreeMap<(String, String, u32), Vec<f64>> = BTreeMap::new();
    for record in records.iter().filter(|r| r.void.is_none()) {
        if let Some(target) = targets.get(&record.key.contender) {
            let of = (point(target, record), record.key.contender.clone(), record.key.deployment());
            points.entry(of).or_default().push(value(record));
        }
    }
    for ((point, ..), values) in points {
        let known = history.entry(point).or_default();
        *known = known.and(Deviation::of(&values));
    }
}

/// What trials have in common that are repeats of each other.
fn point(target: &str, record: &RunRecord) -> String {
    let (load, workload) = (&record.load, &record.workload);
    format!(
        "{target} {} {:?} {} {} {:?} {}",
        workload.kind, workload.parameters, load.model, load.connections, load.rate_per_s, load.duration_ns
    )
}

fn value(record: &RunRecord) -> f64 {
    record.metric(record.workload.metric.metric())
}
