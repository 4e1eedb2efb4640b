//! What the tests against the real PostgreSQL share.
#![allow(dead_code, unused_imports, reason = "each test binary uses its own part of this")]

use perbuck_database::secret::Secret;
use perbuck_load::driver::{Driver, SessionId};
use perbuck_load::error::{DriverError, ErrorCode};

use perbuck_postgres::{PostgresDriver, PostgresSession, PostgresTarget};

pub(crate) use perbuck_driver_suite::servers::*;

pub(crate) const SERVER: &str = "PERBUCK_TEST_POSTGRES";
pub(crate) const OWNER: &str = "PERBUCK_TEST_POSTGRES_PASSWORD";

/// The target of the server, with changes.
pub(crate) fn target(user: &str, options: &str) -> PostgresTarget {
    let text = variable(SERVER).replace("perbuck@", &format!("{user}@"));
    let (scheme, rest) = text.split_once(':').unwrap();
    PostgresTarget::parse(scheme, &format!("{rest}?{options}")).unwrap().unwrap()
}

pub(crate) fn driver(user: &str, password: &str, options: &str) -> Result<PostgresDriver, DriverError> {
    PostgresDriver::new(target(user, options), Secret::new(variable(password)))
}

/// The driver of the owner of the database.
pub(crate) fn owner_driver(options: &str) -> PostgresDriver {
    driver("perbuck", OWNER, options).unwrap()
}

pub(crate) async fn owner(options: &str) -> PostgresSession {
    owner_driver(options).connect(SessionId(0)).await.unwrap()
}

/// A session of the superuser.
pub(crate) async fn admin() -> PostgresSession {
    driver("postgres", "PERBUCK_TEST_POSTGRES_ADMIN_PASSWORD", "").unwrap().connect(SessionId(0)).await.unwrap()
}

pub(crate) fn state(code: &[u8; 5]) -> ErrorCode {
    ErrorCode::State("sqlstate", *code)
}

/// A table of this test alone.
pub(crate) async fn table(session: &mut PostgresSession, name: &str, columns: &str) -> String {
    let name = format!("{name}_{}", std::process::id());
    run(session, &format!("DROP TABLE IF EXISTS {name}")).await;
    run(session, &format!("CREATE TABLE {name} ({columns})")).await;
    name
}
