//! Statements that a log writes in one line: each line break, tab and carriage return is a space there, and the values of a prepared statement
//! follow its text.

use super::executed::Template;
use super::lex::{Quotes, Segment, segments};

/// Where the values of a prepared statement begin.
const VALUES: &str = " [arguments: ";
/// The marks of a literal that the server was told to hide.
const HIDDEN: [char; 2] = ['‹', '›'];

/// A statement: its text with values, and as it was prepared with them, if it was.
pub(super) type Read = (String, Option<(String, Vec<Option<String>>)>);

/// Reads a statement. The log may say whether it was prepared.
///
/// # Errors
/// Why it is left out.
pub(super) fn read(text: &str, prepared: Option<bool>) -> Result<Read, &'static str> {
    let text = text.trim_end_matches(';').trim_end();
    if is_cut(text) {
        return Err("entries that are cut off left out");
    }
    if text.contains(HIDDEN) {
        return Err("statements whose literals the log hides left out");
    }
    let found = with_values(text);
    let sql = found.as_ref().map_or(text, |(sql, _)| sql);
    let is_comment = |segment| matches!(segment, Segment::Comment(comment) if !comment.starts_with("/*"));
    if segments(sql, Quotes::Backslash).any(is_comment) {
        return Err("statements with a comment to the end of its line left out");
    }
    let Some(template) = Template::of(sql) else { return Ok((String::new(), None)) };
    match found {
        Some((_, values)) => Ok((template.filled(&values), Some((template.sql, values)))),
        None if template.parameters() > 0 && prepared == Some(false) && !text.contains(VALUES) => {
            Err("statements whose literals the log hides left out")
        }
        None if template.parameters() > 0 => Err("prepared statements without their values left out"),
        None if prepared == Some(true) => Ok((template.sql.clone(), Some((template.sql, Vec::new())))),
        None => Ok((template.sql, None)),
    }
}

/// The statement and its values, where these follow it. Whether the log says that it was prepared tells nothing: TiDB says no of one that reads a row by
/// its key.
fn with_values(text: &str) -> Option<(&str, Vec<Option<String>>)> {
    let mut end = 0;
    segments(text, Quotes::Backslash).find_map(|segment| {
        end += segment.text().len();
        let Segment::Code(code) = segment else { return None };
        let (before, _) = code.split_once(VALUES)?;
        let sql = &text[..end - code.len() + before.len()];
        let count = Template::of(sql)?.parameters();
        let values = once(&text[sql.len()..]).strip_prefix(VALUES)?.strip_suffix(']').filter(|_| count > 0)?;
        Some((sql, arguments(values, count)?))
    })
}

/// Values as they stand once. The general log of TiDB has them twice; the first time some versions write line breaks and tabs in them as spaces.
fn once(values: &str) -> &str {
    let same = |first: &str, second: &str| first == second.replace(['\n', '\r', '\t'], " ") || first == second;
    values.split_at_checked(values.len() / 2).filter(|(first, second)| same(first, second)).map_or(values, |(_, second)| second)
}

/// Whether the log kept only the start: it then says how long the whole is.
fn is_cut(text: &str) -> bool {
    is_length(text.strip_suffix(')').and_then(|text| text.rsplit_once("(len:")).map(|(_, digits)| digits))
}

