//! Addresses of databases, as written in a study.
//!
//! An address is printed and recorded, so it never holds a password. A password that somebody writes into one all the
//! same must not be echoed by the refusal either: until the part before the last `@` is known to hold none, messages
//! quote nothing behind the scheme.

use std::fmt;
use std::path::{Path, PathBuf};

use perbuck_core::problem::nearest;
use perbuck_core::units::parse_duration_ns;

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

const MYSQL_FORM: &str = "write mysql://USER@HOST:PORT/DATABASE";
const MYSQL_OPTIONS: [&str; 4] = ["tls", "ca", "connect_timeout", "read_timeout"];
const SQLITE_OPTIONS: [&str; 4] = ["synchronous", "journal_mode", "busy_timeout", "cache"];
const TLS_MODES: [(&str, TlsMode); 5] = [
    ("disabled", TlsMode::Disabled),
    ("preferred", TlsMode::Preferred),
    ("required", TlsMode::Required),
    ("verify-ca", TlsMode::VerifyCa),
    ("verify-identity", TlsMode::VerifyIdentity),
];
const SYNCHRONOUS: [&str; 4] = ["OFF", "NORMAL", "FULL", "EXTRA"];
const JOURNAL_MODES: [&str; 5] = ["WAL", "DELETE", "TRUNCATE", "PERSIST", "MEMORY"];

impl Target {
    /// Reads an address.
    ///
    /// # Errors
    /// Names what is wrong and the way out, without ever quoting what may be a password.
    pub fn parse(text: &str) -> Result<Self, TargetProblem> {
        let Some((scheme, rest)) = text.split_once(':') else {
            return problem("the target has no scheme", "write sqlite:FILE or mysql://USER@HOST:PORT/DATABASE");
        };
        match scheme {
            "sqlite" => parse_sqlite(rest).map(Self::Sqlite),
            "mysql" | "mariadb" => parse_mysql(rest, 3306).map(Self::Mysql),
            "tidb" => parse_mysql(rest, 4000).map(Self::Mysql),
            "postgres" | "postgresql" | "tikv" => problem(
                format!("a target `{scheme}:` is not supported by this version of perbuck"),
                "it drives sqlite:, mysql://, mariadb:// and tidb://",
            ),
            // What stands before the first colon is no scheme when somebody wrote `user:password@host`.
            _ => problem("the target has no scheme that perbuck knows", "it drives sqlite:, mysql://, mariadb:// and tidb://"),
        }
    }

    /// The canonical text of the address, for records. It holds no password, since a target has none.
    pub fn address(&self) -> String {
        match self {
            Self::Sqlite(target) => target.address(),
            Self::Mysql(target) => target.address(),
        }
    }

    /// The same target with another database: of a MySQL server that of this name, for SQLite a file beside the first
    /// (`a.db` becomes `a-name.db`).
    #[must_use]
    pub fn with_database(&self, name: &str) -> Self {
        match self {
            Self::Mysql(target) => Self::Mysql(MysqlTarget { database: name.to_owned(), ..target.clone() }),
            Self::Sqlite(target) => {
                let stem = target.path.file_stem().unwrap_or_default().to_string_lossy();
                let extension = target.path.extension().map(|e| format!(".{}", e.to_string_lossy())).unwrap_or_default();
                let path = target.path.with_file_name(format!("{stem}-{name}{extension}"));
                Self::Sqlite(SqliteTarget { path, ..target.clone() })
            }
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address())
    }
}

fn parse_sqlite(rest: &str) -> Result<SqliteTarget, TargetProblem> {
    let (path, options) = rest.split_once('?').unwrap_or((rest, ""));
    let path = percent_decode(path, "the path")?;
    if path.is_empty() || path.ends_with('/') {
        return problem("the sqlite target names no file", "write sqlite:FILE, for instance sqlite:bench.db");
    }
    if path.starts_with(":memory:") {
        return problem(
            "an SQLite database in memory belongs to a single connection",
            "name a file on a memory file system, for instance sqlite:/dev/shm/bench.db",
        );
    }
    let mut target = SqliteTarget {
        path: PathBuf::from(path),
        synchronous: "FULL".to_owned(),
        journal_mode: "WAL".to_owned(),
        busy_timeout_ms: 60_000,
        cache_kib: 2_000,
    };
    for (key, value) in options_of(options, &SQLITE_OPTIONS)? {
        match key {
            "synchronous" => target.synchronous = one_of(key, &value.to_ascii_uppercase(), &SYNCHRONOUS)?,
            "journal_mode" => target.journal_mode = one_of(key, &value.to_ascii_uppercase(), &JOURNAL_MODES)?,
            "busy_timeout" => target.busy_timeout_ms = milliseconds(key, &value, 0)?,
            _ => target.cache_kib = kibibytes(key, &value)?,
        }
    }
    Ok(target)
}

