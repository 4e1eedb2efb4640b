//! `perbuck tpch`: takes the place of `go-tpc tpch`, which is also `tiup bench tpch`. The words are read by our own parser,
//! since go-tpc's syntax is pflag's.
//!
//! A command line goes one way: [`options`] (words), the password taken off it, [`settings`] and [`plan`] (what they mean),
//! then [`tables`], or [`session`] and the runner with [`printer`], [`lines`], [`report`] and [`machine`].

#[cfg(test)]
mod golden;
mod lines;
mod machine;
mod options;
mod plan;
mod printer;
mod report;
mod session;
mod settings;
mod tables;

use std::ffi::OsString;

use perbuck_console::{print, say, stop_by_signal, stop_on_signal};
use perbuck_database::secret::Secret;
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::stage::Stage;
use perbuck_load::stop::StopToken;
use perbuck_workloads::Benchmark;
use perbuck_workloads::tpch::Options;

use options::{TABLE, help};
use printer::Lines;
use settings::{Order, Settings, WRONG_ANSWER};

use crate::advice::Advice;
use crate::agents::{self, AGENTS, TOKEN_FILE};
use crate::flags::Given;
use crate::go_tpc::options::asks_for_help;
use crate::go_tpc::tables::Tables;
use crate::go_tpc::target::Connection;
use crate::go_tpc::{self, connects, ended, files, series};
use crate::output::Standard;
use crate::refused::End;
use crate::run::{DropIn, Ended, Run};

/// That the run goes on after an error.
const ERRORS: &str = "--ignore-error goes on after it and counts its query as failed";

const COMMAND: DropIn = DropIn {
    word: "tpch",
    variable: "PERBUCK_TPCH_PASSWORD",
    advice: Advice {
        password: "check user and password; the password comes from PERBUCK_TPCH_PASSWORD, MYSQL_PWD, PGPASSWORD, --password-file or --ask-password",
        database: "perbuck tpch prepare creates the database; or name another one with --db",
        tables: "perbuck tpch prepare makes the tables",
        connections: "raise max_connections of the server, or lower --threads",
        errors: ERRORS,
        reach: "check that the server runs, and the options of host and port",
    },
    unreachable: |_, answer| go_tpc::unreachable(answer),
    connects,
    // What the workload says of its data has the command of a study.
    ended: (|answer| ended(answer).replace("`perbuck prepare --force STUDY`", "perbuck tpch prepare --dropdata"), ERRORS),
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
    let (workload, options) = plan::workload(given, order, &settings)?;
    remarks(given, &connection, order).iter().for_each(|remark| say(&format!("perbuck: {remark}")));
    let writes_files = order == Order::Prepare && files::asked(given, &["output-dir"])?;
    let password = if writes_files { Secret::default() } else { go_tpc::password(&COMMAND, given, &connection)? };
    let series = series(workload, &settings.load, settings.ignore_error);
    let agents = agents::named(&given.list(AGENTS.0), given.text(TOKEN_FILE.0))?;
    let (target, records) = (&connection.target, &settings.records);
    let run = Run { command: &COMMAND, series: &series, target, password: &password, records, agents };
    if writes_files {
        return write_files(given, &options, &run);
    }
    let work = Work { settings: &settings, options: &options, connection: &connection, run };
    match order {
        Order::Prepare => work.prepare(),
        Order::Run => work.run(),
        Order::Cleanup => {
            let stop = stop_on_signal("stopping")?;
            let stage = work.stage(None, &stop)?;
            work.tables(&stage, &stop)?.drop_all()?;
            Ok(print("Finished\n")?)
        }
    }
}

/// What is said of options that play no part.
fn remarks(given: &Given, connection: &Connection, order: Order) -> Vec<String> {
    given.remarks.iter().cloned().chain(connection.remarks(order == Order::Run, order.word())).collect()
}

/// `prepare --output-type csv`.
fn write_files(given: &Given, options: &Options, run: &Run<'_>) -> Result<(), End> {
    let data = options.dataset(run.target.dialect(), run.data_seed());
    let then = "The data are not checked: load the files, and perbuck tpch run --check compares answers";
    files::write(run, &*data, (given.text("output-dir"), run.series.load.connections, &[]), then)
}

