//! One contender with one workload: here driver and benchmark are joined, once, by static dispatch.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use perbuck_core::compare::other_build;
use perbuck_core::run_record::{Build, HostRecord, Observed, ServerMachine};
use perbuck_core::study::{Contender, DeclaredBuild, PrometheusSpec, Reset, Study, TransactionChoice, Tuning, WorkloadSpec};
use perbuck_core::units::Seed;
use perbuck_database::dialect::{Dialect, Feature};
use perbuck_database::registry::DriverAction;
use perbuck_database::secret::Secret;
use perbuck_database::{Databases, Target, Wishes};
use perbuck_load::driver::{DataSize, Driver, Effect, ServerWork, SessionId, Settling, TargetFacts};
use perbuck_load::error::DriverError;
use perbuck_load::loader::{CheckResult, LoadProgress};
use perbuck_load::query::Query;
use perbuck_load::stop::StopToken;
use perbuck_load::watch::{self, Waiting};
use perbuck_load::workload::{Check, Making, TableSpec, Workload};
use perbuck_workloads::{Benchmark, BenchmarkAction, Benchmarks, Plan};

use crate::data::{DataState, Notes};
use crate::error::LabError;
use crate::metering::Metering;
use crate::registry;
use crate::servers::Holder;

mod build;
mod files;
mod host_check;
mod loaded;
pub(crate) mod rehearsal;
mod sessions;
mod trials;

pub(crate) use build::{build, no_target, no_target_help, passwords, stages_of, staleness};
pub use files::Files;
pub use host_check::{DataNeed, HostCheck};
use loaded::Loaded;
pub use sessions::GOES_ON;
use sessions::Sessions;
pub(crate) use sessions::answer;
pub use trials::Trials;

/// Asks the user for the password of a contender.
pub type AskPassword = fn(contender: &str) -> std::io::Result<String>;

/// Sessions that load data at the same time unless the user says how many; a single server gains little by more.
pub(crate) const LOAD_SESSIONS: u32 = 8;

/// A contender with a workload, joined.
pub struct Stage {
    /// For messages: `arm, small`.
    pub title: String,
    /// The address without credentials.
    pub address: String,
    /// mysql, sqlite, …
    pub driver: &'static str,
    /// The words of its database.
    pub dialect: &'static dyn Dialect,
    /// Fingerprint of the data that this stage needs.
    pub fingerprint: String,
    /// The parameters that shape these data.
    pub shape: BTreeMap<String, String>,
    /// When the data are loaded again.
    pub reset: Reset,
    /// Whether its servers run on this machine for certain: started by perbuck, or within its process.
    pub local: bool,
    /// Whether perbuck starts its servers, so that no other program knows of them.
    pub private: bool,
    /// What tells the CPU time of its server, where perbuck started that.
    pub holder: Option<Holder>,
    /// The machine of its server and the volume of its data, where perbuck started that on another machine.
    pub machine: Vec<Observed>,
    /// What that machine is set to while trials run.
    pub tuning: Option<Tuning>,
    /// Where samples of its servers' machines are.
    pub prometheus: Option<PrometheusSpec>,
    /// What else its system tells of that machine.
    pub server_machine: Option<ServerMachine>,
    /// Where the program of that server comes from, as its guard found.
    pub program: Build,
    /// The file that says who uses its data, where no row of the database does.
    pub lease_file: Option<PathBuf>,
    /// The names of its tables.
    pub tables: Vec<String>,
    /// The variables of terminals that make transactions as the study asks: its key, the variable and its value.
    pub transactions: Vec<(&'static str, &'static str, String)>,
    /// Where the program of its server comes from, as the study declares it.
    pub build: Option<DeclaredBuild>,
    /// How far back terminals read.
    pub staleness: Duration,
    /// How long its servers may take to come to rest after a load, where the study says so.
    pub wait_ready: Option<Duration>,
    /// TiFlash replicas that each of them is to have.
    pub tiflash_replicas: Option<u32>,
    /// The servers of the contender.
    pub server: Arc<dyn Server>,
    /// The data of the workload on them.
    pub data: Arc<dyn Data>,
    /// The trials of the workload against them.
    pub trials: Arc<dyn Trials>,
}

