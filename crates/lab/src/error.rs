//! How the library fails: what kind of failure it is, what is wrong, and the way out. Who prints it decides how.

use std::fmt;
use std::path::Path;

use perbuck_core::compare::Refusal;
use perbuck_core::problem::Problem;
use perbuck_load::error::{Cause, DriverError, ErrorClass, ErrorCode};
use perbuck_load::loader::LoadError;
use perbuck_load::trial::RunError;
use serde::{Deserialize, Serialize};

/// Kinds of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorKind {
    /// The work was done and found a failure: a trial that ended, a condition that does not hold.
    Failed,
    /// An input file, or a value that the caller gave, is wrong.
    Usage,
    /// A target cannot be reached or refuses the login.
    Target,
    /// The work would mix what must not be mixed, or destroy tables that perbuck did not make.
    Refused,
    /// A file or folder cannot be read or written.
    Files,
    /// The trials did not run on the machines that the study declares.
    OtherMachines,
    /// What was measured has become worse than what was measured before.
    Worse,
    /// The stop token was raised.
    Interrupted,
    /// A trial counts for nothing because an agent was lost; it says nothing of the database.
    AgentLost,
}

/// The way out where this machine gives no more.
const MACHINE: &str = if cfg!(target_os = "linux") {
    "raise the limits of this shell (`ulimit -n` for file descriptors, `ulimit -u` for threads), or lower the connections"
} else {
    // The event loop has said it.
    ""
};

/// A failure.
#[derive(Debug)]
pub struct LabError {
    kind: ErrorKind,
    cause: Option<Cause>,
    message: String,
    help: String,
}

/// A failure on its way from another process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
    pub(crate) help: String,
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        Self { kind: error.kind, message: error.message, help: error.help }
    }
}

impl Failure {
    /// The failure, as if it had been this process's own.
    pub(crate) fn error(self) -> LabError {
        LabError::new(self.kind, self.message, self.help)
    }
}

impl LabError {
    /// An error with its way out; `help` may be empty where the message says it all.
    pub fn new(kind: ErrorKind, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { kind, cause: None, message: message.into(), help: help.into() }
    }

