//! Caches that are cold when a trial begins (`caches = "cold"`), and whose caches perbuck can empty: it holds the server, or the database runs
//! within its own process.

use std::path::Path;

use perbuck_core::run_record::{Cooled, Restarted};

use crate::error::LabError;
use crate::stage::Stage;

/// The way out for a server that perbuck does not hold.
pub(crate) const HELP: &str = "let perbuck start it by `server` in place of `target`, or leave `caches` out";

/// That perbuck cannot make the caches of this one cold.
pub(crate) fn not_held(who: &str) -> String {
    format!("{who}: perbuck did not start this server and cannot restart it, so `caches = \"cold\"` is not possible")
}

/// Closes the file of a database within this process, and drops the page cache of this machine.
///
/// # Errors
/// A server, and a file that other sessions of this process use.
pub(crate) fn close(stage: &Stage) -> Result<Cooled, LabError> {
    if stage.lease_file.is_none() {
        return Err(LabError::usage(not_held(&stage.title), HELP));
    }
    if !stage.server.close_files() {
        let message = format!("{}: {} is still in use within perbuck, so its caches are not cold", stage.title, stage.address);
        return Err(LabError::failed(message, "this is a defect of perbuck; leave `caches` out"));
    }
    let page_cache_kept = perbuck_observe::drop_page_cache(Path::new("/")).err();
    Ok(Cooled { restarted: Restarted::File, page_cache_kept })
}
