//! Which values a prepared statement had, by its text and that of an execution.

use super::lex::{Quotes, Segment, segments};

/// A prepared statement with the texts between its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template {
    pub(super) sql: String,
    pieces: Vec<String>,
}

impl Template {
    /// A template; `None` of an empty text.
    pub(super) fn of(sql: &str) -> Option<Self> {
        let sql = sql.trim().trim_end_matches(';').trim_end();
        let mut pieces = vec![String::new()];
        for segment in segments(sql, Quotes::Backslash) {
            let Some(last) = pieces.last_mut() else { break };
            match segment {
                Segment::Code(code) => {
                    let mut parts = code.split('?');
                    last.push_str(parts.next().unwrap_or_default());
                    pieces.extend(parts.map(str::to_owned));
                }
                other => last.push_str(other.text()),
            }
        }
        (!sql.is_empty()).then(|| Self { sql: sql.to_owned(), pieces })
    }

    /// How many parameters it has.
    pub(super) fn parameters(&self) -> usize {
        self.pieces.len().saturating_sub(1)
    }

    /// Its text with literals of these values.
    pub(super) fn filled(&self, values: &[Option<String>]) -> String {
        let mut pieces = self.pieces.iter();
        let mut out = pieces.next().cloned().unwrap_or_default();
        for (value, piece) in values.iter().zip(pieces) {
            match value {
                None => out.push_str("NULL"),
                Some(text) if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') && text.parse::<f64>().is_ok() => {
                    out.push_str(text);
                }
                Some(text) => {
                    out.push('\'');
                    out.push_str(&text.replace('\\', "\\\\").replace('\'', "''"));
                    out.push('\'');
                }
            }
            out.push_str(piece);
        }
        out
    }
}

/// The values that a template has in this text; `None` where it is the text of another one, or has a value that is no plain literal.
pub(super) fn values_of(template: &Template, text: &str) -> Option<Vec<Option<String>>> {
    let text = text.trim().trim_end_matches(';').trim_end();
    let (first, pieces) = template.pieces.split_first()?;
    let mut rest = text.strip_prefix(first.as_str())?;
    let mut values = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let (value, after) = literal(rest)?;
        values.push(value);
        rest = after.strip_prefix(piece.as_str())?;
    }
    rest.is_empty().then_some(values)
}

/// The literal that a text begins with, and what follows.
fn literal(text: &str) -> Option<(Option<String>, &str)> {
    if let Some(rest) = text.strip_prefix("NULL") {
        return Some((None, rest));
    }
    if text.starts_with('\'') {
        let length = perbuck_database::sql::quoted_length(text.as_bytes(), b'\'', true);
        // A doubled quote begins another part of the same text.
        let mut end = length;
        while text[end..].starts_with('\'') {
            end += perbuck_database::sql::quoted_length(&text.as_bytes()[end..], b'\'', true);
        }
        let inner = text.get(1..end.checked_sub(1)?)?;
        return Some((Some(unescaped(inner)?), &text[end..]));
    }
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'))).unwrap_or(text.len());
    let number = &text[..end];
    let is_number =
        number.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) && number.parse::<f64>().is_ok();
    is_number.then(|| (Some(number.to_owned()), &text[end..]))
}

/// A text without its escapes; `None` where it holds a zero byte.
fn unescaped(text: &str) -> Option<String> {
    let (mut out, mut chars) = (String::with_capacity(text.len()), text.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next()? {
                '0' => return None,
                'n' => out.push('\n'),
                'r' => out.push('\r'),
                't' => out.push('\t'),
                'Z' => out.push('\u{1a}'),
                'b' => out.push('\u{8}'),
                other => out.push(other),
            },
            '\'' => {
                chars.next_if_eq(&'\'');
                out.push('\'');
            }
            c => out.push(c),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_between_the_pieces() {
        let template = Template::of("UPDATE t SET a=?, b='?', c=? WHERE id=? ;").unwrap();
        let some = |text: &str| Some(text.to_owned());
        let read = |text| values_of(&template, text);
        assert_eq!(
            read("UPDATE t SET a=-1.5, b='?', c='it''s \\'x\\\\' WHERE id=NULL"),
            Some(vec![some("-1.5"), some("it's 'x\\"), None])
        );
        assert_eq!(read("UPDATE t SET a=X'00', b='?', c=1 WHERE id=2"), None);
        assert_eq!(read("UPDATE t SET a=1, b='?', c=1 WHERE id=2 AND 1"), None);
        assert_eq!(values_of(&Template::of("SELECT 1").unwrap(), "SELECT 1"), Some(Vec::new()));
    }
}
