//! What TPC-C declares: its metric, and what must be said wherever its results stand.

use std::borrow::Cow;
use std::collections::BTreeMap;

use perbuck_core::metric::{Counted, Metric, Period};
use perbuck_core::units::thousands;
use perbuck_core::workload_kind::Decides::{Data, Run};
use perbuck_core::workload_kind::ParameterKind::{Switch, Text, Whole};
use perbuck_core::workload_kind::{Disclosed, Disclosure, Parameter, WorkloadKind};

use super::audit::TPMC_MAX_PER_WAREHOUSE;

/// New-order transactions per minute, those rolled back by design included (5.4.2).
pub static TPMC: Metric = Metric::rate(
    "tpmc",
    "tpmC",
    ["new-order transactions", "new orders"],
    Counted::Kinds(Cow::Borrowed(&[Cow::Borrowed("new_order")])),
    Period::Minute,
);

pub(crate) static PARAMETERS: [Parameter; 11] = [
    Parameter::new("warehouses", Whole(1, 100_000), "1", Data, "how many warehouses the database has"),
    Parameter::new("partitions", Whole(1, 1_024), "1", Data, "partitions of every table but ITEM"),
    Parameter::new("partition_type", Text, "hash", Data, "how rows are dealt to them: hash, range or list"),
    Parameter::new("foreign_keys", Switch, "false", Data, "whether the ten references between the tables are declared"),
    Parameter::new("history_key", Switch, "false", Data, "whether HISTORY has a key of its own"),
    Parameter::new("wait", Switch, "false", Run, "whether terminals key and think (5.2.5)"),
    Parameter::new("batch", Switch, "false", Run, "whether lines and districts are read and written by statements of many rows"),
    Parameter::new("isolation", Text, "", Run, "the isolation level of every session; that of the server if not given"),
    Parameter::new("compat", Text, "", Run, "\"go-tpc\" sends what go-tpc sends"),
    Parameter::new("weights", Text, "", Run, "shares of the five transactions in percent, in place of the deck"),
    Parameter::new("session", Text, "", Run, "variables that every session sets when it opens"),
];

/// TPC-C among the kinds of workload.
pub static KIND: WorkloadKind = WorkloadKind {
    parameters: &PARAMETERS,
    metrics: &[&TPMC],
    metric: |_| &TPMC,
    disclosure,
    waits,
    ..WorkloadKind::plain("tpcc", "TPC-C: orders, payments and deliveries of a wholesaler")
};

fn waits(parameters: &BTreeMap<String, String>) -> bool {
    parameters.get("wait").is_some_and(|v| v == "true")
}

fn disclosure(shown: &Disclosed<'_>) -> Option<Disclosure> {
    let waited = waits(shown.parameters);
    let without = if waited { "its audit" } else { "its keying and think times, its audit" };
    let mut text = format!(
        "{} is not a TPC result: it uses the transactions and data of TPC-C without {without} and its priced configuration, \
         and cannot be compared with published TPC-C results.",
        shown.workload
    );
    if *shown.metric != TPMC {
        return Some(Disclosure { text, ceiling: None });
    }
    text += &format!(
        " With think times a warehouse gives at most {TPMC_MAX_PER_WAREHOUSE} tpmC; efficiency is tpmC / ({TPMC_MAX_PER_WAREHOUSE} × \
         warehouses){}",
        if waited { "." } else { ", and a value above 100 % shows that think times were left out." }
    );
    let declared = shown.parameters.get("warehouses").and_then(|v| v.parse::<f64>().ok());
    let ceiling = declared.filter(|n| (1.0..1e9).contains(n)).map(|n| {
        let at = format!("{} warehouse{}", thousands(n as u64), if n as u64 == 1 { "" } else { "s" });
        (TPMC_MAX_PER_WAREHOUSE * n, at)
    });
    Some(Disclosure { text, ceiling })
}

#[cfg(test)]
mod tests {
    use perbuck_core::metric::TPS;

    use super::*;

    #[test]
    fn a_result_says_that_it_is_none_of_tpc_and_how_near_it_comes_to_the_ceiling() {
        let shown = |metric: &Metric, words: &[(&str, &str)]| {
            let parameters = words.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            disclosure(&Disclosed { workload: "small", metric, parameters: &parameters }).unwrap()
        };
        let short = "small is not a TPC result: it uses the transactions and data of TPC-C without its keying and think times, its \
                     audit and its priced configuration, and cannot be compared with published TPC-C results.";
        assert_eq!(shown(&TPS, &[]), Disclosure { text: short.to_owned(), ceiling: None });
        let long = format!(
            "{short} With think times a warehouse gives at most 12.86 tpmC; efficiency is tpmC / (12.86 × warehouses), and a value above \
             100 % shows that think times were left out."
        );
        let ceiling = Some((12_860.0, "1,000 warehouses".to_owned()));
        assert_eq!(shown(&TPMC, &[("warehouses", "1000")]), Disclosure { text: long, ceiling });
        let waited = shown(&TPMC, &[("warehouses", "1"), ("wait", "true")]);
        assert!(
            waited.text.contains("without its audit and") && waited.text.ends_with("(12.86 × warehouses)."),
            "{}",
            waited.text
        );
        assert_eq!(waited.ceiling.unwrap().1, "1 warehouse");
        assert_eq!(shown(&TPMC, &[]).ceiling, None);
    }
}
