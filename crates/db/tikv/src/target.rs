//! `tikv://pd1:2379,pd2:2379/?type=raw`: the members of PD, and how keys and values are reached through them.

use std::path::{Path, PathBuf};

use perbuck_database::address::{TargetProblem, milliseconds, one_of, options_of, percent_encode, problem, with_options};
use perbuck_database::endpoint::{host_text, label_of, parse_host};
use perbuck_database::server::TlsMode;
use perbuck_database::{Dialect, Target};

use crate::dialect::TikvDialect;

const OPTIONS: &str = "type mode async_commit one_pc api keyspace prefix connections batch_size tls ca cert key connect_timeout \
    read_timeout retry_limit";
const PORT: u16 = 2379;
const TLS_MODES: [TlsMode; 4] = [TlsMode::Disabled, TlsMode::Required, TlsMode::VerifyCa, TlsMode::VerifyIdentity];
/// Keyspaces have three bytes.
const KEYSPACE_MAX: u32 = (1 << 24) - 1;

/// A TiKV cluster, and how it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TikvTarget {
    /// The members of PD.
    pub pds: Vec<(String, u16)>,
    /// Whether keys are read and written in transactions.
    pub transactional: bool,
    /// Whether a transaction locks what it is about to change.
    pub pessimistic: bool,
    /// Whether a transaction counts as committed after its first step.
    pub async_commit: bool,
    /// Whether a transaction of one region is committed in one step.
    pub one_pc: bool,
    /// Whether version 2 of the interface is spoken, where keys lie in keyspaces.
    pub api_v2: bool,
    /// The number of the keyspace.
    pub keyspace: u32,
    /// What keys start with, after the keyspace.
    pub prefix: String,
    /// Connections to each store that a load thread opens, at most.
    pub connections: u32,
    /// Commands that travel together, at most; 0 sends each on a stream of its own.
    pub batch_size: u32,
    /// How TLS is used; never [`TlsMode::Preferred`].
    pub tls: TlsMode,
    /// A PEM file of certificate authorities, instead of the public ones.
    pub ca_file: Option<PathBuf>,
    /// PEM files of a certificate of our own and its key.
    pub own_certificate: Option<(PathBuf, PathBuf)>,
    /// Limit for reaching a server, in milliseconds.
    pub connect_timeout_ms: u32,
    /// Limit for an answer, in milliseconds.
    pub read_timeout_ms: u32,
    /// Limit for all attempts of one request together, counted from its first failure, in milliseconds.
    pub retry_limit_ms: u32,
}

impl TikvTarget {
    /// A cluster with these members of PD, and every default.
    pub fn new(pds: Vec<(String, u16)>) -> Self {
        Self {
            pds,
            transactional: false,
            pessimistic: false,
            async_commit: true,
            one_pc: true,
            api_v2: false,
            keyspace: 0,
            prefix: String::new(),
            connections: 1,
            batch_size: 128,
            tls: TlsMode::Disabled,
            ca_file: None,
            own_certificate: None,
            connect_timeout_ms: 10_000,
            read_timeout_ms: 60_000,
            retry_limit_ms: 20_000,
        }
    }

