//! Pages whose commands run, by what they need.
#![allow(unreachable_pub, reason = "a part of one test")]

pub const STUDIES: [&str; 4] = ["run", "compare", "report", "verify"];
pub const PREPARATION: [&str; 5] = ["init", "prepare", "check", "plan", "capacity"];
pub const PUBLISHED: [&str; 5] = ["price", "prices", "replay", "audit", "import"];
pub const OTHER_TOOLS: [&str; 6] = ["sysbench", "tpcc", "tpch", "ch", "ycsb", "pgbench"];
pub const ALONE: [&str; 8] = [
    "README.md",
    "docs/exit-codes.md",
    "docs/commands/demo.md",
    "docs/two-databases.md",
    "docs/deploy.md",
    "docs/method/intervals.md",
    "docs/own-workload.md",
    "docs/lua.md",
];
