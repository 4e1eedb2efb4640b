//! Servers as one of perbuck's targets, and its name in records.

use perbuck_database::registry::AnyTarget;
use perbuck_database::{Databases, Target};
use perbuck_lab::databases::AllDatabases;
use perbuck_postgres::Family;

use super::refused::Refused;

/// Reads an address.
///
/// # Errors
/// What no target can be.
pub(crate) fn parsed(address: &str) -> Result<AnyTarget, Refused> {
    AllDatabases::parse(address).map_err(|p| Refused::usage(p.message, p.help))
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
pub(crate) fn kin_of_postgres(name: &str) -> Option<Family> {
    match name {
        "cockroach" | "cockroachdb" | "cdb" => Some(Family::Cockroach),
        "yugabyte" | "yugabytedb" => Some(Family::Yugabyte),
        _ => None,
    }
}

/// A target with a limit for an answer, in seconds; `None` is the longest possible. The programs that are
/// replaced know no such limit, so that no stall that the run itself outlasts may end it.
pub(crate) fn with_patience(target: &dyn Target, seconds: Option<u64>) -> AnyTarget {
    let limit_ms = seconds.map_or(u32::MAX, |s| u32::try_from(s.saturating_mul(1000)).unwrap_or(u32::MAX));
    let mut target = target.copied();
    target.set_read_timeout_ms(limit_ms);
    target
}

/// A name for the database in records, made of its address; path-safe, at most 64 characters.
pub(crate) fn contender_name(target: &dyn Target) -> String {
    let raw = target.label();
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let name: String = raw.chars().map(safe).take(56).collect();
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() { "database".to_owned() } else { name.to_owned() }
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
        let target = parsed("mysql://u@h/d").unwrap();
        let limit = |seconds| with_patience(&*target, seconds).server().map_or(0, |server| server.read_timeout_ms);
        assert_eq!((limit(Some(3_675)), limit(Some(u64::MAX)), limit(None)), (3_675_000, u32::MAX, u32::MAX));
    }

    #[test]
    fn contenders_are_named_by_their_address() {
        let name = |address: &str| contender_name(&*parsed(address).unwrap());
        assert_eq!(name("mysql://u@10.0.0.1/d"), "10.0.0.1-3306");
        assert_eq!(name("mysql://u@[::1]/d"), "1-3306");
        assert_eq!(name("mysql://u@a:1,a:2,b:1,b:2/d"), "a-1-and-3");
        assert_eq!(name("sqlite:/x/.db"), "db");
    }
}
