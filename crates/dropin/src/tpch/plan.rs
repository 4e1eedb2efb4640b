//! What the options make the workload do.

use std::collections::BTreeMap;

use perbuck_core::study::Scalar;
use perbuck_workloads::tpch;

use super::settings::{Order, Settings};
use crate::flags::Given;
use crate::go_tpc::{Parameters, refused, words};
use crate::refused::Refused;
use crate::study::Workload;

/// Options whose parameter has another name, and those that a refusal of a database quotes.
pub(super) const PARAMETERS: &Parameters = &[("sf", "scale"), ("queries", "queries"), ("tiflash-replica", "tiflash_replicas")];

/// The workload of a command line.
pub(super) fn workload(given: &Given, order: Order, settings: &Settings) -> Result<(Workload, tpch::Options), Refused> {
    let mut parameters = BTreeMap::new();
    let mut put = |name: &str, value: Scalar| drop(parameters.insert(name.to_owned(), value));
    let scale = given.text("sf").parse::<f64>().ok().filter(|scale| scale.is_finite());
    let help = "give a number from 0.01 to 10000 with at most two decimals, such as 1 or 0.1";
    put("scale", Scalar::Float(scale.ok_or_else(|| given.invalid("sf", help))?));
    // Those of go-tpc have primary keys alone.
    put("indexes", Scalar::Bool(false));
    put("queries", Scalar::Text(words::queries(given)?));
    put("refresh", Scalar::Bool(false));
    put("limit", Scalar::Int(words::LIMIT_S));
    let checks = settings.check && order == Order::Run;
    put("substitution", Scalar::Text(if checks { "validation" } else { "go-tpc" }.to_owned()));
    Workload::of("tpch", parameters).map_err(|problems| {
        if problems.iter().any(|problem| problem.key == "substitution") {
            let message = format!("--check: the right answers are not known at --sf {}", given.text("sf"));
            return Refused::usage(message, "leave --check out, or use data of --sf 1 or --sf 0.01");
        }
        refused(&problems, PARAMETERS)
    })
}

#[cfg(test)]
mod tests {
    use perbuck_workloads::tpch::{Scale, Values};

    use super::super::golden;
    use super::*;
    use crate::cases::hold_refused;

    fn read(words: &[&str]) -> Result<tpch::Options, Refused> {
        let given = golden::read(words)?;
        workload(&given, Order::of(&given)?, &Settings::read(&given)?).map(|(_, options)| options)
    }

    #[test]
    fn options_reach_the_workload() {
        let plain = read(&["run"]).unwrap();
        assert_eq!((plain.scale, plain.substitution, plain.queries), (Scale::hundredths(100), Values::GoTpc, (1..=22).collect()));
        assert!(!plain.indexes && !plain.refresh);
        let all = read(&["run", "--sf", "0.01", "--check", "--queries=q6,Q1,q6"]).unwrap();
        assert_eq!((all.scale, all.substitution, all.queries), (Scale::SMALLEST, Values::Validation, vec![6, 1, 6]));
        let loaded = read(&["prepare", "--sf=10", "--check"]).unwrap();
        assert_eq!((loaded.scale, loaded.indexes, loaded.foreign_keys), (Scale::hundredths(1_000), false, false));
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_option() {
        let cases: &[(&[&str], &str)] = &[
            (&["run", "--sf=0"], "--sf: "),
            (&["run", "--sf=x"], "invalid argument \"x\" for \"--sf\" flag"),
            (&["prepare", "--sf=0.015"], "--sf: --sf is 0.015, which has more than two decimals"),
            (&["run", "--queries=q23"], "--queries: --queries holds \"q23\", which is none of q1 to q22"),
            (&["run", "--queries=1"], "--queries: --queries holds \"1\""),
            (&["run", "--queries="], "invalid argument \"\" for \"--queries\" flag"),
            (&["run", "--check", "--sf=10"], "--check: the right answers are not known at --sf 10"),
        ];
        hold_refused(read, cases);
    }
}
