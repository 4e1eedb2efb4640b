//! What tables take on a server, by its own functions for it.

use perbuck_load::driver::{DataSize, Session as _};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::values::Rows;

use crate::session::PostgresSession;

/// A table counts with its partitions, which are tables of their own. Its primary key is an index beside it.
pub(crate) async fn data_size(session: &mut PostgresSession, tables: &[String]) -> Result<DataSize, DriverError> {
    let oids = tables.iter().map(|name| format!("to_regclass('{name}')::oid")).collect::<Vec<_>>().join(", ");
    let of_tables = format!(
        "SELECT SUM(pg_table_size(oid))::bigint, SUM(pg_indexes_size(oid))::bigint FROM pg_class \
         WHERE oid IN ({oids}) OR oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent IN ({oids}))"
    );
    let mut rows = Rows::default();
    let [tables_bytes, indexes_bytes] = told(session, &of_tables, &mut rows).await?;
    let [store_bytes] = told(session, "SELECT pg_database_size(current_database())", &mut rows).await?;
    Ok(DataSize { tables_bytes, indexes_bytes, store_bytes })
}

/// The memory that all server processes share for pages. The cache of the operating system holds pages, too.
pub(crate) async fn page_memory(session: &mut PostgresSession) -> Result<Option<u64>, DriverError> {
    let [bytes] = told(session, "SELECT pg_size_bytes(current_setting('shared_buffers'))", &mut Rows::default()).await?;
    Ok(bytes)
}

/// Numbers of bytes; none where this version, or a server that follows PostgreSQL, does not tell them.
async fn told<const N: usize>(
    session: &mut PostgresSession,
    sql: &str,
    rows: &mut Rows,
) -> Result<[Option<u64>; N], DriverError> {
    let mut bytes = [None; N];
    match session.query(sql, rows).await {
        Err(error) if error.class == ErrorClass::Lost => return Err(error),
        Err(_) => return Ok(bytes),
        Ok(_) => {}
    }
    for (column, bytes) in bytes.iter_mut().enumerate().filter(|_| !rows.is_empty()) {
        if !rows.is_null(0, column)? {
            *bytes = u64::try_from(rows.int(0, column)?).ok();
        }
    }
    Ok(bytes)
}
