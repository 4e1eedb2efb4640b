//! Claims decided on what was measured: the same formulas as of printed numbers, with the interval of their value over blocks.
//!
//! A claim holds where the whole interval lies within its bounds, and fails where the whole interval lies outside; else it is undecided.

mod crossing;
mod evaluate;
mod linear;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audit::{Ground, Holds, as_printed};
use crate::exact::Exact;
use crate::stats::Interval;
use crate::study::{Claim, Study};

use super::WorkloadResult;
use evaluate::Measured;

/// A claim, and what the trials say of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimResult {
    /// The claim, in words.
    pub text: String,
    /// The value that it is about.
    pub formula: String,
    /// The smallest value for which it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// The largest value for which it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// The value; `None` where something of it was not measured.
    pub value: Option<f64>,
    /// Its interval; `None` where there is none.
    pub interval: Option<Interval>,
    /// What follows.
    pub outcome: Outcome,
    /// What a reader must know of the value; why it was not measured.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// What the printed numbers say of it, where the study repeats an article: their value, and whether it holds there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<(String, Holds)>,
}

impl ClaimResult {
    /// Takes the decision back: trials of the plan are missing.
    pub(super) fn leave_open(&mut self) {
        if matches!(self.outcome, Outcome::Holds | Outcome::Fails) {
            self.outcome = Outcome::Undecided;
            "planned trials are missing".clone_into(&mut self.note);
        }
    }
}

/// What the trials say of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The whole interval lies within the bounds.
    Holds,
    /// The whole interval lies outside.
    Fails,
    /// Neither.
    Undecided,
    /// Something that it names was not measured.
    NotMeasured,
}

impl Outcome {
    /// The word in tables.
    pub fn label(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Undecided => "undecided",
            Self::NotMeasured => "not measured",
        }
    }
}

/// The claims of a study on its measured workloads.
pub(super) fn claims(ground: &Ground<'_>, workloads: &[WorkloadResult], independent: bool) -> Vec<ClaimResult> {
    let measured = Measured { ground, workloads, independent };
    let published = ground.study.beside.is_some().then(|| ground.study.clone().as_published());
    // What perbuck checks of an article is no claim of it, and needs no trial.
    ground.study.audit.claims.iter().filter(|claim| !claim.own).map(|claim| one(&measured, published.as_ref(), claim)).collect()
}

fn one(measured: &Measured<'_>, published: Option<&Study>, claim: &Claim) -> ClaimResult {
    let bound = |bound: Option<Exact>| bound.map(Exact::as_f64);
    let (at_least, at_most) = (bound(claim.at_least), bound(claim.at_most));
    let printed = published.and_then(|study| as_printed(&Ground { study, ..*measured.ground }, claim));
    let found = measured.assess(&claim.rule.formula);
    let (value, interval, note) = match found {
        Ok(found) => (Some(found.value), found.interval, found.note),
        Err(why) => (None, None, why),
    };
    let outcome = match (value, interval) {
        (None, _) => Outcome::NotMeasured,
        (Some(_), None) => Outcome::Undecided,
        (Some(_), Some(interval)) => decide(interval, at_least, at_most),
    };
    let (text, formula) = (claim.text.clone(), claim.rule.text.clone());
    let finite = |value: f64| value.is_finite().then_some(value);
    // Where an end is not known the note says so; JSON has no infinity.
    let interval = interval.filter(|i| i.low.is_finite() && i.high.is_finite());
    ClaimResult { text, formula, at_least, at_most, value: value.and_then(finite), interval, outcome, note, printed }
}

fn decide(interval: Interval, at_least: Option<f64>, at_most: Option<f64>) -> Outcome {
    let (low, high) = (at_least.unwrap_or(f64::NEG_INFINITY), at_most.unwrap_or(f64::INFINITY));
    if interval.low >= low && interval.high <= high {
        Outcome::Holds
    } else if interval.high < low || interval.low > high {
        Outcome::Fails
    } else {
        Outcome::Undecided
    }
}
