//! SQL text with values in it, for the text protocol ("String Literals", "Comments").

use perbuck_load::values::Value;

use perbuck_database::bulk;
use perbuck_database::sql::{quoted_length, until};

/// Appends `value` as a literal. With `no_backslash` (sql_mode NO_BACKSLASH_ESCAPES) a backslash is a letter like any
/// other, and escaping by one would open the string. The character set of the connection is utf8mb4, in which no byte
/// of a longer character looks like a quote.
pub(crate) fn put_literal(out: &mut Vec<u8>, value: Value<'_>, no_backslash: bool) {
    bulk::put_literal(out, value, |out, text| put_string(out, text, no_backslash));
}

fn put_string(out: &mut Vec<u8>, text: &[u8], no_backslash: bool) {
    // Bytes that are no text are refused or replaced in a literal, unless it says that it is made of bytes.
    if std::str::from_utf8(text).is_err() {
        out.extend_from_slice(b"_binary");
    }
    out.push(b'\'');
    bulk::put_escaped(out, text, |byte| match byte {
        b'\'' => Some(b"''"),
        _ if no_backslash => None,
        b'\\' => Some(b"\\\\"),
        0 => Some(b"\\0"),
        _ => None,
    });
    out.push(b'\'');
}

/// Where the `?` of parameters stand, which is outside of strings, names and comments.
pub(crate) fn placeholders(sql: &str, no_backslash: bool) -> Vec<usize> {
    let bytes = sql.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let rest = &bytes[at..];
        at += match byte {
            b'?' => {
                found.push(at);
                1
            }
            b'\'' | b'"' => quoted_length(rest, *byte, !no_backslash),
            b'`' => quoted_length(rest, *byte, false),
            b'#' => until(rest, b"\n"),
            b'-' if rest.starts_with(b"-- ") || rest.starts_with(b"--\n") || rest.starts_with(b"--\t") => until(rest, b"\n"),
            // What stands in `/*! … */` is executed, but no catalogue hides a parameter there.
            b'/' if rest.starts_with(b"/*") => 2 + until(&rest[2..], b"*/"),
            _ => 1,
        };
    }
    found
}

/// Appends `sql` with the values at the positions; `None` where their numbers differ.
pub(crate) fn put_statement<'a>(
    out: &mut Vec<u8>,
    sql: &str,
    positions: &[usize],
    values: impl ExactSizeIterator<Item = Value<'a>>,
    no_backslash: bool,
) -> Option<()> {
    if values.len() != positions.len() {
        return None;
    }
    let bytes = sql.as_bytes();
    let mut from = 0;
    for (at, value) in positions.iter().zip(values) {
        out.extend_from_slice(bytes.get(from..*at)?);
        put_literal(out, value, no_backslash);
        from = at + 1;
    }
    out.extend_from_slice(bytes.get(from..)?);
    Some(())
}

#[cfg(test)]
mod tests {
    use perbuck_load::values::Params;
    use proptest::prelude::*;

    use super::*;

    fn text(sql: &str, params: &Params, no_backslash: bool) -> Option<String> {
        let mut out = Vec::new();
        put_statement(&mut out, sql, &placeholders(sql, no_backslash), params.iter(), no_backslash)?;
        Some(String::from_utf8_lossy(&out).into_owned())
    }

    #[test]
    fn values_stand_where_the_question_marks_stood() {
        let mut p = Params::default();
        p.int(-7).decimal(-1230, 2).null().text("ä'\\\0\n%".as_bytes()).text(b"\xff'");
        let mut out = Vec::new();
        let sql = "SELECT ?, ?, ?, ?, ?";
        put_statement(&mut out, sql, &placeholders(sql, false), p.iter(), false).unwrap();
        assert_eq!(out, b"SELECT -7, -12.30, NULL, '\xc3\xa4''\\\\\\0\n%', _binary'\xff'''");
        assert_eq!(text("?", p.clear().text(b"a\\'b"), true).unwrap(), "'a\\''b'");
        assert_eq!(text("?", p.clear().int(i64::MIN), false).unwrap(), "-9223372036854775808");
        assert_eq!(text("? + ?", p.clear().int(1), false), None);
    }

    #[test]
    fn question_marks_in_strings_names_and_comments_are_no_parameters() {
        for (sql, no_backslash, expected) in [
            ("SELECT '?', \"?\", `?`, ? -- ?\n", false, 1),
            ("SELECT 'it''s ?', ? # ?", false, 1),
            ("SELECT '\\'?', ? /* ? */", false, 1),
            ("SELECT 1--?", false, 1),
            ("SELECT 'open ? -- ?", false, 0),
            ("SELECT '\\', ?, '?'", true, 1),
        ] {
            assert_eq!(placeholders(sql, no_backslash).len(), expected, "{sql}");
        }
    }

    /// What a server makes of a literal.
    fn unquote(literal: &[u8], no_backslash: bool) -> Option<Vec<u8>> {
        let inner = literal.strip_prefix(b"_binary").unwrap_or(literal).strip_prefix(b"'")?.strip_suffix(b"'")?;
        let mut out = Vec::new();
        let mut bytes = inner.iter();
        while let Some(byte) = bytes.next() {
            match byte {
                b'\'' => (*bytes.next()? == b'\'').then(|| out.push(b'\''))?,
                b'\\' if !no_backslash => out.push(match bytes.next()? {
                    b'0' => 0,
                    other => *other,
                }),
                _ => out.push(*byte),
            }
        }
        Some(out)
    }

    proptest! {
        #[test]
        fn every_string_survives_quoting(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\''), Just(b'\\'), Just(0_u8), any::<u8>()], 0..60), no_backslash: bool,
        ) {
            let mut out = Vec::new();
            put_literal(&mut out, Value::Text(&bytes), no_backslash);
            prop_assert_eq!(unquote(&out, no_backslash), Some(bytes));
        }

        #[test]
        fn no_sql_makes_the_search_panic(sql in "[-?'\"`#/*\\\\\na ]{0,40}", no_backslash: bool) {
            for at in placeholders(&sql, no_backslash) {
                prop_assert_eq!(sql.as_bytes()[at], b'?');
            }
        }
    }
}
