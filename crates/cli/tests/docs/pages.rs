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
