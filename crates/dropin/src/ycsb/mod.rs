//! `perbuck ycsb`: takes the place of go-ycsb, and of YCSB, on databases that speak SQL and on TiKV.
//!
//! A command line goes one way: [`words`], [`properties`] (files and what stands over them), [`settings`] and [`target`] (what
//! they mean), then the runner with [`printer`] and [`report`].

#[cfg(test)]
mod golden;
mod help;
mod printer;
mod properties;
mod report;
mod settings;
mod target;
mod tikv;
mod words;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Instant;

use perbuck_console::{Display, print, say, stop_on_signal};
use perbuck_core::run_record::TransactionRecord;
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::prepare::condition_text;
use perbuck_lab::stage::Stage;
use perbuck_load::loader::LoadProgress;
use perbuck_load::workload::{Dataset, TableSpec};
use perbuck_workloads::ycsb::YcsbData;

use printer::{Lines, RULE, duration, verdict};
use properties::Properties;
use settings::{Settings, Shape};
use target::Database;
use words::{Given, Order};

use crate::advice::{Advice, answer_text};
use crate::agents;
use crate::notes;
use crate::output::{self, Standard, Streams};
use crate::refused::End;
use crate::run::{DropIn, Run};
use crate::study::Series;

const COMMAND: DropIn = DropIn {
    word: "ycsb",
    variable: "PERBUCK_YCSB_PASSWORD",
    advice: Advice {
        password: "check user and password; the password comes from PERBUCK_YCSB_PASSWORD, MYSQL_PWD, PGPASSWORD or --password-file",
        database: "create the database first, or name another one with -p mysql.db=… or -p pg.db=…",
        tables: "perbuck ycsb load makes the table; fieldcount and table must be those of the load",
        connections: "raise max_connections of the server, or lower --threads",
        errors: "the error ended the load; what was inserted stays, and -p dropdata=true begins anew",
        reach: "check that the server runs, and the properties of host and port",
    },
    unreachable: |target, answer| format!("cannot connect to {}: {}", target.address(), answer_text(answer)),
    connects: |_| true,
    ended: (answer_text, ""),
};

/// Runs the command. It ends with 0, 1 for whatever went wrong, or 130 after Ctrl-C.
pub fn run(words: &[OsString]) -> ExitCode {
    let failed = |message: &str, help: &str| {
        let help = if help.is_empty() { String::new() } else { format!("\n    help: {help}") };
        say(&format!("error: {message}{help}"));
        ExitCode::FAILURE
    };
    match words::read(words).map_err(End::Refused).and_then(|given| ordered(&given)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(End::Refused(refused)) => failed(&refused.message, &refused.help),
        Err(End::Failed(error)) if error.kind() == ErrorKind::Interrupted => perbuck_console::fail(&error),
        Err(End::Failed(error)) => failed(error.words().0, COMMAND.advice.of_failure(&error)),
    }
}

fn ordered(given: &Given) -> Result<(), End> {
    if given.option("--help").is_some() || (given.words.is_empty() && given.typed.is_none()) {
        return Ok(print(&help::text())?);
    }
    let (order, database) = given.order()?;
    let database = Database::of(database)?;
    database.hide(given);
    let properties = Properties::read(given)?;
    let settings = Settings::read(given, &properties, order)?;
    let target = database.target(&properties)?;
    let password = database.password(given, &properties)?;
    properties.remarks.iter().for_each(|remark| say(&format!("perbuck: {remark}")));
    let series = Series::new(settings.workload.clone(), settings.load.clone(), "");
    let named: Vec<&str> = given.option("--agents").unwrap_or_default().split(',').collect();
    let agents = agents::named(&named, given.option("--token-file").unwrap_or_default())?;
    if order == Order::Load {
        agents::none(agents.as_ref(), "load")?;
    }
    let records = &settings.records;
    let run = Run { command: &COMMAND, series: &series, target: &target, password: &password, records, agents };
    run.check_name()?;
    let stop = stop_on_signal(if order == Order::Run { "stopping; this run is thrown away" } else { "stopping the load" })?;
    let stage = run.stage(series.load.longest_s(), &stop)?;
    header(&settings, &properties, &mut Standard)?;
    run.reach(&stage, &stop)?;
    let data = YcsbData::new(settings.options.clone(), target.dialect(), run.data_seed());
    let table =
        Table { settings: &settings, stage: &stage, specs: data.tables(), folds: target.dialect().family() == "postgres" };
    if order == Order::Load {
        table.make()?;
        if settings.bulk {
            return Ok(table.fill()?);
        }
    } else {
        run.note_use(&stage)?;
    }
    let mut lines = Lines::new(&settings);
    let ended = run.drive(&stage, &mut lines, &mut Standard, &stop)?;
    if order == Order::Load {
        table.finish()?;
    }
    run.finish(&ended, true, &lines, &mut Standard)?;
    verdict(&settings, &ended, &mut Standard)?;
    let inserted: u64 = ended.record.measured.transactions.values().map(TransactionRecord::completed).sum();
    // A load that was cut off by its time has not made all that the checks look for.
    Ok(if order == Order::Load && inserted == settings.options.insertcount { table.check(&data) } else { Ok(()) }?)
}

