//! What an article tells beside its tables: sample outputs, measures, things that it says twice.

use std::collections::BTreeMap;

use crate::audit::Weight;
use crate::exact::Exact;
use crate::formula::Formula;
use crate::toml_reader::{Digits, Section};

use super::published::AuditSpec;

/// A sample output of a load generator.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Where the article shows it.
    pub name: String,
    /// Name of the workload.
    pub workload: String,
    /// Name of the contender; `None` where the article does not say.
    pub contender: Option<String>,
    /// Connections, where the article tells them.
    pub connections: Option<u32>,
    /// How long the article says that a run takes, in seconds.
    pub run_s: Option<f64>,
    /// The share of reads among reads and writes that the article gives.
    pub read_share: Option<f64>,
    /// The numbers of the whole run.
    pub whole: Counts,
    /// The numbers of each kind of transaction, where the output tells them apart.
    pub kinds: Vec<Counts>,
    /// Line in the study.
    pub line: usize,
}

/// The numbers of a run, or of one kind of its transactions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counts {
    /// Name of the kind; empty for the whole run.
    pub name: String,
    /// The share of all transactions that the benchmark asks for.
    pub share: Option<f64>,
    /// The numbers by their key.
    pub numbers: BTreeMap<String, Told>,
}

/// A number with its digits, as a floating number.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// As printed.
    pub text: String,
    /// Its value.
    pub value: f64,
    /// One unit of its last digit.
    pub unit: f64,
}

/// A measure that the article defines: its formula, which end of it is better, and the points that it averages.
#[derive(Debug, Clone, PartialEq)]
pub struct Measure {
    /// Its name.
    pub name: String,
    /// The formula over `[throughput]`, `[cost]` and `[latency]`, as written and read.
    pub formula: Option<(String, Formula)>,
    /// Whether the article calls the lower value better.
    pub lower_is_better: Option<bool>,
    /// The load levels over which the article says that it averages.
    pub average_of: Option<Vec<i64>>,
    /// Line in the study.
    pub line: usize,
}

/// One thing that the article says at two places or more.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// What it is.
    pub what: String,
    /// Each place with what it says.
    pub at: Vec<(String, String)>,
    /// What a contradiction changes for a reader.
    pub weight: Weight,
    /// Line in the study.
    pub line: usize,
}

/// A claim about many points at once.
#[derive(Debug, Clone, PartialEq)]
pub struct PointsClaim {
    /// The claim, in words.
    pub text: String,
    /// The formula with `{workload}` and `{connections}` in it.
    pub formula: String,
    /// How many of the points must lie within the bounds.
    pub quantifier: Quantifier,
    /// The smallest value of a point for which it holds.
    pub at_least: Option<Exact>,
    /// The largest value of a point for which it holds.
    pub at_most: Option<Exact>,
    /// The workloads that it is about; empty for all.
    pub workloads: Vec<String>,
    /// The least and the largest number of connections that it is about.
    pub connections: (u32, u32),
    /// What it changes for a reader.
    pub weight: Weight,
    /// Whether it is a check of perbuck's own: the article does not say it.
    pub own: bool,
    /// Line in the study.
    pub line: usize,
}

/// How many points a claim is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantifier {
    /// Every one: "consistently", "for all", "regardless of".
    All,
    /// More than half of them: "the majority".
    Most,
    /// At least one: "in some cases".
    Some,
}

impl Counts {
    /// A number by its key.
    pub fn get(&self, key: &str) -> Option<&Told> {
        self.numbers.get(key)
    }
}

/// The numbers of a sample output.
const COUNTED: [&str; 21] = [
    "seconds",
    "count",
    "per_second",
    "per_minute",
    "sum_ms",
    "mean_ms",
    "min_ms",
    "p50_ms",
    "p90_ms",
    "p95_ms",
    "p99_ms",
    "p999_ms",
    "max_ms",
    "reads",
    "writes",
    "others",
    "statements",
    "statements_per_second",
    "tpmc",
    "events_per_thread",
    "seconds_per_thread",
];

/// What a contradiction or a claim changes for a reader.
const WEIGHTS: [(&str, Weight); 4] = [
    ("conclusion", Weight::Conclusion),
    ("number", Weight::Number),
    ("reproduction", Weight::Reproduction),
    ("slip", Weight::Slip),
];

pub(super) fn read_told(root: &Section<'_>, spec: &mut AuditSpec) {
    spec.samples.extend(root.tables("sample").iter().filter_map(read_sample));
    spec.measures.extend(root.tables("measure").iter().filter_map(read_measure));
    spec.said.extend(root.tables("said").iter().filter_map(read_said));
}

fn told(digits: Digits) -> Told {
    Told { text: digits.text, value: digits.value.as_f64(), unit: 0.1_f64.powi(digits.decimals as i32) }
}

/// A share from 0 to 1.
fn share(s: &Section<'_>, key: &str) -> Option<f64> {
    let share = s.digits(key)?.value.value.as_f64();
    if !(0.0..=1.0).contains(&share) {
        s.report(key, format!("`{key}` is {share}"), "write a share from 0 to 1: 0.45 is 45 %");
        return None;
    }
    Some(share)
}

