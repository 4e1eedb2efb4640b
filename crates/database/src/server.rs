//! `scheme://user@host:port,host:port/database?tls=required`: the addresses of servers with users and databases.

use std::path::{Path, PathBuf};

use perbuck_load::driver::SessionId;

use crate::address::{
    TargetProblem, milliseconds, one_of, options_of, password_in_target, percent_decode, percent_encode, problem, with_options,
};
use crate::endpoint::{endpoint_text, host_text, is_socket, label_of, parse_endpoint};
use crate::fingerprint::Fingerprint;
use crate::{Dialect, Target};

/// The options. The last one stands for all that start with it; those are read before the others.
const OPTIONS: [&str; 9] =
    ["tls", "tls_fingerprint", "ca", "send_password", "connect_timeout", "read_timeout", "statements", "queries", "set.NAME"];
const CONNECT_TIMEOUT_MS: u32 = 10_000;
const READ_TIMEOUT_MS: u32 = 60_000;
/// Before the name of a variable.
const SET: &str = "set.";
const TLS_MODES: [TlsMode; 5] =
    [TlsMode::Disabled, TlsMode::Preferred, TlsMode::Required, TlsMode::VerifyCa, TlsMode::VerifyIdentity];

/// Names that other clients have for `tls`, without capitals and lines.
const TLS_ELSEWHERE: [&str; 3] = ["sslmode", "usessl", "requiressl"];

/// One or more servers of one protocol, and how to reach them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTarget {
    /// What the canonical address begins with.
    pub scheme: &'static str,
    /// The product that the scheme as it was written names, where the servers of several speak the protocol.
    pub product: Option<&'static str>,
    /// Hosts and ports, or paths of sockets with port 0; connection i goes to entry i modulo their number.
    pub hosts: Vec<(String, u16)>,
    /// The host and port that query streams beside a load go to, such as a replica; they go to `hosts` where none is given.
    pub query_host: Option<(String, u16)>,
    /// User name.
    pub user: String,
    /// Database.
    pub database: String,
    /// How TLS is used.
    pub tls: TlsMode,
    /// A PEM file of certificate authorities, instead of the public ones.
    pub ca_file: Option<PathBuf>,
    /// The certificates that the servers may show, in place of what an authority says; empty where any may be shown.
    pub fingerprints: Vec<Fingerprint>,
    /// Whether a server that nothing has verified gets the password itself, if it asks for that.
    pub sends_password: bool,
    /// Limit for reaching a server and logging in, in milliseconds.
    pub connect_timeout_ms: u32,
    /// Limit for an answer, in milliseconds.
    pub read_timeout_ms: u32,
    /// Whether statements are sent as text with their values in it, and not prepared: what proxies need that keep no
    /// prepared statements. Not every protocol can.
    pub as_text: bool,
    /// Variables that every session sets when it opens, by name, in the order of the address.
    pub settings: Vec<(String, String)>,
}

/// How TLS is used; the words of the mysql client's `--ssl-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsMode {
    /// Never.
    Disabled,
    /// Where the server offers it; its certificate is not checked.
    Preferred,
    /// Always; the certificate is not checked, unless the target names its fingerprint.
    Required,
    /// Always; the certificate must come from a known authority.
    VerifyCa,
    /// As before, and it must carry the host's name.
    VerifyIdentity,
}

impl TlsMode {
    /// The word for it in an address.
    pub fn word(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Preferred => "preferred",
            Self::Required => "required",
            Self::VerifyCa => "verify-ca",
            Self::VerifyIdentity => "verify-identity",
        }
    }

    /// Reads the word for one of some modes.
    ///
    /// # Errors
    /// Any other word.
    pub fn read(word: &str, allowed: &[Self]) -> Result<Self, TargetProblem> {
        let words: Vec<&str> = allowed.iter().map(|mode| mode.word()).collect();
        one_of("tls", word, &words)?;
        Ok(allowed.iter().copied().find(|mode| mode.word() == word).unwrap_or(Self::Disabled))
    }
}