impl SqliteTarget {
    fn address(&self) -> String {
        let path = percent_encode(&self.path.to_string_lossy(), "?%");
        let mut options = Vec::new();
        let mut add = |differs: bool, text: String| options.extend(differs.then_some(text));
        add(self.synchronous != "FULL", format!("synchronous={}", self.synchronous));
        add(self.journal_mode != "WAL", format!("journal_mode={}", self.journal_mode));
        add(self.busy_timeout_ms != 60_000, format!("busy_timeout={}ms", self.busy_timeout_ms));
        add(self.cache_kib != 2_000, format!("cache={}KiB", self.cache_kib));
        with_options(format!("sqlite:{path}"), &options)
    }
}

/// `//user@host:port,host:port/database?options`.
fn parse_mysql(rest: &str, default_port: u16) -> Result<MysqlTarget, TargetProblem> {
    let Some(rest) = rest.strip_prefix("//") else { return problem("the target has no `//` after the scheme", MYSQL_FORM) };
    let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, behind) = rest.split_at(authority_end);
    // A password may hold any of `/?#@`, and then the URL falls apart in the wrong place: a second `@`, or one behind
    // the hosts, is therefore taken for the sign of one.
    let (user, hosts) = match authority.rsplit_once('@') {
        Some((user, hosts)) if !user.contains([':', '@']) && !behind.contains('@') => (user, hosts),
        None if !rest.contains('@') => return problem("the target names no user", MYSQL_FORM),
        _ => return password_in_target(),
    };
    // From here on nothing can be a password, and messages may quote what they mean.
    let user = percent_decode(user, "the user name")?;
    if user.is_empty() {
        return problem("the target names no user", MYSQL_FORM);
    }
    let hosts = hosts.split(',').map(|host| parse_host(host, default_port)).collect::<Result<Vec<_>, _>>()?;
    let (database, options) = behind.split_once('?').unwrap_or((behind, ""));
    let database = percent_decode(database.strip_prefix('/').unwrap_or(database), "the database name")?;
    if database.is_empty() || database.contains(['/', '#']) {
        return problem("the target names no database that can be one", MYSQL_FORM);
    }
    let (tls, ca_file, connect_timeout_ms, read_timeout_ms) = (TlsMode::Preferred, None, 10_000, 60_000);
    let mut target = MysqlTarget { hosts, user, database, tls, ca_file, connect_timeout_ms, read_timeout_ms };
    for (key, value) in options_of(options, &MYSQL_OPTIONS)? {
        match key {
            "tls" => target.tls = tls_mode(&value)?,
            "ca" if value.is_empty() => return problem("`ca` names no file", "give the PEM file of the authority"),
            "ca" => target.ca_file = Some(PathBuf::from(value)),
            "connect_timeout" => target.connect_timeout_ms = milliseconds(key, &value, 1)?,
            _ => target.read_timeout_ms = milliseconds(key, &value, 1)?,
        }
    }
    Ok(target)
}

fn password_in_target<T>() -> Result<T, TargetProblem> {
    problem(
        "the target holds a password (or an `@` that is not written %40); it is not shown here, and would be in every record",
        "leave `:password` out; set PERBUCK_<CONTENDER>_PASSWORD in the environment, or name a file with `password_file`",
    )
}

fn parse_host(text: &str, default_port: u16) -> Result<(String, u16), TargetProblem> {
    let bad = || problem(format!("`{text}` is not a host"), "write HOST, HOST:PORT or [IPV6]:PORT, several with commas");
    let (host, port) = match text.strip_prefix('[') {
        Some(bracketed) => {
            let Some((host, port)) = bracketed.split_once(']') else { return bad() };
            let Ok(address) = host.parse::<std::net::Ipv6Addr>() else { return bad() };
            (address.to_string(), port)
        }
        None => {
            let (host, port) = text.split_at(text.find(':').unwrap_or(text.len()));
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
            if host.is_empty() || !host.chars().all(plain) {
                return bad();
            }
            (host.to_owned(), port)
        }
    };
    match port.strip_prefix(':').map(str::parse::<u16>) {
        None if port.is_empty() => Ok((host, default_port)),
        Some(Ok(port)) if port > 0 => Ok((host, port)),
        _ => bad(),
    }
}

impl MysqlTarget {
    /// The host that connection `index` goes to.
    pub fn host(&self, index: u32) -> Option<&(String, u16)> {
        self.hosts.get(index as usize % self.hosts.len().max(1))
    }

