//! Which database, and where: the options of sysbench's drivers as an address.

use perbuck_database::registry::AnyTarget;

use super::parse::Given;
use super::settings::{list, text};
use crate::refused::Refused;
use crate::target::{self, as_the_program, default_port, parsed, postgres_compatible, servers, sslmode, tls_options};

/// The scheme of the kind of database that `--db-driver` names.
pub(super) fn scheme(given: &Given) -> Result<&'static str, Refused> {
    match text(given, "db-driver") {
        "mysql" | "mariadb" => Ok("mysql"),
        "tidb" => Ok("tidb"),
        "pgsql" | "postgres" | "postgresql" => Ok("postgres"),
        "sqlite" | "sqlite3" => Ok("sqlite"),
        "duckdb" => Ok("duckdb"),
        other => postgres_compatible(other).ok_or_else(|| {
            let help = "use mysql, mariadb, tidb, pgsql, cockroach, yugabyte, sqlite or duckdb";
            Refused::fatal(format!("invalid database driver name: '{other}'"), help)
        }),
    }
}

pub(super) fn target(given: &Given, as_text: bool) -> Result<AnyTarget, Refused> {
    match scheme(given)? {
        "sqlite" => parsed(&format!("sqlite:{}", text(given, "sqlite-db"))),
        "duckdb" => parsed(&format!("duckdb:{}", text(given, "duckdb-db"))),
        scheme @ ("mysql" | "tidb") => mysql(given, scheme, as_text),
        scheme => pgsql(given, scheme, as_text),
    }
}

fn mysql(given: &Given, scheme: &str, as_text: bool) -> Result<AnyTarget, Refused> {
    let hosts = hosts(given, scheme, "mysql")?;
    let typed = text(given, "mysql-ssl");
    let mode = match typed.to_ascii_lowercase().replace('-', "_").as_str() {
        "off" | "0" | "false" | "disabled" => "disabled",
        "on" | "1" | "true" | "required" => "required",
        "preferred" => "preferred",
        "verify_ca" => "verify-ca",
        "verify_identity" => "verify-identity",
        _ => {
            let help = "use off, on, DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY";
            return Err(Refused::fatal(format!("Invalid value for --mysql-ssl: '{typed}'"), help));
        }
    };
    let mut options = tls_options(mode, text(given, "mysql-ssl-ca"));
    options.extend(as_text.then(|| ("statements", "text".to_owned())));
    servers(scheme, text(given, "mysql-user"), &hosts, text(given, "mysql-db"), &options).map(as_the_program)
}

fn pgsql(given: &Given, scheme: &str, as_text: bool) -> Result<AnyTarget, Refused> {
    if as_text {
        let message = "--db-ps-mode=disable: with pgsql statements are always prepared";
        return Err(Refused::usage(message, "leave --db-ps-mode out"));
    }
    let hosts = hosts(given, scheme, "pgsql")?;
    let typed = text(given, "pgsql-sslmode");
    let mode = sslmode(typed).ok_or_else(|| {
        let help = "use disable, allow, prefer, require, verify-ca or verify-full";
        Refused::fatal(format!("Invalid value for --pgsql-sslmode: '{typed}'"), help)
    })?;
    let options = tls_options(mode, text(given, "pgsql-sslrootcert"));
    servers(scheme, text(given, "pgsql-user"), &hosts, text(given, "pgsql-db"), &options).map(as_the_program)
}

