//! The statements that make the tables, per dialect and by the options: keys, partitions, indexes, references.

use perbuck_load::driver::BulkTable;
use perbuck_load::statement::Dialect;
use perbuck_load::workload::TableSpec;

use super::schema::Type::{self, Char, Date, DateOrNull, Int, IntOrNull, Money, Rate, Varchar};
use super::schema::{TABLES, Table};
use super::{Options, PartitionType};
use crate::family::{create_index, valid_indexes};

/// All tables; `rows[i]` is the number of rows of table `i`.
pub(super) fn tables(dialect: Dialect, options: &Options, rows: [u64; 9]) -> Vec<TableSpec> {
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
fn after_load(table: &Table, dialect: Dialect, options: &Options) -> Vec<String> {
    let create = create_index(dialect);
    let index = table.index.map(|(name, columns)| format!("{create} {name} ON {} ({columns})", table.name));
    let references = table.references.iter().enumerate().filter(|_| options.foreign_keys).map(|(i, (columns, other, theirs))| {
        format!(
            "ALTER TABLE {0} ADD CONSTRAINT fk_{0}_{1} FOREIGN KEY ({columns}) REFERENCES {other} ({theirs})",
            table.name,
            i + 1
        )
    });
    let valid = index.is_some().then(|| valid_indexes(dialect, table.name)).flatten();
    index.into_iter().chain(valid).chain(references).collect()
}

fn create(table: &Table, dialect: Dialect, options: &Options) -> Vec<String> {
    let mut parts: Vec<String> =
        table.columns.iter().map(|(name, kind)| format!("{name} {}", type_text(*kind, dialect))).collect();
    let by = table.warehouse.filter(|_| options.partitions > 1);
    let history_key = table.key.is_empty() && options.history_key;
    let mut key = table.key.join(", ");
    if history_key {
        parts.push(own_key(dialect).to_owned());
        // The column of the partitions belongs to every unique key.
        key = by.map_or_else(|| "h_id".to_owned(), |column| format!("h_id, {column}"));
    }
    // SQLite numbers a lone integer key by itself, where it is written with its column.
    let written = key.is_empty() || (history_key && dialect == Dialect::Sqlite);
    if !written {
        // TiDB reads the comment: rows lie in the key itself, as in InnoDB, on every version.
        let clustered = if dialect == Dialect::Mysql { " /*T![clustered_index] CLUSTERED */" } else { "" };
        parts.push(format!("PRIMARY KEY ({key}){clustered}"));
    }
    let settings = match dialect {
        // One collation everywhere: "ordered by C_FIRST" (2.5.2.2) must choose the same customer on every server.
        Dialect::Mysql => " DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        Dialect::Sqlite if without_rowid(table) => " WITHOUT ROWID",
        _ => "",
    };
    let statement = format!("CREATE TABLE {} ({}){settings}", table.name, parts.join(", "));
    match (by, dialect) {
        (Some(column), Dialect::Mysql) => vec![statement + &partitions_within(column, options)],
        (Some(column), Dialect::Postgres | Dialect::Yugabyte) => {
            let method = match options.partition_type {
                PartitionType::Hash => "HASH",
                PartitionType::Range => "RANGE",
                PartitionType::List => "LIST",
            };
            let parts = partition_tables(table.name, options);
            [vec![format!("{statement} PARTITION BY {method} ({column})")], parts].concat()
        }
        _ => vec![statement],
    }
}

/// The column of HISTORY that numbers its rows: it is no part of the specification, which gives HISTORY no key (1.3.1).
fn own_key(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Mysql => "h_id BIGINT NOT NULL AUTO_INCREMENT",
        Dialect::Postgres | Dialect::Yugabyte => "h_id BIGSERIAL NOT NULL",
        // What BIGSERIAL is there by default.
        Dialect::Cockroach => "h_id INT8 DEFAULT unique_rowid() NOT NULL",
        _ => "h_id INTEGER PRIMARY KEY",
    }
}

/// The first warehouse of a partition by range, from 1: as even as the numbers allow.
fn first_of(partition: u32, options: &Options) -> u64 {
    u64::from(partition) * u64::from(options.warehouses) / u64::from(options.partitions) + 1
}

/// The warehouses of a partition by list: every N-th.
fn listed(partition: u32, options: &Options) -> String {
    let all = (partition + 1..=options.warehouses).step_by(options.partitions as usize);
    all.map(|w| w.to_string()).collect::<Vec<_>>().join(", ")
}

/// The clause of MySQL, MariaDB and TiDB.
fn partitions_within(column: &str, options: &Options) -> String {
    let n = options.partitions;
    let each = |one: &dyn Fn(u32) -> String| (0..n).map(|i| format!("PARTITION p{i} {}", one(i))).collect::<Vec<_>>().join(", ");
    match options.partition_type {
        PartitionType::Hash => format!(" PARTITION BY HASH ({column}) PARTITIONS {n}"),
        PartitionType::Range => {
            let below = |i: u32| {
                let limit = if i + 1 == n { "MAXVALUE".to_owned() } else { format!("({})", first_of(i + 1, options)) };
                format!("VALUES LESS THAN {limit}")
            };
            format!(" PARTITION BY RANGE ({column}) ({})", each(&below))
        }
        PartitionType::List => {
            let list = |i: u32| format!("VALUES IN ({})", listed(i, options));
            format!(" PARTITION BY LIST ({column}) ({})", each(&list))
        }
    }
}

