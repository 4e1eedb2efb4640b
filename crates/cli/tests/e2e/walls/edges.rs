//! Every edge between crates of this workspace.

/// What the room of a database may use.
const ROOM: [&str; 6] =
    ["perbuck-core", "perbuck-database", "perbuck-driver-suite", "perbuck-event", "perbuck-load", "perbuck-net"];

/// What TiKV's room uses.
const TIKV: [&str; 7] =
    ["perbuck-core", "perbuck-database", "perbuck-event", "perbuck-grpc", "perbuck-load", "perbuck-net", "perbuck-tikv-server"];

/// What the benchmarks use; the databases are of their tests alone, which compare statements.
const WORKLOADS: [&str; 7] =
    ["perbuck-core", "perbuck-database", "perbuck-load", "perbuck-mysql", "perbuck-postgres", "perbuck-sqlite", "perbuck-tikv"];

/// What scripts in Lua use: the benchmark of a script waits and yields on the event loop.
const LUA: [&str; 5] = ["perbuck-core", "perbuck-database", "perbuck-event", "perbuck-load", "perbuck-workloads"];

/// What the benchmark of the engine measures.
const BENCHMARK: [&str; 6] =
    ["perbuck-core", "perbuck-database", "perbuck-event", "perbuck-load", "perbuck-mysql", "perbuck-workloads"];

/// A crate of this workspace with the crates of this workspace that it may use, in normal code and in tests alike.
pub(crate) const MAY_USE: [(&str, &[&str]); 34] = [
    ("perbuck-core", &[]),
    // Benchmarks may use what they measure; nothing uses them.
    ("perbuck-engine-bench", &BENCHMARK),
    ("perbuck-floor", &[]),
    ("perbuck-tpch-generate", &["perbuck-load", "perbuck-postgres", "perbuck-workloads"]),
    ("perbuck-event", &[]),
    ("perbuck-grpc", &[]),
    ("perbuck-tikv-server", &["perbuck-grpc"]), // Of tests alone.
    ("perbuck-load", &["perbuck-core", "perbuck-event"]),
    ("perbuck-prices", &["perbuck-core"]),
    ("perbuck-observe", &["perbuck-core"]),
    ("perbuck-fleet", &[]),
    ("perbuck-kubernetes", &[]),
    ("perbuck-prometheus", &["perbuck-core"]),
    ("perbuck-s3", &[]),
    ("perbuck-import", &["perbuck-core"]),
    ("perbuck-report", &["perbuck-core"]),
    ("perbuck-export", &["perbuck-report"]),
    ("perbuck-exposition", &["perbuck-core", "perbuck-grpc"]),
    ("perbuck-deploy", &["perbuck-core", "perbuck-prices"]), // The prices are of its tests alone.
    ("perbuck-database", &["perbuck-core", "perbuck-load"]),
    ("perbuck-net", &["perbuck-database", "perbuck-event", "perbuck-load"]),
    // What the tests of the databases share.
    ("perbuck-driver-suite", &["perbuck-database", "perbuck-event", "perbuck-load"]),
    ("perbuck-mysql", &ROOM),
    ("perbuck-postgres", &ROOM),
    ("perbuck-sqlite", &ROOM),
    ("perbuck-duckdb", &ROOM),
    ("perbuck-tikv", &TIKV),
    ("perbuck-workloads", &WORKLOADS),
    ("perbuck-lua", &LUA),
    (
        "perbuck-lab",
        &[
            "perbuck-core",
            "perbuck-load",
            "perbuck-lua",
            "perbuck-prices",
            "perbuck-prometheus",
            "perbuck-observe",
            "perbuck-report",
            "perbuck-s3",
            "perbuck-export",
            "perbuck-deploy",
            "perbuck-fleet",
            "perbuck-kubernetes",
            "perbuck-import",
            "perbuck-database",
            "perbuck-mysql",
            "perbuck-postgres",
            "perbuck-sqlite",
            "perbuck-duckdb",
            "perbuck-tikv",
            "perbuck-workloads",
        ],
    ),
    // The doors. What they share of a terminal is in `console`; none of them decides what a user of the library would miss.
    ("perbuck-console", &["perbuck-core", "perbuck-lab", "perbuck-load"]),
    (
        "perbuck-dropin",
        &[
            "perbuck-console",
            "perbuck-core",
            "perbuck-database",
            "perbuck-lab",
            "perbuck-load",
            "perbuck-lua",
            "perbuck-observe",
            "perbuck-workloads",
        ],
    ),
    ("perbuck-serve", &["perbuck-core", "perbuck-exposition", "perbuck-lab", "perbuck-report"]),
    (
        "perbuck",
        &[
            "perbuck-console",
            "perbuck-core",
            "perbuck-dropin",
            "perbuck-exposition",
            "perbuck-lab",
            "perbuck-load",
            "perbuck-prices",
            "perbuck-report",
            "perbuck-serve",
            // Of its tests.
            "perbuck-database",
            "perbuck-deploy",
            "perbuck-kubernetes",
            "perbuck-mysql",
            "perbuck-postgres",
            "perbuck-event",
            "perbuck-tikv-server",
            "perbuck-workloads",
        ],
    ),
];
