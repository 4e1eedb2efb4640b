//! `perbuck tpcc`: takes the place of `go-tpc tpcc`, which is also `tiup bench tpcc`. The words are read by our own parser,
//! since go-tpc's syntax is pflag's.
//!
//! A command line goes one way: [`options`] (words), the password taken off it, [`settings`], [`target`] and [`plan`] (what
//! they mean), then [`tables`] or [`run`] with [`live`], [`lines`], [`report`] and [`machine`], then `dropin::keep`.

mod files;
mod lines;
mod live;
mod machine;
mod options;
mod plan;
mod report;
mod run;
mod settings;
mod tables;
mod target;

use perbuck_drivers::secret::Secret;
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::stop::StopToken;
use perbuck_load::trial::RunError;
use std::ffi::OsString;

use options::{TABLE, help};
use plan::Checked;
use run::{Ending, Run};
use settings::{Order, Settings};
use tables::{KIND, Tables};
use target::Place;

use crate::advice::{Advice, answer_text};
use crate::flags::Given;
use crate::refused::Refused;
use crate::secret::{Door, Places};
use crate::study::{Asked, Frame, Member, Sweep};
use crate::target::{contender_name, with_patience};
use crate::{End, SECOND_NS, keep, notes, unrecorded};
use perbuck_console::say;
use perbuck_console::{print, stop_by_signal, stop_on_signal};
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::inputs::Inputs;
use perbuck_lab::stage::Stage;
use perbuck_lab::trial::{DRAIN_NS, Failure};

const DOOR: Door = Door { command: "tpcc", variable: "PERBUCK_TPCC_PASSWORD" };

/// The way out of errors of a server.
const ADVICE: Advice = Advice {
    password: "check user and password; the password comes from PERBUCK_TPCC_PASSWORD, MYSQL_PWD, PGPASSWORD, --password-file or --ask-password",
    database: "perbuck tpcc prepare creates the database; or name another one with --db",
    tables: "perbuck tpcc prepare makes the tables",
    connections: "raise max_connections of the server, or lower --threads",
    errors: "--ignore-error goes on after it and counts its transaction as failed",
    reach: "check that the server runs, and the options of host and port",
};

/// Runs the command. Its exit codes are perbuck's: go-tpc's is 0 however it ends, unless it panics.
///
/// # Errors
/// What went wrong.
pub fn run(words: &[OsString]) -> Result<(), LabError> {
    let given = TABLE.read(words).map_err(|r| refused(&r))?;
    if let Some(typed) = &given.typed {
        DOOR.hide(&given.kept, Some(typed));
    }
    if given.switch("help") || given.words.first().is_some_and(|w| w == "help") {
        return print(&help());
    }
    ordered(&given).map_err(|end| match end {
        End::Refused(r) => refused(&r),
        End::Failed(error) => {
            // Advice of the study commands, whose passwords and tables come otherwise.
            let (message, help) = error.words();
            LabError::new(error.kind(), message, ADVICE.instead(help))
        }
    })
}

fn refused(refused: &Refused) -> LabError {
    let exit = if refused.fatal { ErrorKind::Failed } else { ErrorKind::Usage };
    LabError::new(exit, refused.message.clone(), refused.help.clone())
}

