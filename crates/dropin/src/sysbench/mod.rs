//! `perbuck sysbench`: takes the place of sysbench for its database scripts. The words are read by our own parser, since
//! sysbench's syntax is not clap's.
//!
//! A command line goes one way: [`parse`] (words), the password taken off it, [`settings`], [`script`] and [`target`] (what they
//! mean), then [`tables`] or the runner with [`printer`], [`tally`], [`text`] and [`machine`].

#[cfg(test)]
mod golden;
mod help;
mod log;
mod lua;
mod machine;
mod options;
mod parse;
mod printer;
mod script;
mod settings;
mod subject;
mod tables;
mod tally;
mod target;
mod text;

use std::ffi::OsString;
use std::process::ExitCode;

use perbuck_console::{print, stop_on_signal};
use perbuck_core::units::Seed;
use perbuck_database::endpoint::is_socket;
use perbuck_database::registry::AnyTarget;
use perbuck_database::secret::Secret;
use perbuck_lab::error::ErrorKind;
use perbuck_load::error::DriverError;
use perbuck_load::workload::Dataset;
use perbuck_workloads::sysbench::{Compat, Options, SysbenchData};

pub use log::Called;
use log::Log;
use parse::Given;
use printer::Lines;
use script::Order;
use settings::{Output, Settings};
use subject::Subject;
use tables::Tables;

use crate::advice::{Advice, answer_text};
use crate::agents::{self, AGENTS, TOKEN_FILE};

use crate::refused::{End, Refused};
use crate::run::{DropIn, Run};
use crate::secret::PasswordSources;
use crate::study::{Series, Workload};

const COMMAND: DropIn = DropIn {
    word: "sysbench",
    variable: "PERBUCK_SYSBENCH_PASSWORD",
    advice: Advice {
        password: "check user and password; the password comes from PERBUCK_SYSBENCH_PASSWORD, MYSQL_PWD, PGPASSWORD or --password-file",
        database: "create the database first, or name another one with --mysql-db or --pgsql-db",
        tables: "perbuck sysbench SCRIPT prepare makes the tables; --tables must not be more than there are",
        connections: "raise max_connections of the server, or lower --threads",
        errors: "an error that --mysql-ignore-errors lists does not end the run; \"all\" lists every one",
        reach: "check that the server runs, and the options of host, port and TLS",
    },
    unreachable,
    connects: |_| true,
    ended: (answer_text, ""),
};

/// What sysbench prints on standard error for `--test`.
const BY_TEST: &str =
    "WARNING: the --test option is deprecated. You can pass a script name or path on the command line without any options.";

/// sysbench's exit code where `--forced-shutdown` cut transactions off.
const CUT_OFF: u8 = 2;

/// Runs the command. Its exit codes are sysbench's: 0, or 1 for whatever went wrong; 130 after Ctrl-C.
pub fn run(words: &[OsString], called: Called) -> ExitCode {
    let mut log = Log::new(3, true, called);
    match ordered(words, &mut log) {
        Ok(code) => code,
        Err(End::Refused(refused)) => log.refused(&refused),
        Err(End::Failed(error)) if error.kind() == ErrorKind::Interrupted => perbuck_console::fail(&error),
        Err(End::Failed(error)) => log.refused(&Refused::fatal(error.words().0, COMMAND.advice.of_failure(&error))),
    }
}

