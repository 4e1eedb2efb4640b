//! A simulated database for tests: programmable service times, errors, losses and stalls, and no socket.
//!
//! It sleeps on the clock of the event loop, so under a simulated one a minute takes no time and every duration is
//! exact.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use perbuck_event::{Moment, now, sleep_until, yield_now};

use crate::driver::{Access, BulkTable, Driver, Effect, Means, Session, SessionId, TargetFacts};
use crate::error::{DriverError, ErrorClass, ErrorCode};
use crate::statement::{Catalogue, StatementId};
use crate::values::{Params, Rows};

/// What the simulated database does.
#[derive(Debug, Clone)]
pub struct SimDriver {
    /// Service time of every statement.
    pub service: Duration,
    /// Every n-th statement of a session fails with the error; none where empty.
    pub failing: Vec<(u64, DriverError)>,
    /// A time after the start of each session in which no statement ends.
    pub stall: Option<Range<Duration>>,
    /// Connections beyond this number are refused.
    pub max_connections: u32,
    /// The servers that connections are spread over, where there are several.
    pub hosts: Option<Arc<SimHosts>>,
    /// How preparing ahead ends.
    pub preparing: Result<(), DriverError>,
    /// Sessions that were asked to prepare their statements ahead.
    pub prepared: Arc<AtomicU32>,
}

/// Several simulated servers of one database, one of which may be away for a time.
#[derive(Debug)]
pub struct SimHosts {
    /// How many.
    pub count: u32,
    /// Which one is away, from when to when after the first connection was opened.
    pub down: (u32, Range<Duration>),
    /// When the first connection was opened.
    started: OnceLock<Moment>,
    /// When and where connections were opened.
    opened: Mutex<Vec<(Duration, u32)>>,
}

impl SimHosts {
    /// So many servers, of which one is away for a time.
    pub fn new(count: u32, down: (u32, Range<Duration>)) -> Arc<Self> {
        Arc::new(Self { count, down, started: OnceLock::new(), opened: Mutex::default() })
    }

    /// When and where connections were opened, in order, as time after the first one.
    pub fn opened(&self) -> Vec<(Duration, u32)> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn since_the_first(&self) -> Duration {
        now() - *self.started.get_or_init(now)
    }

    /// Lost where that server is away now.
    fn check(&self, host: u32) -> Result<(), DriverError> {
        let (down, when) = &self.down;
        if *down == host && when.contains(&self.since_the_first()) {
            return Err(DriverError::client(ErrorClass::Lost, "unreachable", format!("simulated server {host} is away")));
        }
        Ok(())
    }
}

impl Default for SimDriver {
    fn default() -> Self {
        Self {
            service: Duration::from_millis(1),
            failing: Vec::new(),
            stall: None,
            max_connections: u32::MAX,
            hosts: None,
            preparing: Ok(()),
            prepared: Arc::default(),
        }
    }
}

impl SimDriver {
    /// An error of the given class, under a code of its own.
    pub fn error(class: ErrorClass, number: i32) -> DriverError {
        DriverError::new(class, ErrorCode::Number("sim", number), format!("simulated error {number}"))
    }
}

/// A simulated connection.
#[derive(Debug)]
pub struct SimSession {
    driver: SimDriver,
    opened: Moment,
    statements: Cell<u64>,
    host: u32,
}

impl Driver for SimDriver {
    type Session = SimSession;

    const MEANS: Means = Means { values: false, ..Means::ALL };

    async fn connect(&self, id: SessionId) -> Result<SimSession, DriverError> {
        self.connect_at(id, 0).await
    }

    fn hosts(&self) -> Vec<String> {
        let count = self.hosts.as_ref().map_or(0, |hosts| hosts.count);
        (0..count).map(|host| format!("server {host}")).collect()
    }

    async fn connect_at(&self, id: SessionId, offset: u32) -> Result<SimSession, DriverError> {
        if id.index() >= self.max_connections {
            return Err(Self::error(ErrorClass::Refused, 1040));
        }
        let host = self.hosts.as_ref().map_or(0, |hosts| (id.index() + offset) % hosts.count);
        if let Some(hosts) = &self.hosts {
            hosts.check(host)?;
            let at = hosts.since_the_first();
            hosts.opened.lock().unwrap_or_else(PoisonError::into_inner).push((at, host));
        }
        Ok(SimSession { driver: self.clone(), opened: now(), statements: Cell::new(0), host })
    }

    async fn facts(&self) -> Result<TargetFacts, DriverError> {
        Ok(TargetFacts { version: "simulated".to_owned(), ..TargetFacts::default() })
    }
}

impl SimSession {
    /// One statement: waits for its service time and a stall, then succeeds or fails as programmed.
    async fn statement(&self) -> Result<(), DriverError> {
        let number = self.statements.get() + 1;
        self.statements.set(number);
        if self.driver.service.is_zero() && self.driver.stall.is_none() {
            // Like an answer that is there at once: the others run first.
            yield_now().await;
        } else {
            let mut ends = now() + self.driver.service;
            if let Some(stall) = &self.driver.stall {
                let (from, to) = (self.opened + stall.start, self.opened + stall.end);
                if ends > from && now() < to {
                    ends = to + self.driver.service;
                }
            }
            sleep_until(ends).await;
        }
        if let Some(hosts) = &self.driver.hosts {
            hosts.check(self.host)?;
        }
        match self.driver.failing.iter().find(|(every, _)| number.is_multiple_of(*every)) {
            Some((_, error)) => Err(error.clone()),
            None => Ok(()),
        }
    }
}

impl Session for SimSession {
    async fn prepare(&mut self, _catalogue: &Arc<Catalogue>) -> Result<(), DriverError> {
        Ok(())
    }

    async fn prepare_ahead(&mut self) -> Result<(), DriverError> {
        self.driver.prepared.fetch_add(1, Ordering::Relaxed);
        self.driver.preparing.clone()
    }

    async fn execute(&mut self, _id: StatementId, _params: &Params, rows: &mut Rows) -> Result<Effect, DriverError> {
        rows.start(false);
        self.statement().await?;
        rows.end_row();
        Ok(Effect::ResultSet)
    }

    async fn begin(&mut self, _access: Access) -> Result<(), DriverError> {
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), DriverError> {
        Ok(())
    }

    async fn rollback(&mut self) -> Result<bool, DriverError> {
        Ok(true)
    }

    async fn query(&mut self, _sql: &str, rows: &mut Rows) -> Result<Effect, DriverError> {
        rows.start(true);
        self.statement().await?;
        Ok(Effect::Affected(0))
    }

    async fn insert_rows(&mut self, table: &BulkTable, cells: &Params) -> Result<u64, DriverError> {
        self.statement().await?;
        Ok((cells.len() / table.columns.len().max(1)) as u64)
    }

    async fn close(self) {}
}