    /// The work was done and found a failure.
    pub fn failed(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, message, help)
    }

    /// An input file, or a value that the caller gave, is wrong.
    pub fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message, help)
    }

    /// The work would mix or destroy what it must not.
    pub fn refused(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused, message, help)
    }

    /// A file holds what it must not.
    pub fn files(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(ErrorKind::Files, message, help)
    }

    /// A file that cannot be read or written.
    pub fn file(doing: &str, path: &Path, error: &std::io::Error) -> Self {
        let help = match error.kind() {
            std::io::ErrorKind::NotFound => "check the path",
            std::io::ErrorKind::PermissionDenied => "check the permissions of the path and of its folders",
            std::io::ErrorKind::StorageFull => "free some space on that disk and run the command again; finished trials are kept",
            std::io::ErrorKind::FileTooLarge => {
                "raise the limit on the size of files (ulimit -f) and run the command again; finished trials are kept"
            }
            std::io::ErrorKind::NotADirectory => "a file stands where a folder is needed; move it away, or name another path",
            std::io::ErrorKind::IsADirectory => "name a file, not a folder",
            _ => "",
        };
        Self::files(format!("cannot {doing} {}: {error}", path.display()), help)
    }

    /// The same for `map_err`.
    pub fn of_file(doing: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |e| Self::file(doing, path, &e)
    }

    /// All problems of an input file.
    pub fn problems(problems: &[Problem]) -> Self {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let count = if problems.len() == 1 { "1 problem".to_owned() } else { format!("{} problems", problems.len()) };
        Self::usage(format!("{count} found\n{}", lines.join("\n")), "")
    }

    /// A target's answer; `who` names the contender.
    pub fn target(who: &str, error: &DriverError) -> Self {
        if error.cause == Some(Cause::Stopped) {
            return Self::interrupted();
        }
        let kind = match error.class {
            ErrorClass::Refused | ErrorClass::Lost => ErrorKind::Target,
            _ if error.cause == Some(Cause::File) => ErrorKind::Target,
            _ => ErrorKind::Failed,
        };
        let contender: String = who.split(',').next().unwrap_or(who).chars().map(upper).collect();
        let (message, help) = (format!("{who}: {}", with_option(error)), hint(error).replace("<CONTENDER>", &contender));
        Self { kind, cause: error.cause, message, help }
    }

    /// A failed load.
    pub fn load(who: &str, error: &LoadError) -> Self {
        match error {
            LoadError::Interrupted => Self::interrupted(),
            LoadError::Server { doing, error: answer } => {
                Self { message: format!("{who}: {doing}: {}", with_option(answer)), ..Self::target(who, answer) }
            }
            LoadError::Machine(_) => Self::failed(format!("{who}: {error}"), MACHINE),
            LoadError::Ledger(_) => Self::failed(format!("{who}: {error}"), "").or_reload(),
            LoadError::WrongCount { .. } | LoadError::WorkerDied(_) => Self::failed(format!("{who}: {error}"), ""),
        }
    }

    /// The same with this way out, where it has none of its own; what caused it matters no more.
    pub fn or_help(self, help: &str) -> Self {
        if self.help.is_empty() { Self { help: help.to_owned(), cause: None, ..self } } else { self }
    }

    /// The same with this way out after its own.
    pub(crate) fn also_help(self, help: &str) -> Self {
        let help = if self.help.is_empty() { help.to_owned() } else { format!("{}; {help}", self.help) };
        Self { help, cause: None, ..self }
    }

    /// The same with something else that is known of it.
    pub(crate) fn and_also(self, known: &str) -> Self {
        Self { message: format!("{}; {known}", self.message), ..self }
    }

    /// The same, where it has no way out of its own: the data are to be loaded again.
    pub(crate) fn or_reload(self) -> Self {
        let cause = if self.help.is_empty() { Some(Cause::NoTable) } else { self.cause };
        Self { cause, ..self.or_help("`perbuck prepare --force STUDY` loads the data again") }
    }

    /// A failed trial.
    pub fn trial(who: &str, error: &RunError) -> Self {
        match error {
            RunError::Interrupted => Self::interrupted(),
            RunError::Connect(answer) | RunError::Fatal(answer) => {
                let same_kind = if matches!(error, RunError::Fatal(_)) { RunError::Fatal } else { RunError::Connect };
                Self { message: format!("{who}: {}", same_kind(with_option(answer))), ..Self::target(who, answer) }
            }
            RunError::Machine(_) => Self::failed(format!("{who}: {error}"), MACHINE),
            RunError::WorkerDied(_) => Self::failed(format!("{who}: {error}"), ""),
            RunError::Agent(failure) => {
                let kind = if failure.target { ErrorKind::Target } else { ErrorKind::Failed };
                Self::new(kind, format!("{who}: {error}"), failure.help.clone())
            }
            RunError::AgentLost(_) => Self::new(
                ErrorKind::AgentLost,
                format!("{who}: {error}"),
                "look at that machine, then run the same command again",
            ),
        }
    }

    /// The stop token was raised.
    pub fn interrupted() -> Self {
        Self::new(ErrorKind::Interrupted, "interrupted; finished trials are kept", "run the same command again to go on")
    }

    /// Records that cannot be compared as they are; `results` are the words after `perbuck compare`.
    pub(crate) fn refusals(results: &str, refusals: &[Refusal]) -> Self {
        let reasons: Vec<&str> = refusals.iter().map(|r| r.reason.as_str()).collect();
        let words: Vec<String> = refusals.iter().filter_map(|r| r.insist).map(|w| format!("--insist {w}")).collect();
        let help = if words.len() == refusals.len() {
            let command = format!("perbuck compare {results} {}", words.join(" "));
            format!("the records are kept; to compare them all the same: `{command}`")
        } else {
            "this cannot be insisted on; measure those trials again".to_owned()
        };
        Self::refused(format!("the trials in {results} cannot be compared: {}", reasons.join("; ")), help)
    }

    /// Servers that run on other machines than the study declares; `results` are those that were measured so, if there are any.
    pub(crate) fn other_machines(which: &str, results: Option<&str>) -> Self {
        let mut help =
            "correct what the study declares (`arch`, `replication_factor`, and `instance`, `count` and `role` of its `node` lines), or write \
             `notional = true` at its top, which the report then says"
                .to_owned();
        if let Some(results) = results {
            help += &format!("; for results on disk do so in a copy: perbuck compare {results} --study COPY");
        }
        let message = format!("a verdict would be about machines that were not used: {which}");
        Self::new(ErrorKind::OtherMachines, message, help)
    }

    /// The same as a failure of another kind.
    pub(crate) fn with_kind(self, kind: ErrorKind) -> Self {
        Self { kind, ..self }
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What a user can mend, where the way out says no more than that: a door has its own words for it.
    pub fn cause(&self) -> Option<Cause> {
        self.cause
    }

    /// What is wrong, and the way out, which may be empty.
    pub fn words(&self) -> (&str, &str) {
        (&self.message, &self.help)
    }
}

