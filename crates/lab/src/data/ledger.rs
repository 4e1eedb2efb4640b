//! The ledger of a load: a table in the target with a row for each part of the data, there as long as the load lasts.

use std::ops::Range;

use perbuck_load::error::{Cause, DriverError};
use perbuck_load::loader::ledger::{Ledger, PartState};

/// The ledger of one kind of workload; two kinds can be loaded into one database at the same time.
#[derive(Debug, Clone)]
pub struct LoadLedger(String);

impl LoadLedger {
    /// That of workload `kind`.
    pub fn new(kind: &str) -> Self {
        Self(format!("perbuck_load_{kind}"))
    }

    pub(super) fn table(&self) -> &str {
        &self.0
    }
}

impl Ledger for LoadLedger {
    fn drop(&self) -> String {
        format!("DROP TABLE IF EXISTS {}", self.0)
    }

    fn create(&self) -> String {
        format!(
            "CREATE TABLE {} (part INT NOT NULL PRIMARY KEY, batches BIGINT NOT NULL, loaded BIGINT NOT NULL, \
             done INT NOT NULL, claims INT NOT NULL)",
            self.0
        )
    }

    fn open(&self, parts: Range<u32>) -> String {
        let rows: Vec<String> = parts.map(|part| format!("({part}, 0, 0, 0, 0)")).collect();
        format!("INSERT INTO {} VALUES {}", self.0, rows.join(", "))
    }

    fn read(&self) -> String {
        format!("SELECT part, batches, loaded, done FROM {} ORDER BY part", self.0)
    }

    fn read_part(&self, part: u32) -> String {
        format!("SELECT part, batches, loaded, done FROM {} WHERE part = {part}", self.0)
    }

    fn claim(&self, part: u32) -> String {
        format!("UPDATE {} SET claims = claims + 1 WHERE part = {part}", self.0)
    }

    fn advance(&self, part: u32, from: PartState, to: PartState) -> String {
        let (table, done) = (&self.0, u8::from(to.done));
        let set = format!("batches = {}, loaded = {}, done = {done}", to.batches, to.rows);
        format!("UPDATE {table} SET {set} WHERE part = {part} AND batches = {} AND done = 0", from.batches)
    }

    fn made_already(&self, error: &DriverError) -> bool {
        error.cause == Some(Cause::AlreadyThere)
    }
}
