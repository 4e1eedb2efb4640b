//! One contender with one workload: the place where driver and benchmark are joined, once, by static dispatch.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use perbuck_core::run_record::{AuditFigure, Measured};
use perbuck_core::study::{Contender, Reset, Study, WorkloadSpec};
use perbuck_core::units::Seed;
use perbuck_database::dialect::{Dialect, Feature};
use perbuck_database::registry::Visit;
use perbuck_database::secret::Secret;
use perbuck_database::{Databases, Target, Wishes};
use perbuck_load::driver::{Driver, Session, TargetFacts};
use perbuck_load::error::DriverError;
use perbuck_load::executor::run_trial;
use perbuck_load::loader::{self, CheckResult, LoadProgress, on_loop};
use perbuck_load::observer::Observer;
use perbuck_load::query::Query;
use perbuck_load::stop::StopToken;
use perbuck_load::trial::{RunError, TrialOutcome, TrialSpec};
use perbuck_load::values::Rows;
use perbuck_load::workload::{Dataset, Workload};
use perbuck_workloads::{Benchmark, Benchmarks, Plan, Visitor};

use crate::data::{self, DataState, LoadLedger};
use crate::error::{ErrorKind, LabError};
use crate::registry;

mod build;
pub mod cut_off;
mod password;
mod sessions;

pub use build::build;

/// Asks the user for the password of a contender.
pub type AskPassword = fn(contender: &str) -> std::io::Result<String>;

/// Sessions that load data at the same time unless somebody says how many; a single server gains little by more.
const LOAD_SESSIONS: u32 = 8;

/// A contender with a workload, joined.
pub struct Stage {
    title: String,
    address: String,
    driver: &'static str,
    dialect: &'static dyn Dialect,
    fingerprint: String,
    reset: Reset,
    tables: Vec<String>,
    tiflash_replicas: Option<u32>,
    /// The servers of the contender.
    pub server: Arc<dyn Server>,
    /// The data of the workload on them.
    pub data: Arc<dyn Data>,
    /// The trials of the workload against them.
    pub trials: Arc<dyn Trials>,
}

impl Stage {
    /// For messages: `arm, small`.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The address without credentials.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// mysql, sqlite, …
    pub fn driver(&self) -> &'static str {
        self.driver
    }

    /// The words of its database.
    pub fn dialect(&self) -> &'static dyn Dialect {
        self.dialect
    }

    /// Fingerprint of the data that this stage needs.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// When the data are loaded again.
    pub fn reset(&self) -> Reset {
        self.reset
    }

    /// The names of its tables.
    pub fn tables(&self) -> &[String] {
        &self.tables
    }

    /// TiFlash replicas that each of them is to have.
    pub fn tiflash_replicas(&self) -> Option<u32> {
        self.tiflash_replicas
    }
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
    fn ask(&self, doing: &str, query: &Query) -> Result<(), LabError>;
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
    fn audit(&self, measured: &Measured) -> Result<Vec<AuditFigure>, LabError>;
}

/// The seed of a workload's data. All contenders hold the same rows: it knows only the kind of workload.
pub fn data_seed(study: &Study, spec: &WorkloadSpec) -> Seed {
    study.seed.derive(&format!("data {}", spec.kind.value))
}

/// Joins one contender with one workload of a study.
///
/// # Errors
/// An unreadable certificate, or a target that names nothing.
pub(crate) fn stage<Known: Databases, List: Benchmarks>(
    study: &Study,
    contender: &Contender,
    spec: &WorkloadSpec,
    plan: &Plan,
    target: &dyn Target,
    password: &Secret,
) -> Result<Stage, LabError> {
    let who = |e: DriverError| LabError::target(&contender.name, &e);
    if let Some((message, help)) = plan.refusal(target.dialect()) {
        return Err(LabError::new(ErrorKind::Usage, format!("{}, {}: {message}", contender.name, spec.name), help));
    }
    let wishes = Wishes {
        counts_found_rows: plan.counts_found_rows(),
        noted_settings: contender.server_settings.keys().cloned().collect(),
    };
    let join = Join { of: (contender, spec, data_seed(study, spec)), plan, target, list: PhantomData::<List> };
    let joined = Known::drive(target, password, &wishes, join).ok_or_else(|| registry::unregistered(target))?;
    joined.map_err(who)?.ok_or_else(|| registry::unknown(plan))
}

