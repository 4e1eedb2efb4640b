//! Private database servers: which programs, which arguments, which first statements.
//!
//! A server listens on one address only, that of the loopback interface unless it is to be reached from other machines. It keeps everything in one folder, lets in one user with one password (TiKV has no
//! users), and runs on its own defaults but for what the caller sets. It is one process, or a cluster of several. Nothing here starts
//! it.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

mod cluster;
mod file;
mod mysql;
mod postgres;
mod tidb;

pub use file::FileSettings;

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
    /// TiDB: alone, its data in the store that it has for tests, or with PD and TiKV.
    Tidb,
    /// TiKV with PD, without SQL.
    Tikv,
}

/// All kinds with their names in a study.
pub const KINDS: [(&str, Kind); 5] = [
    ("mariadb", Kind::Mariadb),
    ("mysql", Kind::Mysql),
    ("postgres", Kind::Postgres),
    ("tidb", Kind::Tidb),
    ("tikv", Kind::Tikv),
];

/// How many of each part of a cluster there are, by its name; empty where the study names none.
pub type Parts = BTreeMap<String, u32>;

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
    /// How many of each part.
    pub parts: &'a Parts,
    /// Options of its address, as in a target after the `?`; may be empty.
    pub options: &'a str,
    /// The address at which it listens and is reached.
    pub address: IpAddr,
    /// TCP ports there, as many as [`Kind::ports`] says.
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

/// What is done before the server is started.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// A file is written.
    Write {
        /// Its path below the folder.
        file: String,
        /// What is in it.
        text: String,
    },
    /// A program runs to its end. It holds the password, so this type cannot be printed.
    Run {
        /// Which.
        program: PathBuf,
        /// Its arguments; no secret is among them.
        arguments: Vec<OsString>,
        /// What it reads from standard input; may hold the password.
        input: String,
        /// What it says where it succeeds, if its status does not tell.
        says: Option<String>,
    },
}

/// A process of the server.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// What messages and its log call it: `tikv-2`.
    pub name: String,
    /// Its program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// What it reads from standard input, which may hold the password.
    pub input: String,
    /// Where, and at which path, it answers a GET with 200 as soon as others can use it; `None` where no other process waits for it.
    pub ready: Option<(SocketAddr, String)>,
}

/// Everything about one server.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    /// What makes its data and checks its settings, in this order.
    pub steps: Vec<Step>,
    /// The processes in the order of their start. Those of one stage start together, when all of the stage before are ready.
    pub stages: Vec<Vec<Process>>,
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
            Self::Tikv => "TiKV",
        })
    }
}

impl Kind {
    /// The kind that a study calls so.
    pub fn named(name: &str) -> Option<Self> {
        KINDS.into_iter().find_map(|(known, kind)| (known == name).then_some(kind))
    }

