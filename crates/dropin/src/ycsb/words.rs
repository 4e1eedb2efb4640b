//! The words of a command line, as go-ycsb and YCSB read them: `load` or `run`, the database, and options anywhere.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use perbuck_core::problem::nearest;

use super::properties::is_password;
use crate::agents::{AGENTS, TOKEN_FILE};
use crate::refused::{Refused, Typed};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Load,
    Run,
}

/// A command line, read.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// `load` or `run`, then the database.
    pub(super) words: Vec<String>,
    /// The files of `-P`, in order.
    pub(super) files: Vec<String>,
    /// The properties of `-p`, in order, and those of other options.
    pub(super) properties: Vec<(String, String)>,
    /// The password of a `-p`, by the name of its property.
    pub(super) typed: Option<(String, Typed)>,
    /// The other options by name.
    pub(super) options: Vec<(&'static str, String)>,
    /// The words without those that hold a password.
    pub(super) kept: Vec<OsString>,
}

/// An option: its names, whether it takes a value, its property if it is another way to say one, and one line of help.
pub(super) struct Flag {
    pub(super) names: &'static [&'static str],
    pub(super) value: &'static str,
    pub(super) property: &'static str,
    pub(super) help: &'static str,
}

const fn flag(names: &'static [&'static str], value: &'static str, property: &'static str, help: &'static str) -> Flag {
    Flag { names, value, property, help }
}

/// All of them. YCSB writes its own with one dash.
pub(super) const FLAGS: [Flag; 18] = [
    flag(&["-P", "--property_file"], "FILE", "", "a property file, or workloada to workloadf; may be given several times"),
    flag(&["-p", "--prop"], "NAME=VALUE", "", "a property; those given here overrule those of files"),
    flag(&["--table"], "NAME", "table", "the table"),
    flag(&["--threads", "-threads"], "COUNT", "threadcount", "connections"),
    flag(&["--target", "-target"], "RATE", "target", "operations per second; without it as many as there can be"),
    flag(&["--interval"], "SECONDS", "measurement.interval", "seconds between two reports"),
    flag(&["--shape"], "SHAPE", "", "how numbers are printed: go-ycsb (the default) or ycsb"),
    flag(&["-s"], "", "", "prints the progress on standard error every status.interval seconds, in YCSB's words"),
    flag(&["--seed"], "NUMBER", "", "the seed of the operations; drawn and printed if not given"),
    flag(&["--workers"], "COUNT", "", "load threads; one for each processor if not given"),
    flag(&["--results"], "FOLDER", "", "folder of the records of all runs; perbuck/ycsb in the user's state folder if not given"),
    flag(&["--no-record"], "", "", "keep no record of the run"),
    flag(&["--contender"], "NAME", "", "the name of the database in the records"),
    flag(&["--agents"], "HOST,...", "", AGENTS.1),
    flag(&["--token-file"], "FILE", "", TOKEN_FILE.1),
    flag(&["--password-file"], "FILE", "", "a file that holds the password"),
    flag(&["-h", "--help"], "", "", "this help"),
    flag(&["-db"], "CLASS", "", "YCSB's name for the database, which is the second word here"),
];

/// Reads the words after `perbuck ycsb`. No message quotes a value that may be a password.
pub(super) fn read(words: &[OsString]) -> Result<Given, Refused> {
    let mut given = Given::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let text = word.to_string_lossy();
        if !text.starts_with('-') || text == "-" {
            given.words.push(text.into_owned());
            given.kept.push(word.clone());
            continue;
        }
        let (flag, value) = find(word)?;
        let mut own = vec![word.clone()];
        let value = match value {
            Some(value) => value,
            None if flag.value.is_empty() => OsString::new(),
            None => {
                let next = rest.next().ok_or_else(|| {
                    Refused::usage(format!("flag needs an argument: {text}"), format!("write {text} {}", flag.value))
                })?;
                own.push(next.clone());
                next.clone()
            }
        };
        given.take(flag, &value, own)?;
    }
    Ok(given)
}