/// Does what the command line asks for.
fn ordered(given: &Given) -> Result<(), End> {
    let order = Order::of(given)?;
    let settings = Settings::read(given)?;
    let place = Place::of(given)?;
    let checked = plan::plan(given, order, &settings, &place.session)?;
    remarks(given, &place, order).iter().for_each(|remark| say(&format!("perbuck: {remark}")));
    let files = order == Order::Prepare && files::asked(given)?;
    let password = if files { Secret::default() } else { password(given, &place)? };
    let frame = frame(&checked, &settings);
    let made = contender_name(&place.target);
    let name = settings.contender.clone().unwrap_or_else(|| made.clone());
    // A name made of an address never collides.
    if let (Order::Run, Some(results), Some(asked)) = (order, &settings.results, &settings.contender) {
        keep::check(results, &frame, asked, &place.target.address())?;
    }
    let inputs = frame.inputs(&[Member { name, address: place.target.address() }], 1)?;
    if files {
        return files::write(given, &settings, &checked, &place.target, &inputs);
    }
    let work = Work { settings: &settings, checked: &checked, place: &place, password: &password, inputs: &inputs };
    match order {
        Order::Run => work.run(&frame, &made),
        Order::Prepare => work.prepare(),
        Order::Check => Ok(work.tables(&work.stage(None)?)?.check(settings.check_all)?),
        Order::Cleanup => Ok(work.tables(&work.stage(None)?)?.cleanup()?),
    }
}

/// What is said of options that play no part.
fn remarks(given: &Given, place: &Place, order: Order) -> Vec<String> {
    let mut remarks = given.remarks.clone();
    if !place.unused.is_empty() {
        let names = place.unused.join(", ");
        remarks.push(format!("--conn-params: {names}: nothing to do, since these are of the Go client alone"));
    }
    if !place.session.is_empty() && order != Order::Run {
        remarks.push(format!("--conn-params: variables are set in the sessions of a run, not in those of {}", order.word()));
    }
    remarks
}

