//! What data a target holds: a small table in the target itself, so that a run knows what is prepared and by whom.

use std::collections::BTreeMap;

use perbuck_core::plan;
use perbuck_core::units::Seed;
use perbuck_database::dialect::{Dialect, Feature};
use perbuck_load::driver::Session;
use perbuck_load::error::DriverError;
use perbuck_load::loader::ledger::{self as notes, Ledger, PartState};
use perbuck_load::loader::{LoadError, count};
use perbuck_load::query::Query;
use perbuck_load::values::Rows;
use perbuck_load::workload::TableSpec;

mod ledger;

pub use ledger::LoadLedger;

/// The word for data that no trial has changed.
pub const FRESH: &str = "fresh";
/// The word for data whose load has not ended.
const LOADING: &str = "loading";
/// The table, one row per workload kind.
pub const TABLE: &str = "perbuck_data";
/// Raised when the generated rows change for the same parameters and seed.
const DATA_VERSION: u32 = 1;

/// What data a target holds for a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataState {
    /// No table of it.
    Absent,
    /// A load of ours that did not end.
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

/// The fingerprint of data: workload, parameters, seed and version of the generator.
pub fn fingerprint(kind: &str, parameters: &BTreeMap<String, String>, seed: Seed) -> String {
    plan::fingerprint(&format!("data {DATA_VERSION} {kind} {parameters:?} {}", seed.0))
}

fn server(doing: &str) -> impl FnOnce(DriverError) -> LoadError + use<> {
    let doing = doing.to_owned();
    move |error| LoadError::Server { doing, error }
}

async fn ask<S: Session>(session: &mut S, doing: &str, query: impl Into<Query>) -> Result<Rows, LoadError> {
    let mut rows = Rows::default();
    query.into().ask(session, &mut rows).await.map_err(server(doing))?;
    Ok(rows)
}

/// Whether a table is there.
///
/// # Errors
/// The server's answer.
pub async fn exists<S: Session>(session: &mut S, dialect: &dyn Dialect, table: &str) -> Result<bool, LoadError> {
    let doing = format!("looking for table {table}");
    let rows = ask(session, &doing, dialect.table_exists(table)).await?;
    Ok(rows.int(0, 0).map_err(server(&doing))? > 0)
}

/// What perbuck noted of the data; `None` where it noted nothing.
///
/// # Errors
/// The server's answer.
pub async fn noted<S: Session>(session: &mut S, dialect: &dyn Dialect, kind: &str) -> Result<Option<DataState>, LoadError> {
    if !exists(session, dialect, TABLE).await? {
        return Ok(None);
    }
    let doing = "reading perbuck's notes on the data";
    let row = dialect.row_of(TABLE, ["fingerprint", "used_by"], ("workload", kind));
    let rows = ask(session, doing, row).await?;
    if rows.is_empty() {
        return Ok(None);
    }
    let cell = |column| rows.display(0, column).map_err(server(doing));
    let (fingerprint, used_by) = (cell(0)?, cell(1)?);
    Ok(Some(if used_by == LOADING { DataState::Unfinished } else { DataState::Ours { fingerprint, used_by } }))
}

/// What data the target holds for workload `kind`. Tables of a size that our own data (of fingerprint `mine`) never
/// have were made by another tool after ours, whatever the note says; `sizes_change` is true for workloads that grow.
///
/// # Errors
/// The server's answer.
pub async fn state<S: Session>(
    session: &mut S,
    dialect: &dyn Dialect,
    kind: &str,
    tables: &[TableSpec],
    mine: &str,
    sizes_change: bool,
) -> Result<DataState, LoadError> {
    let note = noted(session, dialect, kind).await?;
    let comparable = matches!(&note, Some(DataState::Ours { fingerprint, .. }) if fingerprint == mine) && !sizes_change;
    match note {
        Some(state) if !comparable => return Ok(state),
        Some(state) => {
            let Some(strange) = wrong_size(session, dialect, tables).await? else { return Ok(state) };
            return Ok(DataState::Foreign { complete: false, found: strange });
        }
        None => {}
    }
    let mut found = Vec::new();
    let mut complete = true;
    for table in tables {
        let name = &table.bulk.name;
        if exists(session, dialect, name).await? {
            let rows = count(session, name).await?;
            complete &= if table.rows_by_seed { rows > 0 } else { table.rows.is_none_or(|expected| expected == rows) };
            found.push(format!("{name} with {rows} rows"));
        } else {
            complete = false;
        }
    }
    Ok(if found.is_empty() { DataState::Absent } else { DataState::Foreign { complete, found: found.join(", ") } })
}

