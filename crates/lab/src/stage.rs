//! One contender with one workload: here driver and benchmark are joined, once, by static dispatch.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use perbuck_core::run_record::{AuditValue, Measured};
use perbuck_core::study::{Contender, Reset, Study, WorkloadSpec};
use perbuck_core::units::Seed;
use perbuck_database::dialect::{Dialect, Feature};
use perbuck_database::registry::DriverAction;
use perbuck_database::secret::Secret;
use perbuck_database::{Databases, Target, Wishes};
use perbuck_load::driver::{Driver, Session, TargetFacts};
use perbuck_load::error::DriverError;
use perbuck_load::executor::run_trial;
use perbuck_load::loader::{self, CheckResult, LoadProgress};
use perbuck_load::observer::Observer;
use perbuck_load::query::Query;
use perbuck_load::stop::StopToken;
use perbuck_load::trial::{RunError, TrialOutcome, TrialSpec};
use perbuck_load::values::Rows;
use perbuck_load::workload::{Dataset, TableSpec, Workload};
use perbuck_workloads::{Benchmark, BenchmarkAction, Benchmarks, Plan};

use crate::data::{self, DataState, Notes};
use crate::error::LabError;
use crate::registry;

mod build;
pub mod cut_off;
mod sessions;

pub(crate) use build::build;
pub(crate) use sessions::answer;

/// Asks the user for the password of a contender.
pub type AskPassword = fn(contender: &str) -> std::io::Result<String>;

/// Sessions that load data at the same time unless the user says how many; a single server gains little by more.
const LOAD_SESSIONS: u32 = 8;

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
    /// When the data are loaded again.
    pub reset: Reset,
    /// The names of its tables.
    pub tables: Vec<String>,
    /// TiFlash replicas that each of them is to have.
    pub tiflash_replicas: Option<u32>,
    /// The servers of the contender.
    pub server: Arc<dyn Server>,
    /// The data of the workload on them.
    pub data: Arc<dyn Data>,
    /// The trials of the workload against them.
    pub trials: Arc<dyn Trials>,
}

/// The servers of a contender, outside of trials.
pub trait Server {
    /// Opens a connection and closes it.
    fn reach(&self) -> Result<(), DriverError>;
    /// The servers that connections are spread over, as `host:port`; empty where there is nothing to choose from.
    fn hosts(&self) -> Vec<String>;
    /// What the target says about itself.
    fn facts(&self) -> Result<TargetFacts, LabError>;
    /// The server's own counters.
    fn counters(&self) -> Result<BTreeMap<String, i64>, LabError>;
    /// Statements that ran as text because the server would prepare no more, since the start.
    fn text_fallbacks(&self) -> u64;
    /// Executes one statement on one of the servers; the first cell of what it returns, if it is not NULL.
    fn cell_on_host(&self, host: u32, sql: &str) -> Result<Option<String>, DriverError>;
    /// Executes one statement, however long it takes.
    fn execute(&self, doing: &str, sql: &str) -> Result<(), LabError>;
    /// Asks something in the words of the database, however long it takes.
    fn query(&self, doing: &str, query: &Query) -> Result<(), LabError>;
    /// Removes a table, if it is there.
    fn drop_table(&self, doing: &str, name: &str) -> Result<(), LabError>;
    /// The number that a query returns.
    fn number(&self, doing: &str, sql: &str) -> Result<i64, LabError>;
    /// Whether a table of that name is there.
    fn has_table(&self, name: &str) -> Result<bool, LabError>;
}

/// The data of a workload on the servers of a contender.
pub trait Data {
    /// What perbuck noted of the data: cheap, and enough between two trials of one study.
    fn noted(&self) -> Result<DataState, LabError>;
    /// What data the target holds, tables looked at.
    fn state(&self) -> Result<DataState, LabError>;
    /// Loads the data again and notes them as fresh.
    fn load(&self, sessions: Option<u32>, stop: &StopToken, progress: &mut dyn FnMut(LoadProgress)) -> Result<(), LabError>;
    /// How many rows are in of a load that was cut off, if it can go on: one of the data that this stage needs.
    fn unfinished(&self) -> Result<Option<u64>, LabError>;
    /// Goes on with such a load and notes the data as fresh.
    fn resume(&self, sessions: Option<u32>, stop: &StopToken, progress: &mut dyn FnMut(LoadProgress)) -> Result<(), LabError>;
    /// Makes and fills the tables, without a note on the data; those that are there are dropped before.
    fn fill(&self, sessions: Option<u32>, stop: &StopToken, progress: &mut dyn FnMut(LoadProgress)) -> Result<(), LabError>;
    /// Notes who changed the data.
    fn mark(&self, used_by: &str) -> Result<(), LabError>;
    /// Rows per table.
    fn rows(&self) -> Result<BTreeMap<String, u64>, LabError>;
    /// Runs the workload's checks with a name that is wanted; each is shown when it is done.
    fn checks(&self, wanted: &dyn Fn(&str) -> bool, show: &mut dyn FnMut(&CheckResult)) -> Result<Vec<CheckResult>, LabError>;
}

