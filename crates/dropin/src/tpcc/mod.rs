//! `perbuck tpcc`: takes the place of `go-tpc tpcc`, which is also `tiup bench tpcc`. The words are read by our own parser,
//! since go-tpc's syntax is pflag's.
//!
//! A command line goes one way: [`options`] (words), the password taken off it, [`settings`], [`target`] and [`plan`] (what
//! they mean), then [`tables`] or the runner with [`printer`], [`lines`], [`report`] and [`machine`].

mod files;
#[cfg(test)]
mod golden;
mod lines;
mod machine;
mod options;
mod plan;
mod printer;
mod report;
mod settings;
mod tables;
mod target;

use std::ffi::OsString;

use perbuck_console::{print, say, stop_by_signal, stop_on_signal};
use perbuck_database::secret::Secret;
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::stage::Stage;
use perbuck_load::error::{Cause, ErrorClass};
use perbuck_load::stop::StopToken;
use perbuck_workloads::tpcc::Options;

use options::{TABLE, help};
use printer::Lines;
use settings::{Order, Settings};
use tables::Tables;
use target::Connection;

use crate::advice::{Advice, answer_text};
use crate::agents::{self, AGENTS, TOKEN_FILE};
use crate::flags::Given;
use crate::output::Standard;
use crate::refused::{End, Refused};
use crate::run::{DropIn, Run};
use crate::secret::PasswordSources;
use crate::study::{Series, Workload};

/// That the run goes on after an error.
const ERRORS: &str = "--ignore-error goes on after it and counts its transaction as failed";

const COMMAND: DropIn = DropIn {
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
    unreachable: |_, answer| format!("unable to connect: {}", answer_text(answer)),
    // What the server says to the statements of the workload is no matter of reaching it.
    connects: |answer| answer.class != ErrorClass::Fatal,
    ended: (|answer| format!("an error ended the run, and nothing of it is kept: {answer}"), ERRORS),
};

/// Runs the command. Its exit codes are perbuck's: go-tpc's is 0 however it ends, unless it panics.
///
/// # Errors
/// What went wrong.
pub fn run(words: &[OsString]) -> Result<(), LabError> {
    ordered(words).map_err(|end| match end {
        End::Refused(Refused { message, fatal, help }) => {
            LabError::new(if fatal { ErrorKind::Failed } else { ErrorKind::Usage }, message, help)
        }
        End::Failed(error) => LabError::new(error.kind(), error.words().0, COMMAND.advice.of_failure(&error)),
    })
}

fn ordered(words: &[OsString]) -> Result<(), End> {
    let given = &TABLE.read(words)?;
    if let Some(typed) = &given.typed {
        COMMAND.hide(&given.kept, Some(typed));
    }
    if given.switch("help") || given.words.first().is_some_and(|w| w == "help") {
        return Ok(print(&help())?);
    }
    let order = Order::of(given)?;
    let settings = Settings::read(given)?;
    let connection = Connection::of(given)?;
    let (workload, options) = plan::workload(given, order, &settings, &connection.session)?;
    remarks(given, &connection, order)?.iter().for_each(|remark| say(&format!("perbuck: {remark}")));
    let files = order == Order::Prepare && files::asked(given)?;
    let password = if files { Secret::default() } else { password(given, &connection)? };
    let series = series(workload, &settings);
    let (target, records) = (&connection.target, &settings.records);
    let agents = agents::named(&given.list(AGENTS.0), given.text(TOKEN_FILE.0))?;
    let run = Run { command: &COMMAND, series: &series, target, password: &password, records, agents };
    if order == Order::Run {
        run.check_name()?;
    }
    if files {
        return files::write(given, &settings, &options, &run);
    }
    let work = Work { settings: &settings, options: &options, run };
    match order {
        Order::Run => work.run(),
        Order::Prepare => work.prepare(),
        Order::Check | Order::Cleanup => {
            let stop = stop_on_signal("stopping")?;
            let stage = work.stage(None, &stop)?;
            let tables = work.tables(&stage, &stop)?;
            let done = if order == Order::Check { tables.check(settings.check_all) } else { tables.cleanup() };
            done.map_err(Into::into)
        }
    }
}

