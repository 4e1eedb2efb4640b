//! Settings of a server's machine that perbuck made for a trial.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A file of the kernel that had another value while the trial ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TunedSetting {
    /// Its path: `/proc/sys/vm/swappiness`.
    pub path: String,
    /// Its value in the trial.
    pub value: String,
    /// What it had before, and has again.
    pub was: String,
}
