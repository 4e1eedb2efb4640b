//! The options of go-tpc's `tpcc` under its own names and letters, each described in one place.

use crate::flags::Kind::{Duration, Int, List, Switch, Text};
use crate::flags::{Flag, Table};
use crate::go_tpc::options::{AC_THREADS, INTERVAL, MAX_PROCS, METRICS, PPROF, SILENCE, TIME, WARMUP, database, joined, own};
use crate::option::{Group, done, ignored, refused};

const PREPARE: &[&str] = &["prepare"];
const RUN: &[&str] = &["run"];

const DATABASE: &[Flag] = &database("password; better in PERBUCK_TPCC_PASSWORD, MYSQL_PWD, PGPASSWORD or --password-file");

const WORK: &[Flag] = &[
    WAREHOUSES,
    done("threads", Int, "1", "terminals of a run, each with its connection; connections that load (8 if not given)").short('T'),
    PARTS,
    done("partition-type", Int, "1", "1 is hash, 2 is range, 3 is list (like hash)"),
    done("check-all", Switch, "false", "check: all conditions, with 3.3.2.11, which holds for fresh data only"),
    done("dropdata", Switch, "false", "prepare: drop the tables before"),
    done("no-check", Switch, "false", "do not check the data after the load").of(PREPARE),
    done("use-fk", Switch, "false", "declare the foreign keys").of(PREPARE),
    done("use-clustered-index", Switch, "true", "TiDB: rows lie in the primary key").of(PREPARE),
    done("output-type", Text, "", "csv: write the rows as files for bulk importers, and touch no database").of(PREPARE),
    done("output-dir", Text, "", "the folder of the files; one file for each table and thread").of(PREPARE),
    done("tables", List, "", "write these tables only").of(PREPARE),
    ignored(
        "retry-count",
        Int,
        "",
        "nothing to do: the load retries when the server asks for it, and ends at any other error; no row is left out",
    )
    .of(PREPARE),
    ignored("retry-interval", Duration, "", "nothing to do: see --retry-count").of(PREPARE),
    ignored("retry-duration", Duration, "", "nothing to do: the name of --retry-interval before April 2021").of(PREPARE),
];

/// Those that `ch` has, too.
pub(crate) const WAREHOUSES: Flag = done("warehouses", Int, "10", "number of warehouses");
pub(crate) const PARTS: Flag = done("parts", Int, "1", "number of partitions that the warehouses are dealt to");
pub(crate) const COUNT: Flag = done("count", Int, "0", "end after so many transactions of all terminals together; 0 is no limit");
pub(crate) const IGNORE_ERROR: Flag =
    done("ignore-error", Switch, "false", "go on after an error, whose transaction counts as NAME_ERR");
pub(crate) const ISOLATION: Flag =
    done("isolation", Int, "0", "0 the server's, 1 read uncommitted, 2 read committed, 4 repeatable read, 6 serializable");
pub(crate) const WEIGHT: Flag = done(
    "weight",
    List,
    "",
    "shares of new_order, payment, order_status, delivery, stock_level in percent; a deck of cards if not given, with --compat=go-tpc 45,43,4,4,4",
)
.of(RUN);
pub(crate) const CONN_REFRESH: Flag =
    refused("conn-refresh-interval", Duration, "connections are kept for the whole run: leave --conn-refresh-interval out")
        .of(RUN);
pub(crate) const COMPAT: Flag =
    done("compat", Text, "", "go-tpc: run its SQL, mix and draws, defects included; the specification if not given");
pub(crate) const SEED: Flag =
    done("seed", Int, "0", "seed of all random choices; 0 takes one from the time, and the record has it").of(RUN);

const LOAD: &[Flag] = &[
    TIME,
    COUNT,
    INTERVAL,
    IGNORE_ERROR,
    ISOLATION,
    done("wait", Switch, "false", "key and think as the specification says").of(RUN),
    WEIGHT,
    ignored("max-measure-latency", Duration, "", "nothing to do: no latency is cut off, and the maximum is exact").of(RUN),
    CONN_REFRESH,
    done("summary", Switch, "false", "at every interval the total so far, and at the end tpmC alone, as tiup bench did in 2020"),
    done(
        "output",
        Text,
        "plain",
        "what standard output holds: plain, table or json; prepare takes any other word as the folder of CSV files, as tiup bench did in 2020",
    ),
    SILENCE,
    MAX_PROCS,
    ignored("statusPort", Int, "", "nothing to do: only go-tpc's tpch asks the status port").short('S'),
    AC_THREADS,
    PPROF,
    METRICS,
];

const MORE: &[Flag] = &[
    done(
        "target",
        Text,
        "",
        "address of any database that perbuck drives, as in docs/targets.md (sqlite:tpcc.db), instead of host, port, user and db",
    ),
    COMPAT,
    done("batch", Switch, "false", "send the lines of an order, and the districts of a delivery, by statements of many rows")
        .of(RUN),
    WARMUP,
    SEED,
];

const OWN: &[Flag] = &joined::<{ MORE.len() + 8 }>(MORE, &own());

/// All of them, in the order of the help.
pub(super) const TABLE: Table = Table {
    command: "perbuck tpcc",
    groups: &[
        Group { title: "Database:", options: DATABASE },
        Group { title: "Data:", options: WORK },
        Group { title: "Run:", options: LOAD },
        Group { title: "perbuck's own:", options: OWN },
    ],
};

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
    use crate::option::hold_together;

    #[test]
    fn every_name_and_letter_is_there_once_and_in_the_help() {
        let all: Vec<&Flag> = TABLE.groups.iter().flat_map(|g| g.options).collect();
        hold_together(&all);
        assert!(all.iter().all(|flag| help().contains(&format!("--{}", flag.name))));
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
            let all = TABLE.groups.iter().flat_map(|g| g.options);
            assert!(all.into_iter().any(|f| f.name == name && f.short == letter), "{option}");
        }
    }

    #[test]
    fn every_option_of_2020_and_2021_is_known_with_its_letter() {
        // tiup at commit df2422f of 2020-04-13: components/bench/main.go and tpcc.go; then what go-tpc 79bc60e of 2021-02-26 added.
        let theirs = "max-procs pprof D:db H:host U:user p:password P:port T:threads d:driver time count dropdata ignore-error \
                      silence summary interval isolation parts warehouses check-all output tables \
                      t:acThreads metrics-addr no-check output-type output-dir retry-count retry-duration wait max-measure-latency";
        for option in theirs.split_whitespace() {
            let (letter, name) = option.split_once(':').map_or((None, option), |(l, n)| (l.chars().next(), n));
            assert!(TABLE.groups.iter().flat_map(|g| g.options).any(|f| f.name == name && f.short == letter), "{option}");
        }
    }
}
