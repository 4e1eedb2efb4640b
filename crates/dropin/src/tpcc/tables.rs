//! `prepare`, `check` and `cleanup`, with the lines of go-tpc.

use perbuck_console::{print, say};
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::stage::Stage;
use perbuck_workloads::tpcc::Options;

use super::settings::Settings;
use crate::go_tpc::tables::Tables;

/// The condition that is stated for fresh data only.
const FRESH_ONLY: &str = "3.3.2.11";

/// Makes, fills and checks the tables.
pub(super) fn prepare(tables: Tables<'_>, options: &Options, settings: &Settings) -> Result<(), LabError> {
    tables.fill(settings.sessions, settings.drop_data, &format!("{} warehouses", options.warehouses))?;
    if settings.check {
        tables.conditions(&|_| true)?;
    }
    print("Finished\n")
}

/// Checks the data, those that are fresh by `all` conditions.
pub(super) fn check(tables: Tables<'_>, options: &Options, all: bool) -> Result<(), LabError> {
    has_warehouses(tables.stage, options)?;
    tables.conditions(&|name| all || name != FRESH_ONLY)?;
    print("Finished\n")
}

/// Finds out whether the database has the warehouses that the command line names.
pub(crate) fn has_warehouses(stage: &Stage, options: &Options) -> Result<(), LabError> {
    let found = stage.server.number("counting the warehouses", "SELECT COUNT(*) FROM warehouse")?;
    let asked = i64::from(options.warehouses);
    if found < asked {
        let message = format!("the database holds {found} warehouses, and --warehouses is {asked}");
        let help = format!("give --warehouses {found}, or load {asked} of them");
        return Err(LabError::new(ErrorKind::Refused, message, help));
    }
    if found > asked {
        say(&format!("perbuck: the database holds {found} warehouses, more than the {asked} of --warehouses"));
    }
    Ok(())
}