/// Does what the command line asks for; `log` becomes that of its settings.
fn ordered(words: &[OsString], log: &mut Log) -> Result<ExitCode, End> {
    if let Some(path) = lua::wanted(words, log.called) {
        return lua::ordered(words, &path, log);
    }
    let given = parse::parse(words, &script::options(None, None))?;
    hide(words, &given, log.called)?;
    if let Some(text) = asked(&given, log.called) {
        return Ok(print(&text).map_or_else(|error| perbuck_console::fail(&error), |()| ExitCode::SUCCESS));
    }
    let settings = begin(&given, log)?;
    let (log, mut out) = (*log, log.streams());
    let (script, remark) = script::script(&given)?;
    let order = script::order(&given)?;
    let mut remarks = given.remarks.clone();
    remarks.extend(remark);
    let (workload, options) = script::workload(&given, script, &settings, &mut remarks)?;
    remarks.iter().for_each(|remark| out.say(&format!("perbuck: {remark}")));
    if order == Order::Help {
        print(&help::of_script(script, settings.compat))?;
        return Ok(ExitCode::SUCCESS);
    }
    if settings.load.events.is_none() && settings.time_s.is_none() && order == Order::Run {
        log.warning("neither --events nor --time limits the run, so only Ctrl-C ends it, without a report", &mut *out)?;
    }
    let agents = agents::named(&settings::list(&given, AGENTS.0), settings::text(&given, TOKEN_FILE.0))?;
    if order != Order::Run {
        agents::none(agents.as_ref(), order.word())?;
    }
    let target = target::target(&given, settings.as_text)?;
    let password = password(&given)?;
    let series = series(workload, &settings);
    let records = &settings.records;
    let run = Run { command: &COMMAND, series: &series, target: &target, password: &password, records, agents };
    if order == Order::Prewarm && log.called == Called::Sysbench && target.dialect().family() != "mysql" {
        let message = "perbuck sysbench reads these tables, sysbench does not: prewarm is currently MySQL only";
        return Err(Refused::fatal(message, "").into());
    }
    work(&run, order, &settings, &options, log)
}

/// Reads the settings of a command line, and prints what the log begins with; `log` becomes that of the settings.
fn begin(given: &Given, log: &mut Log) -> Result<Settings, End> {
    let settings = Settings::read(given)?;
    *log = Log::new(settings.verbosity, settings.output == Output::Text, log.called);
    let mut out = log.streams();
    if given.by_test {
        perbuck_console::say(BY_TEST);
    }
    given.deprecated().try_for_each(|warning| log.deprecated(&warning, &mut *out))?;
    log.notice(&text::header(settings.compat, log.called), &mut *out)?;
    Ok(settings)
}

/// What a command line asks to be told; `None` where it asks for work.
fn asked(given: &Given, called: Called) -> Option<String> {
    let switch = |name| settings::switch(given, name);
    let version = || match called {
        Called::Perbuck => text::header(Some(Compat::Sysbench10), called),
        Called::Sysbench => text::SYSBENCH.to_owned() + "\n",
    };
    switch("help").then(help::general).or_else(|| switch("version").then(version))
}

/// The option and the variable of the database's own client that hold a password.
fn password_names(given: &Given) -> Result<Option<(&'static str, &'static str)>, Refused> {
    Ok(match target::scheme(given)? {
        "sqlite" | "duckdb" => None,
        "mysql" | "tidb" => Some(("mysql-password", "MYSQL_PWD")),
        _ => Some(("pgsql-password", "PGPASSWORD")),
    })
}

/// Takes a password off the command line. Returns where there is none, or where that fails.
fn hide(words: &[OsString], given: &Given, called: Called) -> Result<(), Refused> {
    let names = password_names(given)?;
    if !given.typed.is_empty() {
        let (words, password) = (parse::without_passwords(words), names.and_then(|(option, _)| given.typed.get(option)));
        match called {
            Called::Perbuck => COMMAND.hide(&words, password),
            Called::Sysbench => COMMAND.hide_by_name(&words, password),
        }
    }
    Ok(())
}

/// The password; none is the empty one.
fn password(given: &Given) -> Result<Secret, Refused> {
    let Some((option, client)) = password_names(given)? else { return Ok(Secret::default()) };
    let file = settings::text(given, "password-file");
    let sources = PasswordSources { typed: given.typed.get(option), file, filed: given.filed.get(option), client };
    Ok(COMMAND.password(&sources)?.unwrap_or_default())
}

/// The command line as a study: everything that decides what is measured, but for the database and the seed.
fn series(workload: Workload, settings: &Settings) -> Series {
    Series::new(workload, settings.load.clone(), &format!(" {:?}", settings.ignored))
}

