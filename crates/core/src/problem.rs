//! What is wrong with a file that a user wrote: the thing, the line and the way out.

use std::fmt;

/// One problem of one file. Its text never quotes a source line, so that a password typed into a study cannot leak.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Problem {
    /// The file as the user named it.
    pub file: String,
    /// 1-based line; 0 where the problem has no line of its own (a missing file).
    pub line: usize,
    /// What is wrong, naming the key and the value.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            write!(f, "{}: {}", self.file, self.message)?;
        } else {
            write!(f, "{}:{}: {}", self.file, self.line, self.message)?;
        }
        if !self.help.is_empty() {
            write!(f, "\n    help: {}", self.help)?;
        }
        Ok(())
    }
}

/// The candidate that a user most likely meant by `typed`, if one is near enough: the same but for capitals, or at an edit distance of
/// at most a third.
pub fn nearest<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    if let Some(same) = candidates.iter().find(|c| c.eq_ignore_ascii_case(typed)) {
        return Some(same);
    }
    candidates
        .into_iter()
        .map(|c| (edit_distance(typed, c), c))
        .filter(|(d, c)| *d <= 1.max(c.chars().count().max(typed.chars().count()) / 3))
        .min()
        .map(|(_, c)| c)
}

/// Whether the nearest candidate was meant, or what to say where none is near.
pub fn did_you_mean(typed: &str, candidates: &[&str], otherwise: impl FnOnce() -> String) -> String {
    nearest(typed, candidates.iter().copied()).map_or_else(otherwise, |near| format!("did you mean `{near}`?"))
}

/// Levenshtein distance in characters, one row at a time.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_typos_and_refuses_strangers() {
        assert_eq!(nearest("warehuses", ["warehouses", "tables"]), Some("warehouses"));
        assert_eq!(nearest("conections", ["connections", "trials"]), Some("connections"));
        for typed in ["M7G.xlarge", "M7G.XLARGE", "m7g.Xlarge"] {
            assert_eq!(nearest(typed, ["m7g.large", "M7i.xlarge", "m7g.xlarge"]), Some("m7g.xlarge"), "{typed}");
        }
        assert_eq!(nearest("zebra", ["connections", "trials"]), None);
    }

    #[test]
    fn a_problem_prints_line_and_way_out() {
        let p = Problem { file: "s.toml".into(), line: 3, message: "unknown key `x`".into(), help: "did you mean `y`?".into() };
        assert_eq!(p.to_string(), "s.toml:3: unknown key `x`\n    help: did you mean `y`?");
    }
}
