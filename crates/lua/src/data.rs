//! The tables of a script: those that the command `prepare` of another one makes, or none.

use std::collections::BTreeMap;
use std::sync::Arc;

use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;
use perbuck_database::Dialect;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{BulkTable, Session};
use perbuck_load::error::DriverError;
use perbuck_load::share::Share;
use perbuck_load::statement::Catalogue;
use perbuck_load::values::Params;
use perbuck_load::workload::{Check, Dataset, Operation, Part, TableSpec, Terminal, TerminalId};

use crate::script::{Init, LuaScript};
use crate::terminal::LuaTerminal;
use crate::values::completed;

/// The data of a script.
#[derive(Debug)]
pub struct LuaData {
    script: LuaScript,
    dialect: &'static dyn Dialect,
}

impl LuaData {
    pub(crate) fn new(script: LuaScript, dialect: &'static dyn Dialect) -> Self {
        Self { script, dialect }
    }
}

impl Dataset for LuaData {
    fn tables(&self) -> Vec<TableSpec> {
        let table = |name: &String| TableSpec {
            bulk: BulkTable { name: name.clone(), columns: Vec::new() },
            create: Vec::new(),
            after_load: Vec::new(),
            statistics: self.dialect.statistics(name),
            rows: None,
            rows_vary: true,
            numbered: false,
        };
        match self.script.init.as_deref() {
            Some(Init::Script(_, tables)) => tables.iter().map(table).collect(),
            _ => Vec::new(),
        }
    }

    fn parts(&self) -> u32 {
        0
    }

    fn part(&self, _index: u32) -> Box<dyn Part> {
        Box::new(NoRows)
    }

    fn checks(&self) -> Vec<Check> {
        Vec::new()
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        self.script.data_parameters()
    }

    fn grows(&self) -> bool {
        self.script.maker().is_some()
    }
}

/// Runs the command `prepare` in one thread.
pub(crate) async fn make<S: Session>(
    maker: &LuaScript,
    (driver, seed): (&'static str, Seed),
    session: S,
) -> Result<S, DriverError> {
    let script = Arc::new(completed(maker, driver));
    let mut connection = Connection::open(session, Arc::new(Catalogue::labelled(&["other"]))).await?;
    let mut terminal = LuaTerminal::new(script, TerminalId { index: 0, of: 1, seed, share: Share::WHOLE }, driver);
    terminal.start(&mut connection).await?;
    let mut operation = Operation { sequence: 0, rng: OpRng::at(seed, 0, 0) };
    terminal.transaction(&mut connection, &mut operation).await?;
    connection.into_session()
}

/// The rows of no part: the script inserts its own.
#[derive(Debug)]
struct NoRows;

impl Part for NoRows {
    fn next_batch(&mut self, _cells: &mut Params) -> Option<usize> {
        None
    }
}
