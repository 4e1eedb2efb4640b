//! Addresses of databases, as written in a study.
//!
//! An address is printed and recorded, so it never holds a password. A password that somebody writes into one all the
//! same must not be echoed by the refusal either: until the part before the last `@` is known to hold none, messages
//! quote nothing behind the scheme.

use std::fmt;

mod options;
mod server;
mod sqlite;

pub(crate) use server::host_text;
pub use server::{ServerTarget, TlsMode};
pub use sqlite::SqliteTarget;

/// A parsed address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// `sqlite:PATH?synchronous=FULL&journal_mode=WAL`.
    Sqlite(SqliteTarget),
    /// `mysql://user@host:port,host:port/database?tls=required`.
    Mysql(ServerTarget),
    /// `postgres://user@host:port,host:port/database?tls=required`.
    Postgres(ServerTarget),
}

/// Why an address is refused. Neither part ever quotes what may be a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetProblem {
    /// What is wrong.
    pub message: String,
    /// The way out.
    pub help: String,
}

impl fmt::Display for TargetProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n    help: {}", self.message, self.help)
    }
}

impl std::error::Error for TargetProblem {}

fn problem<T>(message: impl Into<String>, help: impl Into<String>) -> Result<T, TargetProblem> {
    Err(TargetProblem { message: message.into(), help: help.into() })
}

/// What perbuck drives, for those who wrote something else.
const SCHEMES: &str = "it drives sqlite:, mysql://, mariadb://, tidb:// and postgres://";

impl Target {
    /// Reads an address.
    ///
    /// # Errors
    /// Names what is wrong and the way out, without ever quoting what may be a password.
    pub fn parse(text: &str) -> Result<Self, TargetProblem> {
        let Some((scheme, rest)) = text.split_once(':') else {
            let help = "write sqlite:FILE, mysql://USER@HOST:PORT/DATABASE or postgres://USER@HOST:PORT/DATABASE";
            return problem("the target has no scheme", help);
        };
        match scheme {
            "sqlite" => SqliteTarget::parse(rest).map(Self::Sqlite),
            "mysql" | "mariadb" => ServerTarget::parse("mysql", rest, MYSQL_PORT).map(Self::Mysql),
            "tidb" => ServerTarget::parse("mysql", rest, 4000).map(Self::Mysql),
            "postgres" | "postgresql" => ServerTarget::parse("postgres", rest, POSTGRES_PORT).map(Self::Postgres),
            "tikv" => problem(format!("a target `{scheme}:` is not supported by this version of perbuck"), SCHEMES),
            // What stands before the first colon is no scheme when somebody wrote `user:password@host`.
            _ => problem("the target has no scheme that perbuck knows", SCHEMES),
        }
    }

    /// The canonical text of the address, for records. It holds no password, since a target has none.
    pub fn address(&self) -> String {
        match self {
            Self::Sqlite(target) => target.address(),
            Self::Mysql(target) => target.address("mysql"),
            Self::Postgres(target) => target.address("postgres"),
        }
    }

    /// The same target with another database: of a server that of this name, for SQLite a file beside the first
    /// (`a.db` becomes `a-name.db`).
    #[must_use]
    pub fn with_database(&self, name: &str) -> Self {
        match self {
            Self::Sqlite(target) => Self::Sqlite(target.with_database(name)),
            Self::Mysql(target) => Self::Mysql(ServerTarget { database: name.to_owned(), ..target.clone() }),
            Self::Postgres(target) => Self::Postgres(ServerTarget { database: name.to_owned(), ..target.clone() }),
        }
    }
}

const MYSQL_PORT: u16 = 3306;
const POSTGRES_PORT: u16 = 5432;

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address())
    }
}
