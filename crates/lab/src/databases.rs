//! The databases that perbuck drives. A new one is a room of its own, and a line here.

use perbuck_duckdb::Duckdb;
use perbuck_mysql::Mysql;
use perbuck_postgres::Postgres;
use perbuck_sqlite::Sqlite;
use perbuck_tikv::Tikv;

/// All of them, in the order in which messages list them.
pub type AllDatabases = (Sqlite, (Duckdb, (Mysql, (Postgres, (Tikv, ())))));