/// The properties, as go-ycsb shows them; YCSB's shape has its numbers alone on standard output.
fn header(settings: &Settings, properties: &Properties, out: &mut dyn Streams) -> Result<(), LabError> {
    if settings.shape == Shape::GoYcsb {
        let lines: Vec<String> = properties.shown().iter().map(|(n, v)| format!("\"{n}\"=\"{v}\"\n")).collect();
        out.print(&format!("***************** properties *****************\n{}{RULE}", lines.concat()))?;
    }
    out.say(&format!("perbuck: the seed of the operations is {}; --seed={0} draws the same again", settings.seed));
    Ok(())
}

/// The table of a load.
struct Table<'a> {
    settings: &'a Settings,
    stage: &'a Stage,
    specs: Vec<TableSpec>,
    /// Whether the database folds names that stand without quotes, as PostgreSQL does.
    folds: bool,
}

impl Table<'_> {
    /// Makes the table where it is not there; drops it before where that was asked for.
    fn make(&self) -> Result<(), LabError> {
        let (name, server) = (&self.settings.options.table, &self.stage.server);
        let folded = if self.folds { name.to_ascii_lowercase() } else { name.clone() };
        let there = server.has_table(&folded)?;
        if self.settings.bulk && there && !self.settings.drop_data {
            let message = format!("table {name} exists already; nothing was changed");
            let help = "batch.size above 1 loads a new table: add -p dropdata=true to drop this one, or leave batch.size out";
            return Err(LabError::new(ErrorKind::Refused, message, help));
        }
        if self.settings.drop_data && there {
            server.drop_table(&format!("dropping table {name}"), name, None)?;
        }
        notes::forget(self.stage, COMMAND.word)?;
        self.specs.iter().flat_map(|t| &t.create).try_for_each(|sql| server.execute(&format!("creating table {name}"), sql))
    }

    /// Loads the records by the fastest way that the database offers.
    fn fill(&self) -> Result<(), LabError> {
        let (mut progress, began, mut last) = (Display::default(), Instant::now(), LoadProgress::default());
        let threads = Some(self.settings.load.connections).filter(|n| *n > 1);
        self.stage.data.fill(threads, &mut |p| {
            last = p;
            perbuck_lab::prepare::show_load(&mut progress, "", &p, began.elapsed());
        })?;
        drop(progress);
        output::say_statistics(&last);
        let (took, count) = (began.elapsed(), self.settings.options.insertcount);
        let (seconds, rate) = (took.as_secs_f64(), count as f64 / took.as_secs_f64());
        let values = format!("BULK_LOAD - Takes(s): {seconds:.1}, Count: {count}, OPS: {rate:.1}");
        print(&format!("{RULE}Run finished, takes {}\n{values}\n", duration(took)))
    }

    /// What comes after the records are in.
    fn finish(&self) -> Result<(), LabError> {
        let began = Instant::now();
        let all = || self.specs.iter().filter_map(|t| t.statistics.as_ref());
        all().try_for_each(|sql| self.stage.server.execute("gathering statistics of the table", sql))?;
        let statistics_ms = if all().count() == 0 { 0 } else { began.elapsed().as_millis() as u64 };
        output::say_statistics(&LoadProgress { statistics_ms, ..LoadProgress::default() });
        Ok(())
    }

    /// Compares the table with what was inserted.
    fn check(&self, data: &YcsbData) -> Result<(), LabError> {
        say("perbuck: comparing the table with what was inserted");
        let results = self.stage.server.checks(data.checks_of_inserts())?;
        let broken = results.iter().filter(|r| !r.holds()).map(condition_text).collect::<Vec<_>>();
        if broken.is_empty() {
            return Ok(());
        }
        let message = format!("the table does not hold what was inserted: {}", broken.join("; "));
        Err(LabError::new(
            ErrorKind::Failed,
            message,
            "does another program write to it? -p dropdata=true drops the table before the load",
        ))
    }
}
