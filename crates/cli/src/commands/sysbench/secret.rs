//! Where the password comes from, and how one on the command line is taken off it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use perbuck_drivers::secret::Secret;

use super::parse::{Given, Refused, Typed, without_passwords};
use super::settings::text;
use super::target::Engine;
use crate::inputs::read_text;
use crate::progress::say;

/// The variable that holds the password of this command.
const VARIABLE: &str = "PERBUCK_SYSBENCH_PASSWORD";

impl Engine {
    /// The option and the variable of the database's own client.
    fn password_names(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Mysql | Self::Tidb => Some(("mysql-password", "MYSQL_PWD")),
            Self::Pgsql => Some(("pgsql-password", "PGPASSWORD")),
            Self::Sqlite => None,
        }
    }
}

/// Takes a password off the command line, which every user of the machine can read: starts the same program anew with the
/// password in its environment, which only the same user can read. Returns where there is none, or where that fails.
pub(super) fn hide(words: &[OsString], given: &Given, engine: Engine) {
    if given.typed.is_empty() {
        return;
    }
    let typed = engine.password_names().and_then(|(option, _)| given.typed.get(option));
    let error = start_anew(words, typed);
    say(&format!("    it still stands there, because perbuck cannot start itself anew without it: {error}"));
}

const WARNING: &str = "perbuck: the password stood on the command line, where every user of this machine can read it;\n    \
    put it into PERBUCK_SYSBENCH_PASSWORD, MYSQL_PWD or PGPASSWORD, or name a file with --password-file";

fn start_anew(words: &[OsString], password: Option<&Typed>) -> io::Error {
    // Said before, since the program that is started anew does not know of it.
    say(WARNING);
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return error,
    };
    let mut anew = Command::new(program);
    if let Some(name) = std::env::args_os().next() {
        anew.arg0(name);
    }
    anew.arg("sysbench").args(without_passwords(words));
    if let Some(password) = password {
        anew.env(VARIABLE, &password.0);
    }
    anew.exec()
}

/// The password: of the command line where it could not be taken off it, else of the environment, of `--password-file`,
/// of the option file, of the variable of the database's own client; none is the empty password.
///
/// # Errors
/// A file that cannot be read.
pub(super) fn password(given: &Given, engine: Engine) -> Result<Secret, Refused> {
    let Some((option, variable)) = engine.password_names() else { return Ok(Secret::default()) };
    let of = |text: &OsStr| Secret::new(text.to_owned().into_vec());
    if let Some(typed) = given.typed.get(option) {
        return Ok(of(&typed.0));
    }
    if let Some(value) = std::env::var_os(VARIABLE) {
        return Ok(of(&value));
    }
    let file = text(given, "password-file");
    if !file.is_empty() {
        let mut text = read_text("the password in", Path::new(file))
            .map_err(|e| Refused::usage(e.to_string(), "name a file that holds the password, or leave --password-file out"))?;
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
        return Ok(Secret::new(text));
    }
    let filed = given.filed.get(option).map(|t| t.0.clone());
    Ok(filed.or_else(|| std::env::var_os(variable)).map_or_else(Secret::default, |value| of(&value)))
}
