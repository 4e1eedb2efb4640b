//! The options of go-tpc's `tpcc` under its own names and letters, each described in one place.

use crate::flags::Kind::{Duration, Int, List, Password, Switch, Text};
use crate::flags::{Flag, Group, Kind, Table, Use};

const fn flag(name: &'static str, kind: Kind, default: &'static str, help: &'static str) -> Flag {
    Flag { name, short: None, kind, default, usage: Use::Done, of: &[], help }
}

const fn short(short: char, name: &'static str, kind: Kind, default: &'static str, help: &'static str) -> Flag {
    Flag { short: Some(short), ..flag(name, kind, default, help) }
}

const fn of(of: &'static [&'static str], flag: Flag) -> Flag {
    Flag { of, ..flag }
}

const fn ignored(name: &'static str, kind: Kind, why: &'static str) -> Flag {
    Flag { usage: Use::Ignored(why), ..flag(name, kind, "", "") }
}

const fn refused(name: &'static str, kind: Kind, why: &'static str) -> Flag {
    Flag { usage: Use::Refused(why), ..flag(name, kind, "", "") }
}

const PREPARE: &[&str] = &["prepare"];
const RUN: &[&str] = &["run"];

const DATABASE: &[Flag] = &[
    short('d', "driver", Text, "mysql", "database driver: mysql, postgres, cockroach, yugabyte"),
    short('H', "host", List, "127.0.0.1", "database hosts; connections take them in turn"),
    short('P', "port", List, "4000", "database ports; every host is reached at every port"),
    short('U', "user", Text, "root", "database user"),
    short('p', "password", Password, "", "password; better in PERBUCK_TPCC_PASSWORD, MYSQL_PWD, PGPASSWORD or --password-file"),
    short('D', "db", Text, "test", "database; prepare creates it where it is missing"),
    flag("targets", List, "", "HOST:PORT of every server, instead of --host and --port"),
    flag(
        "conn-params",
        Text,
        "",
        "NAME=VALUE with & between them: tls, or for postgres sslmode, sslrootcert and connect_timeout; all others are set in every session of a run",
    ),
    flag("ssl-ca", Text, "", "PEM file of certificate authorities; with it the server's certificate and name are checked"),
    refused("ssl-cert", Text, "client certificates are not supported: leave --ssl-cert out and log in by password"),
    refused("ssl-key", Text, "client certificates are not supported: leave --ssl-key out and log in by password"),
];

const WORK: &[Flag] = &[
    flag("warehouses", Int, "10", "number of warehouses"),
    short('T', "threads", Int, "1", "terminals of a run, each with its connection; connections that load (8 if not given)"),
    flag("parts", Int, "1", "number of partitions that the warehouses are dealt to"),
    flag("partition-type", Int, "1", "1 is hash, 2 is range, 3 is list (like hash)"),
    flag("check-all", Switch, "false", "check: all conditions, with 3.3.2.11, which holds for fresh data only"),
    flag("dropdata", Switch, "false", "prepare: drop the tables before"),
    of(PREPARE, flag("no-check", Switch, "false", "do not check the data after the load")),
    of(PREPARE, flag("use-fk", Switch, "false", "declare the foreign keys")),
    of(PREPARE, Flag { default: "true", ..flag("use-clustered-index", Switch, "true", "TiDB: rows lie in the primary key") }),
    of(PREPARE, flag("output-type", Text, "", "csv: write the rows as files for bulk importers, and touch no database")),
    of(PREPARE, flag("output-dir", Text, "", "the folder of the files; one file for each table and thread")),
    of(PREPARE, flag("tables", List, "", "write these tables only")),
    of(
        PREPARE,
        ignored(
            "retry-count",
            Int,
            "nothing to do: what the server asks to send again is, and any other error ends the load; no row is left out",
        ),
    ),
    of(PREPARE, ignored("retry-interval", Duration, "nothing to do: see --retry-count")),
];

