//! What the tests against real servers share. The servers are those of `dev/with-servers`.
#![allow(dead_code, reason = "each test binary uses its own part of this")]

use std::sync::Arc;

use perbuck_drivers::mysql::{MysqlDriver, MysqlSession};
use perbuck_drivers::secret::Secret;
use perbuck_drivers::target::{ServerTarget, Target};
use perbuck_load::driver::{Driver, Effect, Session, SessionId};
use perbuck_load::error::DriverError;
use perbuck_load::statement::{Catalogue, StatementId};
use perbuck_load::values::{Params, Rows};

/// The servers that most tests run on.
pub(crate) const SERVERS: [&str; 2] = ["PERBUCK_TEST_MARIADB", "PERBUCK_TEST_MYSQL9"];

pub(crate) fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run this test under dev/with-servers"))
}

/// The target of a server, with changes.
pub(crate) fn target(server: &str, user: &str, options: &str) -> ServerTarget {
    let text = variable(server).replace("root@", &format!("{user}@"));
    match Target::parse(&format!("{text}?{options}")) {
        Ok(Target::Mysql(target)) => target,
        other => panic!("{text}: {other:?}"),
    }
}

pub(crate) fn driver(server: &str, user: &str, password: &str, options: &str) -> Result<MysqlDriver, DriverError> {
    MysqlDriver::new(target(server, user, options), Secret::new(variable(password)))
}

pub(crate) fn root_driver(server: &str, options: &str) -> MysqlDriver {
    driver(server, "root", &format!("{server}_PASSWORD"), options).unwrap()
}

pub(crate) async fn root(server: &str, options: &str) -> MysqlSession {
    root_driver(server, options).connect(SessionId(0)).await.unwrap()
}

/// Runs a statement whose rows do not matter.
pub(crate) async fn run(session: &mut MysqlSession, sql: &str) -> Effect {
    let mut rows = Rows::default();
    session.query(sql, &mut rows).await.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// The cells of a query, for people.
pub(crate) async fn select(session: &mut MysqlSession, sql: &str) -> Vec<Vec<String>> {
    let mut rows = Rows::default();
    session.query(sql, &mut rows).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    cells(&rows)
}

pub(crate) fn cells(rows: &Rows) -> Vec<Vec<String>> {
    let cell = |row, column| rows.display(row, column).unwrap();
    (0..rows.len() as usize).map(|row| (0..rows.width()).map(|column| cell(row, column)).collect()).collect()
}

/// A catalogue of one read whose rows are kept.
pub(crate) async fn prepare_read(session: &mut MysqlSession, sql: &str) -> StatementId {
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
