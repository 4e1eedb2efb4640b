//! The options that all commands of go-tpc have, under its own names and letters.

use crate::agents::{AGENTS, TOKEN_FILE};
use crate::flags::Kind::{Duration, Int, List, Password, Switch, Text};
use crate::flags::{Flag, Given};
use crate::option::{done, ignored, refused};

const PREPARE: &[&str] = &["prepare"];
const RUN: &[&str] = &["run"];

/// Those of the database; `password` is the help of the one that takes a password.
pub(crate) const fn database(password: &'static str) -> [Flag; 11] {
    [
        done("driver", Text, "mysql", "database driver: mysql, postgres, cockroach, yugabyte").short('d'),
        done("host", List, "127.0.0.1", "database hosts; connections take them in turn").short('H'),
        done("port", List, "4000", "database ports; every host is reached at every port").short('P'),
        done("user", Text, "root", "database user").short('U'),
        done("password", Password, "", password).short('p'),
        done("db", Text, "test", "database; prepare creates it where it is missing").short('D'),
        done("targets", List, "", "HOST:PORT of every server, instead of --host and --port"),
        done(
            "conn-params",
            Text,
            "",
            "NAME=VALUE with & between them: tls, or for postgres sslmode, sslrootcert and connect_timeout; all others are set in every session of a run",
        ),
        done("ssl-ca", Text, "", "PEM file of certificate authorities; with it the server's certificate and name are checked"),
        refused("ssl-cert", Text, "client certificates are not supported: leave --ssl-cert out and log in by password"),
        refused("ssl-key", Text, "client certificates are not supported: leave --ssl-key out and log in by password"),
    ]
}

/// The length of a run, and its lines.
pub(crate) const TIME: Flag =
    done("time", Duration, "", "length of the measured window; without it a run lasts until Ctrl-C, which prints the summary");
pub(crate) const INTERVAL: Flag = done("interval", Duration, "10s", "time between lines, in whole seconds");
pub(crate) const OUTPUT: Flag = done("output", Text, "plain", "what standard output holds: plain, table or json");

/// Those of analytical queries on TiDB.
pub(crate) const REPLICAS: Flag =
    done("tiflash-replica", Int, "0", "TiDB: TiFlash replicas of each table, which prepare waits for").of(PREPARE);
/// Why the settings of ANALYZE have no effect.
const ANALYZE: &str = "nothing to do: ANALYZE runs with the settings of the server";
pub(crate) const STATISTICS: [Flag; 3] = [
    ignored("tidb_build_stats_concurrency", Int, "", ANALYZE).of(PREPARE),
    ignored("tidb_distsql_scan_concurrency", Int, "", ANALYZE).of(PREPARE),
    ignored("tidb_index_serial_scan_concurrency", Int, "", ANALYZE).of(PREPARE),
];
/// Why a plan replayer is refused.
const REPLAYER: &str =
    "perbuck keeps no plan replayer files: leave the option out, and send PLAN REPLAYER DUMP by the database's own client";
pub(crate) const PLAN_REPLAYER: [Flag; 3] = [
    refused("use-plan-replayer", Switch, REPLAYER).of(RUN),
    refused("plan-replayer-dir", Text, REPLAYER).of(RUN),
    refused("plan-replayer-file", Text, REPLAYER).of(RUN),
];
pub(crate) const STATUS_PORT: Flag =
    ignored("statusPort", Int, "", "nothing to do: only a plan replayer asks the status port").short('S');

/// Those without a part in any run.
pub(crate) const SILENCE: Flag =
    ignored("silence", Switch, "", "nothing to do: errors are counted by code and printed once, at the end");
pub(crate) const MAX_PROCS: Flag =
    done("max-procs", Int, "0", "load threads, which share the connections; 0 is one per processor");
pub(crate) const AC_THREADS: Flag =
    ignored("acThreads", Int, "", "nothing to do: only go-tpc's ch has analytical threads").short('t');
pub(crate) const PPROF: Flag = ignored("pprof", Text, "", "nothing to do: perbuck has no Go profile");
pub(crate) const METRICS: Flag =
    ignored("metrics-addr", Text, "", "nothing is served: the record of the run has every second of it");

pub(crate) const WARMUP: Flag = done("warmup", Duration, "0s", "time of warm-up before the measured window").of(RUN);

/// perbuck's own that every command has, but for agents.
pub(crate) const fn alone() -> [Flag; 6] {
    [
        done("password-file", Text, "", "a file that holds the password"),
        done("ask-password", Switch, "false", "ask for the password"),
        done("results", Text, "", "folder of the records of all runs; perbuck/COMMAND in the user's state folder if not given")
            .of(RUN),
        done("contender", Text, "", "name of the database in the records; made of its address if not given").of(RUN),
        done("no-record", Switch, "false", "write no record").of(RUN),
        done("help", Switch, "false", "print this help").short('h'),
    ]
}

/// The same, and those of a command whose load agents may apply.
pub(crate) const fn own() -> [Flag; 8] {
    let [file, ask, results, contender, no_record, help] = alone();
    let agents = done(AGENTS.0, List, "", AGENTS.1).of(RUN);
    [file, ask, results, contender, no_record, agents, done(TOKEN_FILE.0, Text, "", TOKEN_FILE.1).of(RUN), help]
}

/// Two groups as one of `ALL` options.
pub(crate) const fn joined<const ALL: usize>(first: &[Flag], second: &[Flag]) -> [Flag; ALL] {
    let mut all = [first[0]; ALL];
    let mut at = 0;
    while at < ALL {
        all[at] = if at < first.len() { first[at] } else { second[at - first.len()] };
        at += 1;
    }
    all
}

/// Whether a command line asks for help.
pub(crate) fn asks_for_help(given: &Given) -> bool {
    given.switch("help") || given.words.first().is_some_and(|word| word == "help")
}
