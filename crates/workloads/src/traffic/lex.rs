//! Where strings, names, comments and code are in a statement, and what follows from the code.

use perbuck_database::sql::{quoted_length, until};

/// How a dialect writes strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    /// Standard SQL: `"` quotes names, a backslash escapes in `E'…'` alone, and `$$` quotes strings.
    Standard,
    /// A backslash escapes in all strings, `"` quotes strings, `` ` `` names, and `#` begins a comment.
    Backslash,
}

/// A part of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Segment<'a> {
    Code(&'a str),
    Text(&'a str),
    Name(&'a str),
    Comment(&'a str),
}

impl<'a> Segment<'a> {
    /// As it stands in the statement.
    pub(super) fn text(self) -> &'a str {
        match self {
            Self::Code(text) | Self::Text(text) | Self::Name(text) | Self::Comment(text) => text,
        }
    }
}

/// The segments of a statement, in their order.
pub(super) fn segments(sql: &str, quotes: Quotes) -> impl Iterator<Item = Segment<'_>> {
    let mut rest = sql;
    let mut before = None;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (segment, length) = match quoted(rest, before, quotes) {
            Some(found) => found,
            None => {
                let mut at = 0;
                let mut last = before;
                while at < rest.len() && (at == 0 || quoted(&rest[at..], last, quotes).is_none()) {
                    let next = rest[at..].chars().next().unwrap_or_default();
                    last = Some(next);
                    at += next.len_utf8().max(1);
                }
                (Segment::Code(&rest[..at]), at)
            }
        };
        before = rest[..length].chars().next_back();
        rest = &rest[length..];
        Some(segment)
    })
}

