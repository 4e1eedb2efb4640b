//! What the tests against the real MySQL and MariaDB share. The servers are those of `dev/with-servers`.
#![allow(dead_code, unused_imports, reason = "each test binary uses its own part of this")]

use perbuck_drivers::mysql::{MysqlDriver, MysqlSession};
use perbuck_drivers::secret::Secret;
use perbuck_drivers::target::{ServerTarget, Target};
use perbuck_load::driver::{Driver, SessionId};
use perbuck_load::error::DriverError;

#[path = "../support/mod.rs"]
mod support;

pub(crate) use support::*;

/// The servers that most tests run on.
pub(crate) const SERVERS: [&str; 2] = ["PERBUCK_TEST_MARIADB", "PERBUCK_TEST_MYSQL9"];

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
