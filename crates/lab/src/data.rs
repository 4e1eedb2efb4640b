//! What data a target holds: a small table in the target itself, so that a run knows which data are prepared, and which program changed them last.

use std::collections::BTreeMap;
use std::ops::Range;

use perbuck_core::plan;
use perbuck_core::units::Seed;
use perbuck_database::dialect::{Dialect, Feature};
use perbuck_load::driver::{COPY_NOTE, CopyScope, Session};
use perbuck_load::error::{Cause, DriverError};
use perbuck_load::loader::ledger::{Ledger, PartState, read};
use perbuck_load::loader::{LoadError, count};
use perbuck_load::query::Query;
use perbuck_load::values::Rows;
use perbuck_load::workload::TableSpec;

/// The word for data that no trial has changed.
pub(crate) const FRESH: &str = "fresh";
/// The word for data whose load has not ended.
const LOADING: &str = "loading";
/// The word for data that are being restored: tables of two times, until that has ended.
const RESTORING: &str = "restoring";
/// The table, one row per workload kind.
pub const TABLE: &str = "perbuck_data";
/// Raised when the generated rows change for the same parameters and seed.
const DATA_VERSION: u32 = 1;
const READING: &str = "reading perbuck's notes on the data";

/// What data a target holds for a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataState {
    /// No table of it.
    Absent,
    /// A load of ours that did not end, or a restore.
    Unfinished,
    /// Ours.
    Ours {
        /// Of which parameters and seed.
        fingerprint: String,
        /// `fresh`, or who changed it last.
        used_by: String,
    },
    /// Tables that another tool made.
    Foreign {
        /// Whether all tables are there with the expected numbers of rows.
        complete: bool,
        /// What is there, in words.
        found: String,
    },
}

/// A server's answer, with what was being done.
pub(crate) fn server(doing: &str) -> impl FnOnce(DriverError) -> LoadError + use<> {
    let doing = doing.to_owned();
    move |error| LoadError::Server { doing, error }
}

pub(crate) async fn query<S: Session>(session: &mut S, doing: &str, asked: impl Into<Query>) -> Result<Rows, LoadError> {
    let mut rows = Rows::default();
    asked.into().ask(session, &mut rows).await.map_err(server(doing))?;
    Ok(rows)
}

pub(crate) async fn number<S: Session>(session: &mut S, doing: &str, asked: impl Into<Query>) -> Result<i64, LoadError> {
    query(session, doing, asked).await?.int(0, 0).map_err(server(doing))
}

pub(crate) async fn exists<S: Session>(session: &mut S, dialect: &dyn Dialect, table: &str) -> Result<bool, LoadError> {
    Ok(number(session, &format!("looking for table {table}"), dialect.table_exists(table)).await? > 0)
}

/// The first table that is there with another number of rows than it was loaded with, in words.
async fn wrong_size<S: Session>(
    session: &mut S,
    dialect: &dyn Dialect,
    tables: &[TableSpec],
) -> Result<Option<String>, LoadError> {
    for table in tables.iter().filter(|table| !table.rows_vary) {
        let name = &table.bulk.name;
        if let (Some(expected), true) = (table.rows, exists(session, dialect, name).await?) {
            let rows = count(session, name).await?;
            if rows != expected {
                return Ok(Some(format!("{name} with {rows} rows, where {expected} were loaded")));
            }
        }
    }
    Ok(None)
}

/// perbuck's notes in a target on the data of one workload.
pub(crate) struct Notes {
    pub(crate) dialect: &'static dyn Dialect,
    kind: String,
    /// Of the data that the workload needs.
    pub(crate) fingerprint: String,
}

impl Notes {
    /// For data of these parameters and this seed.
    pub(crate) fn new(dialect: &'static dyn Dialect, kind: &str, parameters: &BTreeMap<String, String>, seed: Seed) -> Self {
        let fingerprint = plan::fingerprint(&format!("data {DATA_VERSION} {kind} {parameters:?} {}", seed.0));
        Self { dialect, kind: kind.to_owned(), fingerprint }
    }

    pub(crate) fn ledger(&self) -> LoadLedger {
        LoadLedger::new(&self.kind)
    }

    /// What perbuck noted of the data; `None` where it noted nothing.
    pub(crate) async fn read<S: Session>(&self, session: &mut S) -> Result<Option<DataState>, LoadError> {
        if !exists(session, self.dialect, TABLE).await? {
            return Ok(None);
        }
        let ask = self.dialect.row_of(TABLE, ["fingerprint", "used_by"], ("workload", &self.kind));
        let rows = query(session, READING, ask).await?;
        if rows.is_empty() {
            return Ok(None);
        }
        let cell = |column| rows.display(0, column).map_err(server(READING));
        let (fingerprint, used_by) = (cell(0)?, cell(1)?);
        Ok(Some(if [LOADING, RESTORING].contains(&used_by.as_str()) {
            DataState::Unfinished
        } else {
            DataState::Ours { fingerprint, used_by }
        }))
    }