/// The password: of the command line where it could not be taken off it, else of the environment, a file, or asked for; none
/// is the empty one.
fn password(given: &Given, place: &Place) -> Result<Secret, End> {
    if place.embedded() {
        return Ok(Secret::default());
    }
    let (file, client) = (given.text("password-file"), place.client_variable());
    if let Some(secret) = DOOR.password(&Places { typed: given.typed.as_ref(), file, filed: None, client })? {
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

/// A duration as a study writes it.
fn duration(ns: u64) -> String {
    if ns.is_multiple_of(SECOND_NS) { format!("{}s", ns / SECOND_NS) } else { format!("{}ms", ns / 1_000_000) }
}

/// The command line as a study: everything that decides what is measured, but for the database and the seed.
fn frame(checked: &Checked, settings: &Settings) -> Frame {
    let sweep = Sweep {
        connections: settings.threads,
        warmup: duration(settings.warmup_ns),
        duration: settings.time_ns.map(duration),
        events: settings.count,
        rate: None,
        workers: settings.workers,
        attempts: settings.attempts(),
    };
    // Parameters that are given with their defaults are the same as those left out.
    let identity = format!("{:?} {} {}", checked.plan.parameters(), sweep.text(), settings.ignore_error);
    Frame::new(&Asked { command: KIND, workload: KIND, parameters: &checked.parameters, sweep: &sweep }, &identity)
}

/// A command with everything it needs.
struct Work<'a> {
    settings: &'a Settings,
    checked: &'a Checked,
    place: &'a Place,
    password: &'a Secret,
    inputs: &'a Inputs,
}

impl Work<'_> {
    /// The database with the workload; an answer may take so many seconds, `None` is the longest possible.
    fn stage(&self, patience_s: Option<u64>) -> Result<Stage, End> {
        let study = &self.inputs.study;
        let target = with_patience(&self.place.target, patience_s);
        let stage =
            self.inputs.registry.stage(study, study.baseline(), &study.workloads[0], &self.checked.plan, &target, self.password);
        // The parameters of the workload in the words of the command line.
        stage.map_err(|error| {
            let words = |text: &str| {
                let named = [
                    ("`partitions`", "--parts"),
                    ("`foreign_keys`", "--use-fk"),
                    ("`session`", "--conn-params"),
                    ("`compat`", "--compat"),
                ];
                named.iter().fold(text.to_owned(), |text, (parameter, option)| text.replace(parameter, option))
            };
            let (message, help) = error.words();
            End::Failed(LabError::new(error.kind(), words(message), words(help)))
        })
    }

    fn tables<'b>(&'b self, stage: &'b Stage) -> Result<Tables<'b>, End> {
        stage.server.reach().map_err(|answer| connect(&answer))?;
        Ok(Tables { stage, options: &self.checked.options, dialect: self.place.target.dialect() })
    }

    fn prepare(&self) -> Result<(), End> {
        let stop = stop_on_signal("stopping the load")?;
        let stage = self.stage(None)?;
        if let Err(answer) = stage.server.reach() {
            if !tables::no_such_database(&answer) {
                return Err(connect(&answer));
            }
            self.create_database()?;
        }
        Ok(self.tables(&stage)?.prepare(self.settings, &stop)?)
    }

    /// Creates the database that the command line names, as go-tpc does.
    fn create_database(&self) -> Result<(), End> {
        let Some((elsewhere, sql)) = tables::create_database(&self.place.target) else { return Ok(()) };
        let study = &self.inputs.study;
        let stage = self.inputs.registry.stage(
            study,
            study.baseline(),
            &study.workloads[0],
            &self.checked.plan,
            &elsewhere,
            self.password,
        )?;
        stage.server.execute("creating the database", &sql)?;
        Ok(())
    }

    fn run(&self, frame: &Frame, made: &str) -> Result<(), End> {
        let settings = self.settings;
        let stop = stop_by_signal(StopToken::keeping(), "ending the run")?;
        let longest_s = settings.time_ns.map(|ns| (ns + settings.warmup_ns + DRAIN_NS) / SECOND_NS + 60);
        let stage = self.stage(longest_s)?;
        let tables = self.tables(&stage)?;
        tables.has_warehouses()?;
        notes::used(&stage, KIND, "perbuck tpcc")?;
        let address = self.place.target.address();
        let run = Run { settings, checked: self.checked, inputs: self.inputs, stage: &stage, address };
        let ended = run.go(&stop).map_err(|failure| match failure {
            Failure::Run(error) => explain(&stage, &error),
            Failure::Other(error) => End::Failed(error),
        })?;
        let early = ended.ending == Ending::Early;
        let kept = settings.results.as_deref().filter(|_| !early).map(|results| {
            let asked = settings.contender.as_deref();
            keep::keep(results, frame, asked, made, self.inputs, ended.record.clone())
        });
        let record = kept.as_ref().and_then(|k| k.as_ref().ok().cloned());
        run.show(&ended, record)?;
        match kept {
            Some(Ok(path)) => say(&format!("record: {path}")),
            Some(Err(error)) => unrecorded(settings.results_asked, error)?,
            None => {}
        }
        if early {
            let message = "interrupted before the end of --time or --count: the figures are of the time until then, and no record of them is kept";
            return Err(End::Failed(LabError::new(ErrorKind::Interrupted, message, "")));
        }
        Ok(())
    }
}

/// The server does not answer, or does not let us in.
fn connect(answer: &DriverError) -> End {
    let message = format!("unable to connect: {}", answer_text(answer));
    End::Failed(LabError::new(ErrorKind::Target, message, ADVICE.of(answer)))
}

/// A run that ended by an error.
fn explain(stage: &Stage, error: &RunError) -> End {
    match error {
        // Not reached, or not let in. What the server says to the statements of the workload is no matter of reaching it.
        RunError::Connect(answer) if answer.class != ErrorClass::Fatal => connect(answer),
        RunError::Connect(answer) | RunError::Fatal(answer) => {
            let help = Some(ADVICE.of(answer)).filter(|h| !h.is_empty()).unwrap_or(ADVICE.errors);
            let message = format!("an error ended the run, and nothing of it is kept: {} ({})", answer.message, answer.code);
            End::Failed(LabError::new(ErrorKind::Failed, message, help))
        }
        RunError::Interrupted => {
            End::Failed(LabError::new(ErrorKind::Interrupted, "interrupted; nothing of this run is kept", ""))
        }
        other => End::Failed(LabError::trial(stage.title(), other)),
    }
}
