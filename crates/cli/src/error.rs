//! How a command fails: what is wrong, the way out, and the exit code (documented in docs/exit-codes.md).

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use perbuck_core::compare::Refusal;
use perbuck_core::problem::Problem;
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};
use perbuck_load::loader::LoadError;
use perbuck_load::trial::RunError;

use crate::progress::say;

/// Exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command did its work and found a failure: a trial that ended, a condition that does not hold.
    Failed = 1,
    /// The command line or an input file is wrong.
    Usage = 2,
    /// A target cannot be reached or does not let us in.
    Target = 3,
    /// The command would mix what must not be mixed, or destroy what is not ours.
    Refused = 4,
    /// A file or folder cannot be read or written.
    Files = 5,
    /// What was measured has become worse than what was measured before.
    Worse = 6,
    /// Somebody pressed Ctrl-C.
    Interrupted = 130,
}

/// The way out where this machine gives no more.
const MACHINE: &str =
    "raise the limits of this shell (`ulimit -n` for file descriptors, `ulimit -u` for threads), or lower the connections";

/// A failed command.
#[derive(Debug)]
pub(crate) struct CliError {
    exit: Exit,
    message: String,
    help: String,
}

impl CliError {
    /// An error with its way out; `help` may be empty where the message says it all.
    pub(crate) fn new(exit: Exit, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { exit, message: message.into(), help: help.into() }
    }

    /// A file that cannot be read or written.
    pub(crate) fn file(doing: &str, path: &Path, error: &std::io::Error) -> Self {
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
        Self::new(Exit::Files, format!("cannot {doing} {}: {error}", path.display()), help)
    }

    /// All problems of an input file.
    pub(crate) fn problems(problems: &[Problem]) -> Self {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let count = if problems.len() == 1 { "1 problem".to_owned() } else { format!("{} problems", problems.len()) };
        Self::new(Exit::Usage, format!("{count} found\n{}", lines.join("\n")), "")
    }

    /// A target's answer; `who` names the contender.
    pub(crate) fn target(who: &str, error: &DriverError) -> Self {
        let exit = match error.class {
            ErrorClass::Refused | ErrorClass::Lost => Exit::Target,
            _ if cannot_be_opened(error.code) => Exit::Target,
            _ => Exit::Failed,
        };
        let contender: String = who.split(',').next().unwrap_or(who).chars().map(upper).collect();
        Self::new(exit, format!("{who}: {error}"), hint(error).replace("<CONTENDER>", &contender))
    }

    /// A failed load.
    pub(crate) fn load(who: &str, error: &LoadError) -> Self {
        match error {
            LoadError::Interrupted => Self::interrupted(),
            LoadError::Server { doing, error: answer } => {
                let inner = Self::target(who, answer);
                Self { message: format!("{who}: {doing}: {answer}"), ..inner }
            }
            LoadError::Machine(_) => Self::new(Exit::Failed, format!("{who}: {error}"), MACHINE),
            LoadError::Ledger(_) => {
                Self::new(Exit::Failed, format!("{who}: {error}"), "`perbuck prepare --force STUDY` loads the data anew")
            }
            LoadError::WrongCount { .. } | LoadError::WorkerDied(_) => Self::new(Exit::Failed, format!("{who}: {error}"), ""),
        }
    }

    /// The same with this way out, where it has none of its own.
    pub(crate) fn or_help(self, help: &str) -> Self {
        if self.help.is_empty() { Self { help: help.to_owned(), ..self } } else { self }
    }

    /// A failed trial.
    pub(crate) fn trial(who: &str, error: &RunError) -> Self {
        match error {
            RunError::Interrupted => Self::interrupted(),
            RunError::Connect(answer) | RunError::Fatal(answer) => {
                let inner = Self::target(who, answer);
                Self { message: format!("{who}: {error}"), ..inner }
            }
            RunError::Machine(_) => Self::new(Exit::Failed, format!("{who}: {error}"), MACHINE),
            RunError::WorkerDied(_) => Self::new(Exit::Failed, format!("{who}: {error}"), ""),
        }
    }

    /// Somebody pressed Ctrl-C.
    pub(crate) fn interrupted() -> Self {
        Self::new(Exit::Interrupted, "interrupted; finished trials are kept", "run the same command again to go on")
    }

    /// Records that cannot be compared as they are.
    pub(crate) fn refusals(refusals: &[Refusal]) -> Self {
        let reasons: Vec<&str> = refusals.iter().map(|r| r.reason.as_str()).collect();
        let words: Vec<String> = refusals.iter().filter_map(|r| r.insist).map(|w| format!("--insist {w}")).collect();
        let help = if words.len() == refusals.len() {
            format!("the records are kept; to compare them all the same: `perbuck compare RESULTS {}`", words.join(" "))
        } else {
            "this cannot be insisted on; measure those trials again".to_owned()
        };
        Self::new(Exit::Refused, format!("these trials cannot be compared: {}", reasons.join("; ")), help)
    }

    /// What kind of failure it is.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// What is wrong, and the way out, which may be empty.
    pub(crate) fn words(&self) -> (&str, &str) {
        (&self.message, &self.help)
    }

    /// Prints it on standard error and gives its exit code.
    pub(crate) fn print(&self) -> ExitCode {
        say(&format!("perbuck: {self}"));
        ExitCode::from(self.exit as u8)
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if !self.help.is_empty() {
            write!(f, "\n    help: {}", self.help)?;
        }
        Ok(())
    }
}

/// Whether SQLite says that there is no such file, no right to write it, or no database in it: its way of being unreachable.
fn cannot_be_opened(code: ErrorCode) -> bool {
    const READONLY: i32 = 8;
    const CANTOPEN: i32 = 14;
    const NOTADB: i32 = 26;
    // The low byte is the primary code.
    matches!(code, ErrorCode::Sqlite(code) if matches!(code & 0xff, READONLY | CANTOPEN | NOTADB))
}

/// A character of a contender's name as it stands in the name of its environment variable.
pub(crate) fn upper(c: char) -> char {
    if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }
}

/// What a user can do about an answer of a server.
fn hint(error: &DriverError) -> String {
    let state: &[u8] = match &error.code {
        ErrorCode::SqlState(state) => state,
        _ => b"",
    };
    let text = match (error.code, state) {
        (ErrorCode::Mysql(1045 | 1698), _) | (_, b"28P01" | b"28000") | (ErrorCode::Client("auth"), _) => {
            "check user and password; the password comes from PERBUCK_<CONTENDER>_PASSWORD, from `password_file` or from --ask-password"
        }
        (ErrorCode::Mysql(1049), _) | (_, b"3D000") => {
            "create it first (CREATE DATABASE …), or name another database in the target"
        }
        (ErrorCode::Mysql(1044 | 1142 | 1227), _) | (_, b"42501") => "grant the user the rights it needs on that database",
        (ErrorCode::Mysql(1146), _) | (_, b"42P01") => "its tables are missing; `perbuck prepare STUDY` makes them",
        (ErrorCode::Mysql(1040), _) | (_, b"53300") => "raise max_connections of the server, or lower `sweep.connections`",
        (ErrorCode::Mysql(1021 | 1114), _) | (_, b"53100") => "the server's disk is full; free some space there",
        (ErrorCode::Client("unreachable"), _) => "check that the server runs and that host and port in the target are right",
        (ErrorCode::Client("pd"), _) => "check that PD runs and that the target names its members",
        (ErrorCode::Client("tls"), _) => "check the certificate, `ca=` and `tls=` of the target",
        _ => "",
    };
    text.to_owned()
}
