//! A benchmark in one folder: reads of one row, a share of which counts as good.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use perbuck_core::metric::{Counted, Metric, Period};
use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;
use perbuck_core::workload_kind::{Decides, Disclosure, Parameter, ParameterKind, WorkloadKind};
use perbuck_database::Dialect;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{BulkTable, Session};
use perbuck_load::error::DriverError;
use perbuck_load::statement::{Catalogue, StatementId, Verb};
use perbuck_load::values::Params;
use perbuck_load::workload::{Check, Dataset, Done, Operation, Part, TableSpec, Terminal, TerminalId, Workload};
use perbuck_workloads::Benchmark;
use perbuck_workloads::params::Reader;

static GOOD_PER_MINUTE: Metric = Metric::rate(
    "good_per_minute",
    "good/min",
    ["good reads", "good"],
    Counted::Kinds(Cow::Borrowed(&[Cow::Borrowed("good")])),
    Period::Minute,
);

static KIND: WorkloadKind = WorkloadKind {
    parameters: &[
        Parameter::new("rows", ParameterKind::Whole(1, 1_000), "10", Decides::Data, "rows of the table"),
        Parameter::new("good_share", ParameterKind::Number(0.0, 1.0), "0.5", Decides::Run, "share of the reads that are good"),
    ],
    metrics: &[&GOOD_PER_MINUTE],
    metric: |_| &GOOD_PER_MINUTE,
    disclosure: |shown| Some(Disclosure { text: format!("{} is a toy.", shown.workload), ceiling: None }),
    ..WorkloadKind::plain("toy", "reads of one row, some of them good")
};

/// What a toy may be told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Toy {
    rows: u32,
    good_share: f64,
}

impl Benchmark for Toy {
    type Workload = ToyWorkload;

    fn kind() -> &'static WorkloadKind {
        &KIND
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        let rows = reader.int("rows") as u32;
        Self { rows, good_share: reader.number("good_share") }
    }

    fn dataset(&self, _: &'static dyn Dialect, _: Seed) -> Arc<dyn Dataset> {
        Arc::new(*self)
    }

    fn workload(&self, _: &'static dyn Dialect, _: Seed) -> ToyWorkload {
        let mut catalogue = Catalogue::default();
        let read = catalogue.add(Verb::Select, "SELECT v FROM toy WHERE id = ?");
        ToyWorkload { catalogue: Arc::new(catalogue), terminal: ToyTerminal { toy: *self, read } }
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        [("rows", self.rows.to_string()), ("good_share", self.good_share.to_string())].map(|(k, v)| (k.to_owned(), v)).into()
    }

    fn conflict(&self, other: &dyn Benchmark) -> Option<String> {
        let other: &Self = other.options()?;
        (self.rows != other.rows).then(|| "they have not the same rows".to_owned())
    }

    fn refusal(&self, _: &dyn Dialect) -> Option<(String, String)> {
        None
    }
}

impl Dataset for Toy {
    fn tables(&self) -> Vec<TableSpec> {
        vec![TableSpec {
            bulk: BulkTable { name: "toy".to_owned(), columns: ["id", "v"].map(str::to_owned).to_vec() },
            create: vec!["CREATE TABLE toy (id INTEGER PRIMARY KEY, v INTEGER NOT NULL)".to_owned()],
            after_load: Vec::new(),
            statistics: None,
            rows: Some(self.rows.into()),
            rows_vary: false,
            numbered: false,
        }]
    }

    fn parts(&self) -> u32 {
        1
    }

    fn part(&self, _: u32) -> Box<dyn Part> {
        Box::new(Rows { left: self.rows })
    }

    fn checks(&self) -> Vec<Check> {
        vec![Check {
            name: "toy".to_owned(),
            what: "v is twice id".to_owned(),
            compared: "SELECT COUNT(*) FROM toy".into(),
            violations: "SELECT id FROM toy WHERE v <> 2 * id".into(),
            columns: vec!["id"],
            unless_used: None,
        }]
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("rows".to_owned(), self.rows.to_string())])
    }

    fn grows(&self) -> bool {
        false
    }
}

/// The rows, in one batch.
pub(crate) struct Rows {
    left: u32,
}

impl Part for Rows {
    fn next_batch(&mut self, cells: &mut Params) -> Option<usize> {
        cells.clear();
        let rows = std::mem::take(&mut self.left);
        (1..=i64::from(rows)).for_each(|id| {
            cells.int(id).int(2 * id);
        });
        (rows > 0).then_some(0)
    }
}

/// A toy for one database.
pub(crate) struct ToyWorkload {
    catalogue: Arc<Catalogue>,
    terminal: ToyTerminal,
}

impl Workload for ToyWorkload {
    type Terminal = ToyTerminal;

    fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue)
    }

    fn kinds(&self) -> Vec<&str> {
        vec!["good", "bad"]
    }

    fn terminal(&self, _: TerminalId) -> ToyTerminal {
        self.terminal
    }
}

/// Reads a row.
#[derive(Clone, Copy)]
pub(crate) struct ToyTerminal {
    toy: Toy,
    read: StatementId,
}

impl ToyTerminal {
    /// The kind of a read, and its row.
    fn draw(&self, rng: &mut OpRng) -> (u8, i64) {
        let kind = u8::from(rng.unit_f64() >= self.toy.good_share);
        (kind, 1 + (rng.unit_f64() * f64::from(self.toy.rows)) as i64)
    }
}

impl Terminal for ToyTerminal {
    fn kind(&mut self, operation: &Operation) -> u8 {
        self.draw(&mut operation.rng.clone()).0
    }

    async fn transaction<S: Session>(&mut self, to: &mut Connection<S>, operation: &mut Operation) -> Result<Done, DriverError> {
        let (kind, id) = self.draw(&mut operation.rng);
        to.bind().int(id);
        to.execute(self.read).await?;
        Ok(Done::committed(kind))
    }
}
