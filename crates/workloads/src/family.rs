//! What CockroachDB and YugabyteDB, which follow PostgreSQL, need beside its statements, whatever the workload.

use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::statement::Dialect;
use perbuck_load::values::Rows;

/// A statement that fails where an index of `table` cannot be used. YugabyteDB makes an index in steps and leaves it behind,
/// invalid, where one of them failed; a load that goes on would take it for made.
pub(crate) fn valid_indexes(dialect: Dialect, table: &str) -> Option<String> {
    (dialect == Dialect::Yugabyte).then(|| {
        format!(
            "DO $$ BEGIN IF EXISTS (SELECT 1 FROM pg_index WHERE indrelid = '{table}'::regclass AND NOT indisvalid) THEN \
             RAISE EXCEPTION 'an index of {table} was left invalid: load the data anew'; END IF; END $$"
        )
    })
}

/// How an index is begun to be made. YugabyteDB may have left it behind where it says that the statement is to be tried again;
/// whether it can be used is asked afterwards, by [`valid_indexes`].
pub(crate) fn create_index(dialect: Dialect) -> &'static str {
    if dialect == Dialect::Yugabyte { "CREATE INDEX IF NOT EXISTS" } else { "CREATE INDEX" }
}

/// What tells the isolation level that transactions really have; `None` where a server has what it is told or refuses it.
///
/// Both databases silently take a stricter level where the one that is asked for is switched off: CockroachDB by
/// `sql.txn.read_committed_isolation.enabled` and its kin, YugabyteDB unless its servers were started with
/// `yb_enable_read_committed_isolation`.
pub(crate) fn isolation_in_effect(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        Dialect::Cockroach => Some("SHOW transaction_isolation"),
        // NULL where the version does not tell.
        Dialect::Yugabyte => Some("SELECT current_setting('yb_effective_transaction_isolation_level', true)"),
        Dialect::Mysql | Dialect::Sqlite | Dialect::Postgres | Dialect::Tikv => None,
    }
}

/// Compares the answer to [`isolation_in_effect`] with the level that the sessions were told, such as `READ COMMITTED`.
///
/// # Errors
/// `Fatal` where they differ: the figures would be those of another level than the record says.
pub(crate) fn same_isolation(dialect: Dialect, told: &str, answer: &Rows) -> Result<(), DriverError> {
    if answer.is_empty() || answer.is_null(0, 0)? {
        return Ok(());
    }
    let found = answer.display(0, 0)?.to_uppercase();
    if found == told {
        return Ok(());
    }
    let switch = match dialect {
        Dialect::Cockroach => "switch that level on there (cluster setting sql.txn.read_committed_isolation.enabled and its kin)",
        _ => "start its servers with yb_enable_read_committed_isolation",
    };
    let message = format!(
        "the sessions ask for {told}, and {} gives them {found} instead; {switch}, or ask for the level that it gives",
        dialect.name()
    );
    Err(DriverError::client(ErrorClass::Fatal, "isolation", message))
}

#[cfg(test)]
mod tests {
    use perbuck_core::units::Seed;
    use perbuck_load::workload::Workload;

    use super::*;
    use crate::tests::plan;
    use crate::{sysbench, tpcc, ycsb};

    #[test]
    fn only_yugabyte_is_asked_for_its_indexes() {
        assert!(valid_indexes(Dialect::Yugabyte, "t").is_some_and(|sql| sql.contains("'t'::regclass")));
        for dialect in [Dialect::Postgres, Dialect::Cockroach, Dialect::Mysql, Dialect::Sqlite] {
            assert_eq!(valid_indexes(dialect, "t"), None);
        }
    }

    /// What is tested on PostgreSQL is what the others are sent; only their tables are made in other words.
    #[test]
    fn the_statements_of_trials_are_those_of_postgres() {
        for dialect in [Dialect::Cockroach, Dialect::Yugabyte] {
            for (script, _) in sysbench::SCRIPTS {
                let plan = plan("sysbench", &[("script", script)]);
                let options: &sysbench::Options = plan.options().unwrap();
                let sent = |dialect| texts(&sysbench::Sysbench::new(options, dialect));
                assert_eq!(sent(dialect), sent(Dialect::Postgres), "{script}");
            }
            for (batch, isolation) in [(false, None), (true, Some(tpcc::Isolation::Serializable))] {
                let options = tpcc::Options { batch, isolation, ..tpcc::Options::default() };
                let sent = |dialect| texts(&tpcc::Tpcc::new(options.clone(), dialect, Seed(1)));
                assert_eq!(sent(dialect), sent(Dialect::Postgres));
            }
            let plan = plan("ycsb", &[("recordcount", "1")]);
            let options: &ycsb::Options = plan.options().unwrap();
            let sent = |dialect| texts(&ycsb::Ycsb::new(options.clone(), dialect, Seed(1)));
            assert_eq!(sent(dialect), sent(Dialect::Postgres));
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
        let told = |level, found| same_isolation(Dialect::Cockroach, level, &answer(found));
        assert!(told("READ COMMITTED", Some("read committed")).is_ok());
        assert!(told("READ COMMITTED", None).is_ok(), "it does not tell");
        let error = told("READ COMMITTED", Some("serializable")).unwrap_err();
        assert_eq!(error.class, ErrorClass::Fatal);
        assert!(error.message.contains("CockroachDB gives them SERIALIZABLE instead; switch"), "{error}");
    }
}
