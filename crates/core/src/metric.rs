//! A metric: which number of a trial is compared, declared by who counts it.
//!
//! [`TPS`] and [`QPS`] belong to every workload and [`RELATIVE`] to published results. Each kind of workload declares its own
//! ([`crate::workload_kind`]). A record holds the whole declaration, so that a report needs nothing but its files.

mod composite;
mod schema_1;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use composite::{Composite, CompositeValues, KindNames};
pub use schema_1::RecordedMetric;
pub(crate) use schema_1::named;

/// A number that trials are compared by: a count over the measured window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// The word of a study file, and the column of published results.
    pub name: Cow<'static, str>,
    /// The name in tables.
    pub label: Cow<'static, str>,
    /// What it counts, in full.
    pub counts: Cow<'static, str>,
    /// The same in a narrow cell.
    pub short: Cow<'static, str>,
    /// Which counters it is made of.
    pub of: Counted,
    /// The time that it is given for.
    pub per: Period,
    /// Which values are good.
    pub better: Better,
}

/// Which counters of a trial a metric is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// Completed transactions of every kind.
    Transactions,
    /// Completed transactions of these kinds.
    Kinds(Cow<'static, [Cow<'static, str>]>),
    /// Statements.
    Statements,
    /// What the workload counts of its transactions under these names.
    Facts(Cow<'static, [Cow<'static, str>]>),
    /// Those of two tests in one trial, of which the value is the geometric mean.
    Composite(Composite),
    /// None: the number was published, in a unit that only its ratios share.
    Published,
}

/// The time that a rate is given for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Period {
    /// A second.
    Second,
    /// A minute.
    Minute,
    /// An hour.
    Hour,
}

/// Which values of a metric are good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// High ones.
    Higher,
    /// Low ones.
    Lower,
}

/// Transactions per second.
pub static TPS: Metric = Metric::rate("tps", "TPS", ["transactions"; 2], Counted::Transactions, Period::Second);
/// Queries per second.
pub static QPS: Metric = Metric::rate("qps", "QPS", ["statements"; 2], Counted::Statements, Period::Second);
/// Throughput in units that an article does not name: only ratios mean something. Never measured by perbuck.
pub static RELATIVE: Metric =
    Metric::rate("relative", "relative", ["throughput in units of the article"; 2], Counted::Published, Period::Second);

impl Metric {
    /// A rate of which more is better; `words` are what it counts in full and in a narrow cell.
    pub const fn rate(name: &'static str, label: &'static str, words: [&'static str; 2], of: Counted, per: Period) -> Self {
        let [counts, short] = [Cow::Borrowed(words[0]), Cow::Borrowed(words[1])];
        Self { name: Cow::Borrowed(name), label: Cow::Borrowed(label), counts, short, of, per, better: Better::Higher }
    }

    /// What it counts, with its unit: `statements per second (QPS)`.
    pub fn title(&self) -> String {
        match self.of {
            Counted::Published => self.counts.to_string(),
            _ => format!("{} per {} ({})", self.counts, self.per.word(), self.label),
        }
    }

    /// Completed transactions per second at this value; `None` where it counts none.
    pub fn transactions_per_s(&self, value: f64) -> Option<f64> {
        let counts = matches!(self.of, Counted::Transactions | Counted::Kinds(_));
        counts.then(|| value / self.per.seconds())
    }

    /// The kinds of transaction that it counts, where it does not count all of them.
    pub fn kinds(&self) -> Option<&[Cow<'static, str>]> {
        match &self.of {
            Counted::Kinds(kinds) => Some(kinds),
            _ => None,
        }
    }
}

impl Period {
    fn word(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
        }
    }

    /// Its length in seconds.
    pub fn seconds(self) -> f64 {
        match self {
            Self::Second => 1.0,
            Self::Minute => 60.0,
            Self::Hour => 3600.0,
        }
    }
}