impl Stage {
    /// What is known of the machine that its server runs on, by source. An address of this machine may be that of a tunnel, so this
    /// machine counts only where the server is certain to run on it.
    pub(crate) fn observed(&self, facts: &TargetFacts, host: &HostRecord) -> Vec<Observed> {
        let here = (self.local || facts.local_pid.is_some()).then(|| perbuck_observe::machine(host));
        facts.observed.iter().cloned().chain(self.machine.clone()).chain(here).collect()
    }

    /// How many copies of its data lie beside them while they are restored: the saved one, and the one that takes their place.
    pub(crate) fn copies_beside(&self) -> u64 {
        if self.reset == Reset::Restore && !self.server.drops_first() { 2 } else { 0 }
    }

    /// Where its server's program comes from: what the server says, and its file where that is on this machine.
    ///
    /// # Errors
    /// That it is another one than the study declares.
    pub(crate) fn has_build(&self, facts: &TargetFacts) -> Result<Option<Build>, LabError> {
        let program = facts.local_pid.map_or_else(|| self.program.clone(), perbuck_observe::build_of);
        let build = facts.build.clone().or(program);
        let other = self.build.as_ref().and_then(|declared| other_build(declared, &build));
        match other {
            Some(text) => Err(LabError::refused(
                format!("{}: {text}", self.title),
                "correct `build` of the contender, or run what it declares",
            )),
            None => Ok(build.known()),
        }
    }

    /// Makes sure that terminals have the transactions that the study asks for, by the variables of one that were read back.
    pub(crate) fn has_transactions(&self, facts: &TargetFacts) -> Result<(), LabError> {
        let plain = |value: &str| match value.to_lowercase().replace(' ', "-").as_str() {
            "1" => "on".to_owned(),
            "0" => "off".to_owned(),
            other => other.to_owned(),
        };
        for (key, name, asked) in &self.transactions {
            let found = facts.variables.get(&format!("session {name}")).map_or("", String::as_str);
            if plain(found) != plain(asked) {
                let message =
                    format!("{}: `transactions.{key}` sets {name} to {asked}, and what the session has is: {found}", self.title);
                return Err(LabError::failed(message, "look at what the server allows, or leave the key out"));
            }
        }
        Ok(())
    }
}

/// The servers of a contender, outside of trials.
pub trait Server: HostCheck + Files + Send + Sync {
    /// Opens a connection and closes it.
    fn reach(&self) -> Result<(), DriverError>;
    /// The servers that connections are spread over, as `host:port`; empty where there is nothing to choose from.
    fn hosts(&self) -> Vec<String>;
    /// What the target says about itself.
    fn facts(&self) -> Result<TargetFacts, LabError>;
    /// The server's own counters.
    fn counters(&self) -> Result<BTreeMap<String, i64>, LabError>;
    /// Starts to read the servers' own metrics, for a trial of so many connections.
    fn meter(&self, connections: u32) -> Metering;
    /// How far the servers are from rest after a load; `None` where they never tell.
    fn settling(&self) -> Result<Option<Settling>, LabError>;
    /// Has the server write what a load of these tables left in its memory; whether it can be asked to.
    fn write_back(&self, tables: &[String]) -> Result<bool, DriverError>;
    /// What these tables take on the servers.
    fn data_size(&self, tables: &[String]) -> Result<DataSize, LabError>;
    /// What the servers have executed so far.
    fn work(&self) -> Result<ServerWork, LabError>;
    /// What the sessions that have ended sent, counted as [`Self::work`] counts it.
    fn sent(&self) -> u64;
    /// Statements that ran as text because the server would prepare no more, since the start.
    fn text_fallbacks(&self) -> u64;
    /// Executes one statement on one of the servers; the first cell of what it returns, if it is not NULL.
    fn cell_on_host(&self, host: u32, sql: &str) -> Result<Option<String>, DriverError>;
    /// Executes one statement, however long it takes.
    fn execute(&self, doing: &str, sql: &str) -> Result<(), LabError>;
    /// Asks something in the words of the database, however long it takes.
    fn query(&self, doing: &str, query: &Query) -> Result<(), LabError>;
    /// Asks something, within a limit if there is one; what it did, and the cells of its first row.
    fn row(&self, of: (SessionId, &str), query: &Query, limit: Option<Duration>) -> Result<(Effect, Vec<String>), DriverError>;
    /// Removes a table, if it is there, within a limit if there is one.
    fn drop_table(&self, doing: &str, name: &str, limit: Option<Duration>) -> Result<(), LabError>;
    /// The number that a query returns.
    fn number(&self, doing: &str, sql: &str) -> Result<i64, LabError>;
    /// Whether a table of that name is there.
    fn has_table(&self, name: &str) -> Result<bool, LabError>;
    /// Reads tables by the statements that these queries list, one query for each table; shown is which one, and of how many.
    fn scan(&self, lists: &[String], show: &mut dyn FnMut(usize, usize)) -> Result<(), LabError>;
    /// Runs checks of what the tables hold.
    fn checks(&self, checks: Vec<Check>) -> Result<Vec<CheckResult>, LabError>;
}

