//! `perbuck sysbench`: takes the place of sysbench for its database scripts. The words are read by our own parser, since
//! sysbench's syntax is not clap's.
//!
//! A command line goes one way: [`parse`] (words), [`secret`] (takes a password off it), [`settings`], [`script`] and
//! [`target`] (what they mean), then [`tables`] or [`run`] with [`tally`], [`text`] and [`machine`], then [`keep`].

mod help;
mod keep;
mod live;
mod log;
mod machine;
mod options;
mod parse;
mod run;
mod script;
mod secret;
mod settings;
mod study;
mod tables;
mod tally;
mod target;
mod text;

use std::process::ExitCode;

use perbuck_core::units::Seed;
use perbuck_drivers::target::Target;
use perbuck_load::error::{DriverError, ErrorCode};
use perbuck_load::executor::RunError;
use perbuck_load::stop::StopToken;
use perbuck_load::workload::Dataset;
use perbuck_workloads::sysbench::{Compat as Version, SysbenchData};

use log::Log;
use parse::{Given, Refused};
use run::Run;
use script::{Checked, Order};
use settings::{Compat, Output, Settings};
use study::{Frame, Member};
use tables::Tables;
use target::Engine;

use crate::args::SysbenchArguments;
use crate::commands::{print, stop_on_signal};
use crate::error::{CliError, Exit};
use crate::inputs::Inputs;
use crate::progress::say;
use crate::stage::{self, Stage};
use crate::trial::Failure;

/// sysbench's exit code where `--forced-shutdown` cut transactions off.
const CUT_OFF: u8 = 2;

/// Runs the command. Its exit codes are sysbench's: 0, or 1 for whatever went wrong; 130 after Ctrl-C.
pub(crate) fn run(arguments: &SysbenchArguments) -> ExitCode {
    let log = Log::new(3, true);
    let given = match parse::parse(&arguments.words, &script::options(None, None)) {
        Ok(given) => given,
        Err(refused) => return log.refused(&refused),
    };
    let engine = match Engine::of(&given) {
        Ok(engine) => engine,
        Err(refused) => return log.refused(&refused),
    };
    secret::hide(&arguments.words, &given, engine);
    if settings::switch(&given, "help") {
        return printed(&help::general());
    }
    if settings::switch(&given, "version") {
        return printed(&text::header(Compat::V10));
    }
    let settings = match Settings::read(&given) {
        Ok(settings) => settings,
        Err(refused) => return log.refused(&refused),
    };
    let log = Log::new(settings.verbosity, settings.output == Output::Text);
    match ordered(&given, engine, &settings, log) {
        Ok(()) => ExitCode::SUCCESS,
        Err(End::CutOff) => ExitCode::from(CUT_OFF),
        Err(End::Refused(refused)) => log.refused(&refused),
        Err(End::Failed(error)) => failed(&error, log),
    }
}

/// Why a command did not do its work.
enum End {
    /// Transactions did not end within the limit of `--forced-shutdown`; everything is printed.
    CutOff,
    Refused(Refused),
    Failed(CliError),
}

