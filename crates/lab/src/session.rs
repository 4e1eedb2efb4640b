//! What a run of a study and a search for its capacity have in common: the state that a trial must find, and the trial itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::{Cooled, DataSize, Prewarmed, VoidReason};
use perbuck_core::study::{Reset, WorkloadSpec};
use perbuck_load::observer::Observer;
use perbuck_load::stop::StopToken;
use perbuck_load::trial::TrialSpec;
use perbuck_load::watch::Finishing;

use crate::cold;
use crate::data::{DataState, FRESH};
use crate::distance::all_near_enough;
use crate::error::LabError;
use crate::globals::Globals;
use crate::inputs::Inputs;
use crate::lease::Leases;
use crate::prepare::{self, Ensured};
use crate::prewarm;
use crate::progress::{Details, Progress, clock_text};
use crate::replica;
use crate::rest;
use crate::servers::{Servers, WhileStopped};
use crate::sidecar::Trial;
use crate::stage::Stage;
use crate::trial::{self, Context, Task};

mod copies;
pub(crate) mod readied;

use readied::Readied;

/// The targets of a study while its trials run.
pub(crate) struct Session<'a> {
    inputs: &'a Inputs,
    pub(crate) context: Context<'a>,
    pub(crate) stages: &'a [Stage],
    pub(crate) stop: &'a StopToken,
    globals: Globals<'a>,
    // After the settings, which are restored under them.
    leases: Leases,
    servers: Servers,
    /// The copies of data that were saved.
    copies: copies::Copies,
    /// Rows per table as last seen, by stage.
    rows: BTreeMap<usize, BTreeMap<String, u64>>,
    /// What the data took when they were first looked at or loaded, by stage; what no server told is `None`.
    sizes: BTreeMap<usize, Option<DataSize>>,
    /// Stages whose data were read into memory since their servers were started and their data loaded.
    prewarmed: BTreeMap<usize, Prewarmed>,
    /// How the caches of each contender were made cold last, by its position.
    cooled: BTreeMap<usize, Cooled>,
    /// The state of the servers of each contender, by its position: with another configuration they hold something else in memory.
    states: BTreeMap<usize, String>,
}

