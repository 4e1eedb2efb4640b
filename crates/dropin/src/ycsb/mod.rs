//! `perbuck ycsb`: takes the place of go-ycsb, and of YCSB, on databases that speak SQL and on TiKV.
//!
//! A command line goes one way: [`words`], [`properties`] (files and what stands over them), [`settings`] and [`target`] (what
//! they mean), then [`run`] with [`live`] and [`report`], then `dropin::keep`.

mod help;
mod live;
mod properties;
mod report;
mod run;
mod settings;
mod target;
mod tikv;
mod words;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Instant;

use perbuck_core::units::Seed;
use perbuck_drivers::target::Target;
use perbuck_load::stop::StopToken;
use perbuck_load::trial::RunError;
use perbuck_load::workload::{Dataset, TableSpec};
use perbuck_workloads::Plan;
use perbuck_workloads::ycsb::YcsbData;

use properties::Properties;
use run::{ATTEMPTS, RULE, Run, duration, show, verdict};
use settings::{Settings, Shape};
use target::Engine;
use words::{Given, Order};

use crate::advice::{Advice, answer_text};
use crate::refused::Refused;
use crate::study::{Asked, Frame, Member, Sweep};
use crate::target::{contender_name, with_patience};
use crate::{keep, notes, unrecorded};
use perbuck_console::{Display, say};
use perbuck_console::{print, stop_on_signal};
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::progress::Progress;
use perbuck_lab::stage::Stage;
use perbuck_lab::trial::Failure;

/// The kind of workload, in perbuck's notes on the data.
const KIND: &str = "ycsb";

/// The way out of errors of a server.
const ADVICE: Advice = Advice {
    password: "check user and password; the password comes from PERBUCK_YCSB_PASSWORD, MYSQL_PWD, PGPASSWORD or --password-file",
    database: "create the database first, or name another one with -p mysql.db=… or -p pg.db=…",
    tables: "perbuck ycsb load makes the table; fieldcount and table must be those of the load",
    connections: "raise max_connections of the server, or lower --threads",
    errors: "the error ended the load; what was inserted stays, and -p dropdata=true begins anew",
    reach: "check that the server runs, and the properties of host and port",
};

/// Runs the command. It ends with 0, 1 for whatever went wrong, or 130 after Ctrl-C.
pub fn run(words: &[OsString]) -> ExitCode {
    let done = words::read(words).map_err(End::Refused).and_then(|given| ordered(&given));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(End::Refused(refused)) => failed(&refused.message, &refused.help),
        Err(End::Failed(error)) if error.kind() == ErrorKind::Interrupted => perbuck_console::fail(&error),
        Err(End::Failed(error)) => {
            let (message, help) = error.words();
            failed(message, ADVICE.instead(help))
        }
    }
}

/// Why a command did not do its work.
enum End {
    Refused(Refused),
    Failed(LabError),
}

impl From<Refused> for End {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<LabError> for End {
    fn from(error: LabError) -> Self {
        Self::Failed(error)
    }
}

fn failed(message: &str, help: &str) -> ExitCode {
    let help = if help.is_empty() { String::new() } else { format!("\n    help: {help}") };
    say(&format!("error: {message}{help}"));
    ExitCode::FAILURE
}

/// Does what the command line asks for.
fn ordered(given: &Given) -> Result<(), End> {
    if given.option("--help").is_some() || (given.words.is_empty() && given.typed.is_none()) {
        return Ok(print(&help::text())?);
    }
    let (order, database) = given.order()?;
    let engine = Engine::of(database)?;
    engine.hide(given);
    let properties = Properties::read(given)?;
    let settings = Settings::read(given, &properties, order)?;
    let target = engine.target(&properties)?;
    let password = engine.password(given, &properties)?;
    properties.remarks.iter().for_each(|remark| say(&format!("perbuck: {remark}")));
    let frame = frame(&settings);
    let made = contender_name(&target);
    let name = settings.contender.clone().unwrap_or_else(|| made.clone());
    // A name made of an address never collides.
    if let (Some(results), Some(asked)) = (&settings.results, &settings.contender) {
        keep::check(results, &frame, asked, &target.address())?;
    }
    let inputs = frame.inputs(&[Member { name, address: target.address() }], 1)?;
    let (contender, workload) = (inputs.study.baseline(), &inputs.study.workloads[0]);
    let plan = Plan::of(settings.options.clone());
    let patient = with_patience(&target, settings.time_s.map(|s| u64::from(s) + u64::from(settings.warmup_s) + 70));
    let stage = inputs.registry.stage(&inputs.study, contender, workload, &plan, &patient, &password)?;
    let stop = stop_on_signal(if order == Order::Run { "stopping; this run is thrown away" } else { "stopping the load" })?;
    let work = Work { settings: &settings, target: &target, stage: &stage };
    header(&settings, &properties)?;
    stage.server.reach().map_err(|answer| work.explain(&RunError::Connect(answer)))?;
    let run = Run { settings: &settings, inputs: &inputs, stage: &stage, address: target.address() };
    let tables = YcsbData::new(settings.options.clone(), target.dialect(), Seed(0)).tables();
    if order == Order::Load {
        work.make(&tables)?;
        if settings.bulk {
            return Ok(work.fill(&stop)?);
        }
    } else {
        notes::used(&stage, KIND, "perbuck ycsb")?;
    }
    let ended = run.go(&stop).map_err(|failure| match failure {
        Failure::Run(error) => work.explain(&error),
        Failure::Other(error) => End::Failed(error),
    })?;
    if order == Order::Load {
        work.finish(&tables)?;
    }
    let kept = settings
        .results
        .as_deref()
        .map(|results| keep::keep(results, &frame, settings.contender.as_deref(), &made, &inputs, ended.record.clone()));
    show(&settings, &ended)?;
    match kept {
        Some(Ok(path)) => say(&format!("record: {path}")),
        Some(Err(error)) => unrecorded(settings.results_asked, error)?,
        None => {}
    }
    verdict(&settings, &ended.operations).map_or(Ok(()), |error| Err(End::Failed(error)))
}

/// The properties, as go-ycsb shows them; YCSB's shape has its figures alone on standard output.
fn header(settings: &Settings, properties: &Properties) -> Result<(), LabError> {
    if settings.shape == Shape::GoYcsb {
        let lines: Vec<String> = properties.shown().iter().map(|(n, v)| format!("\"{n}\"=\"{v}\"\n")).collect();
        print(&format!("***************** properties *****************\n{}{RULE}", lines.concat()))?;
    }
    say(&format!("perbuck: the seed of the operations is {}; --seed={0} draws the same again", settings.seed));
    Ok(())
}

/// The frame of a command line: everything that decides what is measured, but for the database and the seed.
fn frame(settings: &Settings) -> Frame {
    let sweep = Sweep {
        connections: settings.threads,
        warmup: format!("{}s", settings.warmup_s),
        duration: settings.time_s.map(|time_s| format!("{time_s}s")),
        events: settings.events,
        rate: settings.target,
        workers: settings.workers,
        attempts: ATTEMPTS,
    };
    let identity = format!("{:?} {}", settings.options.parameters(), sweep.text());
    Frame::new(&Asked { command: KIND, workload: &settings.name, parameters: &settings.parameters, sweep: &sweep }, &identity)
}

/// A command with what it needs.
struct Work<'a> {
    settings: &'a Settings,
    target: &'a Target,
    stage: &'a Stage,
}