/// The partitions of PostgreSQL, which are tables.
fn partition_tables(table: &str, options: &Options) -> Vec<String> {
    let n = options.partitions;
    let values = |i: u32| match options.partition_type {
        PartitionType::Hash => format!("WITH (MODULUS {n}, REMAINDER {i})"),
        PartitionType::Range => {
            let to = if i + 1 == n { "MAXVALUE".to_owned() } else { first_of(i + 1, options).to_string() };
            format!("FROM ({}) TO ({to})", first_of(i, options))
        }
        PartitionType::List => format!("IN ({})", listed(i, options)),
    };
    (0..n).map(|i| format!("CREATE TABLE {table}_p{i} PARTITION OF {table} FOR VALUES {}", values(i))).collect()
}

/// SQLite keeps rows in the key itself where they are short; its documentation advises against it for rows beyond a
/// twentieth of a page (customer, stock), and a lone integer key is the rowid anyhow (warehouse, item).
fn without_rowid(table: &Table) -> bool {
    table.key.len() > 1 && !matches!(table.name, "customer" | "stock")
}

fn type_text(kind: Type, dialect: Dialect) -> String {
    // What comes last are the types of PostgreSQL: TiKV, which has none, was refused before.
    match (dialect, kind) {
        (Dialect::Mysql, Int) => "INT NOT NULL".to_owned(),
        (Dialect::Mysql, IntOrNull) => "INT".to_owned(),
        (Dialect::Mysql, Money(digits)) => format!("DECIMAL({digits}, 2) NOT NULL"),
        (Dialect::Mysql, Rate) => "DECIMAL(4, 4) NOT NULL".to_owned(),
        (Dialect::Mysql, Char(length)) => format!("CHAR({length}) NOT NULL"),
        (Dialect::Mysql, Varchar(length)) => format!("VARCHAR({length}) NOT NULL"),
        (Dialect::Mysql, Date) => "DATETIME NOT NULL".to_owned(),
        (Dialect::Mysql, DateOrNull) => "DATETIME".to_owned(),
        // Unscaled: SQLite has no decimals, and floating money would break the consistency conditions.
        (Dialect::Sqlite, Int | Money(_) | Rate) => "INTEGER NOT NULL".to_owned(),
        (Dialect::Sqlite, IntOrNull) => "INTEGER".to_owned(),
        (Dialect::Sqlite, Char(_) | Varchar(_) | Date) => "TEXT NOT NULL".to_owned(),
        (Dialect::Sqlite, DateOrNull) => "TEXT".to_owned(),
        (_, Int) => "INTEGER NOT NULL".to_owned(),
        (_, IntOrNull) => "INTEGER".to_owned(),
        (_, Money(digits)) => format!("NUMERIC({digits}, 2) NOT NULL"),
        (_, Rate) => "NUMERIC(4, 4) NOT NULL".to_owned(),
        // It compares text bytewise, and takes no column that says so.
        (Dialect::Cockroach, Char(length)) => format!("CHAR({length}) NOT NULL"),
        (Dialect::Cockroach, Varchar(length)) => format!("VARCHAR({length}) NOT NULL"),
        // Bytewise, as everywhere: see the collation of MySQL above.
        (_, Char(length)) => format!("CHAR({length}) COLLATE \"C\" NOT NULL"),
        (_, Varchar(length)) => format!("VARCHAR({length}) COLLATE \"C\" NOT NULL"),
        (_, Date) => "TIMESTAMP NOT NULL".to_owned(),
        (_, DateOrNull) => "TIMESTAMP".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::schema::{CUSTOMER, DISTRICT, HISTORY, ITEM, NEW_ORDER, ORDER_LINE, ORDERS, STOCK, WAREHOUSE};

    /// The statements that make a table and end its load.
    fn made(dialect: Dialect, options: &Options, table: usize) -> (Vec<String>, Vec<String>) {
        let spec = tables(dialect, options, [0; 9]).swap_remove(table);
        (spec.create, spec.after_load)
    }

    #[test]
    fn positions_name_their_tables() {
        let all = tables(Dialect::Mysql, &Options::default(), [1; 9]);
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
        assert!(line(Dialect::Mysql).contains("ol_amount DECIMAL(6, 2) NOT NULL, ol_dist_info CHAR(24) NOT NULL, PRIMARY KEY"));
        assert!(line(Dialect::Mysql).contains("ol_delivery_d DATETIME,"));
        assert!(line(Dialect::Sqlite).contains("ol_amount INTEGER NOT NULL"));
        assert!(line(Dialect::Sqlite).ends_with("PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)) WITHOUT ROWID"));
        let (create, after_load) = made(Dialect::Mysql, &Options::default(), HISTORY);
        assert!(!create[0].contains("PRIMARY KEY") && after_load.is_empty());
    }

    #[test]
    fn tables_refer_only_to_those_before_them() {
        let position = |name: &str| TABLES.iter().position(|t| t.name == name).unwrap();
        let count = |(i, t): (usize, &Table)| t.references.iter().filter(|(_, other, _)| position(other) < i).count();
        assert_eq!(TABLES.iter().enumerate().map(count).sum::<usize>(), 10, "and there are the ten of 1.3");
        let options = Options { foreign_keys: true, ..Options::default() };
        let (create, after_load) = made(Dialect::Postgres, &options, ORDERS);
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
        let mysql = |kind| made(Dialect::Mysql, &with(kind), STOCK).0.remove(0);
        assert!(mysql(PartitionType::Hash).ends_with(" PARTITION BY HASH (s_w_id) PARTITIONS 2"));
        let range = " PARTITION BY RANGE (s_w_id) (PARTITION p0 VALUES LESS THAN (3), PARTITION p1 VALUES LESS THAN MAXVALUE)";
        assert!(mysql(PartitionType::Range).ends_with(range));
        let list = " PARTITION BY LIST (s_w_id) (PARTITION p0 VALUES IN (1, 3, 5), PARTITION p1 VALUES IN (2, 4))";
        assert!(mysql(PartitionType::List).ends_with(list));
        let postgres = |kind| made(Dialect::Postgres, &with(kind), STOCK).0;
        let range = postgres(PartitionType::Range);
        assert!(range[0].ends_with("PARTITION BY RANGE (s_w_id)") && range.len() == 3);
        assert_eq!(range[1], "CREATE TABLE stock_p0 PARTITION OF stock FOR VALUES FROM (1) TO (3)");
        assert_eq!(range[2], "CREATE TABLE stock_p1 PARTITION OF stock FOR VALUES FROM (3) TO (MAXVALUE)");
        assert!(postgres(PartitionType::Hash)[2].ends_with("WITH (MODULUS 2, REMAINDER 1)"));
        assert_eq!(
            made(Dialect::Mysql, &with(PartitionType::Hash), ITEM).0[0],
            made(Dialect::Mysql, &Options::default(), ITEM).0[0]
        );
    }

    #[test]
    fn the_kin_of_postgres_have_its_tables_but_for_what_they_refuse() {
        let options = Options { warehouses: 2, partitions: 2, foreign_keys: true, history_key: true, ..Options::default() };
        for table in [WAREHOUSE, DISTRICT, CUSTOMER, HISTORY, NEW_ORDER, ORDERS, ORDER_LINE, STOCK, ITEM] {
            // The first column of a key is that of the warehouse, which every statement gives: dealt by its hash, as YugabyteDB
            // does by itself, rows are found as in PostgreSQL. It says nothing of it, because in colocated databases it may not.
            let (create, after) = made(Dialect::Yugabyte, &options, table);
            assert_eq!(create, made(Dialect::Postgres, &options, table).0);
            let (checks, rest): (Vec<_>, Vec<_>) = after.into_iter().partition(|sql| sql.contains("indisvalid"));
            let postgres = made(Dialect::Postgres, &options, table).1;
            assert_eq!(checks.len(), usize::from(postgres.iter().any(|sql| sql.starts_with("CREATE INDEX"))));
            let once = postgres.into_iter().map(|sql| sql.replace("CREATE INDEX ", "CREATE INDEX IF NOT EXISTS "));
            assert_eq!(rest, once.collect::<Vec<_>>());
            let whole = Options { partitions: 1, history_key: false, ..options.clone() };
            let (cockroach, postgres) = (made(Dialect::Cockroach, &whole, table), made(Dialect::Postgres, &whole, table));
            assert_eq!(cockroach.0, [postgres.0[0].replace(" COLLATE \"C\"", "")]);
            assert_eq!(cockroach.1, postgres.1);
        }
    }

    #[test]
    fn history_gets_a_key_where_the_server_wants_one() {
        let key = Options { history_key: true, ..Options::default() };
        let history = |dialect, options: &Options| made(dialect, options, HISTORY).0.remove(0);
        assert!(history(Dialect::Mysql, &key).contains("AUTO_INCREMENT, PRIMARY KEY (h_id) /*T!"));
        assert!(history(Dialect::Postgres, &key).contains("h_id BIGSERIAL NOT NULL, PRIMARY KEY (h_id)"));
        assert!(history(Dialect::Sqlite, &key).ends_with("h_id INTEGER PRIMARY KEY)"));
        assert!(history(Dialect::Cockroach, &key).contains("h_id INT8 DEFAULT unique_rowid() NOT NULL, PRIMARY KEY (h_id)"));
        let split = Options { partitions: 2, warehouses: 2, ..key };
        assert!(history(Dialect::Mysql, &split).contains("PRIMARY KEY (h_id, h_w_id)"));
    }
}
