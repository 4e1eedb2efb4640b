//! What can be said of a database file before a study starts. One that is missing is not made.

use std::fs::{self, File};
use std::path::Path;

use perbuck_load::error::DriverError;
use perbuck_load::preflight::{HostFacts, HostProblem};

use crate::library;
use crate::session::DuckdbSession;
use crate::target::DuckdbTarget;

pub(crate) fn preflight(
    target: &DuckdbTarget,
    open: impl FnOnce() -> Result<DuckdbSession, DriverError>,
) -> Result<HostFacts, DriverError> {
    let path = target.path.as_path();
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut facts = HostFacts {
        version: format!("DuckDB {}", library::of(target)?.version()),
        data_folder: Some(folder.to_owned()),
        is_new: !path.exists(),
        ..HostFacts::default()
    };
    if !facts.is_new {
        open()?;
    } else if let Err(error) = takes_files(folder) {
        facts.problems.push(HostProblem {
            message: format!("DuckDB file {} cannot be made: {error}", path.display()),
            help: "check that its folder exists and that perbuck may create files there".to_owned(),
        });
    }
    Ok(facts)
}

/// Makes a file in the folder and removes it.
fn takes_files(folder: &Path) -> std::io::Result<()> {
    let probe = folder.join(format!(".perbuck-preflight-{}", std::process::id()));
    File::create_new(&probe)?;
    fs::remove_file(probe)
}
