//! The MySQL protocol, for MySQL, MariaDB and TiDB: our own code, because a load generator's own cost is part of what
//! it measures. A statement costs one write and one read; nothing is allocated, and nothing is copied behind the
//! socket's buffer but the cells of rows that the workload reads.
//!
//! From the bottom: `cutter` cuts bytes into packets, `wire` is a connection of packets, `packets` and `bytes` read them,
//! `auth` and `login` open a session, `execute`, `answer` and `cells` are statements and their results, `literals` and
//! `bulk` are SQL text, `errors` says what an error number means.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use perbuck_load::driver::{Driver, SessionId, TargetFacts};
use perbuck_load::error::{DriverError, ErrorClass};
use rustls::ClientConfig;

use perbuck_database::address::TargetProblem;
use perbuck_database::secret::Secret;
use perbuck_database::server::ServerTarget;
use perbuck_database::{Database, Dialect, Wishes};
use perbuck_net::certificates::config;
use perbuck_net::reach::{in_time, noted, on_a_session, set_up};

mod bulk;
mod dialect;
mod errors;
mod facts;
mod infile;
mod literals;
mod session;
mod settings;
mod target;
mod wire;

#[cfg(test)]
mod answer_tests;
#[cfg(test)]
mod hostile_tests;

pub use dialect::MysqlDialect;
pub use session::MysqlSession;
pub use target::MysqlTarget;

/// The registration of MySQL, MariaDB and TiDB.
#[derive(Debug)]
pub struct Mysql;

impl Database for Mysql {
    type Target = MysqlTarget;
    type Driver = MysqlDriver;

    const SCHEMES: &'static [&'static str] = &["mysql://", "mariadb://", "tidb://"];
    const FORM: &'static str = "mysql://USER@HOST:PORT/DATABASE";

    fn parse(scheme: &str, rest: &str) -> Option<Result<MysqlTarget, TargetProblem>> {
        MysqlTarget::parse(scheme, rest)
    }

    fn dialect() -> &'static dyn Dialect {
        &MysqlDialect
    }

    fn driver(target: &MysqlTarget, password: &Secret, wishes: &Wishes) -> Result<MysqlDriver, DriverError> {
        let driver = MysqlDriver::new(target.0.clone(), password.clone())?;
        Ok(driver.counting_found_rows(wishes.counts_found_rows).noting(wishes.noted_settings.clone()))
    }
}
#[cfg(any(test, feature = "canned"))]
pub use wire::canned;

/// A way to reach one or more servers of the MySQL protocol.
#[derive(Debug)]
pub struct MysqlDriver {
    target: ServerTarget,
    password: Secret,
    tls: Option<Arc<ClientConfig>>,
    fallbacks: Arc<AtomicU64>,
    counts_found: bool,
    noted: Vec<String>,
}

impl MysqlDriver {
    /// Makes a driver; nothing is connected yet.
    ///
    /// # Errors
    /// `Refused` where the file of certificate authorities cannot be used; the message names it.
    pub fn new(target: ServerTarget, password: Secret) -> Result<Self, DriverError> {
        if target.hosts.is_empty() {
            return Err(DriverError::client(ErrorClass::Refused, "target", "the target names no host"));
        }
        let tls = config(target.tls, target.ca_file.as_deref())?;
        Ok(Self { target, password, tls, fallbacks: Arc::default(), counts_found: false, noted: Vec::new() })
    }

    /// Lets an UPDATE that finds a row count as one that affects it, whether it changes anything or not (CLIENT_FOUND_ROWS), so
    /// that a row that is not there can be told from one that is as it should be.
    #[must_use]
    pub fn counting_found_rows(mut self, counts: bool) -> Self {
        self.counts_found = counts;
        self
    }

    /// Names variables, in lower case, whose values are among the facts besides the usual ones.
    #[must_use]
    pub fn noting(mut self, variables: Vec<String>) -> Self {
        self.noted = variables;
        self
    }

    async fn open(&self, host: &str, port: u16) -> Result<MysqlSession, DriverError> {
        let read_timeout = Duration::from_millis(self.target.read_timeout_ms.into());
        let mut wire = wire::Wire::connect(host, port, read_timeout).await?;
        let agreed =
            wire::login::login(&mut wire, host, &self.target, self.tls.as_ref(), &self.password, self.counts_found).await?;
        let reader = wire::answer::ResultReader::new(agreed.capabilities, agreed.status);
        let mut session = MysqlSession::new(wire, reader, Arc::clone(&self.fallbacks)).await?;
        session.as_text = self.target.as_text;
        set_up(&mut session, &self.target, "SET SESSION").await?;
        Ok(session)
    }
}

impl Driver for MysqlDriver {
    type Session = MysqlSession;

    /// Summed over all sessions: what the server would not prepare (error 1461, `max_prepared_stmt_count`, or 1295).
    fn text_fallbacks(&self) -> u64 {
        self.fallbacks.load(Ordering::Relaxed)
    }

    async fn connect(&self, id: SessionId) -> Result<MysqlSession, DriverError> {
        self.connect_at(id, 0).await
    }

    fn hosts(&self) -> Vec<String> {
        self.target.places()
    }

    async fn connect_at(&self, id: SessionId, offset: u32) -> Result<MysqlSession, DriverError> {
        in_time(&self.target, (id, offset), async |host, port| self.open(host, port).await).await
    }

    async fn facts(&self) -> Result<TargetFacts, DriverError> {
        on_a_session(self, async |s| facts::facts(s, &self.noted).await).await.map(|facts| noted(&self.target, facts))
    }

    async fn counters(&self) -> Result<BTreeMap<String, i64>, DriverError> {
        on_a_session(self, facts::counters).await
    }
}
