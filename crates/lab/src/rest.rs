//! Waiting after a load until the servers do nothing more of themselves (`wait_ready`): pages to write, compactions, splits and moves that a
//! load left to do would fall on the first trials.

use std::thread;
use std::time::{Duration, Instant};

use perbuck_load::driver::Settling;
use perbuck_load::error::Cause;
use perbuck_load::stop::StopToken;

use crate::error::LabError;
use crate::progress::{Progress, clock_text};
use crate::stage::Stage;

/// How long is waited where the study says nothing.
const LIMIT: Duration = Duration::from_secs(30 * 60);
/// How long nothing may have moved. TiKV looks for regions to split every 10 s.
pub(crate) const STILL: Duration = Duration::from_secs(15);
/// After how long without a move an uneven division is taken for wanted: leaders have weights, and stores may be told to have none.
const WANTED: Duration = Duration::from_secs(120);
/// How often servers that keep silent are asked before there is no wait: after a load they may answer late.
const ASKED: u32 = 5;
const POLL: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(100);

/// Waits until the servers of these stages of one contender are at rest, as far as they tell.
pub(crate) fn wait(stages: &[&Stage], stop: &StopToken, progress: &mut dyn Progress) -> Result<(), LabError> {
    let Some(stage) = stages.first() else { return Ok(()) };
    if limit(stage).is_zero() {
        return Ok(());
    }
    let mut wrote = false;
    for stage in stages {
        wrote |= write_back(stage, progress)?;
    }
    settled(stage, wrote, stop, progress)
}

fn limit(stage: &Stage) -> Duration {
    stage.wait_ready.unwrap_or(LIMIT)
}

/// Waits until the servers of a stage say that they are at rest; where they never do, it is said, unless what a load left is `written`.
pub(crate) fn settled(stage: &Stage, written: bool, stop: &StopToken, progress: &mut dyn Progress) -> Result<(), LabError> {
    let (title, limit) = (&stage.title, limit(stage));
    if limit.is_zero() {
        return Ok(());
    }
    let Some(mut first) = stage.server.settling()? else {
        if stage.wait_ready.is_some() && !written {
            let who = stage.dialect.name();
            progress.line(&format!("{title}: {who} does not tell whether it is at rest; trials begin without a wait"));
        }
        return Ok(());
    };
    for _ in 1..ASKED {
        if first.told {
            break;
        }
        progress.passing(&format!("{title}: asking the servers whether they are at rest"));
        pause(POLL, stop)?;
        first = stage.server.settling()?.unwrap_or_default();
    }
    if !first.not_told.is_empty() {
        progress.alert(&format!("{title}: cannot tell whether these are at rest: {}", silent(&first)));
    }
    if first.told { until_still(stage, (first, limit), stop, progress) } else { Ok(()) }
}

/// Has the server write what the load left in its memory; whether it knows how to.
fn write_back(stage: &Stage, progress: &mut dyn Progress) -> Result<bool, LabError> {
    // What lay there before perbuck came is not its own.
    if stage.tables.is_empty() {
        return Ok(false);
    }
    match stage.server.write_back(&stage.tables) {
        Err(denied) if denied.cause == Some(Cause::NoRight) => {
            let why = "the first trials share the server with what the load left to write";
            progress.alert(&format!("{}: {}, so {why}; grant the user the right to", stage.title, denied.message));
            Ok(true)
        }
        done => done.map_err(|error| LabError::target(&stage.title, &error)),
    }
}

/// The parts that do not tell, and why.
fn silent(settling: &Settling) -> String {
    let each: Vec<String> = settling.not_told.iter().map(|(part, why)| format!("{part} ({why})")).collect();
    each.join(", ")
}

