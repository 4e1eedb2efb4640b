//! Pilot trials: they find warm-up and window of a study before its first trial, and count for nothing else.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::Interval;
use perbuck_core::study::{FoundWindow, base_of, with_windows as text_with, with_windows_of};
use perbuck_core::units::duration_text;
use perbuck_core::windows::{self, PILOTS, Windows};
use perbuck_load::stop::StopToken;

use super::{RunOptions, measured};
use crate::error::LabError;
use crate::folder::{self, has_file};
use crate::inputs::{Inputs, Limit};
use crate::looks::Looks;
use crate::planned;
use crate::progress::Progress;
use crate::store::{FINGERPRINT_FILE, PILOT_FOLDER, STUDY_FILE, Store, StudyFiles, evidence_in};
use crate::stored::read_record;
use crate::used::Meter;

const SECOND_NS: u64 = 1_000_000_000;

/// The study with the windows that it leaves to pilot trials: those that its folder holds, or else those that pilot trials find now.
/// `None` where it leaves none to them.
pub(super) fn with_windows(
    inputs: &Inputs,
    options: &RunOptions,
    progress: &mut dyn Progress,
    stop: &StopToken,
) -> Result<Option<Inputs>, LabError> {
    if inputs.study.awaiting_pilots().is_empty() {
        return Ok(None);
    }
    if let Some(known) = with_known_windows(inputs, &options.results)? {
        return Ok(Some(known));
    }
    let began = Instant::now();
    // Held until the windows are there: no other perbuck runs this study.
    let store = Store::join_within(&options.results, inputs.into(), &inputs.study.fingerprint(), Duration::ZERO)?;
    let mut meter = Meter::start(store.root(), &inputs.study, began)?;
    let found = Pilots::new(inputs, &store)?.find(options, &mut meter, progress, stop);
    // What was used is used, however they ended.
    let noted = meter.note();
    let found = found?;
    noted?;
    inputs.with(text_with(&inputs.text, &found), inputs.passwords.clone()).map(Some)
}

/// The study with the windows that its folder holds; `None` where it leaves none to pilot trials, or none were found yet.
pub(crate) fn with_known_windows(inputs: &Inputs, results: &Path) -> Result<Option<Inputs>, LabError> {
    let root = results.join(&inputs.study.name);
    let (study, fingerprint) = (root.join(STUDY_FILE), root.join(FINGERPRINT_FILE));
    if inputs.study.awaiting_pilots().is_empty() || !has_file(&study) || !has_file(&fingerprint) {
        return Ok(None);
    }
    let text = with_windows_of(&inputs.text, &folder::read_text("the study", &study, Limit::TEXT)?);
    if text == inputs.text {
        return Ok(None);
    }
    let known = inputs.with(text, inputs.passwords.clone())?;
    let kept = folder::read_text("the fingerprint", &fingerprint, Limit::TEXT)?;
    // They belong to what was measured in them. Where nothing was measured yet, another study needs windows of its own.
    let are_its_own = kept.trim() == known.study.fingerprint() || !evidence_in(&root)?.is_empty();
    Ok(Some(known).filter(|_| are_its_own))
}

/// The pilot trials of a study.
struct Pilots<'a> {
    inputs: &'a Inputs,
    /// The study of which they are the trials.
    pilots: Inputs,
    /// Their folder. Another version of the study has another one, so that none of them is taken for one of this.
    store: Store,
    plan: Vec<TrialKey>,
}

impl<'a> Pilots<'a> {
    fn new(inputs: &'a Inputs, of: &Store) -> Result<Self, LabError> {
        let mut pilots = inputs.with(inputs.text.clone(), inputs.passwords.clone())?;
        pilots.study = inputs.study.pilots();
        let stays = |name: &str| pilots.study.workload(name).is_some();
        let plans = std::mem::take(&mut pilots.plans).into_iter().zip(&inputs.study.workloads);
        pilots.plans = plans.filter(|(_, w)| stays(&w.name)).map(|(plan, _)| plan).collect();
        let fingerprint = pilots.study.fingerprint();
        let name = fingerprint.get(..12).unwrap_or(&fingerprint);
        let files = StudyFiles { name, ..StudyFiles::from(&pilots) };
        let store = Store::join_within(&of.root().join(PILOT_FOLDER), files, &fingerprint, Duration::ZERO)?;
        let is_control = |key: &TrialKey| pilots.study.contender(&key.contender).is_some_and(|c| c.control_of.is_some());
        let plan = pilots.study.plan().into_iter().filter(|key| !is_control(key)).collect();
        Ok(Self { inputs, pilots, store, plan })
    }

