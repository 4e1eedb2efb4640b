//! INSERT statements of many rows.

use std::ffi::CString;
use std::rc::Rc;

use perbuck_load::driver::BulkTable;
use perbuck_load::values::Params;

use crate::ffi::{Connection, Outcome, Statement};
use crate::session::bind_all;

/// Values of one statement, at most. DuckDB plans a statement in a time that grows with them; larger ones were no faster by the row.
const VALUES_MAX: usize = 4_000;

/// Inserts rows, within a transaction that has to be rolled back after an error.
pub(crate) fn insert(connection: &Rc<Connection>, table: &BulkTable, cells: &Params) -> Result<u64, String> {
    let width = table.columns.len();
    let most = (VALUES_MAX / width).max(1);
    let (mut left, mut values, mut count) = (cells.len() / width, cells.iter(), 0);
    let mut full = None;
    while left > 0 {
        let rows = left.min(most);
        let made = if rows == most { full.take() } else { None };
        let statement = match made {
            Some(statement) => statement,
            None => prepare(connection, table, rows)?,
        };
        bind_all(&statement, values.by_ref().take(rows * width))?;
        match statement.execute()?.outcome() {
            Outcome::Changed(changed) => count += changed,
            Outcome::Rows => {}
        }
        full = (rows == most).then_some(statement);
        left -= rows;
    }
    Ok(count)
}

fn prepare(connection: &Rc<Connection>, table: &BulkTable, rows: usize) -> Result<Statement, String> {
    let row = format!("({})", vec!["?"; table.columns.len()].join(", "));
    let sql = format!("INSERT INTO {} ({}) VALUES {}", table.name, table.columns.join(", "), vec![row; rows].join(", "));
    let sql = CString::new(sql).map_err(|_| "Invalid Input Error: a name holds a NUL".to_owned())?;
    Statement::prepare(connection, &sql)
}
