//! Pages whose commands run, by what they need.

pub(crate) const STUDIES: [&str; 4] = ["run", "compare", "report", "verify"];
pub(crate) const PREPARATION: [&str; 6] = ["init", "prepare", "data", "check", "plan", "capacity"];
pub(crate) const PUBLISHED: [&str; 5] = ["price", "prices", "replay", "audit", "import"];
pub(crate) const OTHER_TOOLS: [&str; 6] = ["sysbench", "tpcc", "tpch", "ch", "ycsb", "pgbench"];
pub(crate) const ALONE: [&str; 9] = [
    "README.md",
    "docs/exit-codes.md",
    "docs/commands/demo.md",
    "docs/two-databases.md",
    "docs/deploy.md",
    "docs/method/intervals.md",
    "docs/own-workload.md",
    "docs/lua.md",
    "docs/traffic.md",
];

/// Commands of pages that no test runs as they stand, and why: page, beginning of the command, reason.
pub(crate) const NOT_RUN: &[(&str, &str, &str)] = &[
    ("docs/fleet.md", "(umask 077; perbuck fleet token", "several machines; fleet.rs does it"),
    ("docs/fleet.md", "perbuck agent", "likewise"),
    ("docs/fleet.md", "perbuck run cluster.toml", "likewise"),
    ("docs/commands/agent.md", "perbuck agent", "likewise"),
    ("docs/study/hosts.md", "perbuck run mysql.toml", "two hosts; hosts.rs does it"),
    ("docs/commands/fleet.md", "(umask 077; perbuck fleet token", "likewise"),
    ("docs/commands/fleet.md", "perbuck fleet check", "likewise"),
    ("docs/deploy.md", "perbuck deploy up", "an account at a cloud; `dev/kubernetes` has a cluster without one"),
    ("docs/deploy.md", "perbuck run tidb-eks-arm-today.toml", "likewise"),
    ("docs/deploy.md", "perbuck deploy status", "likewise"),
    ("docs/deploy.md", "perbuck deploy down", "likewise"),
    ("docs/commands/deploy.md", "perbuck deploy up", "likewise"),
    ("docs/commands/deploy.md", "perbuck deploy status", "likewise"),
    ("docs/commands/deploy.md", "perbuck deploy down", "likewise"),
    ("docs/fleet.md", "perbuck run study.toml --agents arm=", "several machines; fleet_zones.rs does it"),
    ("docs/commands/check.md", "perbuck check --connect study.toml", "servers in a network; preflight.rs does it"),
    ("docs/commands/facts.md", "perbuck facts", "another machine; the tests of lab and facts.rs do it"),
    ("docs/commands/doctor.md", "perbuck doctor", "likewise"),
    ("docs/commands/data.md", "perbuck data restore", "a private server, a bucket, other data; data.rs does it"),
    ("docs/commands/data.md", "perbuck run s.toml", "likewise"),
    ("docs/commands/prepare.md", "perbuck prepare quick.toml", "a load that is cut off; tpcc_resume.rs does it"),
    ("docs/commands/prepare.md", "perbuck prepare four.toml", "loads files by mariadb and psql; tpcc_csv.rs does it"),
    ("docs/commands/prepare.md", "cd files", "belongs to the command before"),
    ("docs/commands/prepare.md", "mariadb tpcc", "belongs to the command before"),
    ("docs/commands/prepare.md", "psql tpcc", "belongs to the command before"),
    ("docs/commands/prepare.md", "perbuck prepare larger.toml", "data of other parameters; wrong_inputs.rs does it"),
    ("docs/commands/run.md", "perbuck run study.toml", "a run that is interrupted; resume.rs does it"),
    ("docs/commands/serve.md", "perbuck serve", "runs until Ctrl-C; serve.rs does it"),
    ("docs/commands/sysbench.md", "for n in 1 2 3", "two servers and a minute a run; sysbench_command_records.rs does it"),
    ("docs/commands/sysbench.md", "perbuck compare ~/.local/state", "a hash in a path; sysbench_command_records.rs does it"),
    ("docs/commands/sysbench.md", "perbuck report ~/.local/state", "likewise"),
    ("docs/commands/pgbench.md", "perbuck pgbench", "servers in a network; pgbench_command.rs does it"),
    ("docs/commands/verify.md", "sed -n", "needs jq; verify.rs unpacks the records by gunzip"),
    ("docs/lease.md", "perbuck run second.toml", "a second perbuck at the same time; other_load.rs does it"),
    ("docs/method/windows.md", "perbuck run study.toml", "half an hour of pilot trials; windows.rs does it with shorter ones"),
    ("docs/method/errors.md", "perbuck run study.toml", "another program on the server; other_load.rs does it"),
    ("docs/terminal.md", "perbuck run study.toml", "shows a bar on a terminal; terminal.rs does it"),
    ("docs/prometheus.md", "", "servers that run on; prometheus.rs does it"),
    ("docs/reliability.md", "dev/faults", "the campaign; dev/test runs a part of it"),
    (
        "docs/exit-codes.md",
        "perbuck run study.toml; echo $?",
        "a disk that is full, and a server at a port that may be taken; wrong_inputs.rs and sqlite.rs do it",
    ),
    ("docs/lua.md", "perbuck sysbench", "a script of one's own; lua.rs runs others"),
    ("docs/releases.md", "", "builds for half an hour; dev/release.d/check runs what it makes"),
];
