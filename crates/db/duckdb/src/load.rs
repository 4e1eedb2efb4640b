//! The fastest way to load: DuckDB's appender, fed with columns.

use std::ffi::{CStr, CString};
use std::rc::Rc;

use perbuck_load::driver::BulkTable;
use perbuck_load::values::{Params, Value, write_decimal};

use crate::ffi::{Appender, Batch, Connection, Kind};
use crate::session::decimal;

/// Appends rows, within a transaction that has to be rolled back after an error.
pub(crate) fn load(connection: &Rc<Connection>, table: &BulkTable, cells: &Params) -> Result<u64, String> {
    let width = table.columns.len();
    let text = |name: &String| CString::new(name.as_str()).map_err(|_| "Invalid Input Error: a name holds a NUL".to_owned());
    let columns = table.columns.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<&CStr> = columns.iter().map(CString::as_c_str).collect();
    // That there is no such table comes without its kind.
    let with_kind = |message: String| if message.contains(" Error: ") { message } else { format!("Catalog Error: {message}") };
    let mut appender = Appender::new(connection, &text(&table.name)?, names.into_iter()).map_err(with_kind)?;
    if cells.is_empty() {
        return appender.close().map(|()| 0);
    }
    if appender.columns().len() != width {
        return Err(format!("Invalid Input Error: table {} takes {} columns, not {width}", table.name, appender.columns().len()));
    }
    let kinds = written(appender.columns(), cells);
    let library = connection.library();
    let unwritable = || "Invalid Input Error: perbuck makes no batch for these columns".to_owned();
    let mut batch = Batch::new(library, &kinds).ok_or_else(unwritable)?;
    let (mut values, mut scratch) = (cells.iter(), Vec::new());
    for _ in 0..cells.len() / width {
        if batch.rows() == library.vector_rows() {
            appender.append(&batch)?;
            batch.clear();
        }
        batch.add_row();
        for (column, (kind, value)) in kinds.iter().zip(values.by_ref()).enumerate() {
            put(&mut batch, column, *kind, value, &mut scratch);
        }
    }
    appender.append(&batch)?;
    appender.close()?;
    Ok((cells.len() / width) as u64)
}

/// The types in which columns are written: those of the table where all values are of them, else text, which DuckDB casts.
fn written(columns: &[Kind], cells: &Params) -> Vec<Kind> {
    let mut kinds = columns.to_vec();
    let width = kinds.len();
    for (index, value) in cells.iter().enumerate() {
        let kind = &mut kinds[index % width];
        if !fits(value, *kind) {
            *kind = Kind::Text;
        }
    }
    kinds
}

/// Whether a value can be written as it is.
fn fits(value: Value<'_>, kind: Kind) -> bool {
    match (value, kind) {
        (_, Kind::Text) => true,
        (Value::Null, kind) => writable(kind),
        (Value::Int(v), Kind::Int8) => i8::try_from(v).is_ok(),
        (Value::Int(v), Kind::Int16) => i16::try_from(v).is_ok(),
        (Value::Int(v), Kind::Int32) => i32::try_from(v).is_ok(),
        (Value::Int(_), Kind::Int64) | (Value::Text(_), Kind::Bytes) => true,
        (value, Kind::Decimal { width: width @ ..=18, scale }) => unscaled(value, (width, scale)).is_some(),
        _ => false,
    }
}

fn writable(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Int8 | Kind::Int16 | Kind::Int32 | Kind::Int64 | Kind::Text | Kind::Bytes | Kind::Decimal { width: ..=18, .. }
    )
}

fn unscaled(value: Value<'_>, digits: (u8, u8)) -> Option<i64> {
    match value {
        Value::Int(v) => decimal(v, 0, digits),
        Value::Decimal { unscaled, scale } => decimal(unscaled, scale, digits),
        Value::Null | Value::Text(_) => None,
    }
}

/// Writes a value that fits, in a column of the last row.
fn put(batch: &mut Batch, column: usize, kind: Kind, value: Value<'_>, scratch: &mut Vec<u8>) {
    match (value, kind) {
        (Value::Null, _) => batch.put_null(column),
        (Value::Text(bytes), _) => batch.put_text(column, bytes),
        (Value::Int(v), Kind::Text) => batch.put_text(column, v.to_string().as_bytes()),
        (Value::Decimal { unscaled, scale }, Kind::Text) => {
            scratch.clear();
            write_decimal(scratch, unscaled, scale);
            batch.put_text(column, scratch);
        }
        (value, Kind::Decimal { width, scale }) => {
            if let Some(v) = unscaled(value, (width, scale)) {
                batch.put_number(column, v);
            }
        }
        (Value::Int(v) | Value::Decimal { unscaled: v, .. }, _) => batch.put_number(column, v),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_written_as_they_are_unless_a_value_is_of_another_type() {
        let mut cells = Params::default();
        cells.int(1).decimal(150, 2).text(b"a").text(b"\xff").text(b"2010-02-01 00:00:00");
        cells.int(2).null().null().null().null();
        let columns = [Kind::Int32, Kind::Decimal { width: 12, scale: 2 }, Kind::Text, Kind::Bytes, Kind::Timestamp];
        assert_eq!(written(&columns, &cells)[..4], columns[..4]);
        assert_eq!(written(&columns, &cells)[4], Kind::Text);
        // Beyond the type: DuckDB says so itself.
        for (value, kind) in [
            (Value::Int(1 << 40), Kind::Int32),
            (Value::Int(300), Kind::Int8),
            (Value::Text(b"1"), Kind::Int32),
            (Value::Decimal { unscaled: 1, scale: 3 }, Kind::Decimal { width: 12, scale: 2 }),
            (Value::Int(1_000), Kind::Decimal { width: 4, scale: 2 }),
            (Value::Int(1), Kind::Decimal { width: 38, scale: 2 }),
            (Value::Int(1), Kind::Float64),
            (Value::Null, Kind::Date),
        ] {
            assert!(!fits(value, kind), "{value:?} {kind:?}");
        }
        assert!(fits(Value::Int(99), Kind::Decimal { width: 4, scale: 2 }));
    }
}
