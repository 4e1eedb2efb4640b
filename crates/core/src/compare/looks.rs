//! How often the results of a study were looked at before its verdicts stood, and what each look may therefore say.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Remark;
use crate::run_record::RunRecord;
use crate::stats;
use crate::study::{Decision, StoppingRule, Study, Until};

/// The rules by which a study gave verdicts, and the confidence of each interval by itself. All looks together have that of the study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Looks {
    /// In the order of the trials; the last one is the study's own. Those before it had all their trials, so that they gave verdicts.
    pub rules: Vec<StoppingRule>,
    /// The looks that the last rule plans: after each block between two numbers; `None` is a single one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// Confidence of each interval.
    pub confidence: f64,
}

impl Looks {
    /// Those of a study by what its records say of the rules in force.
    pub(super) fn of(study: &Study, records: &[&RunRecord]) -> Self {
        let of_workload = |name: &str| rules(study, name, records);
        let all = study.workloads.iter().map(|spec| of_workload(&spec.name));
        let rules = all.max_by_key(Vec::len).unwrap_or_default();
        let mut found = Self { rules, until: study.decision.until.clone(), confidence: study.decision.confidence };
        found.confidence = 1.0 - found.level(1);
        found
    }

    /// A single look.
    pub(super) fn once(decision: &Decision) -> Self {
        Self { rules: Vec::new(), until: None, confidence: decision.confidence }
    }

    /// That verdicts were given before the last rule was.
    pub(super) fn remark(&self, records: &[RunRecord]) -> Option<Remark> {
        let [earlier @ .., last] = self.rules.as_slice() else { return None };
        let text = match earlier.last()? {
            before if (before.confidence, before.margin, before.least) == (last.confidence, last.margin, last.least) => {
                let trials: Vec<String> = self.rules.iter().map(|rule| (rule.trials * rule.deployments).to_string()).collect();
                format!("the number of trials was changed after results could be seen: {}", trials.join(", then "))
            }
            _ => "the rule of the verdicts was changed after results could be seen".to_owned(),
        };
        let text = format!("{text}; each interval has half of the error of the one before");
        Some(Remark { text, flag: None, trials: records.len(), example: records.first()?.key.path() })
    }

    /// What a comparison says of them: nothing of a single look.
    pub(super) fn told(self) -> Option<Self> {
        (self.until.is_some() || self.rules.len() > 1).then_some(self)
    }

    /// The error level of each of several results in each look. Every rule has half the level of the one before it, so that all of them
    /// together err at most twice as often as the first one alone at an edge of the margin: 5 % at a confidence of 95 %. The strictest of
    /// the stated confidences counts.
    pub(super) fn level(&self, among: usize) -> f64 {
        let strictest = self.rules.iter().map(|rule| rule.confidence).reduce(f64::max);
        let stated = 1.0 - strictest.unwrap_or(self.confidence);
        let earlier = self.rules.len().saturating_sub(1);
        let error = stated / 2f64.powi(earlier.min(64) as i32) / among as f64;
        match &self.until {
            Some(until) => stats::level_of_each_look(error, until.least, until.most),
            None => error,
        }
    }

    /// The study as its intervals are to be computed.
    pub(super) fn applied(&self, study: &Study) -> Study {
        let mut study = study.clone();
        study.decision.confidence = self.confidence;
        study
    }
}

/// How many trials the plan still wants at a point before a verdict, where the point that has the fewest has so many; 0 without a plan.
pub(super) fn missing(study: &Study, workload: &str, fewest: usize) -> u32 {
    if study.published.is_some() || study.imported || study.sweep.collected {
        return 0;
    }
    let trials = study.sweep_of(workload).trials;
    let planned = match &study.decision.until {
        Some(until) => until.least.min(trials),
        None => trials.saturating_mul(study.sweep.deployments),
    };
    planned.saturating_sub(fewest as u32)
}

/// The rules by which a workload gave verdicts.
fn rules(study: &Study, workload: &str, records: &[&RunRecord]) -> Vec<StoppingRule> {
    let mut mine: Vec<&RunRecord> = records.iter().filter(|r| r.key.workload == workload).copied().collect();
    mine.sort_by_key(|r| (r.key.deployment(), r.key.trial));
    let own = study.rule_of(workload);
    let mut found: Vec<StoppingRule> = Vec::new();
    for record in mine {
        let Some(rule) = &record.rule else { continue };
        // Before its last trial a rule gives no verdict, and of a single trial there is no interval. Trials beyond those of the study are
        // not here, so that a larger plan may have given one.
        let at_end = record.key.trial >= rule.least.unwrap_or(rule.trials) && record.key.deployment() >= rule.deployments;
        let was_larger = own.trials < rule.trials || own.deployments < rule.deployments;
        let gave_verdicts = rule.trials * rule.deployments > 1 && (at_end || was_larger);
        if gave_verdicts && found.last() != Some(rule) {
            found.push(rule.clone());
        }
    }
    if found.last() != Some(&own) {
        found.push(own);
    }
    found
}
