//! The options that every script takes, under sysbench's own names, each described in one place. Those of a script come
//! from the workload itself.

use perbuck_core::problem::nearest;

use crate::agents::{AGENTS, TOKEN_FILE};
use crate::option::{Group, OptionSpec, done, ignored, refused};

/// What an option takes; sysbench's own types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `--name`, `--name=on`, `--name=off`; also true, false, 1 and 0.
    Switch,
    /// A whole number of 32 bits.
    Int,
    /// A whole number, with K, M, G or T after it.
    Size,
    /// A number.
    Number,
    /// Any text.
    Text,
    /// Texts with commas between them.
    List,
}

impl Kind {
    /// How the help shows it.
    pub(super) fn form(self) -> &'static str {
        match self {
            Self::Switch => "[=on|off]",
            Self::Int | Self::Number => "=N",
            Self::Size => "=SIZE",
            Self::Text => "=STRING",
            Self::List => "=[LIST,...]",
        }
    }
}

/// An option of sysbench, or of one of its scripts; names of the latter have underscores.
pub(super) type Spec = OptionSpec<Kind>;

/// Passwords: read once and never printed, logged or recorded.
pub(super) const PASSWORDS: [&str; 2] = ["mysql-password", "pgsql-password"];
/// The option that names a file of options.
pub(super) const CONFIG_FILE: &str = "config-file";

pub(super) const OLDER: [(&str, &str); 4] =
    [("num-threads", "threads"), ("max-requests", "events"), ("max-time", "time"), ("tx-rate", "rate")];

use Kind::{Int, List, Number, Size, Switch, Text};

const GENERAL: &[Spec] = &[
    done("threads", Int, "1", "connections, each with one transaction in flight; thousands are fine"),
    done("events", Int, "0", "end after so many transactions; 0 is no limit"),
    done("time", Int, "10", "end after so many seconds; 0 is no limit"),
    done("warmup-time", Int, "0", "seconds of warm-up before the measured time"),
    done("forced-shutdown", Text, "off", "seconds (or N% of --time) to wait for the last transactions; 'off' waits 10 seconds"),
    done("rate", Int, "0", "transactions per second on average, like independent users; 0 is as many as possible"),
    done("report-interval", Int, "0", "print a line every so many seconds; 0 prints none"),
    done(
        "report-checkpoints",
        List,
        "",
        "seconds from the start at which to print a full report; each covers the time since the last one",
    ),
    ignored("debug", Switch, "off", "raises --verbosity to 5 and changes nothing else"),
    ignored("validate", Switch, "off", "nothing to do: every answer is checked for errors anyway"),
    ignored("thread-stack-size", Size, "64K", "nothing to do: connections are not threads"),
    ignored("thread-init-timeout", Int, "30", "nothing to do: connecting has its own limit of 10 seconds"),
    done("luajit-cmd", Text, "off", "on compiles a script in Lua; then one that runs for ever cannot be ended {on,off}"),
    done("help", Switch, "off", "print this help"),
    done("version", Switch, "off", "print the version"),
    done(CONFIG_FILE, Text, "", "a file of lines NAME=VALUE"),
];

const RANDOM: &[Spec] = &[
    done(
        "rand-type",
        Text,
        "special",
        "how ids are drawn {uniform,gaussian,special,pareto,zipfian}; uniform if not given with another --compat than sysbench-1.0; zipfian needs --compat=sysbench-1.1 or perbuck",
    ),
    done("rand-spec-iter", Int, "12", "numbers averaged for one draw of gaussian, and of special outside its band"),
    done("rand-spec-pct", Int, "1", "width of the band of special, in percent of the ids"),
    done("rand-spec-res", Int, "75", "percent of the draws of special that fall into its band"),
    done("rand-pareto-h", Number, "0.2", "shape of pareto"),
    done("rand-zipfian-exp", Number, "0.8", "exponent of zipfian"),
    done("rand-seed", Int, "0", "seed of all random choices; 0 takes one from the time and prints it"),
];

