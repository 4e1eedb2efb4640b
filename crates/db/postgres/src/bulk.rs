//! Rows in bulk: by COPY ("COPY Operations"), the fastest way that the server offers a client, and by INSERT.

use perbuck_load::driver::{BulkTable, Effect, Session};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::values::{Params, Rows, Value, write_decimal};

use crate::session::{PostgresSession, What};
use crate::wire::messages::{put_message, set_length};
use perbuck_database::sql::put_name;

/// A message of data ends with the row in which it exceeds this.
const DATA_BYTES: usize = 64 * 1024;

/// YugabyteDB commits a COPY by its rows, and before 2025.1.1 even the first one of a transaction when it ends (its issue
/// 27061), before our ledger says that these rows are in. No rows in a piece is one piece. Said before each COPY, because a
/// setting ends with a transaction that is rolled back; a server that does not have it sets nothing.
pub(crate) const WHOLE_COPIES: &str =
    "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'yb_default_copy_from_rows_per_transaction'";

/// Loads rows by COPY: the command, the rows and their end are sent at once, and then the answer is waited for; a server
/// that refuses the command passes over what follows it. All rows are stored, or none.
pub(crate) async fn load_rows(session: &mut PostgresSession, table: &BulkTable, cells: &Params) -> Result<u64, DriverError> {
    let width = width(table, cells)?;
    if cells.is_empty() {
        return Ok(0);
    }
    if let Some(first) = session.before_copy {
        session.query(first, &mut Rows::default()).await?;
    }
    let out = session.put_query(&command(b"COPY ", table, b") FROM STDIN"))?;
    put_rows(out, cells, width);
    put_message(out, b'c', |_| {});
    affected(session.ask(What::Copy, &mut Rows::default()).await)
}

/// Inserts rows by one statement, which may be as long as any: the server's limit is a gigabyte.
pub(crate) async fn insert_rows(session: &mut PostgresSession, table: &BulkTable, cells: &Params) -> Result<u64, DriverError> {
    let width = width(table, cells)?;
    if cells.is_empty() {
        return Ok(0);
    }
    let mut sql = command(b"INSERT INTO ", table, b") VALUES ");
    put_values(&mut sql, cells.iter(), width);
    session.put_query(&sql)?;
    affected(session.ask(What::Text, &mut Rows::default()).await)
}

/// How many cells make a row.
fn width(table: &BulkTable, cells: &Params) -> Result<usize, DriverError> {
    let width = table.columns.len();
    if width == 0 || !cells.len().is_multiple_of(width) {
        let message = format!("{} cells do not make rows of {width} columns of `{}`", cells.len(), table.name);
        return Err(DriverError::client(ErrorClass::Fatal, "parameters", message));
    }
    Ok(width)
}

fn affected(result: Result<Effect, DriverError>) -> Result<u64, DriverError> {
    result.map(|effect| match effect {
        Effect::Affected(rows) => rows,
        Effect::ResultSet => 0,
    })
}

/// `COPY "t" ("a", "b") FROM STDIN`: names are in quotes, so that none is taken for a word of SQL.
fn command(verb: &[u8], table: &BulkTable, end: &[u8]) -> Vec<u8> {
    let mut out = verb.to_vec();
    put_name(&mut out, &table.name, b'"');
    for (i, column) in table.columns.iter().enumerate() {
        out.extend_from_slice(if i == 0 { b" (" } else { b", " });
        put_name(&mut out, column, b'"');
    }
    out.extend_from_slice(end);
    out
}

/// Appends `(1,'a'),(2,'b')`. Backslashes are letters like any other, see the settings of the login.
fn put_values<'a>(out: &mut Vec<u8>, cells: impl Iterator<Item = Value<'a>>, width: usize) {
    for (i, value) in cells.enumerate() {
        let separator: &[u8] = match (i, i % width) {
            (0, _) => b"(",
            (_, 0) => b"),(",
            _ => b",",
        };
        out.extend_from_slice(separator);
        match value {
            Value::Null => out.extend_from_slice(b"NULL"),
            Value::Int(v) => write_decimal(out, v, 0),
            Value::Decimal { unscaled, scale } => write_decimal(out, unscaled, scale),
            Value::Text(text) => {
                out.push(b'\'');
                for part in text.split_inclusive(|b| *b == b'\'') {
                    out.extend_from_slice(part);
                    if part.ends_with(b"'") {
                        out.push(b'\'');
                    }
                }
                out.push(b'\'');
            }
        }
    }
    out.push(b')');
}

