//! What an article printed, beside what was measured.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::judge::decided;
use super::{PointResult, Verdict, WorkloadResult, replay};
use crate::exact::Exact;
use crate::run_record::{Observed, RunRecord};
use crate::stats::Interval;
use crate::study::{Published, Study};

/// An article beside its repetition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Beside {
    /// Title, author and date of the article.
    pub source: String,
    /// The printed values, and the ratios that follow from them.
    pub rows: Vec<BesideRow>,
    /// What differs between the two, and may explain it.
    pub differences: Vec<String>,
}

/// A printed number beside the measured one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BesideRow {
    /// The workload.
    pub workload: String,
    /// The contender.
    pub contender: String,
    /// Connections; `None` for the value that stands for the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<u32>,
    /// Whether it is a ratio to the baseline, rather than a value.
    pub is_ratio: bool,
    /// What was printed, or follows from it.
    pub published: f64,
    /// The share by which it may be wrong, where it was read off a chart.
    #[serde(default)]
    pub error: f64,
    /// What was measured; `None` where nothing was.
    pub measured: Option<f64>,
    /// Its interval.
    pub interval: Option<Interval>,
    /// What follows.
    pub outcome: Agreement,
}

impl BesideRow {
    /// Takes the agreement back: trials of the plan are missing.
    pub(super) fn leave_open(&mut self) {
        if self.outcome != Agreement::NotMeasured {
            self.outcome = Agreement::Undecided;
        }
    }
}

/// Whether a measured number confirms a printed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// The whole interval of measured over printed lies within the margin.
    Confirmed,
    /// The whole interval lies outside.
    Contradicted,
    /// Neither.
    Undecided,
    /// There are no trials.
    NotMeasured,
}

impl Agreement {
    /// The word in tables.
    pub fn label(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Contradicted => "contradicted",
            Self::Undecided => "undecided",
            Self::NotMeasured => "not measured",
        }
    }
}

/// The printed results of a study beside its measured ones; `None` of a study that repeats no article.
pub(super) fn beside(study: &Study, workloads: &[WorkloadResult], records: &[RunRecord]) -> Option<Beside> {
    let published = study.beside.as_ref()?;
    let printed = replay(&study.clone().as_published(), &[])?;
    let mut rows = Vec::new();
    for theirs in &printed.workloads {
        let ours = workloads.iter().find(|w| w.workload == theirs.workload);
        let same_metric = ours.is_none_or(|ours| ours.metric.name == theirs.metric.name);
        let point = |theirs: &PointResult| {
            let all = ours.into_iter().flat_map(|w| &w.points);
            all.into_iter().find(|ours| (&ours.contender, ours.level) == (&theirs.contender, theirs.level) && ours.mean.is_some())
        };
        for shown in theirs.points.iter().filter(|p| p.mean.is_some()) {
            let row = |is_ratio, published, found: Option<(f64, Option<Interval>)>, error| {
                let name = (theirs.workload.as_str(), shown.contender.as_str(), Some(shown.level));
                BesideRow::new(name, is_ratio, (published, error), found, study.decision.margin)
            };
            let error = published.row(&theirs.workload, &shown.contender, shown.level).map_or(Exact::ZERO, |r| r.error).as_f64();
            if let Some(value) = shown.mean.filter(|_| same_metric) {
                rows.push(row(false, value, point(shown).and_then(|p| Some((p.mean?, p.interval))), error / value));
            }
            if let Some(ratio) = &shown.ratio {
                let base = published.row(&theirs.workload, &study.baseline().name, shown.level);
                let base = base.and_then(|r| Some(r.error.as_f64() / r.mean(&theirs.metric.name)?.ok()?.as_f64()));
                let own = shown.mean.map_or(0.0, |mean| error / mean);
                let found = point(shown).and_then(|p| p.ratio).map(|r| (r.value, r.interval));
                rows.push(row(true, ratio.value, found, own + base.unwrap_or(0.0)));
            }
        }
        for shown in &theirs.contenders {
            let Some(ratio) = shown.throughput.as_ref().map(|j| j.ratio) else { continue };
            let found = ours.and_then(|w| w.contenders.iter().find(|c| c.contender == shown.contender)?.throughput.as_ref());
            let found = found.map(|j| (j.ratio.value, j.ratio.interval));
            let name = (theirs.workload.as_str(), shown.contender.as_str(), None);
            // The reading error of its worst point, of both sides.
            let errors = rows.iter().filter(|r| r.workload == theirs.workload && r.is_ratio).map(|r: &BesideRow| r.error);
            let error = errors.fold(0.0, f64::max);
            rows.push(BesideRow::new(name, true, (ratio.value, error), found, study.decision.margin));
        }
    }
    Some(Beside { source: printed.published.unwrap_or_default(), rows, differences: differences(study, published, records) })
}

impl BesideRow {
    /// `error` is the share by which the printed number may be wrong, where it was read off a chart.
    fn new(
        (workload, contender, level): (&str, &str, Option<u32>),
        is_ratio: bool,
        (published, error): (f64, f64),
        found: Option<(f64, Option<Interval>)>,
        margin: f64,
    ) -> Self {
        let (measured, interval) = found.map_or((None, None), |(value, interval)| (Some(value), interval));
        let over =
            interval.map(|i| Interval { low: i.low / published / (1.0 + error), high: i.high / published * (1.0 + error) });
        let outcome = match (measured, over.map(|i| decided(i, margin))) {
            (None, _) => Agreement::NotMeasured,
            (Some(_), Some(Some(Verdict::Equivalent))) => Agreement::Confirmed,
            (Some(_), Some(Some(_))) => Agreement::Contradicted,
            (Some(_), _) => Agreement::Undecided,
        };
        let (workload, contender) = (workload.to_owned(), contender.to_owned());
        Self { workload, contender, level, is_ratio, published, error, measured, interval, outcome }
    }
}

/// Machines and versions of both, contender by contender.
fn differences(study: &Study, published: &Published, records: &[RunRecord]) -> Vec<String> {
    let mut all = Vec::new();
    if !published.software.is_empty() {
        let theirs: Vec<String> = published.software.iter().map(|(name, version)| format!("{name} {version}")).collect();
        let ours: BTreeSet<&str> = records.iter().map(|r| r.target.version.as_str()).collect();
        let ours: Vec<&str> = ours.into_iter().collect();
        all.push(format!("versions: {} in the article; here {}", theirs.join(", "), ours.join(", ")));
    }
    for contender in study.contenders.iter().filter(|c| c.control_of.is_none()) {
        let seen: BTreeSet<String> = records
            .iter()
            .filter(|r| r.key.contender == contender.name)
            .flat_map(|r| r.target.observed.iter().map(Observed::text))
            .collect();
        // A server may tell its architecture alone, and the system the whole machine.
        let whole = |text: &&String| !seen.iter().any(|other| other.len() > text.len() && other.starts_with(text.as_str()));
        let seen: Vec<String> = seen.iter().filter(whole).cloned().collect();
        if !seen.is_empty() {
            all.push(format!("machine of {}: {} in the article; here {}", contender.name, contender.label, seen.join(", ")));
        }
    }
    all
}
