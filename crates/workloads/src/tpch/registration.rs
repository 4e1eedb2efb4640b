//! What TPC-H declares: its metric, and what must be said wherever its results stand.

use std::borrow::Cow;
use std::collections::BTreeMap;

use perbuck_core::metric::{Better, Composite, Counted, Metric, Period};
use perbuck_core::study::Scalar;
use perbuck_core::workload_kind::Decides::{Data, Run};
use perbuck_core::workload_kind::ParameterKind::{Number, Switch, Text, Whole};
use perbuck_core::workload_kind::{DRAIN_S, Disclosed, Disclosure, Parameter, Parameters, Streams, WorkloadKind};

use super::Options;
use super::kinds::{ALONE, ALONE_READ, KINDS, QUERIES_OF_BOTH, THROUGHPUT, TOGETHER};
use crate::benchmark::Benchmark;

/// The geometric mean of both tests (5.4.3), and the same of a run without refresh functions, which is no QphH.
pub static QPHH: Metric = composite("qphh", "QphH", "queries of TPC-H", ALONE);
/// See [`QPHH`].
pub static QPH_READ: Metric =
    composite("qph_read", "QpH without refresh", "queries of TPC-H, without refresh functions,", ALONE_READ);

/// Of a run that repeats chosen queries.
pub static QUERIES_PER_HOUR: Metric =
    Metric::rate("queries", "queries/h", ["queries of TPC-H", "queries"], Counted::Transactions, Period::Hour);

const fn composite(name: &'static str, label: &'static str, counts: &'static str, alone: &'static [Cow<'static, str>]) -> Metric {
    Metric {
        name: Cow::Borrowed(name),
        label: Cow::Borrowed(label),
        counts: Cow::Borrowed(counts),
        short: Cow::Borrowed("queries"),
        of: Counted::Composite(Composite {
            size: Cow::Borrowed("scale"),
            alone: Cow::Borrowed(alone),
            together: Cow::Borrowed(TOGETHER),
            elapsed: Cow::Borrowed(KINDS[THROUGHPUT as usize]),
        }),
        per: Period::Hour,
        better: Better::Higher,
    }
}

pub(super) static PARAMETERS: [Parameter; 8] = [
    Parameter::new("scale", Number(0.01, 10_000.0), "1", Data, "the scale factor: 1 is about a gigabyte"),
    Parameter::new("indexes", Switch, "true", Data, "whether dates and foreign keys have indexes (1.5.4)"),
    Parameter::new("foreign_keys", Switch, "false", Data, "whether the references between the tables are declared (1.4.2)"),
    Parameter::new("partitions", Whole(1, 1_024), "1", Data, "partitions of ORDERS and LINEITEM, by a hash of the order"),
    Parameter::new(
        "substitution",
        Text,
        "random",
        Run,
        "the parameters of the queries: random (2.4), those of validation, or go-tpc's",
    ),
    Parameter::new("queries", Text, "", Run, "queries that each connection repeats, such as \"q1,q6\", in place of both tests"),
    Parameter::new("refresh", Switch, "true", Run, "whether the refresh functions run (2.5)"),
    Parameter::new(
        "limit",
        Whole(1, 86_400),
        "3600",
        Run,
        "the seconds after which the server ends a query, which then has failed",
    ),
];

/// TPC-H among the kinds of workload.
pub static KIND: WorkloadKind = WorkloadKind {
    parameters: &PARAMETERS,
    metrics: &[&QPHH, &QPH_READ, &QUERIES_PER_HOUR],
    metric,
    disclosure,
    beside: |parameters| Options::checked(parameters).map_or(0, |options| options.connections_beside()),
    streams,
    long: |_| true,
    drain_s: |parameters| Options::checked(parameters).map_or(DRAIN_S, |options| options.limit_s.max(DRAIN_S)),
    answers,
    ..WorkloadKind::plain("tpch", "TPC-H: 22 analytical queries, and refreshes of the data")
};

fn metric(parameters: &Words) -> &'static Metric {
    let of = |key: &str| parameters.get(key).map_or("", String::as_str);
    match (!of("queries").is_empty(), of("refresh") == "false") {
        (true, _) => &QUERIES_PER_HOUR,
        (false, true) => &QPH_READ,
        (false, false) => &QPHH,
    }
}

/// The queries whose answers two databases share. In the throughput test refresh functions change the rows meanwhile, and of chosen queries each
/// contender asks as many as it can.
fn answers(parameters: &Words) -> &'static [Cow<'static, str>] {
    let of = |key: &str| parameters.get(key).map_or("", String::as_str);
    match (of("queries").is_empty(), of("refresh") == "false") {
        (false, _) => &[],
        (true, true) => QUERIES_OF_BOTH,
        (true, false) => ALONE_READ,
    }
}