impl<'a> Session<'a> {
    /// Tries the settings of all contenders, before anything is loaded: what is wrong is then found at once.
    pub(crate) fn start(
        inputs: &'a Inputs,
        context: Context<'a>,
        (stages, servers): (&'a [Stage], Servers),
        root: &Path,
        stop: &'a StopToken,
        progress: &mut dyn Progress,
    ) -> Result<Self, LabError> {
        // Agents have looked themselves.
        if context.fleet.is_none() {
            all_near_enough(&inputs.study, stages)?;
        }
        let leases = Leases::take(&inputs.study, stages, stop, progress)?;
        for stage in stages.iter().filter(|stage| !stage.transactions.is_empty() || stage.build.is_some()) {
            let facts = stage.server.facts()?;
            stage.has_build(&facts)?;
            stage.has_transactions(&facts)?;
        }
        let globals = Globals::start(&inputs.study, stages, root, stop, progress)?;
        let (copies, rows, sizes, prewarmed, cooled, states) = Default::default();
        Ok(Self { inputs, context, stages, stop, globals, leases, servers, copies, rows, sizes, prewarmed, cooled, states })
    }

    /// Restores the settings, whatever the work came to; its failure counts before one of this.
    pub(crate) fn end(&mut self, worked: Result<(), LabError>, progress: &mut dyn Progress) -> Result<(), LabError> {
        let worked = self.servers.explain(worked);
        let restored = self.globals.end(progress);
        let worked = first_failure(worked, self.drop_copies(), progress);
        first_failure(worked, restored, progress)
    }

    /// Whether a restore was cut off, or a load: then the data are restored before the first trial, if there is a copy.
    fn is_cut_off(&self, stage: usize) -> Result<bool, LabError> {
        let stage = &self.stages[stage];
        Ok(stage.reset == Reset::Restore && stage.data.noted()? == DataState::Unfinished)
    }

    /// Makes sure that the data of a stage are there.
    pub(crate) fn ensure(&self, stage: usize, progress: &mut dyn Progress) -> Result<Ensured, LabError> {
        if self.is_cut_off(stage)? && self.stages[stage].server.has_copy()? {
            return Ok(Ensured::Kept);
        }
        prepare::ensure(&self.stages[stage], None, self.stop, progress)
    }

    /// Waits until the servers of these stages are at rest, once for those of a contender.
    pub(crate) fn rest(&self, stages: &BTreeSet<usize>, progress: &mut dyn Progress) -> Result<(), LabError> {
        let of = |stage: &usize| stage / self.inputs.study.workloads.len();
        let mut all = Vec::new();
        for stage in stages {
            // A server has nothing to write of tables whose files were taken away.
            if !self.is_cut_off(*stage)? {
                all.push(*stage);
            }
        }
        all.chunk_by(|a, b| of(a) == of(b)).try_for_each(|own| {
            let own: Vec<&Stage> = own.iter().map(|stage| &self.stages[*stage]).collect();
            rest::wait(&own, self.stop, progress)
        })
    }

    /// Restores the settings of a contender's servers before something is done that is no trial.
    pub(crate) fn release(&mut self, contender: &str) -> Result<(), LabError> {
        self.globals.release(contender)
    }

    /// Brings data and settings into the state that a trial of `block` must find; the trial, and what was done with the data that took time.
    pub(crate) fn ready<'k>(
        &mut self,
        (stage, block): (usize, &str),
        key: &'k TrialKey,
        spec: TrialSpec,
        position: usize,
        progress: &mut dyn Progress,
    ) -> Result<(Task<'k>, Option<&'static str>), LabError>
    where
        'a: 'k,
    {
        let stages = self.stages;
        self.leases.held()?;
        let study = &self.inputs.study;
        let workload = &study.workloads[stage % study.workloads.len()];
        let contender = (stage / study.workloads.len(), workload);
        self.servers.put((study, self.inputs.registry), contender, self.stop, progress)?;
        let readied = self.reset(stage, (&key.contender, block), progress)?;
        replica::caught_up(&stages[stage], self.stop, progress)?;
        if readied.forgets() {
            // Workloads that share these tables know nothing of them any more.
            let shared = |other: &usize| stages[*other].address == stages[stage].address;
            self.rows.retain(|other, _| !shared(other));
            self.sizes.retain(|other, _| !shared(other));
            // A load takes the place of other pages, too.
            let workloads = study.workloads.len();
            self.prewarmed.retain(|other, _| other / workloads != stage / workloads);
        }
        let known = self.rows.remove(&stage).filter(|_| !readied.is_new());
        let rows = known.map_or_else(|| stages[stage].data.rows(), Ok)?;
        self.has_all_rows(stage, &rows, readied)?;
        let (rows_before, data) = (Some(rows), readied.word());
        let data_size = self.size(stage, readied.is_new())?;
        // Nothing reads the data between this and the trial.
        let cold = self.cool(stage, workload, progress)?;
        let state = study.state_name(&key.contender, workload);
        if let Some(line) = self.globals.hold(&state)? {
            progress.line(&line);
        }
        let (contender, workloads) = (stage / study.workloads.len(), study.workloads.len());
        if self.states.insert(contender, state.clone()).is_some_and(|before| before != state) {
            self.prewarmed.retain(|stage, _| stage / workloads != contender);
        }
        let prewarm = self.prewarm(stage, &key.workload, readied.is_new(), progress)?;
        // Terminals that read so far back would miss what was loaded or written since.
        rest::shown_pause(stages[stage].staleness, self.stop, &mut |left| {
            progress.passing(&format!("{}: {} until stale reads see these data", stages[stage].title, clock_text(left)));
        })?;
        let (plan, metric) = (&self.inputs.plans[stage % study.workloads.len()], study.metric_of(&key.workload).clone());
        let stage = &stages[stage];
        let task = Task {
            key,
            spec,
            position,
            stage,
            parameters: plan.parameters(),
            metric,
            data,
            rows_before,
            data_size,
            prewarm,
            cold,
        };
        Ok((task, readied.done()))
    }

    /// What the data of a stage take; the servers are asked once, and after each load.
    fn size(&mut self, stage: usize, loaded: bool) -> Result<Option<DataSize>, LabError> {
        if let Some(known) = self.sizes.get(&stage).filter(|_| !loaded) {
            return Ok(*known);
        }
        let Stage { server, tables, .. } = &self.stages[stage];
        let told = Some(server.data_size(tables)?).filter(|size| *size != DataSize::default());
        self.sizes.insert(stage, told);
        Ok(told)
    }

