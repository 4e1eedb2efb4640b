//! Command lines of go-tpc by `perbuck`, on a database of their own, and its lines as its users take them apart.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test binary uses its own part of this")]

use std::collections::BTreeMap;
use std::process::Stdio;

use super::{Desk, Ended, ended, signal, wait_until};

/// A command with the options that all its command lines have.
pub struct Side {
    pub desk: Desk,
    command: &'static str,
    pub address: Vec<String>,
}

impl Side {
    pub fn of(command: &'static str, desk: Desk, address: &[&str]) -> Self {
        Self { desk, command, address: address.iter().map(|word| (*word).to_owned()).collect() }
    }

    pub fn run(&self, words: &[&str]) -> Ended {
        ended(self.desk.command(&[self.command]).args(&self.address).args(words).output().unwrap())
    }

    pub fn good(&self, words: &[&str]) -> Ended {
        let ended = self.run(words);
        assert_eq!(ended.code, Some(0), "{words:?}: {ended:#?}");
        ended
    }

    /// Its words, of an end with that exit code.
    pub fn refused(&self, words: &[&str], code: i32, parts: &[&str]) -> Ended {
        let ended = self.run(words);
        assert_eq!(ended.code, Some(code), "{words:?}: {ended:#?}");
        assert!(parts.iter().all(|part| ended.err.contains(part)), "{words:?}: {ended:#?}");
        ended
    }

    /// Ctrl-C, as soon as that is so.
    pub fn cut_off(&self, words: &[&str], when: impl FnMut() -> bool) -> Ended {
        let mut command = self.desk.command(&[self.command]);
        command.args(&self.address).args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        wait_until("it may be cut off", when);
        signal(&child, "INT");
        ended(child.wait_with_output().unwrap())
    }
}

/// The numbers of lines with that prefix, by operation and label.
pub fn numbers(out: &str, prefix: &str) -> BTreeMap<String, BTreeMap<String, f64>> {
    let line = |line: &str| {
        let (operation, rest) = line.strip_prefix(prefix)?.split_once(" - ")?;
        let pair = |pair: &str| pair.split_once(": ").map(|(label, value)| (label.to_owned(), value.parse().unwrap()));
        Some((operation.trim().to_owned(), rest.split(", ").map(|p| pair(p).unwrap()).collect()))
    };
    out.lines().filter_map(line).collect()
}
