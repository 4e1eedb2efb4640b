//! What a database driver must be able to do. Static dispatch end to end: a driver is chosen once, in the cli.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use crate::copy_scope::{COPY_NOTE, CopyScope};
pub use perbuck_core::run_record::{Build, DataSize, Observed, ServerWork, arch};

use crate::batch::Batch;
use crate::error::{DriverError, ErrorClass};
use crate::meter::Meter;
use crate::preflight::{HostFacts, HostProblem};
use crate::query::Query;
use crate::records::Records;
use crate::statement::{Catalogue, Statement, StatementId};
use crate::values::{Params, Rows};

/// The names of counters of CPU time of servers' processes start so, in milliseconds; the part of a cluster follows.
pub const CPU_MS: &str = "server_cpu_ms_";
/// The names of counters of what changes in a cluster while it works start so: regions that split, leaders that move.
pub const CHANGES: &str = "server_changes_";

/// The names of counters that tell the processes of a part from others start so; the part follows. Where one is another number than
/// before, a process was started or has gone, and what the part counted since then is no difference.
pub const PROCESSES: &str = "server_processes_";
/// The names of counters of what each of several servers executed start so; its number follows.
pub const BY_SERVER: &str = "server_statements_";
/// The names of counters of connections to each of several servers that have ended start so; its number follows.
pub const CONNECTIONS: &str = "server_connections_";

/// The name of the counter of pages or blocks that the servers read because their memory did not hold them.
pub const PAGES_READ: &str = "server_pages_read";
/// The name of the counter of the bytes of these pages.
pub const BYTES_READ: &str = "server_bytes_read";

/// Whom a connection serves, and its number, which decides the host that it goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionId {
    /// A terminal of a trial, numbered from 0.
    Terminal(u32),
    /// A terminal that asks queries beside those of the load, numbered from 0: it goes to the host that the target names for queries, if any.
    Query(u32),
    /// perbuck itself: loads, checks, facts and counters.
    Own(u32),
}

impl SessionId {
    /// The number, from 0.
    pub fn index(self) -> u32 {
        match self {
            Self::Terminal(index) | Self::Query(index) | Self::Own(index) => index,
        }
    }
}

/// What a statement did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It returned a result set; the rows are in the buffer.
    ResultSet,
    /// It changed this many rows (0 for BEGIN and its like).
    Affected(u64),
}

/// Whether a transaction will write; a database with one writer at a time must know in advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It only reads.
    Read,
    /// It reads and writes.
    Write,
}

/// What the target says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TargetFacts {
    /// Version string.
    pub version: String,
    /// Settings that bear on performance, by name.
    pub variables: BTreeMap<String, String>,
    /// Memory in which the servers keep pages or blocks of the data, in bytes; `None` where they do not tell.
    pub page_memory_bytes: Option<u64>,
    /// Process id of a server on this machine, where it is known.
    pub local_pid: Option<u32>,
    /// Whether the server shares this machine with perbuck.
    pub on_this_machine: bool,
    /// What the server says of the machine that it runs on.
    pub observed: Vec<Observed>,
    /// What the server says of its build.
    pub build: Build,
    /// What makes it a server for functional tests alone, if it is one.
    pub functional: Option<String>,
}

/// What servers still do of themselves with data that were loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settling {
    /// What is above its tolerance and goes away, in words; empty at rest.
    pub open: Vec<String>,
    /// That work is divided unevenly, in words: it goes away, or it is wanted so.
    pub uneven: Option<String>,
    /// Counts that stand still at rest, by name.
    pub changes: BTreeMap<String, i64>,
    /// Parts that do not tell, and why.
    pub not_told: BTreeMap<String, String>,
    /// Whether those that keep the data tell.
    pub told: bool,
}

/// What a driver can do that no option of it changes. A benchmark says what it needs whatever its options are, and the two are joined
/// only where they fit.
#[derive(Debug, Clone, Copy)]
pub struct Means {
    /// Sessions: a driver whose database is in a library has none in a program that opens no libraries.
    pub sessions: bool,
    /// Statements as text; without them there are operations on keys alone.
    pub statements: bool,
    /// The values of rows.
    pub values: bool,
}