const LOAD: &[Flag] = &[
    flag("time", Duration, "", "length of the measured window; without it a run lasts until Ctrl-C, which prints the summary"),
    flag("count", Int, "0", "end after so many transactions of all terminals together; 0 is no limit"),
    flag("interval", Duration, "10s", "time between lines, in whole seconds"),
    flag("ignore-error", Switch, "false", "go on after an error, whose transaction counts as NAME_ERR"),
    flag("isolation", Int, "0", "0 the server's, 1 read uncommitted, 2 read committed, 4 repeatable read, 6 serializable"),
    of(RUN, flag("wait", Switch, "false", "key and think as the specification says")),
    of(
        RUN,
        flag(
            "weight",
            List,
            "",
            "shares of new_order, payment, order_status, delivery, stock_level in percent; a deck of cards if not given, with --compat=go-tpc 45,43,4,4,4",
        ),
    ),
    of(RUN, ignored("max-measure-latency", Duration, "nothing to do: no latency is cut off, and the maximum is exact")),
    of(
        RUN,
        refused("conn-refresh-interval", Duration, "connections are kept for the whole run: leave --conn-refresh-interval out"),
    ),
    flag("output", Text, "plain", "what standard output holds: plain, table or json"),
    ignored("silence", Switch, "nothing to do: errors are counted by code and printed once, at the end"),
    flag("max-procs", Int, "0", "load threads, which share the connections; 0 is one per processor"),
    Flag { short: Some('S'), ..ignored("statusPort", Int, "nothing to do: only go-tpc's tpch asks the status port") },
    Flag { short: Some('t'), ..ignored("acThreads", Int, "nothing to do: only go-tpc's ch has analytical threads") },
    ignored("pprof", Text, "nothing to do: perbuck has no Go profile"),
    ignored("metrics-addr", Text, "nothing is served: the record of the run has every second of it"),
];

const OWN: &[Flag] = &[
    flag(
        "target",
        Text,
        "",
        "address of any database that perbuck drives, as in docs/targets.md (sqlite:tpcc.db), instead of host, port, user and db",
    ),
    flag("compat", Text, "", "go-tpc: run its SQL, mix and draws, defects included; the specification if not given"),
    of(
        RUN,
        flag("batch", Switch, "false", "send the lines of an order, and the districts of a delivery, by statements of many rows"),
    ),
    of(RUN, flag("warmup", Duration, "0s", "time before the measured window, counted in no figure")),
    of(RUN, flag("seed", Int, "0", "seed of all that is drawn; 0 draws one from the time, and the record has it")),
    flag("password-file", Text, "", "a file that holds the password"),
    flag("ask-password", Switch, "false", "ask for the password"),
    of(RUN, flag("results", Text, "results/tpcc", "folder of the records of all runs")),
    of(RUN, flag("contender", Text, "", "name of the database in the records; made of its address if not given")),
    of(RUN, flag("no-record", Switch, "false", "write no record")),
    short('h', "help", Switch, "false", "print this help"),
];

/// All of them, in the order of the help.
pub(super) const TABLE: Table = Table {
    command: "perbuck tpcc",
    groups: &[
        Group { title: "Database:", flags: DATABASE },
        Group { title: "Data:", flags: WORK },
        Group { title: "Run:", flags: LOAD },
        Group { title: "perbuck's own:", flags: OWN },
    ],
};

/// `perbuck tpcc --help`.
pub(super) fn help() -> String {
    let head = "\
Usage:
  perbuck tpcc prepare|run|check|cleanup [options]

Takes the place of `go-tpc tpcc` and `tiup bench tpcc`: put `perbuck tpcc` in their place.
  prepare   make, fill and check the tables
  run       run the workload, by the specification unless --compat=go-tpc is given
  check     check the consistency conditions of the data
  cleanup   drop the tables
";
    head.to_owned() + &TABLE.help() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_and_letter_is_there_once_and_refusals_have_a_way_out() {
        let all: Vec<&Flag> = TABLE.groups.iter().flat_map(|g| g.flags).collect();
        let mut names: Vec<String> = all.iter().map(|f| f.name.to_owned()).collect();
        names.extend(all.iter().filter_map(|f| f.short).map(String::from));
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
        for flag in all {
            if let Use::Refused(why) = flag.usage {
                assert!(why.contains(": "), "{}", flag.name);
            }
            assert!(help().contains(&format!("--{}", flag.name)), "{}", flag.name);
        }
    }

    #[test]
    fn every_option_of_go_tpc_is_known_with_its_letter() {
        // go-tpc at commit 682637f of 2025-11-10: cmd/go-tpc/main.go and tpcc.go.
        let theirs = "max-procs pprof metrics-addr D:db H:host U:user p:password P:port S:statusPort T:threads t:acThreads \
                      d:driver time count dropdata ignore-error silence interval isolation conn-params output targets ssl-ca \
                      ssl-cert ssl-key parts partition-type warehouses check-all no-check use-fk use-clustered-index output-type \
                      output-dir tables retry-count retry-interval wait max-measure-latency weight conn-refresh-interval";
        for option in theirs.split_whitespace() {
            let (letter, name) = option.split_once(':').map_or((None, option), |(l, n)| (l.chars().next(), n));
            let all = TABLE.groups.iter().flat_map(|g| g.flags);
            assert!(all.into_iter().any(|f| f.name == name && f.short == letter), "{option}");
        }
    }
}
