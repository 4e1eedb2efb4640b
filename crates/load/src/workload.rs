//! What a benchmark must be able to do: make terminals that issue transactions, describe its data, and check it.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use perbuck_core::rng::OpRng;
use perbuck_core::run_record::{AuditValue, Measured};
use perbuck_core::units::Seed;
use serde::{Deserialize, Serialize};

use crate::connection::Connection;
use crate::driver::{BulkTable, Means, Session, SessionId};
use crate::error::DriverError;
use crate::latch::Latch;
use crate::query::Query;
use crate::share::Share;
use crate::statement::Catalogue;
use crate::values::Params;
use crate::window::Window;

/// Which terminal of a trial.
#[derive(Debug, Clone, Copy)]
pub struct TerminalId {
    /// From 0; also the number of its random streams.
    pub index: u32,
    /// How many terminals the trial has.
    pub of: u32,
    /// The seed of the trial's operations.
    pub seed: Seed,
    /// The share of the trial that it belongs to: that of its process.
    pub share: Share,
}

impl TerminalId {
    /// Whether it is the first terminal of its share, which does once what each process has to do.
    pub fn is_first(&self) -> bool {
        self.index == self.share.number
    }
}

/// The new records of a trial, as one share of it numbered them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewRecords {
    /// The first number that any share may give out; all shares must have found the same.
    pub first: u64,
    /// The number after the last that this share gave out.
    pub end: u64,
    /// The first of its numbers whose record the server did not acknowledge.
    pub acknowledged: u64,
}

/// One operation of a terminal: its number and its random stream, both the same when it is tried again.
#[derive(Debug, Clone)]
pub struct Operation {
    /// From 0.
    pub sequence: u64,
    /// A function of (seed, terminal, sequence).
    pub rng: OpRng,
}

/// A completed transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Position in [`Workload::kinds`].
    pub kind: u8,
    /// True where the workload itself rolled it back (TPC-C 2.4.1.4); it still counts as completed.
    pub rolled_back: bool,
    /// What else the workload counts of it; see [`Workload::fact_names`].
    pub facts: Facts,
}

/// What a workload counts of one transaction: added up by kind, each under its name of [`Workload::fact_names`].
pub type Facts = [u16; 4];

impl Done {
    /// One that was committed, and of which nothing else is counted.
    #[inline]
    pub fn committed(kind: u8) -> Self {
        Self { kind, rolled_back: false, facts: Facts::default() }
    }
}

/// How long the user of a terminal lets pass outside of a transaction, in nanoseconds: no part of its service time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pauses {
    /// Before it starts (keying, 5.2.5.2 of TPC-C).
    pub before_ns: u64,
    /// After its end (thinking, 5.2.5.4 of TPC-C).
    pub after_ns: u64,
}