/// The first table that is there with another number of rows than it was loaded with, in words.
async fn wrong_size<S: Session>(
    session: &mut S,
    dialect: &dyn Dialect,
    tables: &[TableSpec],
) -> Result<Option<String>, LoadError> {
    for table in tables {
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

/// How far the parts of a load are that was cut off, if it can go on: one of the data of this fingerprint, with all tables.
///
/// # Errors
/// The server's answer.
pub async fn unfinished<S: Session>(
    session: &mut S,
    dialect: &dyn Dialect,
    kind: &str,
    fingerprint: &str,
    tables: &[TableSpec],
    parts: u32,
) -> Result<Option<Vec<PartState>>, LoadError> {
    if dialect.lacks(Feature::Sql).is_some() {
        return Ok(None);
    }
    let doing = "reading perbuck's notes on the data";
    let sql = format!(
        "SELECT COUNT(*) FROM {TABLE} WHERE workload = '{kind}' AND fingerprint = '{fingerprint}' AND used_by = '{LOADING}'"
    );
    let ledger = LoadLedger::new(kind);
    if !exists(session, dialect, TABLE).await? || ask(session, doing, sql).await?.int(0, 0).map_err(server(doing))? == 0 {
        return Ok(None);
    }
    for table in tables.iter().map(|t| t.bulk.name.as_str()).chain([ledger.table()]) {
        if !exists(session, dialect, table).await? {
            return Ok(None);
        }
    }
    match notes::read(session, &ledger, parts).await {
        // Cut off before all parts were noted, and so before the first row.
        Err(LoadError::Ledger(_)) => Ok(None),
        read => read.map(Some),
    }
}

/// Notes that a load of the data of this fingerprint begins; until [`note`] they count as unfinished.
///
/// # Errors
/// The server's answer.
pub async fn begin<S: Session>(session: &mut S, dialect: &dyn Dialect, kind: &str, fingerprint: &str) -> Result<(), LoadError> {
    if dialect.lacks(Feature::Sql).is_some() {
        // It has no tables to make, and a load no ledger: whoever loads again writes the same rows.
        return note(session, dialect, kind, fingerprint, LOADING).await;
    }
    // First of all: the ledger of a load that has ended since would tell of rows that the tables no longer hold.
    ask(session, "removing the ledger of an earlier load", LoadLedger::new(kind).drop()).await?;
    let create = format!(
        "CREATE TABLE IF NOT EXISTS {TABLE} (workload VARCHAR(64) NOT NULL PRIMARY KEY, fingerprint VARCHAR(64) NOT NULL, used_by VARCHAR(200) NOT NULL)"
    );
    ask(session, "making perbuck's notes on the data", create).await?;
    note(session, dialect, kind, fingerprint, LOADING).await
}

/// Notes what data the target holds and who changed them.
///
/// # Errors
/// The server's answer.
pub async fn note<S: Session>(
    session: &mut S,
    dialect: &dyn Dialect,
    kind: &str,
    fingerprint: &str,
    used_by: &str,
) -> Result<(), LoadError> {
    let doing = "writing perbuck's notes on the data";
    // All three are made of our own words, study names and hexadecimal digits, which hold no quote. One statement: cut off
    // between a DELETE and an INSERT, our tables would look foreign.
    let note = dialect.upsert(TABLE, ["workload", "fingerprint", "used_by"], [kind, fingerprint, used_by]);
    ask(session, doing, note).await.map(drop)
}
