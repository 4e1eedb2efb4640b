//! The protocol of PostgreSQL, version 3.0: our own code, because a load generator's own cost is part of what it
//! measures. A statement costs one write (Bind, Execute, Sync) and one read; nothing is allocated, and nothing is copied
//! out of the socket's buffer but the cells of rows that the workload reads. The answers to password challenges come from
//! the crate `postgres-protocol`.
//!
//! From the bottom: `messages` reads and writes messages, `wire` is a connection of them, `login` opens a session,
//! `placeholders`, `execute`, `answer` and `cells` are statements and their results, `bulk` loads rows, `errors` says what an
//! SQLSTATE means, `family` which database it is: CockroachDB and YugabyteDB speak this protocol, too.

use std::collections::BTreeMap;

use perbuck_load::driver::{CopyScope, DataSize, Driver, ServerWork, Session as _, SessionId, TargetFacts};
use perbuck_load::error::DriverError;
use perbuck_load::meter::Meter;
use perbuck_load::preflight::{HostFacts, HostProblem};
use perbuck_load::query::Query;
use perbuck_load::values::Rows;

use perbuck_database::address::{TargetProblem, problem};
use perbuck_database::secret::Secret;
use perbuck_database::server::{ServerTarget, SqlTarget};
use perbuck_database::{Database, Dialect, Wishes};
use perbuck_net::reach::{Access, literal, noted, on_a_session, on_host, set_up, work_of_hosts};
use perbuck_net::sent::Sent;

mod batch;
mod bulk;
mod copy;
mod dialect;
mod errors;
mod facts;
mod family;
mod meter;
mod plans;
mod preflight;
mod scans;
mod session;
mod size;
mod wire;

#[cfg(test)]
mod answer_tests;
#[cfg(test)]
mod batch_tests;
#[cfg(test)]
mod hostile_tests;

use wire::Wire;
use wire::login::login;

pub use family::Family;
pub use session::PostgresSession;

/// One or more servers of this protocol.
pub type PostgresTarget = SqlTarget<Family>;

/// The registration of PostgreSQL, CockroachDB and YugabyteDB.
#[derive(Debug)]
pub struct Postgres;

impl Database for Postgres {
    type Target = PostgresTarget;
    type Driver = PostgresDriver;

    const SCHEMES: &'static [&'static str] = &["postgres://", "cockroach://", "yugabyte://"];
    const FORM: &'static str = "postgres://USER@HOST:PORT/DATABASE";

    fn parse(scheme: &str, rest: &str) -> Option<Result<PostgresTarget, TargetProblem>> {
        let dialect = match scheme {
            "postgres" | "postgresql" => &Family::Postgres,
            "cockroach" | "cockroachdb" => &Family::Cockroach,
            "yugabyte" | "yugabytedb" => &Family::Yugabyte,
            _ => return None,
        };
        let scheme = dialect.scheme();
        Some(ServerTarget::parse(scheme, rest, dialect.port()).and_then(|server| {
            if server.as_text {
                let message = format!("a {scheme} target cannot have `statements=text`");
                return problem(message, "leave it out: they are prepared");
            }
            Ok(SqlTarget { dialect, server })
        }))
    }

    fn dialect() -> &'static dyn Dialect {
        &Family::Postgres
    }

    fn driver(target: &PostgresTarget, password: &Secret, wishes: &Wishes) -> Result<PostgresDriver, DriverError> {
        let driver = PostgresDriver::new(target.clone(), password.clone())?;
        Ok(PostgresDriver { noted_settings: wishes.noted_settings.clone(), ..driver })
    }
}

/// A way to reach one or more servers of PostgreSQL's protocol.
#[derive(Debug)]
pub struct PostgresDriver {
    family: Family,
    access: Access,
    /// Settings whose values the facts tell beside the usual ones.
    noted_settings: Vec<String>,
    /// Transactions that its sessions ended.
    sent: Sent,
}

impl PostgresDriver {
    /// Makes a driver; nothing is connected yet.
    ///
    /// # Errors
    /// `Refused` where the file of certificate authorities cannot be used; the message names it.
    pub fn new(PostgresTarget { dialect, server }: PostgresTarget, password: Secret) -> Result<Self, DriverError> {
        Ok(Self { family: *dialect, access: Access::new(server, password)?, noted_settings: Vec::new(), sent: Sent::default() })
    }