impl ServerTarget {
    /// Reads `//user@host:port,host:port/database?options`.
    pub fn parse(scheme: &'static str, rest: &str, default_port: u16) -> Result<Self, TargetProblem> {
        let form = || format!("write {scheme}://USER@HOST:PORT/DATABASE");
        let Some(rest) = rest.strip_prefix("//") else { return problem("the target has no `//` after the scheme", form()) };
        let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, after) = rest.split_at(authority_end);
        // A password may hold any of `/?#@`, and the URL then falls apart at the wrong character. So a second `@`, or one after
        // the hosts, is taken for the sign of a password.
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) if !user.contains([':', '@']) && !after.contains('@') => (user, hosts),
            None if !rest.contains('@') => return problem("the target names no user", form()),
            _ => return password_in_target(),
        };
        // From here on nothing can be a password, and messages may quote what they mean.
        let user = percent_decode(user, "the user name")?;
        if user.is_empty() {
            return problem("the target names no user", form());
        }
        let hosts = hosts.split(',').map(|host| parse_endpoint(host, default_port)).collect::<Result<Vec<_>, _>>()?;
        let (database, options) = after.split_once('?').unwrap_or((after, ""));
        let database = percent_decode(database.strip_prefix('/').unwrap_or(database), "the database name")?;
        if database.is_empty() {
            return problem("the target names no database", form());
        }
        if database.contains(['/', '#']) {
            return problem(format!("the database name `{database}` holds `/` or `#`"), form());
        }
        let (set, rest): (Vec<&str>, Vec<&str>) = options.split('&').partition(|option| option.starts_with(SET));
        let mut target = Self::new(scheme, hosts, user, database);
        let (mut tls, settings) = (None, settings_of(&set)?);
        target.settings = settings;
        rest.iter().try_for_each(|option| tls_elsewhere(option))?;
        for (key, value) in options_of(&rest.join("&"), &OPTIONS)? {
            match key {
                "tls" => tls = Some(TlsMode::read(&value, &TLS_MODES)?),
                "tls_fingerprint" => target.fingerprints = value.split(',').map(Fingerprint::parse).collect::<Result<_, _>>()?,
                "send_password" => target.sends_password = one_of(key, &value, &["verified", "always"])? == "always",
                "ca" if value.is_empty() => return problem("`ca` names no file", "name a PEM file of certificates"),
                "ca" => target.ca_file = Some(PathBuf::from(value)),
                "connect_timeout" => target.connect_timeout_ms = milliseconds(key, &value, 1)?,
                "queries" => target.query_host = Some(parse_endpoint(&value, default_port)?),
                "read_timeout" => target.read_timeout_ms = milliseconds(key, &value, 1)?,
                _ => target.as_text = one_of(key, &value, &["prepared", "text"])? == "text",
            }
        }
        target.tls = match (tls, target.fingerprints.is_empty()) {
            (tls, true) => tls.unwrap_or(TlsMode::Preferred),
            (None | Some(TlsMode::Required), false) => TlsMode::Required,
            (Some(_), false) => {
                let help = "leave `tls` out: a fingerprint needs no authority, and always means TLS";
                return problem("`tls_fingerprint` goes with `tls=required` alone", help);
            }
        };
        target.with_sockets(tls)
    }

    /// The same where it names sockets in the file system: bytes that never leave this machine need no TLS.
    fn with_sockets(self, asked: Option<TlsMode>) -> Result<Self, TargetProblem> {
        let sockets = self.hosts.iter().chain(&self.query_host).filter(|(host, _)| is_socket(host)).count();
        if sockets == 0 {
            return Ok(self);
        }
        if sockets < self.hosts.len() + usize::from(self.query_host.is_some()) {
            let help = "name sockets alone, or HOST:PORT alone";
            return problem("the target names sockets of this machine beside hosts with ports", help);
        }
        if !matches!(asked, None | Some(TlsMode::Disabled | TlsMode::Preferred)) || !self.fingerprints.is_empty() {
            return problem("a socket of this machine has no TLS", "leave `tls` out, or write HOST:PORT in place of the socket");
        }
        Ok(Self { tls: TlsMode::Disabled, ..self })
    }

    /// Whether TLS proves that the server is the right one. A certificate of a public authority without a name proves nothing: every
    /// owner of a domain has one.
    pub fn verifies(&self) -> bool {
        let by_authority = match self.tls {
            TlsMode::Disabled | TlsMode::Preferred | TlsMode::Required => false,
            TlsMode::VerifyCa => self.ca_file.is_some(),
            TlsMode::VerifyIdentity => true,
        };
        by_authority || !self.fingerprints.is_empty()
    }

    /// The host that a connection goes to, or the one `away` positions after it in the list.
    pub fn host(&self, id: SessionId, away: u32) -> Option<&(String, u16)> {
        let own = || self.hosts.get((id.index() as usize + away as usize) % self.hosts.len().max(1));
        self.query_host.as_ref().filter(|_| matches!(id, SessionId::Query(_))).or_else(own)
    }

    /// A target with these servers and every default, but without TLS.
    pub fn new(scheme: &'static str, hosts: Vec<(String, u16)>, user: String, database: String) -> Self {
        Self {
            scheme,
            product: None,
            hosts,
            query_host: None,
            user,
            database,
            tls: TlsMode::Disabled,
            ca_file: None,
            fingerprints: Vec::new(),
            sends_password: false,
            connect_timeout_ms: CONNECT_TIMEOUT_MS,
            read_timeout_ms: READ_TIMEOUT_MS,
            as_text: false,
            settings: Vec::new(),
        }
    }

    /// All hosts as `host:port`.
    pub fn addresses(&self) -> Vec<String> {
        self.hosts.iter().map(|(host, port)| host_text(host, *port)).collect()
    }

    /// The canonical text, without a password.
    pub fn address(&self) -> String {
        let endpoints = |hosts: &[(String, u16)]| hosts.iter().map(|(host, port)| endpoint_text(host, *port)).collect::<Vec<_>>();
        let (scheme, hosts) = (self.scheme, endpoints(&self.hosts));
        let (user, database) = (percent_encode(&self.user, ":@/?#%,"), percent_encode(&self.database, "@/?#%"));
        let mut options = Vec::new();
        let mut add = |differs: bool, text: String| options.extend(differs.then_some(text));
        add(self.tls != TlsMode::Preferred, format!("tls={}", self.tls.word()));
        let ca = self.ca_file.as_deref().map(Path::to_string_lossy).unwrap_or_default();
        add(self.ca_file.is_some(), format!("ca={}", percent_encode(&ca, "@&#%+")));
        let fingerprints: Vec<String> = self.fingerprints.iter().map(ToString::to_string).collect();
        add(!fingerprints.is_empty(), format!("tls_fingerprint={}", fingerprints.join(",")));
        add(self.sends_password, "send_password=always".to_owned());
        add(self.connect_timeout_ms != CONNECT_TIMEOUT_MS, format!("connect_timeout={}ms", self.connect_timeout_ms));
        add(self.read_timeout_ms != READ_TIMEOUT_MS, format!("read_timeout={}ms", self.read_timeout_ms));
        add(self.as_text, "statements=text".to_owned());
        let queries = self.query_host.as_ref().map(|(host, port)| endpoint_text(host, *port));
        add(queries.is_some(), format!("queries={}", queries.unwrap_or_default()));
        for (name, value) in &self.settings {
            add(true, format!("{SET}{name}={}", percent_encode(value, "@&#%+")));
        }
        with_options(format!("{scheme}://{user}@{}/{database}", hosts.join(",")), &options)
    }
}

