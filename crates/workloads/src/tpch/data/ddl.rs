//! The statements that make the tables, per dialect and by the options: keys, partitions, indexes, references.

use perbuck_database::dialect::{Dialect, Partitions, Type};
use perbuck_load::driver::BulkTable;
use perbuck_load::workload::TableSpec;

use super::DataOptions;
use super::schema::{TABLES, Table};

/// All tables; `rows[i]` is the number of rows of table `i`.
pub(super) fn tables(dialect: &'static dyn Dialect, options: &DataOptions, rows: [u64; 8]) -> Vec<TableSpec> {
    let spec = |(table, rows): (&Table, u64)| TableSpec {
        bulk: bulk(table),
        create: create(table, dialect, options),
        after_load: after_load(table, dialect, options),
        statistics: dialect.statistics(table.name),
        rows: Some(rows),
        // A refresh replaces orders by others, which may have more lines or fewer. One that was interrupted leaves another number of orders,
        // which each trial says before it starts.
        rows_vary: matches!(table.name, "orders" | "lineitem"),
        numbered: false,
    };
    TABLES.iter().zip(rows).map(spec).collect()
}

/// Name and columns of a table.
pub(super) fn bulk(table: &Table) -> BulkTable {
    BulkTable { name: table.name.to_owned(), columns: table.columns().map(|(name, _)| name.to_owned()).collect() }
}

/// Indexes and references come when the rows are in: parts are loaded in no order, and a row may be there before the one
/// that it refers to.
fn after_load(table: &Table, dialect: &dyn Dialect, options: &DataOptions) -> Vec<String> {
    let (create, name) = (dialect.create_index(), table.name);
    let numbered = |list: usize| (1..=list).map(|number| format!("{name}_{number}"));
    let indexes = if options.indexes { table.indexes } else { &[] };
    let index =
        |(id, columns): (String, &&str)| format!("{create} idx_{id} ON {name} ({})", columns.replace('+', dialect.in_order()));
    let references = if options.foreign_keys { table.references } else { &[] };
    let reference = |(id, (columns, other, theirs)): (String, &(&str, &str, &str))| {
        format!("ALTER TABLE {name} ADD CONSTRAINT fk_{id} FOREIGN KEY ({columns}) REFERENCES {other} ({theirs})")
    };
    let valid = (!indexes.is_empty()).then(|| dialect.valid_indexes(name)).flatten();
    let indexes = numbered(indexes.len()).zip(indexes).map(index);
    indexes.chain(valid).chain(numbered(references.len()).zip(references).map(reference)).collect()
}

fn create(table: &Table, dialect: &dyn Dialect, options: &DataOptions) -> Vec<String> {
    let column = |(name, kind): (&str, Type)| format!("{name} {} NOT NULL", dialect.type_words(kind));
    let mut parts: Vec<String> = table.columns().map(column).collect();
    parts.push(format!("PRIMARY KEY ({}){}", table.key.join(", "), dialect.clustered()));
    // A lone integer is no reason to keep rows in their key.
    let (name, parts, words) = (table.name, parts.join(", "), dialect.table_words(table.key.len() > 1));
    let by = table.partitioned_by.filter(|_| options.partitions > 1);
    let partitions = by.map(|column| dialect.partitions(name, column, &Partitions::Hash(options.partitions)));
    let partitions = partitions.unwrap_or_default();
    let statement = format!("CREATE TABLE {name} ({parts}){words}{}", partitions.clause);
    [vec![statement], partitions.statements].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{DIALECTS, MYSQL, POSTGRES, YUGABYTE};
    use crate::tpch::Scale;

    fn statements(dialect: &'static dyn Dialect, options: DataOptions) -> Vec<String> {
        let tables = tables(dialect, &options, [1; 8]).into_iter();
        tables.flat_map(|table| [table.create, table.after_load].concat()).collect()
    }

    fn options() -> DataOptions {
        DataOptions::new(Scale::hundredths(1))
    }

    #[test]
    fn tables_refer_only_to_those_before_them_and_to_their_keys() {
        for (position, table) in TABLES.iter().enumerate() {
            for (columns, other, theirs) in table.references {
                let other = TABLES[..position].iter().find(|t| t.name == *other).unwrap();
                assert_eq!((other.key.join(", ").as_str(), columns.matches(',').count()), (*theirs, theirs.matches(',').count()));
            }
        }
        assert_eq!(TABLES.iter().map(|t| t.references.len()).sum::<usize>(), 8, "those of 1.4.2");
    }

    /// Clause 1.5.4 allows indexes on keys, foreign keys and dates.
    #[test]
    fn only_foreign_keys_and_dates_have_indexes() {
        for table in &TABLES {
            for column in table.indexes.iter().flat_map(|index| index.split(", ")) {
                let name = column.trim_end_matches('+');
                let (_, kind) = table.columns().find(|(known, _)| *known == name).unwrap();
                let foreign = table.references.iter().any(|(columns, ..)| columns.split(", ").any(|known| known == name));
                assert!(foreign || kind == Type::Date, "{name}");
                assert_eq!(column.ends_with('+'), kind == Type::Date, "{name}");
            }
        }
    }

    #[test]
    fn options_decide_indexes_references_and_partitions() {
        for dialect in DIALECTS {
            let plain = statements(dialect, DataOptions { indexes: false, ..options() });
            assert!(!plain.iter().any(|sql| sql.contains("INDEX") || sql.contains("REFERENCES")), "{plain:?}");
            let count = |all: &[String], words: &str| all.iter().filter(|sql| sql.contains(words)).count();
            assert_eq!(count(&statements(dialect, options()), " idx_"), 9, "{}", dialect.name());
            assert_eq!(count(&statements(dialect, DataOptions { foreign_keys: true, ..options() }), "FOREIGN KEY"), 8);
        }
        let partitioned = statements(MYSQL, DataOptions { partitions: 4, ..options() }).join("\n");
        assert_eq!(partitioned.matches("PARTITION BY HASH").count(), 2, "{partitioned}");
        assert!(partitioned.contains("l_shipdate DATE NOT NULL") && partitioned.contains("l_orderkey BIGINT NOT NULL"));
        let postgres = statements(POSTGRES, options()).join("\n");
        assert!(
            postgres.contains("o_totalprice NUMERIC(15, 2) NOT NULL") && postgres.contains("p_name VARCHAR(55) COLLATE \"C\"")
        );
        assert!(statements(YUGABYTE, options()).join("\n").contains("(o_orderdate ASC)"));
    }
}