/// What is said of options that play no part.
fn remarks(given: &Given, connection: &Connection, order: Order) -> Result<Vec<String>, Refused> {
    let mut remarks = given.remarks.clone();
    remarks.extend(files::old_folder(given)?.map(|_| files::OLD.to_owned()));
    if !connection.unused.is_empty() {
        let names = connection.unused.join(", ");
        remarks.push(format!("--conn-params: {names}: nothing to do, since these are of the Go client alone"));
    }
    if !connection.session.is_empty() && order != Order::Run {
        remarks.push(format!("--conn-params: variables are set in the sessions of a run, not in those of {}", order.word()));
    }
    Ok(remarks)
}

/// The password: of the command line where it could not be taken off it, else of the environment, a file, or asked for; none
/// is the empty one.
fn password(given: &Given, connection: &Connection) -> Result<Secret, End> {
    if connection.embedded() {
        return Ok(Secret::default());
    }
    let (file, client) = (given.text("password-file"), connection.client_variable());
    if let Some(secret) = COMMAND.password(&PasswordSources { typed: given.typed.as_ref(), file, filed: None, client })? {
        return Ok(secret);
    }
    if !given.switch("ask-password") {
        return Ok(Secret::default());
    }
    let typed = perbuck_console::prompt_password("Password: ");
    typed.map(Secret::new).map_err(|e| {
        let message = format!("cannot ask for a password: {e}");
        End::Failed(LabError::new(ErrorKind::Usage, message, "put it into PERBUCK_TPCC_PASSWORD instead"))
    })
}

/// The command line as a study: everything that decides what is measured, but for the database and the seed.
fn series(workload: Workload, settings: &Settings) -> Series {
    Series::new(workload, settings.load.clone(), &format!(" {}", settings.ignore_error))
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
        // The parameters of the workload in the words of the command line.
        self.run.stage(timeout_s, stop).map_err(|error| {
            let named = |text: String, (option, parameter): &(&str, &str)| {
                text.replace(&format!("`{parameter}`"), &format!("--{option}"))
            };
            let words = |text: &str| plan::PARAMETERS.iter().fold(text.to_owned(), named);
            let (message, help) = (error.words().0, COMMAND.advice.of_failure(&error));
            LabError::new(error.kind(), words(message), words(help))
        })
    }

    fn tables<'b>(&'b self, stage: &'b Stage, stop: &StopToken) -> Result<Tables<'b>, LabError> {
        self.run.reach(stage, stop)?;
        Ok(Tables { stage, options: self.options, dialect: self.run.target.dialect() })
    }

    fn prepare(&self) -> Result<(), End> {
        let stop = stop_on_signal("stopping the load")?;
        let stage = self.stage(None, &stop)?;
        if let Err(answer) = stage.server.reach() {
            if answer.cause != Some(Cause::NoDatabase) {
                return Err(self.run.unreachable(&answer).into());
            }
            // go-tpc creates the database that the command line names, too.
            if let Some((elsewhere, sql)) = tables::create_database(self.run.target) {
                self.run.stage_on(&elsewhere, &stop)?.server.execute("creating the database", &sql)?;
            }
        }
        Ok(self.tables(&stage, &stop)?.prepare(self.settings)?)
    }

    fn run(&self) -> Result<(), End> {
        let stop = stop_by_signal(StopToken::keeping(), "ending the run")?;
        let stage = self.stage(self.run.series.load.longest_s(), &stop)?;
        self.tables(&stage, &stop)?.has_warehouses()?;
        self.run.note_use(&stage)?;
        let mut lines = Lines::new(self.settings, self.options);
        let ended = self.run.drive(&stage, &mut lines, &mut Standard, &stop)?;
        self.run.finish(&ended, !ended.early, &lines, &mut Standard)?;
        if ended.early {
            let message =
                "interrupted before the end of --time or --count: the numbers cover the time until then, and no record is kept";
            return Err(LabError::new(ErrorKind::Interrupted, message, "").into());
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
            hold_against_its_text(&series(plan::workload(&given, order, &settings, &session).unwrap().0, &settings));
        }
    }
}
