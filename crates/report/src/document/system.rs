//! The machines of a contender.

use schemars::JsonSchema;
use serde::Serialize;

/// One drawing of the machines of a contender.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SystemPanel {
    /// Its heading.
    pub title: String,
    /// Where the billed machines are priced; empty where the study does not say.
    pub region: String,
    /// Machines that are not billed, then the billed ones in the order of the study.
    pub roles: Vec<SystemRole>,
}

/// The machines of one role.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SystemRole {
    /// Its name.
    pub name: String,
    /// How many of which type.
    pub machines: String,
    /// Their size and how they are spread, in words; may be empty.
    pub note: String,
    /// How many of them.
    pub count: u32,
    /// Whether they are billed.
    pub billed: bool,
    /// The volumes of each of them.
    pub volumes: Vec<SystemVolume>,
}

/// A volume of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SystemVolume {
    /// How many of which size and kind.
    pub name: String,
    /// What is bought beyond its size, in words; may be empty.
    pub note: String,
}

impl SystemVolume {
    /// All of it on one line.
    pub(crate) fn words(&self) -> String {
        if self.note.is_empty() { self.name.clone() } else { format!("{}, {}", self.name, self.note) }
    }
}
