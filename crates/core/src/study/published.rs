//! What others measured and printed: results in place of trials, numbers with the formulas they claim to follow.

use std::collections::{BTreeMap, BTreeSet};

use crate::audit::Weight;
use crate::exact::Exact;
use crate::formula::Formula;
use crate::metric::{Counted, Metric, RELATIVE, TPS};
use crate::toml_reader::{Located, Section, TomlFile};
use crate::workload_kind::DRAIN_S;

use super::told::{Measure, PointsClaim, Said, Sample};
use super::{Study, Summary, WorkloadSpec, attached};

/// The published side of a study that perbuck did not measure.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Published {
    /// Title of the article.
    pub title: String,
    /// Who wrote it.
    pub author: String,
    /// When it appeared.
    pub date: String,
    /// Software and versions, as printed.
    pub software: Vec<(String, String)>,
    /// Products with the dates from which the article says that they were there.
    pub dates: Vec<(String, String)>,
    /// What the article leaves out.
    pub missing: Vec<String>,
    /// How the numbers were had, where they are not simply printed.
    pub method: String,
    /// The numbers; one row per workload, contender and point.
    pub rows: Vec<ResultRow>,
}

/// The numbers of one point.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultRow {
    /// Name of the workload.
    pub workload: String,
    /// Name of the contender.
    pub contender: String,
    /// Connections.
    pub connections: u32,
    /// The numbers of each column, one for each repeat; a number that the article does not show is not there.
    pub columns: BTreeMap<String, Vec<Exact>>,
    /// How far a number may be from the truth, where it was read from a chart; zero where it was printed.
    pub error: Exact,
    /// Line in its file.
    pub line: usize,
}

/// What an audit checks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AuditSpec {
    /// Numbers that formulas may name and that follow from nothing.
    pub given: BTreeMap<String, Exact>,
    /// Printed numbers.
    pub numbers: Vec<PrintedNumber>,
    /// Claims of the text.
    pub claims: Vec<Claim>,
    /// Claims of the text about many points at once.
    pub points_claims: Vec<PointsClaim>,
    /// Sample outputs.
    pub samples: Vec<Sample>,
    /// Measures that the article defines.
    pub measures: Vec<Measure>,
    /// What the article says at two places or more.
    pub said: Vec<Said>,
}

/// A number as it was printed, and the formulas that it may follow.
#[derive(Debug, Clone, PartialEq)]
pub struct PrintedNumber {
    /// Its name, unique in the study.
    pub name: String,
    /// What it is, in words.
    pub about: String,
    /// The digits as printed.
    pub printed: String,
    /// Their value.
    pub value: Exact,
    /// How many decimals they have.
    pub decimals: u32,
    /// The formula, or several readings of it; empty where the raw numbers are missing.
    pub rules: Vec<Rule>,
    /// Why there is no formula.
    pub missing: String,
    /// Line in the study.
    pub line: usize,
}

/// One reading of how a number is made.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// What distinguishes it; empty where it is the only one.
    pub name: String,
    /// The formula as written.
    pub text: String,
    /// The formula, read.
    pub formula: Formula,
}

/// A claim of the text: a formula and the bounds that make it true.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The claim, in words.
    pub text: String,
    /// What was measured or priced of it.
    pub rule: Rule,
    /// The smallest value for which it holds.
    pub at_least: Option<Exact>,
    /// The largest value for which it holds.
    pub at_most: Option<Exact>,
    /// What it changes for a reader.
    pub weight: Weight,
    /// Whether it is a check of perbuck's own: the article does not say it.
    pub own: bool,
    /// What the author should know of the value; may be empty.
    pub note: String,
    /// Line in the study.
    pub line: usize,
}

impl Published {
    /// The row of one point.
    pub fn row(&self, workload: &str, contender: &str, connections: u32) -> Option<&ResultRow> {
        self.rows.iter().find(|r| r.workload == workload && r.contender == contender && r.connections == connections)
    }

    /// The points of a workload, ascending, no doubles.
    pub fn levels(&self, workload: &str) -> Vec<u32> {
        let levels: BTreeSet<u32> = self.rows.iter().filter(|r| r.workload == workload).map(|r| r.connections).collect();
        levels.into_iter().collect()
    }
}

