//! Command lines as cobra and pflag read them, which go-tpc and go-ycsb use: `--name value`, `--name=value`, `-x value`,
//! `-xvalue`, `-x=value`, switches alone or with `=false`; options and words in any order, and `--` ends the options. The
//! last of an option wins, lists add up.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use perbuck_core::problem::nearest;

use crate::duration::go_duration_ns;
use crate::option::{Group, OptionSpec, Use, split};
use crate::refused::{Refused, Typed};

/// What an option takes; pflag's own types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `--name`, `--name=true`, `--name=false`; also t, f, 1 and 0.
    Switch,
    /// A whole number.
    Int,
    /// Any text.
    Text,
    /// Texts with commas between them; given again, it adds to the list.
    List,
    /// Any text; given again, it adds another one.
    Each,
    /// A number and its unit, such as 10s, 1m30s or 500ms.
    Duration,
    /// A password: kept apart, and never quoted.
    Password,
}

impl Kind {
    /// How the help shows it.
    fn form(self) -> &'static str {
        match self {
            Self::Switch => "",
            Self::Int => " int",
            Self::Text | Self::Password | Self::Each => " string",
            Self::List => " strings",
            Self::Duration => " duration",
        }
    }
}

pub(crate) type Flag = OptionSpec<Kind>;

/// `-T, --threads`, as pflag names an option.
fn title(flag: &Flag) -> String {
    flag.short.map_or_else(|| format!("--{}", flag.name), |short| format!("-{short}, --{}", flag.name))
}

/// All options of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table {
    /// Its words, such as `perbuck tpcc`.
    pub(crate) command: &'static str,
    /// Its options.
    pub(crate) groups: &'static [Group<Kind>],
}

/// A command line, read.
#[derive(Debug)]
pub(crate) struct Given {
    table: Table,
    /// What is no option.
    pub(crate) words: Vec<String>,
    values: BTreeMap<&'static str, Vec<String>>,
    pub(crate) typed: Option<Typed>,
    /// The command line without what holds a password, or names another one.
    pub(crate) kept: Vec<OsString>,
    pub(crate) remarks: Vec<String>,
}

impl Table {
    fn all(self) -> impl Iterator<Item = &'static Flag> {
        self.groups.iter().flat_map(|g| g.options)
    }

    fn find(self, name: &str) -> Option<&'static Flag> {
        self.all().find(|f| f.name == name)
    }

    /// Reads the words after the command. No message quotes a value that may be a password.
    pub(crate) fn read(self, words: &[OsString]) -> Result<Given, Refused> {
        let mut given =
            Given { table: self, words: Vec::new(), values: BTreeMap::new(), typed: None, kept: Vec::new(), remarks: Vec::new() };
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let bytes = word.as_bytes();
            if bytes == b"--" {
                given.kept.push(word.clone());
                rest.for_each(|word| given.plain(word));
                break;
            }
            match bytes {
                [b'-', b'-', option @ ..] => given.long(word, option, &mut rest)?,
                [b'-', option @ ..] if !option.is_empty() => given.short(word, option, &mut rest)?,
                _ => given.plain(word),
            }
        }
        Ok(given)
    }

    /// The options for people, in two columns as cobra prints them.
    pub(crate) fn help(self) -> String {
        let form = |f: &Flag| {
            let short = f.short.map_or_else(|| "    ".to_owned(), |s| format!("-{s}, "));
            format!("  {short}--{}{}", f.name, f.kind.form())
        };
        let widest = self.all().map(|f| form(f).len()).max().unwrap_or(0);
        let mut out = String::new();
        for group in self.groups {
            out += &format!("\n{}\n", group.title);
            for flag in group.options {
                let of = if flag.of.is_empty() { String::new() } else { format!("[{}] ", flag.of.join(", ")) };
                let default = if flag.default.is_empty() { String::new() } else { format!(" (default {})", flag.default) };
                let what = match flag.usage {
                    Use::Done => format!("{}{default}", flag.help),
                    Use::Ignored(why) => why.to_owned(),
                    Use::Refused(why) => format!("refused: {why}"),
                };
                out += &format!("{:<widest$}   {of}{what}\n", form(flag));
            }
        }
        out
    }
}

type Rest<'a, 'b> = &'a mut std::slice::Iter<'b, OsString>;

impl Given {
    fn plain(&mut self, word: &OsStr) {
        self.kept.push(word.to_owned());
        self.words.push(word.to_string_lossy().into_owned());
    }

    fn long(&mut self, word: &OsStr, option: &[u8], rest: Rest<'_, '_>) -> Result<(), Refused> {
        let (name, value) = split(option);
        let Some(flag) = self.table.find(&name) else {
            // The value is not shown: the slip may be in the name of a password.
            let near = nearest(&name, self.table.all().map(|f| f.name));
            let help = near
                .map_or_else(|| format!("{} --help lists the options", self.table.command), |n| format!("did you mean --{n}?"));
            return Err(Refused::usage(format!("unknown flag: --{name}"), help));
        };
        self.take(flag, &format!("--{name}"), word, value, rest)
    }

    fn short(&mut self, word: &OsStr, option: &[u8], rest: Rest<'_, '_>) -> Result<(), Refused> {
        for (at, byte) in option.iter().enumerate() {
            let letter = char::from(*byte);
            let Some(flag) = self.table.all().find(|f| f.short == Some(letter)) else {
                let help = format!("{} --help lists the options", self.table.command);
                return Err(Refused::usage(format!("unknown shorthand flag: '{letter}'"), help));
            };
            let after = &option[at + 1..];
            if flag.kind == Kind::Switch && after.first() != Some(&b'=') {
                self.take(flag, &format!("-{letter}"), OsStr::from_bytes(&[b'-', *byte]), None, rest)?;
                continue;
            }
            let value = after.strip_prefix(b"=").unwrap_or(after);
            let value = (!after.is_empty()).then(|| OsStr::from_bytes(value));
            return self.take(flag, &format!("-{letter}"), word, value, rest);
        }
        Ok(())
    }

