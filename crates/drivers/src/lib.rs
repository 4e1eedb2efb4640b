//! The databases, by one name.

pub use perbuck_database::secret;
pub use {perbuck_mysql as mysql, perbuck_postgres as postgres, perbuck_sqlite as sqlite, perbuck_tikv as tikv};
pub mod target;