impl From<Refused> for End {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<CliError> for End {
    fn from(error: CliError) -> Self {
        Self::Failed(error)
    }
}

fn printed(text: &str) -> ExitCode {
    match print(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.print(),
    }
}

/// An error as a line of the log, with sysbench's exit code.
fn failed(error: &CliError, log: Log) -> ExitCode {
    if error.exit() == Exit::Interrupted {
        return error.print();
    }
    let (message, help) = error.words();
    // Advice of the study commands, whose passwords and tables come otherwise.
    let help = match help {
        text if text.contains("password") => {
            "check user and password; the password comes from PERBUCK_SYSBENCH_PASSWORD, MYSQL_PWD, PGPASSWORD or --password-file"
        }
        text if text.contains("target") => "check that the server runs, and the options of host, port and TLS",
        text => text,
    };
    log.refused(&Refused::fatal(message, help))
}

/// Does what the command line asks for.
fn ordered(given: &Given, engine: Engine, settings: &Settings, log: Log) -> Result<(), End> {
    given.warnings.iter().try_for_each(|warning| log.warning(warning))?;
    log.notice(&text::header(settings.compat))?;
    let (script, remark) = script::script(given)?;
    let order = script::order(given)?;
    let mut remarks = given.remarks.clone();
    remarks.extend(remark);
    let checked = script::plan(given, script, settings, &mut remarks)?;
    remarks.iter().for_each(|remark| say(&format!("perbuck: {remark}")));
    if order == Order::Help {
        return Ok(print(&help::of_script(script, Version::named(settings.compat.word())))?);
    }
    if settings.events.is_none() && settings.time_s.is_none() && order == Order::Run {
        log.warning("neither --events nor --time limits the run, so only Ctrl-C ends it, without a report")?;
    }
    let target = target::target(given, engine, settings.as_text)?;
    let password = secret::password(given, engine)?;
    let frame = Frame::new(&checked, settings);
    let made = target::contender_name(&target);
    let name = settings.contender.clone().unwrap_or_else(|| made.clone());
    // A name made of an address never collides.
    if let (Order::Run, Some(results), Some(asked)) = (order, &settings.results, &settings.contender) {
        keep::check(results, &frame, asked, &target.address())?;
    }
    let inputs = frame.inputs(&[Member { name, address: target.address() }], 1)?;
    let (contender, workload) = (inputs.study.baseline(), &inputs.study.workloads[0]);
    let patient = target::with_patience(&target, (order == Order::Run).then(|| longest_s(settings)).flatten());
    let stage = stage::stage(&inputs.study, contender, workload, &checked.plan, &patient, &password)?;
    let stop = match order {
        Order::Run => stop_on_signal("stopping; this run is thrown away")?,
        Order::Prepare => stop_on_signal("stopping the load")?,
        // Single statements: the signal ends the process, as it does without a handler.
        Order::Prewarm | Order::Cleanup | Order::Help => StopToken::default(),
    };
    let work = Work { settings, checked: &checked, engine, target: &target, inputs: &inputs, stage: stage.as_ref(), log };
    if order == Order::Run {
        return work.run(&frame, &made, &stop);
    }
    work.stage.reach().map_err(|answer| work.explain(&RunError::Connect(answer)))?;
    match order {
        Order::Prepare => Ok(work.tables().prepare(settings, &stop)?),
        Order::Prewarm => Ok(work.tables().prewarm(settings)?),
        Order::Cleanup => Ok(work.tables().cleanup()?),
        Order::Run | Order::Help => Ok(()),
    }
}

/// How long a run lasts at most, with a minute on top, in seconds; `None` where it has no end.
fn longest_s(settings: &Settings) -> Option<u64> {
    settings.time_s.map(|time_s| [time_s, settings.warmup_s, run::drain_s(settings), 60].iter().map(|s| u64::from(*s)).sum())
}

/// A command with everything it needs.
struct Work<'a> {
    settings: &'a Settings,
    checked: &'a Checked,
    engine: Engine,
    target: &'a Target,
    inputs: &'a Inputs,
    stage: &'a dyn Stage,
    log: Log,
}

