//! Which database, and where: the properties of go-ycsb's databases as one of perbuck's targets.

use perbuck_core::problem::nearest;
use perbuck_database::registry::AnyTarget;
use perbuck_database::secret::Secret;

use super::COMMAND;
use super::properties::Properties;
use super::words::Given;
use crate::option::is_in;
use crate::refused::Refused;
use crate::secret::PasswordSources;
use crate::target::{as_the_program, default_port, parsed, port, postgres_compatible, servers, sslmode, tls_options};

const SUPPORTED: &str = "use mysql, mariadb, tidb, postgres, cockroach, yugabyte, sqlite, duckdb or tikv";
/// Other databases of go-ycsb.
const OTHERS: &str = "\
    aerospike badger foundationdb rocksdb spanner pegasus cassandra scylla mongodb redis boltdb minio elastic etcd \
    dynamodb";

/// The kind of database that the command line names, by its scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Database(&'static str);

impl Database {
    pub(super) fn of(name: &str) -> Result<Self, Refused> {
        match name {
            "mysql" | "mariadb" => Ok(Self("mysql")),
            "tidb" => Ok(Self("tidb")),
            "postgres" | "postgresql" | "pg" => Ok(Self("postgres")),
            "sqlite" | "sqlite3" => Ok(Self("sqlite")),
            "duckdb" => Ok(Self("duckdb")),
            "tikv" => Ok(Self("tikv")),
            "jdbc" => Err(Refused::usage("jdbc names no database", SUPPORTED)),
            other if is_in(OTHERS, other) => {
                let message = format!("{other} is not supported: perbuck ycsb drives databases that speak SQL, and TiKV");
                Err(Refused::usage(message, SUPPORTED))
            }
            other => postgres_compatible(other).map(Self).ok_or_else(|| {
                let known = ["mysql", "mariadb", "tidb", "postgres", "cockroach", "yugabyte", "sqlite", "duckdb", "tikv"];
                let near = nearest(other, known);
                let help = near.map_or_else(|| SUPPORTED.to_owned(), |n| format!("did you mean {n}?"));
                Refused::usage(format!("{other} is not registered"), help)
            }),
        }
    }

    /// The property of the password and the variable of the database's own client.
    fn password_names(self) -> Option<(&'static str, &'static str)> {
        match self.0 {
            "sqlite" | "duckdb" | "tikv" => None,
            "mysql" | "tidb" => Some(("mysql.password", "MYSQL_PWD")),
            _ => Some(("pg.password", "PGPASSWORD")),
        }
    }

    /// Takes a password off the command line. Returns where there is none, or where that fails.
    pub(super) fn hide(self, given: &Given) {
        let Some((name, typed)) = &given.typed else { return };
        let own = self.password_names().is_some_and(|(property, _)| property == name);
        COMMAND.hide(&given.kept, own.then_some(typed));
    }

    /// The password; none is the empty one.
    pub(super) fn password(self, given: &Given, properties: &Properties) -> Result<Secret, Refused> {
        let Some((property, client)) = self.password_names() else { return Ok(Secret::default()) };
        let typed = given.typed.as_ref().filter(|(name, _)| name == property).map(|(_, typed)| typed);
        let file = given.option("--password-file").unwrap_or_default();
        let sources = PasswordSources { typed, file, filed: properties.filed.get(property), client };
        Ok(COMMAND.password(&sources)?.unwrap_or_default())
    }

    pub(super) fn target(self, properties: &Properties) -> Result<AnyTarget, Refused> {
        match self.0 {
            "mysql" | "tidb" => self.mysql(properties),
            "tikv" => super::tikv::target(properties),
            "duckdb" => parsed(&format!("duckdb:{}", properties.text("duckdb.db"))),
            "sqlite" => {
                let (file, mode) = (properties.text("sqlite.db"), properties.text("sqlite.journalmode"));
                let options =
                    if file.contains('?') { String::new() } else { format!("?journal_mode={}", mode.to_ascii_uppercase()) };
                parsed(&format!("sqlite:{file}{options}"))
            }
            _ => self.postgres(properties),
        }
    }

    /// The port that a property names, or the one of the database.
    fn port(self, properties: &Properties, name: &str) -> Result<u16, Refused> {
        properties.get(name).map_or(Ok(default_port(self.0)), |typed| of_port(name, typed))
    }

