//! What data take on the servers.

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
