//! Loading and checking the data of a study.

use std::time::{Duration, Instant};

use perbuck_core::units::thousands;
use perbuck_load::loader::{CheckResult, LoadProgress};
use perbuck_load::stop::StopToken;

use crate::data::DataState;
use crate::error::LabError;
use crate::inputs::Inputs;
use crate::lease::Leases;
use crate::preflight::{self, Purpose, Request};
use crate::progress::{Done, Progress};
use crate::rest;
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
    let connections = sessions.unwrap_or(stage::LOAD_SESSIONS);
    let purpose = match preparation {
        Preparation::CheckOnly => Purpose::Check,
        _ => Purpose::Load { reload: preparation == Preparation::Force },
    };
    let passwords = stage::passwords(inputs, ask_password)?;
    let request = Request { purpose, connections, threads: Some(connections), apart: false, results: None };
    preflight::pass(inputs, request, &passwords, progress, stop)?;
    let stages = stage::build(inputs, &Servers::default(), &passwords, stop)?;
    // A check changes nothing.
    let loads = preparation != Preparation::CheckOnly;
    let _leases = loads.then(|| Leases::take(&inputs.study, &stages, stop, progress)).transpose()?;
    for stage in &stages {
        match preparation {
            Preparation::CheckOnly => {
                if stage.data.state()? == DataState::Unfinished {
                    let message = format!("{}: the load of {}, or a restore, has not ended", stage.title, stage.address);
                    let help = "`perbuck prepare STUDY` continues the load, or starts it again";
                    return Err(LabError::failed(message, help));
                }
                check_and_tell(stage, progress)?;
            }
            Preparation::Force => {
                if let DataState::Foreign { found, .. } = stage.data.state()? {
                    return Err(foreign(stage, &found));
                }
                load(stage, sessions, stop, progress)?;
            }
            Preparation::Missing => {
                let words = match ensure(stage, sessions, stop, progress)? {
                    Ensured::Loaded | Ensured::Continued => continue,
                    Ensured::Kept => "the data are there",
                    Ensured::Foreign => "complete tables of another tool are there, and are used as they are",
                };
                progress.line(&format!("{}: {words}", stage.title));
                check_and_tell(stage, progress)?;
            }
        }
    }
    let each = stages.chunks(inputs.study.workloads.len().max(1)).filter(|_| loads);
    each.into_iter().try_for_each(|own| rest::wait(&own.iter().collect::<Vec<_>>(), stop, progress))
}

pub(crate) enum Ensured {
    /// The data were there.
    Kept,
    /// They were loaded.
    Loaded,
    /// A load that was cut off went on.
    Continued,
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
        DataState::Unfinished => match stage.data.unfinished()? {
            Some(rows) => go_on(stage, rows, sessions, stop, progress).map(|()| Ensured::Continued),
            None => load(stage, sessions, stop, progress).map(|()| Ensured::Loaded),
        },
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
    progress.line(&format!("{}: {}{}", stage.title, loaded(p.rows), after_rows(&p)));
    check_and_tell(stage, progress)?;
    tiflash::ready(stage, stop, progress)
}

/// Goes on with a load that was cut off when so many rows were in, and checks the data.
fn go_on(stage: &Stage, rows: u64, sessions: Option<u32>, stop: &StopToken, progress: &mut dyn Progress) -> Result<(), LabError> {
    progress.line(&format!("{}: going on with a load that was cut off after {} rows", stage.title, thousands(rows)));
    let p = shown(stage, progress, |show| stage.data.resume(sessions, show))?;
    let (all, now) = (thousands(p.rows), thousands(p.rows - p.rows_before));
    progress.line(&format!("{}: loaded {all} rows, {now} of them now{}", stage.title, after_rows(&p)));
    check_and_tell(stage, progress)?;
    tiflash::ready(stage, stop, progress)
}

/// What a load did: the rows of a script of the user are not counted.
fn loaded(rows: u64) -> String {
    if rows == 0 { "made the tables".to_owned() } else { format!("loaded {} rows", thousands(rows)) }
}

/// How long the statistics took; nothing where the database gathers none.
pub fn statistics(p: &LoadProgress) -> Option<String> {
    (p.statistics_ms > 0).then(|| format!("ANALYZE took {:.1} s, over all sessions", p.statistics_ms as f64 / 1e3))
}

fn after_rows(p: &LoadProgress) -> String {
    statistics(p).map_or_else(String::new, |text| format!("; {text}"))
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
        show_load(progress, &format!("{}: ", stage.title), &p, began.elapsed());
    })?;
    Ok(last)
}

/// Shows how far a load is after that time; `head` says which one.
pub fn show_load(progress: &mut dyn Progress, head: &str, p: &LoadProgress, elapsed: Duration) {
    let (text, done) = load_shown(p, elapsed);
    progress.advancing(&format!("{head}{text}"), done);
}