    fn mysql(self, properties: &Properties) -> Result<AnyTarget, Refused> {
        let instances = properties.text("tidb.instances").split(',').map(str::trim).filter(|i| !i.is_empty());
        let of_instance = |instance: &str| {
            // A host alone is at the port of the others.
            let typed = || properties.get("mysql.port").map_or_else(|| default_port(self.0).to_string(), str::to_owned);
            let (host, port) = instance.rsplit_once(':').map_or((instance, typed()), |(host, port)| (host, port.to_owned()));
            Ok((host.to_owned(), of_port("tidb.instances", &port)?))
        };
        let mut hosts = instances.map(of_instance).collect::<Result<Vec<_>, Refused>>()?;
        if hosts.is_empty() {
            hosts = vec![(properties.text("mysql.host").to_owned(), self.port(properties, "mysql.port")?)];
        }
        let mode = match properties.text("mysql.tls").to_ascii_lowercase().as_str() {
            "disabled" | "false" => "disabled",
            "preferred" => "preferred",
            "required" | "true" => "required",
            "verify-ca" => "verify-ca",
            "verify-identity" => "verify-identity",
            other => {
                let help = "use disabled, preferred, required, verify-ca or verify-identity";
                return Err(Refused::usage(format!("mysql.tls is \"{other}\""), help));
            }
        };
        let options = tls_options(mode, properties.text("mysql.ca"));
        servers(self.0, properties.text("mysql.user"), &hosts, properties.text("mysql.db"), &options).map(as_the_program)
    }

    fn postgres(self, properties: &Properties) -> Result<AnyTarget, Refused> {
        let hosts = [(properties.text("pg.host").to_owned(), self.port(properties, "pg.port")?)];
        let typed = properties.text("pg.sslmode");
        let mode = sslmode(typed).ok_or_else(|| {
            let help = "use disable, allow, prefer, require, verify-ca or verify-full";
            Refused::usage(format!("pg.sslmode is \"{typed}\""), help)
        })?;
        let options = tls_options(mode, properties.text("pg.sslrootcert"));
        servers(self.0, properties.text("pg.user"), &hosts, properties.text("pg.db"), &options).map(as_the_program)
    }
}

fn of_port(name: &str, typed: &str) -> Result<u16, Refused> {
    port(typed).ok_or_else(|| Refused::usage(format!("{name} is \"{typed}\""), "give a port from 1 to 65535"))
}

#[cfg(test)]
mod tests {
    use super::super::golden;
    use super::*;
    use crate::cases::hold_refused;

    /// The address of a database with these properties.
    fn address(line: &[&str]) -> Result<String, Refused> {
        Ok(Database::of(line[0])?.target(&golden::properties(&line[1..])?)?.address())
    }

    #[test]
    fn properties_of_databases_become_addresses() {
        let good = |database, words: &[&str]| address(&[&[database], words].concat()).unwrap();
        assert_eq!(good("mysql", &[]), "mysql://root@127.0.0.1:3306/test?tls=disabled");
        assert_eq!(good("tidb", &[]), "mysql://root@127.0.0.1:4000/test?tls=disabled");
        let two = ["-p", "tidb.instances=a:1, b", "-p", "mysql.user=me", "-p", "mysql.db=x"];
        assert_eq!(good("mysql", &two), "mysql://me@a:1,b:3306/x?tls=disabled&send_password=always");
        assert_eq!(good("mariadb", &["-p", "mysql.tls=required"]), "mysql://root@127.0.0.1:3306/test?tls=required");
        assert!(good("postgres", &["-p", "pg.port=9"]).contains("root@127.0.0.1:9/test"));
        assert_eq!(good("cockroach", &[]), "cockroach://root@127.0.0.1:26257/test?tls=disabled");
        assert_eq!(good("cdb", &["-p", "pg.port=9"]), "cockroach://root@127.0.0.1:9/test?tls=disabled");
        assert_eq!(good("yugabyte", &["-p", "pg.user=me"]), "yugabyte://me@127.0.0.1:5433/test?tls=disabled");
        assert_eq!(good("sqlite", &["-p", "sqlite.db=a.db"]), "sqlite:a.db");
        assert_eq!(good("duckdb", &["-p", "duckdb.db=a.duckdb?threads=1"]), "duckdb:a.duckdb?threads=1");
        assert_eq!(
            good("sqlite", &["-p", "sqlite.db=a.db", "-p", "sqlite.journalmode=delete"]),
            "sqlite:a.db?journal_mode=DELETE"
        );
    }

    #[test]
    fn what_is_not_driven_is_refused_with_what_is() {
        let cases: &[(&[&str], &str)] = &[
            (&["redis"], "redis is not supported: perbuck ycsb drives databases that speak SQL, and TiKV"),
            (&["mysq"], "mysq is not registered"),
            (&["mysql", "-p", "mysql.port=0"], "mysql.port is \"0\""),
            (&["postgres", "-p", "pg.sslmode=x"], "pg.sslmode is \"x\""),
        ];
        hold_refused(address, cases);
    }
}
