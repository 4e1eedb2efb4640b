//! The protocol of PostgreSQL, version 3.0: our own code, because a load generator's own cost is part of what it
//! measures. A statement costs one write (Bind, Execute, Sync) and one read; nothing is allocated, and nothing is copied
//! behind the socket's buffer but the cells of rows that the workload reads. The answers to password challenges come from
//! the crate `postgres-protocol`.
//!
//! From the bottom: `messages` reads and writes messages, `wire` is a connection of them, `login` opens a session,
//! `placeholders`, `execute`, `answer` and `cells` are statements and their results, `copy` loads rows, `errors` says what an
//! SQLSTATE means, `family` which database it is: CockroachDB and YugabyteDB speak this protocol, too.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use perbuck_load::driver::{Driver, SessionId, TargetFacts};
use perbuck_load::error::DriverError;
use perbuck_load::statement::Dialect;
use rustls::ClientConfig;

use perbuck_database::secret::Secret;
use perbuck_net::certificates::config;
use perbuck_net::reach::{in_time, noted, on_a_session, set_up};
use perbuck_net::server::ServerTarget;

mod bulk;
mod errors;
mod facts;
mod family;
mod session;
mod wire;

#[cfg(test)]
mod answer_tests;
#[cfg(test)]
mod hostile_tests;

pub use session::PostgresSession;

/// A way to reach one or more servers of PostgreSQL's protocol.
#[derive(Debug)]
pub struct PostgresDriver {
    target: ServerTarget,
    password: Secret,
    tls: Option<Arc<ClientConfig>>,
}

impl PostgresDriver {
    /// Makes a driver; nothing is connected yet.
    ///
    /// # Errors
    /// `Refused` where the file of certificate authorities cannot be used; the message names it.
    pub fn new(target: ServerTarget, password: Secret) -> Result<Self, DriverError> {
        let tls = config(target.tls, target.ca_file.as_deref())?;
        Ok(Self { target, password, tls })
    }

    async fn open(&self, host: &str, port: u16) -> Result<PostgresSession, DriverError> {
        let read_timeout = Duration::from_millis(self.target.read_timeout_ms.into());
        let mut wire = wire::Wire::connect(host, port, read_timeout).await?;
        let status = wire::login::login(&mut wire, host, &self.target, self.tls.as_ref(), &self.password).await?;
        let mut session = PostgresSession::new(wire, status);
        session.before_copy = (self.target.dialect == Dialect::Yugabyte).then_some(bulk::WHOLE_COPIES);
        set_up(&mut session, &self.target, "SET").await?;
        Ok(session)
    }
}

impl Driver for PostgresDriver {
    type Session = PostgresSession;

    fn dialect(&self) -> Dialect {
        self.target.dialect
    }

    /// YugabyteDB makes an index in steps that wait for the other sessions of the database, and fail where one of them works
    /// for too long or changes another table meanwhile (its issues 18994 and 30114).
    fn finish_sessions(&self) -> u32 {
        if self.target.dialect == Dialect::Yugabyte { 1 } else { u32::MAX }
    }

    async fn connect(&self, id: SessionId) -> Result<PostgresSession, DriverError> {
        self.connect_away(id, 0).await
    }

    fn hosts(&self) -> Vec<String> {
        self.target.places()
    }

    async fn connect_away(&self, id: SessionId, away: u32) -> Result<PostgresSession, DriverError> {
        in_time(&self.target, (id, away), async |host, port| self.open(host, port).await).await
    }

    async fn facts(&self) -> Result<TargetFacts, DriverError> {
        on_a_session(self, async |session| facts::facts(session, self.target.dialect).await)
            .await
            .map(|facts| noted(&self.target, facts))
    }

    async fn counters(&self) -> Result<BTreeMap<String, i64>, DriverError> {
        match self.target.dialect {
            // What their counters count is one node's part of the work.
            Dialect::Cockroach | Dialect::Yugabyte => Ok(BTreeMap::new()),
            _ => on_a_session(self, facts::counters).await,
        }
    }
}
