//! Waiting before a trial until the host of queries (`?queries=HOST`) shows what was committed where the load works: a replica may still be
//! applying the load of the data, or the changes of the trial before.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use perbuck_load::driver::SessionId;
use perbuck_load::error::{Cause, DriverError, ErrorClass};
use perbuck_load::query::Query;
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

/// A change of a row that is committed where the load works, and looked for where queries are asked.
#[derive(Debug, Clone)]
pub struct Mark {
    /// Commits it.
    pub write: Query,
    /// Answers with one row, whose last cell is what was written.
    pub look: Query,
    /// What was written, as text. The row has never held it.
    pub written: String,
}

/// Waits with a row of the lease's table: see [`wait`].
pub(crate) fn caught_up(stage: &Stage, stop: &StopToken, progress: &mut dyn Progress) -> Result<(), LabError> {
    if !stage.server.has_query_host() {
        return Ok(());
    }
    let written = written();
    let write = stage.dialect.upsert(TABLE, ["name", "beat", "holder"], [NAME, &written, ""]);
    let look = stage.dialect.row_of(TABLE, ["name", "beat"], ("name", NAME));
    wait(stage, &Mark { write, look, written }, stop, progress)
}

/// Commits a mark, and waits until the host of queries shows it. Changes are applied in their order, so it then has all data.
///
/// # Errors
/// A server's answer, that the row does not arrive in time, or that the user stopped it.
pub fn wait(stage: &Stage, mark: &Mark, stop: &StopToken, progress: &mut dyn Progress) -> Result<(), LabError> {
    let (title, began) = (&stage.title, Instant::now());
    let limit = stage.wait_ready.filter(|limit| !limit.is_zero()).unwrap_or(LIMIT);
    stage.server.query("marking the data for the host of queries", &mark.write)?;
    while !shows(stage, mark).map_err(|e| LabError::target(title, &e))? {
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
fn written() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{} {}", std::process::id(), now.as_nanos())
}

fn shows(stage: &Stage, mark: &Mark) -> Result<bool, DriverError> {
    match stage.server.row((SessionId::Query(0), DOING), &mark.look, None) {
        Ok((_, cells)) => Ok(cells.last() == Some(&mark.written)),
        // It has not made the table yet, or ends queries for changes that it applies.
        Err(error) if error.cause == Some(Cause::NoTable) || error.class == ErrorClass::Retry => Ok(false),
        Err(error) => Err(error),
    }
}
