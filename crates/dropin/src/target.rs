//! Servers as one of perbuck's targets, and its name in records.

use perbuck_drivers::target::{ServerTarget, Target, TlsMode};
use perbuck_load::statement::Dialect;

use super::refused::Refused;

/// Reads an address.
///
/// # Errors
/// What no target can be.
pub(crate) fn parsed(address: &str) -> Result<Target, Refused> {
    Target::parse(address).map_err(|p| Refused::usage(p.message, p.help))
}

/// A port as typed; `None` where it is none.
pub(crate) fn port(typed: &str) -> Option<u16> {
    typed.parse().ok().filter(|port| *port > 0)
}

/// Every host at every port: all ports of a host, then the next host.
pub(crate) fn every(hosts: &[&str], ports: &[u16]) -> Vec<(String, u16)> {
    hosts.iter().flat_map(|host| ports.iter().map(move |port| ((*host).to_owned(), *port))).collect()
}

/// The kin of PostgreSQL that a drop-in command may name; the programs that are replaced know both as PostgreSQL, but for
/// go-ycsb, which says `cockroach` and `cdb`.
pub(crate) fn kin_of_postgres(name: &str) -> Option<Dialect> {
    match name {
        "cockroach" | "cockroachdb" | "cdb" => Some(Dialect::Cockroach),
        "yugabyte" | "yugabytedb" => Some(Dialect::Yugabyte),
        _ => None,
    }
}

/// A server with the limits of a target, without TLS.
pub(crate) fn server(dialect: Dialect, hosts: Vec<(String, u16)>, user: String, database: String) -> ServerTarget {
    ServerTarget {
        dialect,
        hosts,
        user,
        database,
        tls: TlsMode::Disabled,
        ca_file: None,
        connect_timeout_ms: 10_000,
        read_timeout_ms: 60_000,
        as_text: false,
        settings: Vec::new(),
    }
}

/// The same with a limit for an answer, in seconds; `None` is the longest possible. The programs that are
/// replaced know no such limit, so that no stall that the run itself outlasts may end it.
pub(crate) fn with_patience(target: &Target, seconds: Option<u64>) -> Target {
    let limit_ms = seconds.map_or(u32::MAX, |s| u32::try_from(s.saturating_mul(1000)).unwrap_or(u32::MAX));
    let mut target = target.clone();
    match &mut target {
        Target::Mysql(server) | Target::Postgres(server) => server.read_timeout_ms = limit_ms,
        Target::Tikv(cluster) => cluster.read_timeout_ms = limit_ms,
        Target::Sqlite(_) => {}
    }
    target
}

/// A name for the database in records, made of its address; path-safe, at most 64 characters.
pub(crate) fn contender_name(target: &Target) -> String {
    let raw = match target {
        Target::Mysql(server) | Target::Postgres(server) => hosts_text(&server.hosts),
        Target::Tikv(cluster) => hosts_text(&cluster.pds),
        Target::Sqlite(file) => file.path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
    };
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let name: String = raw.chars().map(safe).take(56).collect();
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() { "database".to_owned() } else { name.to_owned() }
}

fn hosts_text(hosts: &[(String, u16)]) -> String {
    match hosts {
        [(host, port)] => format!("{host}-{port}"),
        [(host, port), rest @ ..] => format!("{host}-{port}-and-{}", rest.len()),
        [] => String::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
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
    fn an_answer_may_take_as_long_as_the_run() {
        let limit = |seconds| match with_patience(&parsed("mysql://u@h/d").unwrap(), seconds) {
            Target::Mysql(server) => server.read_timeout_ms,
            _ => 0,
        };
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