fn load_shown(p: &LoadProgress, elapsed: Duration) -> (String, Done) {
    let rows = thousands(p.rows);
    if p.parts == p.of {
        let text = format!("{rows} rows are in; indexing and counting, {} of {} tables done", p.tables_finished, p.tables);
        return (text, Done { share: 1.0, left: None });
    }
    let seconds = elapsed.as_secs_f64().max(0.001);
    let rate = thousands(((p.rows - p.rows_before) as f64 / seconds) as u64);
    // What an earlier load did says nothing about the time that is left. Before this one has finished a part, a guess is too early.
    let (done, to_do) = (p.parts.saturating_sub(p.parts_before), p.of - p.parts_before);
    let left = (done > 0).then(|| elapsed.mul_f64(f64::from(to_do) / f64::from(done) - 1.0));
    (format!("loading {rows} rows, {rate} rows/s"), Done { share: f64::from(p.parts) / f64::from(p.of), left })
}

/// How many conditions were checked, and what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Checked {
    all: usize,
    holding: usize,
    not_applicable: usize,
}

impl Checked {
    fn of(results: &[CheckResult]) -> Self {
        let count = |wanted: fn(&CheckResult) -> bool| results.iter().filter(|r| wanted(r)).count();
        Self { all: results.len(), holding: count(|r| r.applies && r.holds()), not_applicable: count(|r| !r.applies) }
    }

    /// Both together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            all: self.all + other.all,
            holding: self.holding + other.holding,
            not_applicable: self.not_applicable + other.not_applicable,
        }
    }

    /// `11 of 12 conditions hold, 1 does not apply`; `None` where there is none.
    pub(crate) fn text(self) -> Option<String> {
        let Self { all, holding, not_applicable } = self;
        let rest = match not_applicable {
            0 => String::new(),
            1 => ", 1 does not apply".to_owned(),
            n => format!(", {n} do not apply"),
        };
        let conditions = if all == 1 { "condition holds" } else { "conditions hold" };
        (all > 0).then(|| format!("{holding} of {all} {conditions}{rest}"))
    }
}

/// Checks the data of a stage, and says how many conditions hold.
fn check_and_tell(stage: &Stage, progress: &mut dyn Progress) -> Result<(), LabError> {
    if let Some(text) = check(stage, progress)?.text() {
        progress.line(&format!("{}: {text}", stage.title));
    }
    Ok(())
}

/// Checks the data of a stage. Each condition that does not hold is told, and the error names it.
pub(crate) fn check(stage: &Stage, progress: &mut dyn Progress) -> Result<Checked, LabError> {
    progress.passing(&format!("{}: checking the data", stage.title));
    let results = stage.data.checks(&|_| true, &mut |_| {})?;
    let mut broken = Vec::new();
    for result in &results {
        let line = format!("{}: {}", stage.title, condition_text(result));
        if result.holds() {
            progress.detail(&line);
        } else {
            progress.alert(&line);
            broken.push(result.name.as_str());
        }
    }
    if broken.is_empty() {
        return Ok(Checked::of(&results));
    }
    let message = format!("{}: the data are inconsistent (condition {})", stage.title, broken.join(", "));
    let help = "measurements on such data mean nothing; `perbuck prepare --force STUDY` loads them again";
    Err(LabError::failed(message, help))
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
    fn conditions_are_counted() {
        let check = |compared, applies| CheckResult {
            name: "1".to_owned(),
            what: "sums agree".to_owned(),
            compared,
            violations: Vec::new(),
            applies,
        };
        let text = |results: &[CheckResult]| Checked::of(results).text();
        let [held, broken, away] = [check(10, true), check(0, true), check(0, false)];
        assert_eq!(text(&[]), None);
        assert_eq!(text(std::slice::from_ref(&held)).unwrap(), "1 of 1 condition holds");
        assert_eq!(text(&[held.clone(), held.clone(), away.clone()]).unwrap(), "2 of 3 conditions hold, 1 does not apply");
        assert_eq!(text(&[held.clone(), broken.clone()]).unwrap(), "1 of 2 conditions hold");
        let both = Checked::of(&[held.clone(), away.clone()]).and(Checked::of(&[held.clone(), away.clone()]));
        assert_eq!(both.text().unwrap(), "2 of 4 conditions hold, 2 do not apply");
        assert_eq!(condition_text(&held), "1 holds: sums agree (10 compared)");
        assert_eq!(condition_text(&broken), "1 BROKEN: sums agree: there was nothing to compare");
        let words = "1 is not applicable: sums agree: stated for fresh data, and transactions have run on these";
        assert_eq!(condition_text(&away), words);
    }

    #[test]
    fn a_load_says_how_fast_it_is_and_how_long_it_takes_yet() {
        let at = |rows, parts, done| LoadProgress { rows, parts, of: 8, tables_finished: done, tables: 2, ..Default::default() };
        let resumed = LoadProgress { rows_before: 700_000, parts_before: 4, ..at(1_000_000, 6, 0) };
        for (load, seconds, text, share, left) in [
            (at(50_000, 0, 0), 2, "loading 50,000 rows, 25,000 rows/s", 0.0, None),
            (at(1_000_000, 2, 0), 30, "loading 1,000,000 rows, 33,333 rows/s", 0.25, Some(90)),
            (resumed, 30, "loading 1,000,000 rows, 10,000 rows/s", 0.75, Some(30)),
            (at(4_000_000, 8, 1), 60, "4,000,000 rows are in; indexing and counting, 1 of 2 tables done", 1.0, None),
        ] {
            let done = Done { share, left: left.map(Duration::from_secs) };
            assert_eq!(load_shown(&load, Duration::from_secs(seconds)), (text.to_owned(), done));
        }
    }
}