    /// Takes an option with its value: after `=` or its letter, or the next word.
    fn take(
        &mut self,
        flag: &'static Flag,
        typed: &str,
        word: &OsStr,
        value: Option<&OsStr>,
        rest: Rest<'_, '_>,
    ) -> Result<(), Refused> {
        let mut own = vec![word.to_owned()];
        let value = match value {
            Some(value) => value.to_owned(),
            None if flag.kind == Kind::Switch => OsString::from("true"),
            None => {
                let Some(next) = rest.next() else {
                    let help = format!("write {typed}{} or --{}=…", flag.kind.form().to_uppercase(), flag.name);
                    return Err(Refused::usage(format!("flag needs an argument: {typed}"), help));
                };
                own.push(next.clone());
                next.clone()
            }
        };
        if flag.kind == Kind::Password {
            // An empty one is none.
            self.typed = (!value.is_empty()).then(|| Typed(OsString::from_vec(value.into_vec())));
            return Ok(());
        }
        if flag.name != "password-file" {
            self.kept.append(&mut own);
        }
        let text = value.to_string_lossy().into_owned();
        let checked = self.checked(flag, &text)?;
        match flag.usage {
            Use::Refused(_) if matches!(checked.first().map(String::as_str), None | Some("false" | "0" | "" | "0s")) => {}
            Use::Refused(why) => return Err(flag.refusal(why)),
            Use::Ignored(why) if !self.values.contains_key(flag.name) => self.remarks.push(format!("--{}: {why}", flag.name)),
            Use::Done | Use::Ignored(_) => {}
        }
        let values = self.values.entry(flag.name).or_default();
        if !matches!(flag.kind, Kind::List | Kind::Each) {
            values.clear();
        }
        values.extend(checked);
        Ok(())
    }

    /// A value of the right type, in one spelling.
    fn checked(&self, flag: &Flag, text: &str) -> Result<Vec<String>, Refused> {
        let passwords = || self.table.all().filter(|f| f.kind == Kind::Password).filter_map(|f| f.short);
        let wrong = |help: &str| {
            // -P for -p would show a password.
            let near = flag.short.is_some_and(|s| passwords().any(|p| p.eq_ignore_ascii_case(&s)));
            let shown = if near { String::new() } else { format!(" {text:?}") };
            Refused::usage(format!("invalid argument{shown} for \"{}\" flag", title(flag)), help)
        };
        match flag.kind {
            Kind::Switch => match text {
                "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(vec!["true".to_owned()]),
                "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(vec!["false".to_owned()]),
                _ => Err(wrong("write =true or =false")),
            },
            Kind::Int => match text.parse::<i64>() {
                Ok(number) => Ok(vec![number.to_string()]),
                Err(_) => Err(wrong("give a whole number, without a unit")),
            },
            Kind::Duration => match go_duration_ns(text) {
                Some(_) => Ok(vec![text.to_owned()]),
                None => Err(wrong("give a number and its unit, such as 10s, 1m30s or 500ms")),
            },
            Kind::List => Ok(text.split(',').map(str::trim).filter(|p| !p.is_empty()).map(str::to_owned).collect()),
            Kind::Text | Kind::Password | Kind::Each => Ok(vec![text.to_owned()]),
        }
    }

    /// The words of the command.
    pub(crate) fn command(&self) -> &'static str {
        self.table.command
    }

    /// Refuses what the order that the words name does not know.
    pub(crate) fn only_of(&self, order: &str) -> Result<(), Refused> {
        let foreign = |f: &&&str| self.table.find(f).is_some_and(|f| !f.of.is_empty() && !f.of.contains(&order));
        let Some(flag) = self.values.keys().find(foreign).and_then(|name| self.table.find(name)) else { return Ok(()) };
        let message = format!("unknown flag: --{}", flag.name);
        Err(Refused::usage(message, format!("it is an option of {}, and not of {order}", flag.of.join(" and "))))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        let default = || self.table.find(name).map_or("", |f| f.default);
        self.values.get(name).and_then(|v| v.last()).map_or_else(default, String::as_str)
    }

    /// The parts of a list, or of its default.
    pub(crate) fn list(&self, name: &str) -> Vec<&str> {
        match self.values.get(name) {
            Some(values) => values.iter().map(String::as_str).collect(),
            None => self.text(name).split(',').filter(|p| !p.is_empty()).collect(),
        }
    }

    pub(crate) fn switch(&self, name: &str) -> bool {
        self.text(name) == "true"
    }

    /// A number within these limits.
    pub(crate) fn count(&self, name: &str, least: u32, most: u32) -> Result<u32, Refused> {
        let within = self.text(name).parse::<u32>().ok().filter(|n| (least..=most).contains(n));
        within.ok_or_else(|| self.invalid(name, &format!("give a whole number from {least} to {most}")))
    }

    /// A duration in nanoseconds; `None` where none is given and there is no default.
    pub(crate) fn duration_ns(&self, name: &str) -> Option<u64> {
        go_duration_ns(self.text(name))
    }

    pub(crate) fn invalid(&self, name: &str, help: &str) -> Refused {
        let title = self.table.find(name).map_or_else(|| format!("--{name}"), title);
        let value = self.values.get(name).map_or_else(|| self.text(name).to_owned(), |v| v.join(","));
        Refused::usage(format!("invalid argument {value:?} for \"{title}\" flag"), help)
    }
}

#[cfg(test)]
mod tests;