impl Work<'_> {
    /// Makes the table where it is not there; drops it before where that was asked for.
    fn make(&self, tables: &[TableSpec]) -> Result<(), LabError> {
        let name = &self.settings.options.table;
        // PostgreSQL folds names that stand without quotes.
        let folded = if self.target.dialect().follows_postgres() { name.to_ascii_lowercase() } else { name.clone() };
        let there = self.stage.server.has_table(&folded)?;
        if self.settings.bulk && there && !self.settings.drop_data {
            let message = format!("table {name} is there already; nothing was changed");
            let help = "batch.size above 1 loads a new table: add -p dropdata=true to drop this one, or leave batch.size out";
            return Err(LabError::new(ErrorKind::Refused, message, help));
        }
        if self.settings.drop_data && there {
            self.stage.server.execute(&format!("dropping table {name}"), &format!("DROP TABLE IF EXISTS {name}"))?;
        }
        notes::forget(self.stage, KIND)?;
        for sql in tables.iter().flat_map(|t| &t.create) {
            self.stage.server.execute(&format!("creating table {name}"), sql)?;
        }
        Ok(())
    }

    /// Loads the records by the fastest way that the database offers.
    fn fill(&self, stop: &StopToken) -> Result<(), LabError> {
        let (mut progress, began) = (Display::default(), Instant::now());
        let threads = Some(self.settings.threads).filter(|n| *n > 1);
        self.stage.data.fill(threads, stop, &mut |p| {
            progress.passing(&perbuck_lab::prepare::load_text(&p, began.elapsed()));
        })?;
        drop(progress);
        let (took, count) = (began.elapsed(), self.settings.options.insertcount);
        let rate = count as f64 / took.as_secs_f64();
        print(&format!(
            "{RULE}Run finished, takes {}\nBULK_LOAD - Takes(s): {:.1}, Count: {count}, OPS: {rate:.1}\n",
            duration(took),
            took.as_secs_f64()
        ))
    }

    /// What comes after the records are in.
    fn finish(&self, tables: &[TableSpec]) -> Result<(), LabError> {
        for sql in tables.iter().flat_map(|t| &t.after_load) {
            self.stage.server.execute("gathering statistics of the table", sql)?;
        }
        Ok(())
    }

    /// A run that ended by an error.
    fn explain(&self, error: &RunError) -> End {
        let refused = match error {
            RunError::Connect(answer) => {
                Refused::fatal(format!("cannot connect to {}: {}", self.target.address(), answer_text(answer)), ADVICE.of(answer))
            }
            RunError::Fatal(answer) => Refused::fatal(answer_text(answer), ADVICE.of(answer)),
            RunError::Interrupted => {
                return End::Failed(LabError::new(ErrorKind::Interrupted, "interrupted; nothing of this run is kept", ""));
            }
            other => return End::Failed(LabError::trial(self.stage.title(), other)),
        };
        End::Refused(refused)
    }
}
