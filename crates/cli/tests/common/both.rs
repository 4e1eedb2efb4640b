//! One database on which both programs work: the engine with a driver, and the real sysbench.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test binary uses its own part of this")]

use std::collections::BTreeMap;
use std::process::{Command, Output};
use std::sync::Arc;

use perbuck_core::load_model::LoadModel;
use perbuck_core::study::{Located, Scalar};
use perbuck_core::units::Seed;
use perbuck_database::Database as _;
use perbuck_database::Dialect;
use perbuck_database::secret::Secret;
use perbuck_load::driver::{Driver, Session, SessionId};
use perbuck_load::error::DriverError;
use perbuck_load::executor::run_trial;
use perbuck_load::limit::Tolerance;
use perbuck_load::loader::{CheckResult, Load, LoadError, on_loop, run_check};
use perbuck_load::observer::Unobserved;
use perbuck_load::share::Share;
use perbuck_load::stop::StopToken;
use perbuck_load::trial::{RunError, TrialOutcome, TrialSpec};
use perbuck_load::values::Rows;
use perbuck_load::watch::Waiting;
use perbuck_load::workload::Dataset;
use perbuck_mysql::{Mysql, MysqlDialect, MysqlDriver};
use perbuck_postgres::{Family, Postgres, PostgresDriver};
use perbuck_workloads::Benchmark;
use perbuck_workloads::sysbench::{Options, Sysbench, SysbenchData, cleanup, option_value};

use super::server;

/// A script and its options under sysbench's names, as text.
pub type Words<'a> = &'a [(&'a str, &'a str)];

/// The options of a script, read as our command reads them.
pub fn options(script: &str, words: Words<'_>) -> Options {
    let located = |(name, value): &(&str, &str)| {
        let value = option_value(name, value).unwrap_or_else(|| Scalar::Text((*value).to_owned()));
        ((*name).to_owned(), Located { value, line: 1 })
    };
    let all: BTreeMap<String, Located<Scalar>> = words.iter().chain(&[("script", script)]).map(located).collect();
    Options::checked(&all).unwrap()
}

/// A database of its own on a test server.
pub struct Both<D> {
    driver: Arc<D>,
    dialect: &'static dyn Dialect,
    /// How the real sysbench reaches it.
    address: Vec<String>,
}

/// Host and port of a test server.
fn host_and_port(url: &str) -> (String, String) {
    let (_, address) = url.split_once('@').unwrap();
    let (host, port) = address.split_once('/').unwrap().0.split_once(':').unwrap();
    (host.to_owned(), port.to_owned())
}

impl Both<MysqlDriver> {
    /// A fresh database on the MariaDB of the tests.
    pub fn on_mariadb(name: &str) -> Self {
        let url = server("PERBUCK_TEST_MARIADB");
        let password = server("PERBUCK_TEST_MARIADB_PASSWORD");
        let open = |url: &str| {
            let (scheme, rest) = url.split_once(':').unwrap();
            let target = Mysql::parse(scheme, rest).unwrap().unwrap();
            MysqlDriver::new(target.server, Secret::new(password.clone())).unwrap()
        };
        for sql in [format!("DROP DATABASE IF EXISTS {name}"), format!("CREATE DATABASE {name}")] {
            ask(&open(&url), &sql).unwrap();
        }
        let (host, port) = host_and_port(&url);
        let address = ["--db-driver=mysql".to_owned(), format!("--mysql-host={host}"), format!("--mysql-port={port}")];
        let account = ["--mysql-user=root".to_owned(), format!("--mysql-password={password}"), format!("--mysql-db={name}")];
        let driver = Arc::new(open(&format!("mysql://root@{host}:{port}/{name}")));
        Self { driver, dialect: &MysqlDialect, address: [address, account].concat() }
    }
}

impl Both<PostgresDriver> {
    /// A fresh database on the PostgreSQL of the tests.
    pub fn on_postgres(name: &str) -> Self {
        let (host, port) = host_and_port(&server("PERBUCK_TEST_POSTGRES"));
        let password = server("PERBUCK_TEST_POSTGRES_ADMIN_PASSWORD");
        let open = |database: &str| {
            let target = Postgres::parse("postgres", &format!("//postgres@{host}:{port}/{database}")).unwrap().unwrap();
            PostgresDriver::new(target, Secret::new(password.clone())).unwrap()
        };
        for sql in [format!("DROP DATABASE IF EXISTS {name}"), format!("CREATE DATABASE {name}")] {
            ask(&open("test"), &sql).unwrap();
        }
        let address = ["--db-driver=pgsql".to_owned(), format!("--pgsql-host={host}"), format!("--pgsql-port={port}")];
        let account = ["--pgsql-user=postgres".to_owned(), format!("--pgsql-password={password}"), format!("--pgsql-db={name}")];
        Self { driver: Arc::new(open(name)), dialect: &Family::Postgres, address: [address, account].concat() }
    }
}

