//! The trials of a stage: of all the load, of a share of it, and what one process has to do for its share afterwards.

use std::sync::Arc;
use std::time::Duration;

use perbuck_core::run_record::{AuditValue, Measured};
use perbuck_core::units::Seed;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{Driver, Session as _, SessionId};
use perbuck_load::error::DriverError;
use perbuck_load::executor::{Agent, Coordinator, WorkerOutcome, run_apart, run_share, run_trial};
use perbuck_load::observer::Observer;
use perbuck_load::share::Share;
use perbuck_load::statement::{Catalogue, Verb};
use perbuck_load::stop::StopToken;
use perbuck_load::trial::{RunError, TrialOutcome, TrialSpec};
use perbuck_load::workload::{NewRecords, Terminal as _, TerminalId, Workload};

use super::{Joined, Sessions, answer};
use crate::data::server;
use crate::error::LabError;

/// The trials of a workload against a contender.
pub trait Trials {
    /// Runs one trial, whose load agents apply; they learn of the start so long before it comes.
    ///
    /// # Errors
    /// As [`Self::run`].
    fn run_apart(
        &self,
        spec: &TrialSpec,
        agents: (Vec<Box<dyn Agent + '_>>, Duration),
        stop: &StopToken,
        observer: &mut dyn Observer,
    ) -> Result<TrialOutcome, RunError>;
    /// Applies this process's share of a trial.
    ///
    /// # Errors
    /// As [`Self::run`].
    fn run_share(
        &self,
        spec: (&TrialSpec, bool),
        stop: &StopToken,
        coordinator: &mut dyn Coordinator,
    ) -> Result<Vec<WorkerOutcome>, RunError>;
    /// Runs one trial.
    ///
    /// # Errors
    /// What ended it.
    fn run(&self, spec: &TrialSpec, stop: &StopToken, observer: &mut dyn Observer) -> Result<TrialOutcome, RunError>;
    /// How a share that was applied here numbered its new records; `None` where the workload numbers none.
    fn new_records(&self, share: Share) -> Option<NewRecords>;
    /// Inserts the records of such a share with numbers below `up_to` that the server did not acknowledge; how many.
    fn fill(&self, share: Share, up_to: u64) -> Result<u64, LabError>;
    /// Asks for the plan of a query on a session that is as a terminal's, and ends it after the limit: a line for each row, tabs between
    /// cells.
    ///
    /// # Errors
    /// What the database says, or that the user stops.
    fn explain(&self, doing: &str, sql: &str, limit: Duration) -> Result<String, DriverError>;
    /// Starts a terminal on data that are there, which prepares the statements of a script, and runs no transaction.
    ///
    /// # Errors
    /// What the database says of the first statement that cannot be prepared, or that the user stops.
    fn try_statements(&self, seed: Seed) -> Result<(), DriverError>;
    /// What an auditor looks at in a measured window.
    fn audit(&self, measured: &Measured) -> Result<Vec<AuditValue>, LabError>;
}

impl<D: Driver, W: Workload> Trials for Joined<D, W> {
    fn run(&self, spec: &TrialSpec, stop: &StopToken, observer: &mut dyn Observer) -> Result<TrialOutcome, RunError> {
        run_trial(spec, &self.sessions.driver, &self.workload, stop, observer)
    }

    fn run_apart(
        &self,
        spec: &TrialSpec,
        agents: (Vec<Box<dyn Agent + '_>>, Duration),
        stop: &StopToken,
        observer: &mut dyn Observer,
    ) -> Result<TrialOutcome, RunError> {
        run_apart(spec, &*self.workload, agents, stop, observer)
    }

    fn run_share(
        &self,
        spec: (&TrialSpec, bool),
        stop: &StopToken,
        coordinator: &mut dyn Coordinator,
    ) -> Result<Vec<WorkerOutcome>, RunError> {
        run_share(spec, &self.sessions.driver, &self.workload, stop, coordinator)
    }

    fn new_records(&self, share: Share) -> Option<NewRecords> {
        self.workload.new_records(share)
    }

    fn fill(&self, share: Share, up_to: u64) -> Result<u64, LabError> {
        const DOING: &str = "inserting the records that the trial left out";
        let Sessions { driver, waiting, .. } = &*self.sessions;
        let filled = waiting.on_loop(DOING, async {
            let opened = async {
                let session = driver.connect(SessionId::Own(share.number)).await?;
                Connection::open(session, self.workload.catalogue()).await
            };
            let mut connection = opened.await.map_err(server(DOING))?;
            let rows = self.workload.fill(&mut connection, share, up_to).await.map_err(server(DOING))?;
            connection.close().await;
            Ok(rows)
        });
        filled.map_err(|e| self.sessions.failed(&e))
    }

    fn explain(&self, doing: &str, sql: &str, limit: Duration) -> Result<String, DriverError> {
        // Where queries run beside a load, a terminal beside it asks them.
        let (of, catalogue) = match self.workload.extra_terminals() {
            0 => (1, self.workload.catalogue()),
            _ => (0, self.workload.extra_catalogue(0)),
        };
        explained(&self.sessions, doing, (self.workload.session(0, of), catalogue), (sql, limit))
    }

    fn try_statements(&self, seed: Seed) -> Result<(), DriverError> {
        let Sessions { driver, waiting, .. } = &*self.sessions;
        answer(waiting, "preparing the statements", async {
            let catalogue = self.workload.catalogue();
            // What is made while it runs, as by a script in Lua, is not known yet.
            if catalogue.statements().is_empty() {
                return Ok(());
            }
            let mut connection = Connection::open(driver.connect(self.workload.session(0, 1)).await?, catalogue).await?;
            let mut terminal = self.workload.terminal(TerminalId { index: 0, of: 1, seed, share: Share::WHOLE });
            let tried = terminal.start(&mut connection).await;
            connection.close().await;
            tried
        })
    }

    fn audit(&self, measured: &Measured) -> Result<Vec<AuditValue>, LabError> {
        let title = &self.sessions.waiting.title;
        self.workload.audit(measured).map_err(|e| LabError::failed(format!("{title}: {e}"), ""))
    }
}

/// What a query returns on a session that is as a terminal's.
fn explained<D: Driver>(
    sessions: &Sessions<D>,
    doing: &str,
    (id, catalogue): (SessionId, Arc<Catalogue>),
    (sql, limit): (&str, Duration),
) -> Result<String, DriverError> {
    answer(&sessions.waiting, doing, async {
        let mut session = sessions.driver.connect(id).await?;
        session.lift_timeout();
        let mut connection = Connection::open(session, catalogue).await?;
        let rows = connection.run(Verb::Select, sql, limit).await?;
        let cell = |row, column| if rows.is_null(row, column)? { Ok(String::new()) } else { rows.display(row, column) };
        let line = |row| (0..rows.width()).map(|column| cell(row, column)).collect::<Result<Vec<_>, DriverError>>();
        let lines = (0..rows.len() as usize).map(line).collect::<Result<Vec<_>, _>>()?;
        connection.close().await;
        Ok(lines.into_iter().map(|cells| cells.join("\t")).collect::<Vec<_>>().join("\n"))
    })
}