    /// The parts of which a study says how many; none where a server is one process.
    pub fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Mariadb | Self::Mysql | Self::Postgres => &[],
            Self::Tidb => &["pd", "tidb", "tikv"],
            Self::Tikv => &["pd", "tikv"],
        }
    }

    /// The programs that a recipe needs, the server first.
    pub fn programs(self, parts: &Parts) -> Vec<Program> {
        match self {
            Self::Mariadb => mysql::MARIADB.to_vec(),
            Self::Mysql => mysql::MYSQL.to_vec(),
            Self::Postgres => postgres::PROGRAMS.to_vec(),
            Self::Tidb if parts.is_empty() => vec![tidb::PROGRAM],
            Self::Tidb => vec![tidb::PROGRAM, cluster::PD, cluster::TIKV],
            Self::Tikv => vec![cluster::TIKV, cluster::PD],
        }
    }

    /// Which packages bring them, for a message.
    pub fn packages(self) -> &'static str {
        match self {
            Self::Mariadb => "Debian's package mariadb-server brings it",
            Self::Mysql => "the packages of MySQL Community Server bring it",
            Self::Postgres => "Debian's package postgresql brings it",
            Self::Tidb | Self::Tikv => "`tiup install tidb pd tikv` brings it",
        }
    }

    /// The parts of a cluster that run, those included that a study does not count; none for a server of one process.
    pub fn running_parts(self, parts: &Parts) -> Vec<&'static str> {
        match self {
            Self::Mariadb | Self::Mysql | Self::Postgres => Vec::new(),
            Self::Tidb | Self::Tikv => cluster::running(self, parts),
        }
    }

    /// How many copies of the data are kept with these settings, where that is set.
    pub fn copies(self, parts: &Parts, config: &BTreeMap<String, String>) -> Option<u32> {
        if self.running_parts(parts).contains(&"pd") { cluster::copies(self, parts, config) } else { None }
    }

    /// The setting that a key of `config` is, whatever its spelling: two keys may be one.
    pub fn setting(self, key: &str) -> String {
        let (part, name) = cluster::part_of(self, key);
        format!("{part}.{}", name.to_ascii_lowercase().replace('-', "_"))
    }

    /// How many ports it needs.
    pub fn ports(self, parts: &Parts) -> usize {
        match self {
            Self::Mariadb | Self::Mysql | Self::Postgres => 1,
            Self::Tidb | Self::Tikv => cluster::ports(self, parts),
        }
    }

    /// The target that a server at this address and on these ports is, with options as in a target after the `?`; `None` where there are
    /// too few ports.
    pub fn target(self, parts: &Parts, (address, ports): (IpAddr, &[u16]), options: &str) -> Option<String> {
        let first = SocketAddr::new(address, *ports.first()?);
        let (own, fixed) = match self {
            // MySQL wants the password of a user's first session itself, encrypted by its key.
            Self::Mysql if !address.is_loopback() => {
                (format!("mysql://{NAME}@{first}/{NAME}"), "tls=disabled&send_password=always")
            }
            Self::Mariadb | Self::Mysql => (format!("mysql://{NAME}@{first}/{NAME}"), "tls=disabled"),
            Self::Postgres => (format!("postgres://{NAME}@{first}/{NAME}"), "tls=disabled"),
            Self::Tidb => (format!("tidb://{NAME}@{}/{NAME}", cluster::hosts(self, parts, (address, ports))?), "tls=disabled"),
            Self::Tikv => (format!("tikv://{}/", cluster::hosts(self, parts, (address, ports))?), ""),
        };
        let all: Vec<&str> = [fixed, options].into_iter().filter(|options| !options.is_empty()).collect();
        Some(if all.is_empty() { own } else { format!("{own}?{}", all.join("&")) })
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
    /// A name that is none, a value that cannot be passed on, a setting that perbuck makes itself, one of a part that is not there.
    pub fn check(self, parts: &Parts, key: &str, value: &str) -> Result<(), Refused> {
        let refused = |message: String, help: &str| Err(Refused { message, help: help.to_owned() });
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if key.is_empty() || key.starts_with('-') || !key.chars().all(plain) {
            return refused(format!("`{key}` is no name of a setting"), "write it as in the server's configuration file");
        }
        if value.contains(['\n', '\r', '\0']) {
            return refused(format!("the value of `{key}` spans lines"), "write it on one line");
        }
        let (part, _) = cluster::part_of(self, key);
        if self == Self::Tidb && part != "tidb" && parts.is_empty() {
            return refused(format!("`{key}` is a setting of a part that is not started"), "say how many: `tikv = 3`");
        }
        if self.owns(key) {
            return refused(
                format!("perbuck sets `{key}` of a private server itself"),
                "leave it out, or start the server yourself and name it with `target`",
            );
        }
        Ok(())
    }

    /// Whether perbuck makes a setting itself.
    fn owns(self, key: &str) -> bool {
        let (part, name) = cluster::part_of(self, key);
        let owned = match self {
            Self::Mariadb | Self::Mysql => mysql::OWNED,
            Self::Postgres => postgres::OWNED,
            Self::Tidb | Self::Tikv => cluster::owned(part),
        };
        owned.contains(&name.to_ascii_lowercase().replace('-', "_").as_str())
    }

    /// Whether its data are still there when it is started again; those of the store that TiDB has for tests are not.
    pub fn keeps_data(self, parts: &Parts) -> bool {
        !(self == Self::Tidb && parts.is_empty())
    }

    /// Whether nearly all its data lie in files that never change, so that a copy of them takes no room.
    pub fn links_copies(self) -> bool {
        matches!(self, Self::Tidb | Self::Tikv)
    }

    /// The file in its folder to which it writes, when it ends, which pages it had in memory, to read them at its next start.
    pub fn pages_note(self) -> Option<&'static str> {
        match self {
            Self::Mariadb | Self::Mysql => Some("data/ib_buffer_pool"),
            // Only with pg_prewarm among its libraries.
            Self::Postgres => Some("data/autoprewarm.blocks"),
            Self::Tidb | Self::Tikv => None,
        }
    }

    /// The steps of a recipe that write its settings, which a start with other settings takes again.
    pub fn settings_steps(self, recipe: &mut Recipe) -> Vec<Step> {
        match self {
            // They have them as arguments.
            Self::Mariadb | Self::Mysql | Self::Postgres => Vec::new(),
            Self::Tidb | Self::Tikv => std::mem::take(&mut recipe.steps),
        }
    }

    /// The steps on data that another server of this kind left, in place of those of [`Self::recipe`]: the user gets this password. `None` where
    /// such data cannot be used at other ports.
    pub fn steps_on_kept_data(self, wanted: &Wanted<'_>, programs: &[PathBuf], password: &str) -> Option<Vec<Step>> {
        match self {
            Self::Mariadb => mysql::mariadb_on_kept_data(wanted, programs, password),
            Self::Mysql => mysql::mysql_on_kept_data(wanted, programs, password),
            Self::Postgres => postgres::on_kept_data(wanted, programs, password),
            Self::Tidb | Self::Tikv => None,
        }
    }

    /// Whether the data of such a server can be used by another one.
    pub fn data_can_move(self) -> bool {
        matches!(self, Self::Mariadb | Self::Mysql | Self::Postgres)
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
            Self::Tidb if wanted.parts.is_empty() => tidb::alone(wanted, programs, password),
            Self::Tidb => cluster::tidb(wanted, programs, password),
            Self::Tikv => cluster::tikv(wanted, programs),
        };
        let (programs, ports) = (self.programs(wanted.parts).len(), self.ports(wanted.parts));
        made.ok_or_else(|| Refused {
            message: format!("{self} needs {programs} programs and {ports} ports"),
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

impl Process {
    /// The one process of a server; perbuck alone waits for it, and knows when it may log in.
    fn only(program: &Path, arguments: Vec<OsString>) -> Self {
        Self { name: "server".to_owned(), program: program.to_owned(), arguments, input: String::new(), ready: None }
    }
}

impl Step {
    fn run(program: &Path, arguments: Vec<OsString>, input: String) -> Self {
        Self::Run { program: program.to_owned(), arguments, input, says: None }
    }
}

#[cfg(test)]
mod tests;
