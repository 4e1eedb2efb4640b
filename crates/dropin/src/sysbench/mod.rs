//! `perbuck sysbench`: takes the place of sysbench for its database scripts. The words are read by our own parser, since
//! sysbench's syntax is not clap's.
//!
//! A command line goes one way: [`parse`] (words), [`secret`] (takes a password off it), [`settings`], [`script`] and
//! [`target`] (what they mean), then [`tables`] or [`run`] with [`tally`], [`text`] and [`machine`], then `dropin::keep`.

mod help;
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

use std::ffi::OsString;
use std::process::ExitCode;

use perbuck_core::units::Seed;
use perbuck_drivers::target::Target;
use perbuck_load::stop::StopToken;
use perbuck_load::trial::RunError;
use perbuck_load::workload::Dataset;
use perbuck_workloads::sysbench::{Compat as Version, SysbenchData};

use log::Log;
use parse::Given;
use run::Run;
use script::{Checked, Order};
use settings::{Compat, Output, Settings};
use tables::Tables;
use target::Engine;

use crate::advice::{Advice, answer_text};
use crate::refused::Refused;
use crate::study::{Frame, Member};
use crate::target::{contender_name, with_patience};
use crate::{End, keep, notes, unrecorded};
use perbuck_console::say;
use perbuck_console::{print, stop_on_signal};
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::inputs::Inputs;
use perbuck_lab::stage::Stage;
use perbuck_lab::trial::Failure;

/// The way out of errors of a server.
const ADVICE: Advice = Advice {
    password: "check user and password; the password comes from PERBUCK_SYSBENCH_PASSWORD, MYSQL_PWD, PGPASSWORD or --password-file",
    database: "create the database first, or name another one with --mysql-db or --pgsql-db",
    tables: "perbuck sysbench SCRIPT prepare makes the tables; --tables must not be more than there are",
    connections: "raise max_connections of the server, or lower --threads",
    errors: "an error that --mysql-ignore-errors lists does not end the run; \"all\" lists every one",
    reach: "check that the server runs, and the options of host, port and TLS",
};

/// sysbench's exit code where `--forced-shutdown` cut transactions off.
const CUT_OFF: u8 = 2;

/// Runs the command. Its exit codes are sysbench's: 0, or 1 for whatever went wrong; 130 after Ctrl-C.
pub fn run(words: &[OsString]) -> ExitCode {
    let log = Log::new(3, true);
    let given = match parse::parse(words, &script::options(None, None)) {
        Ok(given) => given,
        Err(refused) => return log.refused(&refused),
    };
    let engine = match Engine::of(&given) {
        Ok(engine) => engine,
        Err(refused) => return log.refused(&refused),
    };
    secret::hide(words, &given, engine);
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
        Ok(Done::Whole) => ExitCode::SUCCESS,
        Ok(Done::CutOff) => ExitCode::from(CUT_OFF),
        Err(End::Refused(refused)) => log.refused(&refused),
        Err(End::Failed(error)) => failed(&error, log),
    }
}

fn printed(text: &str) -> ExitCode {
    match print(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => perbuck_console::fail(&error),
    }
}

/// An error as a line of the log, with sysbench's exit code.
fn failed(error: &LabError, log: Log) -> ExitCode {
    if error.kind() == ErrorKind::Interrupted {
        return perbuck_console::fail(error);
    }
    let (message, help) = error.words();
    log.refused(&Refused::fatal(message, ADVICE.instead(help)))
}

/// How a command did its work.
enum Done {
    Whole,
    /// Transactions did not end within the limit of `--forced-shutdown`; everything is printed.
    CutOff,
}

