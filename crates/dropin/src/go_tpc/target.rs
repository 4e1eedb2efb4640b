//! Which database, and where: the options of go-tpc as an address.

use std::collections::BTreeMap;

use perbuck_database::registry::AnyTarget;

use crate::flags::Given;
use crate::option::is_in;
use crate::refused::Refused;
use crate::target::{self, as_the_program, default_port, parsed, postgres_compatible, servers, sslmode, with_options};

#[derive(Debug, Clone)]
pub(crate) struct Connection {
    /// Where it is.
    pub(crate) target: AnyTarget,
    /// Variables for every session: NAME=VALUE with & between them.
    pub(crate) session: String,
    /// What of `--conn-params` plays no part, for a remark.
    pub(crate) unused: Vec<String>,
}

/// Names of go-sql-driver/mysql 1.9 that say how its client works and are no variable of a session.
const MYSQL_CLIENT: &str = "\
    allowAllFiles allowCleartextPasswords allowFallbackToPlaintext allowNativePasswords allowOldPasswords charset \
    checkConnLiveness clientFoundRows collation columnsWithAlias compress connectionAttributes interpolateParams loc \
    maxAllowedPacket multiStatements parseTime readTimeout rejectReadOnly serverPubKey strict timeTruncate timeout \
    useCompression writeTimeout";
/// The same of lib/pq.
const POSTGRES_CLIENT: &str = "\
    application_name binary_parameters client_encoding disable_prepared_binary_result fallback_application_name \
    sslinline";

/// What `--conn-params` is to a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    /// Names of go-sql-driver/mysql.
    Mysql,
    /// Names of lib/pq.
    Postgres,
    /// Names of variables alone.
    Own,
}

impl Client {
    fn of(target: &AnyTarget) -> Self {
        match target.dialect().family() {
            "mysql" => Self::Mysql,
            "postgres" => Self::Postgres,
            _ => Self::Own,
        }
    }
}

impl Connection {
    pub(crate) fn of(given: &Given) -> Result<Self, Refused> {
        let address = given.text("target");
        if !address.is_empty() {
            // It says all that the options of go-tpc say.
            let both = ["host", "port", "user", "db", "driver", "targets", "ssl-ca"].into_iter().find(|name| given.has(name));
            if let Some(name) = both {
                let help = format!("leave --{name} out, or --target");
                return Err(Refused::usage(format!("--{name} and --target are both given; --target names it already"), help));
            }
            return Self::connected(given, &parsed(address)?);
        }
        let help = "use mysql, postgres, cockroach or yugabyte; --target reaches every database that perbuck drives";
        let scheme = match given.text("driver") {
            "mysql" => "mysql",
            "postgres" => "postgres",
            driver => postgres_compatible(driver).ok_or_else(|| given.invalid("driver", help))?,
        };
        let hosts = hosts(given, scheme)?;
        // Where the server has it, and for postgres always, which is what the drivers of go-tpc do unless told otherwise.
        let tls = if scheme == "mysql" { "preferred" } else { "required" };
        let target = servers(scheme, given.text("user"), &hosts, given.text("db"), &[("tls", tls.to_owned())])?;
        let connected = Self::connected(given, &target)?;
        Ok(Self { target: as_the_program(connected.target), ..connected })
    }

    /// The kind of database takes no password.
    pub(crate) fn embedded(&self) -> bool {
        self.target.server().is_none()
    }

    /// The variable of the database's own client that holds a password.
    pub(crate) fn client_variable(&self) -> &'static str {
        if Client::of(&self.target) == Client::Postgres { "PGPASSWORD" } else { "MYSQL_PWD" }
    }

    /// What of `--conn-params` plays no part in an order of this word.
    pub(crate) fn remarks(&self, runs: bool, order: &str) -> Vec<String> {
        let unused = ConnParams::remark("conn-params", &self.unused);
        let late = (!runs && !self.session.is_empty())
            .then(|| format!("--conn-params: variables are set in the sessions of a run, not in those of {order}"));
        unused.into_iter().chain(late).collect()
    }

    /// The target with `--conn-params` and `--ssl-ca`.
    fn connected(given: &Given, target: &AnyTarget) -> Result<Self, Refused> {
        let client = Client::of(target);
        let ConnParams { mut options, session, unused } = ConnParams::read(given, "conn-params", target)?;
        let authorities = given.text("ssl-ca");
        if client != Client::Own && !authorities.is_empty() {
            // As in go-tpc, a certificate that can be checked is checked, with its name.
            options.extend([("ca", authorities.to_owned()), ("tls", "verify-identity".to_owned())]);
        }
        // Of an option that is given twice the last one holds.
        let last: BTreeMap<&str, String> = options.into_iter().collect();
        let target = with_options(&target.address(), &last.into_iter().collect::<Vec<_>>())?;
        Ok(Self { target, session, unused })
    }
}

