//! Loading and checking the data of a study.

use std::time::{Duration, Instant};

use perbuck_core::units::thousands;
use perbuck_load::loader::{CheckResult, LoadProgress};
use perbuck_load::stop::StopToken;

use crate::data::DataState;
use crate::error::LabError;
use crate::inputs::Inputs;
use crate::process;
use crate::progress::{Progress, clock_text};
use crate::servers::Servers;
use crate::stage::{self, AskPassword, Stage};
use crate::tiflash;

/// What is done with the data of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preparation {
    /// What is missing is loaded; data that are there are checked.
    Missing,
    /// Everything of perbuck's is loaded again.
    Force,
    /// Nothing is loaded; the data that are there are checked.
    CheckOnly,
}

/// Loads what a study needs and checks it; `sessions` load at the same time.
///
/// # Errors
/// A private server, which would be gone afterwards; a target's answer; data that are not ours or inconsistent.
pub fn study(
    inputs: &Inputs,
    preparation: Preparation,
    (sessions, ask_password): (Option<u32>, Option<AskPassword>),
    progress: &mut dyn Progress,
    stop: &StopToken,
) -> Result<(), LabError> {
    if let Some(contender) = inputs.study.contenders.iter().find(|c| c.server.is_some()) {
        let message = format!("contender `{}` has a private server, which goes with the command that starts it", contender.name);
        return Err(LabError::usage(message, "`perbuck run STUDY` loads the data of such a server itself"));
    }
    let loading = sessions.unwrap_or(stage::LOAD_SESSIONS);
    process::enough_descriptors(&inputs.targets, loading, Some(loading))?;
    for stage in &stage::build(inputs, &Servers::default(), ask_password, stop)? {
        match preparation {
            Preparation::CheckOnly => {
                if stage.data.state()? == DataState::Unfinished {
                    let message = format!("{}: the load of {} has not ended", stage.title, stage.address);
                    let help = "`perbuck prepare STUDY` continues the load, or starts it again";
                    return Err(LabError::failed(message, help));
                }
                check_and_tell(stage, Told::Every, progress)?;
            }
            Preparation::Force => {
                if let DataState::Foreign { found, .. } = stage.data.state()? {
                    return Err(foreign(stage, &found));
                }
                load(stage, sessions, stop, progress)?;
            }
            Preparation::Missing => {
                let words = match ensure(stage, sessions, stop, progress)? {
                    Ensured::Loaded => continue,
                    Ensured::Kept => "the data are there",
                    Ensured::Foreign => "complete tables of another tool are there, and are used as they are",
                };
                progress.line(&format!("{}: {words}", stage.title));
                check(stage, progress)?;
            }
        }
    }
    Ok(())
}

pub(crate) enum Ensured {
    /// The data were there.
    Kept,
    /// They were loaded.
    Loaded,
    /// Complete tables of another tool are used as they are.
    Foreign,
}

/// Makes sure that the target holds the data of a stage. Data of other parameters and incomplete tables of another tool are
/// refused.
pub(crate) fn ensure(
    stage: &Stage,
    sessions: Option<u32>,
    stop: &StopToken,
    progress: &mut dyn Progress,
) -> Result<Ensured, LabError> {
    tiflash::possible(stage)?;
    match stage.data.state()? {
        DataState::Ours { fingerprint, .. } if fingerprint == stage.fingerprint => {
            tiflash::ready(stage, stop, progress)?;
            Ok(Ensured::Kept)
        }
        DataState::Ours { .. } => {
            let message = format!("{}: {} holds data of other parameters or another seed", stage.title, stage.address);
            let help = "`perbuck prepare --force STUDY` loads them again, or give the workload its own `database`";
            Err(LabError::refused(message, help))
        }
        DataState::Unfinished => {
            match stage.data.unfinished()? {
                Some(rows) => go_on(stage, rows, sessions, stop, progress)?,
                None => load(stage, sessions, stop, progress)?,
            }
            Ok(Ensured::Loaded)
        }
        DataState::Absent => load(stage, sessions, stop, progress).map(|()| Ensured::Loaded),
        DataState::Foreign { complete: true, .. } => {
            tiflash::ready(stage, stop, progress)?;
            Ok(Ensured::Foreign)
        }
        DataState::Foreign { complete: false, found } => Err(foreign(stage, &found)),
    }
}

/// Tables that another tool made are never dropped.
fn foreign(stage: &Stage, found: &str) -> LabError {
    let message = format!(
        "{}: {} holds tables that perbuck did not make, or that are not as it loaded them: {found}",
        stage.title, stage.address
    );
    LabError::refused(message, "drop them yourself, load them with the right size, or give the workload its own `database`")
}

/// Loads the data of a stage again and checks them.
pub(crate) fn load(stage: &Stage, sessions: Option<u32>, stop: &StopToken, progress: &mut dyn Progress) -> Result<(), LabError> {
    // Before anything is dropped: replicas that cannot be had after the load make it pointless.
    tiflash::possible(stage)?;
    let p = shown(stage, progress, |show| stage.data.load(sessions, show))?;
    progress.line(&format!("{}: loaded {} rows", stage.title, thousands(p.rows)));
    check(stage, progress)?;
    tiflash::ready(stage, stop, progress)
}

/// Goes on with a load that was cut off when so many rows were in, and checks the data.
fn go_on(stage: &Stage, rows: u64, sessions: Option<u32>, stop: &StopToken, progress: &mut dyn Progress) -> Result<(), LabError> {
    progress.line(&format!("{}: going on with a load that was cut off after {} rows", stage.title, thousands(rows)));
    let p = shown(stage, progress, |show| stage.data.resume(sessions, show))?;
    let (all, now) = (thousands(p.rows), thousands(p.rows - p.rows_before));
    progress.line(&format!("{}: loaded {all} rows, {now} of them now", stage.title));
    check(stage, progress)?;
    tiflash::ready(stage, stop, progress)
}