    /// Makes the caches of a stage cold, where the study asks for it.
    fn cool(&mut self, stage: usize, workload: &WorkloadSpec, progress: &mut dyn Progress) -> Result<Option<Cooled>, LabError> {
        let study = &self.inputs.study;
        if !study.sweep_of(&workload.name).cold {
            return Ok(None);
        }
        // A server that is started again has its own settings, and this machine keeps no page of any server.
        let contender = stage / study.workloads.len();
        self.globals.release(&study.contenders[contender].name)?;
        self.prewarmed.clear();
        let at = &self.stages[stage];
        let done = match self.servers.cool(self.inputs.registry, contender, self.stop, progress)? {
            Some(done) => {
                rest::settled(at, false, self.stop, &mut Details(progress))?;
                done
            }
            None => cold::close(at)?,
        };
        if self.cooled.insert(contender, done.clone()).as_ref() != Some(&done) {
            let text = format!("{}: before each trial {}", at.title, done.text());
            if done.page_cache_kept.is_some() {
                progress.alert(&text);
            } else {
                progress.line(&text);
            }
        }
        Ok(Some(done))
    }

    /// Reads the data of a stage into memory, unless that was done and nothing has happened to them since.
    fn prewarm(
        &mut self,
        stage: usize,
        workload: &str,
        loaded: bool,
        progress: &mut dyn Progress,
    ) -> Result<Option<Prewarmed>, LabError> {
        let Some(what) = self.context.study.sweep_of(workload).prewarm else { return Ok(None) };
        // Workloads of one contender that share their tables share their pages.
        let mine = (&self.stages[stage], stage / self.inputs.study.workloads.len());
        let same = |(other, done): &(&usize, &Prewarmed)| {
            let theirs = (&self.stages[**other], **other / self.inputs.study.workloads.len());
            let data = |stage: &Stage| (stage.address.clone(), stage.fingerprint.clone());
            mine.1 == theirs.1 && data(mine.0) == data(theirs.0) && done.what == what.word()
        };
        if let Some((_, known)) = self.prewarmed.iter().find(same).filter(|_| !loaded) {
            return Ok(Some(known.clone()));
        }
        // As a load before each block is told.
        let done = match loaded {
            true => prewarm::run(&self.stages[stage], what, &mut Details(progress))?,
            false => prewarm::run(&self.stages[stage], what, progress)?,
        };
        self.prewarmed.insert(stage, done.clone());
        Ok(Some(done))
    }

    /// Runs a trial, and makes sure that the settings were in force all the time.
    pub(crate) fn run(&mut self, stage: usize, task: Task<'_>, observer: &mut dyn Observer) -> Result<Trial, LabError> {
        let trial = trial::run(&self.context, task, self.stop, observer)?;
        let record = &trial.record;
        self.leases.held()?;
        // A server that was restarted has its own settings. Its trial is void, and they are set again before the next.
        let study = &self.inputs.study;
        if matches!(record.void_reason(), Some(VoidReason::ServerDied { .. })) {
            // Nor does it have in memory what it had.
            self.prewarmed.clear();
        } else {
            let workload = &study.workloads[stage % study.workloads.len()];
            self.globals.held(&study.state_name(&record.key.contender, workload))?;
        }
        // A server that was away could not be asked; then they are counted before the next trial.
        if !record.workload.rows_after.is_empty() {
            self.rows.insert(stage, record.workload.rows_after.clone());
        }
        Ok(trial)
    }

