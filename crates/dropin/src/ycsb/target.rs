//! Which database, and where: the properties of go-ycsb's databases as one of perbuck's targets.

use std::path::PathBuf;

use perbuck_core::problem::nearest;
use perbuck_drivers::secret::Secret;
use perbuck_drivers::target::{ServerTarget, Target, TlsMode, postgres_port};
use perbuck_load::statement::Dialect;

use super::properties::Properties;
use super::words::Given;
use crate::refused::Refused;
use crate::secret::{Door, Places};
use crate::target::{kin_of_postgres, parsed, port, server};

/// Where the password comes from.
pub(super) const DOOR: Door = Door { command: "ycsb", variable: "PERBUCK_YCSB_PASSWORD" };

const SUPPORTED: &str = "use mysql, mariadb, tidb, postgres, cockroach, yugabyte, sqlite or tikv";
/// Other databases of go-ycsb.
const OTHERS: [&str; 15] = [
    "aerospike",
    "badger",
    "foundationdb",
    "rocksdb",
    "spanner",
    "pegasus",
    "cassandra",
    "scylla",
    "mongodb",
    "redis",
    "boltdb",
    "minio",
    "elastic",
    "etcd",
    "dynamodb",
];

/// A kind of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    /// MySQL or MariaDB.
    Mysql,
    /// TiDB: MySQL's protocol at another port.
    Tidb,
    /// PostgreSQL, or one of its kin at a port of its own.
    Postgres(Dialect),
    /// SQLite, inside perbuck.
    Sqlite,
    /// TiKV, without SQL.
    Tikv,
}

impl Engine {
    /// The one that the command line names.
    ///
    /// # Errors
    /// One that perbuck does not drive.
    pub(super) fn of(name: &str) -> Result<Self, Refused> {
        match name {
            "mysql" | "mariadb" => Ok(Self::Mysql),
            "tidb" => Ok(Self::Tidb),
            "postgres" | "postgresql" | "pg" => Ok(Self::Postgres(Dialect::Postgres)),
            "sqlite" | "sqlite3" => Ok(Self::Sqlite),
            "tikv" => Ok(Self::Tikv),
            "jdbc" => Err(Refused::usage("jdbc names no database", SUPPORTED)),
            other if OTHERS.contains(&other) => Err(Refused::usage(
                format!("{other} is not supported: perbuck ycsb drives databases that speak SQL, and TiKV"),
                SUPPORTED,
            )),
            other => {
                if let Some(dialect) = kin_of_postgres(other) {
                    return Ok(Self::Postgres(dialect));
                }
                let near = nearest(other, ["mysql", "mariadb", "tidb", "postgres", "cockroach", "yugabyte", "sqlite", "tikv"]);
                let help = near.map_or_else(|| SUPPORTED.to_owned(), |n| format!("did you mean {n}?"));
                Err(Refused::usage(format!("{other} is not registered"), help))
            }
        }
    }

    /// The property of the password and the variable of the database's own client.
    fn password_names(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Mysql | Self::Tidb => Some(("mysql.password", "MYSQL_PWD")),
            Self::Postgres(_) => Some(("pg.password", "PGPASSWORD")),
            Self::Sqlite | Self::Tikv => None,
        }
    }

    /// Takes a password off the command line. Returns where there is none, or where that fails.
    pub(super) fn hide(self, given: &Given) {
        let Some((name, typed)) = &given.typed else { return };
        let own = self.password_names().is_some_and(|(property, _)| property == name);
        DOOR.hide(&given.kept, own.then_some(typed));
    }

    /// The password; none is the empty one.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(super) fn password(self, given: &Given, properties: &Properties) -> Result<Secret, Refused> {
        let Some((property, client)) = self.password_names() else { return Ok(Secret::default()) };
        let typed = given.typed.as_ref().filter(|(name, _)| name == property).map(|(_, typed)| typed);
        let file = given.option("--password-file").unwrap_or_default();
        let places = Places { typed, file, filed: properties.filed.get(property), client };
        Ok(DOOR.password(&places)?.unwrap_or_default())
    }

    /// The target that the properties name.
    ///
    /// # Errors
    /// What no target can be.
    pub(super) fn target(self, properties: &Properties) -> Result<Target, Refused> {
        let target = match self {
            Self::Mysql | Self::Tidb => Target::Mysql(self.mysql(properties)?),
            Self::Postgres(dialect) => Target::Postgres(postgres(properties, dialect)?),
            Self::Tikv => Target::Tikv(super::tikv::target(properties)?),
            Self::Sqlite => {
                let (file, mode) = (properties.text("sqlite.db"), properties.text("sqlite.journalmode"));
                let options =
                    if file.contains('?') { String::new() } else { format!("?journal_mode={}", mode.to_ascii_uppercase()) };
                return parsed(&format!("sqlite:{file}{options}"));
            }
        };
        // What is recorded must be readable again, so that names which cannot be written in an address are found here.
        parsed(&target.address())
    }

    fn mysql(self, properties: &Properties) -> Result<ServerTarget, Refused> {
        let default =
            if self == Self::Tidb && properties.get("mysql.port").is_none() { "4000" } else { properties.text("mysql.port") };
        let instances: Vec<&str> =
            properties.text("tidb.instances").split(',').map(str::trim).filter(|i| !i.is_empty()).collect();
        let hosts = match instances.as_slice() {
            [] => vec![(properties.text("mysql.host").to_owned(), of_port("mysql.port", default)?)],
            some => some.iter().map(|instance| of_instance(instance, default)).collect::<Result<_, _>>()?,
        };
        let (user, database) = (properties.text("mysql.user").to_owned(), properties.text("mysql.db").to_owned());
        let mut server = server(Dialect::Mysql, hosts, user, database);
        server.tls = match properties.text("mysql.tls").to_ascii_lowercase().as_str() {
            "disabled" | "false" => TlsMode::Disabled,
            "preferred" => TlsMode::Preferred,
            "required" | "true" => TlsMode::Required,
            "verify-ca" => TlsMode::VerifyCa,
            "verify-identity" => TlsMode::VerifyIdentity,
            other => {
                let help = "use disabled, preferred, required, verify-ca or verify-identity";
                return Err(Refused::usage(format!("mysql.tls is \"{other}\""), help));
            }
        };
        with_authorities(&mut server, properties.text("mysql.ca"));
        Ok(server)
    }
}