const LOG: &[Spec] = &[
    done("verbosity", Int, "3", "how much is printed {5 - everything, 0 - only what ends the run}"),
    done(
        "percentile",
        List,
        "95",
        "percentiles of the latency, several with commas between them; interval lines show the 95th or else the first. 0 prints none",
    ),
    done("histogram", Switch, "off", "print the distribution of the latency"),
];

const DATABASE: &[Spec] = &[
    done("db-driver", Text, "mysql", "which database {mysql,mariadb,tidb,pgsql,cockroach,yugabyte,sqlite,duckdb}"),
    done("db-ps-mode", Text, "auto", "statements prepared on the server, or sent as text {auto,disable}"),
    ignored("db-debug", Switch, "off", "nothing to do: --statement-latency prints the time of every kind of statement"),
];

const MYSQL: &[Spec] = &[
    done(
        "mysql-host",
        List,
        "localhost",
        "servers; connections take them in turn. localhost is reached by TCP unless --mysql-socket is given",
    ),
    done("mysql-port", List, "3306", "ports; every host is reached at every port. With --db-driver=tidb 4000 if not given"),
    done("mysql-socket", List, "", "sockets in the file system, in place of --mysql-host=localhost"),
    done("mysql-user", Text, "sbtest", "user"),
    done("mysql-password", Text, "", "password; better in PERBUCK_SYSBENCH_PASSWORD, MYSQL_PWD or --password-file"),
    done("mysql-db", Text, "sbtest", "database"),
    done("mysql-ssl", Text, "off", "TLS {off,on} or {DISABLED,PREFERRED,REQUIRED,VERIFY_CA,VERIFY_IDENTITY}; on requires it"),
    done("mysql-ssl-ca", Text, "", "PEM file of certificate authorities; with it the server's certificate is checked"),
    refused("mysql-ssl-cert", Text, "client certificates are not supported: leave --mysql-ssl-cert out and log in by password"),
    refused("mysql-ssl-key", Text, "client certificates are not supported: leave --mysql-ssl-key out and log in by password"),
    ignored("mysql-ssl-cipher", Text, "", "nothing to do: TLS takes the best cipher that both sides know"),
    refused("mysql-compression", Switch, "compression is not supported: leave --mysql-compression out"),
    ignored("mysql-compression-algorithms", Text, "zlib", "nothing to do: nothing is compressed"),
    ignored("mysql-debug", Switch, "off", "nothing to do: there is no client library to trace"),
    done("mysql-ignore-errors", List, "1213,1020,1205", "error numbers after which a transaction is retried, or \"all\""),
    done("mysql-dry-run", Switch, "off", "answer every statement of a run at once, without a server; no record is written"),
];

const PGSQL: &[Spec] = &[
    done("pgsql-host", List, "localhost", "servers, or folders of sockets; connections take them in turn"),
    done("pgsql-port", List, "5432", "ports (cockroach: 26257, yugabyte: 5433); every host is reached at every port"),
    done("pgsql-user", Text, "sbtest", "user"),
    done("pgsql-password", Text, "", "password; better in PERBUCK_SYSBENCH_PASSWORD, PGPASSWORD or --password-file"),
    done("pgsql-db", Text, "sbtest", "database"),
    done("pgsql-sslmode", Text, "prefer", "TLS {disable,allow,prefer,require,verify-ca,verify-full}"),
    done("pgsql-sslrootcert", Text, "", "PEM file of certificate authorities"),
];

const SQLITE: &[Spec] = &[done(
    "sqlite-db",
    Text,
    "sbtest.db",
    "the database file, with settings after a question mark as in docs/targets.md (sbtest.db?synchronous=OFF)",
)];

const DUCKDB: &[Spec] = &[done(
    "duckdb-db",
    Text,
    "sbtest.duckdb",
    "the database file, with settings after a question mark as in docs/targets.md (sbtest.duckdb?threads=2)",
)];

