//! How go-tpc and go-ycsb lay numbers out, and the tables of both.

/// How numbers are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// A line for each operation.
    Plain,
    /// A table.
    Table,
    /// JSON.
    Json,
}

/// The words of the options that choose one.
pub(crate) const STYLES: [(&str, Style); 3] = [("plain", Style::Plain), ("table", Style::Table), ("json", Style::Json)];

/// A table with a rule below its first row. `pad` brings a cell to a width; it knows whether the cell is of that row.
pub(crate) fn table(rows: &[Vec<String>], pad: impl Fn(bool, &str, usize) -> String) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let rule: String = widths.iter().map(|w| format!("+{}", "-".repeat(w + 2))).collect::<String>() + "+\n";
    let mut out = rule.clone();
    for (i, row) in rows.iter().enumerate() {
        out.extend(row.iter().zip(&widths).map(|(cell, width)| format!("| {} ", pad(i == 0, cell, *width))));
        out += "|\n";
        if i == 0 {
            out += &rule;
        }
    }
    out + &rule
}