/// Shows how far a load is; returns how far it came.
fn shown(
    stage: &Stage,
    progress: &mut dyn Progress,
    load: impl FnOnce(&mut dyn FnMut(LoadProgress)) -> Result<(), LabError>,
) -> Result<LoadProgress, LabError> {
    let (mut last, began) = (LoadProgress::default(), Instant::now());
    load(&mut |p| {
        last = p;
        progress.passing(&format!("{}: {}", stage.title, load_text(&p, began.elapsed())));
    })?;
    Ok(last)
}

/// How far a load is after that time.
pub fn load_text(p: &LoadProgress, elapsed: Duration) -> String {
    let rows = thousands(p.rows);
    if p.parts == p.of {
        return format!("{rows} rows are in; indexing and counting, {} of {} tables done", p.tables_finished, p.tables);
    }
    let seconds = elapsed.as_secs_f64().max(0.001);
    let rate = thousands(((p.rows - p.rows_before) as f64 / seconds) as u64);
    // What an earlier load did says nothing about the time that is left. Before this one has finished a part, a guess is too early.
    let (done, to_do) = (p.parts.saturating_sub(p.parts_before), p.of - p.parts_before);
    let left = match done {
        0 => String::new(),
        _ => format!(", {} left", clock_text(elapsed.mul_f64(f64::from(to_do) / f64::from(done) - 1.0))),
    };
    format!("loading {rows} rows, {:.0} %, {rate} rows/s{left}", f64::from(p.parts) / f64::from(p.of) * 100.0)
}

/// Which checks get a line of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    /// Every check.
    Every,
    /// Those that do not hold or do not apply; the others are counted in one line.
    Summary,
}

/// Checks the data of a stage; the error names the conditions that do not hold.
pub(crate) fn check(stage: &Stage, progress: &mut dyn Progress) -> Result<(), LabError> {
    check_and_tell(stage, Told::Summary, progress)
}

fn check_and_tell(stage: &Stage, told: Told, progress: &mut dyn Progress) -> Result<(), LabError> {
    let results = stage.data.checks(&|_| true, &mut |_| {})?;
    for line in check_lines(&results, told) {
        progress.line(&format!("{}: {line}", stage.title));
    }
    let broken: Vec<&str> = results.iter().filter(|r| !r.holds()).map(|r| r.name.as_str()).collect();
    if broken.is_empty() {
        return Ok(());
    }
    let message = format!("{}: the data are inconsistent (condition {})", stage.title, broken.join(", "));
    let help = "measurements on such data mean nothing; `perbuck prepare --force STUDY` loads them again";
    Err(LabError::failed(message, help))
}

fn check_lines(results: &[CheckResult], told: Told) -> Vec<String> {
    let counted = |r: &&CheckResult| told == Told::Summary && r.applies && r.holds();
    let summary = match results.iter().filter(counted).count() {
        0 => None,
        1 => Some("1 check holds".to_owned()),
        count => Some(format!("{count} checks hold")),
    };
    summary.into_iter().chain(results.iter().filter(|r| !counted(r)).map(condition_text)).collect()
}

/// What became of a condition, with what was compared or the first offending rows.
pub fn condition_text(result: &CheckResult) -> String {
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
    fn checks_that_hold_are_counted_and_the_others_are_told() {
        let check = |name: &str, compared, applies| CheckResult {
            name: name.to_owned(),
            what: "sums agree".to_owned(),
            compared,
            violations: Vec::new(),
            applies,
        };
        let results = [check("1", 10, true), check("2", 0, true), check("3", 10, true), check("4", 0, false)];
        let [broken, away] = [
            "2 BROKEN: sums agree: there was nothing to compare",
            "4 is not applicable: sums agree: stated for fresh data, and transactions have run on these",
        ];
        assert_eq!(check_lines(&results, Told::Summary), ["2 checks hold", broken, away]);
        assert_eq!(check_lines(&results[..2], Told::Summary), ["1 check holds", broken]);
        assert_eq!(check_lines(&results[1..2], Told::Summary), [broken]);
        let holds = |name| format!("{name} holds: sums agree (10 compared)");
        assert_eq!(check_lines(&results, Told::Every), [holds(1), broken.to_owned(), holds(3), away.to_owned()]);
    }

    #[test]
    fn a_load_says_how_fast_it_is_and_how_long_it_takes_yet() {
        let at = |rows, parts, done| LoadProgress { rows, parts, of: 8, tables_finished: done, tables: 2, ..Default::default() };
        let resumed = LoadProgress { rows_before: 700_000, parts_before: 4, ..at(1_000_000, 6, 0) };
        for (load, seconds, text) in [
            (at(50_000, 0, 0), 2, "loading 50,000 rows, 0 %, 25,000 rows/s"),
            (at(1_000_000, 2, 0), 30, "loading 1,000,000 rows, 25 %, 33,333 rows/s, 1:30 min left"),
            (resumed, 30, "loading 1,000,000 rows, 75 %, 10,000 rows/s, 0:30 min left"),
            (at(4_000_000, 8, 1), 60, "4,000,000 rows are in; indexing and counting, 1 of 2 tables done"),
        ] {
            assert_eq!(load_text(&load, Duration::from_secs(seconds)), text);
        }
    }
}