/// A benchmark with fixed parameters, for one dialect.
pub trait Workload: Send + Sync + 'static {
    /// The state machine of one connection.
    type Terminal: Terminal;

    /// What it needs of a driver whatever its options are.
    const NEEDS: Means = Means::ALL;

    /// Makes what [`Dataset::tables`] has no statements and no rows for, once the statements were executed; returns the session.
    fn make<S: Session>(&self, session: S) -> impl Future<Output = Result<S, DriverError>> {
        std::future::ready(Ok(session))
    }

    /// Every statement that its transactions use.
    fn catalogue(&self) -> Arc<Catalogue>;

    /// Names of the kinds of transaction; asked for before and after a trial.
    fn kinds(&self) -> Vec<&str>;

    /// Names of the facts that it counts, by kind; kinds that are missing, and facts without a name, are not recorded.
    fn fact_names(&self) -> &'static [&'static [&'static str]] {
        &[]
    }

    /// Whether every terminal will use every statement of the catalogue. Then all of them are prepared before the common start: otherwise
    /// first uses would fill the window, for longer the more connections and statements there are.
    fn prepares_ahead(&self) -> bool {
        false
    }

    /// Whether its terminals pause (see [`Terminal::pauses`]): then connections are idle by intention.
    fn pauses(&self) -> bool {
        false
    }

    /// Whether a transaction that failed is one of those after which a trial ends, where it ends after a number of them. Else another one
    /// takes its place.
    fn counts_failed(&self) -> bool {
        false
    }

    /// Where each of so many terminals has its own times, in a trial of streams: when the last transaction is due, in nanoseconds from the
    /// common start. See [`Terminal::due_ns`].
    fn schedule_ns(&self, _terminals: u32) -> Option<u64> {
        None
    }

    /// Whether its connections keep the timeout of answers in a trial of streams, whose statements may take long otherwise.
    fn keeps_timeout(&self) -> bool {
        false
    }

    /// Connections that it needs beside those of the load, such as that of a refresh stream. Their terminals have the numbers after those of
    /// the load.
    fn extra_terminals(&self) -> u32 {
        0
    }

    /// Whom the connection of a terminal serves, in a load of so many; those beside it have the numbers from there on.
    fn session(&self, index: u32, _of: u32) -> SessionId {
        SessionId::Terminal(index)
    }

    /// What such a terminal has in place of the catalogue.
    fn extra_catalogue(&self, _extra: u32) -> Arc<Catalogue> {
        self.catalogue()
    }

    /// What an auditor looks at in a measured window, where a specification says so.
    ///
    /// # Errors
    /// Says which histogram cannot be decoded.
    fn audit(&self, _measured: &Measured) -> Result<Vec<AuditValue>, String> {
        Ok(Vec::new())
    }

    /// A terminal at its start.
    fn terminal(&self, id: TerminalId) -> Self::Terminal;

    /// How a share that has ended here numbered its new records; `None` where its terminals number none.
    fn new_records(&self, _share: Share) -> Option<NewRecords> {
        None
    }

    /// Inserts what is missing of the records of a share that has ended here: those with numbers below `up_to` that the server did not
    /// acknowledge. Shares do not progress evenly; after this the numbers of all of them leave none out. Says how many it inserted.
    ///
    /// # Errors
    /// The server's answer.
    fn fill<S: Session>(
        &self,
        _connection: &mut Connection<S>,
        _share: Share,
        _up_to: u64,
    ) -> impl Future<Output = Result<u64, DriverError>> {
        std::future::ready(Ok(0))
    }
}

/// The per-connection state machine. What it does is a function of its [`TerminalId`] and the operation.
pub trait Terminal: 'static {
    /// Looks up what its transactions must know of the data, such as where the ids of a table end: once, before any terminal
    /// of the trial starts. What it asks by [`Connection::ask`] is no statement of the trial.
    ///
    /// # Errors
    /// That no transaction could succeed, or the server's answer; either ends the run.
    fn start<S: Session>(&mut self, _connection: &mut Connection<S>) -> impl Future<Output = Result<(), DriverError>> {
        std::future::ready(Ok(()))
    }

    /// Is given what the terminals of a trial wait for each other by, before any of them starts. Only in a trial of streams, and beside the load.
    fn join(&mut self, _latch: Latch) {}

    /// Is told when the measured window opens and how long it is, before its first transaction.
    fn window(&mut self, _window: &Window) {}

    /// Waits until its transaction with this number may start; `false` where it has none. Only in a trial of streams, and beside the load.
    fn may_start(&mut self, _sequence: u64) -> impl Future<Output = bool> {
        std::future::ready(true)
    }

    /// When its transaction with this number is due, in nanoseconds from the common start; `None` where it starts as soon as the one before
    /// has ended. Only in a trial of streams; see [`Workload::schedule_ns`].
    #[inline]
    fn due_ns(&mut self, _sequence: u64) -> Option<u64> {
        None
    }

    /// Sends what it still holds back, after its last transaction; counts where it ends, and belongs to no transaction.
    ///
    /// # Errors
    /// The server's answer; it ends the run, since transactions that counted are lost then.
    fn finish<S: Session>(&mut self, _connection: &mut Connection<S>) -> impl Future<Output = Result<(), DriverError>> {
        std::future::ready(Ok(()))
    }

    /// The kind of the transaction that `operation` will be, before it runs; failures are counted under it.
    fn kind(&mut self, operation: &Operation) -> u8;

    /// How long the terminal pauses around `operation`; asked once, also where the transaction is tried again. Only in a
    /// closed loop, and only where [`Workload::pauses`] says so; the end of the window and a stop cut a pause short.
    #[inline]
    fn pauses(&mut self, _operation: &Operation) -> Pauses {
        Pauses::default()
    }

    /// Runs one transaction to its end. On an error the engine rolls back, and may call again with the same operation.
    fn transaction<S: Session>(
        &mut self,
        connection: &mut Connection<S>,
        operation: &mut Operation,
    ) -> impl Future<Output = Result<Done, DriverError>>;

    /// Whether an attempt after the first draws other inputs, as sysbench does, and does not send the same again. Where many
    /// want the same few rows the two give quite different throughput: those that collide stay when they send the same.
    #[inline]
    fn redraws(&self) -> bool {
        false
    }

    /// Whether it has run its last transaction, asked after each one: a script can end its terminal.
    #[inline]
    fn is_over(&self) -> bool {
        false
    }

    /// Whether the connection is closed and opened again after the transaction with this number (sysbench's `reconnect`).
    /// The time that it takes belongs to that transaction.
    #[inline]
    fn reconnects_after(&self, _sequence: u64) -> bool {
        false
    }
}