/// What a driver is joined with.
struct Join<'a, List> {
    of: (&'a Contender, &'a WorkloadSpec, Seed),
    plan: &'a Plan,
    target: &'a dyn Target,
    list: PhantomData<List>,
}

impl<List: Benchmarks> Visit for Join<'_, List> {
    type Output = Option<Stage>;

    fn visit<D: Driver>(self, driver: D) -> Option<Stage> {
        List::visit(self.plan, Driven { of: self.of, target: self.target, driver })
    }
}

/// A driver that is joined with the workload of a plan.
struct Driven<'a, D> {
    of: (&'a Contender, &'a WorkloadSpec, Seed),
    target: &'a dyn Target,
    driver: D,
}

impl<D: Driver> Visitor for Driven<'_, D> {
    type Output = Stage;

    fn visit<B: Benchmark>(self, options: &B) -> Stage {
        let (dialect, seed) = (self.target.dialect(), self.of.2);
        let (workload, dataset) = (options.workload(dialect, seed), options.dataset(dialect, seed));
        joined(self.of, self.target, Arc::new(self.driver), workload, dataset)
    }
}

/// A driver and a workload with their types known.
struct Joined<D, W, T> {
    title: String,
    kind: String,
    fingerprint: String,
    dialect: &'static dyn Dialect,
    driver: Arc<D>,
    workload: Arc<W>,
    dataset: Arc<T>,
}

