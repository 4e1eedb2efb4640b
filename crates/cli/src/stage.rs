//! One contender with one workload: the place where driver and benchmark are joined, once, by static dispatch.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use perbuck_core::study::{Contender, Reset, Study, WorkloadSpec};
use perbuck_drivers::mysql::MysqlDriver;
use perbuck_drivers::postgres::PostgresDriver;
use perbuck_drivers::secret::Secret;
use perbuck_drivers::sqlite::SqliteDriver;
use perbuck_drivers::target::Target;
use perbuck_load::driver::{Driver, Session, SessionId, TargetFacts};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::executor::{Observer, RunError, TrialOutcome, TrialSpec, run_trial};
use perbuck_load::loader::{self, CheckResult, LoadProgress, on_loop};
use perbuck_load::statement::Dialect;
use perbuck_load::stop::StopToken;
use perbuck_load::values::Rows;
use perbuck_load::workload::{Dataset, Workload};
use perbuck_workloads::{Plan, sysbench, tpcc};

use crate::data::{self, DataState};
use crate::error::{CliError, Exit, upper};
use crate::inputs::{Inputs, read_text};

/// Sessions that load data at the same time unless somebody says how many; a single server gains little by more.
const LOAD_SESSIONS: u32 = 8;

/// A contender with a workload, its types chosen.
pub(crate) trait Stage {
    /// For messages: `arm, small`.
    fn title(&self) -> &str;
    /// The address without credentials.
    fn address(&self) -> &str;
    /// mysql, sqlite, …
    fn driver(&self) -> &'static str;
    /// Fingerprint of the data that this stage needs.
    fn fingerprint(&self) -> &str;
    /// When the data are loaded anew.
    fn reset(&self) -> Reset;
    /// Opens a connection and closes it.
    fn reach(&self) -> Result<(), DriverError>;
    /// What the target says about itself.
    fn facts(&self) -> Result<TargetFacts, CliError>;
    /// Statements that ran as text because the server would prepare no more, since the start.
    fn text_fallbacks(&self) -> u64;
    /// The server's own counters.
    fn counters(&self) -> Result<BTreeMap<String, i64>, CliError>;
    /// What perbuck noted of the data: cheap, and enough between two trials of one study.
    fn noted(&self) -> Result<DataState, CliError>;
    /// What data the target holds, tables looked at.
    fn state(&self) -> Result<DataState, CliError>;
    /// Loads the data anew and notes them as fresh.
    fn load(&self, sessions: Option<u32>, stop: &StopToken, progress: &mut dyn FnMut(LoadProgress)) -> Result<(), CliError>;
    /// Notes who changed the data.
    fn mark(&self, used_by: &str) -> Result<(), CliError>;
    /// Rows per table.
    fn rows(&self) -> Result<BTreeMap<String, u64>, CliError>;
    /// Whether a table of that name is there.
    fn has_table(&self, name: &str) -> Result<bool, CliError>;
    /// Makes and fills the tables, without a note on the data; those that are there are dropped before.
    fn fill(&self, sessions: Option<u32>, stop: &StopToken, progress: &mut dyn FnMut(LoadProgress)) -> Result<(), CliError>;
    /// Executes one statement, however long it takes.
    fn execute(&self, doing: &str, sql: &str) -> Result<(), CliError>;
    /// Runs the workload's checks on the data.
    fn checks(&self) -> Result<Vec<CheckResult>, CliError>;
    /// Runs one trial.
    fn run(&self, spec: &TrialSpec, stop: &StopToken, observer: &mut dyn Observer) -> Result<TrialOutcome, RunError>;
}

/// Builds every stage of a study: contenders in the order of the study, workloads within.
///
/// # Errors
/// A contender without a target, a missing password file, an unreadable certificate.
pub(crate) fn build(inputs: &Inputs, ask_password: bool) -> Result<Vec<Box<dyn Stage>>, CliError> {
    let mut stages = Vec::new();
    for (contender, target) in inputs.study.contenders.iter().zip(&inputs.targets) {
        let Some(target) = target else {
            let message = format!("contender `{}` has no target to drive", contender.name);
            return Err(CliError::new(Exit::Usage, message, "add `target = \"…\"` to it; without one it can only be priced"));
        };
        let password = match target {
            Target::Sqlite(_) => Secret::default(),
            Target::Mysql(_) | Target::Postgres(_) => password(contender, ask_password)?,
        };
        for (spec, plan) in inputs.study.workloads.iter().zip(&inputs.plans) {
            let target = spec.database.as_ref().map_or_else(|| target.clone(), |name| target.with_database(name));
            stages.push(stage(&inputs.study, contender, spec, plan, &target, &password)?);
        }
    }
    Ok(stages)
}

