//! The options of go-tpc's `tpch` under its own names and letters, each described in one place.

use crate::flags::Kind::{Int, Switch, Text};
use crate::flags::{Flag, Table};
use crate::go_tpc::options::{
    AC_THREADS, INTERVAL, MAX_PROCS, METRICS, OUTPUT, PLAN_REPLAYER, PPROF, REPLICAS, SILENCE, STATISTICS, STATUS_PORT, TIME,
    WARMUP, database, joined, own,
};
use crate::option::{Group, done, ignored, refused};

const PREPARE: &[&str] = &["prepare"];
const RUN: &[&str] = &["run"];

const DATABASE: &[Flag] = &database("password; better in PERBUCK_TPCH_PASSWORD, MYSQL_PWD, PGPASSWORD or --password-file");

const DATA: &[Flag] = &[
    done("sf", Text, "1", "scale factor, about a gigabyte each; hundredths such as 0.01 for trials"),
    done("threads", Int, "1", "connections of a run; connections that load (8 if not given)").short('T'),
    done("dropdata", Switch, "false", "prepare: drop the tables before"),
    REPLICAS,
    ignored("analyze", Switch, "", "nothing to do: a load ends with ANALYZE of its tables, but on SQLite").of(PREPARE),
    STATISTICS[0],
    STATISTICS[1],
    STATISTICS[2],
    done("output-type", Text, "", "csv: write the rows as files for bulk importers, and touch no database").of(PREPARE),
    done("output-dir", Text, "", "the folder of the files; one file for each table and thread").of(PREPARE),
];

const LOAD: &[Flag] = &[
    done(
        "queries",
        Text,
        "q1,q2,q3,q4,q5,q6,q7,q8,q9,q10,q11,q12,q13,q14,q15,q16,q17,q18,q19,q20,q21,q22",
        "queries of a round, in this order; each thread starts with another one",
    ),
    done("check", Switch, "false", "compare each answer with the right one, by the values of validation: at --sf 1 and 0.01"),
    TIME,
    done("count", Int, "0", "end after so many queries of all threads together; 0 is no limit"),
    INTERVAL,
    done("ignore-error", Switch, "false", "go on after an error, whose query counts as QN_ERR"),
    done(
        "enable-query-tuning",
        Switch,
        "true",
        "TiDB from 7.1: set three variables of its optimizer in every session, as go-tpc does in one",
    )
    .of(RUN),
    refused(
        "use-explain",
        Switch,
        "perbuck tpch keeps no plans: leave --use-explain out; `perbuck run STUDY --plans` keeps those of EXPLAIN ANALYZE",
    ),
    PLAN_REPLAYER[0],
    PLAN_REPLAYER[1],
    PLAN_REPLAYER[2],
    ignored("isolation", Int, "", "nothing to do: each query is sent by itself, in no transaction, as go-tpc does it"),
    OUTPUT,
    SILENCE,
    MAX_PROCS,
    STATUS_PORT,
    AC_THREADS,
    PPROF,
    METRICS,
];

const MORE: &[Flag] = &[
    done(
        "target",
        Text,
        "",
        "address of any database that perbuck drives, as in docs/targets.md (duckdb:tpch.duckdb), instead of host, port, user and db",
    ),
    WARMUP,
];

const OWN: &[Flag] = &joined::<{ MORE.len() + 8 }>(MORE, &own());

/// All of them, in the order of the help.
pub(super) const TABLE: Table = Table {
    command: "perbuck tpch",
    groups: &[
        Group { title: "Database:", options: DATABASE },
        Group { title: "Data:", options: DATA },
        Group { title: "Run:", options: LOAD },
        Group { title: "perbuck's own:", options: OWN },
    ],
};

pub(super) fn help() -> String {
    let head = "\
Usage:
  perbuck tpch prepare|run|cleanup [options]

Takes the place of `go-tpc tpch` and `tiup bench tpch`: put `perbuck tpch` in their place.
  prepare   make, fill and check the tables
  run       run queries, round after round
  cleanup   drop the tables
";
    head.to_owned() + &TABLE.help() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::hold_together;

    #[test]
    fn every_name_and_letter_is_there_once_and_in_the_help() {
        let all: Vec<&Flag> = TABLE.groups.iter().flat_map(|g| g.options).collect();
        hold_together(&all);
        assert!(all.iter().all(|flag| help().contains(&format!("--{}", flag.name))));
    }

    #[test]
    fn every_option_of_go_tpc_is_known_with_its_letter() {
        // go-tpc at commit 682637f of 2025-11-10: cmd/go-tpc/main.go and tpch.go.
        let theirs = "max-procs pprof metrics-addr D:db H:host U:user p:password P:port S:statusPort T:threads t:acThreads \
                      d:driver time count dropdata ignore-error silence interval isolation conn-params output targets ssl-ca \
                      ssl-cert ssl-key queries sf use-explain check tiflash-replica analyze tidb_build_stats_concurrency \
                      tidb_distsql_scan_concurrency tidb_index_serial_scan_concurrency output-type output-dir use-plan-replayer \
                      plan-replayer-dir plan-replayer-file enable-query-tuning";
        for option in theirs.split_whitespace() {
            let (letter, name) = option.split_once(':').map_or((None, option), |(l, n)| (l.chars().next(), n));
            let all = TABLE.groups.iter().flat_map(|g| g.options);
            assert!(all.into_iter().any(|f| f.name == name && f.short == letter), "{option}");
        }
    }
}