/// A table of a data set.
#[derive(Debug, Clone)]
pub struct TableSpec {
    /// What is filled.
    pub bulk: BulkTable,
    /// Statements that make it, empty.
    pub create: Vec<String>,
    /// Statements after its rows are in (secondary indexes).
    pub after_load: Vec<String>,
    /// Brings the server's statistics of its rows up to date, last of all; `None` where nothing has to.
    pub statistics: Option<String>,
    /// Rows after the load; `None` where the number is random by the specification.
    pub rows: Option<u64>,
    /// Whether right data of the same size may have another number: it comes from the seed, or a run changes it.
    pub rows_vary: bool,
    /// Whether the server would number rows that come without a key (AUTO_INCREMENT): see
    /// [`crate::driver::Session::numbers_one_at_a_time`].
    pub numbered: bool,
}

/// A condition on the stored data.
#[derive(Debug, Clone)]
pub struct Check {
    /// Short name (`3.3.2.1`).
    pub name: String,
    /// What must hold, in words.
    pub what: String,
    /// A query that returns one row with one number: how many things are compared. Nothing compared is no pass.
    pub compared: Query,
    /// A query that returns the offending rows, at most a few; none when the condition holds.
    pub violations: Query,
    /// What the columns of the violations are.
    pub columns: Vec<&'static str>,
    /// For a condition that is stated for fresh data: a query of one number, which is above 0 once any program has run on
    /// them. `None` for one that always holds.
    pub unless_used: Option<String>,
}

/// The data of a workload: a function of parameters and seed, the same whatever the number of loading threads.
pub trait Dataset: Send + Sync + 'static {
    /// All tables, in the order of creation.
    fn tables(&self) -> Vec<TableSpec>;

    /// How many independent parts the data have.
    fn parts(&self) -> u32;

    /// The rows of a part.
    fn part(&self, index: u32) -> Box<dyn Part>;

    /// Conditions on the data; each says whether it also holds after a run.
    fn checks(&self) -> Vec<Check>;

    /// Settings of the session that checks, as statements: they give it room to sort in memory, and change no answer.
    fn room_for_checks(&self) -> &'static [&'static str] {
        &[]
    }

    /// Every parameter that decides the data, with its value.
    fn parameters(&self) -> BTreeMap<String, String>;

    /// Whether a run changes how much data there is, so that later trials would see another database.
    fn grows(&self) -> bool;
}

/// [`Workload::make`], whatever the workload.
pub trait Making<S>: Send + Sync {
    /// See there.
    fn making<'a>(&'a self, session: S) -> Pin<Box<dyn Future<Output = Result<S, DriverError>> + 'a>>;
}

impl<S: Session, W: Workload> Making<S> for W {
    fn making<'a>(&'a self, session: S) -> Pin<Box<dyn Future<Output = Result<S, DriverError>> + 'a>> {
        Box::pin(self.make(session))
    }
}

/// The rows of one part, batch by batch.
pub trait Part {
    /// Fills `cells` with the next rows of one table and says which table (position in [`Dataset::tables`]);
    /// `None` at the end. A batch is at most a few hundred kilobytes.
    fn next_batch(&mut self, cells: &mut Params) -> Option<usize>;

    /// From now on only rows of these tables (by position in [`Dataset::tables`]) are wanted; others may come all the same.
    fn only(&mut self, _wanted: &[bool]) {}
}
