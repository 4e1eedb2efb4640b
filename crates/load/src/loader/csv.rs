//! Rows as CSV: what bulk importers read. Pure bytes; who writes them to files is no matter of this crate.
//!
//! Text is always in quotes. So no text is ever taken for a number, for NULL (MySQL reads a bare `NULL` as one), for an
//! empty value (PostgreSQL reads that as NULL) or for the end of the data (PostgreSQL's `\.`).

use crate::values::{Params, Value, put_decimal, write_decimal};

/// Whose CSV it is: they differ in what NULL is, and in what stands before a quote within text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CsvFormat {
    /// NULL is `\N`, a backslash escapes.
    Backslash,
    /// NULL is an empty field without quotes, a quote in text is written twice.
    Quotes,
}

/// What a cell takes at most beyond its text: a sign, 20 digits, a point, a separator; or two quotes and a separator.
const CELL_BYTES: usize = 24;
/// Digits after the point that fit there.
const PLAIN_SCALE: u8 = 18;

/// Appends rows of `width` cells each; no header.
pub fn put_rows(out: &mut Vec<u8>, format: CsvFormat, cells: &Params, width: usize) {
    // Nearly no text has anything special in it, and a look at all of it without a way out is done many bytes at a time.
    let special = cells.all_text().iter().fold(false, |found, b| found | is_special(*b));
    if special || !put_rows_plain(out, format, cells, width) {
        put_rows_escaped(out, format, cells, width);
    }
}

fn null(format: CsvFormat) -> &'static [u8] {
    match format {
        CsvFormat::Backslash => b"\\N",
        CsvFormat::Quotes => b"",
    }
}

/// Rows whose text has nothing special in it: room is made once, and each byte written in its place. False, and nothing
/// written, where a number has too many digits for that.
fn put_rows_plain(out: &mut Vec<u8>, format: CsvFormat, cells: &Params, width: usize) -> bool {
    let null = null(format);
    let start = out.len();
    let mut at = start;
    out.resize(at + cells.all_text().len() + CELL_BYTES * cells.len(), 0);
    let mut left = width;
    for value in cells.iter() {
        match value {
            Value::Null => {
                out[at..at + null.len()].copy_from_slice(null);
                at += null.len();
            }
            Value::Int(v) => at += put_decimal(&mut out[at..], v, 0),
            Value::Decimal { scale, .. } if scale > PLAIN_SCALE => {
                out.truncate(start);
                return false;
            }
            Value::Decimal { unscaled, scale } => at += put_decimal(&mut out[at..], unscaled, scale),
            Value::Text(text) => {
                let cell = &mut out[at..at + text.len() + 2];
                cell[0] = b'"';
                cell[1..=text.len()].copy_from_slice(text);
                cell[text.len() + 1] = b'"';
                at += text.len() + 2;
            }
        }
        left -= 1;
        let row_ends = left == 0;
        out[at] = if row_ends { b'\n' } else { b',' };
        left += if row_ends { width } else { 0 };
        at += 1;
    }
    out.truncate(at);
    true
}

/// Rows with text that has something to escape, or with numbers of many digits.
fn put_rows_escaped(out: &mut Vec<u8>, format: CsvFormat, cells: &Params, width: usize) {
    let mut left = width;
    for value in cells.iter() {
        match value {
            Value::Null => out.extend_from_slice(null(format)),
            Value::Int(v) => write_decimal(out, v, 0),
            Value::Decimal { unscaled, scale } => write_decimal(out, unscaled, scale),
            Value::Text(text) => {
                out.push(b'"');
                put_escaped(out, format, text);
                out.push(b'"');
            }
        }
        left -= 1;
        if left == 0 {
            left = width;
            out.push(b'\n');
        } else {
            out.push(b',');
        }
    }
}

/// Whether a byte may be special to either of them; compared without a branch, so that many are compared at once.
fn is_special(byte: u8) -> bool {
    (byte < b' ') | (byte == b'"') | (byte == b'\\')
}

fn put_escaped(out: &mut Vec<u8>, format: CsvFormat, text: &[u8]) {
    for byte in text {
        match (format, byte) {
            (CsvFormat::Quotes, b'"') => out.extend_from_slice(b"\"\""),
            (CsvFormat::Quotes, byte) => out.push(*byte),
            (CsvFormat::Backslash, b'\n') => out.extend_from_slice(b"\\n"),
            (CsvFormat::Backslash, b'\r') => out.extend_from_slice(b"\\r"),
            (CsvFormat::Backslash, 0) => out.extend_from_slice(b"\\0"),
            (CsvFormat::Backslash, b'"' | b'\\') => out.extend_from_slice(&[b'\\', *byte]),
            (CsvFormat::Backslash, byte) => out.push(*byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(format: CsvFormat) -> String {
        let mut cells = Params::default();
        cells.int(-7).text(b"a,b").null().decimal(-5, 2);
        cells.int(8).text("\u{e9} \"q\" \\N\n\r\0".as_bytes()).text(b"").decimal(12_345, 4);
        cells.null().text(b"NULL").text(b"\\.").int(0);
        let mut out = Vec::new();
        put_rows(&mut out, format, &cells, 4);
        String::from_utf8(out).unwrap()
    }

    /// Numbers at the ends of their ranges, and a batch without anything to escape, which takes another way.
    #[test]
    fn both_ways_write_the_same() {
        let mut cells = Params::default();
        for scale in [0, 1, 2, 4, 18] {
            for number in [0, 1, 9, 10, 99, 100, 12_345, 999_999_999, i64::MAX, -1, -10, -100, -12_345, i64::MIN] {
                cells.int(number).decimal(number, scale).text(b"plain, \xc3\xa9").text(b"").null();
            }
        }
        for format in [CsvFormat::Backslash, CsvFormat::Quotes] {
            let (mut plain, mut escaped, mut either) = (b"x".to_vec(), b"x".to_vec(), b"x".to_vec());
            assert!(put_rows_plain(&mut plain, format, &cells, 5));
            put_rows_escaped(&mut escaped, format, &cells, 5);
            put_rows(&mut either, format, &cells, 5);
            assert_eq!(String::from_utf8(plain.clone()).unwrap(), String::from_utf8(escaped).unwrap());
            assert_eq!(plain, either);
        }
        let mut long = Vec::new();
        put_rows(&mut long, CsvFormat::Backslash, Params::default().decimal(-5, 25), 1);
        assert_eq!(long, b"-0.0000000000000000000000005\n");
    }

    #[test]
    fn mysql_escapes_by_a_backslash_and_postgres_doubles_quotes() {
        let mysql = "-7,\"a,b\",\\N,-0.05\n8,\"\u{e9} \\\"q\\\" \\\\N\\n\\r\\0\",\"\",1.2345\n\\N,\"NULL\",\"\\\\.\",0\n";
        let postgres = "-7,\"a,b\",,-0.05\n8,\"\u{e9} \"\"q\"\" \\N\n\r\0\",\"\",1.2345\n,\"NULL\",\"\\.\",0\n";
        assert_eq!([CsvFormat::Backslash, CsvFormat::Quotes].map(csv), [mysql, postgres]);
    }
}
