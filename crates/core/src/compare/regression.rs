//! One results folder against another: has what was measured before become worse?
//!
//! The two were measured at different times, so trials share no block and are compared as independent ones (Welch). Workloads and
//! environments must be alike; the system under test is what may have changed, and is named.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::judge::{Basis, correct_family, judgement};
use super::looks::Looks;
use super::result::Judgement;
use super::workload::metric_of;
use super::{Refusal, Verdict};
use crate::metric::{Metric, named};
use crate::run_record::{Build, RunRecord};
use crate::stats::{self, Design, Summarise, Trial};
use crate::study::{Decision, Study, Summary};

/// What a new results folder says beside an old one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Regression {
    /// Name of the old study.
    pub old: String,
    /// Name of the new one.
    pub new: String,
    /// The decision rule: that of the new study, perhaps with another margin.
    pub decision: Decision,
    /// Each contender and workload that both have.
    pub results: Vec<Compared>,
    /// What is not the same on both sides.
    pub changes: Vec<Change>,
    /// Contenders and workloads that only one side has, in words.
    pub unmatched: Vec<String>,
}

/// One contender and workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// The contender, as the new study calls it.
    pub contender: String,
    /// The workload.
    pub workload: String,
    /// The value that is compared.
    #[serde(flatten, with = "named")]
    #[schemars(flatten, with = "named::Named")]
    pub metric: Metric,
    /// How it is made from the points.
    pub summary: Summary,
    /// The old value.
    pub old: f64,
    /// The new value.
    pub new: f64,
    /// New over old, after Holm's correction over all results.
    pub judgement: Judgement,
}

/// Something that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// What it belongs to: `workloads`, `environment` or `system`.
    pub group: String,
    /// What it is.
    pub what: String,
    /// How it was.
    pub old: String,
    /// How it is.
    pub new: String,
}

impl Regression {
    /// The results that have become worse.
    pub fn worse(&self) -> impl Iterator<Item = &Compared> {
        self.results.iter().filter(|r| r.judgement.verdict == Verdict::Worse)
    }
}

/// A study with its trials.
pub type Side<'a> = (&'a Study, &'a [RunRecord]);

/// Compares a new folder with an old one.
///
/// # Errors
/// Workloads or environments that differ, unless `insist` names them; nothing that both have.
pub fn regression(old: Side<'_>, new: Side<'_>, margin: Option<f64>, insist: &[String]) -> Result<Regression, Vec<Refusal>> {
    let mut decision = new.0.decision.clone();
    decision.margin = margin.unwrap_or(decision.margin);
    // Two folders are compared once.
    decision.until = None;
    let pairs = pairs(old.0, new.0);
    let (mut results, mut changes) = (Vec::new(), BTreeSet::new());
    let mut matched: BTreeSet<(&str, &str)> = BTreeSet::new();
    for (before, after) in &pairs {
        for w in &new.0.workloads {
            let of = |side: Side<'_>, contender: &str| -> Vec<RunRecord> {
                side.1.iter().filter(|r| r.key.contender == contender && r.key.workload == w.name).cloned().collect()
            };
            let (was, is) = (of(old, before), of(new, after));
            if was.is_empty() || is.is_empty() {
                continue;
            }
            matched.insert((after.as_str(), w.name.as_str()));
            changes.extend(differences(&was, &is));
            results.extend(compared(new.0, &decision, (after, &w.name), &was, &is));
        }
    }
    let refusals = refused(&changes, insist);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    if results.is_empty() {
        let reason = "the two folders have no contender and workload in common".to_owned();
        return Err(vec![Refusal { reason, insist: None }]);
    }
    correct_family(results.iter_mut().map(|r| &mut r.judgement).collect(), &Looks::once(&decision));
    let unmatched = unmatched(old, new, &pairs, &matched);
    Ok(Regression {
        old: old.0.name.clone(),
        new: new.0.name.clone(),
        decision,
        results,
        changes: changes.into_iter().collect(),
        unmatched,
    })
}

/// Contenders that are compared, old and new: those of one name, or the only ones of both.
fn pairs(old: &Study, new: &Study) -> Vec<(String, String)> {
    if let ([before], [after]) = (old.contenders.as_slice(), new.contenders.as_slice()) {
        return vec![(before.name.clone(), after.name.clone())];
    }
    let shared = new.contenders.iter().filter(|c| c.control_of.is_none() && old.contender(&c.name).is_some());
    shared.map(|c| (c.name.clone(), c.name.clone())).collect()
}

fn compared(study: &Study, rule: &Decision, names: (&str, &str), was: &[RunRecord], is: &[RunRecord]) -> Option<Compared> {
    let (contender, workload) = names;
    let metric = metric_of(study.workload(workload)?, &is.iter().chain(was).collect::<Vec<_>>());
    let summary = study.summary_of(workload).clone();
    let both: BTreeSet<u32> = levels(was).intersection(&levels(is)).copied().collect();
    let (how, points) = match &summary {
        Summary::MeanOver(list) => (Summarise::Mean, list.iter().filter(|l| both.contains(l)).copied().collect::<Vec<_>>()),
        Summary::Peak => (Summarise::best(metric.better), both.into_iter().collect()),
    };
    let trials = |records: &[RunRecord]| -> Vec<Vec<Trial>> {
        let one = |r: &RunRecord| Trial { deployment: r.key.deployment(), block: r.key.trial, value: r.metric(&metric) };
        points.iter().map(|level| records.iter().filter(|r| r.key.level() == *level).map(one).collect()).collect()
    };
    let (before, after) = (trials(was), trials(is));
    let estimate = stats::ratio(&before, &after, how, rule.confidence, Design::Independent)?;
    let deployed = before.iter().chain(&after).flatten().any(|t| t.deployment > 1);
    let values = |points: &[Vec<Trial>]| stats::units(&stats::values_by_block(points, how));
    let rank = stats::rank(&values(&before), &values(&after), rule.confidence);
    let basis = Basis { units: estimate.units, missing: 0, deployed, published: false, better: metric.better };
    Some(Compared {
        contender: contender.to_owned(),
        workload: workload.to_owned(),
        summary,
        old: stats::summarise(&before, how)?,
        new: stats::summarise(&after, how)?,
        judgement: judgement(estimate.ratio, rule, basis, rank),
        metric,
    })
}