/// Runs one statement on a session of its own; the first cell of what came back, if anything did.
fn ask<D: Driver>(driver: &D, sql: &str) -> Result<String, DriverError> {
    let asked = on_loop(async {
        let doing = |error| LoadError::Server { doing: sql.to_owned(), error };
        let mut session = driver.connect(SessionId::Own(0)).await.map_err(doing)?;
        let mut rows = Rows::default();
        session.query(sql, &mut rows).await.map_err(doing)?;
        session.close().await;
        Ok(if rows.is_empty() { String::new() } else { rows.display(0, 0).map_err(doing)? })
    });
    match asked {
        Ok(cell) => Ok(cell),
        Err(LoadError::Server { error, .. }) => Err(error),
        Err(other) => panic!("{sql}: {other}"),
    }
}

impl<D: Driver> Both<D> {
    /// The first cell that a statement returns.
    pub fn sql(&self, sql: &str) -> String {
        ask(self.driver.as_ref(), sql).unwrap_or_else(|e| panic!("{sql}: {e}"))
    }

    /// The tables, by their number.
    pub fn table_exists(&self, n: u32) -> bool {
        ask(self.driver.as_ref(), &format!("SELECT COUNT(*) FROM sbtest{n}")).is_ok()
    }

    /// Runs the real sysbench, however it ends.
    pub fn theirs(&self, script: &str, words: Words<'_>, rest: &[&str]) -> Output {
        let given = words.iter().map(|(name, value)| format!("--{}={value}", name.replace('_', "-")));
        Command::new("sysbench").args(&self.address).arg(script).args(given).args(rest).output().unwrap()
    }

    /// Runs a command of the real sysbench, which must succeed; its (read, write, other) if it prints any.
    pub fn their(&self, script: &str, words: Words<'_>, rest: &[&str]) -> [u64; 3] {
        let run = self.theirs(script, words, rest);
        let text = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "sysbench {script} {words:?} {rest:?}: {text}{}", String::from_utf8_lossy(&run.stderr));
        let figure = |label: &str| {
            let line = text.lines().find_map(|l| l.trim().strip_prefix(label));
            line.map_or(0, |value| value.trim().parse().unwrap())
        };
        ["read:", "write:", "other:"].map(figure)
    }

    /// Loads our data.
    pub fn our_prepare(&self, options: &Options) {
        let dataset = SysbenchData::new(options.clone(), self.dialect, Seed(5));
        let waiting = Waiting::default();
        let load = Load { driver: &*self.driver, dataset: &dataset, making: None, ledger: None, sessions: 2, waiting: &waiting };
        load.run(&mut |_| {}).unwrap();
    }

    /// Drops the tables by our statements.
    pub fn our_cleanup(&self, options: &Options) {
        cleanup(options, self.dialect).iter().for_each(|sql| drop(self.sql(sql)));
    }

    /// Runs so many events of ours.
    pub fn ours(&self, options: &Options, connections: u32, events: u64, seed: u64) -> Result<TrialOutcome, RunError> {
        self.run(options, connections, Some(events), 600, seed)
    }

    /// Runs ours for so many seconds, whatever errors may come that end no run.
    pub fn ours_for(&self, options: &Options, connections: u32, seconds: u64) -> TrialOutcome {
        self.run(options, connections, None, seconds, 7).unwrap()
    }

    fn run(
        &self,
        options: &Options,
        connections: u32,
        max_events: Option<u64>,
        seconds: u64,
        seed: u64,
    ) -> Result<TrialOutcome, RunError> {
        let spec = TrialSpec {
            load: LoadModel::Closed { steps: Vec::new() },
            phases: Vec::new(),
            connections,
            workers: Some(1),
            warmup_ns: 0,
            duration_ns: seconds * 1_000_000_000,
            max_attempts: 10,
            seed: Seed(seed),
            drain_ns: 10_000_000_000,
            max_events,
            streams: false,
            time_statements: false,
            tolerance: Tolerance::All,
            share: Share::WHOLE,
        };
        let workload = Arc::new(Sysbench::new(options, self.dialect));
        run_trial(&spec, &self.driver, &workload, &StopToken::default(), &mut Unobserved)
    }

    /// Runs so many events of ours, which must all succeed; their (read, write, other).
    pub fn our(&self, options: &Options, connections: u32, events: u64, seed: u64) -> [u64; 3] {
        let outcome = self.ours(options, connections, events, seed).unwrap_or_else(|e| panic!("{options:?}: {e}"));
        let record = &outcome.measured.transactions[options.script.name()];
        assert_eq!((record.committed, record.failed), (events, 0), "{:?} {:?}", options.script, outcome.errors);
        // The window ends with the last event, so that it is the whole run.
        let counts = outcome.measured.statements;
        assert_eq!(counts, outcome.statements_whole_run);
        [counts.read, counts.write, counts.other]
    }

    /// Asserts that our checks of these data hold.
    pub fn checks_hold(&self, options: &Options) {
        let dataset = SysbenchData::new(options.clone(), self.dialect, Seed(5));
        let run = async {
            let doing = |error| LoadError::Server { doing: "connecting".to_owned(), error };
            let mut session = self.driver.connect(SessionId::Own(0)).await.map_err(doing)?;
            let mut results = Vec::new();
            for check in dataset.checks() {
                results.push(run_check(&mut session, &check).await?);
            }
            session.close().await;
            Ok(results)
        };
        let results = on_loop(run).unwrap();
        assert!(!results.is_empty() && results.iter().all(CheckResult::holds), "{:?}: {results:?}", options.script);
    }

    /// The dialect of the database.
    pub fn dialect(&self) -> &'static dyn Dialect {
        self.dialect
    }
}
