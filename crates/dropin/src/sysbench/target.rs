//! Which database, and where: the options of sysbench's drivers as one of perbuck's targets.

use std::path::PathBuf;

use perbuck_drivers::target::{ServerTarget, Target, TlsMode, postgres_port};
use perbuck_load::statement::Dialect;

use super::parse::Given;
use super::settings::{list, text};
use crate::refused::Refused;
use crate::target::{self, kin_of_postgres, parsed};

/// A kind of database, as `--db-driver` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    /// MySQL or MariaDB.
    Mysql,
    /// TiDB: MySQL's protocol at another port.
    Tidb,
    /// PostgreSQL.
    Pgsql,
    /// CockroachDB: PostgreSQL's protocol at another port.
    Cockroach,
    /// YugabyteDB: the same.
    Yugabyte,
    /// SQLite, inside perbuck.
    Sqlite,
}

impl Engine {
    /// Its SQL.
    pub(super) fn dialect(self) -> Dialect {
        match self {
            Self::Mysql | Self::Tidb => Dialect::Mysql,
            Self::Pgsql => Dialect::Postgres,
            Self::Cockroach => Dialect::Cockroach,
            Self::Yugabyte => Dialect::Yugabyte,
            Self::Sqlite => Dialect::Sqlite,
        }
    }

    /// The one that the command line names.
    ///
    /// # Errors
    /// One that perbuck does not drive.
    pub(super) fn of(given: &Given) -> Result<Self, Refused> {
        match text(given, "db-driver") {
            "mysql" | "mariadb" => Ok(Self::Mysql),
            "tidb" => Ok(Self::Tidb),
            "pgsql" | "postgres" | "postgresql" => Ok(Self::Pgsql),
            "sqlite" | "sqlite3" => Ok(Self::Sqlite),
            other => match kin_of_postgres(other) {
                Some(Dialect::Cockroach) => Ok(Self::Cockroach),
                Some(_) => Ok(Self::Yugabyte),
                None => {
                    let help = "use mysql, mariadb, tidb, pgsql, cockroach, yugabyte or sqlite";
                    Err(Refused::fatal(format!("invalid database driver name: '{other}'"), help))
                }
            },
        }
    }
}

/// The target that the command line names.
///
/// # Errors
/// What no target can be.
pub(super) fn target(given: &Given, engine: Engine, as_text: bool) -> Result<Target, Refused> {
    let target = match engine {
        Engine::Mysql | Engine::Tidb => Target::Mysql(mysql(given, engine, as_text)?),
        Engine::Pgsql | Engine::Cockroach | Engine::Yugabyte => Target::Postgres(pgsql(given, engine.dialect(), as_text)?),
        Engine::Sqlite => return parsed(&format!("sqlite:{}", text(given, "sqlite-db"))),
    };
    // What is recorded must be readable again, so that names which cannot be written in an address are found here.
    parsed(&target.address())
}

fn mysql(given: &Given, engine: Engine, as_text: bool) -> Result<ServerTarget, Refused> {
    let port = if engine == Engine::Tidb && !given.has("mysql-port") { vec!["4000"] } else { list(given, "mysql-port") };
    let mut server = server(given, (Dialect::Mysql, "mysql"), &port, as_text)?;
    let mode = text(given, "mysql-ssl");
    server.tls = match mode.to_ascii_lowercase().replace('-', "_").as_str() {
        "off" | "0" | "false" | "disabled" => TlsMode::Disabled,
        "on" | "1" | "true" | "required" => TlsMode::Required,
        "preferred" => TlsMode::Preferred,
        "verify_ca" => TlsMode::VerifyCa,
        "verify_identity" => TlsMode::VerifyIdentity,
        _ => {
            let help = "use off, on, DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY";
            return Err(Refused::fatal(format!("Invalid value for --mysql-ssl: '{mode}'"), help));
        }
    };
    with_authorities(&mut server, text(given, "mysql-ssl-ca"));
    Ok(server)
}

fn pgsql(given: &Given, dialect: Dialect, as_text: bool) -> Result<ServerTarget, Refused> {
    if as_text {
        let message = "--db-ps-mode=disable: with pgsql statements are always prepared";
        return Err(Refused::usage(message, "leave --db-ps-mode out"));
    }
    let own_port = postgres_port(dialect).to_string();
    let ports =
        if dialect == Dialect::Postgres || given.has("pgsql-port") { list(given, "pgsql-port") } else { vec![&*own_port] };
    let mut server = server(given, (dialect, "pgsql"), &ports, as_text)?;
    let mode = text(given, "pgsql-sslmode");
    server.tls = match mode {
        "disable" => TlsMode::Disabled,
        "allow" | "prefer" => TlsMode::Preferred,
        "require" => TlsMode::Required,
        "verify-ca" => TlsMode::VerifyCa,
        "verify-full" => TlsMode::VerifyIdentity,
        _ => {
            let help = "use disable, allow, prefer, require, verify-ca or verify-full";
            return Err(Refused::fatal(format!("Invalid value for --pgsql-sslmode: '{mode}'"), help));
        }
    };
    with_authorities(&mut server, text(given, "pgsql-sslrootcert"));
    Ok(server)
}