/// The least number of streams for each size (5.3.4).
const STREAMS: [(f64, u32); 8] =
    [(1.0, 2), (10.0, 3), (30.0, 4), (100.0, 5), (300.0, 6), (1_000.0, 7), (3_000.0, 8), (10_000.0, 9)];

fn streams(parameters: &Parameters) -> Option<Streams> {
    let chosen = |queries: &Scalar| matches!(queries, Scalar::Text(text) if !text.is_empty());
    if parameters.get("queries").is_some_and(|queries| chosen(&queries.value)) {
        // Round after round, without an end.
        return None;
    }
    let scale = match parameters.get("scale").map(|scale| &scale.value) {
        Some(Scalar::Float(scale)) => *scale,
        Some(Scalar::Int(scale)) => *scale as f64,
        _ => 1.0,
    };
    Some(Streams { default: least_streams(scale), schedule_ns: 0 })
}

/// The least number of streams for a scale factor; sizes between those of the specification need what the smaller one does.
fn least_streams(scale: f64) -> u32 {
    STREAMS.iter().rev().find(|(from, _)| scale >= *from).map_or(STREAMS[0].1, |(_, streams)| *streams)
}

fn disclosure(shown: &Disclosed<'_>) -> Option<Disclosure> {
    let of = |key: &str| shown.parameters.get(key).map_or("", String::as_str);
    let mut text = format!(
        "{} is not a TPC result: it uses the queries and data of TPC-H without its audit and its priced configuration, and cannot be \
         compared with published TPC-H results.",
        shown.workload
    );
    let scale = of("scale").parse::<f64>().unwrap_or(1.0);
    if scale < 1.0 {
        text += &format!(" A scale factor of {scale} is none of the specification, whose smallest is 1.");
    }
    if !of("queries").is_empty() {
        text += " Its connections repeated chosen queries in turn, which is no test of the specification.";
    } else if of("refresh") == "false" {
        text += " Its refresh functions did not run.";
    }
    let whose = match of("substitution") {
        "validation" => Some("validation"),
        "go-tpc" => Some("go-tpc"),
        _ => None,
    };
    if let Some(whose) = whose {
        text +=
            &format!(" Its queries always had the parameters of {whose}, so a cache of results would serve all but the first.");
    }
    Some(Disclosure { text, ceiling: None })
}

/// Every parameter that a record holds, as text.
pub(super) type Words = BTreeMap<String, String>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_number_of_streams_follows_the_table_of_the_specification() {
        let found = [0.01, 1.0, 9.9, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0].map(least_streams);
        assert_eq!(found, [2, 2, 2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn a_result_says_that_it_is_none_of_tpc() {
        let of = |words: &[(&str, &str)]| {
            let parameters = words.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            disclosure(&Disclosed { workload: "small", metric: &QPHH, parameters: &parameters }).unwrap().text
        };
        let plain = of(&[("scale", "1")]);
        assert!(plain.starts_with("small is not a TPC result") && plain.ends_with("published TPC-H results."), "{plain}");
        let all = of(&[("scale", "0.1"), ("refresh", "false"), ("substitution", "validation")]);
        assert!(
            all.contains("0.1 is none of the specification") && all.contains("did not run") && all.contains("validation"),
            "{all}"
        );
        let chosen = of(&[("scale", "1"), ("refresh", "false"), ("substitution", "go-tpc"), ("queries", "q1")]);
        assert!(chosen.contains("repeated chosen queries") && chosen.contains("parameters of go-tpc"), "{chosen}");
    }

    #[test]
    fn the_metric_is_made_of_the_tests() {
        let Counted::Composite(of) = &QPHH.of else { panic!("a composite") };
        assert_eq!((of.alone.len(), of.together.len(), of.elapsed.as_ref()), (24, 22, "throughput test"));
        assert_eq!((of.alone[0].as_ref(), of.alone[23].as_ref(), of.together[21].as_ref()), ("power RF1", "power RF2", "Q22"));
        let Counted::Composite(of) = &QPH_READ.of else { panic!("a composite") };
        assert_eq!((of.alone[0].as_ref(), of.alone[21].as_ref(), of.alone.len()), ("power Q1", "power Q22", 22));
        let names = [&of.alone[..], &of.together[..]].concat();
        assert_eq!(names, QUERIES_OF_BOTH);
    }
}