/// The trials of a workload against a contender.
pub trait Trials {
    /// Runs one trial.
    fn run(&self, spec: &TrialSpec, stop: &StopToken, observer: &mut dyn Observer) -> Result<TrialOutcome, RunError>;
    /// What an auditor looks at in a measured window.
    fn audit(&self, measured: &Measured) -> Result<Vec<AuditValue>, LabError>;
}

/// The seed of a workload's data. All contenders hold the same rows: it knows only the kind of workload.
pub fn data_seed(study: &Study, spec: &WorkloadSpec) -> Seed {
    study.seed.derive(&format!("data {}", spec.kind.value))
}

/// Joins one contender with one workload of a study.
pub(crate) fn stage<Known: Databases, List: Benchmarks>(
    study: &Study,
    contender: &Contender,
    spec: &WorkloadSpec,
    plan: &Plan,
    target: &dyn Target,
    password: &Secret,
) -> Result<Stage, LabError> {
    if let Some((message, help)) = plan.refusal(target.dialect()) {
        return Err(LabError::usage(format!("{}, {}: {message}", contender.name, spec.name), help));
    }
    let wishes = Wishes {
        counts_found_rows: plan.counts_found_rows(),
        noted_settings: contender.server_settings.keys().cloned().collect(),
    };
    let join = Join { contender, spec, seed: data_seed(study, spec), target };
    let joining = WithDriver { join, plan, list: PhantomData::<List> };
    let joined = Known::drive(target, password, &wishes, joining).ok_or_else(|| registry::unregistered(target))?;
    joined.map_err(|e| LabError::target(&contender.name, &e))?.ok_or_else(|| registry::unknown(plan))
}

/// What is joined.
struct Join<'a> {
    contender: &'a Contender,
    spec: &'a WorkloadSpec,
    seed: Seed,
    target: &'a dyn Target,
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
        List::with_benchmark(self.plan, WithBenchmark { join: self.join, driver })
    }
}

/// Finds the type of the benchmark, too.
struct WithBenchmark<'a, D> {
    join: Join<'a>,
    driver: D,
}

impl<D: Driver> BenchmarkAction for WithBenchmark<'_, D> {
    type Output = Stage;

    fn run<B: Benchmark>(self, options: &B) -> Stage {
        let Join { contender, spec, seed, target } = self.join;
        let dialect = target.dialect();
        let (workload, dataset) = (Arc::new(options.workload(dialect, seed)), Arc::new(options.dataset(dialect, seed)));
        // A growing data set would let later trials see another database, so it starts again with each block.
        let default = if dataset.grows() { Reset::PerBlock } else { Reset::Never };
        let title = format!("{}, {}", contender.name, spec.name);
        let notes = Notes::new(dialect, &spec.kind.value, &dataset.parameters(), seed);
        let (fingerprint, tables) = (notes.fingerprint.clone(), names(&dataset.tables()));
        let driver = Arc::new(self.driver);
        let joined = Arc::new(Joined { title: title.clone(), notes, driver, workload, dataset });
        Stage {
            title,
            address: target.address(),
            driver: target.scheme(),
            dialect,
            fingerprint,
            reset: spec.reset.unwrap_or(default),
            tables,
            tiflash_replicas: contender.tiflash_replicas.as_ref().map(|n| n.value),
            server: joined.clone(),
            data: joined.clone(),
            trials: joined,
        }
    }
}

fn names(tables: &[TableSpec]) -> Vec<String> {
    tables.iter().map(|t| t.bulk.name.clone()).collect()
}

/// A driver and a workload with their types known.
struct Joined<D, W, T> {
    title: String,
    notes: Notes,
    driver: Arc<D>,
    workload: Arc<W>,
    dataset: Arc<T>,
}