/// The data of a workload on the servers of a contender.
pub trait Data {
    /// What perbuck noted of the data: cheap, and enough between two trials of one study.
    fn noted(&self) -> Result<DataState, LabError>;
    /// What data the target holds, tables looked at.
    fn state(&self) -> Result<DataState, LabError>;
    /// Loads the data again and notes them as fresh.
    fn load(&self, sessions: Option<u32>, progress: &mut dyn FnMut(LoadProgress)) -> Result<(), LabError>;
    /// How many rows are in of a load that was cut off, if it can go on: one of the data that this stage needs.
    fn unfinished(&self) -> Result<Option<u64>, LabError>;
    /// Goes on with such a load and notes the data as fresh.
    fn resume(&self, sessions: Option<u32>, progress: &mut dyn FnMut(LoadProgress)) -> Result<(), LabError>;
    /// Makes and fills the tables, without a note on the data; those that are there are dropped before.
    fn fill(&self, sessions: Option<u32>, progress: &mut dyn FnMut(LoadProgress)) -> Result<(), LabError>;
    /// Notes who changed the data.
    fn mark(&self, used_by: &str) -> Result<(), LabError>;
    /// Rows per table.
    fn rows(&self) -> Result<BTreeMap<String, u64>, LabError>;
    /// Runs the workload's checks with a name that is wanted; each is shown when it is done.
    fn checks(&self, wanted: &dyn Fn(&str) -> bool, show: &mut dyn FnMut(&CheckResult)) -> Result<Vec<CheckResult>, LabError>;
}

/// The seed of a workload's data. All contenders hold the same rows: it knows only the kind of workload.
pub fn data_seed(study: &Study, spec: &WorkloadSpec) -> Seed {
    study.seed.derive(&format!("data {}", spec.kind.value))
}

pub(crate) fn stage<Known: Databases, List: Benchmarks>(
    study: &Study,
    contender: &Contender,
    spec: &WorkloadSpec,
    plan: &Plan,
    (target, password): (&dyn Target, &Secret),
    stop: &StopToken,
) -> Result<Stage, LabError> {
    if let Some((message, help)) = plan.refusal(target.dialect()) {
        return Err(LabError::usage(format!("{}, {}: {message}", contender.name, spec.name), help));
    }
    if let Some(lack) = study.sweep_of(&spec.name).prewarm.and_then(|_| target.dialect().lacks(Feature::Sql)) {
        let message = format!("{}, {}: `prewarm` reads tables by SQL: {}", contender.name, spec.name, lack.why);
        return Err(LabError::usage(message, "leave `prewarm` out"));
    }
    let wishes = Wishes {
        counts_found_rows: plan.counts_found_rows(),
        noted_settings: build::noted(study, contender, spec),
        backup: build::backup(contender)?,
    };
    let join = Join { contender, spec, seed: data_seed(study, spec), target, stop };
    let joining = WithDriver { join, plan, list: PhantomData::<List> };
    let joined = Known::drive(target, password, &wishes, joining).ok_or_else(|| registry::unregistered(target))?;
    joined.map_err(|e| LabError::target(&contender.name, &e))?.ok_or_else(|| registry::unknown(plan))
}