    /// Brings the data into the state that the reset rule asks for; says what was done. Data are loaded and checked under the
    /// server's own settings. Where they are kept, a trial finds the server as the one before left it.
    fn reset(
        &mut self,
        position: usize,
        (contender, block): (&str, &str),
        progress: &mut dyn Progress,
    ) -> Result<Readied, LabError> {
        let stage = &self.stages[position];
        let keep = match stage.data.noted()? {
            DataState::Ours { fingerprint, .. } if fingerprint != stage.fingerprint => return Err(replaced(stage)),
            DataState::Absent | DataState::Unfinished if stage.reset == Reset::Never => return Err(replaced(stage)),
            DataState::Foreign { .. } if stage.reset == Reset::Never => return Ok(Readied::Foreign),
            DataState::Foreign { .. } => {
                let why = "the study resets its data, but these tables were made by another tool and are not dropped";
                let help = "set `reset = \"never\"` in the workload, or drop the tables yourself";
                return Err(LabError::refused(format!("{}: {why}", stage.title), help));
            }
            DataState::Ours { used_by, .. } if used_by == FRESH && stage.reset == Reset::Restore => {
                Some(self.save(position, contender, progress)?)
            }
            DataState::Ours { used_by, .. } if used_by == FRESH && self.restarts_after_load(position) => {
                self.restart_after_load(position, contender, progress)?;
                Some(Readied::Restarted)
            }
            DataState::Ours { used_by, .. } => {
                let keep = used_by == FRESH || stage.reset == Reset::Never || (stage.reset.is_per_block() && used_by == block);
                keep.then_some(Readied::Kept)
            }
            DataState::Absent | DataState::Unfinished => None,
        };
        let readied = match keep {
            Some(kept) => kept,
            None if stage.reset == Reset::Restore => self.restore(position, contender, progress)?,
            None => self.reload(position, contender, progress)?,
        };
        // Noted before the first transaction: a trial that is cut off leaves data that belong to no block.
        self.stages[position].data.mark(&format!("{block} running"))?;
        Ok(readied)
    }

    fn reload(&mut self, position: usize, contender: &str, progress: &mut dyn Progress) -> Result<Readied, LabError> {
        self.globals.release(contender)?;
        let stage = &self.stages[position];
        // What happens before each block is told only to those who want to see everything.
        let progress = &mut Details(progress);
        if matches!(stage.data.noted()?, DataState::Ours { .. }) {
            // A reload wipes out the evidence of what the last trials did to the data.
            prepare::check(stage, progress)?;
        }
        prepare::load(stage, None, self.stop, progress)?;
        rest::wait(&[stage], self.stop, progress)?;
        if self.restarts_after_load(position) {
            self.restart_after_load(position, contender, progress)?;
        }
        Ok(Readied::Reloaded)
    }

    /// Whether the server of a stage starts again after a load, so that its memory holds nothing but what `prewarm` reads. Without that
    /// MariaDB did 3.5 % fewer transactions than after a start on the same data (docs/method/data.md).
    fn restarts_after_load(&self, stage: usize) -> bool {
        let workloads = &self.inputs.study.workloads;
        let prewarms = self.inputs.study.sweep_of(&workloads[stage % workloads.len()].name).prewarm.is_some();
        prewarms && self.servers.has(stage / workloads.len())
    }

    fn restart_after_load(&mut self, stage: usize, contender: &str, progress: &mut dyn Progress) -> Result<(), LabError> {
        let title = &self.stages[stage].title;
        progress.passing(&format!("{title}: starting its server again, since it has loaded"));
        self.restart(stage, WhileStopped::Nothing, contender)?;
        progress.detail(&format!("{title}: started its server again, so that its memory holds nothing of the load"));
        Ok(())
    }

    /// Stops the private server of a stage, does this, and starts it again with its own settings.
    fn restart(&mut self, stage: usize, step: WhileStopped, contender: &str) -> Result<(), LabError> {
        self.globals.release(contender)?;
        self.servers.restart(stage / self.inputs.study.workloads.len(), step, self.inputs.registry, self.stop)
    }

    /// Notes that a trial of `block` has ended and is on disk: the data now belong to it.
    pub(crate) fn note_end(&self, stage: usize, block: &str) -> Result<(), LabError> {
        // Without the note the data of a trial that is on disk would be loaded again.
        let _finishing = Finishing::start();
        match self.stages[stage].data.noted()? {
            DataState::Foreign { .. } => Ok(()),
            _ => self.stages[stage].data.mark(block),
        }
    }
}

/// The failure of some work, or else that of restoring settings after it. Of two the second is shown here.
pub(crate) fn first_failure(
    worked: Result<(), LabError>,
    restored: Result<(), LabError>,
    progress: &mut dyn Progress,
) -> Result<(), LabError> {
    if let (Err(_), Err(second)) = (&worked, &restored) {
        progress.alert(&format!("perbuck: {second}"));
    }
    worked.and(restored)
}

fn replaced(stage: &Stage) -> LabError {
    let message = format!("{}: another program replaced or removed the data in {} during the study", stage.title, stage.address);
    LabError::refused(message, "keep other programs from that database, then run the study again; finished trials are kept")
}
