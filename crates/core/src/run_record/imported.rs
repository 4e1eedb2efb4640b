//! That a trial was not measured by perbuck: it was read from the log of another program.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where an imported trial comes from, and what its log does not say. A value that the log does not say is 0, empty or absent in the
/// record, and means nothing there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Imported {
    /// The program that measured it.
    pub tool: String,
    /// Its version; empty where the log does not say.
    pub version: String,
    /// Name of the log, without its folder.
    pub log: String,
    /// Fingerprint of the text of the log.
    pub log_fingerprint: String,
    /// The line of the log that holds the result, from 1.
    pub line: usize,
    /// Numbers that a record has no place for, as the log prints them. Percentiles are among them where the log has no histogram: those
    /// of several trials have no common percentile.
    pub printed: BTreeMap<String, String>,
    /// What the log does not say, in words.
    pub missing: Vec<String>,
}

impl Imported {
    /// The program and its version.
    pub fn program(&self) -> String {
        format!("{} {}", self.tool, self.version).trim_end().to_owned()
    }

    /// One sentence for people.
    pub fn text(&self) -> String {
        format!("imported from {} log; not known: {}", self.program(), self.missing.join(", "))
    }
}