/// Appends the rows as messages of data, in the text format: values end with a tab, rows with a newline.
fn put_rows(out: &mut Vec<u8>, cells: &Params, width: usize) {
    // Nearly no text has anything special in it. All of it is looked at at once, and without a branch, so that many bytes are
    // compared at a time.
    let special = cells.all_text().iter().fold(false, |found, byte| found | (*byte < b' ') | (*byte == b'\\'));
    let (mut begun, mut left) = (None, width);
    for value in cells.iter() {
        let at = *begun.get_or_insert_with(|| {
            out.extend_from_slice(b"d\0\0\0\0");
            out.len() - 4
        });
        match value {
            Value::Null => out.extend_from_slice(b"\\N"),
            Value::Int(v) => write_decimal(out, v, 0),
            Value::Decimal { unscaled, scale } => write_decimal(out, unscaled, scale),
            Value::Text(text) if special => put_escaped(out, text),
            Value::Text(text) => out.extend_from_slice(text),
        }
        left -= 1;
        let row_ends = left == 0;
        out.push(if row_ends { b'\n' } else { b'\t' });
        if !row_ends {
            continue;
        }
        left = width;
        if out.len() - at > DATA_BYTES {
            set_length(out, at);
            begun = None;
        }
    }
    if let Some(at) = begun {
        set_length(out, at);
    }
}

/// Text without what ends a value, a row or an escape. In UTF-8 no byte of a longer character looks like one of these.
fn put_escaped(out: &mut Vec<u8>, text: &[u8]) {
    let is_special = |byte: &u8| matches!(byte, b'\\' | b'\t' | b'\n' | b'\r');
    let mut rest = text;
    while let Some(at) = rest.iter().position(is_special) {
        out.extend_from_slice(&rest[..at]);
        let escaped: &[u8; 2] = match rest[at] {
            b'\t' => b"\\t",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            _ => b"\\\\",
        };
        out.extend_from_slice(escaped);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::messages::message_at;

    fn rows(params: &Params, width: usize) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        put_rows(&mut out, params, width);
        let (mut at, mut bodies) = (0, Vec::new());
        while at < out.len() {
            let (kind, body, next) = message_at(&out, at).unwrap();
            assert_eq!(kind, b'd');
            bodies.push(body.to_vec());
            at = next;
        }
        bodies
    }

    #[test]
    fn values_are_separated_and_escaped() {
        let mut p = Params::default();
        p.int(-7).decimal(-1230, 2).null().text("ä\t\\N\n\r.".as_bytes()).int(1).null().text(b"\\.").text(b"");
        assert_eq!(rows(&p, 4), ["-7\t-12.30\t\\N\tä\\t\\\\N\\n\\r.\n1\t\\N\t\\\\.\t\n".as_bytes()]);
        let table = BulkTable { name: "a\"b".to_owned(), columns: vec!["id", "order"] };
        assert_eq!(command(b"COPY ", &table, b") FROM STDIN"), b"COPY \"a\"\"b\" (\"id\", \"order\") FROM STDIN");
    }

    #[test]
    fn values_are_literals() {
        let mut p = Params::default();
        p.int(-7).text(b"'a''\\").decimal(-1230, 2).null();
        let mut out = Vec::new();
        put_values(&mut out, p.iter(), 2);
        assert_eq!(String::from_utf8(out).unwrap(), "(-7,'''a''''\\'),(-12.30,NULL)");
    }

    #[test]
    fn large_loads_go_in_several_messages_that_end_with_a_row() {
        let mut p = Params::default();
        (0..50_000).for_each(|i| _ = p.int(i).text(b"0123456789"));
        let all = rows(&p, 2);
        assert!(all.len() > 10 && all.iter().all(|body| body.ends_with(b"\n") && body.len() < DATA_BYTES + 100));
        assert_eq!(all.concat().split(|b| *b == b'\n').count(), 50_001);
    }

    /// As the server reads it.
    fn unescape(text: &[u8]) -> Vec<u8> {
        let (mut out, mut bytes) = (Vec::new(), text.iter());
        while let Some(byte) = bytes.next() {
            match byte {
                b'\\' => out.push(match bytes.next() {
                    Some(b't') => b'\t',
                    Some(b'n') => b'\n',
                    Some(b'r') => b'\r',
                    other => *other.unwrap(),
                }),
                byte => out.push(*byte),
            }
        }
        out
    }

    proptest! {
        #[test]
        fn any_text_survives(text in proptest::collection::vec(prop_oneof![Just(b'\\'), Just(b'\n'), any::<u8>()], 0..60)) {
            let mut p = Params::default();
            p.text(&text).int(1);
            let body = rows(&p, 2).concat();
            let value = body.split(|b| *b == b'\t').next().unwrap();
            prop_assert!(!value.contains(&b'\n') && !value.contains(&b'\r'));
            prop_assert_eq!(unescape(value), text);
        }
    }
}
