//! An option of a command line as its table describes it; what it takes (`K`) is each program's own.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::refused::Refused;

/// What perbuck does with an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// What it says.
    Done,
    /// Nothing, because there is nothing to do; said once where the option is given.
    Ignored(&'static str),
    /// It cannot do it and measures nothing else instead: why, and the way out after a colon.
    Refused(&'static str),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct OptionSpec<K> {
    /// Its name with dashes.
    pub(crate) name: &'static str,
    /// Its letter, if it has one.
    pub(crate) short: Option<char>,
    /// What it takes.
    pub(crate) kind: K,
    /// Its value where none is given; empty is none.
    pub(crate) default: &'static str,
    pub(crate) usage: Use,
    /// The orders that know it; all where it is empty.
    pub(crate) of: &'static [&'static str],
    /// One line for the help.
    pub(crate) help: &'static str,
}

/// Options that belong together, as the help shows them.
#[derive(Debug)]
pub(crate) struct Group<K: 'static> {
    pub(crate) title: &'static str,
    pub(crate) options: &'static [OptionSpec<K>],
}

impl<K: Copy> OptionSpec<K> {
    /// An option of which only some orders know.
    pub(crate) const fn of(self, of: &'static [&'static str]) -> Self {
        Self { of, ..self }
    }

    /// The same with a letter.
    pub(crate) const fn short(self, short: char) -> Self {
        Self { short: Some(short), ..self }
    }

    /// That it is refused, where `why` says so.
    pub(crate) fn refusal(&self, why: &str) -> Refused {
        let (message, help) = why.split_once(": ").unwrap_or((why, ""));
        Refused::usage(format!("--{}: {message}", self.name), help)
    }
}

/// An option that does what it says.
pub(crate) const fn done<K: Copy>(name: &'static str, kind: K, default: &'static str, help: &'static str) -> OptionSpec<K> {
    OptionSpec { name, short: None, kind, default, usage: Use::Done, of: &[], help }
}

pub(crate) const fn ignored<K: Copy>(name: &'static str, kind: K, default: &'static str, why: &'static str) -> OptionSpec<K> {
    OptionSpec { usage: Use::Ignored(why), ..done(name, kind, default, why) }
}

pub(crate) const fn refused<K: Copy>(name: &'static str, kind: K, why: &'static str) -> OptionSpec<K> {
    OptionSpec { usage: Use::Refused(why), ..done(name, kind, "", "refused by perbuck, which cannot do it") }
}

/// Name and value of a word after its dashes.
pub(crate) fn split(option: &[u8]) -> (String, Option<&OsStr>) {
    let end = option.iter().position(|b| *b == b'=').unwrap_or(option.len());
    let value = option.get(end + 1..).map(OsStr::from_bytes);
    (String::from_utf8_lossy(&option[..end]).into_owned(), value)
}

/// The value of a word out of a closed set.
pub(crate) fn chosen<T: Copy>(typed: &str, words: &[(&str, T)]) -> Option<T> {
    words.iter().find(|(word, _)| *word == typed).map(|(_, value)| *value)
}

/// Whether a word is one of a text of words.
pub(crate) fn is_in(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|one| one == word)
}

/// Holds that every name and letter is there once, and that every refusal names a way out.
#[cfg(test)]
pub(crate) fn hold_together<K>(options: &[&OptionSpec<K>]) {
    let mut names = std::collections::BTreeSet::new();
    for option in options {
        assert!(names.insert(option.name.to_owned()), "{} is there twice", option.name);
        assert!(option.short.is_none_or(|letter| names.insert(letter.to_string())), "the letter of {}", option.name);
        if let Use::Refused(why) = option.usage {
            assert!(why.contains(": "), "{} has a way out", option.name);
        }
    }
}
