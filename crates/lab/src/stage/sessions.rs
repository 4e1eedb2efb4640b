//! Sessions of a stage between trials: on the first server of its target, or on a chosen one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use perbuck_database::Dialect;
use perbuck_database::dialect::Feature;
use perbuck_load::driver::{DataSize, Driver, Effect, ServerWork, Session, SessionId, Settling, TargetFacts};
use perbuck_load::error::{Cause, DriverError, ErrorClass};
use perbuck_load::loader::ledger::{Ledger, PartState};
use perbuck_load::loader::{self, CheckResult, LoadError};
use perbuck_load::query::Query;
use perbuck_load::values::Rows;
use perbuck_load::watch::{self, Waiting};
use perbuck_load::workload::{Check, TableSpec};

use super::Server;
use crate::data::{self, DataState, FRESH, LoadLedger, Notes, server};
use crate::error::LabError;
use crate::metering::Metering;

/// The way out of a load that was cut off.
pub const GOES_ON: &str = "what was committed is kept: run the same command again, and the load goes on from there";

/// Sessions with the servers of a contender. It does not know the workload: its code is there once for each driver.
pub(super) struct Sessions<D> {
    pub(super) waiting: Waiting,
    pub(super) notes: Notes,
    pub(super) driver: Arc<D>,
}

impl<D: Driver> Sessions<D> {
    /// What a server answers to a question of the driver.
    pub(super) fn ask<R>(&self, doing: &str, question: impl Future<Output = Result<R, DriverError>>) -> Result<R, LabError> {
        self.waiting.on_loop(doing, async { question.await.map_err(server(doing)) }).map_err(|e| self.failed(&e))
    }

    pub(super) fn with_session<R>(
        &self,
        doing: &str,
        work: impl AsyncFnOnce(&mut D::Session) -> Result<R, LoadError>,
    ) -> Result<R, LabError> {
        let result = self.waiting.on_loop(doing, async {
            let mut session = self.driver.connect(SessionId::Own(0)).await.map_err(server(doing))?;
            session.lift_timeout();
            let result = work(&mut session).await?;
            session.close().await;
            Ok(result)
        });
        result.map_err(|e| self.failed(&e))
    }

    fn within<R>(
        &self,
        (id, doing): (SessionId, &str),
        limit: Option<Duration>,
        work: impl AsyncFnOnce(&mut D::Session) -> Result<R, DriverError>,
    ) -> Result<R, DriverError> {
        answer(&self.waiting, doing, async {
            let asked = async {
                let mut session = self.driver.connect(id).await?;
                session.lift_timeout();
                let done = work(&mut session).await?;
                session.close().await;
                Ok(done)
            };
            let Some(limit) = limit else { return asked.await };
            let late = || DriverError::client(ErrorClass::Lost, "timeout", format!("no answer came within {limit:?}"));
            watch::within(limit, asked).await.unwrap_or_else(|| Err(late()))
        })
    }

    pub(super) fn with_host<R>(
        &self,
        (host, doing): (u32, &str),
        work: impl AsyncFnOnce(&mut D::Session) -> Result<R, DriverError>,
    ) -> Result<R, DriverError> {
        answer(&self.waiting, doing, async {
            let mut session = self.driver.connect_at(SessionId::Own(0), host).await?;
            let done = work(&mut session).await?;
            session.close().await;
            Ok(done)
        })
    }

    pub(super) fn failed(&self, error: &LoadError) -> LabError {
        LabError::load(&self.waiting.title, error)
    }

    pub(super) fn noted(&self) -> Result<Option<DataState>, LabError> {
        self.with_session("looking at its data", async |s| self.notes.read(s).await)
    }

    pub(super) fn state(&self, tables: &[TableSpec], grows: bool) -> Result<DataState, LabError> {
        self.with_session("looking at its data", async |s| self.notes.state(s, tables, grows).await)
    }

    /// Notes that a load starts; says whether it can go on when it is cut off.
    pub(super) fn start_load(&self) -> Result<bool, LabError> {
        self.with_session("preparing to load", async |s| self.notes.start(s).await)?;
        Ok(self.notes.dialect.lacks(Feature::Sql).is_none())
    }

    pub(super) fn mark(&self, doing: &str, used_by: &str) -> Result<(), LabError> {
        self.with_session(doing, async |s| self.notes.write(s, used_by).await)
    }

    /// How far the parts of a load of these tables are that was cut off, if it can go on.
    pub(super) fn part_states(&self, tables: &[TableSpec], parts: u32) -> Result<Option<Vec<PartState>>, LabError> {
        self.with_session("looking at an unfinished load", async |s| self.notes.unfinished(s, tables, parts).await)
    }

    /// Notes that the data are there, and then removes the ledger. In the other order, a run that is cut off in between would
    /// have to load again.
    pub(super) fn loaded(&self, ledger: &LoadLedger) -> Result<(), LabError> {
        self.mark("noting the load", FRESH)?;
        self.execute("removing the ledger of the load", &ledger.drop())
    }

    pub(super) fn cut_off(&self, error: &LoadError) -> LabError {
        let failure = self.failed(error);
        match error {
            // What perbuck itself asks the server to raise, of data that going on does not mend.
            LoadError::Server { error, .. } if error.cause != Some(Cause::Raised) => failure.or_help(GOES_ON),
            _ => failure.or_reload(),
        }
    }

    pub(super) fn rows(&self, names: Vec<String>) -> Result<BTreeMap<String, u64>, LabError> {
        self.with_session("counting rows", async |s| {
            let mut rows = BTreeMap::new();
            for name in names {
                let count = loader::count(s, &name).await?;
                rows.insert(name, count);
            }
            Ok(rows)
        })
    }

