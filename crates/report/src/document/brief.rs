//! What a brief is made of: the answer on one screen.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Figure, Tone};

/// The question answered on one screen. Everything else of a report is detail.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Brief {
    /// The question answered in one sentence.
    pub answer: Answer,
    /// What belongs to the answer, such as why its interval is narrower than those of its parts.
    pub remarks: Vec<String>,
    /// One sentence for each workload and contender; the first figure shows the same.
    pub parts: Vec<Answer>,
    /// Work per dollar, cost and throughput, as far as there is something to show. They have no number.
    pub figures: Vec<Figure>,
    /// What forbids or limits the answer, the gravest first; at most three.
    pub caveats: Vec<String>,
    /// How many more caveats the last section lists.
    pub more_caveats: usize,
    /// Prices with their date and source, and when and where it was measured: label and value.
    pub sources: Vec<(String, String)>,
}

/// A sentence with its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// One sentence.
    pub text: String,
    /// Its verdict.
    pub tone: Tone,
}