const OWN: &[Spec] = &[
    done(
        "compat",
        Text,
        "sysbench-1.0",
        "whose defaults, draws and summary {sysbench-1.0,sysbench-1.1,perbuck}; perbuck draws as a study without `compat`",
    ),
    done("lua", Switch, "off", "run the file of a script by LuaJIT where perbuck has that script built in"),
    done("statement-latency", Switch, "off", "print the latency of every kind of statement"),
    done("output", Text, "text", "what standard output holds {text,json,csv}"),
    done("password-file", Text, "", "a file that holds the password"),
    done("results", Text, "", "folder of the records of all runs; perbuck/sysbench in the user's state folder if not given"),
    done("contender", Text, "", "name of the database in the records; made of its address if not given"),
    done("record", Switch, "on", "write a record of the run"),
    done("no-record", Switch, "off", "write no record"),
    done(AGENTS.0, List, "", AGENTS.1),
    done(TOKEN_FILE.0, Text, "", TOKEN_FILE.1),
    done("workers", Int, "0", "load threads, which share the connections; 0 is one per processor"),
];

/// All groups, in the order of the help.
pub(super) const GROUPS: [Group<Kind>; 9] = [
    Group { title: "General options:", options: GENERAL },
    Group { title: "Pseudo-Random Numbers Generator options:", options: RANDOM },
    Group { title: "Log options:", options: LOG },
    Group { title: "General database options:", options: DATABASE },
    Group { title: "mysql options:", options: MYSQL },
    Group { title: "pgsql options:", options: PGSQL },
    Group { title: "sqlite options:", options: SQLITE },
    Group { title: "duckdb options:", options: DUCKDB },
    Group { title: "perbuck's own options:", options: OWN },
];

pub(super) fn all() -> impl Iterator<Item = &'static Spec> {
    GROUPS.iter().flat_map(|g| g.options)
}

/// A name as the tables spell it: sysbench takes dashes and underscores alike.
pub(super) fn canonical(name: &str) -> String {
    name.replace('_', "-")
}

/// The option of that name; dashes and underscores are the same.
pub(super) fn find(name: &str) -> Option<&'static Spec> {
    let name = canonical(name);
    all().find(|o| o.name == name)
}

/// The known name that an unknown one was most likely meant to be; `script` are the options of scripts.
pub(super) fn meant(unknown: &str, script: &[Spec]) -> Option<String> {
    let unknown = canonical(unknown);
    // Scripts of sysbench 0.4 and 0.5 say --oltp-table-size and the like.
    let plain = unknown.strip_prefix("oltp-").unwrap_or(&unknown);
    let script: Vec<String> = script.iter().map(|o| canonical(o.name)).collect();
    let older = OLDER.iter().map(|(old, _)| *old);
    let names = || all().map(|o| o.name).chain(older.clone()).chain(script.iter().map(String::as_str));
    let exact = names().find(|n| *n == plain).map(str::to_owned);
    let named = || ["host", "port", "user", "password", "db"].contains(&plain).then(|| format!("mysql-{plain}"));
    exact.or_else(named).or_else(|| nearest(plain, names()).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::hold_together;

    #[test]
    fn every_name_is_there_once_and_older_ones_lead_somewhere() {
        hold_together(&all().collect::<Vec<_>>());
        for (old, new) in OLDER {
            assert!(find(old).is_none() && find(new).is_some(), "{old} leads to {new}");
        }
        assert!(all().map(|o| o.name).chain(OLDER.map(|o| o.0)).all(|n| canonical(n) == n && !n.is_empty()));
    }

    #[test]
    fn slips_are_recognised() {
        let script = ["table_size", "tables"].map(|name| done(name, Number, "", ""));
        assert_eq!(meant("table-sise", &script).as_deref(), Some("table-size"));
        assert_eq!(meant("oltp_table_size", &script).as_deref(), Some("table-size"));
        assert_eq!(meant("user", &script).as_deref(), Some("mysql-user"));
        assert_eq!(meant("treads", &script).as_deref(), Some("threads"));
        assert_eq!(meant("zzzzzzzzz", &script), None);
        assert_eq!(find("report_interval").map(|o| o.name), Some("report-interval"));
    }
}
