//! Which database, and where: the options of go-tpc as one of perbuck's targets.

use std::path::PathBuf;

use perbuck_drivers::target::{ServerTarget, Target, TlsMode, postgres_port};
use perbuck_load::statement::Dialect;

use crate::flags::Given;
use crate::refused::Refused;
use crate::target::{self, kin_of_postgres, parsed};

/// The database of a command line.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// Where it is.
    pub(super) target: Target,
    /// Variables for every session: NAME=VALUE with & between them.
    pub(super) session: String,
    /// What of `--conn-params` plays no part, for a remark.
    pub(super) unused: Vec<String>,
}

/// Names of go-sql-driver/mysql 1.9 that say how its client works and are no variable of a session.
const MYSQL_CLIENT: [&str; 25] = [
    "allowAllFiles",
    "allowCleartextPasswords",
    "allowFallbackToPlaintext",
    "allowNativePasswords",
    "allowOldPasswords",
    "charset",
    "checkConnLiveness",
    "clientFoundRows",
    "collation",
    "columnsWithAlias",
    "compress",
    "connectionAttributes",
    "interpolateParams",
    "loc",
    "maxAllowedPacket",
    "multiStatements",
    "parseTime",
    "readTimeout",
    "rejectReadOnly",
    "serverPubKey",
    "strict",
    "timeTruncate",
    "timeout",
    "useCompression",
    "writeTimeout",
];
/// The same of lib/pq.
const POSTGRES_CLIENT: [&str; 6] = [
    "application_name",
    "binary_parameters",
    "client_encoding",
    "disable_prepared_binary_result",
    "fallback_application_name",
    "sslinline",
];

impl Place {
    /// The one that the command line names.
    ///
    /// # Errors
    /// What no target can be.
    pub(super) fn of(given: &Given) -> Result<Self, Refused> {
        let address = given.text("target");
        if !address.is_empty() {
            return Self::addressed(given, address);
        }
        let driver = given.text("driver");
        let target = match driver {
            "mysql" => Target::Mysql(server(given, Dialect::Mysql)?),
            "postgres" => Target::Postgres(server(given, Dialect::Postgres)?),
            _ => {
                let help = "use mysql, postgres, cockroach or yugabyte; --target reaches every database that perbuck drives";
                let dialect = kin_of_postgres(driver).ok_or_else(|| given.invalid("driver", help))?;
                Target::Postgres(server(given, dialect)?)
            }
        };
        let mut place = Self { target, session: String::new(), unused: Vec::new() };
        place.connect_by(given)?;
        // What is recorded must be readable again, so that names which cannot be written in an address are found here.
        place.target = parsed(&place.target.address())?;
        Ok(place)
    }

    /// `--target`, which says all that the options of go-tpc say.
    fn addressed(given: &Given, address: &str) -> Result<Self, Refused> {
        let both = ["host", "port", "user", "db", "driver", "targets", "ssl-ca"].into_iter().find(|name| given.has(name));
        if let Some(name) = both {
            let help = format!("leave --{name} out, or --target");
            return Err(Refused::usage(format!("--{name} is given beside --target, which says it, too"), help));
        }
        let target = parsed(address)?;
        let mut place = Self { target, session: String::new(), unused: Vec::new() };
        place.connect_by(given)?;
        Ok(place)
    }

    /// The kind of database takes no password.
    pub(super) fn embedded(&self) -> bool {
        matches!(self.target, Target::Sqlite(_) | Target::Tikv(_))
    }

