//! What data take on the servers, and how they came into their memory, or out of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes of the data of a workload before a trial, as the servers count them. What they do not tell is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataSize {
    /// Its tables, with the primary key where the rows lie in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tables_bytes: Option<u64>,
    /// All other indexes of these tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexes_bytes: Option<u64>,
    /// The files that hold them, in all copies. They may hold other data, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_bytes: Option<u64>,
}

/// The last prewarm of the data of a workload before a trial: they were read until the servers read nothing more from disk, or again and
/// again did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prewarmed {
    /// `tables`, or `indexes` for the tables and all their indexes.
    pub what: String,
    /// How often they were read.
    pub passes: u32,
    /// How long all passes took, in nanoseconds.
    pub took_ns: u64,
    /// Pages or blocks that the servers read from disk in the last pass; absent where they do not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages_read: Option<u64>,
    /// Bytes of these pages; absent where they are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_read: Option<u64>,
}

/// What was done before a trial so that its caches were cold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cooled {
    /// What lost what it had in memory.
    pub restarted: Restarted,
    /// Why the page cache of the operating system could not be dropped; absent where it was dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_cache_kept: Option<String>,
}

/// What was started again on its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Restarted {
    /// The server was stopped and started.
    Server,
    /// perbuck closed the file of a database within its own process, and opened it again.
    File,
}

impl Cooled {
    /// `cold: server restarted, page cache dropped`.
    pub fn text(&self) -> String {
        let restarted = match self.restarted {
            Restarted::Server => "server restarted",
            Restarted::File => "file opened again",
        };
        match &self.page_cache_kept {
            None => format!("cold: {restarted}, page cache dropped"),
            Some(why) => format!("cold: {restarted}; the page cache could not be dropped ({why})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_what_was_made_cold_and_what_was_not() {
        let of = |restarted, why: Option<&str>| Cooled { restarted, page_cache_kept: why.map(str::to_owned) }.text();
        assert_eq!(of(Restarted::Server, None), "cold: server restarted, page cache dropped");
        let kept = "cold: file opened again; the page cache could not be dropped (perbuck is not root)";
        assert_eq!(of(Restarted::File, Some("perbuck is not root")), kept);
    }
}
