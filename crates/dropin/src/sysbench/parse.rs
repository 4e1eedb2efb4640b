//! The words of a sysbench command line and the lines of its option file, as sysbench 1.0.20 reads them: `--name=value`
//! or `--name`, dashes and underscores alike, later ones over earlier ones, and two plain words: the script and the
//! command.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use super::options::{CONFIG_FILE, Kind, OLDER, PASSWORDS, Spec, canonical, find, meant};
use crate::option::{Use, split};
use crate::refused::{Refused, Typed};
use perbuck_lab::inputs::read_text;

/// A command line, read.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// The script, as typed.
    pub(super) script: Option<String>,
    pub(super) command: Option<String>,
    /// Values of the general options by name (with dashes), checked for their type.
    pub(super) general: BTreeMap<&'static str, String>,
    /// Values of the script's options by name (with underscores).
    pub(super) own: BTreeMap<String, String>,
    /// Passwords of the command line by option.
    pub(super) typed: BTreeMap<&'static str, Typed>,
    /// Passwords of an option file by option.
    pub(super) filed: BTreeMap<&'static str, Typed>,
    /// Whether the script was named by `--test`, as before sysbench 1.0.
    pub(super) by_test: bool,
    /// Positions in [`OLDER`] of the names of options that sysbench has given up.
    pub(super) older: BTreeSet<usize>,
    /// Remarks for standard error.
    pub(super) remarks: Vec<String>,
    /// Whether the last word was a password option without its value: the next one may be the password.
    bare_password: bool,
}

/// Reads the words after `perbuck sysbench`; `script` are the options of all scripts. No message quotes a value that may be a
/// password.
pub(super) fn parse(words: &[OsString], script: &[Spec]) -> Result<Given, Refused> {
    let mut given = Given::default();
    for word in words {
        match word.as_bytes().strip_prefix(b"--") {
            Some(option) => given.option(option, script)?,
            None => given.plain(word)?,
        }
    }
    Ok(given)
}

/// The words without those that hold a password, and without what would name another one.
pub(super) fn without_passwords(words: &[OsString]) -> Vec<OsString> {
    let secret = |word: &&OsString| {
        word.as_bytes().strip_prefix(b"--").is_some_and(|option| {
            let name = canonical(&split(option).0);
            PASSWORDS.contains(&name.as_str()) || name == "password-file"
        })
    };
    words.iter().filter(|w| !secret(w)).cloned().collect()
}

impl Given {
    /// The warnings of sysbench about these names, in its order.
    pub(super) fn deprecated(&self) -> impl Iterator<Item = String> {
        self.older.iter().map(|at| OLDER[*at]).map(|(older, newer)| format!("--{older} is deprecated, use --{newer} instead"))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.general.contains_key(name)
    }

    fn plain(&mut self, word: &OsStr) -> Result<(), Refused> {
        if std::mem::take(&mut self.bare_password) {
            let help =
                "write the value after `=`, as in --mysql-password=…; the word is not shown, because it may be the password";
            return Err(Refused::usage("Unrecognized command line argument after a password option", help));
        }
        let word = word.to_string_lossy().into_owned();
        if self.script.is_none() {
            self.script = Some(word);
        } else if self.command.is_none() {
            self.command = Some(word);
        } else {
            let help = "write the value of an option after `=`, as in --threads=16; the two words without dashes are: perbuck sysbench [options] SCRIPT COMMAND";
            return Err(Refused::usage(format!("Unrecognized command line argument: {word}"), help));
        }
        Ok(())
    }

    fn option(&mut self, option: &[u8], script: &[Spec]) -> Result<(), Refused> {
        self.bare_password = false;
        let (name, value) = split(option);
        if name == "test" {
            self.by_test = true;
            self.script = value.map(|v| v.to_string_lossy().into_owned());
            return Ok(());
        }
        let text = value.map(|v| v.to_string_lossy().into_owned());
        if canonical(&name) == CONFIG_FILE {
            return self.config_file(Path::new(value.unwrap_or_default()), script);
        }
        if let Some(password) = PASSWORDS.iter().find(|p| **p == canonical(&name)) {
            match value {
                // As in sysbench, an empty one is none.
                Some(value) if value.is_empty() => drop(self.typed.remove(password)),
                Some(value) => drop(self.typed.insert(password, Typed(OsString::from_vec(value.as_bytes().to_vec())))),
                None => self.bare_password = true,
            }
            return Ok(());
        }
        if self.set(&name, text.as_deref(), script)? {
            return Ok(());
        }
        let help = meant(&name, script).map_or_else(
            || "perbuck sysbench --help lists the options, perbuck sysbench SCRIPT help those of a script".to_owned(),
            |near| format!("did you mean --{near}?"),
        );
        // The value is not shown: the slip may be in the name of a password.
        Err(Refused::usage(format!("invalid option: --{name}"), help))
    }

