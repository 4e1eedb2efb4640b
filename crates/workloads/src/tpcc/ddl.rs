//! The statements that make the tables, per dialect and by the options: keys, partitions, indexes, references.

use perbuck_database::dialect::{Dialect, Partitions};
use perbuck_load::driver::BulkTable;
use perbuck_load::workload::TableSpec;

use super::schema::{TABLES, Table};
use super::{Options, PartitionType};

/// All tables; `rows[i]` is the number of rows of table `i`.
pub(super) fn tables(dialect: &'static dyn Dialect, options: &Options, rows: [u64; 9]) -> Vec<TableSpec> {
    let spec = |(table, rows): (&Table, u64)| TableSpec {
        bulk: BulkTable { name: table.name.to_owned(), columns: table.columns.iter().map(|(name, _)| *name).collect() },
        create: create(table, dialect, options),
        after_load: after_load(table, dialect, options),
        rows: Some(rows),
        // The number of lines of an order is random (4.3.3.1).
        rows_by_seed: table.name == "order_line",
        numbered: table.key.is_empty() && options.history_key,
    };
    TABLES.iter().zip(rows).map(spec).collect()
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
    let mut parts: Vec<String> = table.columns.iter().map(|(name, kind)| format!("{name} {}", kind.words(dialect))).collect();
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
    use crate::testing::{COCKROACH, MYSQL, POSTGRES, SQLITE, YUGABYTE};
    use crate::tpcc::schema::{CUSTOMER, DISTRICT, HISTORY, ITEM, NEW_ORDER, ORDER_LINE, ORDERS, STOCK, WAREHOUSE};

    /// The statements that make a table and end its load.
    fn made(dialect: &'static dyn Dialect, options: &Options, table: usize) -> (Vec<String>, Vec<String>) {
        let spec = tables(dialect, options, [0; 9]).swap_remove(table);
        (spec.create, spec.after_load)
    }

    #[test]
    fn positions_name_their_tables() {
        let all = tables(MYSQL, &Options::default(), [1; 9]);
        for (position, name) in [
            (WAREHOUSE, "warehouse"),
            (DISTRICT, "district"),
            (CUSTOMER, "customer"),
            (HISTORY, "history"),
            (NEW_ORDER, "new_order"),
            (ORDERS, "orders"),
            (ORDER_LINE, "order_line"),
            (STOCK, "stock"),
            (ITEM, "item"),
        ] {
            assert_eq!(all[position].bulk.name, name);
        }
    }

    #[test]
    fn money_is_decimal_on_mysql_and_unscaled_on_sqlite() {
        let line = |dialect| made(dialect, &Options::default(), ORDER_LINE).0.remove(0);
        assert!(line(MYSQL).contains("ol_amount DECIMAL(6, 2) NOT NULL, ol_dist_info CHAR(24) NOT NULL, PRIMARY KEY"));
        assert!(line(MYSQL).contains("ol_delivery_d DATETIME,"));
        assert!(line(SQLITE).contains("ol_amount INTEGER NOT NULL"));
        assert!(line(SQLITE).ends_with("PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)) WITHOUT ROWID"));
        let (create, after_load) = made(MYSQL, &Options::default(), HISTORY);
        assert!(!create[0].contains("PRIMARY KEY") && after_load.is_empty());
    }

    #[test]
    fn tables_refer_only_to_those_before_them() {
        let position = |name: &str| TABLES.iter().position(|t| t.name == name).unwrap();
        let count = |(i, t): (usize, &Table)| t.references.iter().filter(|(_, other, _)| position(other) < i).count();
        assert_eq!(TABLES.iter().enumerate().map(count).sum::<usize>(), 10, "and there are the ten of 1.3");
        let options = Options { foreign_keys: true, ..Options::default() };
        let (create, after_load) = made(POSTGRES, &options, ORDERS);
        assert!(!create[0].contains("REFERENCES"));
        assert_eq!(
            after_load[1],
            "ALTER TABLE orders ADD CONSTRAINT fk_orders_1 FOREIGN KEY (o_w_id, o_d_id, o_c_id) \
             REFERENCES customer (c_w_id, c_d_id, c_id)"
        );
    }

    #[test]
    fn partitions_hold_every_warehouse_once() {
        let with = |partition_type| Options { warehouses: 5, partitions: 2, partition_type, ..Options::default() };
        let mysql = |kind| made(MYSQL, &with(kind), STOCK).0.remove(0);
        assert!(mysql(PartitionType::Hash).ends_with(" PARTITION BY HASH (s_w_id) PARTITIONS 2"));
        let range = " PARTITION BY RANGE (s_w_id) (PARTITION p0 VALUES LESS THAN (3), PARTITION p1 VALUES LESS THAN MAXVALUE)";
        assert!(mysql(PartitionType::Range).ends_with(range));
        let list = " PARTITION BY LIST (s_w_id) (PARTITION p0 VALUES IN (1, 3, 5), PARTITION p1 VALUES IN (2, 4))";
        assert!(mysql(PartitionType::List).ends_with(list));
        let postgres = |kind| made(POSTGRES, &with(kind), STOCK).0;
        let range = postgres(PartitionType::Range);
        assert!(range[0].ends_with("PARTITION BY RANGE (s_w_id)") && range.len() == 3);
        assert_eq!(range[1], "CREATE TABLE stock_p0 PARTITION OF stock FOR VALUES FROM (1) TO (3)");
        assert_eq!(range[2], "CREATE TABLE stock_p1 PARTITION OF stock FOR VALUES FROM (3) TO (MAXVALUE)");
        assert!(postgres(PartitionType::Hash)[2].ends_with("WITH (MODULUS 2, REMAINDER 1)"));
        assert_eq!(made(MYSQL, &with(PartitionType::Hash), ITEM).0[0], made(MYSQL, &Options::default(), ITEM).0[0]);
    }

    #[test]
    fn the_kin_of_postgres_have_its_tables_but_for_what_they_refuse() {
        let options = Options { warehouses: 2, partitions: 2, foreign_keys: true, history_key: true, ..Options::default() };
        for table in [WAREHOUSE, DISTRICT, CUSTOMER, HISTORY, NEW_ORDER, ORDERS, ORDER_LINE, STOCK, ITEM] {
            // The first column of a key is that of the warehouse, which every statement gives: dealt by its hash, as YugabyteDB
            // does by itself, rows are found as in PostgreSQL. It says nothing of it, because in colocated databases it may not.
            let (create, after) = made(YUGABYTE, &options, table);
            assert_eq!(create, made(POSTGRES, &options, table).0);
            let (checks, rest): (Vec<_>, Vec<_>) = after.into_iter().partition(|sql| sql.contains("indisvalid"));
            let postgres = made(POSTGRES, &options, table).1;
            assert_eq!(checks.len(), usize::from(postgres.iter().any(|sql| sql.starts_with("CREATE INDEX"))));
            let once = postgres.into_iter().map(|sql| sql.replace("CREATE INDEX ", "CREATE INDEX IF NOT EXISTS "));
            assert_eq!(rest, once.collect::<Vec<_>>());
            let whole = Options { partitions: 1, history_key: false, ..options.clone() };
            let (cockroach, postgres) = (made(COCKROACH, &whole, table), made(POSTGRES, &whole, table));
            assert_eq!(cockroach.0, [postgres.0[0].replace(" COLLATE \"C\"", "")]);
            assert_eq!(cockroach.1, postgres.1);
        }
    }

    #[test]
    fn history_gets_a_key_where_the_server_wants_one() {
        let key = Options { history_key: true, ..Options::default() };
        let history = |dialect, options: &Options| made(dialect, options, HISTORY).0.remove(0);
        assert!(history(MYSQL, &key).contains("AUTO_INCREMENT, PRIMARY KEY (h_id) /*T!"));
        assert!(history(POSTGRES, &key).contains("h_id BIGSERIAL NOT NULL, PRIMARY KEY (h_id)"));
        assert!(history(SQLITE, &key).ends_with("h_id INTEGER PRIMARY KEY)"));
        assert!(history(COCKROACH, &key).contains("h_id INT8 DEFAULT unique_rowid() NOT NULL, PRIMARY KEY (h_id)"));
        let split = Options { partitions: 2, warehouses: 2, ..key };
        assert!(history(MYSQL, &split).contains("PRIMARY KEY (h_id, h_w_id)"));
    }
}
