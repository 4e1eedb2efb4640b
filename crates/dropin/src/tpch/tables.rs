//! `prepare`, and what a run must find.

use perbuck_console::print;
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::stage::Stage;
use perbuck_lab::tiflash;
use perbuck_load::stop::StopToken;
use perbuck_workloads::tpch::Options;

use super::settings::Settings;
use crate::agents::Said;
use crate::go_tpc::tables::Tables;

/// Suppliers of scale 1 (4.2.5).
const SUPPLIERS: u64 = 10_000;

/// Makes, fills and checks the tables, and waits for their replicas.
pub(super) fn prepare(tables: Tables<'_>, options: &Options, settings: &Settings, stop: &StopToken) -> Result<(), LabError> {
    // Before anything is loaded that could not have them.
    tiflash::possible(tables.stage)?;
    tables.fill(settings.sessions, settings.drop_data, &format!("SF {}", options.scale.factor()))?;
    tables.conditions(&|_| true)?;
    tiflash::ready(tables.stage, stop, &mut Said)?;
    print("Finished\n")
}

/// Finds out whether the database has the data of the scale that the command line names.
pub(super) fn has_scale(stage: &Stage, options: &Options) -> Result<(), LabError> {
    let found = stage.server.number("counting the suppliers", "SELECT COUNT(*) FROM supplier")?;
    let asked = options.scale.factor();
    if u64::try_from(found).is_ok_and(|found| found == options.scale.times(SUPPLIERS)) {
        return Ok(());
    }
    let holds = found as f64 / SUPPLIERS as f64;
    let message = format!("the database holds {found} suppliers, which are those of SF {holds}, and --sf is {asked}");
    let help = format!("give --sf {holds}, or load SF {asked} by perbuck tpch prepare --dropdata");
    Err(LabError::new(ErrorKind::Refused, message, help))
}
