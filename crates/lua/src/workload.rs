//! The benchmark of a script: its terminals.

use std::sync::Arc;

use perbuck_core::units::Seed;
use perbuck_database::Dialect;
use perbuck_load::driver::{Means, Session};
use perbuck_load::error::DriverError;
use perbuck_load::statement::Catalogue;
use perbuck_load::workload::{TerminalId, Workload};

use crate::data;
use crate::script::LuaScript;
use crate::terminal::LuaTerminal;
use crate::values::completed;

/// A script against a database.
#[derive(Debug)]
pub struct LuaWorkload {
    pub(crate) script: Arc<LuaScript>,
    catalogue: Arc<Catalogue>,
    driver: &'static str,
    seed: Seed,
}

impl LuaWorkload {
    /// The script on a database of this dialect.
    pub fn new(script: &LuaScript, dialect: &'static dyn Dialect, seed: Seed) -> Self {
        let catalogue = Catalogue::labelled(&["select", "insert", "update", "delete", "other"]);
        let driver = driver_name(dialect);
        // A command line has read its options itself.
        let script = if script.is_held { completed(script, driver) } else { script.clone() };
        Self { script: Arc::new(script), catalogue: Arc::new(catalogue), driver, seed }
    }
}

/// The name of a database's driver in sysbench; scripts tell databases apart by it.
pub(crate) fn driver_name(dialect: &dyn Dialect) -> &'static str {
    match dialect.family() {
        "postgres" => "pgsql",
        other => other,
    }
}

impl Workload for LuaWorkload {
    type Terminal = LuaTerminal;

    const NEEDS: Means = Means { values: false, ..Means::ALL };

    async fn make<S: Session>(&self, session: S) -> Result<S, DriverError> {
        match self.script.maker() {
            Some(maker) => data::make(maker, (self.driver, self.seed), session).await,
            None => Ok(session),
        }
    }

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