    /// Sets an option, if there is one of that name.
    fn set(&mut self, name: &str, value: Option<&str>, script: &[Spec]) -> Result<bool, Refused> {
        let older = canonical(name);
        if let Some(at) = OLDER.iter().position(|(name, _)| *name == older) {
            self.older.insert(at);
            return self.set(OLDER[at].1, value, script);
        }
        if let Some(spec) = find(name) {
            match spec.usage {
                Use::Refused(why) if checked(spec.name, spec.kind, value)? != "off" => return Err(spec.refusal(why)),
                Use::Ignored(why) => self.remarks.push(format!("--{}: {why}", spec.name)),
                Use::Done | Use::Refused(_) => {}
            }
            // Alone it is a share of --time.
            let alone = spec.name == "forced-shutdown" && value.is_none();
            let value = if alone { "5%".to_owned() } else { checked(spec.name, spec.kind, value)? };
            self.general.insert(spec.name, value);
            return Ok(true);
        }
        let underscored = name.replace('-', "_");
        let Some(own) = script.iter().find(|o| o.name == underscored) else { return Ok(false) };
        let value = checked(own.name, own.kind, value)?;
        self.own.insert(underscored, value);
        Ok(true)
    }

    /// Reads a file of options. Later words of the command line win over it, earlier ones do not, as in sysbench.
    fn config_file(&mut self, path: &Path, script: &[Spec]) -> Result<(), Refused> {
        // sysbench goes on with its defaults where the file is missing, and measures something else.
        let text = read_text("the option file", path)
            .map_err(|e| Refused::usage(e.to_string(), "name a file that exists, or leave --config-file out"))?;
        for (number, line) in text.lines().enumerate() {
            let at = format!("{}:{}", path.display(), number + 1);
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', ';', '[']) {
                continue;
            }
            let Some((name, value)) = line.split_once('=') else {
                self.remarks.push(format!("{at}: no NAME=VALUE, so the line is ignored"));
                continue;
            };
            let name = name.trim().trim_start_matches("--");
            let values = file_values(value).map_err(|e| Refused::usage(format!("{at}: {e}"), "close the quote"))?;
            if let Some(password) = PASSWORDS.iter().find(|p| **p == canonical(name)) {
                self.filed.insert(password, Typed(values.into()));
                continue;
            }
            let set = self.set(name, Some(&values), script);
            if !set.map_err(|e| Refused { message: format!("{at}: {}", e.message), ..e })? {
                let near = meant(name, script).map_or(String::new(), |near| format!("; did you mean {near}?"));
                self.remarks.push(format!("{at}: no option is called {name}, so the line is ignored{near}"));
            }
        }
        Ok(())
    }
}

/// The values of a line of an option file, joined by commas: words, in quotes or not, up to a comment.
fn file_values(text: &str) -> Result<String, String> {
    let mut values: Vec<&str> = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        match first {
            '#' => break,
            '\'' | '"' => {
                let inner = &rest[1..];
                let end = inner.find(first).ok_or("a quote is not closed")?;
                values.push(&inner[..end]);
                rest = inner[end + 1..].trim_start().trim_start_matches(',');
            }
            _ => {
                let end = rest.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(rest.len());
                values.push(&rest[..end]);
                rest = rest[end..].trim_start_matches(',');
            }
        }
        rest = rest.trim_start();
    }
    Ok(values.join(","))
}

/// A value of the right type, in one spelling.
fn checked(name: &str, kind: Kind, value: Option<&str>) -> Result<String, Refused> {
    let Some(text) = value else {
        if kind == Kind::Switch {
            return Ok("on".to_owned());
        }
        let dashed = canonical(name);
        return Err(Refused::usage(format!("--{dashed} has no value"), format!("write --{dashed}{}", kind.form())));
    };
    let wrong = |help: &str| Refused::usage(format!("Invalid value for the '{name}' option: '{text}'"), help);
    match kind {
        Kind::Switch => match text {
            "on" | "true" | "1" => Ok("on".to_owned()),
            "off" | "false" | "0" => Ok("off".to_owned()),
            _ => Err(Refused::usage(format!("invalid option: --{name}={text}"), "write =on or =off")),
        },
        Kind::Int => match text.parse::<i32>() {
            Ok(number) => Ok(number.to_string()),
            Err(_) => Err(wrong("give a whole number, without a unit")),
        },
        Kind::Number => number(text).ok_or_else(|| wrong("give a number, without a unit")),
        Kind::Size => {
            let digits = text.strip_suffix(['K', 'M', 'G', 'T', 'k', 'm', 'g', 't']).unwrap_or(text);
            let good = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            if good { Ok(text.to_owned()) } else { Err(wrong("give a whole number followed by K, M or G, such as 64K")) }
        }
        Kind::Text | Kind::List => Ok(text.to_owned()),
    }
}

/// A number in one spelling: `1e6` is 1000000. sysbench takes the digits that it understands and drops the rest, so that
/// `10K` is 10 to it; here that is an error.
fn number(text: &str) -> Option<String> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.to_string());
    }
    let number: f64 = text.parse().ok().filter(|n: &f64| n.is_finite())?;
    // Beyond 2⁵³ not every whole number is a float.
    let whole = number.fract() == 0.0 && number.abs() < 9e15;
    Some(if whole { (number as i64).to_string() } else { number.to_string() })
}

#[cfg(test)]
mod tests;
