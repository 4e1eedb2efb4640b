//! The MySQL protocol, for MySQL, MariaDB and TiDB: our own code, because a load generator's own cost is part of what
//! it measures. A statement costs one write and one read; nothing is allocated, and nothing is copied out of
//! the socket's buffer but the cells of rows that the workload reads.
//!
//! From the bottom: `cutter` cuts bytes into packets, `wire` is a connection of packets, `packets` and `bytes` read them,
//! `auth` and `login` open a session, `execute`, `answer` and `cells` are statements and their results, `literals` and
//! `bulk` are SQL text, `infile` sends rows as a file, `errors` says what an error number means.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use perbuck_load::driver::{CopyScope, DataSize, Driver, ServerWork, SessionId, Settling, TargetFacts};
use perbuck_load::error::DriverError;
use perbuck_load::meter::Meter;
use perbuck_load::preflight::{HostFacts, HostProblem};
use perbuck_load::query::Query;

use perbuck_database::address::TargetProblem;
use perbuck_database::secret::Secret;
use perbuck_database::server::{ServerTarget, SqlTarget};
use perbuck_database::{Database, Dialect, Wishes};
use perbuck_net::reach::{Access, noted, on_a_session, on_host, set_up, work_of_hosts};
use perbuck_net::sent::Sent;

mod backup;
mod blockers;
mod bulk;
mod cluster;
mod copy;
mod dialect;
mod errors;
mod facts;
mod infile;
mod literals;
mod meter;
mod plans;
mod preflight;
mod session;
mod settings;
mod size;
mod status_ports;
mod tidb;
mod wire;
mod written;

#[cfg(test)]
mod answer_tests;
#[cfg(test)]
mod hostile_tests;

use wire::Wire;
use wire::login::login;

pub use dialect::MysqlDialect;
pub use session::MysqlSession;
#[cfg(any(test, feature = "canned"))]
pub use wire::canned;

/// One or more servers of this protocol.
pub type MysqlTarget = SqlTarget<MysqlDialect>;

/// The registration of MySQL, MariaDB and TiDB.
#[derive(Debug)]
pub struct Mysql;

impl Database for Mysql {
    type Target = MysqlTarget;
    type Driver = MysqlDriver;

    const SCHEMES: &'static [&'static str] = &["mysql://", "mariadb://", "tidb://"];
    const FORM: &'static str = "mysql://USER@HOST:PORT/DATABASE";

    fn parse(scheme: &str, rest: &str) -> Option<Result<MysqlTarget, TargetProblem>> {
        let port = match scheme {
            "mysql" | "mariadb" => 3306,
            "tidb" => 4000,
            _ => return None,
        };
        let product = match scheme {
            "mariadb" => Some("MariaDB"),
            "tidb" => Some("TiDB"),
            _ => None,
        };
        let target = |server| SqlTarget { dialect: &MysqlDialect, server: ServerTarget { product, ..server } };
        Some(ServerTarget::parse("mysql", rest, port).map(target))
    }

    fn dialect() -> &'static dyn Dialect {
        &MysqlDialect
    }

    fn driver(target: &MysqlTarget, password: &Secret, wishes: &Wishes) -> Result<MysqlDriver, DriverError> {
        Ok(MysqlDriver { wishes: wishes.clone(), ..MysqlDriver::new(target.server.clone(), password.clone())? })
    }
}

/// A way to reach one or more servers of the MySQL protocol.
#[derive(Debug)]
pub struct MysqlDriver {
    access: Access,
    wishes: Wishes,
    fallbacks: Arc<AtomicU64>,
    /// Statements that its sessions sent, of those that [`facts::WORK`] counts.
    sent: Sent,
    /// SELECTs that read metrics during trials: [`Driver::counters`] leaves them out.
    metered: Arc<AtomicU64>,
}

impl MysqlDriver {
    /// Makes a driver; nothing is connected yet.
    ///
    /// # Errors
    /// `Refused` where the file of certificate authorities cannot be used; the message names it.
    pub fn new(target: ServerTarget, password: Secret) -> Result<Self, DriverError> {
        Ok(Self {
            access: Access::new(target, password)?,
            wishes: Wishes::default(),
            fallbacks: Arc::default(),
            sent: Sent::default(),
            metered: Arc::default(),
        })
    }

