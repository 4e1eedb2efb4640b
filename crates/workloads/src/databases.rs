//! The words of the databases, for tests.

use perbuck_database::Dialect;
use perbuck_mysql::MysqlDialect;
use perbuck_postgres::Family;
use perbuck_sqlite::SqliteDialect;
use perbuck_tikv::TikvDialect;

pub(crate) const MYSQL: &dyn Dialect = &MysqlDialect;
pub(crate) const SQLITE: &dyn Dialect = &SqliteDialect;
pub(crate) const POSTGRES: &dyn Dialect = &Family::Postgres;
pub(crate) const COCKROACH: &dyn Dialect = &Family::Cockroach;
pub(crate) const YUGABYTE: &dyn Dialect = &Family::Yugabyte;
pub(crate) const TIKV: &dyn Dialect = &TikvDialect;