/// A command with everything it needs.
struct Work<'a> {
    settings: &'a Settings,
    options: &'a Options,
    connection: &'a Connection,
    run: Run<'a>,
}

impl Work<'_> {
    /// The database with the workload; an answer may take so many seconds, `None` is the longest possible.
    fn stage(&self, timeout_s: Option<u64>, stop: &StopToken) -> Result<Stage, LabError> {
        go_tpc::stage(&self.run, plan::PARAMETERS, timeout_s, stop)
    }

    fn tables<'b>(&self, stage: &'b Stage, stop: &StopToken) -> Result<Tables<'b>, LabError> {
        self.run.reach(stage, stop)?;
        Ok(Tables { command: &COMMAND, stage })
    }

    fn prepare(&self) -> Result<(), End> {
        let stop = stop_on_signal("stopping the load")?;
        let stage = Stage { tiflash_replicas: self.settings.replicas, ..self.stage(None, &stop)? };
        go_tpc::make_database(&self.run, &stage, &stop)?;
        let prepared = tables::prepare(self.tables(&stage, &stop)?, self.options, self.settings, &stop);
        Ok(prepared.map_err(|error| go_tpc::in_words(&error, &COMMAND, plan::PARAMETERS))?)
    }

    fn run(&self) -> Result<(), End> {
        let stop = stop_by_signal(StopToken::keeping(), "ending the run")?;
        let timeout_s = self.run.series.load.longest_s();
        let plain = self.stage(timeout_s, &stop)?;
        tables::has_scale(self.tables(&plain, &stop)?.stage, self.options)?;
        let tuned = if self.settings.tuning { session::tuning(&plain)? } else { Vec::new() };
        if !tuned.is_empty() {
            let set: Vec<String> = tuned.iter().map(|(name, value)| format!("{name}={value}")).collect();
            say(&format!("perbuck: every session sets {}, unless --enable-query-tuning=false is given", set.join(", ")));
        }
        let target = &session::target(self.connection, tuned)?;
        let run = Run { target, agents: self.run.agents.clone(), ..self.run };
        run.check_name()?;
        let stage = go_tpc::stage(&run, plan::PARAMETERS, timeout_s, &stop)?;
        run.note_use(&stage)?;
        let mut lines = Lines::new(self.settings);
        let ended = run.drive(&stage, &mut lines, &mut Standard, &stop)?;
        run.finish(&ended, !ended.early, &lines, &mut Standard)?;
        if ended.early {
            return Err(go_tpc::cut_short().into());
        }
        Ok(answers_are_right(&ended)?)
    }
}

/// A wrong answer is a failed query, and a run with one has failed.
fn answers_are_right(ended: &Ended) -> Result<(), LabError> {
    let Some(wrong) = ended.record.errors.get(WRONG_ANSWER) else { return Ok(()) };
    let (count, example) = (wrong.count, &wrong.example);
    let answers = if count == 1 { "1 answer was wrong".to_owned() } else { format!("{count} answers were wrong") };
    let help = "the database is wrong, or the data are: perbuck tpch prepare --dropdata loads them again";
    Err(LabError::new(ErrorKind::Failed, format!("{answers}, as in: {example}"), help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::hold_against_its_text;

    #[test]
    fn every_command_line_is_a_study_that_can_be_read() {
        for words in [
            &["run"][..],
            &["run", "--sf=0.01", "--check", "--time=1500ms", "--warmup=250ms", "-T8", "--max-procs=2"],
            &["run", "--count=22", "--queries=q22,q1", "--ignore-error"],
            &["prepare", "--sf=100"],
        ] {
            let given = golden::read(words).unwrap();
            let (order, settings) = (Order::of(&given).unwrap(), Settings::read(&given).unwrap());
            let workload = plan::workload(&given, order, &settings).unwrap().0;
            hold_against_its_text(&series(workload, &settings.load, settings.ignore_error));
        }
    }
}