impl Means {
    /// All of them.
    pub const ALL: Self = Self { sessions: true, statements: true, values: true };

    /// Whether they are enough.
    pub const fn cover(self, needs: Self) -> bool {
        (self.sessions || !needs.sessions) && (self.statements || !needs.statements) && (self.values || !needs.values)
    }
}

/// A way to reach one kind of database. Connecting happens on the worker that owns the session. What asks the server fails as
/// [`Self::connect`] does, or by its answer.
pub trait Driver: Send + Sync + 'static {
    /// One connection.
    type Session: Session;

    /// What it can do, at most.
    const MEANS: Means = Means::ALL;

    /// Whether calls block their thread (an embedded database); each session then gets a thread of its own.
    fn blocking(&self) -> bool {
        false
    }

    /// Closes what a database within this process keeps open between sessions, so that the next one reads its file again; whether
    /// nothing of it is open.
    fn close_files(&self) -> bool {
        true
    }

    /// How many sessions may load data at the same time.
    fn load_sessions(&self) -> u32 {
        u32::MAX
    }

    /// After how many bytes of values a load commits: a commit waits for the disk, and distributed databases refuse much larger ones.
    fn load_transaction_bytes(&self) -> usize {
        4 * 1024 * 1024
    }

    /// How many sessions may change and count tables at the same time when a load ends; as many as there are unless it says less.
    fn finish_sessions(&self) -> u32 {
        u32::MAX
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// `Lost` where the server cannot be reached now, `Refused` where it refuses the login.
    fn connect(&self, id: SessionId) -> impl Future<Output = Result<Self::Session, DriverError>>;

    /// The servers that connections are spread over, as `host:port`: connection i belongs to the one at i modulo their number.
    /// Empty where there is nothing to choose from.
    fn hosts(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether a host of its own answers the queries of [`SessionId::Query`].
    fn has_query_host(&self) -> bool {
        false
    }

    /// Opens a connection to the host at position `offset` after its own one: 0 is its own, any other a failover.
    fn connect_at(&self, id: SessionId, _offset: u32) -> impl Future<Output = Result<Self::Session, DriverError>> {
        self.connect(id)
    }

    /// Version and settings: provenance for the record.
    fn facts(&self) -> impl Future<Output = Result<TargetFacts, DriverError>>;

    /// What the host at this position of the list says before a study starts, on a session that is opened for it.
    fn preflight(&self, host: u32) -> impl Future<Output = Result<HostFacts, DriverError>> {
        async move {
            self.connect_at(SessionId::Own(0), host).await?.close().await;
            Ok(HostFacts { version: self.facts().await?.version, ..HostFacts::default() })
        }
    }

    /// How many statements could not be prepared, so that they run as text: another protocol, which a record must name.
    fn text_fallbacks(&self) -> u64 {
        0
    }

    /// What the sessions that have ended sent, counted as [`Self::work`] counts it; another process adds it to what its own sent.
    fn sent(&self) -> u64 {
        0
    }

    /// The server's own counters (`Com_select` and its like); empty where it has none.
    fn counters(&self) -> impl Future<Output = Result<BTreeMap<String, i64>, DriverError>> {
        std::future::ready(Ok(BTreeMap::new()))
    }

    /// Opens what reads the servers' own metrics while so many connections apply a load; `None` where they have none. It takes no
    /// connection that these need.
    fn meter(&self, _connections: u32) -> impl Future<Output = Result<Option<Box<dyn Meter>>, DriverError>> {
        std::future::ready(Ok(None))
    }

    /// How far the servers are from rest after a load; `None` where they never tell.
    fn settling(&self) -> impl Future<Output = Result<Option<Settling>, DriverError>> {
        std::future::ready(Ok(None))
    }

    /// Has the server write what a load of these tables left in its memory, for which trials would wait otherwise; whether it can be asked to.
    fn write_back(&self, _tables: &[String]) -> impl Future<Output = Result<bool, DriverError>> {
        std::future::ready(Ok(false))
    }

    /// The file that holds a copy of the data, if there is one; `None` where copies are no files.
    fn copy_file(&self) -> Option<PathBuf> {
        None
    }

    /// Whether a copy is there, whole.
    fn has_copy(&self) -> impl Future<Output = Result<bool, DriverError>> {
        std::future::ready(Ok(self.copy_file().is_some_and(|file| file.exists())))
    }

    /// What keeps copies from being saved and restored, as far as it shows before there are data.
    fn copy_problems(&self, _of: &CopyScope) -> impl Future<Output = Result<Vec<HostProblem>, DriverError>> {
        std::future::ready(Ok(Vec::new()))
    }

    /// Saves a copy of all data, in place of one that was saved before; no session may be open. It is there whole, or not at all.
    fn save_copy(&self, _of: &CopyScope) -> impl Future<Output = Result<(), DriverError>> {
        std::future::ready(Err(crate::copy_scope::no_copies()))
    }

    /// Restores the copy: afterwards the data are those of before, or those that were saved. A mix of both is noted as the scope says. No session
    /// may be open. Restored data of a server hold what these `notes` write, unless [`Self::drops_first`] holds: then the notes were never away.
    fn restore_copy(&self, _of: &CopyScope, _notes: &[Query]) -> impl Future<Output = Result<(), DriverError>> {
        std::future::ready(Err(crate::copy_scope::no_copies()))
    }

    /// Whether a restore removes the data first, so that a cut-off one leaves a part. Then the first block, too, runs on restored data.
    fn drops_first(&self) -> bool {
        false
    }

    /// Removes the copy, if there is one.
    fn drop_copy(&self) -> impl Future<Output = Result<(), DriverError>> {
        std::future::ready(Ok(()))
    }

    /// What these tables take on the servers.
    fn data_size(&self, _tables: &[String]) -> impl Future<Output = Result<DataSize, DriverError>> {
        std::future::ready(Ok(DataSize::default()))
    }

    /// What the servers of all hosts have executed so far, for all clients and for the sessions of this driver. Sessions of this
    /// driver that are still open may be left out.
    fn work(&self) -> impl Future<Output = Result<ServerWork, DriverError>> {
        std::future::ready(Ok(ServerWork::unknown("it has no counters of its work")))
    }
}

/// A table to be filled in bulk.
#[derive(Debug, Clone)]
pub struct BulkTable {
    /// Its name.
    pub name: String,
    /// The columns that rows give values for, in order.
    pub columns: Vec<String>,
}

/// One connection. A session is used by one task at a time and never shared. An error is the server's answer, or the loss of
/// the connection.
pub trait Session: 'static {
    /// Registers the statements. They are prepared on first use, and no more of them than the server allows.
    fn prepare(&mut self, catalogue: &Arc<Catalogue>) -> impl Future<Output = Result<(), DriverError>>;

    /// Prepares all registered statements now. Without a round trip to a server there is nothing to gain, and nothing is done.
    fn prepare_ahead(&mut self) -> impl Future<Output = Result<(), DriverError>> {
        std::future::ready(Ok(()))
    }

    /// Adds a statement to the registered ones and prepares it now: scripts learn their statements while they run. `catalogue` is that of the
    /// connection, and becomes the longer one; after an error it is as before.
    fn add_statement(
        &mut self,
        _catalogue: &mut Arc<Catalogue>,
        statement: Statement,
    ) -> impl Future<Output = Result<(), DriverError>> {
        let message = format!("`{}` cannot be prepared: this database takes no statements of scripts", statement.sql);
        std::future::ready(Err(DriverError::client(ErrorClass::Fatal, "statement", message)))
    }

    /// The names of the columns of a registered statement's result, empty where it returns no rows: prepares the statement for that.
    /// `None` where the database does not tell.
    fn columns(&mut self, _id: StatementId) -> impl Future<Output = Result<Option<Vec<String>>, DriverError>> {
        std::future::ready(Ok(None))
    }

    /// Lifts the timeout of answers: building an index or counting rows may take longer than any transaction.
    fn lift_timeout(&mut self) {}

    /// Executes a statement of the catalogue; a result set is scanned into `rows`.
    fn execute(&mut self, id: StatementId, params: &Params, rows: &mut Rows)
    -> impl Future<Output = Result<Effect, DriverError>>;

    /// Takes a step of a batch of statements of the catalogue. ROLLBACK drops a batch that was not sent.
    fn batch(&mut self, _step: Batch<'_>) -> impl Future<Output = Result<(), DriverError>> {
        let message = "this database takes no statement before the answer to the one before it";
        std::future::ready(Err(DriverError::client(ErrorClass::Fatal, "batch", message)))
    }

    /// Begins a transaction.
    fn begin(&mut self, access: Access) -> impl Future<Output = Result<(), DriverError>>;

    /// Commits.
    fn commit(&mut self) -> impl Future<Output = Result<(), DriverError>>;

    /// Rolls back; does nothing where it knows that no transaction is open. Whether a ROLLBACK was sent.
    fn rollback(&mut self) -> impl Future<Output = Result<bool, DriverError>>;

    /// Executes one statement given as text, outside the catalogue; rows are kept. For schema, checks and housekeeping.
    fn query(&mut self, sql: &str, rows: &mut Rows) -> impl Future<Output = Result<Effect, DriverError>>;

    /// As [`Self::query`] for a statement that may take long: where the database can, it ends it after `limit` as a failure of that statement.
    /// Servers are told their limit when the session opens, so only a database within this process has to do anything here.
    fn query_within(
        &mut self,
        sql: &str,
        _limit: Duration,
        rows: &mut Rows,
    ) -> impl Future<Output = Result<Effect, DriverError>> {
        self.query(sql, rows)
    }

    /// As [`Self::query`], by an operation on records in place of SQL. Databases that know SQL have none.
    fn query_records(
        &mut self,
        records: &Records,
        _params: &Params,
        _rows: &mut Rows,
    ) -> impl Future<Output = Result<Effect, DriverError>> {
        let message = format!("`{records}` is not SQL, and this database needs SQL");
        std::future::ready(Err(DriverError::client(ErrorClass::Fatal, "statement", message)))
    }

    /// Removes a table, if it is there.
    fn drop_table(&mut self, table: &str) -> impl Future<Output = Result<(), DriverError>> {
        let sql = format!("DROP TABLE IF EXISTS {table}");
        async move { self.query(&sql, &mut Rows::default()).await.map(drop) }
    }

    /// How many rows a table has.
    fn count_rows(&mut self, table: &str) -> impl Future<Output = Result<u64, DriverError>> {
        let sql = format!("SELECT COUNT(*) FROM {table}");
        async move {
            let mut rows = Rows::default();
            self.query(&sql, &mut rows).await?;
            Ok(rows.int(0, 0)?.max(0) as u64)
        }
    }

    /// Inserts rows, given cell by cell, by INSERT statements of many rows: what a workload does that measures them. In
    /// a transaction they belong to it, and it must be rolled back after an error; else they are one, and an error keeps none.
    fn insert_rows(&mut self, table: &BulkTable, cells: &Params) -> impl Future<Output = Result<u64, DriverError>>;

    /// The same by the fastest way that the target offers: what the loader does. A target may refuse the rows of a transaction only at its next
    /// statement or its commit, which then fails.
    fn load_rows(&mut self, table: &BulkTable, cells: &Params) -> impl Future<Output = Result<u64, DriverError>> {
        self.insert_rows(table, cells)
    }

    /// Whether [`Self::load_rows`] keeps the numbering of a table to itself until its end, so that sessions cannot load one table
    /// at the same time, even where every row has its key. [`Self::insert_rows`] does not.
    fn numbers_one_at_a_time(&mut self) -> impl Future<Output = Result<bool, DriverError>> {
        std::future::ready(Ok(false))
    }

    /// Closes the connection in the way of the protocol.
    fn close(self) -> impl Future<Output = ()>;
}
