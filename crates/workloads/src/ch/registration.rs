//! What CH-benCHmark declares: its metrics, and what must be said wherever its results stand.

use std::borrow::Cow;
use std::collections::BTreeMap;

use perbuck_core::metric::{Counted, Metric, Period};
use perbuck_core::workload_kind::Decides::Run;
use perbuck_core::workload_kind::ParameterKind::{Switch, Text, Whole};
use perbuck_core::workload_kind::{DRAIN_S, Disclosed, Disclosure, Interference, Parameter, Parameters, WorkloadKind};

use super::Options;
use super::kinds::{LAG, QUERY_KINDS};
use crate::benchmark::Benchmark;
use crate::tpcc::{self, TPMC};

/// Analytical queries per hour, of all streams.
pub static QUERIES_PER_HOUR: Metric = Metric::rate(
    "ch_queries",
    "queries/h",
    ["analytical queries", "queries"],
    Counted::Kinds(Cow::Borrowed(&QUERY_KINDS)),
    Period::Hour,
);

const OWN: [Parameter; 5] = [
    Parameter::new("transactions", Switch, "true", Run, "whether connections run transactions; else each is a query stream"),
    Parameter::new("query_streams", Whole(0, 1_024), "1", Run, "query streams beside the transactions"),
    Parameter::new("query_session", Text, "", Run, "variables that sessions of queries set when they open"),
    Parameter::new(
        "limit",
        Whole(1, 86_400),
        "60",
        Run,
        "the seconds after which the server ends a query, which then has failed",
    ),
    Parameter::new("queries", Text, "", Run, "the queries of a round, such as q1,q6; all of them if not given"),
];

/// Those of TPC-C, and ours.
pub(super) static PARAMETERS: [Parameter; tpcc::PARAMETERS.len() + OWN.len()] = {
    let mut all = [OWN[0]; tpcc::PARAMETERS.len() + OWN.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < tpcc::PARAMETERS.len() { tpcc::PARAMETERS[at] } else { OWN[at - tpcc::PARAMETERS.len()] };
        at += 1;
    }
    all
};

/// CH-benCHmark among the kinds of workload.
pub static KIND: WorkloadKind = WorkloadKind {
    parameters: &PARAMETERS,
    metrics: &[&TPMC, &QUERIES_PER_HOUR],
    metric: |parameters| if runs_transactions(parameters) { &TPMC } else { &QUERIES_PER_HOUR },
    writes,
    beside: |parameters| Options::checked(parameters).map_or(0, |options| options.connections_beside()),
    long: |parameters| !writes(parameters),
    drain_s: |parameters| Options::checked(parameters).map_or(DRAIN_S, |options| options.limit_s.max(DRAIN_S)),
    disclosure,
    waits: tpcc::KIND.waits,
    interference: Some(&Interference {
        load: &TPMC,
        queries: &QUERIES_PER_HOUR,
        streams: OWN[1].name,
        of_queries: &[OWN[1].name, OWN[2].name, OWN[3].name, OWN[4].name],
        chosen: OWN[4].name,
        switch: OWN[0].name,
        lag: LAG,
    }),
    ..WorkloadKind::plain("ch", "CH-benCHmark: TPC-C and analytical queries on the same tables at once")
};

/// Without transactions there are queries alone.
fn writes(parameters: &Parameters) -> bool {
    parameters.get(OWN[0].name).is_none_or(|given| given.value.to_string() != "false")
}

fn runs_transactions(parameters: &BTreeMap<String, String>) -> bool {
    parameters.get("transactions").is_none_or(|v| v != "false")
}

fn disclosure(shown: &Disclosed<'_>) -> Option<Disclosure> {
    let of_tpcc = (tpcc::KIND.disclosure)(shown)?;
    let queries =
        "Its queries are those of CH-benCHmark; their answers change with the data, and are not compared with right ones.";
    Some(Disclosure { text: format!("{} {queries}", of_tpcc.text), ..of_tpcc })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_says_whose_it_is_not_and_what_its_queries_are() {
        let parameters = [("transactions".to_owned(), "false".to_owned())].into();
        assert_eq!((KIND.metric)(&parameters), &QUERIES_PER_HOUR);
        assert_eq!((KIND.metric)(&BTreeMap::new()), &TPMC);
        let found = disclosure(&Disclosed { workload: "both", metric: &TPMC, parameters: &BTreeMap::new() }).unwrap();
        assert!(found.text.starts_with("both is not a TPC result") && found.text.contains("not compared with right ones"));
    }
}