fn work(run: &Run<'_>, order: Order, settings: &Settings, options: &Options, log: Log) -> Result<ExitCode, End> {
    let runs = order == Order::Run;
    if runs {
        run.check_name()?;
    }
    let stop = match order {
        Order::Run => stop_on_signal("stopping; this run is thrown away")?,
        Order::Prepare => stop_on_signal("stopping the load")?,
        Order::Prewarm | Order::Cleanup | Order::Help => stop_on_signal("stopping")?,
    };
    let rehearses = runs && settings.dry_run;
    let stage = match rehearses {
        true => run.rehearsal(&stop)?,
        false => run.stage(if runs { run.series.load.longest_s() } else { None }, &stop)?,
    };
    let (dialect, mut streams) = (run.target.dialect(), log.streams());
    let out = &mut *streams;
    if runs {
        log.notice(&text::banner(settings, log.adds()), out)?;
    }
    if !rehearses {
        run.reach(&stage, &stop)?;
    }
    // The seed of the rows plays no part in what tables there are.
    let specs = || SysbenchData::new(options.clone(), dialect, Seed(0)).tables();
    let tables = || Tables { stage: &stage, options, dialect, specs: specs(), log };
    match order {
        Order::Prepare => tables().prepare(settings)?,
        Order::Prewarm => tables().prewarm(settings)?,
        Order::Cleanup => tables().cleanup()?,
        Order::Help => {}
        Order::Run => {
            if !rehearses {
                run.note_use(&stage)?;
            }
            if settings.output == Output::Csv {
                out.print(&machine::csv_header(settings))?;
            }
            let mut lines = Lines::new(settings, &run.series.workload, Subject::BuiltIn(options), dialect, log);
            let ended = run.drive(&stage, &mut lines, out, &stop)?;
            run.finish(&ended, !rehearses, &lines, out)?;
            if ended.record.health.aborted > 0 && settings.forced_shutdown_s.is_some() {
                return Ok(ExitCode::from(CUT_OFF));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// That no connection can be opened, with the server as sysbench names it.
fn unreachable(target: &AnyTarget, answer: &DriverError) -> String {
    let server = match (target.dialect().family(), target.server()) {
        ("mysql", Some(server)) => match server.hosts.as_slice() {
            [(path, _)] if is_socket(path) => format!("MySQL server on socket '{path}'"),
            [(host, port)] => format!("MySQL server on host '{host}', port {port}"),
            _ => "one of the MySQL servers".to_owned(),
        },
        _ => target.described(),
    };
    format!("unable to connect to {server}, aborting...\nFATAL: {}", answer_text(answer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::hold_against_its_text;

    fn of(words: &[&str]) -> Series {
        let given = golden::read(words).unwrap();
        let (settings, script) = (Settings::read(&given).unwrap(), script::script(&given).unwrap().0);
        let (workload, _) = script::workload(&given, script, &settings, &mut Vec::new()).unwrap();
        series(workload, &settings)
    }

    #[test]
    fn every_command_line_is_a_study_that_can_be_read() {
        for words in [
            &["oltp_read_write"][..],
            &["oltp_update_non_index", "--threads=10000", "--rate=5", "--time=0", "--events=7", "--warmup-time=3"],
            &["oltp_read_only", "--rand-type=pareto", "--rand-pareto-h=0.3", "--workers=2", "--skip-trx=off"],
            &["oltp_insert", "--create-table-options=COMMENT \"x\\y\""],
            &["oltp_delete", "--time=0", "--threads=1000000", "--workers=4096", "--db-driver=sqlite"],
            &["bulk_insert", "--threads=4"],
            &["select_random_ranges", "--compat=sysbench-1.1", "--rand-type=zipfian", "--rand-zipfian-exp=2"],
        ] {
            hold_against_its_text(&of(words));
        }
    }

    #[test]
    fn the_same_measurement_is_the_same_study_however_it_is_written() {
        let plain = of(&["oltp_read_write"]);
        let same =
            of(&["/x/oltp_read_write.lua", "--threads=1", "--tables=1", "--time=10", "--rand-seed=9", "--mysql-host=other"]);
        assert_eq!((&plain.name, &plain.fingerprint), (&same.name, &same.fingerprint));
        for other in [
            &["oltp_read_write", "--threads=2"][..],
            &["oltp_read_write", "--tables=2"],
            &["oltp_read_write", "--time=11"],
            &["oltp_read_write", "--events=11"],
            &["oltp_read_write", "--rate=11"],
            &["oltp_read_write", "--mysql-ignore-errors=all"],
            &["oltp_read_write", "--compat=sysbench-1.1"],
            &["oltp_read_only"],
        ] {
            assert_ne!(plain.fingerprint, of(other).fingerprint, "{other:?}");
        }
    }
}
