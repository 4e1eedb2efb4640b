//! Addresses of databases, as written in a study.
//!
//! An address is printed and recorded, so it never holds a password. A password that somebody writes into one all the
//! same must not be echoed by the refusal either: until the part before the last `@` is known to hold none, messages
//! quote nothing behind the scheme.

use std::fmt;

use perbuck_load::statement::Dialect;

pub use perbuck_database::address::TargetProblem;
use perbuck_database::address::problem;
pub use perbuck_net::server::{ServerTarget, TlsMode};
pub use perbuck_sqlite::SqliteTarget;
pub use perbuck_tikv::TikvTarget;

/// A parsed address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// `sqlite:PATH?synchronous=FULL&journal_mode=WAL`.
    Sqlite(SqliteTarget),
    /// `mysql://user@host:port,host:port/database?tls=required`.
    Mysql(ServerTarget),
    /// `postgres://user@host:port,host:port/database?tls=required`, and the same with `cockroach://` and `yugabyte://`.
    Postgres(ServerTarget),
    /// `tikv://pd:port,pd:port/?type=raw`.
    Tikv(TikvTarget),
}

/// What perbuck drives, for those who wrote something else.
const SCHEMES: &str = "it drives sqlite:, mysql://, mariadb://, tidb://, postgres://, cockroach://, yugabyte:// and tikv://";

impl Target {
    /// Reads an address.
    ///
    /// # Errors
    /// Names what is wrong and the way out, without ever quoting what may be a password.
    pub fn parse(text: &str) -> Result<Self, TargetProblem> {
        let Some((scheme, rest)) = text.split_once(':') else {
            let help =
                "write sqlite:FILE, mysql://USER@HOST:PORT/DATABASE, postgres://USER@HOST:PORT/DATABASE or tikv://PD:PORT/";
            return problem("the target has no scheme", help);
        };
        match scheme {
            "sqlite" => SqliteTarget::parse(rest).map(Self::Sqlite),
            "mysql" | "mariadb" => ServerTarget::parse(Dialect::Mysql, rest, MYSQL_PORT).map(Self::Mysql),
            "tidb" => ServerTarget::parse(Dialect::Mysql, rest, 4000).map(Self::Mysql),
            "postgres" | "postgresql" => postgres(Dialect::Postgres, rest),
            "cockroach" | "cockroachdb" => postgres(Dialect::Cockroach, rest),
            "yugabyte" | "yugabytedb" => postgres(Dialect::Yugabyte, rest),
            "tikv" => TikvTarget::parse(rest).map(Self::Tikv),
            // What stands before the first colon is no scheme when somebody wrote `user:password@host`.
            _ => problem("the target has no scheme that perbuck knows", SCHEMES),
        }
    }

    /// The words that it understands.
    pub fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Mysql(_) => Dialect::Mysql,
            Self::Postgres(target) => target.dialect,
            Self::Tikv(_) => Dialect::Tikv,
        }
    }

    /// What the canonical address begins with: `mysql`, `sqlite` and so on.
    pub fn scheme(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "sqlite",
            Self::Mysql(target) | Self::Postgres(target) => perbuck_net::server::scheme_of(target.dialect),
            Self::Tikv(_) => "tikv",
        }
    }

    /// The canonical text of the address, for records. It holds no password, since a target has none.
    pub fn address(&self) -> String {
        match self {
            Self::Sqlite(target) => target.address(),
            Self::Mysql(target) | Self::Postgres(target) => target.address(),
            Self::Tikv(target) => target.address(),
        }
    }

    /// The same target with another database: of a server that of this name, for SQLite a file beside the first
    /// (`a.db` becomes `a-name.db`), for TiKV keys that begin with `name/`.
    #[must_use]
    pub fn with_database(&self, name: &str) -> Self {
        match self {
            Self::Sqlite(target) => Self::Sqlite(target.with_database(name)),
            Self::Mysql(target) => Self::Mysql(ServerTarget { database: name.to_owned(), ..target.clone() }),
            Self::Postgres(target) => Self::Postgres(ServerTarget { database: name.to_owned(), ..target.clone() }),
            Self::Tikv(target) => Self::Tikv(TikvTarget { prefix: format!("{name}/"), ..target.clone() }),
        }
    }
}

const MYSQL_PORT: u16 = 3306;

/// The port on which a database of PostgreSQL's protocol listens unless it is told otherwise.
pub fn postgres_port(dialect: Dialect) -> u16 {
    match dialect {
        Dialect::Cockroach => 26_257,
        Dialect::Yugabyte => 5_433,
        _ => 5_432,
    }
}

fn postgres(dialect: Dialect, rest: &str) -> Result<Target, TargetProblem> {
    ServerTarget::parse(dialect, rest, postgres_port(dialect)).map(Target::Postgres)
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address())
    }
}