impl std::error::Error for LabError {}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if !self.help.is_empty() {
            write!(f, "\n    help: {}", self.help)?;
        }
        Ok(())
    }
}

/// A character of a contender's name as it stands in the name of its environment variable.
pub fn upper(c: char) -> char {
    if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }
}

/// An answer with the option of a study's target that its message is about.
fn with_option(answer: &DriverError) -> DriverError {
    let mut answer = answer.clone();
    if answer.cause == Some(Cause::Timeout) {
        answer.message += "; see `read_timeout` of the target";
    }
    answer
}

/// What a user can do about an answer of a server.
fn hint(error: &DriverError) -> &'static str {
    match (error.cause, error.code) {
        (Some(Cause::Password), _) => {
            "check user and password; the password comes from PERBUCK_<CONTENDER>_PASSWORD, from `password_file` or from --ask-password"
        }
        (Some(Cause::NoDatabase), _) => "create it first (CREATE DATABASE …), or name another database in the target",
        (Some(Cause::NoRight), _) => "grant the user the rights it needs on that database",
        (Some(Cause::NoTable), _) => "its tables are missing; `perbuck prepare STUDY` makes them",
        (Some(Cause::Connections), _) => "raise max_connections of the server, or lower `connections`",
        (Some(Cause::DiskFull), _) => "the server's disk is full; free some space there",
        (_, ErrorCode::Word("client", "descriptors")) => MACHINE,
        (_, ErrorCode::Word("client", "pd")) => "check that PD runs and that the target names its members",
        (_, ErrorCode::Word("client", "protocol")) => "check the port of the target, and that its scheme is that of the server",
        (_, ErrorCode::Word("client", "timeout")) if error.cause.is_none() => {
            "check that the server runs, and that host, port and scheme of the target are right"
        }
        (Some(Cause::Unreachable), _) => "check that the server runs and that host and port in the target are right",
        (Some(Cause::Tls), _) => "check the certificate, `ca=` and `tls=` of the target",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_stays_out_names_the_option_of_the_target_beside_its_cause() {
        let late = || {
            DriverError::client(ErrorClass::Lost, "timeout", "h:1 did not answer within the limit").because(Some(Cause::Timeout))
        };
        let words = "h:1 did not answer within the limit; see `read_timeout` of the target (client timeout)";
        let server = LoadError::Server { doing: "loading".to_owned(), error: late() };
        for (error, text) in [
            (LabError::target("a, b", &late()), format!("a, b: {words}")),
            (LabError::load("a, b", &server), format!("a, b: loading: {words}")),
            (LabError::trial("a, b", &RunError::Connect(late())), format!("a, b: cannot open a connection: {words}")),
            (LabError::trial("a, b", &RunError::Fatal(late())), format!("a, b: no transaction can succeed: {words}")),
        ] {
            assert_eq!((error.to_string(), error.cause()), (text, Some(Cause::Timeout)));
            assert_eq!(error.or_help("wait").cause(), None);
        }
        let refused = LabError::target("a, b", &DriverError::client(ErrorClass::Refused, "auth", "no"));
        assert!(refused.cause() == Some(Cause::Password) && refused.words().1.contains("PERBUCK_A_PASSWORD"));
    }
}