impl ResultRow {
    /// The mean over the repeats of a column; `None` where the article shows none.
    pub fn mean(&self, column: &str) -> Option<Result<Exact, String>> {
        let values = self.columns.get(column).filter(|v| !v.is_empty())?;
        let sum = values.iter().try_fold(Exact::ZERO, |sum, v| sum.plus(*v));
        Some(sum.and_then(|s| s.over(Exact::whole(values.len() as i128))))
    }
}

impl Study {
    /// The study with the results that it repeats in place of trials.
    #[must_use]
    pub fn as_published(mut self) -> Self {
        self.published = self.published.or(self.beside.take());
        let Some(published) = &self.published else { return self };
        let metrics: Vec<Metric> = self.workloads.iter().map(|w| self.metric_of(&w.name).clone()).collect();
        for (workload, metric) in self.workloads.iter_mut().zip(metrics) {
            // An article may tell nothing but how its contenders relate.
            let has = |column: &str| published.rows.iter().any(|r| r.workload == workload.name && r.columns.contains_key(column));
            if !has(&metric.name) && has(&RELATIVE.name) {
                workload.metric = Some(RELATIVE.clone());
            }
        }
        self
    }

    /// The summary rule of a workload: its own, or that of the study.
    pub fn summary_of(&self, workload: &str) -> &Summary {
        self.workload(workload).and_then(|w| w.summary.as_ref()).unwrap_or(&self.summary)
    }

    /// The metric of a workload, where the study or its kind says so.
    pub fn metric_of(&self, workload: &str) -> &Metric {
        let usual = |w: &WorkloadSpec| if self.published.is_some() { w.told_metric() } else { w.usual_metric() };
        self.workload(workload).map_or(&TPS, |w| w.metric.as_ref().unwrap_or_else(|| usual(w)))
    }
}

impl WorkloadSpec {
    /// Whether its transactions may write to its tables.
    pub fn writes(&self) -> bool {
        self.known.is_none_or(|kind| (kind.writes)(&self.parameters))
    }

    /// Whether one of its transactions may last for seconds.
    pub fn is_long(&self) -> bool {
        self.known.is_some_and(|kind| (kind.long)(&self.parameters))
    }

    /// Seconds that what is in flight at the end of a trial is waited for.
    pub fn drain_s(&self) -> u32 {
        self.known.map_or(DRAIN_S, |kind| (kind.drain_s)(&self.parameters))
    }

    /// Connections that it needs beside those of the load.
    pub fn beside(&self) -> u32 {
        self.known.map_or(0, |kind| (kind.beside)(&self.parameters))
    }

    /// Its parameters as they stand in the study.
    pub fn declared(&self) -> BTreeMap<String, String> {
        self.parameters.iter().map(|(name, v)| (name.clone(), v.value.to_string())).collect()
    }

    /// The metric of its kind with these parameters.
    pub fn usual_metric(&self) -> &'static Metric {
        self.known.map_or(&TPS, |kind| (kind.metric)(&self.declared()))
    }

    /// The same for numbers that others have told, in a log or an article: they know nothing of what only perbuck's workloads count.
    pub fn told_metric(&self) -> &'static Metric {
        let usual = self.usual_metric();
        if matches!(usual.of, Counted::Facts(_)) { &TPS } else { usual }
    }
}

impl AuditSpec {
    /// Adds what another file holds.
    pub(super) fn extend(&mut self, other: Option<Self>) {
        let Some(other) = other else { return };
        self.given.extend(other.given);
        self.numbers.extend(other.numbers);
        self.claims.extend(other.claims);
        self.points_claims.extend(other.points_claims);
        self.samples.extend(other.samples);
        self.measures.extend(other.measures);
        self.said.extend(other.said);
    }
}

/// The file that holds the published results of a study, where it is another one.
pub(super) fn article(root: &Section<'_>) -> Option<TomlFile> {
    let s = root.table("results")?;
    let named = s.text("file")?;
    s.finish();
    let text = attached::text_of(root, &named)?;
    TomlFile::parse(&named.value, text).map_err(|problem| root.file().adopt(vec![problem])).ok()
}