fn levels(records: &[RunRecord]) -> BTreeSet<u32> {
    records.iter().map(|r| r.key.level()).collect()
}

/// A refusal for each group of changes that the user did not insist on.
fn refused(changes: &BTreeSet<Change>, insist: &[String]) -> Vec<Refusal> {
    let group = |word: &'static str| {
        let of: Vec<&Change> = changes.iter().filter(|c| c.group == word).collect();
        if of.is_empty() || insist.iter().any(|i| i == word) {
            return None;
        }
        let list: Vec<String> = of.iter().map(|c| format!("{} was {} and is {}", c.what, c.old, c.new)).collect();
        let what = if word == "workloads" { "the workloads differ" } else { "the environments differ" };
        Some(Refusal { reason: format!("{what}: {}", list.join("; ")), insist: Some(word) })
    };
    [group("workloads"), group("environment")].into_iter().flatten().collect()
}

/// A fact's group and name, and all values that the records of a side have of it.
type Facts = BTreeMap<(&'static str, String), BTreeSet<String>>;

fn differences(was: &[RunRecord], is: &[RunRecord]) -> Vec<Change> {
    let (old, new) = (facts(was), facts(is));
    let names: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let text = |side: &Facts, name: &(&'static str, String)| match side.get(name) {
        Some(values) => values.iter().cloned().collect::<Vec<_>>().join(" or "),
        None => "absent".to_owned(),
    };
    let differing = names.into_iter().filter(|name| old.get(name) != new.get(name));
    let change = |name: &(&'static str, String)| Change {
        group: name.0.to_owned(),
        what: name.1.clone(),
        old: text(&old, name),
        new: text(&new, name),
    };
    differing.map(change).collect()
}

fn facts(records: &[RunRecord]) -> Facts {
    let mut facts = Facts::new();
    for r in records {
        let (h, l, w, t) = (&r.host, &r.load, &r.workload, &r.target);
        let name = &r.key.workload;
        let mut put = |group, what: String, value: String| facts.entry((group, what)).or_default().insert(value);
        put("workloads", format!("{name}: kind"), w.kind.clone());
        put("workloads", format!("{name}: data"), w.data_fingerprint.clone());
        put("workloads", format!("{name}: load model"), l.model.clone());
        put("workloads", format!("{name}: points"), r.key.level().to_string());
        put("workloads", format!("{name}: warm-up in ns"), l.warmup_ns.to_string());
        put("workloads", format!("{name}: window in ns"), l.duration_ns.to_string());
        put("workloads", format!("{name}: phases"), l.phases.len().to_string());
        put("workloads", format!("{name}: attempts"), l.max_attempts.to_string());
        for (key, value) in &w.parameters {
            put("workloads", format!("{name}: {key}"), value.clone());
        }
        put("environment", "architecture".to_owned(), h.arch.clone());
        put("environment", "emulator".to_owned(), h.emulator.clone().unwrap_or_else(|| "none".to_owned()));
        put("environment", "operating system".to_owned(), h.os.clone());
        put("environment", "processor".to_owned(), h.cpu_model.clone());
        put("environment", "processors".to_owned(), h.cpus.to_string());
        put("environment", "memory in bytes".to_owned(), h.memory_bytes.to_string());
        put("environment", "client and server on one machine".to_owned(), h.shared_with_server.to_string());
        put("environment", "load threads".to_owned(), l.workers.to_string());
        put("environment", "perbuck".to_owned(), r.perbuck.clone());
        put("system", "driver".to_owned(), t.driver.clone());
        put("system", "version".to_owned(), t.version.clone());
        for (name, value) in t.build.iter().flat_map(Build::facts) {
            put("system", name.to_owned(), value);
        }
        for (key, value) in &t.variables {
            put("system", format!("variable {key}"), value.clone());
        }
    }
    facts
}

fn unmatched(old: Side<'_>, new: Side<'_>, pairs: &[(String, String)], matched: &BTreeSet<(&str, &str)>) -> Vec<String> {
    let only = |r: &RunRecord, contender: Option<&str>, side: &str| {
        let alone = contender.is_none_or(|name| !matched.contains(&(name, r.key.workload.as_str())));
        alone.then(|| format!("{}, {} is only in the {side} folder", r.key.contender, r.key.workload))
    };
    let after = |r: &RunRecord| pairs.iter().find(|(before, _)| *before == r.key.contender).map(|(_, after)| after.as_str());
    let of_old = old.1.iter().filter_map(|r| only(r, after(r), "old"));
    let of_new = new.1.iter().filter_map(|r| only(r, Some(r.key.contender.as_str()), "new"));
    of_old.chain(of_new).collect::<BTreeSet<_>>().into_iter().collect()
}
