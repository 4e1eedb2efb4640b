//! The fastest way to load: DuckDB's appender, fed with columns.

use std::ffi::{CStr, CString};
use std::rc::Rc;

use perbuck_load::driver::BulkTable;
use perbuck_load::values::{Params, Value, write_decimal};

use crate::calendar::{days, micros};
use crate::ffi::{Appender, Batch, Connection, Kind};
use crate::session::decimal;

/// The tables that a session is loading. They stay open within a transaction: what an appender has gathered becomes an INSERT of its
/// own, which DuckDB plans each time.
#[derive(Debug, Default)]
pub(crate) struct Loads(Vec<Open>);

impl Loads {
    /// Appends rows to a table, within a transaction that has to be rolled back after an error. They are in the table after
    /// [`Self::finish`].
    pub(crate) fn append(&mut self, connection: &Rc<Connection>, table: &BulkTable, cells: &Params) -> Result<u64, String> {
        let open = match self.0.iter().position(|open| open.name == table.name && open.columns == table.columns) {
            Some(position) => &mut self.0[position],
            None => {
                self.0.push(Open::new(connection, table)?);
                let last = self.0.len() - 1;
                &mut self.0[last]
            }
        };
        open.append(cells)
    }

    /// Writes what was appended.
    pub(crate) fn finish(&mut self) -> Result<(), String> {
        self.0.drain(..).try_for_each(Open::finish)
    }

    /// Forgets all of them, in a transaction that is rolled back next.
    pub(crate) fn discard(&mut self) {
        self.0.clear();
    }
}

/// A table that is being loaded.
#[derive(Debug)]
struct Open {
    name: String,
    columns: Vec<String>,
    connection: Rc<Connection>,
    appender: Appender,
    /// Rows that the appender has not taken yet, and the types in which their columns are written.
    batch: Option<(Batch, Vec<Kind>)>,
}

impl Open {
    fn new(connection: &Rc<Connection>, table: &BulkTable) -> Result<Self, String> {
        let text = |name: &String| CString::new(name.as_str()).map_err(|_| "Invalid Input Error: a name holds a NUL".to_owned());
        let columns = table.columns.iter().map(text).collect::<Result<Vec<_>, _>>()?;
        let names: Vec<&CStr> = columns.iter().map(CString::as_c_str).collect();
        // That there is no such table comes without its kind.
        let with_kind =
            |message: String| if message.contains(" Error: ") { message } else { format!("Catalog Error: {message}") };
        let appender = Appender::new(connection, &text(&table.name)?, names.into_iter()).map_err(with_kind)?;
        let (width, found) = (table.columns.len(), appender.columns().len());
        if found != width {
            return Err(format!("Invalid Input Error: table {} takes {found} columns, not {width}", table.name));
        }
        let (name, columns) = (table.name.clone(), table.columns.clone());
        Ok(Self { name, columns, connection: Rc::clone(connection), appender, batch: None })
    }

    fn append(&mut self, cells: &Params) -> Result<u64, String> {
        if cells.is_empty() {
            return Ok(0);
        }
        let width = self.columns.len();
        let kinds = written(self.appender.columns(), cells);
        let library = self.connection.library();
        let (mut batch, kinds) = match self.batch.take() {
            Some((batch, of)) if of == kinds => (batch, of),
            other => {
                // Columns of other types are another batch.
                other.map_or(Ok(()), |(batch, _)| self.appender.append(&batch))?;
                let unwritable = || "Invalid Input Error: perbuck makes no batch for these columns".to_owned();
                (Batch::new(library, &kinds).ok_or_else(unwritable)?, kinds)
            }
        };
        let (mut values, mut scratch) = (cells.iter(), Vec::new());
        for _ in 0..cells.len() / width {
            if batch.rows() == library.vector_rows() {
                self.appender.append(&batch)?;
                batch.clear();
            }
            batch.add_row();
            for (column, (kind, value)) in kinds.iter().zip(values.by_ref()).enumerate() {
                put(&mut batch, column, *kind, value, &mut scratch);
            }
        }
        self.batch = Some((batch, kinds));
        Ok((cells.len() / width) as u64)
    }

    fn finish(mut self) -> Result<(), String> {
        if let Some((batch, _)) = self.batch.take() {
            self.appender.append(&batch)?;
        }
        self.appender.close()
    }
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
        (Value::Text(text), Kind::Date) => days(text).is_some(),
        (Value::Text(text), Kind::Timestamp) => micros(text).is_some(),
        (value, Kind::Decimal { width: width @ ..=18, scale }) => unscaled(value, (width, scale)).is_some(),
        _ => false,
    }
}

fn writable(kind: Kind) -> bool {
    let numbers = matches!(kind, Kind::Int8 | Kind::Int16 | Kind::Int32 | Kind::Int64 | Kind::Decimal { width: ..=18, .. });
    numbers || matches!(kind, Kind::Text | Kind::Bytes | Kind::Date | Kind::Timestamp)
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
        (Value::Text(text), Kind::Date) => batch.put_number(column, days(text).unwrap_or_default().into()),
        (Value::Text(text), Kind::Timestamp) => batch.put_number(column, micros(text).unwrap_or_default()),
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
        cells.int(1).decimal(150, 2).text(b"a").text(b"\xff").text(b"2010-02-01 00:00:00").text(b"2010-02-01").text(b"03:04:05");
        cells.int(2).null().null().null().null().null().null();
        let decimal = Kind::Decimal { width: 12, scale: 2 };
        let columns = [Kind::Int32, decimal, Kind::Text, Kind::Bytes, Kind::Timestamp, Kind::Date, Kind::Time];
        assert_eq!(written(&columns, &cells)[..6], columns[..6]);
        assert_eq!(written(&columns, &cells)[6], Kind::Text);
        // Beyond the type: DuckDB says so itself.
        for (value, kind) in [
            (Value::Int(1 << 40), Kind::Int32),
            (Value::Int(300), Kind::Int8),
            (Value::Text(b"1"), Kind::Int32),
            (Value::Decimal { unscaled: 1, scale: 3 }, Kind::Decimal { width: 12, scale: 2 }),
            (Value::Int(1_000), Kind::Decimal { width: 4, scale: 2 }),
            (Value::Int(1), Kind::Decimal { width: 38, scale: 2 }),
            (Value::Int(1), Kind::Float64),
            (Value::Text(b"2010-02-30"), Kind::Date),
            (Value::Text(b"2010-02-01"), Kind::Timestamp),
            (Value::Null, Kind::Time),
        ] {
            assert!(!fits(value, kind), "{value:?} {kind:?}");
        }
        assert!(fits(Value::Int(99), Kind::Decimal { width: 4, scale: 2 }));
    }
}
