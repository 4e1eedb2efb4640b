//! What tables take in the file.

use std::path::Path;

use perbuck_database::file;
use perbuck_load::driver::DataSize;
use rusqlite::{Connection, OptionalExtension};

use crate::LOG;

/// The pages of each table and index, which reads all of them, and the file with its log of writes.
pub(crate) fn data_size(connection: &Connection, tables: &[String], path: &Path) -> rusqlite::Result<DataSize> {
    let names = tables.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    let mut of =
        connection.prepare(&format!("SELECT name, type FROM sqlite_schema WHERE tbl_name IN ({names}) AND rootpage > 0"))?;
    let trees = of.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<Vec<(String, String)>>>()?;
    // One tree at a time: without a name the view reads the whole file.
    let mut pages = connection.prepare("SELECT SUM(pgsize) FROM dbstat WHERE name = ?1")?;
    let mut size = DataSize { tables_bytes: Some(0), indexes_bytes: Some(0), store_bytes: None };
    for (name, kind) in trees {
        let bytes: Option<i64> = pages.query_row([name], |row| row.get(0)).optional()?.flatten();
        let sum = if kind == "table" { &mut size.tables_bytes } else { &mut size.indexes_bytes };
        *sum = sum.map(|sum| sum + bytes.unwrap_or(0).unsigned_abs());
    }
    size.store_bytes = Some(file::bytes(path, LOG));
    Ok(size)
}
