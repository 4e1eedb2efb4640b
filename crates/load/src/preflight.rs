//! What a driver finds out about one host of a target before a study starts.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::driver::Session;
use crate::error::DriverError;
use crate::values::Rows;

/// One host, as it says itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// Its version; empty where nothing was asked.
    pub version: String,
    /// What keeps a study from running on it.
    pub problems: Vec<HostProblem>,
    /// The most sessions that it says it gives this user; `None` where it tells none, or has no limit.
    pub sessions_max: Option<u32>,
    /// The folder of its data, where it is certain that this machine holds it.
    pub data_folder: Option<PathBuf>,
    /// Whether the first session makes the database: then it holds nothing, and was not opened.
    pub is_new: bool,
}

/// How far a server is, by the shortest of some round trips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Distance {
    /// Of a statement: through every tunnel and proxy, with the time of the server.
    pub statement: Duration,
    /// Of a packet, as the kernel measured it: to the first program that answers. `None` where the kernel does not say.
    pub packet: Option<Duration>,
}

/// The shortest of so many statements is hardly held up by anything.
const ROUND_TRIPS: u32 = 20;

impl Distance {
    /// That of a session, which is the only one of its event loop, by a statement that costs its server nothing.
    ///
    /// # Errors
    /// What the server answers.
    pub async fn of<S: Session>(session: &mut S, sql: &str) -> Result<Self, DriverError> {
        let (mut rows, mut statement) = (Rows::default(), Duration::MAX);
        for _ in 0..ROUND_TRIPS {
            let began = Instant::now();
            session.query(sql, &mut rows).await?;
            statement = statement.min(began.elapsed());
        }
        Ok(Self { statement, packet: perbuck_event::tcp::round_trip() })
    }

    /// The longer one of two, for each kind of round trip.
    #[must_use]
    pub fn furthest(self, other: Self) -> Self {
        Self { statement: self.statement.max(other.statement), packet: self.packet.max(other.packet) }
    }
}

/// What keeps a study from running on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostProblem {
    /// What is wrong, with the offending value.
    pub message: String,
    /// The way out.
    pub help: String,
}

/// The first numbers of a version: `[10, 11]` of `10.11.6-MariaDB`.
pub fn version_numbers(version: &str) -> Vec<u32> {
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    version[..end].split('.').map_while(|part| part.parse().ok()).collect()
}

/// That a server is older than what perbuck can drive; `name` is that of its product.
pub fn too_old(name: &str, version: &str, least: &[u32]) -> Option<HostProblem> {
    let found = version_numbers(version);
    let least_text = least.iter().map(ToString::to_string).collect::<Vec<_>>().join(".");
    (!found.is_empty() && found.as_slice() < least).then(|| HostProblem {
        message: format!("{name} {version} is older than perbuck can drive"),
        help: format!("use {name} {least_text} or later"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert_eq!(version_numbers("10.11.6-MariaDB-0+deb12u1"), [10, 11, 6]);
        assert_eq!(version_numbers("15.14 (Debian 15.14-0)"), [15, 14]);
        assert!(version_numbers("unknown").is_empty());
        let old = too_old("X", "5.1.73-log", &[5, 5, 3]).unwrap();
        assert_eq!(old.message, "X 5.1.73-log is older than perbuck can drive");
        assert_eq!(old.help, "use X 5.5.3 or later");
        for newer in ["5.5.3", "5.5.68", "10.0.1", "unknown"] {
            assert_eq!(too_old("X", newer, &[5, 5, 3]), None, "{newer}");
        }
    }
}