/// The password of a contender: environment, then file, then prompt; none is the empty password.
fn password(contender: &Contender, ask: bool) -> Result<Secret, CliError> {
    let variable = format!("PERBUCK_{}_PASSWORD", contender.name.chars().map(upper).collect::<String>());
    if let Some(given) = std::env::var_os(&variable) {
        return Ok(Secret::new(given.into_encoded_bytes()));
    }
    if let Some(file) = &contender.password_file {
        let mut text = read_text(&format!("the password of contender `{}` in", contender.name), Path::new(&file.value))?;
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
        return Ok(Secret::new(text));
    }
    if ask {
        let typed = rpassword::prompt_password(format!("Password of contender {}: ", contender.name));
        return typed.map(Secret::new).map_err(|e| {
            CliError::new(Exit::Usage, format!("cannot ask for a password: {e}"), format!("put it into {variable} instead"))
        });
    }
    Ok(Secret::default())
}

/// Joins one contender with one workload of a study.
///
/// # Errors
/// An unreadable certificate, or a target that names nothing.
pub(crate) fn stage(
    study: &Study,
    contender: &Contender,
    spec: &WorkloadSpec,
    plan: &Plan,
    target: &Target,
    password: &Secret,
) -> Result<Box<dyn Stage>, CliError> {
    let who = |e: DriverError| CliError::target(&contender.name, &e);
    let dialect = match target {
        Target::Sqlite(_) => Dialect::Sqlite,
        Target::Mysql(_) => Dialect::Mysql,
        Target::Postgres(_) => Dialect::Postgres,
    };
    if let Some((message, help)) = plan.refusal(dialect) {
        return Err(CliError::new(Exit::Usage, format!("{}, {}: {message}", contender.name, spec.name), help));
    }
    match target {
        Target::Sqlite(t) => {
            let driver = SqliteDriver::new(t.clone()).map_err(who)?;
            Ok(with_workload(study, contender, spec, plan, ("sqlite", target.address()), driver))
        }
        Target::Mysql(t) => {
            let driver = MysqlDriver::new(t.clone(), password.clone()).map_err(who)?;
            Ok(with_workload(study, contender, spec, plan, ("mysql", target.address()), driver))
        }
        Target::Postgres(t) => {
            let driver = PostgresDriver::new(t.clone(), password.clone()).map_err(who)?;
            Ok(with_workload(study, contender, spec, plan, ("postgres", target.address()), driver))
        }
    }
}

