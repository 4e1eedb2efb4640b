//! `prepare`, `check` and `cleanup`, with the lines of go-tpc.

use std::time::Instant;

use perbuck_core::units::{Seed, thousands};
use perbuck_database::Dialect;
use perbuck_database::registry::AnyTarget;
use perbuck_load::loader::ledger::Ledger as _;
use perbuck_load::loader::{CheckResult, LoadProgress};
use perbuck_load::workload::Dataset;
use perbuck_workloads::tpcc::{Options, TpccData};

use super::COMMAND;
use super::settings::Settings;
use crate::{notes, output};
use perbuck_console::{Display, print, say};
use perbuck_lab::data::LoadLedger;
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::prepare::{condition_text, show_load};
use perbuck_lab::stage::GOES_ON;
use perbuck_lab::stage::Stage;

/// The condition that is stated for fresh data only.
const FRESH_ONLY: &str = "3.3.2.11";

/// How a database is created: a target with a database that is always there, and the statement. `None` where there is
/// nothing to create.
pub(super) fn create_database(target: &AnyTarget) -> Option<(AnyTarget, String)> {
    let (there, sql) = target.dialect().create_database(&target.server()?.database)?;
    Some((target.with_database(there), sql))
}

/// A database and what is done to its tables.
pub(super) struct Tables<'a> {
    pub(super) stage: &'a Stage,
    pub(super) options: &'a Options,
    pub(super) dialect: &'static dyn Dialect,
}

impl Tables<'_> {
    fn names(&self) -> Vec<String> {
        // The seed of the rows plays no part in what tables there are.
        let specs = TpccData::new(self.options.clone(), self.dialect, Seed(0)).tables();
        specs.into_iter().map(|table| table.bulk.name).collect()
    }

    /// Makes and fills the tables, or goes on where the same command was cut off, and checks them. A table that is there
    /// already may hold data of the user: without `--dropdata` nothing is touched.
    pub(super) fn prepare(&self, settings: &Settings) -> Result<(), LabError> {
        if settings.drop_data {
            self.drop_all()?;
        }
        let cut_off = self.stage.data.unfinished()?;
        match cut_off {
            Some(rows) => print(&format!("going on with a load that was cut off after {} rows\n", thousands(rows)))?,
            None => self.announce()?,
        }
        let (mut progress, began, mut last) = (Display::default(), Instant::now(), LoadProgress::default());
        let mut show = |p: LoadProgress| {
            last = p;
            show_load(&mut progress, "", &p, began.elapsed());
        };
        let loaded = match cut_off {
            Some(_) => self.stage.data.resume(settings.sessions, &mut show),
            None => self.stage.data.load(settings.sessions, &mut show),
        };
        loaded.map_err(|e| way_on(e, settings.drop_data))?;
        drop(progress);
        notes::forget(self.stage, COMMAND.word)?;
        print(&format!("loaded {} rows of {} warehouses\n", thousands(last.rows), self.options.warehouses))?;
        output::say_statistics(&last);
        if settings.check {
            self.conditions(true)?;
        }
        print("Finished\n")
    }

    /// Says which tables are made, where none of them is there.
    fn announce(&self) -> Result<(), LabError> {
        for name in self.names() {
            if self.stage.server.has_table(&name)? {
                let message = format!("table {name} exists already; nothing was changed");
                let help = "drop the tables with --dropdata or perbuck tpcc cleanup, or name another database with --db";
                return Err(LabError::new(ErrorKind::Refused, message, help));
            }
        }
        self.names().iter().try_for_each(|name| print(&format!("creating table {name}\n")))
    }

    pub(super) fn check(&self, all: bool) -> Result<(), LabError> {
        self.has_warehouses()?;
        self.conditions(all)?;
        print("Finished\n")
    }

    fn conditions(&self, all: bool) -> Result<(), LabError> {
        let mut shown = Ok(());
        let wanted = |name: &str| all || name != FRESH_ONLY;
        let results = self.stage.data.checks(&wanted, &mut |result| {
            if shown.is_ok() {
                shown = print(&format!("check condition {}\n", condition_text(result)));
            }
        })?;
        shown?;
        let broken: Vec<&str> = results.iter().filter(|r| !r.holds()).map(|r: &CheckResult| r.name.as_str()).collect();
        if broken.is_empty() {
            return Ok(());
        }
        let message = format!("check failed: the data are inconsistent (condition {})", broken.join(", "));
        let help = "a measurement on such data means nothing; perbuck tpcc prepare --dropdata loads them again";
        Err(LabError::new(ErrorKind::Failed, message, help))
    }

    /// Drops the tables, also those of another program.
    pub(super) fn cleanup(&self) -> Result<(), LabError> {
        self.drop_all()?;
        print("Finished\n")
    }

    /// Those that refer to others first.
    fn drop_all(&self) -> Result<(), LabError> {
        for name in self.names().iter().rev() {
            let sql = format!("DROP TABLE IF EXISTS {name}");
            print(&format!("{sql}\n"))?;
            self.stage.server.execute(&format!("dropping table {name}"), &sql)?;
        }
        self.stage.server.execute("removing the ledger of a load", &LoadLedger::new(COMMAND.word).drop())?;
        notes::forget(self.stage, COMMAND.word)
    }

    /// Finds out whether the database has the warehouses that the command line names.
    pub(super) fn has_warehouses(&self) -> Result<(), LabError> {
        let found = self.stage.server.number("counting the warehouses", "SELECT COUNT(*) FROM warehouse")?;
        let asked = i64::from(self.options.warehouses);
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
}

/// A load that did not end, and how it goes on: with `--dropdata` the same command would start again.
fn way_on(error: LabError, drop_data: bool) -> LabError {
    let without = if drop_data { " without --dropdata" } else { "" };
    let way_out = format!("the same command{without} goes on from there; perbuck tpcc cleanup drops the tables");
    let (message, help) = error.words();
    if error.kind() == ErrorKind::Interrupted {
        return LabError::new(ErrorKind::Interrupted, "interrupted; what was committed is kept", way_out);
    }
    if help == GOES_ON {
        return LabError::new(error.kind(), message, format!("what was committed is kept: {way_out}"));
    }
    error
}
