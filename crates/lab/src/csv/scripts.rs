//! The SQL that belongs to CSV files: what makes the tables, takes the files in, and makes the indexes.

use perbuck_load::loader::csv::CsvFormat;
use perbuck_load::workload::TableSpec;

use super::CsvTable;

/// What stands in their names, behind that of the database. There is no second point in a name: TiDB Lightning would take
/// `database.something.sql` for data.
pub(super) const NAMES: [&str; 3] = ["tables", "load", "indexes"];

/// Their texts, for the tables that were written.
pub(super) fn texts(format: CsvFormat, tables: &[TableSpec], written: &[CsvTable]) -> [String; 3] {
    let chosen = || tables.iter().filter(|t| written.iter().any(|w| w.name == t.bulk.name));
    let lines = |statements: Vec<&String>| statements.into_iter().map(|s| format!("{s};\n")).collect::<String>();
    let load: String = chosen().zip(written).map(|(table, written)| load(format, table, written)).collect();
    [lines(chosen().flat_map(|t| &t.create).collect()), load, lines(chosen().flat_map(|t| &t.after_load).collect())]
}

/// The statements that take the files of one table in; run from within the folder.
fn load(format: CsvFormat, table: &TableSpec, written: &CsvTable) -> String {
    let (name, columns) = (&table.bulk.name, table.bulk.columns.join(", "));
    let one = |file: &str| match format {
        // In hexadecimal a backslash is the same in every sql_mode; `binary` looks for no characters across a separator.
        CsvFormat::Mysql => format!(
            "LOAD DATA LOCAL INFILE '{file}' INTO TABLE {name} CHARACTER SET binary FIELDS TERMINATED BY ',' \
             OPTIONALLY ENCLOSED BY '\"' ESCAPED BY 0x5C LINES TERMINATED BY '\\n' ({columns});\n"
        ),
        CsvFormat::Postgres => format!("\\copy {name} ({columns}) from '{file}' with (format csv, encoding 'UTF8')\n"),
    };
    // A quote in the name of the database is doubled within a literal.
    let names = written.files.iter().filter_map(|path| path.file_name());
    names.map(|file| one(&file.to_string_lossy().replace('\'', "''"))).collect()
}
