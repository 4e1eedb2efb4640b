//! What the options make the workloads do.

use std::collections::BTreeMap;

use perbuck_core::study::Scalar;
use perbuck_workloads::{Plan, ch, tpcc};

use super::settings::{Order, Settings};
use crate::flags::Given;
use crate::go_tpc::{Parameters, refused, words};
use crate::refused::Refused;
use crate::study::Workload;
use crate::tpcc::plan::{of_data, of_run};

/// Options whose parameter has another name, and those that a refusal of a database quotes.
pub(super) const PARAMETERS: &Parameters = &[
    ("parts", "partitions"),
    ("weight", "weights"),
    ("conn-params", "session"),
    ("ap-conn-params", "query_session"),
    ("compat", "compat"),
    ("queries", "queries"),
    ("warehouses", "warehouses"),
    ("tiflash-replica", "tiflash_replicas"),
];

/// Variables of every session of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sessions {
    pub(super) of_transactions: String,
    pub(super) of_queries: String,
}

/// The workload of a command line.
pub(super) fn workload(
    given: &Given,
    order: Order,
    settings: &Settings,
    sessions: &Sessions,
) -> Result<(Workload, ch::Options), Refused> {
    let mut parameters = BTreeMap::new();
    let mut put = |name: &str, value: Scalar| drop(parameters.insert(name.to_owned(), value));
    of_data(given, "hash", &mut put)?;
    if order == Order::Run {
        of_run(given, settings.tpcc.go_tpc, &sessions.of_transactions, &mut put)?;
        match settings.tpcc.terminals {
            0 => put("transactions", Scalar::Bool(false)),
            _ => put("query_streams", Scalar::Int(i64::from(settings.streams))),
        }
        put("queries", Scalar::Text(words::queries(given)?));
        put("limit", Scalar::Int(words::LIMIT_S));
        if !sessions.of_queries.is_empty() {
            put("query_session", Scalar::Text(sessions.of_queries.clone()));
        }
    }
    Workload::of("ch", parameters).map_err(|problems| refused(&problems, PARAMETERS))
}

/// The two data sets of these options: that of TPC-C, and what the queries need beside it.
pub(super) fn data_sets(given: &Given, options: &ch::Options) -> Result<[Workload; 2], Refused> {
    let mut parameters = BTreeMap::new();
    of_data(given, "hash", &mut |name, value| drop(parameters.insert(name.to_owned(), value)))?;
    let tpcc = Workload::of::<tpcc::Options>("tpcc", parameters).map_err(|problems| refused(&problems, PARAMETERS))?.0;
    let plan = Plan::of(ch::Options { without_tpcc: true, ..options.clone() });
    Ok([tpcc, Workload { name: "ch".to_owned(), parameters: BTreeMap::new(), plan }])
}

#[cfg(test)]
mod tests {
    use perbuck_workloads::tpcc::Isolation;

    use super::super::golden;
    use super::*;
    use crate::cases::hold_refused;

    fn read(words: &[&str]) -> Result<ch::Options, Refused> {
        let given = golden::read(words)?;
        let sessions = Sessions { of_transactions: "a=1".to_owned(), of_queries: "b='x'".to_owned() };
        workload(&given, Order::of(&given)?, &Settings::read(&given)?, &sessions).map(|(_, options)| options)
    }

    #[test]
    fn options_reach_the_workload() {
        let plain = read(&["run"]).unwrap();
        assert_eq!((plain.tpcc.warehouses, plain.query_streams, plain.limit_s), (10, 1, 86_400));
        assert_eq!((plain.queries, plain.transactions, plain.without_tpcc), ((1..=22).collect(), true, false));
        assert_eq!((plain.tpcc.session[0].0.as_str(), plain.query_session[0].0.as_str()), ("a", "b"));
        let words = ["run", "-t", "4", "--queries=Q6,q1", "--weight=50,38,4,4,4", "--isolation=2", "--compat=go-tpc"];
        let all = read(&words).unwrap();
        assert_eq!((all.query_streams, all.queries, all.tpcc.go_tpc), (4, vec![6, 1], true));
        assert_eq!((all.tpcc.weights, all.tpcc.isolation), (Some([50, 38, 4, 4, 4]), Some(Isolation::ReadCommitted)));
        let alone = read(&["run", "-T0", "-t2", "--weight=50,38,4,4,4"]).unwrap();
        assert_eq!((alone.transactions, alone.tpcc.weights), (false, Some([50, 38, 4, 4, 4])));
        let given = golden::read(&["prepare", "--warehouses=4", "--parts=2"]).unwrap();
        let [tpcc, own] = data_sets(&given, &read(&["prepare", "--warehouses=4", "--parts=2"]).unwrap()).unwrap();
        assert_eq!((tpcc.plan.parameters()["partitions"].as_str(), tpcc.plan.kind.name, own.plan.kind.name), ("2", "tpcc", "ch"));
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_option() {
        let cases: &[(&[&str], &str)] = &[
            (&["run", "--warehouses=0"], "invalid argument \"0\" for \"--warehouses\" flag"),
            (&["run", "--warehouses=20001"], "--warehouses: --warehouses is 20001"),
            (&["run", "--queries=q23"], "--queries: --queries holds \"q23\", which is none of q1 to q22"),
            (&["run", "--queries="], "invalid argument \"\" for \"--queries\" flag"),
            (&["run", "--weight=50,50"], "--weight: --weight is \"50,50\", not five shares"),
            (&["run", "--isolation=3"], "invalid argument \"3\" for \"--isolation\" flag"),
        ];
        hold_refused(read, cases);
    }
}