/// Parameters of a connection, as an option holds them.
pub(crate) struct ConnParams {
    /// How the server is reached, as options of an address.
    pub(crate) options: Vec<(&'static str, String)>,
    /// Variables for every session: NAME=VALUE with & between them.
    pub(crate) session: String,
    /// What plays no part.
    pub(crate) unused: Vec<String>,
}

impl ConnParams {
    pub(crate) fn read(given: &Given, option: &str, target: &AnyTarget) -> Result<Self, Refused> {
        let (mut options, mut variables, mut unused) = (Vec::new(), Vec::new(), Vec::new());
        let (client, invalid) = (Client::of(target), |help| given.invalid(option, help));
        for part in given.text(option).split('&').filter(|p| !p.is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(|| invalid("give NAME=VALUE, several with & between them"))?;
            let word = value.trim_matches('\'');
            match (client, name) {
                (Client::Mysql, "tls") => {
                    let mode = mysql_tls(word).ok_or_else(|| invalid("tls is true, false, skip-verify or preferred"))?;
                    options.push(("tls", mode.to_owned()));
                }
                (Client::Postgres, "sslmode") => {
                    let help = "sslmode is disable, allow, prefer, require, verify-ca or verify-full";
                    options.push(("tls", sslmode(word).ok_or_else(|| invalid(help))?.to_owned()));
                }
                (Client::Postgres, "sslrootcert") => options.push(("ca", word.to_owned())),
                (Client::Postgres, "connect_timeout") => {
                    let ms = word.parse::<u32>().ok().and_then(|s| s.checked_mul(1000)).filter(|ms| *ms > 0);
                    let ms = ms.ok_or_else(|| invalid("connect_timeout is whole seconds"))?;
                    options.push(("connect_timeout", format!("{ms}ms")));
                }
                (Client::Postgres, "sslcert" | "sslkey") => {
                    return Err(invalid("client certificates are not supported: log in by password"));
                }
                (Client::Mysql, name) if is_in(MYSQL_CLIENT, name) => unused.push(name.to_owned()),
                (Client::Postgres, name) if is_in(POSTGRES_CLIENT, name) => unused.push(name.to_owned()),
                (Client::Postgres, _) => variables.push(format!("{name}='{word}'")),
                (Client::Mysql | Client::Own, _) => variables.push(part.to_owned()),
            }
        }
        Ok(Self { options, session: variables.join("&"), unused })
    }

    /// A remark on what plays no part.
    pub(crate) fn remark(option: &str, unused: &[String]) -> Option<String> {
        let names = unused.join(", ");
        (!names.is_empty()).then(|| format!("--{option}: {names}: nothing to do, since these are of the Go client alone"))
    }
}

/// The words of go-sql-driver/mysql.
fn mysql_tls(word: &str) -> Option<&'static str> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "1" => Some("verify-identity"),
        "false" | "0" => Some("disabled"),
        "skip-verify" => Some("required"),
        "preferred" => Some("preferred"),
        _ => None,
    }
}

/// A port of an option with this title; what is none may be a password, and is not shown.
pub(crate) fn port(text: &str, of: &str) -> Result<u16, Refused> {
    let bad = || Refused::usage(format!("invalid argument for \"{of}\" flag: not a port"), "give ports from 1 to 65535");
    target::port(text).ok_or_else(bad)
}