/// Hides the types of a driver and a workload behind the parts of a stage.
fn joined<D: Driver, W: Workload, T: Dataset>(
    (contender, spec, seed): (&Contender, &WorkloadSpec, Seed),
    target: &dyn Target,
    driver: Arc<D>,
    workload: W,
    dataset: T,
) -> Stage {
    // A growing data set would let later trials see another database, so it starts again with each block.
    let default = if dataset.grows() { Reset::PerBlock } else { Reset::Never };
    let title = format!("{}, {}", contender.name, spec.name);
    let kind = spec.kind.value.clone();
    let fingerprint = data::fingerprint(&kind, &dataset.parameters(), seed);
    let tables = dataset.tables().into_iter().map(|t| t.bulk.name).collect();
    let (workload, dataset) = (Arc::new(workload), Arc::new(dataset));
    let (dialect, shown, print) = (target.dialect(), title.clone(), fingerprint.clone());
    let joined = Arc::new(Joined { title: shown, kind, fingerprint: print, dialect, driver, workload, dataset });
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

impl<D: Driver, W: Workload, T: Dataset> Server for Joined<D, W, T> {
    fn reach(&self) -> Result<(), DriverError> {
        self.with_host(0, async |session| sessions::in_a_database(session, self.dialect).await)
    }

    fn hosts(&self) -> Vec<String> {
        self.driver.hosts()
    }

    fn facts(&self) -> Result<TargetFacts, LabError> {
        let ask = async {
            self.driver
                .facts()
                .await
                .map_err(|error| loader::LoadError::Server { doing: "asking for its version".to_owned(), error })
        };
        on_loop(ask).map_err(|e| LabError::load(&self.title, &e))
    }

    fn counters(&self) -> Result<BTreeMap<String, i64>, LabError> {
        let ask = async {
            self.driver
                .counters()
                .await
                .map_err(|error| loader::LoadError::Server { doing: "reading its counters".to_owned(), error })
        };
        on_loop(ask).map_err(|e| LabError::load(&self.title, &e))
    }

    fn text_fallbacks(&self) -> u64 {
        self.driver.text_fallbacks()
    }

    fn cell_on_host(&self, host: u32, sql: &str) -> Result<Option<String>, DriverError> {
        self.cell_on_host(host, sql)
    }

    fn execute(&self, doing: &str, sql: &str) -> Result<(), LabError> {
        self.ask(doing, &sql.into())
    }

    fn ask(&self, doing: &str, query: &Query) -> Result<(), LabError> {
        self.with_session(doing, async |s| query.ask(s, &mut Rows::default()).await.map(drop).map_err(loader::server(doing)))
    }

    fn drop_table(&self, doing: &str, name: &str) -> Result<(), LabError> {
        self.with_session(doing, async |s| s.drop_table(name).await.map_err(loader::server(doing)))
    }

    fn number(&self, doing: &str, sql: &str) -> Result<i64, LabError> {
        self.with_session(doing, async |s| {
            let mut rows = Rows::default();
            let server = |error| loader::LoadError::Server { doing: doing.to_owned(), error };
            s.query(sql, &mut rows).await.map_err(server)?;
            rows.int(0, 0).map_err(server)
        })
    }

    fn has_table(&self, name: &str) -> Result<bool, LabError> {
        self.with_session("looking for tables", async |s| data::exists(s, self.dialect, name).await)
    }
}

impl<D: Driver, W: Workload, T: Dataset> Data for Joined<D, W, T> {
    fn noted(&self) -> Result<DataState, LabError> {
        let note = self.with_session("looking at its data", async |s| data::noted(s, self.dialect, &self.kind).await)?;
        note.map_or_else(|| self.state(), Ok)
    }

    fn state(&self) -> Result<DataState, LabError> {
        let tables = self.dataset.tables();
        self.with_session("looking at its data", async |s| {
            data::state(s, self.dialect, &self.kind, &tables, &self.fingerprint, self.dataset.grows()).await
        })
    }

    fn load(&self, sessions: Option<u32>, stop: &StopToken, progress: &mut dyn FnMut(LoadProgress)) -> Result<(), LabError> {
        let ledger = LoadLedger::new(&self.kind);
        self.with_session("preparing to load", async |s| data::begin(s, self.dialect, &self.kind, &self.fingerprint).await)?;
        let sessions = sessions.unwrap_or(LOAD_SESSIONS);
        if self.dialect.lacks(Feature::Sql).is_some() {
            // No transaction could hold both rows and what a ledger says of them.
            self.loading(None, sessions, stop).run(progress).map_err(|e| LabError::load(&self.title, &e))?;
            return self.mark(data::FRESH);
        }
        self.loading(Some(&ledger), sessions, stop).run(progress).map_err(|e| self.cut_off(&e))?;
        self.loaded(&ledger)
    }

    fn unfinished(&self) -> Result<Option<u64>, LabError> {
        Ok(self.part_states()?.map(|states| states.iter().map(|s| s.rows).sum()))
    }

    fn resume(&self, sessions: Option<u32>, stop: &StopToken, progress: &mut dyn FnMut(LoadProgress)) -> Result<(), LabError> {
        let Some(states) = self.part_states()? else { return self.load(sessions, stop, progress) };
        let (ledger, sessions) = (LoadLedger::new(&self.kind), sessions.unwrap_or(LOAD_SESSIONS));
        self.loading(Some(&ledger), sessions, stop).resume(&states, progress).map_err(|e| self.cut_off(&e))?;
        self.loaded(&ledger)
    }

    fn fill(&self, sessions: Option<u32>, stop: &StopToken, progress: &mut dyn FnMut(LoadProgress)) -> Result<(), LabError> {
        let load = self.loading(None, sessions.unwrap_or(LOAD_SESSIONS), stop);
        load.run(progress).map_err(|e| LabError::load(&self.title, &e))
    }

    fn mark(&self, used_by: &str) -> Result<(), LabError> {
        self.with_session("noting the use of its data", async |s| {
            data::note(s, self.dialect, &self.kind, &self.fingerprint, used_by).await
        })
    }

    fn rows(&self) -> Result<BTreeMap<String, u64>, LabError> {
        let names: Vec<String> = self.dataset.tables().into_iter().map(|t| t.bulk.name).collect();
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

    fn audit(&self, measured: &Measured) -> Result<Vec<AuditFigure>, LabError> {
        self.workload.audit(measured).map_err(|e| LabError::new(ErrorKind::Failed, format!("{}: {e}", self.title), ""))
    }
}
