//! Which of the databases that speak PostgreSQL's protocol a server is. Tables and statements are made for one of them, so
//! a target that names another is refused before anything is measured.

use perbuck_database::Dialect as _;
use perbuck_load::error::{DriverError, ErrorClass};

use crate::wire::messages::text;
use perbuck_net::Parsed;
use perbuck_net::printable;
use perbuck_net::reader::Reader;

/// Which of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// PostgreSQL.
    Postgres,
    /// CockroachDB: PostgreSQL's protocol, and its SQL but for what a single server alone can have.
    Cockroach,
    /// YugabyteDB: PostgreSQL's own code above tables that lie in tablets, by the hash of the key unless told otherwise.
    Yugabyte,
}

impl Family {
    /// What its canonical addresses begin with.
    pub fn scheme(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Cockroach => "cockroach",
            Self::Yugabyte => "yugabyte",
        }
    }

    /// The port on which it listens unless it is told otherwise.
    pub fn port(self) -> u16 {
        match self {
            Self::Postgres => 5_432,
            Self::Cockroach => 26_257,
            Self::Yugabyte => 5_433,
        }
    }
}

/// What the servers say of themselves during the login ("ParameterStatus").
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// `15.4`, of YugabyteDB `15.2-YB-2.25.0.0-b0`; CockroachDB says the version of PostgreSQL that it follows.
    server_version: Option<String>,
    /// CockroachDB alone says this.
    crdb_version: Option<String>,
}

impl Said {
    /// Keeps what tells the servers apart. What is said first counts.
    pub(crate) fn hear(&mut self, body: &[u8]) -> Parsed<()> {
        let mut r = Reader::new(body);
        let (name, value) = (text(&mut r)?, text(&mut r)?);
        let kept = match name {
            b"server_version" => &mut self.server_version,
            b"crdb_version" => &mut self.crdb_version,
            _ => return Ok(()),
        };
        kept.get_or_insert_with(|| printable(value));
        Ok(())
    }

    /// Whether it may be a server of `wanted`. One that says nothing, such as a pooler that keeps it to itself, may be.
    pub(crate) fn check(&self, wanted: Family, address: &str) -> Result<(), DriverError> {
        match (&self.crdb_version, &self.server_version) {
            (Some(version), _) => must_be(wanted, Family::Cockroach, version, address),
            (None, Some(version)) => must_be(wanted, of_version(version), version, address),
            (None, None) => Ok(()),
        }
    }
}

/// By the answer to `version()` or the setting `server_version`.
pub(crate) fn of_version(version: &str) -> Family {
    if version.contains("CockroachDB") {
        Family::Cockroach
    } else if version.contains("-YB-") {
        Family::Yugabyte
    } else {
        Family::Postgres
    }
}

/// Refuses a server that is another than the target says.
pub(crate) fn must_be(wanted: Family, found: Family, version: &str, address: &str) -> Result<(), DriverError> {
    if wanted == found {
        return Ok(());
    }
    let word = found.scheme();
    let message = format!(
        "{address} is {} ({version}), but the target says {}. Their tables and statements differ. Write `{word}://` in the target, or \
         name the database `{word}` on the command line",
        found.name(),
        wanted.name()
    );
    Err(DriverError::client(ErrorClass::Refused, "family", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_tell_the_databases_apart() {
        for (version, family) in [
            ("PostgreSQL 17.6 (Debian 17.6-1) on x86_64-pc-linux-gnu, compiled by gcc, 64-bit", Family::Postgres),
            ("17.6 (Debian 17.6-1.pgdg12+1)", Family::Postgres),
            ("CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, built 2023/09/27 01:53:43, go1.19.10)", Family::Cockroach),
            ("CockroachDB OSS v21.2.0 (x86_64-unknown-linux-gnu)", Family::Cockroach),
            ("PostgreSQL 11.2-YB-2.15.1.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 12.0.1, 64-bit", Family::Yugabyte),
            ("15.12-YB-2025.1.0.0-b0", Family::Yugabyte),
        ] {
            assert_eq!(of_version(version), family, "{version}");
        }
    }

    #[test]
    fn a_server_is_taken_for_what_it_says_it_is() {
        let said = |settings: &[&[u8]]| {
            let mut said = Said::default();
            settings.iter().for_each(|body| said.hear(body).unwrap());
            [Family::Postgres, Family::Cockroach, Family::Yugabyte].map(|wanted| said.check(wanted, "db:1").is_ok())
        };
        assert_eq!(said(&[]), [true; 3]);
        assert_eq!(said(&[b"client_encoding\0UTF8\0", b"server_version\x0015.4\0"]), [true, false, false]);
        let cockroach: [&[u8]; 2] = [b"server_version\x0013.0.0\0", b"crdb_version\0CockroachDB CCL v23.1.11 (x86_64)\0"];
        assert_eq!(said(&cockroach), [false, true, false]);
        assert_eq!(said(&[b"server_version\x0011.2-YB-2.18.0.0-b0\0"]), [false, false, true]);
        assert!(Said::default().hear(b"server_version").is_err());
    }

    #[test]
    fn the_refusal_names_both_and_the_way_out() {
        let error = must_be(Family::Postgres, Family::Cockroach, "v23.1.11", "db:26257").unwrap_err();
        assert_eq!(error.class, ErrorClass::Refused);
        for part in ["db:26257 is CockroachDB (v23.1.11)", "the target says PostgreSQL", "`cockroach://`"] {
            assert!(error.message.contains(part), "{error}");
        }
    }
}
