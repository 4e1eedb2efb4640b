//! What is done to tables before and after a run, with the lines of go-tpc.

use std::time::Instant;

use perbuck_console::{Display, print};
use perbuck_core::units::thousands;
use perbuck_database::registry::AnyTarget;
use perbuck_lab::data::LoadLedger;
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::prepare::{condition_text, show_load};
use perbuck_lab::stage::{GOES_ON, Stage};
use perbuck_load::loader::ledger::Ledger as _;
use perbuck_load::loader::{CheckResult, LoadProgress};

use crate::run::DropIn;
use crate::{notes, output};

/// How a database is created: a target with a database that is always there, and the statement. `None` where there is
/// nothing to create.
pub(crate) fn create_database(target: &AnyTarget) -> Option<(AnyTarget, String)> {
    let (there, sql) = target.dialect().create_database(&target.server()?.database)?;
    Some((target.with_database(there), sql))
}

/// The tables of a command in a database.
#[derive(Clone, Copy)]
pub(crate) struct Tables<'a> {
    pub(crate) command: &'static DropIn,
    pub(crate) stage: &'a Stage,
}

impl Tables<'_> {
    /// Makes and fills the tables, or goes on where the same command was cut off; `of` is what the rows are of. A table that is
    /// there already may hold data of the user: unless it is to be dropped, nothing is touched.
    pub(crate) fn fill(&self, sessions: Option<u32>, drop_data: bool, of: &str) -> Result<(), LabError> {
        if drop_data {
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
            Some(_) => self.stage.data.resume(sessions, &mut show),
            None => self.stage.data.load(sessions, &mut show),
        };
        loaded.map_err(|e| self.way_on(e, drop_data))?;
        drop(progress);
        notes::forget(self.stage, self.command.word)?;
        print(&format!("loaded {} rows of {of}\n", thousands(last.rows)))?;
        output::say_statistics(&last);
        Ok(())
    }

    /// Says which tables are made, where none of them is there.
    fn announce(&self) -> Result<(), LabError> {
        self.absent()?;
        self.stage.tables.iter().try_for_each(|name| print(&format!("creating table {name}\n")))
    }

    /// Makes sure that none of the tables is there.
    pub(crate) fn absent(&self) -> Result<(), LabError> {
        for name in &self.stage.tables {
            if self.stage.server.has_table(name)? {
                let message = format!("table {name} exists already; nothing was changed");
                let help = format!(
                    "drop the tables with --dropdata or perbuck {} cleanup, or name another database with --db",
                    self.command.word
                );
                return Err(LabError::new(ErrorKind::Refused, message, help));
            }
        }
        Ok(())
    }

    /// Makes sure that no other load of the tables was cut off than one that this command line goes on with.
    pub(crate) fn whole(&self, way_out: &str) -> Result<(), LabError> {
        let ledger = LoadLedger::new(self.command.word);
        if !self.stage.server.has_table(ledger.table())? {
            return Ok(());
        }
        let message = format!("a load with other options was cut off: table {} is there; nothing was changed", ledger.table());
        Err(LabError::new(ErrorKind::Refused, message, way_out))
    }

    /// Checks the conditions of the data whose names are wanted.
    pub(crate) fn conditions(&self, wanted: &(dyn Fn(&str) -> bool + Sync)) -> Result<(), LabError> {
        let mut shown = Ok(());
        let results = self.stage.data.checks(wanted, &mut |result| {
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
        let word = self.command.word;
        let help = format!("a measurement on such data means nothing; perbuck {word} prepare --dropdata loads them again");
        Err(LabError::new(ErrorKind::Failed, message, help))
    }

    /// Drops the tables, also those of another program: those that refer to others first.
    pub(crate) fn drop_all(&self) -> Result<(), LabError> {
        for name in self.stage.tables.iter().rev() {
            let sql = format!("DROP TABLE IF EXISTS {name}");
            print(&format!("{sql}\n"))?;
            self.stage.server.execute(&format!("dropping table {name}"), &sql)?;
        }
        self.stage.server.execute("removing the ledger of a load", &LoadLedger::new(self.command.word).drop())?;
        notes::forget(self.stage, self.command.word)
    }

    /// A load that did not end, and how it goes on: where it dropped the tables the same command would start again.
    fn way_on(&self, error: LabError, drop_data: bool) -> LabError {
        let (without, word) = (if drop_data { " without --dropdata" } else { "" }, self.command.word);
        let way_out = format!("the same command{without} goes on from there; perbuck {word} cleanup drops the tables");
        let (message, help) = error.words();
        if error.kind() == ErrorKind::Interrupted {
            return LabError::new(ErrorKind::Interrupted, "interrupted; what was committed is kept", way_out);
        }
        if help == GOES_ON {
            return LabError::new(error.kind(), message, format!("what was committed is kept: {way_out}"));
        }
        error
    }
}
