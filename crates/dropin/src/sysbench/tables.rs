//! `prepare`, `prewarm` and `cleanup`, with the lines of sysbench.

use std::collections::VecDeque;
use std::time::Instant;

use perbuck_database::Dialect;
use perbuck_load::loader::LoadProgress;
use perbuck_load::workload::TableSpec;
use perbuck_workloads::sysbench::{self, Options};

use super::log::Log;
use super::settings::Settings;
use crate::notes;
use crate::output::{self, Standard};
use perbuck_console::{Display, print};
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::prepare::show_load;
use perbuck_lab::stage::Stage;

/// A database and what is done to its tables.
pub(super) struct Tables<'a> {
    pub(super) stage: &'a Stage,
    pub(super) options: &'a Options,
    pub(super) dialect: &'static dyn Dialect,
    pub(super) specs: Vec<TableSpec>,
    pub(super) log: Log,
}

impl Tables<'_> {
    fn names(&self) -> impl Iterator<Item = String> {
        (1..=self.options.table_count()).map(|n| format!("sbtest{n}"))
    }

    /// sysbench starts threads for these commands when there are several.
    fn threads(&self, settings: &Settings) -> Result<(), LabError> {
        if settings.load.connections > 1 { self.log.notice("Initializing worker threads...\n\n", &mut Standard) } else { Ok(()) }
    }

    /// Makes and fills the tables. A table that is there already may hold data of the user: then nothing is touched.
    pub(super) fn prepare(&self, settings: &Settings) -> Result<(), LabError> {
        for name in self.names() {
            if self.stage.server.has_table(&name)? {
                let message = format!("Table '{name}' already exists; nothing was changed");
                let help = "perbuck sysbench SCRIPT cleanup drops the tables, or name another database";
                return Err(LabError::new(ErrorKind::Refused, message, help));
            }
        }
        self.threads(settings)?;
        let (mut progress, began) = (Display::default(), Instant::now());
        let mut lines = self.lines();
        let (mut shown, mut last, all) = (Ok(()), LoadProgress::default(), lines.len());
        // One thread is also the default of a command line that names none.
        let sessions = Some(settings.load.connections).filter(|n| *n > 1);
        self.stage
            .data
            .fill(sessions, &mut |p| {
                last = p;
                let due = (all * p.parts as usize / (p.of as usize).max(1)).saturating_sub(all - lines.len());
                if shown.is_ok() {
                    shown = told(&mut lines, due);
                }
                show_load(&mut progress, "", &p, began.elapsed());
            })
            .map_err(|e| notes::half_loaded(e, "perbuck sysbench SCRIPT cleanup"))?;
        shown?;
        drop(progress);
        // Every line is there even where the load was too quick to be seen on its way.
        let rest = lines.len();
        told(&mut lines, rest)?;
        if self.log.adds() {
            output::say_statistics(&last);
        }
        notes::forget(self.stage, super::COMMAND.word)
    }

    /// The lines of a load, table by table, as one thread of sysbench prints them. perbuck loads several at the same time; a line is shown
    /// when so much of the load is done.
    fn lines(&self) -> VecDeque<String> {
        let of_table = |table: &TableSpec| {
            let (name, rows) = (&table.bulk.name, table.rows.filter(|rows| *rows > 0));
            let indexed = table.after_load.iter().any(|sql| sql.starts_with("CREATE INDEX"));
            let lines = [
                Some(format!("Creating table '{name}'...\n")),
                rows.map(|rows| format!("Inserting {rows} records into '{name}'\n")),
                indexed.then(|| format!("Creating a secondary index on '{name}'...\n")),
            ];
            lines.into_iter().flatten().collect::<Vec<_>>()
        };
        self.specs.iter().flat_map(of_table).collect()
    }

    /// Reads the tables into the server's memory.
    pub(super) fn prewarm(&self, settings: &Settings) -> Result<(), LabError> {
        self.threads(settings)?;
        let mut last = String::new();
        for sql in sysbench::prewarm(self.options, self.dialect) {
            let table = self.names().find(|name| mentions(&sql, name)).unwrap_or_default();
            if table != last {
                print(&format!("Prewarming table {table}\n"))?;
            }
            self.stage.server.execute(&format!("prewarming table {table}"), &sql)?;
            last = table;
        }
        Ok(())
    }

    /// Drops the tables, also those of another program.
    pub(super) fn cleanup(&self) -> Result<(), LabError> {
        for (name, sql) in self.names().zip(sysbench::cleanup(self.options, self.dialect)) {
            print(&format!("Dropping table '{name}'...\n"))?;
            self.stage.server.execute(&format!("dropping table {name}"), &sql)?;
        }
        notes::forget(self.stage, super::COMMAND.word)
    }
}

/// Whether a statement names a table, and not merely one whose name begins like it.
fn mentions(sql: &str, table: &str) -> bool {
    sql.match_indices(table).any(|(at, _)| !sql[at + table.len()..].starts_with(|c: char| c.is_ascii_digit()))
}

/// Prints so many of the lines.
fn told(lines: &mut VecDeque<String>, count: usize) -> Result<(), LabError> {
    lines.drain(..count).try_for_each(|line| print(&line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_not_the_one_whose_name_goes_on() {
        assert!(mentions("ANALYZE TABLE sbtest1", "sbtest1") && mentions("x sbtest12, sbtest1 y", "sbtest1"));
        assert!(!mentions("ANALYZE TABLE sbtest12", "sbtest1"));
    }
}
