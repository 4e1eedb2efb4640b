//! What data take on the servers, and how they came into their memory.

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