/// The segment at the start of `rest` that is no code, with its length; `before` is what stands before it.
fn quoted<'a>(rest: &'a str, before: Option<char>, quotes: Quotes) -> Option<(Segment<'a>, usize)> {
    let (bytes, backslash) = (rest.as_bytes(), quotes == Quotes::Backslash);
    let all = |length: usize| &rest[..whole(rest, length)];
    let of = |segment: fn(&'a str) -> Segment<'a>, length: usize| {
        let text = all(length);
        Some((segment(text), text.len()))
    };
    match bytes {
        [b'\'', ..] => of(Segment::Text, quoted_length(bytes, b'\'', backslash || matches!(before, Some('e' | 'E')))),
        [b'"', ..] if backslash => of(Segment::Text, quoted_length(bytes, b'"', true)),
        [b'"', ..] => of(Segment::Name, quoted_length(bytes, b'"', false)),
        [b'`', ..] if backslash => of(Segment::Name, quoted_length(bytes, b'`', false)),
        [b'#', ..] if backslash => of(Segment::Comment, until(bytes, b"\n")),
        [b'-', b'-', ..] => of(Segment::Comment, until(bytes, b"\n")),
        [b'/', b'*', ..] => of(Segment::Comment, until(bytes, b"*/")),
        [b'$', ..] if !backslash && !before.is_some_and(is_word) => {
            let tag = 1 + rest[1..].find(|c| !is_word(c) || c == '$').unwrap_or(rest.len() - 1);
            let mark =
                rest.get(..=tag).filter(|mark| mark.ends_with('$') && !mark[1..].starts_with(|c: char| c.is_ascii_digit()))?;
            of(Segment::Text, mark.len() + until(&bytes[mark.len()..], mark.as_bytes()))
        }
        _ => None,
    }
}

/// The next length at which a character ends.
fn whole(text: &str, length: usize) -> usize {
    (length..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

/// The first words of the code in lower case, at most so many; a semicolon between statements is a word.
pub(super) fn words(sql: &str, quotes: Quotes, most: usize) -> Vec<String> {
    let mut found = Vec::new();
    for segment in segments(sql, quotes) {
        let code = match segment {
            Segment::Code(code) => code,
            Segment::Name(name) => {
                found.push(name.trim_matches(['"', '`']).to_ascii_lowercase());
                continue;
            }
            // A comment that one kind of server executes.
            Segment::Comment(comment) if quotes == Quotes::Backslash && comment.starts_with("/*!") => {
                found.push("/*!".to_owned());
                continue;
            }
            Segment::Text(_) | Segment::Comment(_) => continue,
        };
        let mut rest = code;
        while let Some(start) = rest.find(|c: char| is_word(c) || c == ';') {
            rest = &rest[start..];
            let end = if rest.starts_with(';') { 1 } else { rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()) };
            found.push(rest[..end].to_ascii_lowercase());
            if found.len() >= most {
                return found;
            }
            rest = &rest[end..];
        }
    }
    while found.last().is_some_and(|word| word == ";") {
        found.pop();
    }
    found
}

/// The statement with `?` in place of each literal, which may be secret.
pub(super) fn template(sql: &str, quotes: Quotes) -> String {
    let (mut out, mut was_text) = (String::with_capacity(sql.len()), false);
    for segment in segments(sql, quotes) {
        // A doubled quote ends one part of a text and begins the next.
        let goes_on = std::mem::replace(&mut was_text, matches!(segment, Segment::Text(_)));
        match segment {
            Segment::Text(_) if goes_on => {}
            Segment::Text(_) => out.push('?'),
            Segment::Name(name) => out.push_str(name),
            Segment::Comment(_) => out.push(' '),
            Segment::Code(code) => {
                let mut word = false;
                let mut chars = code.chars().peekable();
                while let Some(c) = chars.next() {
                    if c.is_ascii_digit() && !word {
                        while chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '.').is_some() {}
                        out.push('?');
                    } else {
                        word = is_word(c);
                        out.push(c);
                    }
                }
            }
        }
    }
    out
}

/// A statement with numbered parameters as one with `?`, and which of them each `?` is, from 0. `None` where a `?` is an operator of it.
pub(super) fn question_marks(sql: &str) -> Option<(String, Vec<u16>)> {
    let mut order = Vec::new();
    let out = placed(sql, |out, number| {
        out.push('?');
        order.push(number);
    })?;
    Some((out, order))
}

/// A statement with what `value` writes for each numbered parameter.
pub(super) fn with_values(sql: &str, mut value: impl FnMut(u16) -> Option<String>) -> Option<String> {
    let mut missing = false;
    let mut out = String::new();
    each_parameter(sql, &mut out, |out, number| match value(number) {
        Some(text) => out.push_str(&text),
        None => missing = true,
    });
    (!missing).then_some(out)
}

fn placed(sql: &str, parameter: impl FnMut(&mut String, u16)) -> Option<String> {
    let operator = |segment: Segment<'_>| matches!(segment, Segment::Code(code) if code.contains('?'));
    if segments(sql, Quotes::Standard).any(operator) {
        return None;
    }
    let mut out = String::with_capacity(sql.len());
    each_parameter(sql, &mut out, parameter);
    Some(out)
}

fn each_parameter(sql: &str, out: &mut String, mut parameter: impl FnMut(&mut String, u16)) {
    for segment in segments(sql, Quotes::Standard) {
        match segment {
            Segment::Code(code) => {
                let mut rest = code;
                let mut word = false;
                while let Some(c) = rest.chars().next() {
                    let digits = rest[c.len_utf8()..].bytes().take_while(u8::is_ascii_digit).count();
                    let number: Option<u16> = rest.get(1..=digits).filter(|_| c == '$' && !word).and_then(|n| n.parse().ok());
                    match number.filter(|n| *n > 0) {
                        Some(number) => {
                            parameter(out, number - 1);
                            rest = &rest[1 + digits..];
                            word = false;
                        }
                        None => {
                            out.push(c);
                            word = is_word(c);
                            rest = &rest[c.len_utf8()..];
                        }
                    }
                }
            }
            Segment::Text(text) | Segment::Name(text) | Segment::Comment(text) => out.push_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_replaced_and_names_are_not() {
        for (quotes, sql, expected) in [
            (
                Quotes::Standard,
                "SELECT c1 FROM t2 WHERE id = 12.5 AND s = 'it''s' -- 7\nAND \"n1\" = 1e5",
                "SELECT c1 FROM t2 WHERE id = ? AND s = ?  AND \"n1\" = ?",
            ),
            (Quotes::Standard, "SELECT $$a'b$$, E'\\'x', 'é'", "SELECT ?, E?, ?"),
            (Quotes::Backslash, "SELECT \"a\", 'b\\'c', `k1` # 'x\n", "SELECT ?, ?, `k1`  "),
            (Quotes::Standard, "SELECT 'open", "SELECT ?"),
        ] {
            assert_eq!(template(sql, quotes), expected);
        }
    }

    #[test]
    fn words_are_those_of_the_code() {
        let of = |sql| words(sql, Quotes::Standard, 6).join(" ");
        assert_eq!(of("/* x */ Select 'update' FROM \"Some\" t;"), "select from some t");
        assert_eq!(of("begin; update t set a=1"), "begin ; update t set a");
    }

    #[test]
    fn numbered_parameters_become_question_marks() {
        let marks = |sql| question_marks(sql);
        assert_eq!(marks("SELECT $2, '$1', $1::int, $1"), Some(("SELECT ?, '$1', ?::int, ?".to_owned(), vec![1, 0, 0])));
        assert_eq!(marks("SELECT a ? 'b' FROM t WHERE x = $1"), None);
        let valued = with_values("SELECT a ? 'b' WHERE x = $1", |n| (n == 0).then(|| "'5'".to_owned()));
        assert_eq!(valued.as_deref(), Some("SELECT a ? 'b' WHERE x = '5'"));
        assert_eq!(with_values("SELECT $2", |n| (n == 0).then(String::new)), None);
    }
}