/// Every host at every port, or what `--targets` names.
fn hosts(given: &Given, scheme: &str) -> Result<Vec<(String, u16)>, Refused> {
    let mut hosts = Vec::new();
    for one in given.list("targets") {
        let (host, at) = one.rsplit_once(':').ok_or_else(|| given.invalid("targets", "give HOST:PORT, several with commas"))?;
        hosts.push((host.trim_matches(['[', ']']).to_owned(), port(at, "--targets")?));
    }
    if hosts.is_empty() {
        let mut ports = given.list("port").into_iter().map(|p| port(p, "-P, --port")).collect::<Result<Vec<_>, _>>()?;
        // go-tpc has one port for all; these two it does not know.
        if matches!(scheme, "cockroach" | "yugabyte") && !given.has("port") {
            ports = vec![default_port(scheme)];
        }
        hosts = target::every(&given.list("host"), &ports);
    }
    if hosts.is_empty() {
        return Err(given.invalid("host", "give a host and a port"));
    }
    Ok(hosts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::hold_refused;
    use crate::tpcc::golden;

    fn read(words: &[&str]) -> Result<Connection, Refused> {
        Connection::of(&golden::read(words)?)
    }

    fn address(words: &[&str]) -> String {
        read(words).unwrap().target.address()
    }

    #[test]
    fn options_become_an_address() {
        assert_eq!(address(&[]), "mysql://root@127.0.0.1:4000/test");
        assert_eq!(
            address(&["-H", "a,b", "-P", "1,2", "-U", "me", "-D", "x"]),
            "mysql://me@a:1,a:2,b:1,b:2/x?send_password=always"
        );
        assert_eq!(address(&["--targets", "a:1,[::1]:2"]), "mysql://root@a:1,[::1]:2/test?send_password=always");
        assert_eq!(address(&["-d", "postgres", "-P", "5432"]), "postgres://root@127.0.0.1:5432/test?tls=required");
        let pg = ["-d", "postgres", "--conn-params", "sslmode=disable&connect_timeout=3"];
        assert_eq!(address(&pg), "postgres://root@127.0.0.1:4000/test?tls=disabled&connect_timeout=3000ms");
        assert_eq!(address(&["-d", "cockroach"]), "cockroach://root@127.0.0.1:26257/test?tls=required");
        let yugabyte = ["-d", "yugabyte", "-P", "9", "--conn-params", "sslmode=disable"];
        assert_eq!(address(&yugabyte), "yugabyte://root@127.0.0.1:9/test?tls=disabled");
        assert_eq!(address(&["--conn-params=tls=skip-verify"]), "mysql://root@127.0.0.1:4000/test?tls=required");
        assert_eq!(address(&["--ssl-ca", "ca.pem"]), "mysql://root@127.0.0.1:4000/test?tls=verify-identity&ca=ca.pem");
        let remote = address(&["-H", "h", "--ssl-ca", "ca.pem"]);
        assert_eq!(remote, "mysql://root@h:4000/test?tls=verify-identity&ca=ca.pem", "a server that is verified");
        assert_eq!(address(&["--target", "mysql://u@h/d"]), "mysql://u@h:3306/d", "a target says all itself");
        assert_eq!(address(&["--target", "sqlite:a.db?synchronous=OFF"]), "sqlite:a.db?synchronous=OFF");
    }

    #[test]
    fn parameters_of_a_connection_are_of_the_client_or_of_every_session() {
        let connection = read(&["--conn-params", "tidb_isolation_read_engines='tiflash'&charset=utf8mb4&a=1"]).unwrap();
        assert_eq!(
            (connection.session.as_str(), connection.unused.as_slice()),
            ("tidb_isolation_read_engines='tiflash'&a=1", ["charset".to_owned()].as_slice())
        );
        let connection =
            read(&["-d", "postgres", "--conn-params", "sslmode=disable&statement_timeout=5000&application_name=x"]).unwrap();
        assert_eq!(
            (connection.session.as_str(), connection.unused.as_slice()),
            ("statement_timeout='5000'", ["application_name".to_owned()].as_slice())
        );
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let cases: &[(&[&str], &str)] = &[
            (&["-d", "oracle"], "invalid argument \"oracle\" for \"-d, --driver\" flag"),
            (&["-P", "0"], "invalid argument for \"-P, --port\" flag"),
            (&["-P", "hunter2"], "invalid argument for \"-P, --port\" flag: not a port"),
            (&["-H", ","], "invalid argument \"\" for \"-H, --host\" flag"),
            (&["-H", "a b"], "`a b:4000` is not a host"),
            (&["--targets", "a"], "invalid argument \"a\" for \"--targets\" flag"),
            (&["--conn-params", "x"], "invalid argument \"x\" for \"--conn-params\" flag"),
            (&["--conn-params", "tls=maybe"], "invalid argument \"tls=maybe\""),
            (&["-d", "postgres", "--conn-params", "sslmode=x"], "invalid argument \"sslmode=x\""),
            (&["--target", "sqlite:x", "-H", "h"], "--host and --target are both given"),
            (&["--target", "x"], "the target has no scheme"),
        ];
        hold_refused(read, cases);
    }
}
