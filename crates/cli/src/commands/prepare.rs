//! `perbuck prepare STUDY`, and the loading and checking that `run` shares with it.

use perbuck_core::units::thousands;
use perbuck_load::loader::{CheckResult, LoadProgress};
use perbuck_load::stop::StopToken;

use crate::args::PrepareArguments;
use crate::commands::stop_on_signal;
use crate::data::DataState;
use crate::error::{CliError, Exit};
use crate::inputs;
use crate::progress::Progress;
use crate::stage::{self, Stage};

/// Loads what a study needs and checks it.
pub(crate) fn run(arguments: &PrepareArguments) -> Result<(), CliError> {
    let inputs = inputs::read(&arguments.study, None)?;
    let stop = stop_on_signal()?;
    let mut progress = Progress::new();
    for stage in stage::build(&inputs, arguments.password.ask_password)? {
        if arguments.check {
            if stage.state()? == DataState::Unfinished {
                let message = format!("{}: the load of {} has not ended", stage.title(), stage.address());
                return Err(CliError::new(Exit::Failed, message, "`perbuck prepare STUDY` loads the data anew"));
            }
            check(stage.as_ref(), &mut progress)?;
        } else if arguments.force {
            refuse_foreign(stage.as_ref())?;
            load(stage.as_ref(), &stop, &mut progress)?;
        } else {
            let words = match ensure(stage.as_ref(), &stop, &mut progress)? {
                Ensured::Loaded => continue,
                Ensured::Kept => "the data are there",
                Ensured::Foreign => "complete tables of another tool are there, and are used as they are",
            };
            progress.line(&format!("{}: {words}", stage.title()));
            check(stage.as_ref(), &mut progress)?;
        }
    }
    Ok(())
}

/// What [`ensure`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ensured {
    /// The data were there.
    Kept,
    /// They were loaded.
    Loaded,
    /// Complete tables of another tool are used as they are.
    Foreign,
}

/// Makes sure that the target holds the data of a stage.
///
/// # Errors
/// Data of other parameters, incomplete tables of another tool, a failed load.
pub(crate) fn ensure(stage: &dyn Stage, stop: &StopToken, progress: &mut Progress) -> Result<Ensured, CliError> {
    match stage.state()? {
        DataState::Ours { fingerprint, .. } if fingerprint == stage.fingerprint() => Ok(Ensured::Kept),
        DataState::Ours { .. } => {
            let message = format!("{}: {} holds data of other parameters or another seed", stage.title(), stage.address());
            let help = "`perbuck prepare --force STUDY` loads them anew, or give the workload its own `database`";
            Err(CliError::new(Exit::Refused, message, help))
        }
        DataState::Absent | DataState::Unfinished => {
            load(stage, stop, progress)?;
            Ok(Ensured::Loaded)
        }
        DataState::Foreign { complete: true, .. } => Ok(Ensured::Foreign),
        DataState::Foreign { complete: false, found } => Err(foreign(stage, &found)),
    }
}

/// Tables that another tool made are never dropped.
///
/// # Errors
/// When there are such tables.
pub(crate) fn refuse_foreign(stage: &dyn Stage) -> Result<(), CliError> {
    match stage.state()? {
        DataState::Foreign { found, .. } => Err(foreign(stage, &found)),
        _ => Ok(()),
    }
}

fn foreign(stage: &dyn Stage, found: &str) -> CliError {
    let message = format!(
        "{}: {} holds tables that perbuck did not make, or that are not as it loaded them: {found}",
        stage.title(),
        stage.address()
    );
    CliError::new(
        Exit::Refused,
        message,
        "drop them yourself, load them with the right size, or give the workload its own `database`",
    )
}

/// Loads the data of a stage anew and checks them.
///
/// # Errors
/// A failed load or a condition that does not hold.
pub(crate) fn load(stage: &dyn Stage, stop: &StopToken, progress: &mut Progress) -> Result<(), CliError> {
    let mut last = LoadProgress { rows: 0, parts: 0, of: 0 };
    stage.load(stop, &mut |p| {
        last = p;
        let share = (p.parts * 100).checked_div(p.of).unwrap_or(0);
        progress.passing(&format!("loading {}: {} rows, {share} %", stage.title(), thousands(p.rows)));
    })?;
    progress.line(&format!("{}: loaded {} rows", stage.title(), thousands(last.rows)));
    check(stage, progress)
}

/// Checks the data of a stage.
///
/// # Errors
/// The first conditions that do not hold, with offending rows.
pub(crate) fn check(stage: &dyn Stage, progress: &mut Progress) -> Result<(), CliError> {
    let results = stage.checks()?;
    for result in &results {
        progress.line(&check_line(stage, result));
    }
    if results.iter().all(CheckResult::holds) {
        return Ok(());
    }
    let broken: Vec<&str> = results.iter().filter(|r| !r.holds()).map(|r| r.name.as_str()).collect();
    let message = format!("{}: the data are inconsistent (condition {})", stage.title(), broken.join(", "));
    Err(CliError::new(
        Exit::Failed,
        message,
        "no figure measured on such data means anything; `perbuck prepare --force STUDY` loads them anew",
    ))
}

fn check_line(stage: &dyn Stage, result: &CheckResult) -> String {
    let CheckResult { name, what, compared, violations } = result;
    if result.holds() {
        format!("{}: {name} holds: {what} ({} compared)", stage.title(), thousands(*compared))
    } else if *compared == 0 {
        format!("{}: {name} BROKEN: {what}: there was nothing to compare", stage.title())
    } else {
        format!("{}: {name} BROKEN: {what}: {}", stage.title(), violations.join("; "))
    }
}
