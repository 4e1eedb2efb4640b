//! What runs in place of what a page shows.

/// What a page shows is long or names servers of its own; this replaces them: page, shown, run. Every row must be needed.
pub(crate) const SUBSTITUTIONS: &[(&str, &str, &str)] = &[
    ("docs/commands/sysbench.md", "MYSQL_PWD=…", "MYSQL_PWD=$PASSWORD"),
    (
        "docs/commands/sysbench.md",
        "--mysql-host=db1 --mysql-user=me",
        "--mysql-host=$HOST --mysql-port=$PORT --mysql-user=root --mysql-db=$DATABASE",
    ),
    ("docs/commands/sysbench.md", "--table-size=100000", "--table-size=100"),
    ("docs/commands/sysbench.md", "--time=60 --report-interval=10", "--time=2 --report-interval=1"),
    ("docs/commands/tpcc.md", "MYSQL_PWD=…", "MYSQL_PWD=$PASSWORD"),
    ("docs/commands/tpcc.md", "-H db1 -P 4000 -U root -D tpcc", "-H $HOST -P $PORT -U root -D $DATABASE"),
    ("docs/commands/tpcc.md", "--warehouses 100 -T 64 --time 10m", "--warehouses 1 -T 4 --time 1s"),
    ("docs/commands/tpcc.md", "--warehouses 100", "--warehouses 1"),
    ("docs/commands/tpch.md", "MYSQL_PWD=…", "MYSQL_PWD=$PASSWORD"),
    ("docs/commands/tpch.md", "-H db1 -P 4000 -U root -D tpch", "-H $HOST -P $PORT -U root -D $DATABASE"),
    ("docs/commands/tpch.md", "--sf 10 -T 16 --tiflash-replica 2", "--sf 0.01 -T 2"),
    ("docs/commands/tpch.md", "--sf 10 -T 4 --time 30m", "--sf 0.01 -T 2 --count 2"),
    ("docs/commands/ch.md", "MYSQL_PWD=…", "MYSQL_PWD=$PASSWORD"),
    ("docs/commands/ch.md", "-H db1 -P 4000 -U root -D ch", "-H $HOST -P $PORT -U root -D $DATABASE"),
    ("docs/commands/ch.md", "--warehouses 100 -T 16", "--warehouses 1 -T 2"),
    ("docs/commands/ch.md", "--tiflash-replica 1 ", ""),
    ("docs/commands/ch.md", "--warehouses 100 -T 50 -t 2 --time 10m", "--warehouses 1 -T 2 -t 1 --queries q1,q6 --time 1s"),
    ("docs/commands/ycsb.md", "PERBUCK_YCSB_PASSWORD=…", "PERBUCK_YCSB_PASSWORD=$PASSWORD"),
    (
        "docs/commands/ycsb.md",
        "mysql.host=db1 -p mysql.user=me",
        "mysql.host=$HOST -p mysql.port=$PORT -p mysql.user=root -p mysql.db=$DATABASE",
    ),
    ("docs/commands/ycsb.md", "recordcount=1000000", "recordcount=1000"),
    ("docs/commands/ycsb.md", "operationcount=5000000", "operationcount=1000"),
];