    pub(super) fn run_checks(
        &self,
        room: &[&str],
        checks: Vec<Check>,
        show: &mut dyn FnMut(&CheckResult),
    ) -> Result<Vec<CheckResult>, LabError> {
        self.with_session("checking its data", async |s| {
            loader::make_room(s, room).await?;
            let mut results = Vec::new();
            for check in checks {
                let result = loader::run_check(s, &check).await?;
                show(&result);
                results.push(result);
            }
            Ok(results)
        })
    }
}

impl<D: Driver> Server for Sessions<D> {
    fn reach(&self) -> Result<(), DriverError> {
        self.with_host((0, "reaching the server"), async |session| in_a_database(session, self.notes.dialect).await)
    }

    fn hosts(&self) -> Vec<String> {
        self.driver.hosts()
    }

    fn facts(&self) -> Result<TargetFacts, LabError> {
        self.ask("asking for its version", self.driver.facts())
    }

    fn counters(&self) -> Result<BTreeMap<String, i64>, LabError> {
        self.ask("reading its counters", self.driver.counters())
    }

    fn meter(&self, connections: u32) -> Metering {
        Metering::start(self.driver.clone(), connections)
    }

    fn settling(&self) -> Result<Option<Settling>, LabError> {
        self.ask("asking whether it is at rest", self.driver.settling())
    }

    fn write_back(&self, tables: &[String]) -> Result<bool, DriverError> {
        answer(&self.waiting, "writing what the load left in memory", self.driver.write_back(tables))
    }

    fn data_size(&self, tables: &[String]) -> Result<DataSize, LabError> {
        self.ask("asking for the size of its data", self.driver.data_size(tables))
    }

    fn work(&self) -> Result<ServerWork, LabError> {
        self.ask("reading the counters of its work", self.driver.work())
    }

    fn sent(&self) -> u64 {
        self.driver.sent()
    }

    fn text_fallbacks(&self) -> u64 {
        self.driver.text_fallbacks()
    }

    fn cell_on_host(&self, host: u32, sql: &str) -> Result<Option<String>, DriverError> {
        self.with_host((host, "reading or changing a setting"), async |session| {
            let mut rows = Rows::default();
            session.query(sql, &mut rows).await?;
            if rows.is_empty() || rows.is_null(0, 0)? { Ok(None) } else { rows.display(0, 0).map(Some) }
        })
    }

    fn execute(&self, doing: &str, sql: &str) -> Result<(), LabError> {
        self.query(doing, &sql.into())
    }

    fn query(&self, doing: &str, query: &Query) -> Result<(), LabError> {
        self.with_session(doing, async |s| data::query(s, doing, query.clone()).await.map(drop))
    }

    fn row(&self, of: (SessionId, &str), query: &Query, limit: Option<Duration>) -> Result<(Effect, Vec<String>), DriverError> {
        self.within(of, limit, async |session| {
            let mut rows = Rows::default();
            let effect = query.ask(session, &mut rows).await?;
            let first = if rows.is_empty() { 0 } else { rows.width() };
            Ok((effect, (0..first).map(|column| rows.display(0, column)).collect::<Result<_, _>>()?))
        })
    }

    fn drop_table(&self, doing: &str, name: &str, limit: Option<Duration>) -> Result<(), LabError> {
        let dropped = self.within((SessionId::Own(0), doing), limit, async |session| session.drop_table(name).await);
        dropped.map_err(|e| self.failed(&server(doing)(e)))
    }

    fn number(&self, doing: &str, sql: &str) -> Result<i64, LabError> {
        self.with_session(doing, async |s| data::number(s, doing, sql).await)
    }

    fn scan(&self, lists: &[String], show: &mut dyn FnMut(usize, usize)) -> Result<(), LabError> {
        const DOING: &str = "reading its data into memory";
        self.with_session(DOING, async |s| {
            for (i, list) in lists.iter().enumerate() {
                show(i + 1, lists.len());
                let scans = data::query(s, DOING, list.as_str()).await?;
                for row in 0..scans.len() as usize {
                    let scan = scans.display(row, 0).map_err(server(DOING))?;
                    data::query(s, DOING, scan).await?;
                }
            }
            Ok(())
        })
    }

    fn checks(&self, checks: Vec<Check>) -> Result<Vec<CheckResult>, LabError> {
        self.run_checks(&[], checks, &mut |_| {})
    }

    fn has_table(&self, name: &str) -> Result<bool, LabError> {
        self.with_session("looking for tables", async |s| data::exists(s, self.notes.dialect, name).await)
    }
}

/// Waits for the answer of a server on an event loop of its own.
pub(crate) fn answer<R>(
    waiting: &Waiting,
    doing: &str,
    question: impl Future<Output = Result<R, DriverError>>,
) -> Result<R, DriverError> {
    waiting.on_loop(doing, async { question.await.map_err(server("")) }).map_err(|failed| match failed {
        LoadError::Server { error, .. } => error,
        LoadError::Interrupted => DriverError::client(ErrorClass::Fatal, "stopped", "interrupted").because(Some(Cause::Stopped)),
        other => DriverError::client(ErrorClass::Fatal, "machine", other.to_string()),
    })
}

/// Makes sure that a session has the database that it asked for, where the server does not say so at the login. Then the error has
/// the code by which other servers say it.
pub(super) async fn in_a_database<S: Session>(session: &mut S, dialect: &dyn Dialect) -> Result<(), DriverError> {
    let Some((ask, code)) = dialect.database_exists() else { return Ok(()) };
    let mut rows = Rows::default();
    session.query(ask, &mut rows).await?;
    if !rows.is_empty() {
        return Ok(());
    }
    let message = "the database that the target names does not exist";
    Err(DriverError::new(ErrorClass::Refused, code, message).because(Some(Cause::NoDatabase)))
}