impl<D: Driver, W: Workload, T: Dataset> Server for Joined<D, W, T> {
    fn reach(&self) -> Result<(), DriverError> {
        self.with_host(0, async |session| sessions::in_a_database(session, self.notes.dialect).await)
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

    fn text_fallbacks(&self) -> u64 {
        self.driver.text_fallbacks()
    }

    fn cell_on_host(&self, host: u32, sql: &str) -> Result<Option<String>, DriverError> {
        self.with_host(host, async |session| {
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

    fn drop_table(&self, doing: &str, name: &str) -> Result<(), LabError> {
        self.with_session(doing, async |s| s.drop_table(name).await.map_err(loader::server(doing)))
    }

    fn number(&self, doing: &str, sql: &str) -> Result<i64, LabError> {
        self.with_session(doing, async |s| data::number(s, doing, sql).await)
    }

    fn has_table(&self, name: &str) -> Result<bool, LabError> {
        self.with_session("looking for tables", async |s| data::exists(s, self.notes.dialect, name).await)
    }
}

impl<D: Driver, W: Workload, T: Dataset> Data for Joined<D, W, T> {
    fn noted(&self) -> Result<DataState, LabError> {
        let note = self.with_session("looking at its data", async |s| self.notes.read(s).await)?;
        note.map_or_else(|| self.state(), Ok)
    }

    fn state(&self) -> Result<DataState, LabError> {
        let (tables, grows) = (self.dataset.tables(), self.dataset.grows());
        self.with_session("looking at its data", async |s| self.notes.state(s, &tables, grows).await)
    }

    fn load(&self, sessions: Option<u32>, stop: &StopToken, progress: &mut dyn FnMut(LoadProgress)) -> Result<(), LabError> {
        self.with_session("preparing to load", async |s| self.notes.start(s).await)?;
        if self.notes.dialect.lacks(Feature::Sql).is_some() {
            // No transaction could hold both rows and what a ledger says of them.
            self.fill(sessions, stop, progress)?;
            return self.mark(data::FRESH);
        }
        let (ledger, sessions) = (self.notes.ledger(), sessions.unwrap_or(LOAD_SESSIONS));
        self.loading(Some(&ledger), sessions, stop).run(progress).map_err(|e| self.cut_off(&e))?;
        self.loaded(&ledger)
    }

    fn unfinished(&self) -> Result<Option<u64>, LabError> {
        Ok(self.part_states()?.map(|states| states.iter().map(|s| s.rows).sum()))
    }

    fn resume(&self, sessions: Option<u32>, stop: &StopToken, progress: &mut dyn FnMut(LoadProgress)) -> Result<(), LabError> {
        let Some(states) = self.part_states()? else { return self.load(sessions, stop, progress) };
        let (ledger, sessions) = (self.notes.ledger(), sessions.unwrap_or(LOAD_SESSIONS));
        self.loading(Some(&ledger), sessions, stop).resume(&states, progress).map_err(|e| self.cut_off(&e))?;
        self.loaded(&ledger)
    }

    fn fill(&self, sessions: Option<u32>, stop: &StopToken, progress: &mut dyn FnMut(LoadProgress)) -> Result<(), LabError> {
        let load = self.loading(None, sessions.unwrap_or(LOAD_SESSIONS), stop);
        load.run(progress).map_err(|e| self.failed(&e))
    }

    fn mark(&self, used_by: &str) -> Result<(), LabError> {
        self.with_session("noting the use of its data", async |s| self.notes.write(s, used_by).await)
    }

    fn rows(&self) -> Result<BTreeMap<String, u64>, LabError> {
        let names = names(&self.dataset.tables());
        self.with_session("counting rows", async |s| {
            let mut rows = BTreeMap::new();
            for name in names {
                let count = loader::count(s, &name).await?;
                rows.insert(name, count);
            }
            Ok(rows)
        })
    }

    fn checks(&self, wanted: &dyn Fn(&str) -> bool, show: &mut dyn FnMut(&CheckResult)) -> Result<Vec<CheckResult>, LabError> {
        self.with_session("checking its data", async |s| {
            loader::make_room(s, self.dataset.room_for_checks()).await?;
            let mut results = Vec::new();
            for check in self.dataset.checks().into_iter().filter(|c| wanted(&c.name)) {
                let result = loader::run_check(s, &check).await?;
                show(&result);
                results.push(result);
            }
            Ok(results)
        })
    }
}

impl<D: Driver, W: Workload, T: Dataset> Trials for Joined<D, W, T> {
    fn run(&self, spec: &TrialSpec, stop: &StopToken, observer: &mut dyn Observer) -> Result<TrialOutcome, RunError> {
        run_trial(spec, &self.driver, &self.workload, stop, observer)
    }

    fn audit(&self, measured: &Measured) -> Result<Vec<AuditValue>, LabError> {
        self.workload.audit(measured).map_err(|e| LabError::failed(format!("{}: {e}", self.title), ""))
    }
}
