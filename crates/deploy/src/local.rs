//! Private database servers on this machine: which programs, which arguments, which first statements.
//!
//! A server listens on the loopback interface only, keeps everything in one folder, lets in one user with one password,
//! and runs on its own defaults but for what the caller sets. Nothing here starts it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

mod mysql;
mod postgres;
mod tidb;

/// The user who may log in, and the database where the study names no other.
pub const NAME: &str = "perbuck";

/// What is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// MariaDB.
    Mariadb,
    /// MySQL.
    Mysql,
    /// PostgreSQL.
    Postgres,
    /// TiDB without a cluster, its data in the store that it has for tests.
    Tidb,
}

/// All kinds with their names in a study.
pub const KINDS: [(&str, Kind); 4] =
    [("mariadb", Kind::Mariadb), ("mysql", Kind::Mysql), ("postgres", Kind::Postgres), ("tidb", Kind::Tidb)];

/// A program that a kind needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program {
    /// Its names, the one to prefer first.
    pub names: &'static [&'static str],
    /// Folders outside PATH where packages put it; `*` stands for one folder name, of which the highest version counts, and `~` for the
    /// user's own folder.
    pub folders: &'static [&'static str],
}

/// What is to run.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The folder of this server; it is there and empty.
    pub folder: &'a Path,
    /// TCP ports on 127.0.0.1, as many as [`Kind::ports`] says.
    pub ports: &'a [u16],
    /// Settings in the server's own words.
    pub config: &'a BTreeMap<String, String>,
    /// Databases to make.
    pub databases: &'a [String],
    /// Connections that it must take at the same time, unless `config` says how many.
    pub connections: u32,
    /// Whether it runs as root, which MySQL's family wants to be told.
    pub as_root: bool,
}

/// A program to run to its end before the server is started.
#[derive(PartialEq, Eq)]
pub struct Step {
    /// Which.
    pub program: PathBuf,
    /// Its arguments; no secret is among them.
    pub arguments: Vec<OsString>,
    /// What it reads from standard input; holds the password, so this type cannot be printed.
    pub input: String,
}

/// Everything about one server.
#[derive(PartialEq, Eq)]
pub struct Recipe {
    /// What makes its data, in this order.
    pub steps: Vec<Step>,
    /// Files to write after the steps: path below the folder, and text.
    pub files: Vec<(&'static str, String)>,
    /// The server.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// What it reads from standard input, which may hold the password.
    pub input: String,
    /// Whether SIGQUIT ends it, rather than a kill: PostgreSQL then removes its shared memory. The data go with the server, so it need
    /// not write them.
    pub quits: bool,
    /// Its address, as a target of perbuck.
    pub target: String,
}

/// A setting that cannot be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// What is wrong.
    pub message: String,
    /// The way out.
    pub help: String,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mariadb => "MariaDB",
            Self::Mysql => "MySQL",
            Self::Postgres => "PostgreSQL",
            Self::Tidb => "TiDB",
        })
    }
}

impl Kind {
    /// The kind that a study calls so.
    pub fn named(name: &str) -> Option<Self> {
        KINDS.into_iter().find_map(|(known, kind)| (known == name).then_some(kind))
    }

    /// The programs that a recipe needs, the server first.
    pub fn programs(self) -> &'static [Program] {
        match self {
            Self::Mariadb => mysql::MARIADB,
            Self::Mysql => mysql::MYSQL,
            Self::Postgres => postgres::PROGRAMS,
            Self::Tidb => tidb::PROGRAMS,
        }
    }

    /// Which packages bring them, for a message.
    pub fn packages(self) -> &'static str {
        match self {
            Self::Mariadb => "Debian's package mariadb-server brings it",
            Self::Mysql => "the packages of MySQL Community Server bring it",
            Self::Postgres => "Debian's package postgresql brings it",
            Self::Tidb => "`tiup install tidb` brings it",
        }
    }

    /// How many ports it needs.
    pub fn ports(self) -> usize {
        // That of its status beside that of SQL.
        if self == Self::Tidb { 2 } else { 1 }
    }

    /// The number in what a server says of its version: `15.18` of `PostgreSQL 15.18 (Debian …)`, `8.5.6` of `8.0.11-TiDB-v8.5.6`.
    pub fn version(self, said: &str) -> &str {
        let own = if self == Self::Tidb { said.split("-TiDB-v").last().unwrap_or(said) } else { said };
        own.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(said)
    }

    /// Whether it refuses to run as root, so that another user must run it.
    pub fn refuses_root(self) -> bool {
        self == Self::Postgres
    }

    /// Checks one setting.
    ///
    /// # Errors
    /// A name that is none, a value that cannot be passed on, a setting that perbuck makes itself.
    pub fn check(self, key: &str, value: &str) -> Result<(), Refused> {
        let refused = |message: String, help: &str| Err(Refused { message, help: help.to_owned() });
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if key.is_empty() || key.starts_with('-') || !key.chars().all(plain) {
            return refused(format!("`{key}` is no name of a setting"), "write it as in the server's configuration file");
        }
        if value.contains(['\n', '\r', '\0']) {
            return refused(format!("the value of `{key}` spans lines"), "write it on one line");
        }
        let owned = match self {
            Self::Mariadb | Self::Mysql => mysql::OWNED,
            Self::Postgres => postgres::OWNED,
            Self::Tidb => tidb::OWNED,
        };
        let spelled = key.to_ascii_lowercase().replace('-', "_");
        if owned.contains(&spelled.as_str()) {
            return refused(
                format!("perbuck sets `{key}` of a private server itself"),
                "leave it out, or start the server yourself and name it with `target`",
            );
        }
        Ok(())
    }

    /// What to run. `programs` are those of [`Self::programs`] in the same order; the password must be one of
    /// [`is_plain`].
    ///
    /// # Errors
    /// Fewer programs than it needs.
    pub fn recipe(self, wanted: &Wanted<'_>, programs: &[PathBuf], password: &str) -> Result<Recipe, Refused> {
        let made = match self {
            Self::Mariadb => mysql::mariadb(wanted, programs, password),
            Self::Mysql => mysql::mysql(wanted, programs, password),
            Self::Postgres => postgres::recipe(wanted, programs, password),
            Self::Tidb => tidb::recipe(wanted, programs, password),
        };
        made.ok_or_else(|| Refused {
            message: format!("{self} needs {} programs and {} ports", self.programs().len(), self.ports()),
            help: String::new(),
        })
    }
}

/// Whether a password can stand in a statement as it is.
pub fn is_plain(password: &str) -> bool {
    !password.is_empty() && password.chars().all(|c| c.is_ascii_alphanumeric())
}

/// `--key=value`, however the parts are encoded.
fn option(key: &str, value: impl AsRef<std::ffi::OsStr>) -> OsString {
    let mut text = OsString::from(format!("--{key}="));
    text.push(value);
    text
}

#[cfg(test)]
mod tests;