fn with_workload<D: Driver>(
    study: &Study,
    contender: &Contender,
    spec: &WorkloadSpec,
    plan: &Plan,
    (name, address): (&'static str, String),
    driver: D,
) -> Box<dyn Stage> {
    let dialect = driver.dialect();
    // All contenders hold the same rows: the seed of the data knows only the kind of workload.
    let seed = study.seed.derive(&format!("data {}", spec.kind.value));
    let title = format!("{}, {}", contender.name, spec.name);
    let driver = Arc::new(driver);
    match plan {
        Plan::Sysbench(options) => {
            let dataset = Arc::new(sysbench::SysbenchData::new(options.clone(), dialect, seed));
            let workload = Arc::new(sysbench::Sysbench::new(options, dialect));
            Box::new(Joined::new(title, address, name, driver, workload, dataset, spec, seed))
        }
        Plan::Tpcc(options) => {
            let dataset = Arc::new(tpcc::TpccData::new(options.clone(), dialect, seed));
            let workload = Arc::new(tpcc::Tpcc::new(options.clone(), dialect, seed));
            Box::new(Joined::new(title, address, name, driver, workload, dataset, spec, seed))
        }
    }
}

/// A stage with its types known.
struct Joined<D, W, T> {
    title: String,
    address: String,
    name: &'static str,
    kind: String,
    fingerprint: String,
    reset: Reset,
    driver: Arc<D>,
    workload: Arc<W>,
    dataset: Arc<T>,
}

impl<D: Driver, W: Workload, T: Dataset> Joined<D, W, T> {
    #[expect(clippy::too_many_arguments, reason = "called in one place, which has all of them at hand")]
    fn new(
        title: String,
        address: String,
        name: &'static str,
        driver: Arc<D>,
        workload: Arc<W>,
        dataset: Arc<T>,
        spec: &WorkloadSpec,
        seed: perbuck_core::units::Seed,
    ) -> Self {
        // A growing data set would let later trials see another database, so it starts anew with each block.
        let default = if dataset.grows() { Reset::PerBlock } else { Reset::Never };
        let fingerprint = data::fingerprint(&spec.kind.value, &dataset.parameters(), seed);
        let (kind, reset) = (spec.kind.value.clone(), spec.reset.unwrap_or(default));
        Self { title, address, name, kind, fingerprint, reset, driver, workload, dataset }
    }

    /// Runs some work on a session of its own.
    fn with_session<R>(
        &self,
        doing: &str,
        work: impl AsyncFnOnce(&mut D::Session) -> Result<R, loader::LoadError>,
    ) -> Result<R, CliError> {
        let result = on_loop(async {
            let connected = self.driver.connect(SessionId(0)).await;
            let mut session = connected.map_err(|error| loader::LoadError::Server { doing: doing.to_owned(), error })?;
            session.be_patient();
            let result = work(&mut session).await?;
            session.close().await;
            Ok(result)
        });
        result.map_err(|e| CliError::load(&self.title, &e))
    }

    fn table_names(&self) -> Vec<String> {
        self.dataset.tables().into_iter().map(|t| t.bulk.name).collect()
    }
}

impl<D: Driver, W: Workload, T: Dataset> Stage for Joined<D, W, T> {
    fn title(&self) -> &str {
        &self.title
    }

    fn address(&self) -> &str {
        &self.address
    }

    fn driver(&self) -> &'static str {
        self.name
    }

    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn reset(&self) -> Reset {
        self.reset
    }

    fn reach(&self) -> Result<(), DriverError> {
        let reached = on_loop(async {
            let connected = self.driver.connect(SessionId(0)).await;
            let session = connected.map_err(|error| loader::LoadError::Server { doing: String::new(), error })?;
            session.close().await;
            Ok(())
        });
        reached.map_err(|failed| match failed {
            loader::LoadError::Server { error, .. } => error,
            other => DriverError::client(ErrorClass::Fatal, "machine", other.to_string()),
        })
    }

    fn facts(&self) -> Result<TargetFacts, CliError> {
        let ask = async {
            self.driver
                .facts()
                .await
                .map_err(|error| loader::LoadError::Server { doing: "asking for its version".to_owned(), error })
        };
        on_loop(ask).map_err(|e| CliError::load(&self.title, &e))
    }

    fn text_fallbacks(&self) -> u64 {
        self.driver.text_fallbacks()
    }

    fn counters(&self) -> Result<BTreeMap<String, i64>, CliError> {
        let ask = async {
            self.driver
                .counters()
                .await
                .map_err(|error| loader::LoadError::Server { doing: "reading its counters".to_owned(), error })
        };
        on_loop(ask).map_err(|e| CliError::load(&self.title, &e))
    }

    fn noted(&self) -> Result<DataState, CliError> {
        let note = self.with_session("looking at its data", async |s| data::noted(s, self.driver.dialect(), &self.kind).await)?;
        note.map_or_else(|| self.state(), Ok)
    }

    fn state(&self) -> Result<DataState, CliError> {
        let tables = self.dataset.tables();
        self.with_session("looking at its data", async |s| {
            data::state(s, self.driver.dialect(), &self.kind, &tables, &self.fingerprint, self.dataset.grows()).await
        })
    }

    fn load(&self, sessions: Option<u32>, stop: &StopToken, progress: &mut dyn FnMut(LoadProgress)) -> Result<(), CliError> {
        self.with_session("preparing to load", async |s| data::begin(s, self.driver.dialect(), &self.kind).await)?;
        loader::load(&self.driver, &self.dataset, sessions.unwrap_or(LOAD_SESSIONS), stop, progress)
            .map_err(|e| CliError::load(&self.title, &e))?;
        self.with_session("noting the load", async |s| {
            data::note(s, self.driver.dialect(), &self.kind, &self.fingerprint, data::FRESH).await
        })
    }

    fn mark(&self, used_by: &str) -> Result<(), CliError> {
        self.with_session("noting the use of its data", async |s| {
            data::note(s, self.driver.dialect(), &self.kind, &self.fingerprint, used_by).await
        })
    }

    fn rows(&self) -> Result<BTreeMap<String, u64>, CliError> {
        let names = self.table_names();
        self.with_session("counting rows", async |s| {
            let mut rows = BTreeMap::new();
            for name in names {
                let count = loader::count(s, &name).await?;
                rows.insert(name, count);
            }
            Ok(rows)
        })
    }

    fn has_table(&self, name: &str) -> Result<bool, CliError> {
        self.with_session("looking for tables", async |s| data::exists(s, self.driver.dialect(), name).await)
    }

    fn fill(&self, sessions: Option<u32>, stop: &StopToken, progress: &mut dyn FnMut(LoadProgress)) -> Result<(), CliError> {
        let filled = loader::load(&self.driver, &self.dataset, sessions.unwrap_or(LOAD_SESSIONS), stop, progress);
        filled.map_err(|e| CliError::load(&self.title, &e))
    }

    fn execute(&self, doing: &str, sql: &str) -> Result<(), CliError> {
        self.with_session(doing, async |s| {
            let executed = s.query(sql, &mut Rows::default()).await;
            executed.map(|_| ()).map_err(|error| loader::LoadError::Server { doing: doing.to_owned(), error })
        })
    }

    fn checks(&self) -> Result<Vec<CheckResult>, CliError> {
        self.with_session("checking its data", async |s| {
            let mut results = Vec::new();
            for check in self.dataset.checks() {
                results.push(loader::run_check(s, &check).await?);
            }
            Ok(results)
        })
    }

    fn run(&self, spec: &TrialSpec, stop: &StopToken, observer: &mut dyn Observer) -> Result<TrialOutcome, RunError> {
        run_trial(spec, &self.driver, &self.workload, stop, observer)
    }
}
