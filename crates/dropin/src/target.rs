//! Servers as an address that perbuck reads, and their name in records.

use perbuck_database::endpoint::{endpoint_text, is_of_this_machine, is_socket};
use perbuck_database::registry::AnyTarget;
use perbuck_lab::registry::Registry;

use crate::refused::Refused;

pub(crate) fn parsed(address: &str) -> Result<AnyTarget, Refused> {
    Registry::default().target(address).map_err(|p| Refused::usage(p.message, p.help))
}

/// A port as typed; `None` where it is none.
pub(crate) fn port(typed: &str) -> Option<u16> {
    typed.parse().ok().filter(|port| *port > 0)
}

/// The port on which a database listens unless it is told otherwise.
pub(crate) fn default_port(scheme: &str) -> u16 {
    match scheme {
        "mysql" => 3_306,
        "tidb" => 4_000,
        "cockroach" => 26_257,
        "yugabyte" => 5_433,
        _ => 5_432,
    }
}

/// Every host at every port: all ports of a host, then the next host.
pub(crate) fn every(hosts: &[&str], ports: &[u16]) -> Vec<(String, u16)> {
    hosts.iter().flat_map(|host| ports.iter().map(move |port| ((*host).to_owned(), *port))).collect()
}

/// A host with a port; of a folder of sockets the socket of that port, as PostgreSQL's client library has it.
pub(crate) fn host_or_folder((host, port): (String, u16)) -> (String, u16) {
    if is_socket(&host) { (format!("{host}/.s.PGSQL.{port}"), 0) } else { (host, port) }
}

/// The scheme of a PostgreSQL-compatible database that a drop-in command may name; the programs that are replaced know both
/// as PostgreSQL, but for go-ycsb, which says `cockroach` and `cdb`.
pub(crate) fn postgres_compatible(name: &str) -> Option<&'static str> {
    match name {
        "cockroach" | "cockroachdb" | "cdb" => Some("cockroach"),
        "yugabyte" | "yugabytedb" => Some("yugabyte"),
        _ => None,
    }
}

/// PostgreSQL's word for how TLS is used, as an address has it.
pub(crate) fn sslmode(word: &str) -> Option<&'static str> {
    match word {
        "disable" => Some("disabled"),
        "allow" | "prefer" => Some("preferred"),
        "require" => Some("required"),
        "verify-ca" => Some("verify-ca"),
        "verify-full" => Some("verify-identity"),
        _ => None,
    }
}

/// The options of TLS: how it is used, and the file of authorities, if there is one. As client libraries have it, a
/// certificate that could be checked is checked.
pub(crate) fn tls_options(mode: &'static str, authorities: &str) -> Vec<(&'static str, String)> {
    let checked = if mode == "required" && !authorities.is_empty() { "verify-ca" } else { mode };
    let file = (!authorities.is_empty()).then(|| ("ca", authorities.to_owned()));
    [("tls", checked.to_owned())].into_iter().chain(file).collect()
}

/// The servers at an address that is made of parts. What is recorded must be readable again, so that names which cannot be
/// written in an address are found here.
pub(crate) fn servers(
    scheme: &str,
    user: &str,
    hosts: &[(String, u16)],
    database: &str,
    options: &[(&str, String)],
) -> Result<AnyTarget, Refused> {
    let hosts: Vec<String> = hosts.iter().map(|(host, port)| endpoint_text(host, *port)).collect();
    with_options(&format!("{scheme}://{}@{}/{}", encoded(user), hosts.join(","), encoded(database)), options)
}

/// The target at an address with options that replace those of the same name.
pub(crate) fn with_options(address: &str, options: &[(&str, String)]) -> Result<AnyTarget, Refused> {
    let (servers, kept) = address.split_once('?').unwrap_or((address, ""));
    let replaced = |kept: &&str| options.iter().any(|(name, _)| kept.split('=').next() == Some(name));
    let kept = kept.split('&').filter(|kept| !kept.is_empty() && !replaced(kept)).map(str::to_owned);
    let all: Vec<String> = kept.chain(options.iter().map(|(name, value)| format!("{name}={}", encoded(value)))).collect();
    parsed(&if all.is_empty() { servers.to_owned() } else { format!("{servers}?{}", all.join("&")) })
}

