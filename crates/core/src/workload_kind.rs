//! What a kind of workload declares about itself. Study reader, audit, comparison and report ask it, and know no benchmark.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::metric::{Counted, Metric, QPS, RELATIVE, TPS};
use crate::study::{Located, Scalar};

/// How long transactions in flight at the end of a trial are waited for, in seconds, where none may last longer.
pub const DRAIN_S: u32 = 10;

/// The names of facts that are parts of a digest of an answer start so.
pub const DIGEST: &str = "digest_";

/// The kinds of workload that a program has.
pub type Kinds = [&'static WorkloadKind];

/// The parameters of a `[[workload]]`, by name.
pub type Parameters = BTreeMap<String, Located<Scalar>>;

/// A kind of workload: what it is called, and what others must know of it.
#[derive(Debug, Clone, Copy)]
pub struct WorkloadKind {
    /// The word of a study file.
    pub name: &'static str,
    /// What it is, in one line.
    pub help: &'static str,
    /// The metrics that only it has.
    pub metrics: &'static [&'static Metric],
    /// The metric that it is compared by unless a study says otherwise, with these parameters.
    pub metric: fn(&BTreeMap<String, String>) -> &'static Metric,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Statements of one transaction, BEGIN and COMMIT included; `None` where the parameters do not fix it.
    pub statements_per_transaction: fn(&Parameters) -> Option<f64>,
    /// Reads, writes, and BEGIN with COMMIT of one transaction; `None` where the parameters do not fix them.
    pub statement_mix: fn(&Parameters) -> Option<[f64; 3]>,
    /// Whether its terminals wait as the ceiling of its disclosure supposes, with these parameters.
    pub waits: fn(&BTreeMap<String, String>) -> bool,
    /// Whether its transactions write to its tables, with these parameters.
    pub writes: fn(&Parameters) -> bool,
    /// When its transactions run against the simulated driver, which returns no values: always (empty), or with which
    /// parameters; `None` is never.
    pub without_values: Option<&'static str>,
    /// How many connections it needs beside those of the load, with these parameters.
    pub beside: fn(&Parameters) -> u32,
    /// Where each connection is a stream of transactions that has an end, with these parameters. Such a trial has no warm-up, and its window is
    /// over with the last stream.
    pub streams: fn(&Parameters) -> Option<Streams>,
    /// Whether a transaction may last for seconds, with these parameters: then a second in which none ends is no stall, and its rate says
    /// nothing.
    pub long: fn(&Parameters) -> bool,
    /// Seconds that what is in flight at the end of a trial is waited for, with these parameters: a server goes on with a query that is given up.
    pub drain_s: fn(&Parameters) -> u32,
    /// The kinds of transaction whose answers follow from the data and the seed, with these parameters: two contenders must give the same ones. Their
    /// facts hold digests of them, see [`DIGEST`].
    pub answers: fn(&BTreeMap<String, String>) -> &'static [Cow<'static, str>],
    /// What two loads at once do to each other, where its trials have two.
    pub interference: Option<&'static Interference>,
    /// What a report must say wherever it shows this workload.
    pub disclosure: fn(&Disclosed<'_>) -> Option<Disclosure>,
}

/// A parameter of a kind of workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// The key of a study file.
    pub name: &'static str,
    /// What its value is.
    pub kind: ParameterKind,
    /// The value where none is given, as a user writes it, or what it follows from; empty for none.
    pub default: &'static str,
    /// What it decides.
    pub decides: Decides,
    /// What it does, in one line.
    pub help: &'static str,
}

/// What the value of a parameter is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParameterKind {
    /// A whole number, and its limits.
    Whole(i64, i64),
    /// A number that may have a fraction, and its limits.
    Number(f64, f64),
    /// On or off.
    Switch,
    /// Text, or one of some words.
    Text,
    /// Names of files beside the study, with commas between them; each may have a weight, as in `a.sql@3`. Their texts are parameters, too: see
    /// [`file_text`].
    Files,
    /// Names of files beside the study that together are the log of a server, with commas between them. What is told of it is a parameter, too: see
    /// [`file_text`] of all the names. The log itself gets into no study.
    Log,
    /// A list of tables. Each value within it is a parameter of its own, by its path: `table.1.rows`. See
    /// [`crate::toml_reader::Section::leaves`].
    Tables,
}

/// The key by which a table within a parameter of [`ParameterKind::Tables`] names a file beside the study, whose text is a parameter, too.
pub const TABLE_FILE: &str = "csv";

/// The parameter that holds the text of a file which a parameter of [`ParameterKind::Files`] names. No key of a study is called so.
pub fn file_text(name: &str) -> String {
    format!("{FILE_TEXT}{name}")
}

/// How such parameters begin.
pub const FILE_TEXT: &str = "file ";

/// The files that such a parameter names, with their weights as written.
pub fn files_of(list: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    list.split(',').map(str::trim).filter(|part| !part.is_empty()).map(|part| match part.rsplit_once('@') {
        Some((name, weight)) if !weight.is_empty() && weight.bytes().all(|b| b.is_ascii_digit()) => (name, Some(weight)),
        _ => (part, None),
    })
}

/// What a parameter decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decides {
    /// What the tables hold; it belongs to the fingerprint of the data.
    Data,
    /// What is done with the tables, and how: workloads that differ in nothing else share them.
    Run,
}

impl Parameter {
    /// A parameter.
    pub const fn new(
        name: &'static str,
        kind: ParameterKind,
        default: &'static str,
        decides: Decides,
        help: &'static str,
    ) -> Self {
        Self { name, kind, default, decides, help }
    }
}