struct Join<'a> {
    contender: &'a Contender,
    spec: &'a WorkloadSpec,
    seed: Seed,
    target: &'a dyn Target,
    stop: &'a StopToken,
}

/// Finds the type of the driver.
struct WithDriver<'a, List> {
    join: Join<'a>,
    plan: &'a Plan,
    list: PhantomData<List>,
}

impl<List: Benchmarks> DriverAction for WithDriver<'_, List> {
    type Output = Option<Stage>;

    fn with_driver<D: Driver>(self, driver: D) -> Option<Stage> {
        let Join { contender, spec, seed, target, stop } = self.join;
        let dialect = target.dialect();
        let dataset = self.plan.dataset(dialect, seed);
        // A growing data set would let later trials see another database, so it starts again with each block.
        let default = if dataset.grows() { Reset::PerBlock } else { Reset::Never };
        let title = format!("{}, {}", contender.name, spec.name);
        let shape = dataset.parameters();
        let notes = Notes::new(dialect, &spec.kind.value, &shape, seed);
        let (fingerprint, tables) = (notes.fingerprint.clone(), names(&dataset.tables()));
        let driver = Arc::new(driver);
        let queries = dialect.blockers();
        let blockers = (!queries.is_empty()).then(|| watch::blockers(driver.clone(), queries));
        let waiting = Waiting { title: title.clone(), stop: stop.clone(), blockers };
        let local = driver.blocking();
        let sessions = Arc::new(Sessions { waiting, notes, driver });
        let (trials, making) = List::with_benchmark(self.plan, WithBenchmark { sessions: sessions.clone(), dialect, seed })??;
        Some(Stage {
            title,
            address: target.address(),
            driver: target.scheme(),
            dialect,
            fingerprint,
            shape,
            reset: spec.reset.unwrap_or(default),
            local,
            private: contender.server.is_some(),
            holder: None,
            machine: Vec::new(),
            server_machine: None,
            tuning: None,
            prometheus: contender.prometheus.clone(),
            program: Build::default(),
            lease_file: target.lease_file(),
            tables,
            transactions: transactions(contender, dialect),
            build: contender.build.clone(),
            staleness: staleness(contender),
            wait_ready: contender.wait_ready_ns.as_ref().map(|ns| Duration::from_nanos(ns.value)),
            tiflash_replicas: contender.tiflash_replicas.as_ref().map(|n| n.value),
            server: sessions.clone(),
            data: Arc::new(Loaded { sessions, dataset, making }),
            trials,
        })
    }
}

/// Finds the type of the benchmark, too.
struct WithBenchmark<D> {
    sessions: Arc<Sessions<D>>,
    dialect: &'static dyn Dialect,
    seed: Seed,
}

impl<D: Driver> BenchmarkAction for WithBenchmark<D> {
    type Output = Option<(Arc<dyn Trials>, Arc<dyn Making<D::Session>>)>;

    fn run<B: Benchmark>(self, options: &B) -> Self::Output {
        // The compiler drops what follows for a pair that never works, which was refused before.
        if const { !D::MEANS.cover(B::Workload::NEEDS) } {
            return None;
        }
        let workload = Arc::new(options.workload(self.dialect, self.seed));
        Some((Arc::new(Joined { sessions: self.sessions, workload: workload.clone() }), workload))
    }
}

/// The variables of terminals by which transactions work as a contender asks; what the database has none for was refused before.
pub(crate) fn transactions(contender: &Contender, dialect: &dyn Dialect) -> Vec<(&'static str, &'static str, String)> {
    let variable = |choice: TransactionChoice| Some((choice.key(), dialect.transactions(choice)?));
    let all = contender.transactions.iter().filter_map(|choice| variable(choice.value));
    all.map(|(key, (name, value))| (key, name, value)).collect()
}

fn names(tables: &[TableSpec]) -> Vec<String> {
    tables.iter().map(|t| t.bulk.name.clone()).collect()
}

/// A driver and a workload with their types known.
struct Joined<D, W> {
    sessions: Arc<Sessions<D>>,
    workload: Arc<W>,
}
