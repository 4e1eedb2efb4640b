//! What two loads on the same tables did to each other: each of them alone, and both at once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::result::{Latency, WorkloadResult};
use crate::metric::Metric;
use crate::run_record::{RunRecord, TransactionRecord};
use crate::stats::{self, Design, Interval, Ratio, Summarise, Trial};
use crate::study::Study;
use crate::workload_kind::{Decides, Interference, WorkloadKind};

/// The loads of one contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InterferenceResult {
    /// The contender.
    pub contender: String,
    /// What connections are measured by: the label of a metric.
    pub load: String,
    /// What query streams are measured by.
    pub queries: String,
    /// One for each point, by workload and connections.
    pub rows: Vec<InterferenceRow>,
}

/// One point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InterferenceRow {
    /// The workload.
    pub workload: String,
    /// Connections of the load; 0 where queries ran alone.
    pub connections: u32,
    /// Query streams; 0 where the load ran alone.
    pub streams: u32,
    /// What the connections reached; `None` where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Reached>,
    /// What the query streams reached; `None` where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queries: Option<Reached>,
    /// How often each stream ended all queries in the shortest trial; below 1 the queries that ended are a part of the mix. 0 without streams.
    #[serde(default)]
    pub rounds: f64,
    /// Queries that failed, those over their limit among them, of all trials together.
    #[serde(default)]
    pub failed_queries: u64,
    /// The time from the commit of a row until queries see it, of all trials together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<Latency>,
}

/// A value of one of the two loads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reached {
    /// Mean over the trials, in the unit of its metric.
    pub mean: f64,
    /// Its interval; `None` for fewer than two trials.
    pub interval: Option<Interval>,
    /// Ratio to the same load alone; `None` where that was not measured, and for the load alone itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_alone: Option<Ratio>,
}

/// The trials of a point.
struct Point<'r> {
    kind: &'static WorkloadKind,
    of: &'static Interference,
    workload: &'r str,
    connections: u32,
    streams: u32,
    trials: Vec<&'r RunRecord>,
}

/// Every contender of a study whose trials had two loads, in the order of the study.
pub(super) fn interference(
    study: &Study,
    workloads: &[WorkloadResult],
    records: &[RunRecord],
    design: Design,
) -> Vec<InterferenceResult> {
    let of_contender = |name: &String| {
        let points = points(study, name, records);
        let first = points.first()?.of;
        let rows = points.iter().map(|point| row(point, &points, workloads, name, (study.decision.confidence, design)));
        let (load, queries) = (first.load.label.to_string(), first.queries.label.to_string());
        Some(InterferenceResult { contender: name.clone(), load, queries, rows: rows.collect() })
    };
    study.contenders.iter().map(|c| &c.name).filter_map(of_contender).collect()
}

fn points<'r>(study: &'r Study, contender: &str, records: &'r [RunRecord]) -> Vec<Point<'r>> {
    let mut points = Vec::new();
    for spec in &study.workloads {
        let Some((kind, of)) = spec.known.and_then(|kind| Some((kind, kind.interference?))) else { continue };
        for level in study.sweep_of(&spec.name).levels() {
            let is_of = |r: &&RunRecord| r.key.contender == contender && r.key.workload == spec.name && r.key.level() == *level;
            let trials: Vec<&RunRecord> = records.iter().filter(is_of).collect();
            let Some(first) = trials.first() else { continue };
            let parameter = |name: &str| first.workload.parameters.get(name).map(String::as_str);
            let beside = parameter(of.streams).and_then(|n| n.parse().ok()).unwrap_or(0);
            let (connections, streams) = match parameter(of.switch) {
                Some("false") => (0, first.load.connections),
                _ => (first.load.connections, beside),
            };
            points.push(Point { kind, of, workload: &spec.name, connections, streams, trials });
        }
    }
    points
}

