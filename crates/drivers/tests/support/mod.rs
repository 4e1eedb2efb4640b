//! What the tests against real servers share, whatever the protocol. The servers are those of `dev/with-servers`.

use std::sync::Arc;

use perbuck_load::driver::{Effect, Session};
use perbuck_load::error::DriverError;
use perbuck_load::statement::{Catalogue, StatementId};
use perbuck_load::values::{Params, Rows};

pub(crate) fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run this test under dev/with-servers"))
}

/// Runs a statement whose rows do not matter.
pub(crate) async fn run<S: Session>(session: &mut S, sql: &str) -> Effect {
    let mut rows = Rows::default();
    session.query(sql, &mut rows).await.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// The cells of a query, for people.
pub(crate) async fn select<S: Session>(session: &mut S, sql: &str) -> Vec<Vec<String>> {
    let mut rows = Rows::default();
    session.query(sql, &mut rows).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    cells(&rows)
}

pub(crate) async fn error_of<S: Session>(session: &mut S, sql: &str) -> DriverError {
    let mut rows = Rows::default();
    session.query(sql, &mut rows).await.unwrap_err()
}

pub(crate) fn cells(rows: &Rows) -> Vec<Vec<String>> {
    let cell = |row, column| rows.display(row, column).unwrap();
    (0..rows.len() as usize).map(|row| (0..rows.width()).map(|column| cell(row, column)).collect()).collect()
}

/// A catalogue of one read whose rows are kept.
pub(crate) async fn prepare_read<S: Session>(session: &mut S, sql: &str) -> StatementId {
    let mut catalogue = Catalogue::default();
    let id = catalogue.add_read(sql);
    session.prepare(&Arc::new(catalogue)).await.unwrap();
    id
}

pub(crate) fn bound(fill: impl FnOnce(&mut Params)) -> Params {
    let mut params = Params::default();
    fill(&mut params);
    params
}