/// Every host at every port, as sysbench deals its connections.
fn hosts(given: &Given, scheme: &str, driver: &str) -> Result<Vec<(String, u16)>, Refused> {
    let (hosts, option) = (list(given, &format!("{driver}-host")), format!("{driver}-port"));
    let sockets = if driver == "mysql" { list(given, "mysql-socket") } else { Vec::new() };
    // As in MySQL's client library, a socket stands for this machine alone.
    if !sockets.is_empty() && hosts.iter().all(|host| *host == "localhost") {
        return sockets.into_iter().map(absolute).collect();
    }
    let none = |what: &str| Refused::fatal(format!("No {driver} {what} specified, aborting"), format!("give --{driver}-{what}"));
    if hosts.is_empty() {
        return Err(none("host"));
    }
    let port = |typed: &str| {
        target::port(typed).ok_or_else(|| {
            let message = format!("Invalid value for the '{driver}_port' option: '{typed}'");
            Refused::usage(message, "give a port from 1 to 65535, several with commas between them")
        })
    };
    let typed = list(given, &option).into_iter().map(port).collect::<Result<Vec<_>, _>>();
    let ports = if given.has(&option) { typed? } else { vec![default_port(scheme)] };
    if ports.is_empty() {
        return Err(none("port"));
    }
    Ok(target::every(&hosts, &ports).into_iter().map(target::host_or_folder).collect())
}

fn absolute(socket: &str) -> Result<(String, u16), Refused> {
    let path = std::path::absolute(socket).ok().and_then(|path| path.to_str().map(str::to_owned));
    let wrong = || Refused::usage(format!("--mysql-socket: '{socket}' is no path"), "give the path of the server's socket");
    Ok((path.ok_or_else(wrong)?, 0))
}

#[cfg(test)]
mod tests {
    use super::super::golden;
    use super::*;
    use crate::cases::hold_refused;

    fn read(words: &[&str]) -> Result<AnyTarget, Refused> {
        target(&golden::read(words)?, false)
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
        assert_eq!(address(&lists), "mysql://me@a:1,a:2,b:1,b:2/x?tls=required&send_password=always");
        let socket = "mysql://sbtest@%2Frun%2Fmysqld%2Fmysqld.sock/sbtest?tls=disabled";
        assert_eq!(address(&["--mysql-socket=/run/mysqld/mysqld.sock"]), socket);
        assert_eq!(
            address(&["--mysql-socket=/a", "--mysql-host=db1"]),
            "mysql://sbtest@db1:3306/sbtest?tls=disabled&send_password=always"
        );
        assert_eq!(address(&["--mysql-socket="]), "mysql://sbtest@localhost:3306/sbtest?tls=disabled");
        let postgres = address(&["--db-driver=pgsql", "--pgsql-host=/run/postgresql"]);
        assert!(postgres.starts_with("postgres://sbtest@%2Frun%2Fpostgresql%2F.s.PGSQL.5432/sbtest"), "{postgres}");
        assert_eq!(address(&["--mysql-host=::1"]), "mysql://sbtest@[::1]:3306/sbtest?tls=disabled");
        let ca = ["--mysql-ssl=REQUIRED", "--mysql-ssl-ca=ca.pem"];
        assert_eq!(address(&ca), "mysql://sbtest@localhost:3306/sbtest?tls=verify-ca&ca=ca.pem");
        assert!(address(&["--mysql-ssl=VERIFY_IDENTITY"]).ends_with("tls=verify-identity"));
        assert_eq!(address(&["--db-driver=sqlite"]), "sqlite:sbtest.db");
        assert_eq!(address(&["--db-driver=duckdb", "--duckdb-db=a.duckdb?threads=1"]), "duckdb:a.duckdb?threads=1");
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
        let cases: &[(&[&str], &str)] = &[
            (&["--db-driver=foo"], "…invalid database driver name: 'foo'"),
            (&["--mysql-port=0"], "…Invalid value for the 'mysql_port' option: '0'"),
            (&["--mysql-port=33o6"], "…Invalid value for the 'mysql_port' option: '33o6'"),
            (&["--mysql-host=,"], "…No mysql host specified, aborting"),
            (&["--mysql-ssl=sometimes"], "…Invalid value for --mysql-ssl: 'sometimes'"),
            (&["--db-driver=pgsql", "--pgsql-sslmode=x"], "…Invalid value for --pgsql-sslmode: 'x'"),
            (&["--mysql-host=a b"], "…`a b:3306` is not a host"),
        ];
        hold_refused(read, cases);
    }
}