pub(super) fn read_results(root: &Section<'_>) -> Option<Published> {
    let s = root.table("results").filter(|s| !s.has("file"))?;
    let text = |key: &str| s.text(key).map(|t| t.value).unwrap_or_default();
    let mut published = Published {
        title: text("title"),
        author: text("author"),
        date: text("date"),
        missing: s.texts("missing").map(|m| m.value).unwrap_or_default(),
        method: text("method"),
        ..Published::default()
    };
    if let Some(software) = s.table("software") {
        let version = |name: String| software.text(&name).map(|v| (name, v.value));
        published.software = software.others().into_iter().filter_map(version).collect();
    }
    if let Some(dates) = s.table("dates") {
        let date = |product: String| {
            let date = dates.text(&product)?.value;
            if !is_date(&date) {
                dates.report(&product, format!("`{date}` is no date"), "write a year, a month or a day: \"2022-07-13\"");
            }
            Some((product, date))
        };
        published.dates = dates.others().into_iter().filter_map(date).collect();
    }
    s.tables("table").iter().for_each(|t| read_table(t, &mut published.rows));
    s.finish();
    Some(published)
}

/// Whether a text is a year, a month or a day: YYYY, YYYY-MM or YYYY-MM-DD.
pub fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let digits = parts.iter().all(|part| part.chars().all(|c| c.is_ascii_digit()));
    digits && !lengths.is_empty() && [4, 2, 2].starts_with(&lengths)
}

/// One row of numbers over connections becomes one row per point.
fn read_table(s: &Section<'_>, rows: &mut Vec<ResultRow>) {
    let workload = s.required_text("workload", "\"small\"");
    let contender = s.required_text("contender", "\"x86\"");
    let connections = s.ints("connections", 1..=1_000_000);
    if connections.is_none() && !s.has("connections") {
        s.report("connections", "a table of results has no `connections`", "add for instance `connections = [1, 8, 64]`");
    }
    let error = s.digits("error").map_or(Exact::ZERO, |d| d.value.value);
    let column = |name: String| s.numbers(&name).map(|values| (name, values));
    let columns: Vec<_> = s.others().into_iter().filter_map(column).collect();
    let (Some(workload), Some(contender), Some(connections)) = (workload, contender, connections) else { return };
    for (name, values) in &columns {
        if values.value.len() != connections.value.len() {
            let message = format!("`{name}` has {} numbers for {} connections", values.value.len(), connections.value.len());
            s.report(name, message, "give one number for each, or \"-\" where the article shows none");
            return;
        }
    }
    if columns.is_empty() {
        s.report("workload", "a table of results has no numbers", "add a column, for instance `tps = [100.5, 200.1]`");
    }
    for (i, level) in connections.value.iter().enumerate() {
        let shown = |(name, values): &(String, Located<Vec<Option<Exact>>>)| Some((name.clone(), vec![values.value[i]?]));
        rows.push(ResultRow {
            workload: workload.value.clone(),
            contender: contender.value.clone(),
            connections: *level as u32,
            columns: columns.iter().filter_map(shown).collect(),
            error,
            line: s.line(),
        });
    }
}

/// Finds rows of unknown contenders or workloads, doubles, and points of a summary without a row.
pub(super) fn check_results(
    (root, file): (&Section<'_>, &TomlFile),
    p: &Published,
    contenders: &[&str],
    workloads: &[WorkloadSpec],
    summary: &Summary,
) {
    let mut seen = BTreeSet::new();
    let names: Vec<&str> = workloads.iter().map(|w| w.name.as_str()).collect();
    for row in &p.rows {
        for (what, name, known) in [("contender", &row.contender, contenders), ("workload", &row.workload, names.as_slice())] {
            if !known.contains(&name.as_str()) {
                let help = format!("the {what}s of the study are: {}", known.join(", "));
                file.report(row.line, format!("results name no {what} of the study: `{name}`"), help);
            }
        }
        if !seen.insert((&row.workload, &row.contender, row.connections)) {
            let message = format!("{}, {} at {} connections is there twice", row.workload, row.contender, row.connections);
            file.report(row.line, message, "keep one; repeats of one point go into a CSV file with a row for each");
        }
    }
    for w in workloads {
        let Summary::MeanOver(over) = w.summary.as_ref().unwrap_or(summary) else { continue };
        let levels = p.levels(&w.name);
        if let Some(missing) = over.iter().find(|l| !levels.contains(l)).filter(|_| !levels.is_empty()) {
            let message = format!("the summary of workload `{}` names {missing}, at which it has no result", w.name);
            root.file().report(w.line, message, "give the workload its own `over = [...]` with points that it has");
        }
    }
}