    fn address(&self) -> String {
        let hosts: Vec<String> = self.hosts.iter().map(|(host, port)| host_text(host, *port)).collect();
        let (user, database) = (percent_encode(&self.user, ":@/?#%,"), percent_encode(&self.database, "@/?#%"));
        let mode = TLS_MODES.iter().find(|(_, mode)| *mode == self.tls).map_or("", |(word, _)| *word);
        let mut options = Vec::new();
        let mut add = |differs: bool, text: String| options.extend(differs.then_some(text));
        add(self.tls != TlsMode::Preferred, format!("tls={mode}"));
        let ca = self.ca_file.as_deref().map(Path::to_string_lossy).unwrap_or_default();
        add(self.ca_file.is_some(), format!("ca={}", percent_encode(&ca, "@&#%+")));
        add(self.connect_timeout_ms != 10_000, format!("connect_timeout={}ms", self.connect_timeout_ms));
        add(self.read_timeout_ms != 60_000, format!("read_timeout={}ms", self.read_timeout_ms));
        with_options(format!("mysql://{user}@{}/{database}", hosts.join(",")), &options)
    }
}

/// `host:port`, with brackets around an IPv6 address.
pub(crate) fn host_text(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn with_options(mut address: String, options: &[String]) -> String {
    for (i, option) in options.iter().enumerate() {
        address.push(if i == 0 { '?' } else { '&' });
        address.push_str(option);
    }
    address
}

/// The options as (known key, decoded value). Values of keys that are not known are never quoted.
fn options_of<'k>(text: &str, known: &[&'k str]) -> Result<Vec<(&'k str, String)>, TargetProblem> {
    let mut found: Vec<(&str, String)> = Vec::new();
    for option in text.split('&').filter(|o| !o.is_empty()) {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        if matches!(key.to_ascii_lowercase().as_str(), "password" | "passwd" | "pwd" | "pass") {
            return password_in_target();
        }
        let Some(key) = known.iter().find(|k| **k == key) else {
            let help = nearest(key, known.iter().copied())
                .map_or_else(|| format!("the options are {}", known.join(", ")), |near| format!("did you mean `{near}`?"));
            return problem(format!("`{key}` is not an option of this target"), help);
        };
        if found.iter().any(|(k, _)| k == key) {
            return problem(format!("the option `{key}` is given twice"), "keep one of them");
        }
        found.push((key, percent_decode(value, &format!("the option `{key}`"))?));
    }
    Ok(found)
}

fn one_of(key: &str, value: &str, allowed: &[&str]) -> Result<String, TargetProblem> {
    if allowed.contains(&value) {
        return Ok(value.to_owned());
    }
    problem(format!("`{value}` is not a value of `{key}`"), format!("use one of {}", allowed.join(", ")))
}

fn tls_mode(value: &str) -> Result<TlsMode, TargetProblem> {
    let words = TLS_MODES.map(|(word, _)| word);
    let word = one_of("tls", value, &words)?;
    Ok(TLS_MODES.iter().find(|(w, _)| *w == word).map_or(TlsMode::Preferred, |(_, mode)| *mode))
}

fn milliseconds(key: &str, value: &str, least: u32) -> Result<u32, TargetProblem> {
    let ns = parse_duration_ns(value).or_else(|why| problem(format!("`{key}`: {why}"), "write a duration such as `10s`"))?;
    match u32::try_from(ns / 1_000_000) {
        Ok(ms) if ms >= least => Ok(ms),
        _ => problem(format!("`{key}`: `{value}` is out of range"), "write a duration from 1ms to 40 days"),
    }
}

fn kibibytes(key: &str, value: &str) -> Result<u32, TargetProblem> {
    let units = [("KiB", 1), ("MiB", 1_024), ("GiB", 1_048_576)];
    let found = units.iter().find_map(|(unit, factor)| Some((value.strip_suffix(unit)?.trim().parse::<u32>().ok()?, *factor)));
    match found.and_then(|(number, factor)| number.checked_mul(factor)) {
        // SQLite takes the size as a negative 32-bit number of KiB.
        Some(kib) if kib > 0 && i32::try_from(kib).is_ok() => Ok(kib),
        _ => problem(format!("`{key}`: `{value}` is not a size"), "write a size such as `64MiB`"),
    }
}

fn percent_decode(text: &str, what: &str) -> Result<String, TargetProblem> {
    let help = "write a percent sign itself as %25; text is UTF-8 without control characters";
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut digit = || bytes.next().and_then(|b| char::from(b).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return problem(format!("{what} holds a `%` without two hexadecimal digits"), help);
        };
        out.push((high * 16 + low) as u8);
    }
    match String::from_utf8(out) {
        Ok(decoded) if !decoded.contains(char::is_control) => Ok(decoded),
        _ => problem(format!("{what} holds what text cannot hold"), help),
    }
}

fn percent_encode(text: &str, special: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() && special.contains(c) {
            out.push_str(&format!("%{:02X}", c as u32));
        } else {
            out.push(c);
        }
    }
    out
}
