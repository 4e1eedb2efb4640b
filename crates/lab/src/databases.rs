//! The databases that perbuck drives, and its benchmarks. A new one is a room of its own, and a line here.

use perbuck_duckdb::Duckdb;
use perbuck_lua::LuaScript;
use perbuck_mysql::Mysql;
use perbuck_postgres::Postgres;
use perbuck_sqlite::Sqlite;
use perbuck_tikv::Tikv;
use perbuck_workloads::{ch, script, sysbench, tpcc, tpch, traffic, ycsb};

/// All of them, in the order in which messages list them.
pub type AllDatabases = (Sqlite, (Duckdb, (Mysql, (Postgres, (Tikv, ())))));

/// All benchmarks: those that are built in, and scripts in Lua.
pub type AllBenchmarks = (
    sysbench::Options,
    (tpcc::Options, (ycsb::Options, (tpch::Options, (ch::Options, (script::Options, (traffic::Options, (LuaScript, ()))))))),
);
