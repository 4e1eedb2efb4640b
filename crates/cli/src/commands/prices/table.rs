//! Tables as text and as CSV.

/// Rows under the names of their columns, aligned; a column whose name begins with `>` is aligned to the right.
pub(crate) fn text(columns: &str, rows: &[Vec<String>]) -> String {
    let header: Vec<&str> = columns.split(',').collect();
    let names: Vec<&str> = header.iter().map(|h| h.trim_start_matches('>')).collect();
    let length = |text: &str| text.chars().count();
    let widths: Vec<usize> =
        (0..names.len()).map(|c| rows.iter().map(|r| length(&r[c])).chain([length(names[c])]).max().unwrap_or(0)).collect();
    let line = |cells: &[&str]| {
        let padded: Vec<String> = cells
            .iter()
            .enumerate()
            .map(|(c, cell)| {
                let blanks = " ".repeat(widths[c] - length(cell));
                if header[c].starts_with('>') { format!("{blanks}{cell}") } else { format!("{cell}{blanks}") }
            })
            .collect();
        format!("{}\n", padded.join("  ").trim_end())
    };
    let rule = "─".repeat(widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1));
    let body: String = rows.iter().map(|r| line(&r.iter().map(String::as_str).collect::<Vec<_>>())).collect();
    format!("{}{rule}\n{body}", line(&names))
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
