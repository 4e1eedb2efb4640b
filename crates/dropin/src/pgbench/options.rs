//! The options of pgbench under its own names and letters, each described in one place.

use crate::flags::Kind::{Each, Int, Switch, Text};
use crate::flags::{Flag, Table};
use crate::option::{Group, done, ignored, refused};

const INITIALIZE: &[Flag] = &[
    done("initialize", Switch, "false", "make and fill the four tables").short('i'),
    done("init-steps", Text, "dtgvp", "d, t, g (or G) and p together, in this order; v and f may be left out").short('I'),
    done("fillfactor", Int, "100", "percent of a page that the load fills").short('F'),
    ignored("quiet", Switch, "false", "nothing to do: the load says little").short('q'),
    done("foreign-keys", Switch, "false", "add the foreign keys between the tables"),
    done("unlogged-tables", Switch, "false", "make tables that have no log"),
    refused("partitions", Int, "perbuck makes pgbench_accounts as one table: leave --partitions out"),
    refused("partition-method", Text, "perbuck makes pgbench_accounts as one table: leave --partition-method out"),
    refused("tablespace", Text, "perbuck makes tables in the default tablespace: set default_tablespace of the user"),
    refused("index-tablespace", Text, "perbuck makes indexes in the default tablespace: set default_tablespace of the user"),
];

const SCRIPTS: &[Flag] = &[
    done("builtin", Each, "", "one of pgbench's scripts, NAME[@WEIGHT]; `list` lists them").short('b'),
    done("file", Each, "", "a script of your own, FILE[@WEIGHT]").short('f'),
    done("skip-some-updates", Switch, "false", "the same as -b simple-update").short('N'),
    done("select-only", Switch, "false", "the same as -b select-only").short('S'),
    done("show-script", Text, "", "print a script of pgbench"),
    done("define", Each, "", "NAME=VALUE of a variable of the scripts").short('D'),
];

const LOAD: &[Flag] = &[
    done("client", Int, "1", "connections").short('c'),
    done("jobs", Int, "1", "load threads, which share the connections").short('j'),
    done("transactions", Int, "", "transactions of each connection (10, unless --time is given)").short('t'),
    done("time", Int, "", "seconds of the run").short('T'),
    done("rate", Int, "", "transactions a second that are due, by a schedule").short('R'),
    done("latency-limit", Text, "", "milliseconds beyond which a transaction is counted as late").short('L'),
    done("protocol", Text, "simple", "simple: as text; extended: parsed each time; prepared: once for each connection")
        .short('M'),
    done("connect", Switch, "false", "open a new connection for each transaction").short('C'),
    done("max-tries", Int, "1", "how often a transaction is tried after a serialization failure or a deadlock; 0 is no limit"),
    done("no-vacuum", Switch, "false", "no VACUUM before a run, nor at the end of a load").short('n'),
    done("vacuum-all", Switch, "false", "VACUUM all four tables before a run").short('v'),
    done("scale", Int, "1", "scale of a load: 100,000 accounts for each 1; `:scale` of your own scripts").short('s'),
    done("random-seed", Text, "time", "seed of all random choices: a number, `time` or `rand`"),
];

const OUTPUT: &[Flag] = &[
    done("progress", Int, "", "seconds between lines of progress").short('P'),
    done("progress-timestamp", Switch, "false", "the time of the clock in lines of progress"),
    done("failures-detailed", Switch, "false", "failures by their kinds"),
    done("verbose-errors", Switch, "false", "errors by their codes, at the end"),
    ignored("debug", Switch, "false", "nothing to do: perbuck tells no statements").short('d'),
    done("report-per-command", Switch, "false", "the times of each command of the scripts, at the end").short('r'),
    done("log", Switch, "false", "a line for each transaction, in a file for each load thread").short('l'),
    done("log-prefix", Text, "pgbench_log", "what the names of these files begin with"),
    done("aggregate-interval", Int, "", "seconds of a line, which has sums in place of one transaction"),
    done("sampling-rate", Text, "", "the share of transactions that get a line, as in 0.01"),
];

const CONNECTION: &[Flag] = &[
    done("host", Text, "", "host of the server (PGHOST, MYSQL_HOST, localhost)").short('h'),
    done("port", Text, "", "port of the server (PGPORT, or the database's own)").short('p'),
    done("username", Text, "", "user (PGUSER, or that of the system)").short('U'),
    done("driver", Text, "postgres", "postgres, mysql, tidb, cockroach or yugabyte"),
    done(
        "target",
        Text,
        "",
        "address of any database that perbuck drives, as in docs/targets.md, instead of the four above and DBNAME",
    ),
];

const OWN: &[Flag] = &[
    done("password-file", Text, "", "a file that holds the password"),
    done("results", Text, "", "folder of the records of all runs; perbuck/pgbench in the user's state folder if not given"),
    done("no-record", Switch, "false", "write no record"),
    done("contender", Text, "", "name of the database in the records; made of its address if not given"),
    done("version", Switch, "false", "print the version").short('V'),
    done("help", Switch, "false", "print this help").short('?'),
];

/// All of them.
pub(super) const TABLE: Table = Table {
    command: "perbuck pgbench",
    groups: &[
        Group { title: "Initialization:", options: INITIALIZE },
        Group { title: "What is run:", options: SCRIPTS },
        Group { title: "How it is run:", options: LOAD },
        Group { title: "Output:", options: OUTPUT },
        Group { title: "Connection:", options: CONNECTION },
        Group { title: "perbuck's own:", options: OWN },
    ],
};

/// The help.
pub(super) fn help() -> String {
    format!(
        "perbuck pgbench takes the place of pgbench on PostgreSQL, and runs its scripts on other databases.\n\n\
         Usage:\n  perbuck pgbench [OPTION]... [DBNAME]\n  perbuck pgbench -i [OPTION]... [DBNAME]\n{}\n\
         The password comes from PERBUCK_PGBENCH_PASSWORD, --password-file, PGPASSWORD or MYSQL_PWD.\n\
         docs/commands/pgbench.md says what differs from pgbench.\n",
        TABLE.help()
    )
}
