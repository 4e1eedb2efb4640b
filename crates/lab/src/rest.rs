//! Waiting after a load until the servers do nothing more of themselves (`wait_ready`): compactions, splits and moves that a load left to do
//! would fall on the first trials.

use std::thread;
use std::time::{Duration, Instant};

use perbuck_load::driver::Settling;
use perbuck_load::stop::StopToken;

use crate::error::LabError;
use crate::progress::{Progress, clock_text};
use crate::stage::Stage;

/// How long is waited where the study says nothing.
const LIMIT: Duration = Duration::from_secs(30 * 60);
/// How long nothing may have moved. TiKV looks for regions to split every 10 s.
const STILL: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(100);
const AT_ONCE: &str = "`wait_ready = \"0s\"` measures at once";

/// Waits until the servers of a stage are at rest, as far as they tell.
pub(crate) fn wait(stage: &Stage, stop: &StopToken, progress: &mut dyn Progress) -> Result<(), LabError> {
    let limit = stage.wait_ready.unwrap_or(LIMIT);
    if limit.is_zero() {
        return Ok(());
    }
    let Some(first) = stage.server.settling()? else {
        if stage.wait_ready.is_some() {
            let who = stage.dialect.name();
            progress.line(&format!("{}: {who} does not tell whether it is at rest; trials begin without a wait", stage.title));
        }
        return Ok(());
    };
    let silent: Vec<String> = first.not_told.iter().map(|(part, why)| format!("{part} ({why})")).collect();
    if !silent.is_empty() {
        progress.line(&format!("{}: cannot tell whether these are at rest: {}", stage.title, silent.join(", ")));
    }
    if first.not_told.contains_key("tikv") {
        return Ok(());
    }
    until_still(stage, (first, limit), stop, progress)
}

fn until_still(
    stage: &Stage,
    (first, limit): (Settling, Duration),
    stop: &StopToken,
    progress: &mut dyn Progress,
) -> Result<(), LabError> {
    let began = Instant::now();
    let (mut seen, mut still) = (Seen { settling: first, since: began }, Duration::ZERO);
    while !seen.settling.open.is_empty() || still < STILL {
        let waited = began.elapsed();
        let why = seen.why(still);
        if waited >= limit {
            let limit = clock_text(limit);
            let message = format!("{}: after {limit} (`wait_ready`) the servers are not at rest: {why}", stage.title);
            let help =
                format!("look at the cluster, raise `wait_ready` of the contender, or {AT_ONCE}; the same command waits on");
            return Err(LabError::failed(message, &help));
        }
        progress.passing(&format!("{}: waiting for {} until the servers are at rest: {why}", stage.title, clock_text(waited)));
        pause(POLL.min(limit - waited), stop)?;
        let now = stage.server.settling()?.unwrap_or_default();
        if now.changes != seen.settling.changes {
            seen.since = Instant::now();
        }
        seen.settling = now;
        still = seen.since.elapsed();
    }
    progress.line(&format!("{}: the servers are at rest after {}", stage.title, clock_text(began.elapsed())));
    Ok(())
}

struct Seen {
    settling: Settling,
    /// When something last moved.
    since: Instant,
}

impl Seen {
    fn why(&self, still: Duration) -> String {
        if !self.settling.open.is_empty() {
            return self.settling.open.join("; ");
        }
        format!("regions or leaders moved {} s ago, and have to stand still for {} s", still.as_secs(), STILL.as_secs())
    }
}

/// Waits; a request to stop ends it.
pub(crate) fn pause(whole: Duration, stop: &StopToken) -> Result<(), LabError> {
    let began = Instant::now();
    while let Some(rest) = whole.checked_sub(began.elapsed()).filter(|rest| !rest.is_zero()) {
        if stop.requested() {
            return Err(LabError::interrupted());
        }
        thread::sleep(rest.min(STEP));
    }
    Ok(())
}