    /// What data the target holds. Tables of a size that our own data never have were made by another tool after ours,
    /// whatever the note says. `sizes_change` is true for workloads that grow.
    pub(crate) async fn state<S: Session>(
        &self,
        session: &mut S,
        tables: &[TableSpec],
        sizes_change: bool,
    ) -> Result<DataState, LoadError> {
        if let Some(state) = self.read(session).await? {
            let ours = matches!(&state, DataState::Ours { fingerprint, .. } if *fingerprint == self.fingerprint);
            let strange = if ours && !sizes_change { wrong_size(session, self.dialect, tables).await? } else { None };
            return Ok(strange.map_or(state, |found| DataState::Foreign { complete: false, found }));
        }
        let mut found = Vec::new();
        let mut complete = true;
        for table in tables {
            let name = &table.bulk.name;
            if exists(session, self.dialect, name).await? {
                let rows = count(session, name).await?;
                complete &= if table.rows_vary { rows > 0 } else { table.rows.is_none_or(|expected| expected == rows) };
                found.push(format!("{name} with {rows} rows"));
            } else {
                complete = false;
            }
        }
        Ok(if found.is_empty() { DataState::Absent } else { DataState::Foreign { complete, found: found.join(", ") } })
    }

    /// How far the parts of a load are that was cut off. `None` unless it is one of these data, with all tables.
    pub(crate) async fn unfinished<S: Session>(
        &self,
        session: &mut S,
        tables: &[TableSpec],
        parts: u32,
    ) -> Result<Option<Vec<PartState>>, LoadError> {
        if self.dialect.lacks(Feature::Sql).is_some() {
            return Ok(None);
        }
        let Self { kind, fingerprint, .. } = self;
        let sql = format!(
            "SELECT COUNT(*) FROM {TABLE} WHERE workload = '{kind}' AND fingerprint = '{fingerprint}' AND used_by = '{LOADING}'"
        );
        if !exists(session, self.dialect, TABLE).await? || number(session, READING, sql).await? == 0 {
            return Ok(None);
        }
        let ledger = self.ledger();
        for table in tables.iter().map(|t| t.bulk.name.as_str()).chain([ledger.table()]) {
            if !exists(session, self.dialect, table).await? {
                return Ok(None);
            }
        }
        match read(session, &ledger, parts).await {
            // Cut off before all parts were noted, and so before the first row.
            Err(LoadError::Ledger(_)) => Ok(None),
            read => read.map(Some),
        }
    }

    /// Notes that a load of these data starts; until [`Self::write`] they count as unfinished.
    pub(crate) async fn start<S: Session>(&self, session: &mut S) -> Result<(), LoadError> {
        // Without SQL there are no tables to make and no ledger: loading again writes the same rows.
        if self.dialect.lacks(Feature::Sql).is_none() {
            // First of all: the ledger of a load that has ended since would tell of rows that the tables no longer hold.
            query(session, "removing the ledger of an earlier load", self.ledger().drop()).await?;
            query(session, "removing the note of a copy", format!("DROP TABLE IF EXISTS {COPY_NOTE}")).await?;
            let create = format!(
                "CREATE TABLE IF NOT EXISTS {TABLE} (workload VARCHAR(64) NOT NULL PRIMARY KEY, fingerprint VARCHAR(64) NOT NULL, used_by VARCHAR(200) NOT NULL)"
            );
            query(session, "making perbuck's notes on the data", create).await?;
        }
        self.write(session, LOADING).await
    }

    /// Notes of the data of all workloads there that they are being restored, or `done`: no note of one that was cut off says that its data are
    /// there.
    pub(crate) async fn restoring<S: Session>(session: &mut S, done: bool) -> Result<(), LoadError> {
        let word = if done { FRESH } else { RESTORING };
        query(session, "writing perbuck's notes on the data", format!("UPDATE {TABLE} SET used_by = '{word}'")).await.map(drop)
    }

    /// Notes that the target holds these data, and who changed them.
    pub(crate) async fn write<S: Session>(&self, session: &mut S, used_by: &str) -> Result<(), LoadError> {
        query(session, "writing perbuck's notes on the data", self.note(used_by)).await.map(drop)
    }

    fn note(&self, used_by: &str) -> Query {
        // All three are made of our own words, study names and hexadecimal digits, which hold no quote. One statement: cut off
        // between a DELETE and an INSERT, our tables would look foreign.
        let values = [self.kind.as_str(), &self.fingerprint, used_by];
        self.dialect.upsert(TABLE, ["workload", "fingerprint", "used_by"], values)
    }

    /// What a copy of the data in these tables holds.
    pub(crate) fn scope(&self, tables: &[String]) -> CopyScope {
        CopyScope {
            tables: tables.to_vec(),
            rows: vec![(TABLE.to_owned(), format!("workload = '{}'", self.kind))],
            mixed: vec![self.note(RESTORING)],
        }
    }
}

/// The ledger of a load of one kind of workload: a table in the target with a row for each part of the data, there as long as the load
/// lasts. Two kinds can be loaded into one database at the same time.
#[derive(Debug, Clone)]
pub struct LoadLedger(String);

impl LoadLedger {
    /// That of workload `kind`.
    pub fn new(kind: &str) -> Self {
        Self(format!("perbuck_load_{kind}"))
    }

    /// Its name in the target.
    pub fn table(&self) -> &str {
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
