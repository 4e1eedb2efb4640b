//! The benchmark of a script: its terminals, and data that only the script knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use perbuck_core::units::Seed;
use perbuck_database::Dialect;
use perbuck_load::driver::Means;
use perbuck_load::statement::Catalogue;
use perbuck_load::values::Params;
use perbuck_load::workload::{Check, Dataset, Part, TableSpec, TerminalId, Workload};

use crate::script::LuaScript;
use crate::terminal::LuaTerminal;

/// A script against a database.
#[derive(Debug)]
pub struct LuaWorkload {
    pub(crate) script: Arc<LuaScript>,
    catalogue: Arc<Catalogue>,
    driver: &'static str,
}

impl LuaWorkload {
    /// The script on a database of this dialect.
    pub fn new(script: &LuaScript, dialect: &'static dyn Dialect, _seed: Seed) -> Self {
        let catalogue = Catalogue::labelled(&["select", "insert", "update", "delete", "other"]);
        Self { script: Arc::new(script.clone()), catalogue: Arc::new(catalogue), driver: driver_name(dialect) }
    }
}

/// The name of a database's driver in sysbench; scripts tell databases apart by it.
fn driver_name(dialect: &dyn Dialect) -> &'static str {
    match dialect.family() {
        "postgres" => "pgsql",
        other => other,
    }
}

impl Workload for LuaWorkload {
    type Terminal = LuaTerminal;

    const NEEDS: Means = Means { values: false, ..Means::ALL };

    fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue)
    }

    fn kinds(&self) -> Vec<&str> {
        vec!["event"]
    }

    fn terminal(&self, id: TerminalId) -> LuaTerminal {
        LuaTerminal::new(Arc::clone(&self.script), id, self.driver)
    }
}

/// Data that the script makes itself, by its command `prepare`.
#[derive(Debug)]
pub struct NoData;

impl Dataset for NoData {
    fn tables(&self) -> Vec<TableSpec> {
        Vec::new()
    }

    fn parts(&self) -> u32 {
        0
    }

    fn part(&self, _index: u32) -> Box<dyn Part> {
        Box::new(Self)
    }

    fn checks(&self) -> Vec<Check> {
        Vec::new()
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn grows(&self) -> bool {
        false
    }
}

impl Part for NoData {
    fn next_batch(&mut self, _cells: &mut Params) -> Option<usize> {
        None
    }
}
