//! `mysql://user@host:port,host:port/database?tls=required`, and the same for `postgres://`.

use std::path::{Path, PathBuf};

use super::options::{milliseconds, one_of, options_of, password_in_target, percent_decode, percent_encode, with_options};
use super::{TargetProblem, problem};

const OPTIONS: [&str; 5] = ["tls", "ca", "connect_timeout", "read_timeout", "statements"];
const TLS_MODES: [(&str, TlsMode); 5] = [
    ("disabled", TlsMode::Disabled),
    ("preferred", TlsMode::Preferred),
    ("required", TlsMode::Required),
    ("verify-ca", TlsMode::VerifyCa),
    ("verify-identity", TlsMode::VerifyIdentity),
];

/// One or more servers of one protocol, and how to reach them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTarget {
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
    /// Whether statements are sent as text with their values in it, and not prepared: what proxies need that keep no
    /// prepared statements. MySQL's protocol only.
    pub as_text: bool,
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

impl ServerTarget {
    /// Reads `//user@host:port,host:port/database?options`.
    pub(super) fn parse(scheme: &str, rest: &str, default_port: u16) -> Result<Self, TargetProblem> {
        let form = || format!("write {scheme}://USER@HOST:PORT/DATABASE");
        let Some(rest) = rest.strip_prefix("//") else { return problem("the target has no `//` after the scheme", form()) };
        let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, behind) = rest.split_at(authority_end);
        // A password may hold any of `/?#@`, and then the URL falls apart in the wrong place: a second `@`, or one behind
        // the hosts, is therefore taken for the sign of one.
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) if !user.contains([':', '@']) && !behind.contains('@') => (user, hosts),
            None if !rest.contains('@') => return problem("the target names no user", form()),
            _ => return password_in_target(),
        };
        // From here on nothing can be a password, and messages may quote what they mean.
        let user = percent_decode(user, "the user name")?;
        if user.is_empty() {
            return problem("the target names no user", form());
        }
        let hosts = hosts.split(',').map(|host| parse_host(host, default_port)).collect::<Result<Vec<_>, _>>()?;
        let (database, options) = behind.split_once('?').unwrap_or((behind, ""));
        let database = percent_decode(database.strip_prefix('/').unwrap_or(database), "the database name")?;
        if database.is_empty() || database.contains(['/', '#']) {
            return problem("the target names no database that can be one", form());
        }
        let (tls, ca_file, connect_timeout_ms, read_timeout_ms) = (TlsMode::Preferred, None, 10_000, 60_000);
        let mut target = Self { hosts, user, database, tls, ca_file, connect_timeout_ms, read_timeout_ms, as_text: false };
        for (key, value) in options_of(options, &OPTIONS)? {
            match key {
                "tls" => target.tls = tls_mode(&value)?,
                "ca" if value.is_empty() => return problem("`ca` names no file", "give the PEM file of the authority"),
                "ca" => target.ca_file = Some(PathBuf::from(value)),
                "connect_timeout" => target.connect_timeout_ms = milliseconds(key, &value, 1)?,
                "read_timeout" => target.read_timeout_ms = milliseconds(key, &value, 1)?,
                _ => target.as_text = one_of(key, &value, &["prepared", "text"])? == "text",
            }
        }
        if target.as_text && scheme != "mysql" {
            return problem(format!("a {scheme} target cannot have `statements=text`"), "leave it out: they are prepared");
        }
        Ok(target)
    }

    /// The host that connection `index` goes to.
    pub fn host(&self, index: u32) -> Option<&(String, u16)> {
        self.hosts.get(index as usize % self.hosts.len().max(1))
    }

    pub(super) fn address(&self, scheme: &str) -> String {
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
        add(self.as_text, "statements=text".to_owned());
        with_options(format!("{scheme}://{user}@{}/{database}", hosts.join(",")), &options)
    }
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

/// `host:port`, with brackets around an IPv6 address.
pub(crate) fn host_text(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn tls_mode(value: &str) -> Result<TlsMode, TargetProblem> {
    let words = TLS_MODES.map(|(word, _)| word);
    let word = one_of("tls", value, &words)?;
    Ok(TLS_MODES.iter().find(|(w, _)| *w == word).map_or(TlsMode::Preferred, |(_, mode)| *mode))
}
