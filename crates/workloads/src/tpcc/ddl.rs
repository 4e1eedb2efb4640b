//! The statements that make the tables, per dialect and by the options: keys, partitions, indexes, references.

use perbuck_database::dialect::{Dialect, Partitions, Type};
use perbuck_load::driver::BulkTable;
use perbuck_load::workload::TableSpec;

use super::schema::{NULLABLE, TABLES, Table};
use super::{Options, PartitionType};

/// All tables; `rows[i]` is the number of rows of table `i`.
pub(super) fn tables(dialect: &'static dyn Dialect, options: &Options, rows: [u64; 9]) -> Vec<TableSpec> {
    TABLES.iter().zip(rows).map(|(table, rows)| self::table(dialect, options, table, rows)).collect()
}

/// One table with so many rows.
pub(crate) fn table(dialect: &'static dyn Dialect, options: &Options, table: &Table, rows: u64) -> TableSpec {
    TableSpec {
        bulk: BulkTable { name: table.name.to_owned(), columns: table.columns().map(|(name, _)| name.to_owned()).collect() },
        create: create(table, dialect, options),
        after_load: after_load(table, dialect, options),
        statistics: dialect.statistics(table.name),
        rows: Some(rows),
        // The number of lines of an order is random (4.3.3.1).
        rows_vary: table.name == "order_line",
        numbered: table.key.is_empty() && options.history_key,
    }
}

/// Indexes and references come when the rows are in: parts are loaded in no order, and a row may be there before the one
/// that it refers to.
fn after_load(table: &Table, dialect: &dyn Dialect, options: &Options) -> Vec<String> {
    let create = dialect.create_index();
    let index = table.index.map(|(name, columns)| format!("{create} {name} ON {} ({columns})", table.name));
    let references = table.references.iter().enumerate().filter(|_| options.foreign_keys).map(|(i, (columns, other, theirs))| {
        format!(
            "ALTER TABLE {0} ADD CONSTRAINT fk_{0}_{1} FOREIGN KEY ({columns}) REFERENCES {other} ({theirs})",
            table.name,
            i + 1
        )
    });
    let valid = index.is_some().then(|| dialect.valid_indexes(table.name)).flatten();
    index.into_iter().chain(valid).chain(references).collect()
}

fn create(table: &Table, dialect: &dyn Dialect, options: &Options) -> Vec<String> {
    let null = |name: &str| if NULLABLE.contains(&name) { "" } else { " NOT NULL" };
    let column = |(name, kind): (&str, Type)| format!("{name} {}{}", dialect.type_words(kind), null(name));
    let mut parts: Vec<String> = table.columns().map(column).collect();
    let by = table.warehouse.filter(|_| options.partitions > 1);
    let history_key = table.key.is_empty() && options.history_key;
    let mut key = table.key.join(", ");
    if history_key {
        // It is no part of the specification, which gives HISTORY no key (1.3.1).
        parts.push(format!("h_id {}", dialect.numbered(true)));
        // The column of the partitions belongs to every unique key.
        key = by.map_or_else(|| "h_id".to_owned(), |column| format!("h_id, {column}"));
    }
    let written = key.is_empty() || (history_key && dialect.numbered_is_key());
    if !written {
        parts.push(format!("PRIMARY KEY ({key}){}", dialect.clustered()));
    }
    let (name, parts, words) = (table.name, parts.join(", "), dialect.table_words(short_rows(table)));
    let partitions = by.map(|column| dialect.partitions(name, column, &partitions(options))).unwrap_or_default();
    let statement = format!("CREATE TABLE {name} ({parts}){words}{}", partitions.clause);
    [vec![statement], partitions.statements].concat()
}

/// Warehouses by range are as even as the numbers allow, by list every N-th is together.
fn partitions(options: &Options) -> Partitions {
    let (n, all) = (options.partitions, u64::from(options.warehouses));
    match options.partition_type {
        PartitionType::Hash => Partitions::Hash(n),
        PartitionType::Range => Partitions::Range((0..u64::from(n)).map(|i| i * all / u64::from(n) + 1).collect()),
        PartitionType::List => Partitions::List((0..u64::from(n)).map(|i| (i + 1..=all).step_by(n as usize).collect()).collect()),
    }
}

/// Whether rows are short; a lone integer key is no reason to keep them in it (warehouse, item).
fn short_rows(table: &Table) -> bool {
    table.key.len() > 1 && !matches!(table.name, "customer" | "stock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_refer_only_to_those_before_them() {
        let position = |name: &str| TABLES.iter().position(|t| t.name == name).unwrap();
        let count = |(i, t): (usize, &Table)| t.references.iter().filter(|(_, other, _)| position(other) < i).count();
        assert_eq!(TABLES.iter().enumerate().map(count).sum::<usize>(), 10, "and there are the ten of 1.3");
    }
}