impl Work<'_> {
    fn tables(&self) -> Tables<'_> {
        let dialect = self.engine.dialect();
        // The seed of the rows plays no part in what tables there are.
        let specs = SysbenchData::new(self.checked.options.clone(), dialect, Seed(0)).tables();
        Tables { stage: self.stage, options: &self.checked.options, dialect, specs, log: self.log }
    }

    fn run(&self, frame: &Frame, made: &str, stop: &StopToken) -> Result<(), End> {
        let Self { settings, checked: script, engine, inputs, stage, log, .. } = *self;
        let run = Run { settings, script, engine, inputs, stage, address: self.target.address(), log };
        run.banner()?;
        stage.reach().map_err(|answer| self.explain(&RunError::Connect(answer)))?;
        self.tables().used()?;
        let ended = run.go(stop).map_err(|failure| match failure {
            Failure::Run(error) => self.explain(&error),
            Failure::Other(error) => End::Failed(error),
        })?;
        let kept = settings.results.as_deref().map(|results| {
            let asked = settings.contender.as_deref();
            keep::keep(results, frame, asked, made, inputs, ended.record.clone())
        });
        let cut_off = ended.record.health.aborted > 0 && settings.forced_shutdown_s.is_some();
        let record = kept.as_ref().and_then(|k| k.as_ref().ok().cloned());
        run.show(ended, record)?;
        match kept {
            Some(Ok(path)) => say(&format!("record: {path}")),
            Some(Err(error)) => return self.unrecorded(error),
            None => {}
        }
        if cut_off { Err(End::CutOff) } else { Ok(()) }
    }

    /// The figures are printed, and only their record could not be kept. Whoever asked for the folder must know by the exit
    /// code; a script of sysbench that runs where nothing can be written goes on.
    fn unrecorded(&self, error: CliError) -> Result<(), End> {
        if self.settings.results_asked {
            return Err(End::Failed(error));
        }
        say(&format!(
            "perbuck: no record of this run was kept: {error}\n    --results names another folder, --no-record keeps none"
        ));
        Ok(())
    }

    /// A run that ended by an error, in sysbench's words.
    fn explain(&self, error: &RunError) -> End {
        let refused = match error {
            RunError::Connect(answer) => Refused::fatal(
                format!("unable to connect to {}, aborting...\nFATAL: {}", self.place(), answer_text(answer)),
                way_out(answer),
            ),
            RunError::Fatal(answer) => Refused::fatal(answer_text(answer), way_out(answer)),
            RunError::Interrupted => {
                return End::Failed(CliError::new(Exit::Interrupted, "interrupted; nothing of this run is kept", ""));
            }
            other => return End::Failed(CliError::trial(self.stage.title(), other)),
        };
        End::Refused(refused)
    }

    /// The server as sysbench names it.
    fn place(&self) -> String {
        match self.target {
            Target::Mysql(server) => match server.hosts.as_slice() {
                [(host, port)] => format!("MySQL server on host '{host}', port {port}"),
                _ => "one of the MySQL servers".to_owned(),
            },
            Target::Postgres(_) => "the PostgreSQL server".to_owned(),
            Target::Sqlite(file) => format!("the SQLite database {}", file.path.display()),
        }
    }
}

/// An answer with its number, as sysbench prints it.
fn answer_text(answer: &DriverError) -> String {
    match answer.code {
        ErrorCode::Mysql(number) => format!("error {number}: {}", answer.message),
        // Not the option of a study's target, which nobody can set here.
        _ => answer.to_string().replace("; see `read_timeout` of the target", ""),
    }
}

/// What a user can do about an answer.
fn way_out(answer: &DriverError) -> &'static str {
    match answer.code {
        ErrorCode::Mysql(1045 | 1698) | ErrorCode::SqlState([b'2', b'8', ..]) => {
            "check user and password; the password comes from PERBUCK_SYSBENCH_PASSWORD, MYSQL_PWD, PGPASSWORD or --password-file"
        }
        ErrorCode::Mysql(1049) | ErrorCode::SqlState([b'3', b'D', ..]) => {
            "create the database first, or name another one with --mysql-db or --pgsql-db"
        }
        ErrorCode::Mysql(1146) | ErrorCode::SqlState([b'4', b'2', b'P', b'0', b'1']) | ErrorCode::Sqlite(1) => {
            "perbuck sysbench SCRIPT prepare makes the tables; --tables must not be more than there are"
        }
        ErrorCode::Mysql(1040) => "raise max_connections of the server, or lower --threads",
        ErrorCode::Mysql(1062 | 1213 | 1205 | 1020) => {
            "an error that --mysql-ignore-errors lists does not end the run; \"all\" lists every one"
        }
        ErrorCode::Client(_) => "check that the server runs, and the options of host, port and TLS",
        _ => "",
    }
}