/// Servers of one protocol, and the SQL that they speak.
#[derive(Debug, Clone)]
pub struct SqlTarget<D: Dialect + 'static> {
    /// Which database they are.
    pub dialect: &'static D,
    /// Where they are.
    pub server: ServerTarget,
}

impl<D: Dialect + Clone + 'static> Target for SqlTarget<D> {
    fn dialect(&self) -> &'static dyn Dialect {
        self.dialect
    }

    fn scheme(&self) -> &'static str {
        self.server.scheme
    }

    fn address(&self) -> String {
        self.server.address()
    }

    fn with_database(&self, name: &str) -> Box<dyn Target> {
        let server = ServerTarget { database: name.to_owned(), ..self.server.clone() };
        Box::new(Self { dialect: self.dialect, server })
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

/// Refuses what other clients call `tls`, and says what to write. libpq says `sslmode=verify-full`, the mysql client
/// `ssl-mode=VERIFY_IDENTITY`.
fn tls_elsewhere(option: &str) -> Result<(), TargetProblem> {
    let (key, value) = option.split_once('=').unwrap_or((option, ""));
    let plain = |text: &str| text.to_ascii_lowercase().replace(['_', '-'], "");
    if !TLS_ELSEWHERE.contains(&&*plain(key)) {
        return Ok(());
    }
    let mode = match &*plain(value) {
        "disable" | "disabled" | "false" | "0" => Some(TlsMode::Disabled),
        "allow" | "prefer" | "preferred" => Some(TlsMode::Preferred),
        "require" | "required" | "true" | "1" => Some(TlsMode::Required),
        "verifyca" => Some(TlsMode::VerifyCa),
        "verifyfull" | "verifyidentity" => Some(TlsMode::VerifyIdentity),
        _ => None,
    };
    let words = TLS_MODES.map(TlsMode::word).join(", ");
    let help = mode.map_or_else(|| format!("write `tls=`, with one of {words}"), |mode| format!("write `tls={}`", mode.word()));
    problem(format!("`{key}` is not an option of this target: it is called `tls`"), help)
}

fn settings_of(options: &[&str]) -> Result<Vec<(String, String)>, TargetProblem> {
    let mut settings: Vec<(String, String)> = Vec::new();
    for option in options {
        let (name, value) = option[SET.len()..].split_once('=').unwrap_or((&option[SET.len()..], ""));
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        if name.is_empty() || !name.chars().all(word) {
            return problem(format!("`{SET}` names no variable"), "write set.NAME=VALUE, such as set.tidb_txn_mode=optimistic");
        }
        if name.to_ascii_lowercase().contains("passw") {
            return password_in_target();
        }
        let value = percent_decode(value, &format!("the option `{SET}{name}`"))?;
        if value.contains(['\'', '\\', '\n', '\r']) {
            return problem(format!("the value of `{SET}{name}` holds a quote or a backslash"), "write it without quotes");
        }
        if settings.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
            return problem(format!("the option `{SET}{name}` is given twice"), "keep one of them");
        }
        settings.push((name.to_owned(), value));
    }
    Ok(settings)
}
