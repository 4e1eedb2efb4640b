//! Row counts of plans that a server logs after it has executed a statement: text of EXPLAIN ANALYZE.

/// A logged plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Logged {
    /// Of which statement; values of parameters may follow it.
    pub(super) sql: String,
    /// Rows that it returned or changed.
    pub(super) rows: u64,
}

impl Logged {
    /// Reads a message after its duration; `None` of one that has no row count.
    pub(super) fn of(message: &str) -> Option<Self> {
        let text = message.strip_prefix("plan:")?.trim_start().strip_prefix("Query Text: ")?;
        let top = text.match_indices("  (cost=").find(|(at, _)| line_from(text, *at).contains(" (actual "))?.0;
        let start = text[..top].rfind('\n')?;
        let sql = text[..start].split("\nQuery Parameters: ").next().unwrap_or_default();
        let mut lines = text[start + 1..].lines();
        let first = lines.next()?;
        let own = rows_of(first)?;
        let writes = ["Insert on ", "Update on ", "Delete on ", "Merge on "].iter().any(|node| first.starts_with(node));
        let rows = match writes && own == 0 {
            false => own,
            // Without RETURNING the node itself has no rows, and what it changes are those below. A conflict may leave some out.
            true if text.contains("\n  Conflict Resolution: ") => return None,
            true => lines.find(|line| line.trim_start().starts_with("->  ")).and_then(rows_of)?,
        };
        Some(Self { sql: sql.trim().trim_end_matches(';').trim_end().to_owned(), rows })
    }
}

/// The rest of the line at a position.
fn line_from(text: &str, at: usize) -> &str {
    text[at..].lines().next().unwrap_or_default()
}

/// The rows of a node: those of each loop, times the loops.
fn rows_of(line: &str) -> Option<u64> {
    if line.ends_with("(never executed)") {
        return Some(0);
    }
    let actual = line.rsplit_once("(actual ")?.1.trim_end_matches(')');
    let number = |key: &str| actual.split(' ').find_map(|part| part.strip_prefix(key))?.parse::<f64>().ok();
    Some((number("rows=")? * number("loops=").unwrap_or(1.0)).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_the_top_or_those_that_it_changes() {
        let of = |message: &str| Logged::of(message).map(|logged| (logged.sql, logged.rows));
        let select = "plan:\nQuery Text: SELECT c\nFROM t WHERE id = $1;\nQuery Parameters: $1 = '5'\n\
                      Index Scan using t_pkey on t  (cost=0.15..8.17 rows=1 width=4) (actual time=0.01..0.02 rows=3 loops=1)\n  Index Cond: (id = 5)";
        assert_eq!(of(select), Some(("SELECT c\nFROM t WHERE id = $1".to_owned(), 3)));
        let update = "plan:\nQuery Text: UPDATE t SET a = 1\nUpdate on t  (cost=0.00..1.00 rows=0 width=0) (actual rows=0 loops=1)\n  \
                      ->  Seq Scan on t  (cost=0.00..1.00 rows=9 width=8) (actual rows=2.00 loops=1)";
        assert_eq!(of(update), Some(("UPDATE t SET a = 1".to_owned(), 2)));
        assert_eq!(of("plan:\nQuery Text: SELECT 1\n{\"Plan\": 1}"), None);
        assert_eq!(of("statement: SELECT 1"), None);
    }
}
