//! The options of go-tpc's `ch` under its own names and letters, each described in one place.

use crate::agents::AGENTS;
use crate::flags::Kind::{Duration, Int, List, Switch, Text};
use crate::flags::{Flag, Table};
use crate::go_tpc::options::{
    INTERVAL, MAX_PROCS, METRICS, OUTPUT, PLAN_REPLAYER, PPROF, REPLICAS, SILENCE, STATISTICS, STATUS_PORT, TIME, WARMUP, alone,
    database, joined,
};
use crate::option::{Group, done, ignored, refused};
use crate::tpcc::options::{COMPAT, CONN_REFRESH, COUNT, IGNORE_ERROR, ISOLATION, PARTS, SEED, WAREHOUSES, WEIGHT};

const PREPARE: &[&str] = &["prepare"];
const RUN: &[&str] = &["run"];

const DATABASE: &[Flag] = &database("password; better in PERBUCK_CH_PASSWORD, MYSQL_PWD, PGPASSWORD or --password-file");

const DATA: &[Flag] = &[
    WAREHOUSES,
    PARTS,
    done("threads", Int, "1", "terminals of a run, each with its connection; connections that load (8 if not given)").short('T'),
    done("acThreads", Int, "1", "query streams of a run, each with its connection; 0 is transactions alone").short('t'),
    done("dropdata", Switch, "false", "prepare: drop region, nation, supplier and ch_marker before; the tables of TPC-C stay"),
    REPLICAS,
    done("analyze", Switch, "false", "gather the statistics of tables of TPC-C that were there, too").of(PREPARE),
    STATISTICS[0],
    STATISTICS[1],
    STATISTICS[2],
    ignored("check-all", Switch, "", "nothing to do: perbuck tpcc check --check-all checks the tables of TPC-C"),
];

const LOAD: &[Flag] = &[
    done(
        "queries",
        Text,
        "q1,q2,q3,q4,q5,q6,q7,q8,q9,q10,q11,q12,q13,q14,q15,q16,q17,q18,q19,q20,q21,q22",
        "queries of a round, in this order; each stream starts with another one",
    ),
    WEIGHT,
    TIME,
    COUNT,
    INTERVAL,
    IGNORE_ERROR,
    ISOLATION,
    done("ap-host", List, "", "the host that answers the queries; that of --host if not given").of(RUN),
    done("ap-port", List, "", "its port; that of --port if not given").of(RUN),
    done("ap-conn-params", Text, "", "as --conn-params, for the sessions of queries alone; those of --conn-params if not given")
        .of(RUN),
    refused(
        "use-explain",
        Switch,
        "perbuck ch keeps no plans: leave --use-explain out; `perbuck run STUDY --plans` keeps those of EXPLAIN ANALYZE",
    )
    .of(RUN),
    PLAN_REPLAYER[0],
    PLAN_REPLAYER[1],
    PLAN_REPLAYER[2],
    ignored("refresh-conn-wait", Duration, "", "nothing to do: perbuck sends no ping before a query"),
    CONN_REFRESH,
    OUTPUT,
    SILENCE,
    MAX_PROCS,
    STATUS_PORT,
    PPROF,
    METRICS,
];

const MORE: &[Flag] = &[
    done(
        "target",
        Text,
        "",
        "address of any database that perbuck drives, as in docs/targets.md (sqlite:ch.db), instead of host, port, user and db",
    ),
    COMPAT,
    WARMUP,
    SEED,
    refused(
        AGENTS.0,
        List,
        "query streams and transactions are measured within one process, and agents are several: leave --agents out",
    )
    .of(RUN),
];

const OWN: &[Flag] = &joined::<{ MORE.len() + 6 }>(MORE, &alone());

/// All of them, in the order of the help.
pub(super) const TABLE: Table = Table {
    command: "perbuck ch",
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
  perbuck ch prepare|run|cleanup [options]

Takes the place of `go-tpc ch` and `tiup bench ch`: put `perbuck ch` in their place.
  prepare   make and fill what is missing: the tables of TPC-C, and those of the queries
  run       run transactions of TPC-C and analytical queries at once
  cleanup   drop the tables of the queries; perbuck tpcc cleanup drops those of TPC-C
";
    head.to_owned() + &TABLE.help() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::hold_together;

    #[test]
    fn every_option_of_go_tpc_is_known_with_its_letter_and_in_the_help() {
        let all: Vec<&Flag> = TABLE.groups.iter().flat_map(|g| g.options).collect();
        hold_together(&all);
        assert!(all.iter().all(|flag| help().contains(&format!("--{}", flag.name))));
        // go-tpc at commit 682637f of 2025-11-10: cmd/go-tpc/main.go and ch_benchmark.go.
        let theirs = "max-procs pprof metrics-addr D:db H:host U:user p:password P:port S:statusPort T:threads t:acThreads \
                      d:driver time count dropdata ignore-error silence interval isolation conn-params output targets ssl-ca \
                      ssl-cert ssl-key parts warehouses check-all queries refresh-conn-wait tiflash-replica analyze \
                      tidb_build_stats_concurrency tidb_distsql_scan_concurrency tidb_index_serial_scan_concurrency \
                      use-plan-replayer plan-replayer-dir plan-replayer-file use-explain weight conn-refresh-interval \
                      ap-conn-params ap-host ap-port";
        for option in theirs.split_whitespace() {
            let (letter, name) = option.split_once(':').map_or((None, option), |(l, n)| (l.chars().next(), n));
            assert!(all.iter().any(|f| f.name == name && f.short == letter), "{option}");
        }
    }
}