/// Text whose signs are none of an address.
pub(crate) fn encoded(text: &str) -> String {
    let sign = |c: char| if ":@/?#%,&+".contains(c) { format!("%{:02X}", u32::from(c)) } else { c.to_string() };
    text.chars().map(sign).collect()
}

/// The same with a limit for an answer, in seconds; `None` is the longest possible. The programs that are
/// replaced know no such limit, so that no stall that the run itself outlasts may end it.
pub(crate) fn with_timeout(target: &AnyTarget, seconds: Option<u64>) -> AnyTarget {
    let limit_ms = seconds.map_or(u32::MAX, |s| u32::try_from(s.saturating_mul(1000)).unwrap_or(u32::MAX));
    let mut target = target.clone();
    target.set_read_timeout_ms(limit_ms);
    target
}

/// A name for the database in records, made of its address; path-safe, at most 64 characters.
pub(crate) fn contender_name(target: &AnyTarget) -> String {
    let raw = target.label();
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let name: String = raw.chars().map(safe).take(56).collect();
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() { "database".to_owned() } else { name.to_owned() }
}

/// The target of options of another program, which sends the password to whichever server asks for it: a command line must
/// not fail because perbuck stands before it. A server of this machine needs no leave.
pub(crate) fn as_the_program(mut target: AnyTarget) -> AnyTarget {
    if let Some(server) = target.server_mut() {
        server.sends_password =
            !server.verifies() && !server.hosts.iter().chain(&server.query_host).all(|(host, _)| is_of_this_machine(host));
    }
    target
}

/// The address that tells one database from another in records. What [`as_the_program`] allows is no part of it.
pub(crate) fn identity(target: &AnyTarget) -> String {
    let mut target = target.clone();
    if let Some(server) = target.server_mut() {
        server.sends_password = false;
    }
    target.address()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_is_reached_at_every_port() {
        let text = |(host, port): &(String, u16)| format!("{host}:{port}");
        let all: Vec<String> = every(&["a", "b"], &[1, 2]).iter().map(text).collect();
        assert_eq!(all, ["a:1", "a:2", "b:1", "b:2"]);
        assert_eq!((port("65535"), port("0"), port("65536"), port("x")), (Some(65_535), None, None, None));
    }

    #[test]
    fn signs_of_an_address_are_no_part_of_a_name() {
        let hosts = [("h".to_owned(), 1), ("::1".to_owned(), 2)];
        let target = servers("postgres", "a:b@c", &hosts, "d%e", &tls_options("required", "x&y.pem")).unwrap();
        assert_eq!(target.address(), "postgres://a%3Ab%40c@h:1,[::1]:2/d%25e?tls=verify-ca&ca=x%26y.pem");
        let changed = with_options(&target.address(), &[("tls", "disabled".to_owned())]).unwrap();
        assert_eq!(changed.address(), "postgres://a%3Ab%40c@h:1,[::1]:2/d%25e?tls=disabled&ca=x%26y.pem");
    }

    #[test]
    fn an_answer_may_take_as_long_as_the_run() {
        let target = parsed("mysql://u@h/d").unwrap();
        let limit = |seconds| with_timeout(&target, seconds).server().map_or(0, |server| server.read_timeout_ms);
        assert_eq!((limit(Some(3_675)), limit(Some(u64::MAX)), limit(None)), (3_675_000, u32::MAX, u32::MAX));
    }

    #[test]
    fn contenders_are_named_by_their_address() {
        let name = |address: &str| contender_name(&parsed(address).unwrap());
        assert_eq!(name("mysql://u@10.0.0.1/d"), "10.0.0.1-3306");
        assert_eq!(name("mysql://u@[::1]/d"), "1-3306");
        assert_eq!(name("mysql://u@a:1,a:2,b:1,b:2/d"), "a-1-and-3");
        assert_eq!(name("sqlite:/x/.db"), "db");
    }
}
