//! The SQL that belongs to CSV files: what makes the tables, takes the files in, and makes the indexes.

use perbuck_database::dialect::CsvWords;
use perbuck_load::workload::TableSpec;

use super::CsvTable;

/// Their names end so, after that of the database. There is no second point in a name: TiDB Lightning would take
/// `database.something.sql` for data.
pub(super) const NAMES: [&str; 3] = ["tables", "load", "indexes"];

/// Their texts, for the tables that were written.
pub(super) fn texts(csv: CsvWords, tables: &[TableSpec], written: &[CsvTable]) -> [String; 3] {
    let chosen = || tables.iter().filter(|t| written.iter().any(|w| w.name == t.bulk.name));
    let lines = |statements: Vec<&String>| statements.into_iter().map(|s| format!("{s};\n")).collect::<String>();
    let load: String = chosen().zip(written).map(|(table, written)| load(csv, table, written)).collect();
    [lines(chosen().flat_map(|t| &t.create).collect()), load, lines(chosen().flat_map(|t| &t.after_load).collect())]
}

/// The statements that take the files of one table in; run from within the folder.
fn load(csv: CsvWords, table: &TableSpec, written: &CsvTable) -> String {
    let (name, columns) = (&table.bulk.name, table.bulk.columns.join(", "));
    // A quote in the name of the database is doubled within a literal.
    let names = written.files.iter().filter_map(|path| path.file_name());
    names.map(|file| (csv.take_in)(&file.to_string_lossy().replace('\'', "''"), name, &columns)).collect()
}