/// The streams of a kind of workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams {
    /// How many there are unless a study says so.
    pub default: u32,
    /// When the last transaction is due, in nanoseconds from the start; 0 where each starts when the one before has ended.
    pub schedule_ns: u64,
}

/// Two loads on the same tables at once: what connections do, and query streams beside them.
#[derive(Debug)]
pub struct Interference {
    /// What connections are measured by.
    pub load: &'static Metric,
    /// What the query streams are measured by.
    pub queries: &'static Metric,
    /// The parameter that says how many query streams there are beside the connections; 0 is the load alone.
    pub streams: &'static str,
    /// The parameters that concern queries alone, that one among them.
    pub of_queries: &'static [&'static str],
    /// The parameter that lists the queries of a round, with commas between them, where not all are asked.
    pub chosen: &'static str,
    /// The parameter that is `false` where each connection is a query stream: the queries alone.
    pub switch: &'static str,
    /// The kind of transaction that lasts from the commit of a row until queries see it.
    pub lag: &'static str,
}

/// A workload that a report shows.
#[derive(Debug, Clone, Copy)]
pub struct Disclosed<'a> {
    /// Its printable name.
    pub workload: &'a str,
    /// Its metric.
    pub metric: &'a Metric,
    /// Its parameters as they were recorded or, without a record, declared.
    pub parameters: &'a BTreeMap<String, String>,
}

/// What a report must say of a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Disclosure {
    /// One or more sentences.
    pub text: String,
    /// The largest value that the metric can have by design, and what gives it, such as `10 warehouses`.
    pub ceiling: Option<(f64, String)>,
}

impl WorkloadKind {
    /// A kind without anything of its own.
    pub const fn plain(name: &'static str, help: &'static str) -> Self {
        Self {
            name,
            help,
            metrics: &[],
            metric: |_| &TPS,
            parameters: &[],
            statements_per_transaction: |_| None,
            statement_mix: |_| None,
            waits: |_| false,
            writes: |_| true,
            without_values: None,
            beside: |_| 0,
            streams: |_| None,
            long: |_| false,
            drain_s: |_| DRAIN_S,
            answers: |_| &[],
            interference: None,
            disclosure: |_| None,
        }
    }

    /// The kind of that name.
    pub fn named(kinds: &Kinds, name: &str) -> Option<&'static Self> {
        kinds.iter().find(|k| k.name == name).copied()
    }

    /// Its parameters that are lists of tables.
    pub fn lists(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.parameters.iter().filter(|p| p.kind == ParameterKind::Tables).map(|p| p.name)
    }

    /// Whether it has a metric with these parameters, its own or one that all have. What it counts of some transactions alone it has
    /// where it is compared by that.
    pub fn has(&self, metric: &Metric, parameters: &BTreeMap<String, String>) -> bool {
        let counted = !matches!(metric.of, Counted::Facts(_)) || (self.metric)(parameters) == metric;
        counted && [&TPS, &QPS].into_iter().chain(self.metrics.iter().copied()).any(|m| m == metric)
    }
}

/// Every metric that a study may name; those of `first` stand before others of the same name.
pub fn metrics(kinds: &Kinds, first: Option<&'static WorkloadKind>) -> Vec<&'static Metric> {
    let mut all = vec![&TPS, &QPS];
    for metric in first.into_iter().chain(kinds.iter().copied()).flat_map(|k| k.metrics.iter().copied()) {
        if all.iter().all(|m| m.name != metric.name) {
            all.push(metric);
        }
    }
    all.push(&RELATIVE);
    all
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::metric::Period;

    pub(crate) static ORDERS: Metric = Metric::rate(
        "orders",
        "orders/min",
        ["orders of customers", "orders"],
        Counted::Kinds(Cow::Borrowed(&[Cow::Borrowed("order")])),
        Period::Minute,
    );

    static SHOP: WorkloadKind = WorkloadKind {
        metrics: &[&ORDERS],
        metric: |_| &ORDERS,
        parameters: &[Parameter::new("mix", ParameterKind::Text, "", Decides::Run, "what is done")],
        statements_per_transaction: |given| (!given.contains_key("lines")).then_some(20.0),
        statement_mix: |given| (!given.contains_key("lines")).then_some([14.0, 4.0, 2.0]),
        waits: |given| given.get("mix").is_some_and(|mix| mix == "slow"),
        disclosure: |shown| {
            Some(Disclosure { text: String::new(), ceiling: shown.parameters.get("mix").map(|mix| (4_000.0, mix.clone())) })
        },
        ..WorkloadKind::plain("shop", "a shop")
    };
    static PLAIN: WorkloadKind = WorkloadKind::plain("plain", "nothing of its own");

    /// What the tests of this crate know.
    pub(crate) static KINDS: [&WorkloadKind; 2] = [&SHOP, &PLAIN];

    #[test]
    fn a_kind_has_its_own_metrics_and_those_of_all() {
        let has = |kind: &WorkloadKind, metric: &Metric| kind.has(metric, &BTreeMap::new());
        assert!(has(&SHOP, &ORDERS) && has(&SHOP, &TPS) && !has(&PLAIN, &ORDERS) && !has(&SHOP, &RELATIVE));
        let names = |first| metrics(&KINDS, first).iter().map(|m| m.name.as_ref()).collect::<Vec<_>>();
        assert_eq!(names(None), ["tps", "qps", "orders", "relative"]);
        assert_eq!(names(Some(&SHOP)), ["tps", "qps", "orders", "relative"]);
        assert_eq!(
            (ORDERS.title(), ORDERS.transactions_per_s(120.0)),
            ("orders of customers per minute (orders/min)".into(), Some(2.0))
        );
        assert_eq!((RELATIVE.title().as_str(), QPS.transactions_per_s(1.0)), ("throughput in units of the article", None));
    }
}