    async fn open(&self, id: SessionId, host: &str, port: u16) -> Result<MysqlSession, DriverError> {
        let mut wire = Wire::connect(host, port, self.access.read_timeout()).await?;
        let reader = login(&mut wire, host, &self.access, self.wishes.counts_found_rows).await?;
        let mut session = MysqlSession::new(wire, reader, (Arc::clone(&self.fallbacks), self.sent.session())).await?;
        session.as_text = self.access.target.as_text;
        set_up(&mut session, settings::of_session(&self.access.target.settings, id), settings::set).await?;
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
        self.access.target.addresses()
    }

    fn has_query_host(&self) -> bool {
        self.access.target.query_host.is_some()
    }

    async fn connect_at(&self, id: SessionId, offset: u32) -> Result<MysqlSession, DriverError> {
        let open = async |host: &str, port| match id.index() {
            // Outside of trials, and at the start of each.
            0 => preflight::unless_another((host, port), self.open(id, host, port)).await,
            _ => self.open(id, host, port).await,
        };
        self.access.in_time((id, offset), open).await
    }

    async fn preflight(&self, host: u32) -> Result<HostFacts, DriverError> {
        on_host(self, host, async |session| preflight::preflight(session, self.access.target.product).await).await
    }

    async fn facts(&self) -> Result<TargetFacts, DriverError> {
        let facts = on_a_session(self, async |session| facts::facts(session, &self.wishes.noted_settings).await).await?;
        noted(self, (&self.access.target, facts), settings::in_force).await
    }

    async fn counters(&self) -> Result<BTreeMap<String, i64>, DriverError> {
        let mut counted = on_a_session(self, facts::counters).await?;
        // What a record compares with what its terminals sent.
        if let Some(all) = counted.get_mut("Com_select") {
            *all -= self.metered.load(Ordering::Relaxed) as i64;
        }
        Ok(counted)
    }

    async fn meter(&self, connections: u32) -> Result<Option<Box<dyn Meter>>, DriverError> {
        meter::open(self, connections).await
    }

    async fn settling(&self) -> Result<Option<Settling>, DriverError> {
        on_a_session(self, tidb::settling).await
    }

    async fn write_back(&self, tables: &[String]) -> Result<bool, DriverError> {
        on_a_session(self, async |session| written::write_back(session, tables).await).await
    }

    async fn has_copy(&self) -> Result<bool, DriverError> {
        if self.wishes.backup.is_some() { backup::is_there(self).await } else { copy::is_there(self).await }
    }

    async fn copy_problems(&self, of: &CopyScope) -> Result<Vec<HostProblem>, DriverError> {
        if self.wishes.backup.is_some() { backup::problems(self).await } else { copy::problems(self, of).await }
    }

    async fn save_copy(&self, of: &CopyScope) -> Result<(), DriverError> {
        if self.wishes.backup.is_some() { backup::save(self).await } else { copy::save(self, of).await }
    }

    async fn restore_copy(&self, of: &CopyScope, notes: &[Query]) -> Result<(), DriverError> {
        if self.wishes.backup.is_some() { backup::restore(self).await } else { copy::restore(self, of, notes).await }
    }

    fn drops_first(&self) -> bool {
        self.wishes.backup.is_some()
    }

    async fn drop_copy(&self) -> Result<(), DriverError> {
        if self.wishes.backup.is_some() { backup::remove(self).await } else { copy::remove(self).await }
    }

    async fn data_size(&self, tables: &[String]) -> Result<DataSize, DriverError> {
        on_a_session(self, async |session| size::data_size(session, tables).await).await
    }

    fn sent(&self) -> u64 {
        self.sent.ended()
    }

    async fn work(&self) -> Result<ServerWork, DriverError> {
        let own = self.sent();
        let counted = work_of_hosts(self, async |session| facts::work(session).await).await?;
        Ok(counted.map_or_else(ServerWork::unknown, |all| ServerWork::Statements { all, own }))
    }
}
