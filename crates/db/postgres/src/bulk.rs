//! Rows in bulk: by COPY ("COPY Operations"), the fastest way that the server offers a client, and by INSERT.

use perbuck_load::driver::BulkTable;
use perbuck_load::values::Params;

use crate::wire::messages::set_length;
use perbuck_database::bulk::{needs_escapes, put_escaped, put_line, put_literal, put_table};

/// A message of data ends with the row in which it exceeds this.
const DATA_BYTES: usize = 64 * 1024;

/// YugabyteDB commits a COPY by its rows, and before 2025.1.1 even the first one of a transaction when it ends (its issue
/// 27061), before our ledger says that these rows are in. No rows in a piece is one piece. Said before each COPY, because a
/// setting ends with a transaction that is rolled back; a server that does not have it sets nothing.
pub(crate) const WHOLE_COPIES: &str =
    "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'yb_default_copy_from_rows_per_transaction'";

/// `COPY "t" ("a", "b") FROM STDIN`.
pub(crate) fn copy(table: &BulkTable) -> Vec<u8> {
    let mut sql = b"COPY ".to_vec();
    put_folded(&mut sql, table);
    sql.extend_from_slice(b" FROM STDIN");
    sql
}

/// Appends `"t" ("a", "b")`. Statements that make and use the tables have their names without quotes, which PostgreSQL folds to small
/// letters ("Identifiers and Key Words"); names in quotes must be those.
fn put_folded(sql: &mut Vec<u8>, table: &BulkTable) {
    let at = sql.len();
    put_table(sql, table, b'"');
    sql[at..].make_ascii_lowercase();
}

/// One INSERT of all rows, `VALUES (1,'a'),(2,'b')`. It may be as long as any: the server's limit is a gigabyte. Backslashes are
/// letters like any other, see the settings of the login.
pub(crate) fn insert(table: &BulkTable, cells: &Params, width: usize) -> Vec<u8> {
    let mut sql = b"INSERT INTO ".to_vec();
    put_folded(&mut sql, table);
    sql.extend_from_slice(b" VALUES ");
    for (i, value) in cells.iter().enumerate() {
        let separator: &[u8] = match (i, i % width) {
            (0, _) => b"(",
            (_, 0) => b"),(",
            _ => b",",
        };
        sql.extend_from_slice(separator);
        put_literal(&mut sql, value, |sql, text| {
            sql.push(b'\'');
            put_escaped(sql, text, |byte| (byte == b'\'').then_some(b"''"));
            sql.push(b'\'');
        });
    }
    sql.push(b')');
    sql
}

/// Appends the rows as messages of data, in the text format.
pub(crate) fn put_rows(out: &mut Vec<u8>, cells: &Params, width: usize) {
    let plain = !needs_escapes(cells);
    let mut rest = cells.iter();
    while rest.len() > 0 {
        out.extend_from_slice(b"d\0\0\0\0");
        let at = out.len() - 4;
        while rest.len() > 0 && out.len() - at <= DATA_BYTES {
            put_line(out, rest.by_ref().take(width), plain, |byte| match byte {
                b'\\' => Some(b"\\\\"),
                b'\t' => Some(b"\\t"),
                b'\n' => Some(b"\\n"),
                b'\r' => Some(b"\\r"),
                _ => None,
            });
        }
        set_length(out, at);
    }
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
        let table = BulkTable { name: "a\"b".to_owned(), columns: ["ID", "order"].map(str::to_owned).to_vec() };
        assert_eq!(copy(&table), b"COPY \"a\"\"b\" (\"id\", \"order\") FROM STDIN");
    }

    #[test]
    fn values_are_literals() {
        let mut p = Params::default();
        p.int(-7).text(b"'a''\\").decimal(-1230, 2).null();
        let table = BulkTable { name: "t".to_owned(), columns: ["a", "b"].map(str::to_owned).to_vec() };
        let sql = String::from_utf8(insert(&table, &p, 2)).unwrap();
        assert_eq!(sql, "INSERT INTO \"t\" (\"a\", \"b\") VALUES (-7,'''a''''\\'),(-12.30,NULL)");
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