    async fn open(&self, host: &str, port: u16) -> Result<PostgresSession, DriverError> {
        let mut wire = Wire::connect(host, port, self.access.read_timeout()).await?;
        let status = login(&mut wire, host, self.family, &self.access).await?;
        let mut session = PostgresSession::new(wire, status, self.sent.session());
        session.before_copy = (self.family == Family::Yugabyte).then_some(bulk::WHOLE_COPIES);
        set_up(&mut session, &self.access.target.settings, |name, value| format!("SET {name} = {}", literal(value))).await?;
        Ok(session)
    }
}

impl Driver for PostgresDriver {
    type Session = PostgresSession;

    /// YugabyteDB makes an index in steps that wait for the other sessions of the database, and fail where one of them works
    /// for too long or changes another table meanwhile (its issues 18994 and 30114).
    fn finish_sessions(&self) -> u32 {
        if self.family == Family::Yugabyte { 1 } else { u32::MAX }
    }

    async fn connect(&self, id: SessionId) -> Result<PostgresSession, DriverError> {
        self.connect_at(id, 0).await
    }

    fn hosts(&self) -> Vec<String> {
        self.access.target.addresses()
    }

    fn has_query_host(&self) -> bool {
        self.access.target.query_host.is_some()
    }

    async fn connect_at(&self, id: SessionId, offset: u32) -> Result<PostgresSession, DriverError> {
        self.access.in_time((id, offset), async |host, port| self.open(host, port).await).await
    }

    async fn preflight(&self, host: u32) -> Result<HostFacts, DriverError> {
        on_host(self, host, async |session| preflight::preflight(session, self.family).await).await
    }

    async fn facts(&self) -> Result<TargetFacts, DriverError> {
        let facts = on_a_session(self, async |session| facts::facts(session, self.family, &self.noted_settings).await).await?;
        let ask =
            async |session: &mut PostgresSession, set: &[(String, String)]| facts::in_force(session, set, self.family).await;
        noted(self, (&self.access.target, facts), ask).await
    }

    async fn counters(&self) -> Result<BTreeMap<String, i64>, DriverError> {
        match self.family {
            // What their counters count is one node's part of the work.
            Family::Cockroach | Family::Yugabyte => Ok(BTreeMap::new()),
            _ => on_a_session(self, facts::counters).await,
        }
    }

    async fn meter(&self, connections: u32) -> Result<Option<Box<dyn Meter>>, DriverError> {
        match self.family {
            // As of [`Self::counters`].
            Family::Cockroach | Family::Yugabyte => Ok(None),
            _ => meter::open(self, connections).await,
        }
    }

    async fn data_size(&self, tables: &[String]) -> Result<DataSize, DriverError> {
        match self.family {
            Family::Cockroach => Ok(DataSize::default()),
            _ => on_a_session(self, async |session| size::data_size(session, tables).await).await,
        }
    }

    async fn write_back(&self, _tables: &[String]) -> Result<bool, DriverError> {
        // CockroachDB has no such statement, and YugabyteDB's tables are not PostgreSQL's.
        if self.family != Family::Postgres {
            return Ok(false);
        }
        let asked = async |session: &mut PostgresSession| {
            session.lift_timeout();
            session.query("CHECKPOINT", &mut Rows::default()).await
        };
        on_a_session(self, asked).await.map(|_| true)
    }

    async fn has_copy(&self) -> Result<bool, DriverError> {
        copy::is_there(self).await
    }

    async fn copy_problems(&self, _of: &CopyScope) -> Result<Vec<HostProblem>, DriverError> {
        copy::problems(self).await
    }

    async fn save_copy(&self, _of: &CopyScope) -> Result<(), DriverError> {
        copy::save(self).await
    }

    async fn restore_copy(&self, _of: &CopyScope, notes: &[Query]) -> Result<(), DriverError> {
        copy::restore(self, notes).await
    }

    async fn drop_copy(&self) -> Result<(), DriverError> {
        copy::remove(self).await
    }

    fn sent(&self) -> u64 {
        self.sent.ended()
    }

    async fn work(&self) -> Result<ServerWork, DriverError> {
        if self.family != Family::Postgres {
            return Ok(ServerWork::unknown("it has no counters of the work of all its nodes"));
        }
        // Before the sessions that read: the server counts what they did after they have read, in this reading as in the next.
        let own = self.sent();
        let counted = work_of_hosts(self, async |session| facts::work(session).await).await?;
        Ok(counted.map_or_else(ServerWork::unknown, |all| ServerWork::Transactions { all, own }))
    }
}
