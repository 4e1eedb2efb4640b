//! `perbuck ch`: takes the place of `go-tpc ch`, which is also `tiup bench ch`: transactions of TPC-C and analytical queries on the same tables
//! at once. The words are read by our own parser, since go-tpc's syntax is pflag's.
//!
//! A command line goes one way: [`options`] (words), the password taken off it, [`settings`], [`elsewhere`] and [`plan`] (what they mean), then
//! [`tables`], or the runner with [`printer`], [`lines`], [`report`] and [`machine`]. What concerns transactions is that of [`crate::tpcc`].

mod elsewhere;
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

use std::ffi::OsString;

use perbuck_console::{print, say, stop_by_signal, stop_on_signal};
use perbuck_lab::error::LabError;
use perbuck_lab::stage::Stage;
use perbuck_load::stop::StopToken;
use perbuck_workloads::ch::Options;

use options::{TABLE, help};
use printer::Lines;
use settings::{Order, Settings};
use tables::Both;

use crate::advice::Advice;
use crate::go_tpc::options::asks_for_help;
use crate::go_tpc::tables::Tables;
use crate::go_tpc::target::{ConnParams, Connection};
use crate::go_tpc::{self, connects, ended, series};
use crate::output::Standard;
use crate::refused::End;
use crate::run::{DropIn, Run};
use crate::study::Workload;
use crate::{notes, tpcc};

/// That the run goes on after an error.
const ERRORS: &str = "--ignore-error goes on after it and counts its transaction or query as failed";

const COMMAND: DropIn = DropIn {
    word: "ch",
    variable: "PERBUCK_CH_PASSWORD",
    advice: Advice {
        password: "check user and password; the password comes from PERBUCK_CH_PASSWORD, MYSQL_PWD, PGPASSWORD, --password-file or --ask-password",
        database: "perbuck ch prepare creates the database; or name another one with --db",
        tables: "perbuck ch prepare makes the tables; --dropdata replaces region, nation and supplier of go-tpc",
        connections: "raise max_connections of the server, or lower --threads and --acThreads",
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
    let target = &elsewhere::target(given, &connection, settings.streams)?;
    let (sessions, unused) = elsewhere::sessions(given, &connection)?;
    let (workload, options) = plan::workload(given, order, &settings, &sessions)?;
    let remarks = given.remarks.iter().cloned().chain(connection.remarks(order == Order::Run, order.word()));
    remarks.chain(ConnParams::remark("ap-conn-params", &unused)).for_each(|remark| say(&format!("perbuck: {remark}")));
    let password = &go_tpc::password(&COMMAND, given, &connection)?;
    let series_of = |workload: Workload| series(workload, &settings.tpcc.load, settings.tpcc.ignore_error);
    let run_of = |command: &'static DropIn, series| Run {
        command,
        series,
        target,
        password,
        records: &settings.tpcc.records,
        agents: None,
    };
    if order == Order::Run {
        let series = &series_of(workload);
        return Ok(measure(&run_of(&COMMAND, series), &options, &settings)?);
    }
    let [tpcc, own] = plan::data_sets(given, &options)?.map(series_of);
    let (tpcc, own) = (run_of(&tpcc::COMMAND, &tpcc), run_of(&COMMAND, &own));
    if order == Order::Prepare {
        return Ok(prepare([&tpcc, &own], &options, &settings)?);
    }
    let stop = stop_on_signal("stopping")?;
    let stage = stage(&own, None, &stop)?;
    own.reach(&stage, &stop)?;
    Tables { command: own.command, stage: &stage }.drop_all()?;
    Ok(print("Finished\n")?)
}

/// The database with the workload; an answer may take so many seconds, `None` is the longest possible.
fn stage(run: &Run<'_>, timeout_s: Option<u64>, stop: &StopToken) -> Result<Stage, LabError> {
    go_tpc::stage(run, plan::PARAMETERS, timeout_s, stop)
}

fn prepare([tpcc, own]: [&Run<'_>; 2], options: &Options, settings: &Settings) -> Result<(), LabError> {
    let stop = stop_on_signal("stopping the load")?;
    let with_replicas = |stage| Stage { tiflash_replicas: settings.replicas, ..stage };
    let (transactions, queries) = (with_replicas(stage(tpcc, None, &stop)?), with_replicas(stage(own, None, &stop)?));
    go_tpc::make_database(own, &queries, &stop)?;
    own.reach(&queries, &stop)?;
    let both = Both {
        transactions: Tables { command: tpcc.command, stage: &transactions },
        queries: Tables { command: own.command, stage: &queries },
    };
    let prepared = both.prepare(options, settings, &stop);
    prepared.map_err(|error| go_tpc::in_words(&error, &COMMAND, plan::PARAMETERS))
}

fn measure(run: &Run<'_>, options: &Options, settings: &Settings) -> Result<(), LabError> {
    run.check_name()?;
    let stop = stop_by_signal(StopToken::keeping(), "ending the run")?;
    let stage = stage(run, run.series.load.longest_s(), &stop)?;
    run.reach(&stage, &stop)?;
    tables::are_ready(&stage, options)?;
    run.note_use(&stage)?;
    tables::have_all_rows(&stage, &stop)?;
    // The tables of TPC-C may be those of `kind = "tpcc"`.
    notes::used(&stage, tpcc::COMMAND.word, &format!("perbuck {}", COMMAND.word))?;
    let mut lines = Lines::new(settings, options);
    let ended = run.drive(&stage, &mut lines, &mut Standard, &stop)?;
    run.finish(&ended, !ended.early, &lines, &mut Standard)?;
    if ended.early { Err(go_tpc::cut_short()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::hold_against_its_text;

    #[test]
    fn every_command_line_is_a_study_that_can_be_read() {
        for words in [
            &["run"][..],
            &["run", "--time=1500ms", "--warmup=250ms", "-T8", "-t2", "--max-procs=2", "--parts=2"],
            &["run", "--count=7", "--compat=go-tpc", "--isolation=4", "--ignore-error", "--queries=q22,q1", "-t0"],
            &["run", "-T0", "-t2", "--queries=q6"],
            &["run", "--weight=45,43,4,4,4", "--conn-params=a='x'&b=1", "--ap-conn-params=c=2", "--time=1h"],
        ] {
            let given = golden::read(words).unwrap();
            let settings = Settings::read(&given).unwrap();
            let sessions = elsewhere::sessions(&given, &Connection::of(&given).unwrap()).unwrap().0;
            let workload = plan::workload(&given, Order::Run, &settings, &sessions).unwrap().0;
            hold_against_its_text(&series(workload, &settings.tpcc.load, settings.tpcc.ignore_error));
        }
    }
}
