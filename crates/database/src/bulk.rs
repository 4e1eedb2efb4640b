//! Rows in bulk, as servers of SQL take them: by INSERT with literals, or as lines of values that are separated by tabs.

use perbuck_load::driver::{BulkTable, Effect};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::values::{Params, Value, write_decimal};

use crate::sql::put_name;

/// How many cells make a row; `Fatal` where the cells are not whole rows.
pub fn row_width(table: &BulkTable, cells: &Params) -> Result<usize, DriverError> {
    let width = table.columns.len();
    if width == 0 || !cells.len().is_multiple_of(width) {
        let message = format!("{} values do not fill rows of {width} columns of `{}`", cells.len(), table.name);
        return Err(DriverError::client(ErrorClass::Fatal, "parameters", message));
    }
    Ok(width)
}

/// How many rows a statement changed; 0 for one that returned rows.
pub fn affected(effect: Effect) -> u64 {
    if let Effect::Affected(rows) = effect { rows } else { 0 }
}

/// Appends `"t" ("a", "b")`: names are in quotes, so that none is taken for a word of SQL.
pub fn put_table(out: &mut Vec<u8>, table: &BulkTable, quote: u8) {
    put_name(out, &table.name, quote);
    out.push(b' ');
    put_columns(out, table, quote);
}

/// `INSERT INTO "t" ("a", "b") VALUES `.
pub fn insert_head(table: &BulkTable, quote: u8) -> Vec<u8> {
    let mut sql = b"INSERT INTO ".to_vec();
    put_table(&mut sql, table, quote);
    sql.extend_from_slice(b" VALUES ");
    sql
}

/// Appends `("a", "b")`.
pub fn put_columns(out: &mut Vec<u8>, table: &BulkTable, quote: u8) {
    for (i, column) in table.columns.iter().enumerate() {
        out.extend_from_slice(if i == 0 { b"(" } else { b", " });
        put_name(out, column, quote);
    }
    out.push(b')');
}

/// Appends a value as a literal; the quotes and escapes of texts are the database's.
pub fn put_literal(out: &mut Vec<u8>, value: Value<'_>, put_text: impl FnOnce(&mut Vec<u8>, &[u8])) {
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(v) => write_decimal(out, v, 0),
        Value::Decimal { unscaled, scale } => write_decimal(out, unscaled, scale),
        Value::Text(text) => put_text(out, text),
    }
}

/// Appends a row as one line of values between tabs. Where `plain` is set, no text needs an escape, see [`needs_escapes`]; else
/// `escape` gives the escape of a byte that needs one.
pub fn put_line<'a>(
    out: &mut Vec<u8>,
    row: impl Iterator<Item = Value<'a>>,
    plain: bool,
    escape: impl Fn(u8) -> Option<&'static [u8; 2]> + Copy,
) {
    for (i, value) in row.enumerate() {
        if i > 0 {
            out.push(b'\t');
        }
        match value {
            Value::Null => out.extend_from_slice(b"\\N"),
            Value::Text(text) if plain => out.extend_from_slice(text),
            value => put_literal(out, value, |out, text| put_escaped(out, text, escape)),
        }
    }
    out.push(b'\n');
}

/// Whether any text may need an escape in a line. Nearly none does: all bytes are looked at at once, and without a branch, so
/// that many are compared at a time.
pub fn needs_escapes(cells: &Params) -> bool {
    cells.all_text().iter().fold(false, |found, byte| found | (*byte < b' ') | (*byte == b'\\'))
}

/// Appends text with the escapes of the bytes that have one. In UTF-8 no byte of a longer character looks like one of ASCII.
pub fn put_escaped(out: &mut Vec<u8>, text: &[u8], escape: impl Fn(u8) -> Option<&'static [u8; 2]>) {
    let mut plain_from = 0;
    for (i, byte) in text.iter().enumerate() {
        if let Some(escaped) = escape(*byte) {
            out.extend_from_slice(&text[plain_from..i]);
            out.extend_from_slice(escaped);
            plain_from = i + 1;
        }
    }
    out.extend_from_slice(&text[plain_from..]);
}
