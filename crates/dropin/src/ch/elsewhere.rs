//! Where the queries go: `--ap-host`, `--ap-port` and `--ap-conn-params`.

use perbuck_database::registry::AnyTarget;

use super::plan::Sessions;
use crate::flags::Given;
use crate::go_tpc::target::{ConnParams, Connection, port};
use crate::refused::Refused;
use crate::target::{as_the_program, every, with_options};

/// The target of a run: with a host of its own for queries where the command line names one, and there are any.
pub(super) fn target(given: &Given, connection: &Connection, streams: u32) -> Result<AnyTarget, Refused> {
    let target = &connection.target;
    if streams == 0 || !(given.has("ap-host") || given.has("ap-port")) {
        return Ok(target.clone());
    }
    let Some(server) = target.server() else {
        let message = format!("--ap-host: {} has no other servers", target.dialect().name());
        return Err(Refused::usage(message, "leave --ap-host and --ap-port out"));
    };
    let (mut hosts, mut ports): (Vec<&str>, Vec<u16>) = server.hosts.iter().map(|(host, port)| (host.as_str(), *port)).unzip();
    if given.has("ap-host") {
        hosts = given.list("ap-host");
    }
    if given.has("ap-port") {
        ports = given.list("ap-port").into_iter().map(|text| port(text, "--ap-port")).collect::<Result<_, _>>()?;
    }
    let all = every(&each_once(&hosts), &each_once(&ports));
    if all == server.hosts {
        return Ok(target.clone());
    }
    let [(host, port)] = all.as_slice() else {
        let message = format!("--ap-host and --ap-port name {} servers, and queries go to one", all.len());
        return Err(Refused::usage(message, "name one host and one port, or those of a proxy before the servers"));
    };
    let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
    let apart = with_options(&target.address(), &[("queries", format!("{host}:{port}"))])?;
    Ok(if given.has("target") { apart } else { as_the_program(apart) })
}

fn each_once<T: Copy + PartialEq>(all: &[T]) -> Vec<T> {
    let is_first = |at: &usize| !all[..*at].contains(&all[*at]);
    (0..all.len()).filter(is_first).map(|at| all[at]).collect()
}

/// The variables of sessions, and what plays no part of those of queries.
pub(super) fn sessions(given: &Given, connection: &Connection) -> Result<(Sessions, Vec<String>), Refused> {
    let of_transactions = connection.session.clone();
    if !given.has("ap-conn-params") {
        return Ok((Sessions { of_queries: of_transactions.clone(), of_transactions }, Vec::new()));
    }
    let apart = ConnParams::read(given, "ap-conn-params", &connection.target)?;
    let both = ConnParams::read(given, "conn-params", &connection.target)?.options;
    if let Some((name, _)) = apart.options.iter().find(|option| !both.contains(option)) {
        let message =
            format!("--ap-conn-params: its {name} differs from that of --conn-params, and one holds for all connections");
        return Err(Refused::usage(message, "give it in --conn-params, and the same or nothing in --ap-conn-params"));
    }
    Ok((Sessions { of_transactions, of_queries: apart.session }, apart.unused))
}

#[cfg(test)]
mod tests {
    use super::super::golden;
    use super::*;
    use crate::cases::hold_refused;

    fn read(words: &[&str]) -> Result<(String, Sessions), Refused> {
        let given = golden::read(words)?;
        let connection = Connection::of(&given)?;
        Ok((target(&given, &connection, 1)?.address(), sessions(&given, &connection)?.0))
    }

    fn address(words: &[&str]) -> String {
        read(words).unwrap().0
    }

    #[test]
    fn queries_go_to_a_host_of_their_own_or_to_that_of_the_transactions() {
        let plain = "mysql://root@127.0.0.1:4000/test";
        assert_eq!(address(&["run"]), plain);
        assert_eq!(address(&["run", "--ap-host=127.0.0.1", "--ap-port", "4000"]), plain);
        assert_eq!(address(&["run", "--ap-port=4001"]), format!("{plain}?queries=127.0.0.1:4001"));
        let both = ["run", "-H", "a,b", "--ap-host=b,a", "--ap-port=4000", "--ap-host=c"];
        assert!(read(&both).is_err(), "lists add up");
        let others = "mysql://root@a:4000,b:4000/test?send_password=always";
        assert_eq!(address(&["run", "-H", "a,b", "--ap-host=a,b"]), others);
        let four = address(&["run", "-H", "a,b", "-P", "1,2", "--ap-host=c", "--ap-port=3"]);
        assert_eq!(four, "mysql://root@a:1,a:2,b:1,b:2/test?send_password=always&queries=c:3");
        assert_eq!(address(&["run", "-H", "a,b", "-P", "1,2", "--ap-port=1,2"]), four.replace("&queries=c:3", ""));
        assert_eq!(address(&["run", "-H", "a,b", "--ap-host=c"]), format!("{others}&queries=c:4000"));
        assert_eq!(address(&["run", "--ap-host=::1"]), format!("{plain}?queries=[::1]:4000"));
        let given = ["run", "--target", "postgres://u@h/d?tls=required", "--ap-host=r"];
        assert_eq!(address(&given), "postgres://u@h:5432/d?tls=required&queries=r:5432");
        // A server elsewhere may ask for the password, too.
        assert_eq!(address(&["run", "--ap-host=r"]), format!("{plain}?send_password=always&queries=r:4000"));
        let none = golden::read(&["run", "-t0", "--ap-host=r"]).unwrap();
        assert_eq!(target(&none, &Connection::of(&none).unwrap(), 0).unwrap().address(), plain);
    }

    #[test]
    fn sessions_of_queries_have_their_own_variables_or_those_of_all() {
        let both = |words: &[&str]| read(words).map(|(_, s)| (s.of_transactions, s.of_queries)).unwrap();
        let text = |one: &str, other: &str| (one.to_owned(), other.to_owned());
        assert_eq!(both(&["run", "--conn-params=a=1"]), text("a=1", "a=1"));
        let replicas = "tidb_isolation_read_engines='tiflash'&charset=utf8mb4";
        let apart = ["run", "--conn-params=a=1", "--ap-conn-params", replicas];
        assert_eq!(both(&apart), text("a=1", "tidb_isolation_read_engines='tiflash'"));
        let postgres = ["run", "-d", "postgres", "--conn-params=sslmode=disable", "--ap-conn-params=sslmode=disable&work_mem=64"];
        assert_eq!(both(&postgres), text("", "work_mem='64'"));
    }

    #[test]
    fn what_cannot_be_is_named_with_the_way_out() {
        let cases: &[(&[&str], &str)] = &[
            (&["run", "--ap-host=a,b"], "--ap-host and --ap-port name 2 servers"),
            (&["run", "--ap-port=x"], "invalid argument for \"--ap-port\" flag: not a port"),
            (&["run", "--target=sqlite:a.db", "--ap-host=h"], "--ap-host: SQLite has no other servers"),
            (&["run", "--ap-conn-params=x"], "invalid argument \"x\" for \"--ap-conn-params\" flag"),
            (&["run", "--ap-conn-params=tls=true"], "--ap-conn-params: its tls differs from that of --conn-params"),
        ];
        hold_refused(read, cases);
    }
}
