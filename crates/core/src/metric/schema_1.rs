//! Records of schema 1 hold a word in place of a declaration. Only this file of the crate knows what those words mean.
//!
//! A record of schema 1 is written as it was read, because pages hold the checksum of its text. Comparisons still say those
//! words, for programs that read them.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Counted, Metric, Period, QPS, RELATIVE, TPS};

/// How a record says its metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RecordedMetric {
    /// By its declaration, since schema 2.
    Declared(Metric),
    /// By a word, in schema 1.
    Word(Word),
}

impl RecordedMetric {
    /// The metric.
    pub fn metric(&self) -> &Metric {
        match self {
            Self::Declared(metric) => metric,
            Self::Word(word) => word.metric(),
        }
    }
}

/// A metric of schema 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Word {
    /// Transactions per second.
    Tps,
    /// Queries per second.
    Qps,
    /// New-order transactions per minute, those rolled back by design included (TPC-C 5.4.2).
    Tpmc,
    /// Throughput in units that an article does not name.
    Relative,
}

static TPMC: Metric = Metric::rate(
    "tpmc",
    "tpmC",
    ["new-order transactions", "new orders"],
    Counted::Kinds(Cow::Borrowed(&[Cow::Borrowed("new_order")])),
    Period::Minute,
);

impl Word {
    fn metric(self) -> &'static Metric {
        match self {
            Self::Tps => &TPS,
            Self::Qps => &QPS,
            Self::Tpmc => &TPMC,
            Self::Relative => &RELATIVE,
        }
    }
}

/// A metric in a comparison: its name, and beside it the declaration of one that schema 1 does not have.
pub(crate) mod named {
    use serde::de::Error;
    use serde::{Deserializer, Serializer};

    use super::{Deserialize, JsonSchema, Metric, Serialize, TPMC};
    use crate::metric::{QPS, RELATIVE, TPS};

    #[derive(Serialize, Deserialize, JsonSchema)]
    pub(crate) struct Named {
        /// The name of the value that is compared.
        metric: String,
        /// Its declaration, where it is not one of `tps`, `qps`, `tpmc` and `relative`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metric_declared: Option<Metric>,
    }

    fn known() -> [&'static Metric; 4] {
        [&TPS, &QPS, &TPMC, &RELATIVE]
    }

    pub(crate) fn serialize<S: Serializer>(metric: &Metric, to: S) -> Result<S::Ok, S::Error> {
        let metric_declared = (!known().contains(&metric)).then(|| metric.clone());
        Named { metric: metric.name.to_string(), metric_declared }.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Metric, D::Error> {
        let Named { metric, metric_declared } = Named::deserialize(from)?;
        let known = known().into_iter().find(|m| m.name == metric).cloned();
        metric_declared.or(known).ok_or_else(|| D::Error::custom(format!("the metric `{metric}` is not declared")))
    }
}
