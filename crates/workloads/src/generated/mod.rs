//! Rows of a user's own tables, drawn by rules that a study states: one rule for each column.
//!
//! A value is a function of the seed, the names of its table and column, and the number of its row. So rows are the same on every database and in
//! whatever order they are loaded. A column that refers to another one computes what that one holds, and looks nothing up.

mod csv;
mod given;
mod pick;
mod read;
mod reading;
mod rows;
mod rule;
#[cfg(test)]
mod tests;

use perbuck_core::workload_kind::{Decides, Parameter, ParameterKind};

pub(crate) use read::read;
pub(crate) use rows::Rows;
use rule::Rule;

/// The parameter that lists the tables.
pub const TABLE: Parameter = Parameter::new(
    "table",
    ParameterKind::Tables,
    "",
    Decides::Data,
    "tables of `init` whose rows are drawn, with a rule for each column",
);

/// Tables whose rows are drawn; none where a study lists none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Generated {
    tables: Vec<Table>,
}

#[derive(Debug, Clone)]
struct Table {
    /// As `init` has it.
    name: String,
    rows: u64,
    columns: Vec<Column>,
    /// What the study says of it, for records and for the fingerprint of the data.
    text: String,
}

#[derive(Debug, Clone)]
struct Column {
    name: String,
    rule: Rule,
    /// The share of rows without a value.
    null: f64,
    /// What names its random stream beside the table: columns of one CSV file in one table have the values of one line.
    stream: String,
}

impl Generated {
    /// How many rows of a table of `init` are drawn, and its columns; `None` of one that they are not drawn for.
    pub(crate) fn table(&self, name: &str) -> Option<(u64, Vec<String>)> {
        let table = self.tables.iter().find(|table| table.name == name)?;
        Some((table.rows, table.columns.iter().map(|column| column.name.clone()).collect()))
    }

    /// Each table with what decides its rows.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (String, &String)> {
        self.tables.iter().map(|table| (format!("{} {}", TABLE.name, table.name), &table.text))
    }

    /// Rows of all tables, and about how many bytes their values have as text.
    pub(crate) fn size(&self) -> (u64, u64) {
        let tables = self.tables.iter().map(|table| (table.rows, table.rows.saturating_mul(self.row_bytes(table))));
        tables.fold((0, 0), |(rows, bytes), (more, of)| (rows.saturating_add(more), bytes.saturating_add(of)))
    }

    /// About how many bytes the values of a row have as text.
    fn row_bytes(&self, table: &Table) -> u64 {
        table.columns.iter().map(|column| (self.value_bytes(&column.rule) as f64 * (1.0 - column.null)) as u64 + 1).sum()
    }

    fn value_bytes(&self, rule: &Rule) -> u64 {
        match rule {
            // Rules that refer to each other end at one that does not.
            Rule::Reference { table, column, .. } => self.value_bytes(&self.tables[*table].columns[*column].rule),
            rule => rule.bytes(),
        }
    }
}
