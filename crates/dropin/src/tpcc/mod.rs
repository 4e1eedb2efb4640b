//! `perbuck tpcc`: takes the place of `go-tpc tpcc`, which is also `tiup bench tpcc`. The words are read by our own parser,
//! since go-tpc's syntax is pflag's.
//!
//! A command line goes one way: [`options`] (words), the password taken off it, [`settings`] and [`plan`] (what they mean), then [`tables`] or the runner with [`printer`], [`lines`], [`report`] and [`machine`].

mod files;
#[cfg(test)]
pub(crate) mod golden;
mod lines;
pub(crate) mod machine;
pub(crate) mod options;
pub(crate) mod plan;
pub(crate) mod printer;
mod report;
pub(crate) mod settings;
pub(crate) mod tables;

use std::ffi::OsString;

use perbuck_console::{print, say, stop_by_signal, stop_on_signal};
use perbuck_database::secret::Secret;
use perbuck_lab::error::LabError;
use perbuck_lab::stage::Stage;
use perbuck_load::stop::StopToken;
use perbuck_workloads::tpcc::Options;

use options::{TABLE, help};
use printer::Lines;
use settings::{Order, Settings};

use crate::advice::Advice;
use crate::agents::{self, AGENTS, TOKEN_FILE};
use crate::flags::Given;
use crate::go_tpc::options::asks_for_help;
use crate::go_tpc::tables::Tables;
use crate::go_tpc::target::Connection;
use crate::go_tpc::{self, connects, ended, series};
use crate::output::Standard;
use crate::refused::{End, Refused};
use crate::run::{DropIn, Run};

/// That the run goes on after an error.
const ERRORS: &str = "--ignore-error goes on after it and counts its transaction as failed";

pub(crate) const COMMAND: DropIn = DropIn {
    word: "tpcc",
    variable: "PERBUCK_TPCC_PASSWORD",
    advice: Advice {
        password: "check user and password; the password comes from PERBUCK_TPCC_PASSWORD, MYSQL_PWD, PGPASSWORD, --password-file or --ask-password",
        database: "perbuck tpcc prepare creates the database; or name another one with --db",
        tables: "perbuck tpcc prepare makes the tables",
        connections: "raise max_connections of the server, or lower --threads",
        errors: ERRORS,
        reach: "check that the server runs, and the options of host and port",
    },
    unreachable: |_, answer| go_tpc::unreachable(answer),
    connects,
    ended: (ended, ERRORS),
};

/// Runs the command. Its exit codes are perbuck's: go-tpc's is 0 however it ends, unless it panics.
///
/// # Errors
/// What went wrong.
pub fn run(words: &[OsString]) -> Result<(), LabError> {
    go_tpc::result(&COMMAND, ordered(words))
}

fn ordered(words: &[OsString]) -> Result<(), End> {
    let given = &TABLE.read(words)?;
    if let Some(typed) = &given.typed {
        COMMAND.hide(&given.kept, Some(typed));
    }
    if asks_for_help(given) {
        return Ok(print(&help())?);
    }
    let order = Order::of(given)?;
    let settings = Settings::read(given)?;
    let connection = Connection::of(given)?;
    let (workload, options) = plan::workload(given, order, &settings, &connection.session)?;
    remarks(given, &connection, order)?.iter().for_each(|remark| say(&format!("perbuck: {remark}")));
    let files = order == Order::Prepare && files::asked(given)?;
    let password = if files { Secret::default() } else { go_tpc::password(&COMMAND, given, &connection)? };
    let series = series(workload, &settings.load, settings.ignore_error);
    let (target, records) = (&connection.target, &settings.records);
    let agents = agents::named(&given.list(AGENTS.0), given.text(TOKEN_FILE.0))?;
    let run = Run { command: &COMMAND, series: &series, target, password: &password, records, agents };
    if order == Order::Run {
        run.check_name()?;
    }
    if files {
        return files::write(given, &options, &run);
    }
    let work = Work { settings: &settings, options: &options, run };
    match order {
        Order::Run => work.run(),
        Order::Prepare => work.prepare(),
        Order::Check | Order::Cleanup => {
            let stop = stop_on_signal("stopping")?;
            let stage = work.stage(None, &stop)?;
            let tables = work.tables(&stage, &stop)?;
            if order == Order::Check {
                return Ok(tables::check(tables, &options, settings.check_all)?);
            }
            tables.drop_all()?;
            Ok(print("Finished\n")?)
        }
    }
}

/// What is said of options that play no part.
fn remarks(given: &Given, connection: &Connection, order: Order) -> Result<Vec<String>, Refused> {
    let mut remarks = given.remarks.clone();
    remarks.extend(files::old_folder(given)?.map(|_| files::OLD.to_owned()));
    remarks.extend(connection.remarks(order == Order::Run, order.word()));
    Ok(remarks)
}

/// A command with everything it needs.
struct Work<'a> {
    settings: &'a Settings,
    options: &'a Options,
    run: Run<'a>,
}

impl Work<'_> {
    /// The database with the workload; an answer may take so many seconds, `None` is the longest possible.
    fn stage(&self, timeout_s: Option<u64>, stop: &StopToken) -> Result<Stage, LabError> {
        go_tpc::stage(&self.run, &plan::PARAMETERS, timeout_s, stop)
    }

    fn tables<'b>(&self, stage: &'b Stage, stop: &StopToken) -> Result<Tables<'b>, LabError> {
        self.run.reach(stage, stop)?;
        Ok(Tables { command: &COMMAND, stage })
    }

    fn prepare(&self) -> Result<(), End> {
        let stop = stop_on_signal("stopping the load")?;
        let stage = self.stage(None, &stop)?;
        go_tpc::make_database(&self.run, &stage, &stop)?;
        Ok(tables::prepare(self.tables(&stage, &stop)?, self.options, self.settings)?)
    }

    fn run(&self) -> Result<(), End> {
        let stop = stop_by_signal(StopToken::keeping(), "ending the run")?;
        let stage = self.stage(self.run.series.load.longest_s(), &stop)?;
        tables::has_warehouses(self.tables(&stage, &stop)?.stage, self.options)?;
        self.run.note_use(&stage)?;
        let mut lines = Lines::new(self.settings, self.options);
        let ended = self.run.drive(&stage, &mut lines, &mut Standard, &stop)?;
        self.run.finish(&ended, !ended.early, &lines, &mut Standard)?;
        if ended.early {
            return Err(go_tpc::cut_short().into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::hold_against_its_text;

    #[test]
    fn every_command_line_is_a_study_that_can_be_read() {
        for words in [
            &["run"][..],
            &["run", "--time=1500ms", "--warmup=250ms", "-T1000000", "--max-procs=1024"],
            &["run", "--count=7", "--compat=go-tpc", "--isolation=4", "--ignore-error"],
            &["run", "--wait", "--weight=45,43,4,4,4", "--conn-params=a='x'&b=1", "--time=1h"],
            &["prepare", "--parts=4", "--partition-type=2", "--use-fk"],
        ] {
            let given = golden::read(words).unwrap();
            let (order, settings) = (Order::of(&given).unwrap(), Settings::read(&given).unwrap());
            let session = Connection::of(&given).unwrap().session;
            let workload = plan::workload(&given, order, &settings, &session).unwrap().0;
            hold_against_its_text(&series(workload, &settings.load, settings.ignore_error));
        }
    }
}
