//! What CockroachDB and YugabyteDB, which follow PostgreSQL, are sent in addition to its statements, for every workload.

use perbuck_core::units::Seed;
use perbuck_database::dialect::same_isolation;
use perbuck_load::error::ErrorClass;
use perbuck_load::values::Rows;
use perbuck_load::workload::Workload;

use crate::testing::{COCKROACH, POSTGRES, YUGABYTE, read};
use crate::{Benchmark, sysbench, tpcc, ycsb};

/// What is tested on PostgreSQL is what the others are sent; only their tables are made in other words.
#[test]
fn the_statements_of_trials_are_those_of_postgres() {
    for (script, _) in sysbench::SCRIPTS {
        same_statements::<sysbench::Options>(&[("script", script)]);
    }
    same_statements::<tpcc::Options>(&[]);
    same_statements::<tpcc::Options>(&[("batch", "true"), ("isolation", "serializable")]);
    same_statements::<ycsb::Options>(&[("recordcount", "1")]);
}

fn same_statements<B: Benchmark>(words: &[(&str, &str)]) {
    let options = read::<B>(words).unwrap();
    let [postgres, others @ ..] = [POSTGRES, COCKROACH, YUGABYTE].map(|dialect| {
        let catalogue = options.workload(dialect, Seed(1)).catalogue();
        let statements = catalogue.statements().iter().map(|s| s.sql.clone());
        statements.chain(catalogue.opening().to_vec()).collect::<Vec<String>>()
    });
    others.into_iter().for_each(|sent| assert_eq!(sent, postgres, "{words:?}"));
}

#[test]
fn another_level_than_the_one_asked_for_is_an_error() {
    let answer = |level: Option<&str>| {
        let mut rows = Rows::default();
        rows.start(true);
        match level {
            Some(level) => rows.push_text(level.as_bytes()),
            None => rows.push_null(),
        }
        rows.end_row();
        rows
    };
    let told = |level, found| same_isolation(COCKROACH, COCKROACH.isolation_in_effect().unwrap(), level, &answer(found));
    assert!(told("READ COMMITTED", Some("read committed")).is_ok());
    assert!(told("READ COMMITTED", None).is_ok(), "it does not tell");
    let error = told("READ COMMITTED", Some("serializable")).unwrap_err();
    assert_eq!(error.class, ErrorClass::Fatal);
    assert!(error.message.contains("CockroachDB uses SERIALIZABLE; enable"), "{error}");
}
