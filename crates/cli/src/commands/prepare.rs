//! `perbuck prepare STUDY`, and the loading and checking that `run` shares with it.

use std::time::{Duration, Instant};

use perbuck_core::units::thousands;
use perbuck_load::loader::{CheckResult, LoadProgress};
use perbuck_load::stop::StopToken;

use crate::args::PrepareArguments;
use crate::commands::{TRIAL_STOPS, stop_on_signal};
use crate::data::DataState;
use crate::error::{CliError, Exit};
use crate::inputs;
use crate::progress::{Progress, clock_text};
use crate::servers::Servers;
use crate::stage::{self, Stage};
use crate::tiflash;

pub(crate) mod files;

/// Loads what a study needs and checks it.
pub(crate) fn run(arguments: &PrepareArguments) -> Result<(), CliError> {
    let inputs = inputs::read_to_measure(&arguments.study, None)?;
    if arguments.files.output_type.is_some() {
        return files::run(&inputs, &arguments.files);
    }
    if let Some(contender) = inputs.study.contenders.iter().find(|c| c.server.is_some()) {
        let message = format!("contender `{}` has a private server, which goes with the command that starts it", contender.name);
        return Err(CliError::new(Exit::Usage, message, "`perbuck run STUDY` loads the data of such a server itself"));
    }
    let stop = stop_on_signal(TRIAL_STOPS)?;
    let mut progress = Progress::new();
    for stage in stage::build(&inputs, &Servers::none(), arguments.password.ask_password)? {
        if arguments.check {
            if stage.state()? == DataState::Unfinished {
                let message = format!("{}: the load of {} has not ended", stage.title(), stage.address());
                return Err(CliError::new(
                    Exit::Failed,
                    message,
                    "`perbuck prepare STUDY` goes on with it, or begins anew where it cannot",
                ));
            }
            check(stage.as_ref(), &mut progress)?;
        } else if arguments.force {
            refuse_foreign(stage.as_ref())?;
            load(stage.as_ref(), arguments.sessions, &stop, &mut progress)?;
        } else {
            let words = match ensure(stage.as_ref(), arguments.sessions, &stop, &mut progress)? {
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
pub(crate) fn ensure(
    stage: &dyn Stage,
    sessions: Option<u32>,
    stop: &StopToken,
    progress: &mut Progress,
) -> Result<Ensured, CliError> {
    tiflash::possible(stage)?;
    match stage.state()? {
        DataState::Ours { fingerprint, .. } if fingerprint == stage.fingerprint() => {
            tiflash::ready(stage, stop, progress)?;
            Ok(Ensured::Kept)
        }
        DataState::Ours { .. } => {
            let message = format!("{}: {} holds data of other parameters or another seed", stage.title(), stage.address());
            let help = "`perbuck prepare --force STUDY` loads them anew, or give the workload its own `database`";
            Err(CliError::new(Exit::Refused, message, help))
        }
        DataState::Unfinished => {
            match stage.unfinished()? {
                Some(rows) => go_on(stage, rows, sessions, stop, progress)?,
                None => load(stage, sessions, stop, progress)?,
            }
            Ok(Ensured::Loaded)
        }
        DataState::Absent => {
            load(stage, sessions, stop, progress)?;
            Ok(Ensured::Loaded)
        }
        DataState::Foreign { complete: true, .. } => {
            tiflash::ready(stage, stop, progress)?;
            Ok(Ensured::Foreign)
        }
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
pub(crate) fn load(stage: &dyn Stage, sessions: Option<u32>, stop: &StopToken, progress: &mut Progress) -> Result<(), CliError> {
    // Before anything is dropped: what cannot be had behind the load is not loaded for.
    tiflash::possible(stage)?;
    let (mut last, began) = (LoadProgress::default(), Instant::now());
    stage.load(sessions, stop, &mut |p| {
        last = p;
        progress.passing(&format!("{}: {}", stage.title(), load_text(&p, began.elapsed())));
    })?;
    progress.line(&format!("{}: loaded {} rows", stage.title(), thousands(last.rows)));
    check(stage, progress)?;
    tiflash::ready(stage, stop, progress)
}

/// Goes on with a load that was cut off when so many rows were in, and checks the data.
fn go_on(stage: &dyn Stage, rows: u64, sessions: Option<u32>, stop: &StopToken, progress: &mut Progress) -> Result<(), CliError> {
    progress.line(&format!("{}: going on with a load that was cut off after {} rows", stage.title(), thousands(rows)));
    let (mut last, began) = (LoadProgress::default(), Instant::now());
    stage.resume(sessions, stop, &mut |p| {
        last = p;
        progress.passing(&format!("{}: {}", stage.title(), load_text(&p, began.elapsed())));
    })?;
    let (all, now) = (thousands(last.rows), thousands(last.rows - last.rows_before));
    progress.line(&format!("{}: loaded {all} rows, {now} of them now", stage.title()));
    check(stage, progress)?;
    tiflash::ready(stage, stop, progress)
}

/// How far a load is after that time.
pub(crate) fn load_text(p: &LoadProgress, elapsed: Duration) -> String {
    if p.parts == p.of {
        return format!(
            "{} rows are in; indexing and counting, {} of {} tables done",
            thousands(p.rows),
            p.tables_finished,
            p.tables
        );
    }
    let seconds = elapsed.as_secs_f64().max(0.001);
    let (rows, rate) = (thousands(p.rows), thousands(((p.rows - p.rows_before) as f64 / seconds) as u64));
    // What an earlier load did says nothing about the time that is left; and it is too early for a guess as long as this one
    // has finished no part.
    let (done, to_do) = (p.parts.saturating_sub(p.parts_before), p.of - p.parts_before);
    let left = match done {
        0 => String::new(),
        _ => format!(", {} left", clock_text(elapsed.mul_f64(f64::from(to_do) / f64::from(done) - 1.0))),
    };
    format!("loading {rows} rows, {:.0} %, {rate} rows/s{left}", f64::from(p.parts) / f64::from(p.of) * 100.0)
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
    format!("{}: {}", stage.title(), condition_text(result))
}

/// What became of a condition, with what was compared or the first offending rows.
pub(crate) fn condition_text(result: &CheckResult) -> String {
    let CheckResult { name, what, compared, violations, applies } = result;
    if !applies {
        format!("{name} is not applicable: {what}: stated for fresh data, and transactions have run on these")
    } else if result.holds() {
        format!("{name} holds: {what} ({} compared)", thousands(*compared))
    } else if *compared == 0 {
        format!("{name} BROKEN: {what}: there was nothing to compare")
    } else {
        format!("{name} BROKEN: {what}: {}", violations.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_says_how_fast_it_is_and_how_long_it_takes_yet() {
        let at = |rows, parts, tables_finished| LoadProgress {
            rows,
            parts,
            of: 8,
            tables_finished,
            tables: 2,
            ..LoadProgress::default()
        };
        let text = |p: LoadProgress, seconds| load_text(&p, Duration::from_secs(seconds));
        assert_eq!(text(at(50_000, 0, 0), 2), "loading 50,000 rows, 0 %, 25,000 rows/s");
        assert_eq!(text(at(1_000_000, 2, 0), 30), "loading 1,000,000 rows, 25 %, 33,333 rows/s, 1:30 min left");
        let resumed = LoadProgress { rows_before: 700_000, parts_before: 4, ..at(1_000_000, 6, 0) };
        assert_eq!(text(resumed, 30), "loading 1,000,000 rows, 75 %, 10,000 rows/s, 0:30 min left");
        assert_eq!(text(at(4_000_000, 8, 1), 60), "4,000,000 rows are in; indexing and counting, 1 of 2 tables done");
    }
}
