//! `mysql://`, `mariadb://` and `tidb://`.

use perbuck_database::address::TargetProblem;
use perbuck_database::server::{ServerTarget, label_of};
use perbuck_database::{Dialect, Target};

use crate::dialect::MysqlDialect;

const SCHEME: &str = "mysql";

/// One or more servers of this protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MysqlTarget(pub ServerTarget);

impl MysqlTarget {
    /// A server with every default, but without TLS.
    pub fn new(hosts: Vec<(String, u16)>, user: String, database: String) -> Self {
        Self(ServerTarget::new(SCHEME, hosts, user, database))
    }

    /// Reads an address; `None` for another scheme.
    pub fn parse(scheme: &str, rest: &str) -> Option<Result<Self, TargetProblem>> {
        let port = match scheme {
            "mysql" | "mariadb" => 3306,
            "tidb" => 4000,
            _ => return None,
        };
        Some(ServerTarget::parse(SCHEME, rest, port).map(Self))
    }
}

impl Target for MysqlTarget {
    fn dialect(&self) -> &'static dyn Dialect {
        &MysqlDialect
    }

    fn scheme(&self) -> &'static str {
        SCHEME
    }

    fn address(&self) -> String {
        self.0.address()
    }

    fn with_database(&self, name: &str) -> Box<dyn Target> {
        Box::new(Self(self.0.with_database(name)))
    }

    fn copied(&self) -> Box<dyn Target> {
        Box::new(self.clone())
    }

    fn label(&self) -> String {
        label_of(&self.0.hosts)
    }

    fn server(&self) -> Option<&ServerTarget> {
        Some(&self.0)
    }

    fn server_mut(&mut self) -> Option<&mut ServerTarget> {
        Some(&mut self.0)
    }
}