fn is_length(digits: Option<&str>) -> bool {
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// So many values, which stand in parentheses where they are several. A quote within a text is not marked, so a text may look like several:
/// then the number is another one. A long text is cut off, and its length stands after it.
fn arguments(text: &str, count: usize) -> Option<Vec<Option<String>>> {
    if text.strip_suffix(')').is_some_and(|text| is_length(text.rsplit_once(" len(").map(|(_, digits)| digits))) {
        return None;
    }
    if count == 1 {
        let whole = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        return Some(vec![whole.map_or_else(|| bare(text), |text| Some(Some(text.to_owned())))?]);
    }
    let mut rest = text.strip_prefix('(')?.strip_suffix(')')?;
    let mut values = Vec::with_capacity(count);
    loop {
        let (value, after) = match rest.strip_prefix('"') {
            Some(text) => {
                let end = text.match_indices('"').map(|(at, _)| at).find(|at| ends(&text[at + 1..]))?;
                (Some(text[..end].to_owned()), &text[end + 1..])
            }
            None => {
                let end = rest.find(", ").unwrap_or(rest.len());
                (bare(&rest[..end])?, &rest[end..])
            }
        };
        values.push(value);
        match after.strip_prefix(", ") {
            Some(more) => rest = more,
            None => return (after.is_empty() && values.len() == count).then_some(values),
        }
    }
}

/// Whether nothing or another value follows.
fn ends(after: &str) -> bool {
    after.is_empty() || after.starts_with(", ")
}

/// A value without quotes; `None` where it is bytes that are no text.
fn bare(text: &str) -> Option<Option<String>> {
    if text == "NULL" {
        return Some(None);
    }
    let Some(digits) = text.strip_prefix("0x") else { return Some(Some(text.to_owned())) };
    let byte = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
    String::from_utf8(bytes?).ok().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(text: &str) -> Option<(String, Vec<Option<String>>)> {
        read(text, Some(true)).unwrap_or_else(|why| panic!("{text}: {why}")).1
    }

    #[test]
    fn values_follow_the_text() {
        let some = |text: &str| Some(text.to_owned());
        let one = "SELECT c FROM t WHERE id = ?".to_owned();
        assert_eq!(prepared("SELECT c FROM t WHERE id = ? [arguments: 7];"), Some((one.clone(), vec![some("7")])));
        assert_eq!(prepared("SELECT c FROM t WHERE id = ? [arguments: \"it's \"x\", (\"];").unwrap().1, [some("it's \"x\", (")]);
        assert_eq!(prepared("SELECT c FROM t WHERE id = ? [arguments: NULL];"), Some((one, vec![None])));
        let several = "INSERT INTO t VALUES (?, '?', ?, ?, ?) [arguments: (-1.5, \"a \"b\" ?\", NULL, 0x610A62)];";
        assert_eq!(prepared(several).unwrap().1, [some("-1.5"), some("a \"b\" ?"), None, some("a\nb")]);
        assert_eq!(read(several, None).unwrap().0, "INSERT INTO t VALUES (-1.5, '?', 'a \"b\" ?', NULL, 'a\nb')");
        // TiDB says of one that reads a row by its key that it was not prepared.
        assert_eq!(read(several, Some(false)), read(several, Some(true)));
        let twice = several.replace(" [", " [arguments: (-1.5, \"a \"b\" ?\", NULL, 0x610A62)] [");
        assert_eq!(read(&twice, None), read(several, None));
        assert_eq!(prepared("SELECT ? [arguments: 7] [arguments: 7];").unwrap().1, [some("7")]);
        assert_eq!(prepared("SELECT ? [arguments: \"a b\"] [arguments: \"a\nb\"];").unwrap().1, [some("a\nb")]);
        let text = "INSERT INTO t VALUES (1, 'a [arguments: 3]');";
        assert_eq!(read(text, Some(false)), Ok((text.trim_end_matches(';').to_owned(), None)));
        assert_eq!(prepared("UPDATE t SET a = ?, b = ' [arguments: 3]' [arguments: 7];").unwrap().1, [some("7")]);
        assert_eq!(prepared("SELECT 1;"), Some(("SELECT 1".to_owned(), Vec::new())));
        assert_eq!(read("SELECT 1;", Some(false)), Ok(("SELECT 1".to_owned(), None)));
    }

    #[test]
    fn what_the_log_does_not_hold_is_left_out() {
        for (text, prepared, why) in [
            ("SELECT 'xxxx(len:9000);", Some(false), "cut off"),
            ("SELECT ? [arguments: (len:9000);", Some(true), "cut off"),
            ("SELECT c FROM t WHERE id = ?;", Some(false), "hides"),
            ("SELECT c FROM t WHERE id = ‹7›;", Some(false), "hides"),
            ("SELECT c FROM t WHERE id = ?;", Some(true), "without their values"),
            ("SELECT ?, ? [arguments: (\"a\", \"b\", 1)];", Some(true), "without their values"),
            ("SELECT ? [arguments: 0xFF00];", Some(true), "without their values"),
            ("SELECT ? [arguments: 0xFF00];", Some(false), "without their values"),
            ("SELECT ? [arguments: \"xxx\" len(3000)];", Some(true), "without their values"),
            ("SELECT ?, ? [arguments: (\"xxx\" len(3000), 1)];", Some(true), "without their values"),
            ("SELECT 1 -- one FROM t;", Some(false), "comment"),
            ("SELECT 1 # one FROM t;", None, "comment"),
        ] {
            let found = read(text, prepared).unwrap_err();
            assert!(found.contains(why), "{text}: {found}");
        }
    }
}
