//! What tables take in the file.

use std::path::Path;

use perbuck_database::file;
use perbuck_load::driver::{DataSize, Session};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::values::Rows;

use crate::LOG;
use crate::session::DuckdbSession;

/// The blocks of each table's columns, and the file with its log of writes. DuckDB does not tell what an index takes.
pub(crate) async fn data_size(session: &mut DuckdbSession, tables: &[String], path: &Path) -> Result<DataSize, DriverError> {
    let mut rows = Rows::default();
    // What is in the log alone has no blocks yet. A transaction that is open elsewhere keeps it there.
    if let Err(error) = session.query("CHECKPOINT", &mut rows).await
        && error.class != ErrorClass::Retry
    {
        return Err(error);
    }
    session.query("SELECT block_size FROM pragma_database_size() WHERE database_name = current_database()", &mut rows).await?;
    let block_bytes = rows.int(0, 0)?.max(0).unsigned_abs();
    let mut blocks = 0;
    for table in tables {
        let known =
            format!("SELECT COUNT(*) FROM duckdb_tables() WHERE table_name = '{table}' AND database_name = current_database()");
        session.query(&known, &mut rows).await?;
        if rows.int(0, 0)? == 0 {
            continue;
        }
        // Small columns share a block.
        let sql =
            format!("SELECT COUNT(DISTINCT block_id) FROM pragma_storage_info('{table}') WHERE persistent AND block_id >= 0");
        session.query(&sql, &mut rows).await?;
        blocks += rows.int(0, 0)?.max(0).unsigned_abs();
    }
    let store_bytes = Some(file::bytes(path, LOG));
    Ok(DataSize { tables_bytes: Some(blocks * block_bytes), indexes_bytes: None, store_bytes })
}