impl Point<'_> {
    /// Whether another point agrees in all parameters but some.
    fn agrees(&self, other: &Self, but: impl Fn(&str) -> bool) -> bool {
        let parameters = |point: &Self| {
            let all = point.trials.first().map(|r| r.workload.parameters.clone()).unwrap_or_default();
            all.into_iter().filter(|(name, _)| !but(name)).collect::<Vec<_>>()
        };
        std::ptr::eq(self.kind, other.kind) && parameters(self) == parameters(other)
    }

    fn is_of_data(&self, name: &str) -> bool {
        self.kind.parameters.iter().any(|p| p.name == name && p.decides == Decides::Data)
    }

    /// Whether another point is the load of this one alone.
    fn is_load_of(&self, other: &Self) -> bool {
        let same = self.streams == 0 && self.connections == other.connections;
        same && self.agrees(other, |name| self.of.of_queries.contains(&name))
    }

    /// Whether another point is the query streams of this one alone.
    fn are_queries_of(&self, other: &Self) -> bool {
        let kept = |name: &str| self.is_of_data(name) || (self.of.of_queries.contains(&name) && name != self.of.streams);
        self.connections == 0 && self.streams == other.streams && self.agrees(other, |name| !kept(name))
    }

    /// A count of the queries of each trial.
    fn queries_of_trials(&self, count: fn(&TransactionRecord) -> u64) -> impl Iterator<Item = u64> {
        let kinds = self.of.queries.kinds().unwrap_or_default();
        let of_trial =
            move |r: &&RunRecord| kinds.iter().filter_map(|kind| r.measured.transactions.get(kind.as_ref())).map(count).sum();
        self.trials.iter().map(of_trial)
    }

    fn rounds(&self) -> f64 {
        let chosen = self.trials.first().and_then(|r| r.workload.parameters.get(self.of.chosen));
        let all = || self.of.queries.kinds().map_or(0, <[_]>::len);
        let queries = chosen.map_or_else(all, |list| list.split(',').count());
        let round = (queries as u64 * u64::from(self.streams)).max(1);
        self.queries_of_trials(TransactionRecord::completed).min().unwrap_or(0) as f64 / round as f64
    }

    fn values(&self, metric: &Metric) -> [Vec<Trial>; 1] {
        let one = |r: &&RunRecord| Trial { deployment: r.key.deployment(), block: r.key.trial, value: r.metric(metric) };
        [self.trials.iter().map(one).collect()]
    }
}

