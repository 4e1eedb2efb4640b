//! What CockroachDB and YugabyteDB, which follow PostgreSQL, are sent beside its statements, whatever the workload.

use perbuck_core::units::Seed;
use perbuck_load::workload::Workload;

use crate::databases::{COCKROACH, MYSQL, POSTGRES, SQLITE, YUGABYTE};
use crate::tests::plan;
use crate::{sysbench, tpcc, ycsb};
use perbuck_database::Dialect;
use perbuck_database::dialect::same_isolation;
use perbuck_load::error::ErrorClass;
use perbuck_load::values::Rows;

#[test]
fn only_yugabyte_is_asked_for_its_indexes() {
    assert!(YUGABYTE.valid_indexes("t").is_some_and(|sql| sql.contains("'t'::regclass")));
    for dialect in [POSTGRES, COCKROACH, MYSQL, SQLITE] {
        assert_eq!(dialect.valid_indexes("t"), None);
    }
}

/// What is tested on PostgreSQL is what the others are sent; only their tables are made in other words.
#[test]
fn the_statements_of_trials_are_those_of_postgres() {
    for dialect in [COCKROACH, YUGABYTE] {
        for (script, _) in sysbench::SCRIPTS {
            let plan = plan("sysbench", &[("script", script)]);
            let options: &sysbench::Options = plan.options().unwrap();
            let sent = |dialect: &'static dyn Dialect| texts(&sysbench::Sysbench::new(options, dialect));
            assert_eq!(sent(dialect), sent(POSTGRES), "{script}");
        }
        for (batch, isolation) in [(false, None), (true, Some(tpcc::Isolation::Serializable))] {
            let options = tpcc::Options { batch, isolation, ..tpcc::Options::default() };
            let sent = |dialect: &'static dyn Dialect| texts(&tpcc::Tpcc::new(options.clone(), dialect, Seed(1)));
            assert_eq!(sent(dialect), sent(POSTGRES));
        }
        let plan = plan("ycsb", &[("recordcount", "1")]);
        let options: &ycsb::Options = plan.options().unwrap();
        let sent = |dialect: &'static dyn Dialect| texts(&ycsb::Ycsb::new(options.clone(), dialect, Seed(1)));
        assert_eq!(sent(dialect), sent(POSTGRES));
    }
}

fn texts(workload: &impl Workload) -> Vec<String> {
    let catalogue = workload.catalogue();
    catalogue.statements().iter().map(|s| s.sql.clone()).chain(catalogue.opening().to_vec()).collect()
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
    assert!(error.message.contains("CockroachDB gives them SERIALIZABLE instead; switch"), "{error}");
}
