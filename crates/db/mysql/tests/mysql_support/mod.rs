//! What the tests against the real MySQL and MariaDB share. The servers are those of `dev/with-servers`.
#![allow(dead_code, unused_imports, reason = "each test binary uses its own part of this")]

use perbuck_database::secret::Secret;
use perbuck_database::server::ServerTarget;
use perbuck_load::driver::{Driver, SessionId};
use perbuck_load::error::DriverError;
use perbuck_mysql::{MysqlDriver, MysqlSession};

pub(crate) use perbuck_driver_suite::servers::*;

/// The servers that most tests run on.
pub(crate) const SERVERS: [&str; 2] = ["PERBUCK_TEST_MARIADB", "PERBUCK_TEST_MYSQL9"];

/// The target of a server, with changes.
pub(crate) fn target(server: &str, user: &str, options: &str) -> ServerTarget {
    let text = variable(server).replace("root@", &format!("{user}@"));
    let rest = text.split_once(':').unwrap().1;
    ServerTarget::parse("mysql", &format!("{rest}?{options}"), 3306).unwrap()
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
