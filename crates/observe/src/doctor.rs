//! What of a machine spoils a measurement on it: each finding with what was seen, what it costs, and how it is mended.
//!
//! [`examine`] is a pure function of a [`Tree`]. Nothing here changes anything: a [`Setting`] says which file would have which value.

mod checks;
mod network;

use std::borrow::Cow;

use perbuck_core::run_record::MachineFacts;
use serde::{Deserialize, Serialize};

use crate::facts::facts;
use crate::setting::Setting;
use crate::tree::Tree;

/// Something of a machine that spoils a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What it is about: `governor`, `interrupts of eth0`.
    pub about: String,
    /// What was seen, with its numbers.
    pub seen: String,
    /// What it costs a measurement.
    pub costs: Cow<'static, str>,
    /// How it is mended; empty where only another machine helps.
    pub mends: Vec<Mend>,
}

/// How something is mended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mend {
    /// A file of the system gets a value, until the machine is started again.
    Set(Setting),
    /// A user gives a command, or does what it says.
    Run(String),
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

impl Finding {
    /// The files that it would set.
    pub fn settings(&self) -> impl Iterator<Item = &Setting> {
        self.mends.iter().filter_map(|mend| if let Mend::Set(setting) = mend { Some(setting) } else { None })
    }
}

/// What of network queues is steered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steered {
    /// Interrupts and packets are spread over the processors (RPS).
    Packets,
    /// Packets follow the threads that read them (RFS).
    Flows,
    /// Processors have queues of their own to send by (XPS).
    Senders,
}

/// The settings that steer network queues.
///
/// # Errors
/// Why they cannot be: there is nothing to steer, or another program moves interrupts.
pub fn steering(tree: &Tree, what: Steered) -> Result<Vec<Setting>, String> {
    let machine = Machine { tree, facts: facts(tree) };
    let (found, nothing) = match what {
        Steered::Packets => {
            (network::interrupts(&machine), "has fewer queues than the machine has cores and keeps its packets there")
        }
        Steered::Flows => (network::flows(&machine).into_iter().collect(), "passes packets on without a table of flows"),
        Steered::Senders => {
            (network::sending(&machine), "has several queues, fewer than the machine has cores, and none for a processor")
        }
    };
    let settings: Vec<Setting> = found.iter().flat_map(Finding::settings).cloned().collect();
    if settings.is_empty() {
        return Err(format!("no network device {nothing}"));
    }
    if what == Steered::Packets && machine.runs(&["irqbalance"]) {
        return Err("irqbalance runs, and would move interrupts again; stop it".to_owned());
    }
    Ok(settings)
}

/// All that spoils a measurement, what costs most first.
pub fn examine(tree: &Tree) -> Vec<Finding> {
    let machine = Machine { tree, facts: facts(tree) };
    let mut found = network::interrupts(&machine);
    found.extend(network::flows(&machine));
    found.extend(network::sending(&machine));
    found.extend(checks::ALL.iter().filter_map(|check| check(&machine)));
    found
}

fn set(path: impl Into<String>, value: impl Into<String>) -> Mend {
    Mend::Set(Setting { path: path.into(), value: value.into() })
}

#[cfg(test)]
mod tests;
