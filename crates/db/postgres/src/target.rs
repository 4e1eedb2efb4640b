//! `postgres://`, `cockroach://` and `yugabyte://`.

use perbuck_database::address::{TargetProblem, problem};
use perbuck_database::server::{ServerTarget, label_of};
use perbuck_database::{Dialect, Target};

use crate::family::Family;

/// One or more servers of this protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgresTarget {
    /// Which database they are.
    pub family: Family,
    /// Where they are.
    pub server: ServerTarget,
}

impl PostgresTarget {
    /// A server with every default, but without TLS.
    pub fn new(family: Family, hosts: Vec<(String, u16)>, user: String, database: String) -> Self {
        Self { family, server: ServerTarget::new(family.scheme(), hosts, user, database) }
    }

    /// Reads an address; `None` for another scheme.
    pub fn parse(scheme: &str, rest: &str) -> Option<Result<Self, TargetProblem>> {
        let family = match scheme {
            "postgres" | "postgresql" => Family::Postgres,
            "cockroach" | "cockroachdb" => Family::Cockroach,
            "yugabyte" | "yugabytedb" => Family::Yugabyte,
            _ => return None,
        };
        let scheme = family.scheme();
        Some(ServerTarget::parse(scheme, rest, family.port()).and_then(|server| {
            if server.as_text {
                let message = format!("a {scheme} target cannot have `statements=text`");
                return problem(message, "leave it out: they are prepared");
            }
            Ok(Self { family, server })
        }))
    }
}

impl Target for PostgresTarget {
    fn dialect(&self) -> &'static dyn Dialect {
        match self.family {
            Family::Postgres => &Family::Postgres,
            Family::Cockroach => &Family::Cockroach,
            Family::Yugabyte => &Family::Yugabyte,
        }
    }

    fn scheme(&self) -> &'static str {
        self.family.scheme()
    }

    fn address(&self) -> String {
        self.server.address()
    }

    fn with_database(&self, name: &str) -> Box<dyn Target> {
        Box::new(Self { family: self.family, server: self.server.with_database(name) })
    }

    fn copied(&self) -> Box<dyn Target> {
        Box::new(self.clone())
    }

    fn label(&self) -> String {
        label_of(&self.server.hosts)
    }

    fn server(&self) -> Option<&ServerTarget> {
        Some(&self.server)
    }

    fn server_mut(&mut self) -> Option<&mut ServerTarget> {
        Some(&mut self.server)
    }
}