    /// Reads `//pd:port,pd:port/?options`.
    pub fn parse(rest: &str) -> Result<Self, TargetProblem> {
        let form = "write tikv://PD:PORT/ or tikv://PD:PORT,PD:PORT/?type=txn";
        let Some(rest) = rest.strip_prefix("//") else { return problem("the target has no `//` after the scheme", form) };
        if rest.contains('@') {
            return problem(
                "the target has a user or a password; TiKV has neither",
                "remove both; `cert` and `key` authenticate a client",
            );
        }
        let (hosts, options) = rest.split_once('?').unwrap_or((rest, ""));
        let hosts = hosts.strip_suffix('/').unwrap_or(hosts);
        if hosts.is_empty() || hosts.contains('/') {
            return problem("the target names no PD, or a path after it", form);
        }
        let pds = hosts.split(',').map(|host| parse_host(host, PORT)).collect::<Result<Vec<_>, _>>()?;
        let mut target = Self::new(pds);
        let (mut cert, mut key) = (None, None);
        for (name, value) in options_of(options, &OPTIONS.split(' ').collect::<Vec<_>>())? {
            match name {
                "cert" => cert = Some(file(name, value)?),
                "key" => key = Some(file(name, value)?),
                _ => target.set(name, value)?,
            }
        }
        target.own_certificate = match (cert, key) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            _ => return problem("`cert` or `key` is missing", "give both, or neither"),
        };
        target.check()?;
        Ok(target)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), TargetProblem> {
        let on = || one_of(name, &value, &["on", "off"]).map(|word| word == "on");
        match name {
            "type" => self.transactional = one_of(name, &value, &["raw", "txn"])? == "txn",
            "mode" => self.pessimistic = one_of(name, &value, &["optimistic", "pessimistic"])? == "pessimistic",
            "async_commit" => self.async_commit = on()?,
            "one_pc" => self.one_pc = on()?,
            "api" => self.api_v2 = one_of(name, &value, &["v1", "v2"])? == "v2",
            "keyspace" => self.keyspace = number(name, &value, 0, KEYSPACE_MAX)?,
            "prefix" => self.prefix = value,
            "connections" => self.connections = number(name, &value, 1, 1_000)?,
            "batch_size" => self.batch_size = number(name, &value, 0, 10_000)?,
            "tls" => self.tls = TlsMode::read(&value, &TLS_MODES)?,
            "ca" => self.ca_file = Some(file(name, value)?),
            "connect_timeout" => self.connect_timeout_ms = milliseconds(name, &value, 1)?,
            "read_timeout" => self.read_timeout_ms = milliseconds(name, &value, 1)?,
            _ => self.retry_limit_ms = milliseconds(name, &value, 1)?,
        }
        Ok(())
    }

    /// What the options do not allow together.
    fn check(&self) -> Result<(), TargetProblem> {
        if self.pessimistic && !self.transactional {
            return problem("`mode=pessimistic` needs transactions", "add `type=txn`, or leave it out");
        }
        if self.keyspace > 0 && !self.api_v2 {
            return problem("version 1 of TiKV's API has no keyspaces", "add `api=v2`, or leave `keyspace` out");
        }
        if self.tls == TlsMode::Disabled && (self.ca_file.is_some() || self.own_certificate.is_some()) {
            return problem("`ca`, `cert` and `key` need TLS", "add `tls=verify-ca`, or leave `ca`, `cert` and `key` out");
        }
        let good = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        if !self.prefix.chars().all(good) {
            return problem("`prefix` holds a character that it must not", "write letters, digits, `_`, `-`, `.` and `/`");
        }
        Ok(())
    }
}

impl Target for TikvTarget {
    fn dialect(&self) -> &'static dyn Dialect {
        &TikvDialect
    }

    fn scheme(&self) -> &'static str {
        "tikv"
    }

    fn address(&self) -> String {
        let pds: Vec<String> = self.pds.iter().map(|(host, port)| host_text(host, *port)).collect();
        let default = Self::new(Vec::new());
        let mut options = vec![format!("type={}", if self.transactional { "txn" } else { "raw" })];
        let mut add = |differs: bool, text: String| options.extend(differs.then_some(text));
        let path = |path: &Path| percent_encode(&path.to_string_lossy(), "@&#%+");
        add(self.pessimistic, "mode=pessimistic".to_owned());
        add(!self.async_commit, "async_commit=off".to_owned());
        add(!self.one_pc, "one_pc=off".to_owned());
        add(self.api_v2, "api=v2".to_owned());
        add(self.keyspace > 0, format!("keyspace={}", self.keyspace));
        add(!self.prefix.is_empty(), format!("prefix={}", self.prefix));
        add(self.connections != default.connections, format!("connections={}", self.connections));
        add(self.batch_size != default.batch_size, format!("batch_size={}", self.batch_size));
        add(self.tls != TlsMode::Disabled, format!("tls={}", self.tls.word()));
        add(self.ca_file.is_some(), format!("ca={}", self.ca_file.as_deref().map(path).unwrap_or_default()));
        if let Some((cert, key)) = &self.own_certificate {
            add(true, format!("cert={}", path(cert)));
            add(true, format!("key={}", path(key)));
        }
        for (name, ours, usual) in [
            ("connect_timeout", self.connect_timeout_ms, default.connect_timeout_ms),
            ("read_timeout", self.read_timeout_ms, default.read_timeout_ms),
            ("retry_limit", self.retry_limit_ms, default.retry_limit_ms),
        ] {
            add(ours != usual, format!("{name}={ours}ms"));
        }
        with_options(format!("tikv://{}/", pds.join(",")), &options)
    }

    /// Keys that start with `name/`.
    fn with_database(&self, name: &str) -> Box<dyn Target> {
        Box::new(Self { prefix: format!("{name}/"), ..self.clone() })
    }

    fn copied(&self) -> Box<dyn Target> {
        Box::new(self.clone())
    }

    fn label(&self) -> String {
        label_of(&self.pds)
    }

    fn described(&self) -> String {
        "the TiKV cluster".to_owned()
    }

    fn set_read_timeout_ms(&mut self, limit_ms: u32) {
        self.read_timeout_ms = limit_ms;
    }
}

fn number(name: &str, value: &str, least: u32, most: u32) -> Result<u32, TargetProblem> {
    match value.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => problem(format!("`{name}` is `{value}`"), format!("write a whole number from {least} to {most}")),
    }
}

fn file(name: &str, value: String) -> Result<PathBuf, TargetProblem> {
    if value.is_empty() { problem(format!("`{name}` names no file"), "give a PEM file") } else { Ok(PathBuf::from(value)) }
}
