//! What others measured and printed: results in place of trials, numbers with the formulas they claim to follow.

use std::collections::{BTreeMap, BTreeSet};

use crate::exact::Exact;
use crate::formula::Formula;
use crate::metric::{Metric, TPS};

use super::{Study, Summary};

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
    /// The summary rule of a workload: its own, or that of the study.
    pub fn summary_of(&self, workload: &str) -> &Summary {
        self.workload(workload).and_then(|w| w.summary.as_ref()).unwrap_or(&self.summary)
    }

    /// The metric of a workload, where the study or its kind says so.
    pub fn metric_of(&self, workload: &str) -> &Metric {
        let spec = self.workload(workload);
        let usual = || spec.and_then(|w| w.known).map_or(&TPS, |kind| kind.metric);
        spec.and_then(|w| w.metric.as_ref()).unwrap_or_else(usual)
    }
}
