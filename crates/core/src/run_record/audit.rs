//! What an auditor looks at in a finished run, as the workload that knows its specification judged it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a value lies in its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// There was nothing to look at, or the clause asks nothing of such a run.
    NotApplicable,
    /// It does.
    Holds,
    /// It does not, and with so few transactions a value that is right could lie there, too.
    #[serde(rename = "too-few-to-tell")]
    NotEnoughData,
    /// It does not, by more than chance explains.
    Broken,
}

impl Judgement {
    /// Its words, in every output.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Broken => "BROKEN",
            Self::NotEnoughData => "not enough data",
            Self::NotApplicable => "not applicable",
        }
    }
}

/// One value beside its range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditValue {
    /// The clause that gives the range.
    pub clause: String,
    /// What it is.
    pub what: String,
    /// Its value; 0 where nothing was counted.
    pub value: f64,
    /// What the value counts: `%`, `lines` or `s`.
    pub unit: String,
    /// The least that is allowed, in the same unit; none where there is no such limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    /// The most that is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
    /// How far chance alone may carry it to either side with so many transactions (three standard errors).
    pub width: f64,
    /// From how many transactions or lines it was taken.
    pub of: u64,
    /// What follows.
    pub judgement: Judgement,
}

impl AuditValue {
    /// The range in words: `57 to 63`, `5 or less`, `43 or more`; empty where there is none.
    pub fn range(&self) -> String {
        match (self.least, self.most) {
            (Some(least), Some(most)) => format!("{least} to {most}"),
            (Some(least), None) => format!("{least} or more"),
            (None, Some(most)) => format!("{most} or less"),
            (None, None) => String::new(),
        }
    }

    /// Decimals with which a value is printed: times to the millisecond.
    pub fn decimals(&self) -> usize {
        if self.unit == "s" { 3 } else { 2 }
    }
}
