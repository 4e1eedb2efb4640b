//! Fills tables: parts in parallel over sessions, rows counted against what the specification says, no batch lost.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::driver::{Driver, Session, SessionId};
use crate::stop::StopToken;
use crate::watch::Waiting;
use crate::workload::{Dataset, Making};

/// How often progress is shown.
const SHOW: Duration = Duration::from_millis(100);

mod check;
pub mod csv;
mod failure;
mod fill;
pub mod ledger;
mod progress;

pub use check::{CheckResult, make_room, run_check};
pub use failure::{LoadError, on_loop, server};
use failure::{execute, retry};
use fill::{Filling, fill, finish};
use ledger::{Ledger, PartState};
pub use progress::LoadProgress;
use progress::Shared;

/// A load of a data set.
pub struct Load<'a, D: Driver> {
    /// How the database is reached.
    pub driver: &'a D,
    /// What is loaded.
    pub dataset: &'a dyn Dataset,
    /// What makes that of it which has no statements and no rows.
    pub making: Option<&'a dyn Making<D::Session>>,
    /// Records how far the load is, so that [`Self::resume`] can continue after a failure. The caller removes it when it has
    /// recorded that the data are complete.
    pub ledger: Option<&'a dyn Ledger>,
    /// Sessions at the same time, at most.
    pub sessions: u32,
    /// Who is waited for; its token ends the load.
    pub waiting: &'a Waiting,
}

impl<D: Driver> Load<'_, D> {
    /// Drops the tables of the data set, makes them again, fills and verifies them.
    ///
    /// # Errors
    /// The first failure; the tables are then incomplete, and the caller must not call them ready.
    pub fn run(&self, progress: &mut dyn FnMut(LoadProgress)) -> Result<(), LoadError> {
        self.waiting.on_loop("making the tables", self.create())?;
        self.resume(&[], progress)
    }

    /// Loads what the `states` of the ledger do not have, after a load was cut off; all of it where there are none.
    ///
    /// # Errors
    /// As [`Self::run`], and where the ledger does not fit.
    pub fn resume(&self, states: &[PartState], progress: &mut dyn FnMut(LoadProgress)) -> Result<(), LoadError> {
        let tables = self.dataset.tables();
        let (parts, count) = (self.dataset.parts(), tables.len() as u32);
        let (shared, failed) = (Shared::after(states), StopToken::default());
        let most = self.sessions.min(self.driver.load_sessions());
        let (fillers, finishers) = (most.clamp(1, parts.max(1)), most.min(self.driver.finish_sessions()));
        let filling = Filling {
            dataset: self.dataset,
            tables: &tables,
            ledger: self.ledger,
            states,
            shared: &shared,
            transaction_bytes: self.driver.load_transaction_bytes(),
            crowded: fillers > count,
            stops: [&self.waiting.stop, &failed],
        };
        let mut show = || progress(shared.progress(parts, count));
        in_parallel(fillers, &failed, &mut show, &|i| {
            self.waiting.on_loop("loading", fill(self.driver, &filling, SessionId::Own(i)))
        })?;
        let finish = |i| self.waiting.on_loop("finishing the load", finish(self.driver, &filling, SessionId::Own(i)));
        in_parallel(finishers.clamp(1, (2 * count).max(1)), &failed, &mut show, &finish)
    }

    /// Makes the tables again, then the ledger: a ledger means that the tables exist.
    async fn create(&self) -> Result<(), LoadError> {
        let (tables, noting) = (self.dataset.tables(), || server("writing the ledger of the load"));
        let mut session = self.driver.connect(SessionId::Own(0)).await.map_err(server("connecting to load data"))?;
        session.lift_timeout();
        if let Some(ledger) = self.ledger {
            execute(&mut session, &ledger.drop()).await.map_err(noting())?;
        }
        for table in tables.iter().rev().map(|t| &t.bulk.name) {
            let dropped = retry(&mut session, async |session| session.drop_table(table).await).await;
            dropped.map_err(server(format!("dropping table {table}")))?;
        }
        for table in &tables {
            for sql in &table.create {
                execute(&mut session, sql).await.map_err(server(format!("creating table {}", table.bulk.name)))?;
            }
        }
        if let Some(making) = self.making {
            session = making.making(session).await.map_err(server("making the tables"))?;
        }
        if let Some(ledger) = self.ledger {
            ledger::create(&mut session, ledger, self.dataset.parts()).await.map_err(noting())?;
        }
        session.close().await;
        Ok(())
    }
}

/// Runs the same work on several threads; the first failure stops the others.
fn in_parallel(
    threads: u32,
    failed: &StopToken,
    show: &mut dyn FnMut(),
    work: &(dyn Fn(u32) -> Result<(), LoadError> + Sync),
) -> Result<(), LoadError> {
    thread::scope(|scope| {
        // Each thread holds a sender; the channel is closed when the last thread has ended.
        let (running, ended) = mpsc::channel::<()>();
        let spawn = |i| {
            let running = running.clone();
            let spawned = thread::Builder::new().name("fill".to_owned()).spawn_scoped(scope, move || {
                let _running = running;
                work(i).inspect_err(|_| failed.request())
            });
            spawned.map_err(|e| {
                failed.request();
                LoadError::Machine(format!("cannot start a loading thread: {e}"))
            })
        };
        let threads: Vec<_> = (0..threads).map(spawn).collect();
        drop(running);
        while ended.recv_timeout(SHOW) == Err(RecvTimeoutError::Timeout) {
            show();
        }
        // What was loaded since.
        show();
        let join = |t: Result<thread::ScopedJoinHandle<'_, _>, LoadError>| {
            t?.join().unwrap_or_else(|_| Err(LoadError::WorkerDied("it panicked".to_owned())))
        };
        let results: Vec<Result<(), LoadError>> = threads.into_iter().map(join).collect();
        // When one thread fails, the others report an interruption; the failure is the reason.
        let worst = results.into_iter().filter_map(Result::err).min_by_key(|e| *e == LoadError::Interrupted);
        worst.map_or(Ok(()), Err)
    })
}

/// The rows of a table.
pub async fn count<S: Session>(session: &mut S, table: &str) -> Result<u64, LoadError> {
    session.count_rows(table).await.map_err(server(format!("counting the rows of {table}")))
}

#[cfg(test)]
mod tests;
