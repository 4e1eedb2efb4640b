//! What the commands of go-tpc have in common: its options of the database, its words and its lines, and what is done to
//! tables. A command adds its own options, its workload and its printer.

pub(crate) mod files;
pub(crate) mod kinds;
pub(crate) mod layout;
pub(crate) mod options;
pub(crate) mod tables;
pub(crate) mod target;
pub(crate) mod words;

use perbuck_core::run_record::Flag;
use perbuck_database::secret::Secret;
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::stage::Stage;
use perbuck_lab::trial::DRAIN_NS;
use perbuck_load::error::{Cause, DriverError, ErrorClass};
use perbuck_load::stop::StopToken;
use perbuck_workloads::params::ParamProblem;

use crate::advice::answer_text;
use crate::flags::Given;
use crate::load::{Load, SECOND_NS};
use crate::refused::{End, Refused};
use crate::run::{DropIn, Run};
use crate::secret::PasswordSources;
use crate::study::{Series, Workload};

use target::Connection;

/// Options and the parameters of the workload that they set, where the names differ or a refusal of a database quotes them.
pub(crate) type Parameters = [(&'static str, &'static str)];

/// That the database is out of reach, in go-tpc's words.
pub(crate) fn unreachable(answer: &DriverError) -> String {
    format!("unable to connect: {}", answer_text(answer))
}

/// Whether an answer to a connection is about reaching the database. What the server says to the statements of the workload is not.
pub(crate) fn connects(answer: &DriverError) -> bool {
    answer.class != ErrorClass::Fatal
}

/// That an error ended a run.
pub(crate) fn ended(answer: &DriverError) -> String {
    format!("an error ended the run, and nothing of it is kept: {answer}")
}

/// How a command ended. Exit codes are perbuck's: go-tpc's is 0 however it ends, unless it panics.
pub(crate) fn result(command: &DropIn, done: Result<(), End>) -> Result<(), LabError> {
    done.map_err(|end| match end {
        End::Refused(Refused { message, fatal, help }) => {
            LabError::new(if fatal { ErrorKind::Failed } else { ErrorKind::Usage }, message, help)
        }
        End::Failed(error) => LabError::new(error.kind(), error.words().0, command.advice.of_failure(&error)),
    })
}

/// The password: of the command line where it could not be taken off it, else of the environment, a file, or asked for; none
/// is the empty one.
pub(crate) fn password(command: &DropIn, given: &Given, connection: &Connection) -> Result<Secret, End> {
    if connection.embedded() {
        return Ok(Secret::default());
    }
    let (file, client) = (given.text("password-file"), connection.client_variable());
    if let Some(secret) = command.password(&PasswordSources { typed: given.typed.as_ref(), file, filed: None, client })? {
        return Ok(secret);
    }
    if !given.switch("ask-password") {
        return Ok(Secret::default());
    }
    let typed = perbuck_console::prompt_password("Password: ");
    typed.map(Secret::new).map_err(|e| {
        let message = format!("cannot ask for a password: {e}");
        End::Failed(LabError::new(ErrorKind::Usage, message, format!("put it into {} instead", command.variable)))
    })
}

/// The command line as a study: everything that decides what is measured, but for the database and the seed.
pub(crate) fn series(workload: Workload, load: &Load, ignore_error: bool) -> Series {
    Series::new(workload, load.clone(), &format!(" {ignore_error}"))
}

/// A problem of a parameter, in the words of the command line.
pub(crate) fn refused(problems: &[ParamProblem], parameters: &Parameters) -> Refused {
    let Some(first) = problems.first() else { return Refused::usage("the options of the workload are wrong", "") };
    let named = parameters.iter().find(|(_, parameter)| *parameter == first.key);
    let (option, key) = named.map_or((first.key.as_str(), first.key.as_str()), |(option, key)| (*option, *key));
    let words = |text: &str| text.replace(&format!("`{key}`"), &format!("--{option}"));
    Refused::usage(format!("--{option}: {}", words(&first.message)), words(&first.help))
}

/// The same error with the options in place of parameters.
pub(crate) fn in_words(error: &LabError, command: &DropIn, parameters: &Parameters) -> LabError {
    let named =
        |text: String, (option, parameter): &(&str, &str)| text.replace(&format!("`{parameter}`"), &format!("--{option}"));
    let words = |text: &str| parameters.iter().fold(text.to_owned(), named);
    LabError::new(error.kind(), words(error.words().0), words(command.advice.of_failure(error)))
}

/// The database with the workload; an answer may take so many seconds, `None` is the longest possible.
pub(crate) fn stage(run: &Run<'_>, parameters: &Parameters, timeout_s: Option<u64>, stop: &StopToken) -> Result<Stage, LabError> {
    run.stage(timeout_s, stop).map_err(|error| in_words(&error, run.command, parameters))
}

/// Creates the database that the command line names where it is missing, as go-tpc does.
pub(crate) fn make_database(run: &Run<'_>, stage: &Stage, stop: &StopToken) -> Result<(), LabError> {
    let Err(answer) = stage.server.reach() else { return Ok(()) };
    if answer.cause != Some(Cause::NoDatabase) {
        return Err(run.unreachable(&answer));
    }
    if let Some((elsewhere, sql)) = tables::create_database(run.target) {
        run.stage_on(&elsewhere, stop)?.server.execute("creating the database", &sql)?;
    }
    Ok(())
}

/// A remark on a run, in the words of a command.
pub(crate) fn flag_text(flag: &Flag) -> String {
    let Flag::Aborted { count } = flag else { return flag.text() };
    let seconds = DRAIN_NS / SECOND_NS;
    format!("{count} transactions were still in flight {seconds} s after the end of the run; they count in no number")
}

/// That the user ended a run which had an end of its own.
pub(crate) fn cut_short() -> LabError {
    let message = "interrupted before the end of --time or --count: the numbers cover the time until then, and no record is kept";
    LabError::new(ErrorKind::Interrupted, message, "")
}