/// As both client libraries have it, a certificate that could be checked is checked.
fn with_authorities(server: &mut ServerTarget, file: &str) {
    if !file.is_empty() {
        server.ca_file = Some(PathBuf::from(file));
        if server.tls == TlsMode::Required {
            server.tls = TlsMode::VerifyCa;
        }
    }
}

/// Every host at every port, as sysbench deals its connections.
fn server(given: &Given, (dialect, driver): (Dialect, &str), ports: &[&str], as_text: bool) -> Result<ServerTarget, Refused> {
    let option = |name: &str| text(given, &format!("{driver}-{name}")).to_owned();
    let hosts = option("host");
    let hosts: Vec<&str> = hosts.split(',').map(str::trim).filter(|h| !h.is_empty()).collect();
    let none = |what: &str| Refused::fatal(format!("No {driver} {what} specified, aborting"), format!("give --{driver}-{what}"));
    if hosts.is_empty() {
        return Err(none("host"));
    }
    let mut numbers = Vec::new();
    for port in ports {
        let bad = || {
            let message = format!("Invalid value for the '{driver}_port' option: '{port}'");
            Refused::usage(message, "give a port from 1 to 65535, several with commas between them")
        };
        numbers.push(target::port(port).ok_or_else(bad)?);
    }
    if numbers.is_empty() {
        return Err(none("port"));
    }
    let server = target::server(dialect, target::every(&hosts, &numbers), option("user"), option("db"));
    Ok(ServerTarget { as_text, ..server })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use std::ffi::OsString;

    use super::super::parse::parse;
    use super::*;

    fn read(words: &[&str]) -> Result<Target, Refused> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let given = parse(&words, &[])?;
        target(&given, Engine::of(&given)?, false)
    }

    fn address(words: &[&str]) -> String {
        read(words).unwrap().address()
    }

    #[test]
    fn options_of_the_drivers_become_addresses() {
        assert_eq!(address(&[]), "mysql://sbtest@localhost:3306/sbtest?tls=disabled");
        assert_eq!(address(&["--db-driver=tidb"]), "mysql://sbtest@localhost:4000/sbtest?tls=disabled");
        assert_eq!(address(&["--db-driver=tidb", "--mysql-port=9"]), "mysql://sbtest@localhost:9/sbtest?tls=disabled");
        let lists = ["--mysql-host=a, b", "--mysql-port=1,2", "--mysql-user=me", "--mysql-db=x", "--mysql-ssl=on"];
        assert_eq!(address(&lists), "mysql://me@a:1,a:2,b:1,b:2/x?tls=required");
        assert_eq!(address(&["--mysql-host=::1"]), "mysql://sbtest@[::1]:3306/sbtest?tls=disabled");
        let ca = ["--mysql-ssl=REQUIRED", "--mysql-ssl-ca=ca.pem"];
        assert_eq!(address(&ca), "mysql://sbtest@localhost:3306/sbtest?tls=verify-ca&ca=ca.pem");
        assert!(address(&["--mysql-ssl=VERIFY_IDENTITY"]).ends_with("tls=verify-identity"));
        assert_eq!(address(&["--db-driver=sqlite"]), "sqlite:sbtest.db");
        assert_eq!(address(&["--db-driver=sqlite", "--sqlite-db=a.db?synchronous=OFF"]), "sqlite:a.db?synchronous=OFF");
        let pg = address(&["--db-driver=pgsql", "--pgsql-host=a,b"]);
        assert!(pg.contains("sbtest@a:5432,b:5432/sbtest"), "{pg}");
        let cockroach = address(&["--db-driver=cockroach", "--pgsql-user=root", "--pgsql-sslmode=disable"]);
        assert_eq!(cockroach, "cockroach://root@localhost:26257/sbtest?tls=disabled");
        let yugabyte = address(&["--db-driver=yugabyte", "--pgsql-host=a,b"]);
        assert!(yugabyte.starts_with("yugabyte://sbtest@a:5433,b:5433/sbtest"), "{yugabyte}");
        assert!(address(&["--db-driver=yugabyte", "--pgsql-port=9"]).contains("@localhost:9/"));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for (words, said) in [
            (&["--db-driver=foo"][..], "invalid database driver name: 'foo'"),
            (&["--mysql-port=0"], "Invalid value for the 'mysql_port' option: '0'"),
            (&["--mysql-port=33o6"], "Invalid value for the 'mysql_port' option: '33o6'"),
            (&["--mysql-host=,"], "No mysql host specified, aborting"),
            (&["--mysql-ssl=sometimes"], "Invalid value for --mysql-ssl: 'sometimes'"),
            (&["--db-driver=pgsql", "--pgsql-sslmode=x"], "Invalid value for --pgsql-sslmode: 'x'"),
            (&["--mysql-host=a b"], "`a b:3306` is not a host"),
        ] {
            let refused = read(words).unwrap_err();
            assert!(refused.message.contains(said) && !refused.help.is_empty(), "{words:?}: {refused:?}");
        }
    }
}