fn row(
    point: &Point<'_>,
    all: &[Point<'_>],
    workloads: &[WorkloadResult],
    contender: &str,
    (confidence, design): (f64, Design),
) -> InterferenceRow {
    let reached = |metric: &Metric, alone: Option<&Point<'_>>| {
        let values = point.values(metric);
        let ratio = |alone: &Point<'_>| stats::ratio(&alone.values(metric), &values, Summarise::Mean, confidence, design);
        Reached {
            mean: stats::mean(&stats::units(&values[0])).unwrap_or(0.0),
            interval: stats::summary_interval(&values, Summarise::Mean, confidence),
            of_alone: alone.and_then(ratio).map(|estimate| estimate.ratio),
        }
    };
    let (loaded, asked) = (point.connections > 0, point.streams > 0);
    let load_alone = all.iter().find(|other| asked && other.is_load_of(point));
    let queries_alone = all.iter().find(|other| loaded && other.are_queries_of(point));
    let level = point.trials.first().map_or(0, |r| r.key.level());
    let found = workloads.iter().filter(|w| w.workload == point.workload).flat_map(|w| &w.points);
    let kinds = found.filter(|p| p.contender == contender && p.level == level).flat_map(|p| &p.kinds);
    InterferenceRow {
        workload: point.workload.to_owned(),
        connections: point.connections,
        streams: point.streams,
        rounds: point.rounds(),
        failed_queries: point.queries_of_trials(|t| t.failed).sum(),
        load: loaded.then(|| reached(point.of.load, load_alone)),
        queries: asked.then(|| reached(point.of.queries, queries_alone)),
        lag: kinds.into_iter().find(|k| k.kind == point.of.lag).map(|k| k.latency),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload_kind::Parameter;
    use crate::workload_kind::ParameterKind::{Switch, Whole};
    use crate::workload_kind::tests::ORDERS;

    static TWO: Interference = Interference {
        load: &ORDERS,
        queries: &ORDERS,
        streams: "streams",
        of_queries: &["streams", "limit", "chosen"],
        chosen: "chosen",
        switch: "load",
        lag: "lag",
    };
    static KIND: WorkloadKind = WorkloadKind {
        parameters: &[
            Parameter::new("size", Whole(1, 9), "1", Decides::Data, "how much"),
            Parameter::new("mode", Whole(1, 9), "1", Decides::Run, "how fast the load is"),
            Parameter::new("load", Switch, "true", Decides::Run, "whether there is a load"),
            Parameter::new("streams", Whole(0, 9), "1", Decides::Run, "streams of queries"),
            Parameter::new("limit", Whole(1, 9), "1", Decides::Run, "of a query"),
        ],
        interference: Some(&TWO),
        ..WorkloadKind::plain("two", "two loads")
    };

    fn record(words: &[(&str, &str)]) -> RunRecord {
        let mut record = crate::compare::tests::record("one", 4, 1, 10);
        record.workload.parameters = words.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        record
    }

    fn point(record: &RunRecord, (connections, streams): (u32, u32)) -> Point<'_> {
        Point { kind: &KIND, of: &TWO, workload: "w", connections, streams, trials: vec![record] }
    }

    #[test]
    fn a_load_is_compared_with_the_same_alone() {
        let words = |size, mode, streams, limit| {
            [("size", size), ("mode", mode), ("load", "true"), ("streams", streams), ("limit", limit)]
        };
        let of = |words: [(&'static str, &'static str); 5]| record(&words);
        let both = of(words("1", "1", "2", "5"));
        let both = point(&both, (4, 2));
        // What concerns queries alone makes no other load; whatever else does.
        let candidates = [
            (words("1", "1", "0", "9"), (4, 0), true),
            (words("1", "1", "0", "5"), (8, 0), false),
            (words("2", "1", "0", "5"), (4, 0), false),
            (words("1", "2", "0", "5"), (4, 0), false),
            (words("1", "1", "1", "5"), (4, 1), false),
        ];
        for (words, size, is) in candidates {
            assert_eq!(point(&of(words), size).is_load_of(&both), is, "{words:?} {size:?}");
        }
    }

    #[test]
    fn queries_are_compared_with_as_many_streams_alone() {
        let both = record(&[("size", "1"), ("mode", "1"), ("load", "true"), ("streams", "2"), ("limit", "5")]);
        let both = point(&both, (4, 2));
        let alone =
            |size, mode, limit| record(&[("size", size), ("mode", mode), ("load", "false"), ("streams", "0"), ("limit", limit)]);
        for (found, streams, is) in [
            (alone("1", "9", "5"), 2, true),
            (alone("1", "1", "5"), 3, false),
            (alone("2", "1", "5"), 2, false),
            (alone("1", "1", "6"), 2, false),
        ] {
            assert_eq!(point(&found, (0, streams)).are_queries_of(&both), is, "{:?} {streams}", found.workload.parameters);
        }
    }

    #[test]
    fn failed_queries_are_counted_and_end_no_round() {
        let mut slow = record(&[("streams", "2")]);
        let queries = TransactionRecord { committed: 5, failed: 2, ..TransactionRecord::default() };
        slow.measured.transactions = [("order".to_owned(), queries)].into();
        let slow = point(&slow, (4, 2));
        assert_eq!((slow.rounds(), slow.queries_of_trials(|t| t.failed).sum::<u64>()), (2.5, 2));
        let mut of_two = record(&[("streams", "2"), ("chosen", "q1,q6")]);
        of_two.measured.transactions = slow.trials[0].measured.transactions.clone();
        assert_eq!(point(&of_two, (4, 2)).rounds(), 1.25, "a round is of the chosen queries");
    }
}