fn until_still(
    stage: &Stage,
    (first, limit): (Settling, Duration),
    stop: &StopToken,
    progress: &mut dyn Progress,
) -> Result<(), LabError> {
    let (title, began) = (&stage.title, Instant::now());
    let mut watch = Watch { now: first, since: began, moved: false };
    while let Some(why) = watch.why_not() {
        let waited = began.elapsed();
        if waited >= limit {
            let message = format!("{title}: after {} (`wait_ready`) the servers are not at rest: {why}", clock_text(limit));
            let help = "look at the cluster, or raise `wait_ready` of the contender; the same command waits on, and \
                        `wait_ready = \"0s\"` measures at once";
            return Err(LabError::failed(message, help));
        }
        progress.passing(&format!("{title}: waiting for {} until the servers are at rest: {why}", clock_text(waited)));
        pause(POLL.min(limit - waited), stop)?;
        watch.see(stage.server.settling()?.unwrap_or_default());
    }
    if let Some(uneven) = &watch.now.uneven {
        progress.alert(&format!("{title}: {uneven}; nothing moves, so it is left as it is"));
    }
    progress.line(&format!("{title}: the servers are at rest after {}", clock_text(began.elapsed())));
    Ok(())
}

/// What was seen last, and since when nothing has moved.
struct Watch {
    now: Settling,
    since: Instant,
    moved: bool,
}

impl Watch {
    fn see(&mut self, now: Settling) {
        // What falls silent may be at anything.
        if now.changes != self.now.changes || !now.told {
            (self.since, self.moved) = (Instant::now(), true);
        }
        self.now = now;
    }

    /// Why the servers are not at rest; `None` once they are.
    fn why_not(&self) -> Option<String> {
        let Settling { open, uneven, told, .. } = &self.now;
        if !told {
            return Some(format!("they do not tell: {}", silent(&self.now)));
        }
        if !open.is_empty() {
            return Some(open.join("; "));
        }
        let (still, wanted) = (self.since.elapsed(), if uneven.is_some() { WANTED } else { STILL });
        (still < wanted).then(|| {
            let seen = if self.moved { "regions or leaders moved" } else { "the first look was" };
            let uneven = uneven.as_ref().map(|uneven| format!("{uneven}; ")).unwrap_or_default();
            format!("{uneven}{seen} {} s ago, and nothing may move for {} s", still.as_secs(), wanted.as_secs())
        })
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

/// Pauses as often as it is shown how long the pause still lasts.
pub(crate) fn shown_pause(whole: Duration, stop: &StopToken, show: &mut dyn FnMut(Duration)) -> Result<(), LabError> {
    let began = Instant::now();
    while let Some(left) = whole.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
        show(left);
        pause(left.min(STEP), stop)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_at_rest_when_nothing_is_open_and_nothing_moves() {
        let at = |told, open: &[&str], uneven: Option<&str>, n| Settling {
            open: open.iter().map(|text| (*text).to_owned()).collect(),
            uneven: uneven.map(str::to_owned),
            changes: [("regions".to_owned(), n)].into(),
            not_told: if told { Default::default() } else { [("stores".to_owned(), "silent".to_owned())].into() },
            told,
        };
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        let mut watch = Watch { now: at(true, &[], None, 5), since: ago(14), moved: false };
        assert_eq!(watch.why_not().unwrap(), "the first look was 14 s ago, and nothing may move for 15 s");
        watch.since = ago(15);
        assert_eq!(watch.why_not(), None);
        // A count that stands still says nothing while work is open, and one that moves starts the time from zero.
        watch.see(at(true, &["1 GiB waits"], None, 5));
        assert_eq!(watch.why_not().unwrap(), "1 GiB waits");
        watch.see(at(true, &[], None, 6));
        assert_eq!(watch.why_not().unwrap(), "regions or leaders moved 0 s ago, and nothing may move for 15 s");
        // Servers that fall silent are not at rest, and not for a while after.
        watch.since = ago(100);
        watch.see(at(false, &[], None, 6));
        assert_eq!(watch.why_not().unwrap(), "they do not tell: stores (silent)");
        watch.see(at(true, &[], None, 6));
        assert!(watch.why_not().is_some());
        watch.since = ago(119);
        watch.see(at(true, &[], Some("uneven"), 6));
        assert_eq!(watch.why_not().unwrap(), "uneven; regions or leaders moved 119 s ago, and nothing may move for 120 s");
        watch.since = ago(120);
        assert_eq!(watch.why_not(), None);
    }
}