    /// Runs those that are not on disk, and finds the window of each workload.
    fn find(
        &self,
        options: &RunOptions,
        meter: &mut Meter,
        progress: &mut dyn Progress,
        stop: &StopToken,
    ) -> Result<Vec<FoundWindow>, LabError> {
        let missing: Vec<(usize, &TrialKey)> = self.plan.iter().enumerate().filter(|(_, key)| !self.store.has(key)).collect();
        if !missing.is_empty() {
            planned::pilots_text(&self.inputs.study).iter().for_each(|line| progress.line(line));
            let looks = Looks::start(&self.pilots, self.store.root())?;
            let on_disk = (self.plan.len(), self.plan.len() - missing.len());
            // Plans are kept of trials that count.
            let options = RunOptions { plans: false, ..options.clone() };
            measured((&self.pilots, None), &options, (&self.store, looks, meter), on_disk, &missing, progress, stop)?;
        }
        self.inputs.study.awaiting_pilots().into_iter().map(|workload| self.window_of(workload, &mut *progress)).collect()
    }

    /// The window of a workload, which every contender has at every level of factors.
    fn window_of(&self, workload: &str, progress: &mut dyn Progress) -> Result<FoundWindow, LabError> {
        let mut points: BTreeMap<(&str, &str), Vec<Vec<f64>>> = BTreeMap::new();
        for key in self.plan.iter().filter(|key| base_of(&key.workload) == workload) {
            points.entry((key.contender.as_str(), key.workload.as_str())).or_default().push(self.seconds_of(key)?);
        }
        let (names, series): (Vec<_>, Vec<_>) = points.into_iter().unzip();
        let title = |point: usize| {
            let (contender, workload) = names.get(point).copied().unwrap_or_default();
            let level = workload.strip_prefix(base_of(workload)).unwrap_or_default();
            format!("{contender}{level}")
        };
        let level = names.first().map_or(workload, |(_, name)| *name);
        let auto = &self.inputs.study.sweep_of(level).auto;
        let pilot = duration_text(auto.pilot_ns);
        let found = windows::find(&series).map_err(|unsettled| {
            let (who, limit) = (title(unsettled.point), unsettled.limit_s);
            let message =
                format!("pilot trials of `{workload}` on {who} did not settle within {limit} s, a third of their {pilot}");
            LabError::refused(message, "give `[sweep]` a longer `pilot`, or write `warmup` and `duration` as lengths")
        })?;
        for point in &found.drifting {
            let who = title(*point);
            progress.alert(&format!("pilot trials of `{workload}` on {who}: throughput still moves after the warm-up"));
        }
        if auto.duration && found.is_cut_short() {
            progress.alert(&format!("`{workload}`: {}; a longer `pilot` allows a longer window", spread(&found)));
        }
        let load = self.pilots.study.sweep_of(level).connections.first().copied().unwrap_or(1);
        let plural = if load == 1 { "" } else { "s" };
        let settled = match found.slowest {
            (_, 0) => "none had a transient".to_owned(),
            (point, seconds) => format!("{} settled last, after {seconds} s", title(point)),
        };
        let from = format!(
            "{PILOTS} pilot trials of {pilot} on each contender at {load} connection{plural}; {settled}; {}",
            spread(&found)
        );
        let length = |asked: bool, seconds: u32| asked.then_some(u64::from(seconds) * SECOND_NS);
        let (warmup_ns, duration_ns) = (length(auto.warmup, found.warmup_s), length(auto.duration, found.duration_s));
        let said = [(warmup_ns, "of warm-up"), (duration_ns, "of window")];
        let said: Vec<String> = said.iter().filter_map(|(ns, of)| Some(format!("{} {of}", duration_text((*ns)?)))).collect();
        progress.line(&format!("`{workload}`: {}, from {from}", said.join(" and ")));
        Ok(FoundWindow { workload: workload.to_owned(), warmup_ns, duration_ns, from, line: 0 })
    }

    /// The transactions that a pilot trial completed in each of its seconds.
    fn seconds_of(&self, key: &TrialKey) -> Result<Vec<f64>, LabError> {
        let record = read_record(&self.store.root().join(key.path()))?;
        let is_whole = |second: &&Interval| second.start_ms >= 0 && second.length_ms == 1000;
        Ok(record.intervals.iter().filter(is_whole).map(|second| second.transactions as f64).collect())
    }
}

/// `error of a trial 0.5 %, deviation between trials 0.9 %`
fn spread(found: &Windows) -> String {
    format!("error of a trial {:.1} %, deviation between trials {:.1} %", found.error * 100.0, found.between * 100.0)
}
