//! What Prometheus reads of perbuck, as bytes, and the Grafana dashboard that shows it.
//!
//! A [`Family`] is written in three formats: the text format 0.0.4, OpenMetrics 1.0, and the protocol buffers that carry native
//! histograms. [`Format::of`] chooses one by the `Accept` header of a scrape. [`dashboard`] has the panels with their queries.
//!
//! ```
//! use perbuck_exposition::{Family, Format, Kind, Sample, Value};
//!
//! let labels = vec![("study", "it's \"small\"".to_owned())];
//! let samples = vec![Sample { labels, value: Value::Number(3.0) }];
//! let family = Family { name: "perbuck_study_trials_done", help: "Trials on disk.", kind: Kind::Gauge, unit: "", samples };
//! let text = String::from_utf8(Format::of("text/plain").write(&[family]))?;
//! assert!(text.contains("perbuck_study_trials_done{study=\"it's \\\"small\\\"\"} 3\n"), "{text}");
//! # Ok::<(), std::string::FromUtf8Error>(())
//! ```
//!
//! Place on the floor plan: floor 1, a tool. It knows no file, no socket and no clock.

mod accept;
pub mod dashboard;
mod protobuf;
mod text;

use perbuck_core::buckets::Buckets;

pub use accept::Format;

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A number that only grows; its samples end in `_total`.
    Counter,
    /// A number that goes up and down.
    Gauge,
    /// Labels alone; its samples end in `_info` and are 1.
    Info,
    /// Durations by bucket.
    Histogram,
}

/// Metrics of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// Its name, without `_total` and `_info`.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub help: &'static str,
    /// What its samples are.
    pub kind: Kind,
    /// The base unit that its name ends in, such as `seconds`; empty without one.
    pub unit: &'static str,
    /// Its samples. No two have the same labels.
    pub samples: Vec<Sample>,
}

/// One metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Names and values.
    pub labels: Vec<(&'static str, String)>,
    /// What it says.
    pub value: Value,
}

/// What a sample says.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// Durations in seconds.
    Durations(Buckets),
}

impl Family {
    /// The name as formats without suffixes of their own have it.
    fn full_name(&self) -> String {
        format!("{}{}", self.name, self.suffix())
    }

    /// What the names of its samples end in.
    fn suffix(&self) -> &'static str {
        match self.kind {
            Kind::Counter => "_total",
            Kind::Info => "_info",
            Kind::Gauge | Kind::Histogram => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use perbuck_core::histogram::Histogram;

    use super::*;

    /// A counter, an info and a histogram of three durations.
    pub(crate) fn examples() -> Vec<Family> {
        let mut seen = Histogram::new();
        [15_000, 900_000_000, 100_000_000_000].into_iter().for_each(|ns| seen.record(ns));
        let sample = |value| Sample { labels: vec![("study", "a\\b\n\"c\"".to_owned())], value };
        let family = |name, kind, unit, value| Family { name, help: "What it\nis.", kind, unit, samples: vec![sample(value)] };
        vec![
            family("perbuck_transactions", Kind::Counter, "", Value::Number(5.0)),
            family("perbuck_trial", Kind::Info, "", Value::Number(1.0)),
            family("perbuck_latency_seconds", Kind::Histogram, "seconds", Value::Durations(Buckets::of(&seen))),
            Family { samples: Vec::new(), ..family("perbuck_nothing", Kind::Gauge, "", Value::Number(0.0)) },
        ]
    }
}
