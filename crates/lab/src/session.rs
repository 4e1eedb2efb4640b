//! What a run of a study and a search for its capacity have in common: the state that a trial must find, and the trial itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::{Interval, RunRecord, VoidReason};
use perbuck_core::study::Reset;
use perbuck_load::stop::StopToken;
use perbuck_load::trial::TrialSpec;
use perbuck_load::watch::Finishing;

use crate::data::{DataState, FRESH};
use crate::error::LabError;
use crate::globals::Globals;
use crate::inputs::Inputs;
use crate::lease::Leases;
use crate::prepare::{self, Ensured};
use crate::progress::{Details, Progress, clock_text};
use crate::rest;
use crate::stage::Stage;
use crate::trial::{self, Context, Task};

/// The word for data that were loaded again before a trial.
const RELOADED: &str = "reloaded";

/// The targets of a study while its trials run.
pub(crate) struct Session<'a> {
    inputs: &'a Inputs,
    pub(crate) context: Context<'a>,
    pub(crate) stages: &'a [Stage],
    pub(crate) stop: &'a StopToken,
    globals: Globals<'a>,
    // After the settings, which are restored under them.
    leases: Leases,
    /// Rows per table as last seen, by stage.
    rows: BTreeMap<usize, BTreeMap<String, u64>>,
}

impl<'a> Session<'a> {
    /// Tries the settings of all contenders, before anything is loaded: what is wrong is then found at once.
    pub(crate) fn start(
        inputs: &'a Inputs,
        context: Context<'a>,
        stages: &'a [Stage],
        root: &Path,
        stop: &'a StopToken,
        progress: &mut dyn Progress,
    ) -> Result<Self, LabError> {
        let leases = Leases::take(&inputs.study, stages, stop, progress)?;
        for stage in stages.iter().filter(|stage| !stage.transactions.is_empty() || stage.build.is_some()) {
            let facts = stage.server.facts()?;
            stage.has_build(&facts)?;
            stage.has_transactions(&facts)?;
        }
        let globals = Globals::start(&inputs.study, stages, root, stop, progress)?;
        Ok(Self { inputs, context, stages, stop, globals, leases, rows: BTreeMap::new() })
    }

    /// Restores the settings, whatever the work came to; its failure counts before one of this.
    pub(crate) fn end(&mut self, worked: Result<(), LabError>, progress: &mut dyn Progress) -> Result<(), LabError> {
        let restored = self.globals.end(progress);
        first_failure(worked, restored, progress)
    }

    /// Makes sure that the data of a stage are there.
    pub(crate) fn ensure(&self, stage: usize, progress: &mut dyn Progress) -> Result<Ensured, LabError> {
        prepare::ensure(&self.stages[stage], None, self.stop, progress)
    }

    /// Waits until the servers of these stages are at rest, once for those of a contender.
    pub(crate) fn rest(&self, stages: &BTreeSet<usize>, progress: &mut dyn Progress) -> Result<(), LabError> {
        let workloads = self.inputs.study.workloads.len();
        let first = |stage: &&usize| !stages.range(*stage - *stage % workloads..**stage).any(|_| true);
        stages.iter().filter(first).try_for_each(|stage| rest::wait(&self.stages[*stage], self.stop, progress))
    }

    /// Restores the settings of a contender's servers before something is done that is no trial.
    pub(crate) fn release(&mut self, contender: &str) -> Result<(), LabError> {
        self.globals.release(contender)
    }

    /// Brings data and settings into the state that a trial of `block` must find.
    pub(crate) fn ready<'k>(
        &mut self,
        (stage, block): (usize, &str),
        key: &'k TrialKey,
        spec: TrialSpec,
        position: usize,
        progress: &mut dyn Progress,
    ) -> Result<Task<'k>, LabError>
    where
        'a: 'k,
    {
        let stages = self.stages;
        self.leases.held()?;
        let data = self.reset(&stages[stage], (&key.contender, block), progress)?;
        let known = self.rows.remove(&stage).filter(|_| data != RELOADED);
        let rows_before = Some(known.map_or_else(|| stages[stage].data.rows(), Ok)?);
        if let Some(line) = self.globals.hold(&key.contender)? {
            progress.line(&line);
        }
        // Terminals that read so far back would miss what was loaded or written since.
        rest::shown_pause(stages[stage].staleness, self.stop, &mut |left| {
            progress.passing(&format!("{}: {} until stale reads see these data", stages[stage].title, clock_text(left)));
        })?;
        let study = &self.inputs.study;
        let (plan, metric) = (&self.inputs.plans[stage % study.workloads.len()], study.metric_of(&key.workload).clone());
        Ok(Task { key, spec, position, stage: &stages[stage], parameters: plan.parameters(), metric, data, rows_before })
    }

    /// Runs a trial, and makes sure that the settings were in force all the time.
    pub(crate) fn run(&mut self, stage: usize, task: Task<'_>, second: &mut dyn FnMut(&Interval)) -> Result<RunRecord, LabError> {
        let record = trial::run(&self.context, task, self.stop, second)?;
        self.leases.held()?;
        // A server that was restarted has its own settings. Its trial is void, and they are set again before the next.
        if !matches!(record.void_reason(), Some(VoidReason::ServerDied { .. })) {
            self.globals.held(&record.key.contender)?;
        }
        // A server that was away could not be asked; then they are counted before the next trial.
        if !record.workload.rows_after.is_empty() {
            self.rows.insert(stage, record.workload.rows_after.clone());
        }
        Ok(record)
    }

    /// Brings the data into the state that the reset rule asks for; says what was done. Data are loaded and checked under the
    /// server's own settings. Where they are kept, a trial finds the server as the one before left it.
    fn reset(
        &mut self,
        stage: &Stage,
        (contender, block): (&str, &str),
        progress: &mut dyn Progress,
    ) -> Result<&'static str, LabError> {
        let fresh = match stage.data.noted()? {
            DataState::Ours { fingerprint, .. } if fingerprint != stage.fingerprint => return Err(replaced(stage)),
            DataState::Absent | DataState::Unfinished if stage.reset == Reset::Never => return Err(replaced(stage)),
            DataState::Foreign { .. } if stage.reset == Reset::Never => return Ok("foreign"),
            DataState::Foreign { .. } => {
                let why = "the study resets its data, but these tables were made by another tool and are not dropped";
                let help = "set `reset = \"never\"` in the workload, or drop the tables yourself";
                return Err(LabError::refused(format!("{}: {why}", stage.title), help));
            }
            DataState::Ours { used_by, .. } => used_by == FRESH || (stage.reset == Reset::PerBlock && used_by == block),
            DataState::Absent | DataState::Unfinished => false,
        };
        let keep = fresh || stage.reset == Reset::Never;
        if !keep {
            self.globals.release(contender)?;
            // What happens before each block is told only to those who want to see everything.
            let progress = &mut Details(progress);
            if matches!(stage.data.noted()?, DataState::Ours { .. }) {
                // A reload wipes out the evidence of what the last trials did to the data.
                prepare::check(stage, progress)?;
            }
            prepare::load(stage, None, self.stop, progress)?;
            rest::wait(stage, self.stop, progress)?;
        }
        // Noted before the first transaction: a trial that is cut off leaves data that belong to no block.
        stage.data.mark(&format!("{block} running"))?;
        Ok(if keep { "kept" } else { RELOADED })
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