/// The option of a word, and the value that stands in the same word: after `=`, or directly after `-P` and `-p`.
fn find(word: &OsStr) -> Result<(&'static Flag, Option<OsString>), Refused> {
    let bytes = word.as_bytes();
    let (name, value) = match bytes.iter().position(|b| *b == b'=') {
        Some(at) if bytes.starts_with(b"--") => (&bytes[..at], Some(&bytes[at + 1..])),
        // `-pNAME=VALUE` and `-p=NAME=VALUE`, as cobra takes them.
        _ if bytes.starts_with(b"-P") || bytes.starts_with(b"-p") => {
            let after = &bytes[2..];
            (&bytes[..2], Some(after.strip_prefix(b"=").unwrap_or(after)))
        }
        _ => (bytes, None),
    };
    let value = value.filter(|v| !v.is_empty() || bytes.starts_with(b"--")).map(|v| OsString::from_vec(v.to_vec()));
    let name = String::from_utf8_lossy(name);
    if let Some(flag) = FLAGS.iter().find(|f| f.names.contains(&name.as_ref())) {
        return Ok((flag, value));
    }
    let near = nearest(&name, FLAGS.iter().flat_map(|f| f.names).copied());
    let help = near.map_or_else(|| "perbuck ycsb --help lists the options".to_owned(), |n| format!("did you mean {n}?"));
    Err(Refused::usage(format!("unknown flag: {name}"), help))
}

impl Given {
    fn take(&mut self, flag: &'static Flag, value: &OsStr, own: Vec<OsString>) -> Result<(), Refused> {
        let name = flag.names[flag.names.len() - 1];
        let text = value.to_string_lossy().into_owned();
        match name {
            "--property_file" => self.files.extend(text.split(',').filter(|f| !f.is_empty()).map(str::to_owned)),
            "--prop" => {
                let bytes = value.as_bytes();
                let Some(at) = bytes.iter().position(|b| *b == b'=') else {
                    // The word is not shown: it may be a slip of one that holds a password.
                    return Err(Refused::usage("bad property, expected format `name=value`", "write -p NAME=VALUE"));
                };
                let property = String::from_utf8_lossy(&bytes[..at]).trim().to_owned();
                if is_password(&property) {
                    self.typed = Some((property, Typed(OsString::from_vec(bytes[at + 1..].to_vec()))));
                    return Ok(());
                }
                self.properties.push((property, String::from_utf8_lossy(&bytes[at + 1..]).into_owned()));
            }
            "--password-file" => {
                self.options.push((name, text));
                return Ok(());
            }
            _ if !flag.property.is_empty() => self.properties.push((flag.property.to_owned(), text)),
            _ => self.options.push((name, text)),
        }
        self.kept.extend(own);
        Ok(())
    }

    /// The last value of an option.
    pub(super) fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(n, _)| *n == name).map(|(_, value)| value.as_str())
    }

    /// What is done, and the name of the database.
    pub(super) fn order(&self) -> Result<(Order, &str), Refused> {
        let usage = "write perbuck ycsb load or perbuck ycsb run, and then the database: mysql, mariadb, tidb, postgres, cockroach, yugabyte, sqlite, duckdb or tikv";
        let order = match self.words.first().map(String::as_str) {
            Some("load") => Order::Load,
            Some("run") => Order::Run,
            Some("shell") => {
                return Err(Refused::usage("there is no shell", "use the client of the database; its table is usertable"));
            }
            Some(other) => return Err(Refused::usage(format!("unknown command \"{other}\""), usage)),
            None => return Err(Refused::usage("neither load nor run is given", usage)),
        };
        match self.words.get(1..).unwrap_or_default() {
            [database] => Ok((order, database)),
            [] => Err(Refused::usage("no database is given", usage)),
            [_, extra, ..] => Err(Refused::usage(format!("unknown word \"{extra}\" after the database"), usage)),
        }
    }
}