fn postgres(properties: &Properties, dialect: Dialect) -> Result<ServerTarget, Refused> {
    let port = match properties.get("pg.port") {
        None if dialect != Dialect::Postgres => postgres_port(dialect),
        _ => of_port("pg.port", properties.text("pg.port"))?,
    };
    let hosts = vec![(properties.text("pg.host").to_owned(), port)];
    let mut server = server(dialect, hosts, properties.text("pg.user").to_owned(), properties.text("pg.db").to_owned());
    server.tls = match properties.text("pg.sslmode") {
        "disable" => TlsMode::Disabled,
        "allow" | "prefer" => TlsMode::Preferred,
        "require" => TlsMode::Required,
        "verify-ca" => TlsMode::VerifyCa,
        "verify-full" => TlsMode::VerifyIdentity,
        other => {
            let help = "use disable, allow, prefer, require, verify-ca or verify-full";
            return Err(Refused::usage(format!("pg.sslmode is \"{other}\""), help));
        }
    };
    with_authorities(&mut server, properties.text("pg.sslrootcert"));
    Ok(server)
}

/// A certificate that could be checked is checked.
fn with_authorities(server: &mut ServerTarget, file: &str) {
    if !file.is_empty() {
        server.ca_file = Some(PathBuf::from(file));
        if server.tls == TlsMode::Required {
            server.tls = TlsMode::VerifyCa;
        }
    }
}

fn of_port(name: &str, typed: &str) -> Result<u16, Refused> {
    port(typed).ok_or_else(|| Refused::usage(format!("{name} is \"{typed}\""), "give a port from 1 to 65535"))
}

/// `host:port`, or a host at the port of the others.
fn of_instance(typed: &str, default: &str) -> Result<(String, u16), Refused> {
    let (host, port) = typed.rsplit_once(':').unwrap_or((typed, default));
    Ok((host.to_owned(), of_port("tidb.instances", port)?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn address(database: &str, words: &[&str]) -> Result<String, Refused> {
        let words: Vec<OsString> = ["run", database].iter().chain(words).map(OsString::from).collect();
        let given = super::super::words::read(&words)?;
        let properties = Properties::read(&given)?;
        Ok(Engine::of(database)?.target(&properties)?.address())
    }

    #[test]
    fn properties_of_databases_become_addresses() {
        let good = |database, words: &[&str]| address(database, words).unwrap();
        assert_eq!(good("mysql", &[]), "mysql://root@127.0.0.1:3306/test?tls=disabled");
        assert_eq!(good("tidb", &[]), "mysql://root@127.0.0.1:4000/test?tls=disabled");
        let two = ["-p", "tidb.instances=a:1, b", "-p", "mysql.user=me", "-p", "mysql.db=x"];
        assert_eq!(good("mysql", &two), "mysql://me@a:1,b:3306/x?tls=disabled");
        assert_eq!(good("mariadb", &["-p", "mysql.tls=required"]), "mysql://root@127.0.0.1:3306/test?tls=required");
        assert!(good("postgres", &["-p", "pg.port=9"]).contains("root@127.0.0.1:9/test"));
        assert_eq!(good("cockroach", &[]), "cockroach://root@127.0.0.1:26257/test?tls=disabled");
        assert_eq!(good("cdb", &["-p", "pg.port=9"]), "cockroach://root@127.0.0.1:9/test?tls=disabled");
        assert_eq!(good("yugabyte", &["-p", "pg.user=me"]), "yugabyte://me@127.0.0.1:5433/test?tls=disabled");
        assert_eq!(good("sqlite", &["-p", "sqlite.db=a.db"]), "sqlite:a.db");
        assert_eq!(
            good("sqlite", &["-p", "sqlite.db=a.db", "-p", "sqlite.journalmode=delete"]),
            "sqlite:a.db?journal_mode=DELETE"
        );
    }

    #[test]
    fn what_is_not_driven_is_refused_with_what_is() {
        for (database, words, said) in [
            ("redis", &[][..], "redis is not supported: perbuck ycsb drives databases that speak SQL, and TiKV"),
            ("mysq", &[], "mysq is not registered"),
            ("mysql", &["-p", "mysql.port=0"], "mysql.port is \"0\""),
            ("postgres", &["-p", "pg.sslmode=x"], "pg.sslmode is \"x\""),
        ] {
            let refused = address(database, words).unwrap_err();
            assert!(refused.message.contains(said) && !refused.help.is_empty(), "{refused:?}");
        }
    }
}
