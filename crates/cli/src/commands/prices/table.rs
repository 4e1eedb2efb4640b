//! Tables as text and as CSV.

use perbuck_report::text::{self, Screen};

/// Rows under the names of their columns, as wide as the terminal; in a file or a pipe as wide as they are. A column whose name begins
/// with `>` is aligned to the right.
pub(crate) fn text(columns: &str, rows: &[Vec<String>]) -> String {
    let heads: Vec<String> = columns.split(',').map(|name| name.replacen('>', "#", 1)).collect();
    let screen = Screen { columns: perbuck_console::columns().unwrap_or(usize::MAX), colour: false };
    text::table(&heads.join(" | "), rows, screen)
}

/// The same as CSV (RFC 4180).
pub(crate) fn csv(columns: &str, rows: &[Vec<String>]) -> String {
    let quoted = |cell: &String| {
        if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.clone() }
    };
    let rows = rows.iter().map(|r| r.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n");
    format!("{columns}\n{}", rows.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_cells_are_quoted() {
        let rows = [vec!["a,b".to_owned(), "1".to_owned()], vec!["say \"x\"".to_owned(), "22".to_owned()]];
        assert_eq!(text("name,>n", &rows), "name      n\n───────────\na,b       1\nsay \"x\"  22\n");
        assert_eq!(csv("name,n", &rows), "name,n\n\"a,b\",1\n\"say \"\"x\"\"\",22\n");
    }
}