fn seconds(s: &Section<'_>, key: &str) -> Option<f64> {
    let seconds = s.digits(key)?.value.value.as_f64();
    if seconds <= 0.0 {
        s.report(key, format!("`{key}` is {seconds}"), "write the seconds of a run, above 0");
        return None;
    }
    Some(seconds)
}

fn read_counts(s: &Section<'_>) -> Counts {
    let one = |key: &&str| s.digits(key).map(|d| ((*key).to_owned(), told(d.value)));
    Counts { name: String::new(), share: None, numbers: COUNTED.iter().filter_map(one).collect() }
}

fn read_sample(s: &Section<'_>) -> Option<Sample> {
    let name = s.required_text("name", "\"the sample output of step 7\"");
    let workload = s.required_text("workload", "\"small\"");
    let contender = s.text("contender").map(|c| c.value);
    let connections = s.count("connections", 1..=1_000_000);
    let (run_s, read_share) = (seconds(s, "run_s"), share(s, "read_share"));
    let whole = read_counts(s);
    let kind = |k: &Section<'_>| {
        let counts = Counts { name: k.required_text("name", "\"NEW_ORDER\"")?.value, share: share(k, "share"), ..read_counts(k) };
        k.finish();
        Some(counts)
    };
    let kinds: Vec<Counts> = s.tables("kind").iter().filter_map(kind).collect();
    s.finish();
    if whole.numbers.is_empty() && kinds.is_empty() {
        s.report(
            "name",
            "a sample output has no numbers",
            "add what it prints, for instance `seconds = \"300.1\"` and `count = \"746995\"`",
        );
    }
    Some(Sample {
        name: name?.value,
        workload: workload?.value,
        contender,
        connections,
        run_s,
        read_share,
        whole,
        kinds,
        line: s.line(),
    })
}

fn read_measure(s: &Section<'_>) -> Option<Measure> {
    let name = s.required_text("name", "\"price-performance\"");
    let formula = s.text("formula").and_then(|text| match Formula::parse(&text.value) {
        Ok(formula) => Some((text.value, formula)),
        Err(why) => {
            s.report("formula", why, "write it over [throughput], [cost] and [latency]");
            None
        }
    });
    if let Some(other) = formula.iter().flat_map(|(_, f)| f.names()).find(|n| !["throughput", "cost", "latency"].contains(n)) {
        s.report("formula", format!("a measure has no [{other}]"), "write it over [throughput], [cost] and [latency]");
    }
    let lower_is_better = super::read::word(s, "better", &[("lower", true), ("higher", false)]);
    let average_of = s.ints("average_of", 1..=1_000_000).map(|list| list.value);
    if average_of.as_ref().is_some_and(Vec::is_empty) {
        s.report("average_of", "`average_of` is empty", "name the load levels of the average, or leave it out");
    }
    s.finish();
    Some(Measure { name: name?.value, formula, lower_is_better, average_of, line: s.line() })
}

fn read_said(s: &Section<'_>) -> Option<Said> {
    let what = s.required_text("what", "\"the version of the client\"");
    let weight = read_weight(s).unwrap_or(Weight::Slip);
    let mut at = Vec::new();
    if let Some(sources) = s.table("at") {
        let one = |source: String| sources.text(&source).map(|text| (source, text.value));
        at = sources.others().into_iter().filter_map(one).collect();
    }
    s.finish();
    if at.len() < 2 {
        s.report(
            "at",
            "it takes two places to contradict each other",
            "write `at = { \"the table\" = \"v1\", \"the output\" = \"v2\" }`",
        );
    }
    Some(Said { what: what?.value, at, weight, line: s.line() })
}

/// The weight that a study gives to a claim or to what is said twice.
pub(super) fn read_weight(s: &Section<'_>) -> Option<Weight> {
    super::read::word(s, "weight", &WEIGHTS)
}

/// The words of a claim about points.
pub(super) fn read_quantifier(s: &Section<'_>) -> Option<Quantifier> {
    super::read::word(s, "points", &[("all", Quantifier::All), ("most", Quantifier::Most), ("some", Quantifier::Some)])
}

/// The rest of a claim about points, whose words are the same as those of any other claim.
pub(super) fn read_points_claim(
    s: &Section<'_>,
    quantifier: Quantifier,
    (text, formula): (String, String),
    (at_least, at_most): (Option<Exact>, Option<Exact>),
    (weight, own): (Weight, bool),
) -> PointsClaim {
    let workloads = s.texts("workloads").map(|w| w.value).unwrap_or_default();
    let level = |key: &str, otherwise: u32| s.count(key, 1..=1_000_000).unwrap_or(otherwise);
    let connections = (level("from", 1), level("to", u32::MAX));
    PointsClaim { text, formula, quantifier, at_least, at_most, workloads, connections, weight, own, line: s.line() }
}
