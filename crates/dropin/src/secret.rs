//! Where the password comes from, and how one on the command line is taken off it.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use perbuck_database::secret::Secret;

use crate::refused::{Refused, Typed};
use crate::run::DropIn;
use perbuck_console::say;
use perbuck_lab::inputs::read_text;

/// Where a password may stand, in the order in which they are looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PasswordSources<'a> {
    /// On the command line, where it could not be taken off it.
    pub(crate) typed: Option<&'a Typed>,
    /// The value of `--password-file`; empty is none.
    pub(crate) file: &'a str,
    /// In a file of options.
    pub(crate) filed: Option<&'a Typed>,
    /// The variable of the database's own client.
    pub(crate) client: &'static str,
}

impl DropIn {
    /// Takes a password off the command line, which every user of the machine can read: starts the same program again with
    /// the password in its environment, which only the same user can read. `words` are those after the command, without
    /// any password. Returns where that fails.
    pub(crate) fn hide(&self, words: &[OsString], password: Option<&Typed>) {
        // Said before, since the program that is started again does not know of it.
        say(&format!(
            "perbuck: the password stood on the command line, where every user of this machine can read it;\n    \
             put it into {}, MYSQL_PWD or PGPASSWORD, or name a file with --password-file",
            self.variable
        ));
        self.restart(Some(self.word), words, password);
    }

    /// The same for a command that is called by the name of the program that it replaces, which takes a password off without a word.
    pub(crate) fn hide_by_name(&self, words: &[OsString], password: Option<&Typed>) {
        self.restart(None, words, password);
    }

    fn restart(&self, word: Option<&str>, words: &[OsString], password: Option<&Typed>) {
        let error = std::env::current_exe().map_or_else(
            |error| error,
            |program| {
                let name = std::env::args_os().next().unwrap_or_else(|| program.clone().into());
                let mut command = Command::new(program);
                command.arg0(name);
                command.args(word).args(words).envs(password.map(|password| (self.variable, &password.0)));
                command.exec()
            },
        );
        let message =
            "perbuck: the password still stands on the command line, because perbuck could not restart itself without it";
        say(&format!("{message}: {error}"));
    }

    /// The password: the first of the command line, the environment, `--password-file`, a file of options and the variable
    /// of the database's own client; `None` where there is none.
    pub(crate) fn password(&self, sources: &PasswordSources<'_>) -> Result<Option<Secret>, Refused> {
        let of = |text: OsString| Some(Secret::new(text.into_vec()));
        let bytes = |typed: &Typed| typed.0.clone();
        if let Some(value) = sources.typed.map(bytes).or_else(|| std::env::var_os(self.variable)) {
            return Ok(of(value));
        }
        if !sources.file.is_empty() {
            let mut text = read_text("the password in", Path::new(sources.file)).map_err(|e| {
                Refused::usage(e.to_string(), "name a file that holds the password, or leave --password-file out")
            })?;
            text.truncate(text.trim_end_matches(['\r', '\n']).len());
            return Ok(Some(Secret::new(text)));
        }
        Ok(sources.filed.map(bytes).or_else(|| std::env::var_os(sources.client)).and_then(of))
    }
}
