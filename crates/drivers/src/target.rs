//! Addresses of databases, as written in a study.

use std::path::PathBuf;

/// A parsed address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// `sqlite:PATH?synchronous=FULL&journal_mode=WAL`.
    Sqlite(SqliteTarget),
    /// `mysql://user@host:port,host:port/database?tls=required`.
    Mysql(MysqlTarget),
}

/// An SQLite file and its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqliteTarget {
    /// The database file.
    pub path: PathBuf,
    /// `PRAGMA synchronous`: OFF, NORMAL, FULL or EXTRA.
    pub synchronous: String,
    /// `PRAGMA journal_mode`: WAL, DELETE, TRUNCATE, PERSIST or MEMORY.
    pub journal_mode: String,
    /// How long a session waits for a lock, in milliseconds.
    pub busy_timeout_ms: u32,
    /// `PRAGMA cache_size` in KiB.
    pub cache_kib: u32,
}

/// One or more servers of the MySQL protocol, and how to reach them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MysqlTarget {
    /// Hosts and ports; connection i goes to entry i modulo their number.
    pub hosts: Vec<(String, u16)>,
    /// User name.
    pub user: String,
    /// Database.
    pub database: String,
    /// How TLS is used.
    pub tls: TlsMode,
    /// A PEM file of certificate authorities, instead of the public ones.
    pub ca_file: Option<PathBuf>,
    /// Limit for reaching a server and logging in, in milliseconds.
    pub connect_timeout_ms: u32,
    /// Limit for an answer, in milliseconds.
    pub read_timeout_ms: u32,
}

/// How TLS is used; the words of the mysql client's `--ssl-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsMode {
    /// Never.
    Disabled,
    /// Where the server offers it; its certificate is not checked.
    Preferred,
    /// Always; the certificate is not checked.
    Required,
    /// Always; the certificate must come from a known authority.
    VerifyCa,
    /// As before, and it must carry the host's name.
    VerifyIdentity,
}
