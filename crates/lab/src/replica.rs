//! Waiting before a trial until the host of queries (`?queries=HOST`) shows what was committed where the load works: a replica may still be
//! applying the load of the data, or the changes of the trial before.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use perbuck_load::driver::SessionId;
use perbuck_load::error::{Cause, DriverError, ErrorClass};
use perbuck_load::stop::StopToken;

use crate::error::LabError;
use crate::lease::TABLE;
use crate::progress::{Progress, clock_text};
use crate::rest;
use crate::stage::Stage;

/// The row of the lease's table that is waited for.
const NAME: &str = "replica";
const DOING: &str = "looking whether the host of queries has the data";
/// How long is waited where the study says nothing.
const LIMIT: Duration = Duration::from_secs(30 * 60);
const POLL: Duration = Duration::from_millis(50);
/// For how long nothing is said of it.
const QUIET: Duration = Duration::from_secs(2);

/// Commits a row that was never there, and waits until the host of queries shows it. Changes are applied in their order, so it then has all
/// data. Nothing is done where queries go to the servers of the load.
///
/// # Errors
/// A server's answer, that the row does not arrive in time, or that the user stopped it.
pub(crate) fn caught_up(stage: &Stage, stop: &StopToken, progress: &mut dyn Progress) -> Result<(), LabError> {
    if !stage.server.has_query_host() {
        return Ok(());
    }
    let (title, began) = (&stage.title, Instant::now());
    let limit = stage.wait_ready.filter(|limit| !limit.is_zero()).unwrap_or(LIMIT);
    let mark = mark();
    let write = stage.dialect.upsert(TABLE, ["name", "beat", "holder"], [NAME, &mark, ""]);
    stage.server.query("marking the data for the host of queries", &write)?;
    while !shows(stage, &mark).map_err(|e| LabError::target(title, &e))? {
        let waited = began.elapsed();
        if waited >= limit {
            let message = format!("{title}: after {} the host of queries does not show what was committed", clock_text(limit));
            let help =
                "`?queries=` must name a replica of the target that applies its changes; `wait_ready` says how long is waited";
            return Err(LabError::failed(message, help));
        }
        if waited >= QUIET {
            progress.passing(&format!("{title}: waiting for {} until the host of queries has the data", clock_text(waited)));
        }
        rest::pause(POLL, stop)?;
    }
    Ok(())
}

/// A text that no row has held.
fn mark() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{} {}", std::process::id(), now.as_nanos())
}

fn shows(stage: &Stage, mark: &str) -> Result<bool, DriverError> {
    let look = stage.dialect.row_of(TABLE, ["name", "beat"], ("name", NAME));
    match stage.server.row((SessionId::Query(0), DOING), &look, None) {
        Ok((_, cells)) => Ok(cells.get(1).is_some_and(|seen| seen == mark)),
        // It has not made the table yet, or ends queries for changes that it applies.
        Err(error) if error.cause == Some(Cause::NoTable) || error.class == ErrorClass::Retry => Ok(false),
        Err(error) => Err(error),
    }
}