    /// The variable of the database's own client that holds a password.
    pub(super) fn client_variable(&self) -> &'static str {
        if matches!(self.target, Target::Postgres(_)) { "PGPASSWORD" } else { "MYSQL_PWD" }
    }

    /// `--conn-params` and `--ssl-ca`.
    fn connect_by(&mut self, given: &Given) -> Result<(), Refused> {
        let mut variables = Vec::new();
        for part in given.text("conn-params").split('&').filter(|p| !p.is_empty()) {
            let Some((name, value)) = part.split_once('=') else {
                return Err(given.invalid("conn-params", "give NAME=VALUE, several with & between them"));
            };
            let word = value.trim_matches('\'');
            match &mut self.target {
                Target::Mysql(server) if name == "tls" => server.tls = mysql_tls(given, word)?,
                Target::Postgres(server) if name == "sslmode" => server.tls = postgres_tls(given, word)?,
                Target::Postgres(server) if name == "sslrootcert" => server.ca_file = Some(PathBuf::from(word)),
                Target::Postgres(server) if name == "connect_timeout" => {
                    let seconds = word.parse::<u32>().ok().and_then(|s| s.checked_mul(1000)).filter(|ms| *ms > 0);
                    server.connect_timeout_ms =
                        seconds.ok_or_else(|| given.invalid("conn-params", "connect_timeout is whole seconds"))?;
                }
                Target::Postgres(_) if matches!(name, "sslcert" | "sslkey") => {
                    return Err(given.invalid("conn-params", "client certificates are not supported: log in by password"));
                }
                Target::Mysql(_) if MYSQL_CLIENT.contains(&name) => self.unused.push(name.to_owned()),
                Target::Postgres(_) if POSTGRES_CLIENT.contains(&name) => self.unused.push(name.to_owned()),
                Target::Postgres(_) => variables.push(format!("{name}='{word}'")),
                Target::Mysql(_) | Target::Sqlite(_) | Target::Tikv(_) => variables.push(part.to_owned()),
            }
        }
        self.session = variables.join("&");
        let authorities = given.text("ssl-ca");
        if let (Target::Mysql(server) | Target::Postgres(server), false) = (&mut self.target, authorities.is_empty()) {
            // As in go-tpc, a certificate that can be checked is checked, with its name.
            (server.ca_file, server.tls) = (Some(PathBuf::from(authorities)), TlsMode::VerifyIdentity);
        }
        Ok(())
    }
}

/// The words of go-sql-driver/mysql.
fn mysql_tls(given: &Given, word: &str) -> Result<TlsMode, Refused> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "1" => Ok(TlsMode::VerifyIdentity),
        "false" | "0" => Ok(TlsMode::Disabled),
        "skip-verify" => Ok(TlsMode::Required),
        "preferred" => Ok(TlsMode::Preferred),
        _ => Err(given.invalid("conn-params", "tls is true, false, skip-verify or preferred")),
    }
}

/// The words of PostgreSQL.
fn postgres_tls(given: &Given, word: &str) -> Result<TlsMode, Refused> {
    match word {
        "disable" => Ok(TlsMode::Disabled),
        "allow" | "prefer" => Ok(TlsMode::Preferred),
        "require" => Ok(TlsMode::Required),
        "verify-ca" => Ok(TlsMode::VerifyCa),
        "verify-full" => Ok(TlsMode::VerifyIdentity),
        _ => Err(given.invalid("conn-params", "sslmode is disable, allow, prefer, require, verify-ca or verify-full")),
    }
}

