//! Where processes spent their processor time, by the samples of Linux' `perf`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Symbols of a profile that a record holds, those with most samples.
pub const MOST_SYMBOLS: usize = 50;

/// A profile of perbuck's process, or of those of its server, in the warm-up of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// How long before the measured window opened it began, in milliseconds.
    pub began_before_ms: u32,
    /// How long before the measured window opened it had ended, in milliseconds.
    pub ended_before_ms: u32,
    /// Samples, at equal distances of the processes' processor time.
    pub samples: u64,
    /// Whether the kernel's part is missing, because the system does not show it to this user.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub user_only: bool,
    /// Symbols by their samples, most first, at most [`MOST_SYMBOLS`].
    pub symbols: Vec<SymbolSamples>,
    /// Why there is none, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_taken: Option<String>,
}

/// The samples of one function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SymbolSamples {
    /// Its name; [`Self::NO_SYMBOL`] stands for all functions without one.
    pub symbol: String,
    /// The program or library that it is in: `mariadbd`, `[kernel.kallsyms]`.
    pub object: String,
    /// How many of them.
    pub samples: u64,
}

impl SymbolSamples {
    /// What stands for functions that a stripped program does not name.
    pub const NO_SYMBOL: &str = "(no symbol)";
}

impl Profile {
    /// One that was asked for and could not be taken.
    pub fn not_taken(why: impl Into<String>) -> Self {
        Self { not_taken: Some(why.into()), ..Self::default() }
    }
}
