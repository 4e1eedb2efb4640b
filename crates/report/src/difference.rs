//! Where a page says something else than its data give: for `perbuck verify`.

use serde_json::Value;

use crate::escape::{shorten, terminal};

/// Columns of a text that a difference shows.
const SHOWN: usize = 90;
/// Columns before the first character that differs.
const BEFORE: usize = 30;

/// Something that is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Where, in words: line and heading, or the path of a value.
    pub path: String,
    /// What is there.
    pub says: String,
    /// What must be there.
    pub must: String,
}

/// Lines of a page that are not as they must be, at most `limit`, and how many there are.
pub fn of_pages(found: &str, must: &str, limit: usize) -> (Vec<Difference>, usize) {
    let (found, must): (Vec<&str>, Vec<&str>) = (found.lines().collect(), must.lines().collect());
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let before = found.iter().zip(&must).take_while(same).count();
    let after = found[before..].iter().rev().zip(must[before..].iter().rev()).take_while(same).count();
    let (ours, theirs) = (&found[before..found.len() - after], &must[before..must.len() - after]);
    // Where lines are missing or added, what follows is shifted, and every line would differ.
    let (rows, shifted) = (ours.len().max(theirs.len()), ours.len() != theirs.len());
    let differ: Vec<usize> = (0..rows).filter(|i| ours.get(*i) != theirs.get(*i)).collect();
    let count = if shifted { rows } else { differ.len() };
    let lines = if theirs.is_empty() { &found } else { &must };
    let told = differ.into_iter().take(if shifted { limit.min(1) } else { limit });
    (told.map(|i| line(before + i, lines, ours.get(i).copied(), theirs.get(i).copied())).collect(), count)
}

fn line(number: usize, page: &[&str], says: Option<&str>, must: Option<&str>) -> Difference {
    let words = |text: Option<&str>| text.map_or_else(|| "nothing".to_owned(), visible);
    let (mut says, mut must) = (words(says), words(must));
    if says == must {
        // Only what is not seen differs: attributes, drawings.
        (says, must) = ("other markup".to_owned(), "the markup of these data".to_owned());
    }
    let common = says.chars().zip(must.chars()).take_while(|(a, b)| a == b).count().saturating_sub(BEFORE);
    let part = |text: &str| {
        let cut: String = text.chars().skip(common).collect();
        shorten(&format!("{}{cut}", if common > 0 { "…" } else { "" }), SHOWN)
    };
    Difference { path: format!("line {}{}", number + 1, heading(number, page)), says: part(&says), must: part(&must) }
}

/// The table, figure or section in which a line stands.
fn heading(number: usize, page: &[&str]) -> String {
    let heads =
        |l: &&&str| l.contains("<caption>") || l.starts_with("<figcaption>") || l.starts_with("<h2>") || l.starts_with("<h1>");
    let above = page[..number.min(page.len())].iter().rev().find(heads);
    above.map(|l| format!(", under \"{}\"", shorten(&visible(l), 60))).unwrap_or_default()
}

/// The words of a line of HTML.
fn visible(line: &str) -> String {
    let mut out = String::new();
    let mut tag = false;
    for c in line.chars() {
        match c {
            '<' => tag = true,
            '>' if tag => {
                tag = false;
                out.push(' ');
            }
            c if !tag => out.push(c),
            _ => {}
        }
    }
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("\u{a0}", " "), ("&amp;", "&")];
    let text = entities.iter().fold(out, |text, (from, to)| text.replace(from, to));
    terminal(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Values of JSON that are not as they must be, at most `limit`, and how many there are.
pub fn of_values(found: &Value, must: &Value, limit: usize) -> (Vec<Difference>, usize) {
    let mut out = Vec::new();
    let mut count = 0;
    values("", Some(found), Some(must), &mut |path, says, must| {
        count += 1;
        if out.len() < limit {
            let text =
                |v: Option<&Value>| shorten(&terminal(&v.map_or_else(|| "nothing".to_owned(), ToString::to_string)), SHOWN);
            out.push(Difference { path: shorten(&terminal(path), SHOWN), says: text(says), must: text(must) });
        }
    });
    (out, count)
}

fn values<'v>(
    path: &str,
    found: Option<&'v Value>,
    must: Option<&'v Value>,
    differ: &mut impl FnMut(&str, Option<&'v Value>, Option<&'v Value>),
) {
    match (found, must) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let names = a.keys().chain(b.keys().filter(|k| !a.contains_key(*k)));
            let dot = if path.is_empty() { "" } else { "." };
            names.for_each(|name| values(&format!("{path}{dot}{name}"), a.get(name), b.get(name), differ));
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            (0..a.len().max(b.len())).for_each(|i| values(&format!("{path}[{i}]"), a.get(i), b.get(i), differ));
        }
        (a, b) if a == b => {}
        (a, b) => differ(path, a, b),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PAGE: &str =
        "<h2>Cost</h2>\n<table>\n<caption><span>Bills &amp; more</span></caption>\n<tr><td>$1,234.00</td></tr>\n</table>\n";

    #[test]
    fn a_changed_number_is_named_with_its_table() {
        let (found, count) = of_pages(&PAGE.replace("$1,234", "$1,134"), PAGE, 5);
        let expected =
            Difference { path: "line 4, under \"Bills & more\"".into(), says: "$1,134.00".into(), must: "$1,234.00".into() };
        assert_eq!((found, count), (vec![expected], 1));
        assert_eq!(of_pages(PAGE, PAGE, 5), (Vec::new(), 0));
    }

    #[test]
    fn added_removed_and_unseen_lines_are_told() {
        let (found, count) = of_pages(&PAGE.replace("</table>", "<p>more</p>\n</table>"), PAGE, 5);
        assert_eq!((found[0].says.as_str(), found[0].must.as_str(), count), ("more", "nothing", 1));
        let (found, _) = of_pages(&PAGE.replace("<tr><td>$1,234.00</td></tr>\n", ""), PAGE, 5);
        assert_eq!((found[0].says.as_str(), found[0].must.as_str()), ("nothing", "$1,234.00"));
        let (found, _) = of_pages(&PAGE.replace("<tr>", "<tr hidden>"), PAGE, 5);
        assert_eq!(found[0].says, "other markup");
    }

    #[test]
    fn values_are_named_by_their_path() {
        let must = json!({"a": [{"b": 1}, {"b": 2}], "c": "x"});
        let found = json!({"a": [{"b": 1}, {"b": 3}], "d": "\u{1b}[31m"});
        let (all, count) = of_values(&found, &must, 2);
        let first = Difference { path: "a[1].b".into(), says: "3".into(), must: "2".into() };
        assert_eq!((count, &all[0], all.len()), (3, &first, 2));
    }
}
