//! What a benchmark is to the rest of perbuck, and lists of benchmarks.
//!
//! A benchmark is registered by its position in a list of types, such as [`crate::Workloads`]. [`Benchmarks::with_benchmark`]
//! calls an action with the types of a [`Plan`], so that engine and terminals are joined by static dispatch.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use perbuck_core::problem::nearest;
use perbuck_core::units::Seed;
use perbuck_core::workload_kind::{Parameters, WorkloadKind};
use perbuck_database::dialect::{Dialect, Feature};
use perbuck_load::workload::{Dataset, Workload};

use crate::params::{ParamProblem, Reader};

/// About how much data a benchmark loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DataSize {
    /// Rows of all tables.
    pub rows: u64,
    /// Bytes of their values as text; a database stores them with keys, indexes and a log beside them.
    pub bytes: u64,
    /// Whether a run changes how much there is.
    pub grows: bool,
}

/// Queries whose plans can be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// What each is called.
    pub names: Vec<String>,
    /// After which each is ended, as in a trial.
    pub limit: Duration,
}

/// The options of a benchmark, and what it makes of them.
pub trait Benchmark: Any + Debug + Send + Sync {
    /// What terminals do.
    type Workload: Workload
    where
        Self: Sized;

    /// What the benchmark declares about itself.
    fn kind() -> &'static WorkloadKind
    where
        Self: Sized;

    /// Reads the options; every problem goes to the reader.
    fn read(reader: &mut Reader<'_>) -> Self
    where
        Self: Sized;

    /// Reads the options from parameters, or finds every problem.
    fn checked(parameters: &Parameters) -> Result<Self, Vec<ParamProblem>>
    where
        Self: Sized,
    {
        let mut reader = Reader::new(parameters, Self::kind().parameters);
        let options = Self::read(&mut reader);
        reader.finish().map(|()| options)
    }

    /// The rows for a database, drawn from that seed.
    fn dataset(&self, dialect: &'static dyn Dialect, seed: Seed) -> Arc<dyn Dataset>;

    /// What terminals do on a database whose rows were drawn from that seed.
    fn workload(&self, dialect: &'static dyn Dialect, seed: Seed) -> Self::Workload
    where
        Self: Sized;

    /// Every parameter with its effective value, for the record.
    fn parameters(&self) -> BTreeMap<String, String>;

    /// Why one database cannot serve this workload and `other` in turn, if it cannot: a clause after "because".
    fn conflict(&self, other: &dyn Benchmark) -> Option<String>;

    /// What a database of that dialect does not have: what is wrong, and the way out.
    fn refusal(&self, dialect: &dyn Dialect) -> Option<(String, String)>;

    /// About how much data it loads; nothing where that is not known.
    fn size(&self) -> DataSize {
        DataSize::default()
    }

    /// What a check of the study says of it, line by line.
    fn told(&self) -> Vec<String> {
        Vec::new()
    }

    /// The queries whose plans can be kept; `None` where it has none that run for long.
    fn explained(&self) -> Option<Explained> {
        None
    }

    /// The text of such a query by its position, with the same values in every trial: other values may have other plans.
    fn explained_query(&self, _position: usize, _dialect: &dyn Dialect) -> String {
        String::new()
    }

    /// The parameter that makes its terminals wait for themselves, so that transactions cannot be due by a schedule.
    fn paced_by(&self) -> Option<&'static str> {
        None
    }

    /// The most connections that it can have, and the parameter that says so.
    fn connections_max(&self) -> Option<(u32, &'static str)> {
        None
    }

    /// Whether a changed row must count where an UPDATE leaves it as it is.
    fn counts_found_rows(&self) -> bool {
        false
    }

    /// What is wrong that only running code of the user tells, without a database: what, and the way out. A study is only asked before it runs, or
    /// where it is checked; reading results runs nothing of what lies beside them.
    fn rehearse(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Whether its transactions need the values of rows, which the simulated driver does not return.
    fn needs_values(&self) -> bool {
        true
    }
}

impl dyn Benchmark {
    /// The options of a benchmark; `None` of another one.
    pub fn options<B: Benchmark>(&self) -> Option<&B> {
        (self as &dyn Any).downcast_ref()
    }
}

/// A workload of a study with checked parameters, whatever its benchmark.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What its benchmark declares.
    pub kind: &'static WorkloadKind,
    options: Arc<dyn Benchmark>,
}

impl Plan {
    /// The plan of these options.
    pub fn of<B: Benchmark>(options: B) -> Self {
        Self { kind: B::kind(), options: Arc::new(options) }
    }

    /// Reads the parameters of a workload of that kind, one of a list, or finds every problem.
    pub fn read<List: Benchmarks>(kind: &str, parameters: &Parameters) -> Result<Self, Vec<ParamProblem>> {
        if let Some(read) = List::read(kind, parameters) {
            return read;
        }
        let names: Vec<&str> = List::kinds().iter().map(|kind| kind.name).collect();
        let help = match nearest(kind, names.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("use one of {}", names.join(", ")),
        };
        Err(vec![ParamProblem { key: "kind".to_owned(), message: format!("there is no workload kind \"{kind}\""), help }])
    }
}

impl Deref for Plan {
    type Target = dyn Benchmark;

    fn deref(&self) -> &Self::Target {
        self.options.as_ref()
    }
}

/// A list of benchmarks: `()`, or a benchmark and a list.
pub trait Benchmarks: 'static {
    /// What they declare, in their order.
    fn kinds() -> Vec<&'static WorkloadKind>;

    /// Reads the options of the benchmark whose kind has that name, or finds their problems; `None` where there is none.
    fn read(kind: &str, parameters: &Parameters) -> Option<Result<Plan, Vec<ParamProblem>>>;

    /// Runs an action with the typed options of a plan; `None` where its benchmark is not in the list.
    fn with_benchmark<A: BenchmarkAction>(plan: &Plan, action: A) -> Option<A::Output>;
}

/// An action that needs the types of a benchmark.
pub trait BenchmarkAction {
    /// What it returns.
    type Output;

    /// Is called once, with the benchmark of the plan.
    fn run<B: Benchmark>(self, options: &B) -> Self::Output;
}

impl Benchmarks for () {
    fn kinds() -> Vec<&'static WorkloadKind> {
        Vec::new()
    }

    fn read(_: &str, _: &Parameters) -> Option<Result<Plan, Vec<ParamProblem>>> {
        None
    }

    fn with_benchmark<A: BenchmarkAction>(_: &Plan, _: A) -> Option<A::Output> {
        None
    }
}

impl<B: Benchmark, Others: Benchmarks> Benchmarks for (B, Others) {
    fn kinds() -> Vec<&'static WorkloadKind> {
        [vec![B::kind()], Others::kinds()].concat()
    }

    fn read(kind: &str, parameters: &Parameters) -> Option<Result<Plan, Vec<ParamProblem>>> {
        if B::kind().name == kind { Some(B::checked(parameters).map(Plan::of)) } else { Others::read(kind, parameters) }
    }

    fn with_benchmark<A: BenchmarkAction>(plan: &Plan, action: A) -> Option<A::Output> {
        match plan.options::<B>() {
            Some(options) => Some(action.run(options)),
            None => Others::with_benchmark(plan, action),
        }
    }
}

/// Why a database without SQL cannot serve a workload that speaks it.
pub(crate) fn speaks_sql(dialect: &dyn Dialect) -> Option<(String, String)> {
    dialect.lacks(Feature::Sql).map(|lack| (lack.why.to_owned(), lack.help.to_owned()))
}
