//! Statements come with `?` for each parameter; PostgreSQL wants `$1`, `$2` … ("Lexical Structure").

use perbuck_database::sql::{quoted_length, until};

/// The statement with numbered parameters. A `?` within a string, a name or a comment stays. The operators of PostgreSQL
/// that are written with a `?` cannot be used by a statement with such parameters.
pub(crate) fn numbered(sql: &str) -> String {
    let bytes = sql.as_bytes();
    let (mut out, mut at, mut from, mut number) = (String::with_capacity(sql.len() + 16), 0, 0, 0);
    while let Some(byte) = bytes.get(at) {
        let rest = &bytes[at..];
        at += match byte {
            b'?' => {
                number += 1;
                out.push_str(&sql[from..at]);
                out.push_str(&format!("${number}"));
                from = at + 1;
                1
            }
            b'\'' => quoted_length(rest, b'\'', escapes(bytes, at)),
            b'"' => quoted_length(rest, b'"', false),
            b'-' if rest.starts_with(b"--") => until(rest, b"\n"),
            b'/' if rest.starts_with(b"/*") => comment_length(rest),
            b'$' => dollar_length(bytes, at),
            _ => 1,
        };
    }
    out.push_str(&sql[from..]);
    out
}

/// Whether the string whose quote stands at `at` is one of the kind `E'…'`, in which a backslash escapes.
fn escapes(bytes: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|i| bytes.get(i));
    matches!(before(1), Some(b'e' | b'E')) && !before(2).is_some_and(|b| is_word(*b))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

/// Comments of this kind nest.
fn comment_length(text: &[u8]) -> usize {
    let (mut at, mut depth) = (2, 1);
    while depth > 0 && at < text.len() {
        let (deeper, length) = match &text[at..] {
            [b'/', b'*', ..] => (1, 2),
            [b'*', b'/', ..] => (-1, 2),
            _ => (0, 1),
        };
        depth += deeper;
        at += length;
    }
    at.min(text.len())
}

/// `$$…$$` or `$tag$…$tag$`; any other `$` is part of a name.
fn dollar_length(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let tag = 1 + rest[1..].iter().take_while(|b| is_word(**b) && **b != b'$').count();
    let in_name = at > 0 && is_word(bytes[at - 1]);
    if in_name || rest.get(tag) != Some(&b'$') || rest[1].is_ascii_digit() {
        return 1;
    }
    let quote = &rest[..=tag];
    quote.len() + until(&rest[quote.len()..], quote)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parameters_are_numbered_outside_of_quotes_and_comments() {
        for (sql, expected) in [
            ("SELECT c FROM t WHERE id=?", "SELECT c FROM t WHERE id=$1"),
            ("INSERT INTO t VALUES (?,?, ?)", "INSERT INTO t VALUES ($1,$2, $3)"),
            ("SELECT '?''?', ?", "SELECT '?''?', $1"),
            ("SELECT E'\\'?', ?", "SELECT E'\\'?', $1"),
            ("SELECT '\\', ?, '?'", "SELECT '\\', $1, '?'"),
            ("SELECT name'\\', ?", "SELECT name'\\', $1"),
            ("SELECT \"a?\"\"?\" FROM t -- ?\nWHERE x = ?", "SELECT \"a?\"\"?\" FROM t -- ?\nWHERE x = $1"),
            ("/* ? /* ? */ ? */ SELECT ?", "/* ? /* ? */ ? */ SELECT $1"),
            ("SELECT $$?$$, $a$?$$?$a$, ?, a$b$?$b$", "SELECT $$?$$, $a$?$$?$a$, $1, a$b$$2$b$"),
            ("SELECT 'ä?', ? -- ?", "SELECT 'ä?', $1 -- ?"),
            ("", ""),
            ("'?", "'?"),
        ] {
            assert_eq!(numbered(sql), expected);
        }
        assert_eq!(numbered(&"?,".repeat(12)), "$1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,");
    }

    proptest! {
        #[test]
        fn no_sql_makes_the_search_panic(sql in "[-?'\"$eE/*\\\\\nä a1]{0,40}") {
            let out = numbered(&sql);
            prop_assert!(out.len() >= sql.len());
        }
    }
}