/// Every host at every port, or what `--targets` names; TLS where the server has it, and for postgres always, which is what
/// the drivers of go-tpc do unless told otherwise.
fn server(given: &Given, dialect: Dialect) -> Result<ServerTarget, Refused> {
    let port = |text: &str, of: &str| {
        let bad = || Refused::usage(format!("invalid argument for \"{of}\" flag: not a port"), "give ports from 1 to 65535");
        target::port(text).ok_or_else(bad)
    };
    let mut hosts = Vec::new();
    for one in given.list("targets") {
        let (host, at) = one.rsplit_once(':').ok_or_else(|| given.invalid("targets", "give HOST:PORT, several with commas"))?;
        hosts.push((host.trim_matches(['[', ']']).to_owned(), port(at, "--targets")?));
    }
    if hosts.is_empty() {
        let mut ports = given.list("port").into_iter().map(|p| port(p, "-P, --port")).collect::<Result<Vec<_>, _>>()?;
        // go-tpc has one port for all; these two it does not know.
        if matches!(dialect, Dialect::Cockroach | Dialect::Yugabyte) && !given.has("port") {
            ports = vec![postgres_port(dialect)];
        }
        hosts = target::every(&given.list("host"), &ports);
    }
    if hosts.is_empty() {
        return Err(given.invalid("host", "give a host and a port"));
    }
    let server = target::server(dialect, hosts, given.text("user").to_owned(), given.text("db").to_owned());
    let tls = if dialect.follows_postgres() { TlsMode::Required } else { TlsMode::Preferred };
    Ok(ServerTarget { tls, ..server })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use std::ffi::OsString;

    use super::super::options::TABLE;
    use super::*;

    fn read(words: &[&str]) -> Result<Place, Refused> {
        Place::of(&TABLE.read(&words.iter().map(OsString::from).collect::<Vec<_>>())?)
    }

    fn address(words: &[&str]) -> String {
        read(words).unwrap().target.address()
    }

    #[test]
    fn options_become_an_address() {
        assert_eq!(address(&[]), "mysql://root@127.0.0.1:4000/test");
        assert_eq!(address(&["-H", "a,b", "-P", "1,2", "-U", "me", "-D", "x"]), "mysql://me@a:1,a:2,b:1,b:2/x");
        assert_eq!(address(&["--targets", "a:1,[::1]:2"]), "mysql://root@a:1,[::1]:2/test");
        assert_eq!(address(&["-d", "postgres", "-P", "5432"]), "postgres://root@127.0.0.1:5432/test?tls=required");
        let pg = ["-d", "postgres", "--conn-params", "sslmode=disable&connect_timeout=3"];
        assert_eq!(address(&pg), "postgres://root@127.0.0.1:4000/test?tls=disabled&connect_timeout=3000ms");
        assert_eq!(address(&["-d", "cockroach"]), "cockroach://root@127.0.0.1:26257/test?tls=required");
        let yugabyte = ["-d", "yugabyte", "-P", "9", "--conn-params", "sslmode=disable"];
        assert_eq!(address(&yugabyte), "yugabyte://root@127.0.0.1:9/test?tls=disabled");
        assert_eq!(address(&["--conn-params=tls=skip-verify"]), "mysql://root@127.0.0.1:4000/test?tls=required");
        assert_eq!(address(&["--ssl-ca", "ca.pem"]), "mysql://root@127.0.0.1:4000/test?tls=verify-identity&ca=ca.pem");
        assert_eq!(address(&["--target", "sqlite:a.db?synchronous=OFF"]), "sqlite:a.db?synchronous=OFF");
    }

    #[test]
    fn parameters_of_a_connection_are_of_the_client_or_of_every_session() {
        let place = read(&["--conn-params", "tidb_isolation_read_engines='tiflash'&charset=utf8mb4&a=1"]).unwrap();
        assert_eq!(
            (place.session.as_str(), place.unused.as_slice()),
            ("tidb_isolation_read_engines='tiflash'&a=1", ["charset".to_owned()].as_slice())
        );
        let place =
            read(&["-d", "postgres", "--conn-params", "sslmode=disable&statement_timeout=5000&application_name=x"]).unwrap();
        assert_eq!(
            (place.session.as_str(), place.unused.as_slice()),
            ("statement_timeout='5000'", ["application_name".to_owned()].as_slice())
        );
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for (words, said) in [
            (&["-d", "oracle"][..], "invalid argument \"oracle\" for \"-d, --driver\" flag"),
            (&["-P", "0"], "invalid argument for \"-P, --port\" flag"),
            (&["-P", "hunter2"], "invalid argument for \"-P, --port\" flag: not a port"),
            (&["-H", ","], "invalid argument \"\" for \"-H, --host\" flag"),
            (&["-H", "a b"], "`a b:4000` is not a host"),
            (&["--targets", "a"], "invalid argument \"a\" for \"--targets\" flag"),
            (&["--conn-params", "x"], "invalid argument \"x\" for \"--conn-params\" flag"),
            (&["--conn-params", "tls=maybe"], "invalid argument \"tls=maybe\""),
            (&["-d", "postgres", "--conn-params", "sslmode=x"], "invalid argument \"sslmode=x\""),
            (&["--target", "sqlite:x", "-H", "h"], "--host is given beside --target"),
            (&["--target", "x"], "the target has no scheme"),
        ] {
            let refused = read(words).unwrap_err();
            assert!(refused.message.starts_with(said) && !refused.help.is_empty(), "{words:?}: {refused:?}");
        }
    }
}
