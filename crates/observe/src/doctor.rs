//! What of a machine spoils a measurement on it: each finding with what was seen, what it costs, and how it is mended.
//!
//! [`examine`] is a pure function of a [`Tree`]. Nothing here changes anything: a [`Setting`] says which file would have which value.

mod checks;
mod network;

use perbuck_core::run_record::MachineFacts;
use serde::Serialize;

use crate::facts::facts;
use crate::tree::Tree;

/// Something of a machine that spoils a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is about: `governor`, `interrupts of eth0`.
    pub about: String,
    /// What was seen, with its numbers.
    pub seen: String,
    /// What it costs a measurement.
    pub costs: &'static str,
    /// How it is mended; empty where only another machine helps.
    pub mends: Vec<Mend>,
}

/// How something is mended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mend {
    /// A file of the system gets a value, until the machine is started again.
    Set(Setting),
    /// A user gives a command, or does what it says.
    Run(String),
}

/// A file below `/proc/sys`, `/proc/irq` or `/sys`, and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Its path, without `/` at the start.
    pub path: String,
    /// The value.
    pub value: String,
}

/// A machine that is examined.
struct Machine<'t> {
    tree: &'t Tree,
    facts: MachineFacts,
}

impl Machine<'_> {
    /// Whether a process of one of these names runs.
    fn runs(&self, names: &[&str]) -> bool {
        let processes = self.tree.names("proc").into_iter().filter(|name| name.parse::<u32>().is_ok());
        processes.filter_map(|id| self.tree.line(&format!("proc/{id}/comm"))).any(|comm| names.contains(&comm.as_str()))
    }
}

/// All that spoils a measurement, what costs most first.
pub fn examine(tree: &Tree) -> Vec<Finding> {
    let machine = Machine { tree, facts: facts(tree) };
    let mut found = network::interrupts(&machine);
    found.extend(checks::ALL.iter().filter_map(|check| check(&machine)));
    found
}

fn set(path: impl Into<String>, value: impl Into<String>) -> Mend {
    Mend::Set(Setting { path: path.into(), value: value.into() })
}

#[cfg(test)]
mod tests;