/// Does what the command line asks for.
fn ordered(given: &Given, engine: Engine, settings: &Settings, log: Log) -> Result<Done, End> {
    given.warnings.iter().try_for_each(|warning| log.warning(warning))?;
    log.notice(&text::header(settings.compat))?;
    let (script, remark) = script::script(given)?;
    let order = script::order(given)?;
    let mut remarks = given.remarks.clone();
    remarks.extend(remark);
    let checked = script::plan(given, script, settings, &mut remarks)?;
    remarks.iter().for_each(|remark| say(&format!("perbuck: {remark}")));
    if order == Order::Help {
        print(&help::of_script(script, Version::named(settings.compat.word())))?;
        return Ok(Done::Whole);
    }
    if settings.events.is_none() && settings.time_s.is_none() && order == Order::Run {
        log.warning("neither --events nor --time limits the run, so only Ctrl-C ends it, without a report")?;
    }
    let target = target::target(given, engine, settings.as_text)?;
    let password = secret::password(given, engine)?;
    let frame = study::frame(&checked, settings);
    let made = contender_name(&target);
    let name = settings.contender.clone().unwrap_or_else(|| made.clone());
    // A name made of an address never collides.
    if let (Order::Run, Some(results), Some(asked)) = (order, &settings.results, &settings.contender) {
        keep::check(results, &frame, asked, &target.address())?;
    }
    let inputs = frame.inputs(&[Member { name, address: target.address() }], 1)?;
    let (contender, workload) = (inputs.study.baseline(), &inputs.study.workloads[0]);
    let patient = with_patience(&target, (order == Order::Run).then(|| longest_s(settings)).flatten());
    let stage = inputs.registry.stage(&inputs.study, contender, workload, &checked.plan, &patient, &password)?;
    let stop = match order {
        Order::Run => stop_on_signal("stopping; this run is thrown away")?,
        Order::Prepare => stop_on_signal("stopping the load")?,
        // Single statements: the signal ends the process, as it does without a handler.
        Order::Prewarm | Order::Cleanup | Order::Help => StopToken::default(),
    };
    let work = Work { settings, checked: &checked, engine, target: &target, inputs: &inputs, stage: &stage, log };
    if order == Order::Run {
        return work.run(&frame, &made, &stop);
    }
    work.stage.server.reach().map_err(|answer| work.explain(&RunError::Connect(answer)))?;
    match order {
        Order::Prepare => work.tables().prepare(settings, &stop)?,
        Order::Prewarm => work.tables().prewarm(settings)?,
        Order::Cleanup => work.tables().cleanup()?,
        Order::Run | Order::Help => {}
    }
    Ok(Done::Whole)
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
    stage: &'a Stage,
    log: Log,
}

impl Work<'_> {
    fn tables(&self) -> Tables<'_> {
        let dialect = self.engine.dialect();
        // The seed of the rows plays no part in what tables there are.
        let specs = SysbenchData::new(self.checked.options.clone(), dialect, Seed(0)).tables();
        Tables { stage: self.stage, options: &self.checked.options, dialect, specs, log: self.log }
    }

    fn run(&self, frame: &Frame, made: &str, stop: &StopToken) -> Result<Done, End> {
        let Self { settings, checked: script, engine, inputs, stage, log, .. } = *self;
        let run = Run { settings, script, engine, inputs, stage, address: self.target.address(), log };
        run.banner()?;
        stage.server.reach().map_err(|answer| self.explain(&RunError::Connect(answer)))?;
        notes::used(stage, tables::KIND, "perbuck sysbench")?;
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
            Some(Err(error)) => unrecorded(settings.results_asked, error)?,
            None => {}
        }
        Ok(if cut_off { Done::CutOff } else { Done::Whole })
    }

    /// A run that ended by an error, in sysbench's words.
    fn explain(&self, error: &RunError) -> End {
        let refused = match error {
            RunError::Connect(answer) => Refused::fatal(
                format!("unable to connect to {}, aborting...\nFATAL: {}", self.place(), answer_text(answer)),
                ADVICE.of(answer),
            ),
            RunError::Fatal(answer) => Refused::fatal(answer_text(answer), ADVICE.of(answer)),
            RunError::Interrupted => {
                return End::Failed(LabError::new(ErrorKind::Interrupted, "interrupted; nothing of this run is kept", ""));
            }
            other => return End::Failed(LabError::trial(self.stage.title(), other)),
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
            Target::Postgres(server) => format!("the {} server", server.dialect.name()),
            Target::Tikv(_) => "the TiKV cluster".to_owned(),
            Target::Sqlite(file) => format!("the SQLite database {}", file.path.display()),
        }
    }
}
