//! The nine tables (1.3), their keys and the two secondary indexes, per dialect.
//!
//! Column types follow 1.3.1; counters that it gives four digits are integers, which hold more. No foreign keys are
//! declared: the specification does not ask for their enforcement, and the profiles keep them by construction.

use perbuck_load::driver::BulkTable;
use perbuck_load::statement::Dialect;
use perbuck_load::workload::TableSpec;

/// Positions of the tables in [`tables`].
pub(super) const WAREHOUSE: usize = 0;
pub(super) const DISTRICT: usize = 1;
pub(super) const CUSTOMER: usize = 2;
pub(super) const HISTORY: usize = 3;
pub(super) const NEW_ORDER: usize = 4;
pub(super) const ORDERS: usize = 5;
pub(super) const ORDER_LINE: usize = 6;
pub(super) const STOCK: usize = 7;
pub(super) const ITEM: usize = 8;

#[derive(Clone, Copy)]
enum Type {
    Int,
    IntOrNull,
    /// Cents with this many digits in all.
    Money(u8),
    /// Taxes and discounts: four decimals.
    Rate,
    Char(u16),
    Varchar(u16),
    Date,
    DateOrNull,
}

use Type::{Char, Date, DateOrNull, Int, IntOrNull, Money, Rate, Varchar};

struct Table {
    name: &'static str,
    columns: &'static [(&'static str, Type)],
    /// Empty for HISTORY, which has none (1.3.1).
    key: &'static [&'static str],
    index: Option<(&'static str, &'static str)>,
}

const TABLES: [Table; 9] = [
    Table {
        name: "warehouse",
        columns: &[
            ("w_id", Int),
            ("w_name", Varchar(10)),
            ("w_street_1", Varchar(20)),
            ("w_street_2", Varchar(20)),
            ("w_city", Varchar(20)),
            ("w_state", Char(2)),
            ("w_zip", Char(9)),
            ("w_tax", Rate),
            ("w_ytd", Money(12)),
        ],
        key: &["w_id"],
        index: None,
    },
    Table {
        name: "district",
        columns: &[
            ("d_id", Int),
            ("d_w_id", Int),
            ("d_name", Varchar(10)),
            ("d_street_1", Varchar(20)),
            ("d_street_2", Varchar(20)),
            ("d_city", Varchar(20)),
            ("d_state", Char(2)),
            ("d_zip", Char(9)),
            ("d_tax", Rate),
            ("d_ytd", Money(12)),
            ("d_next_o_id", Int),
        ],
        key: &["d_w_id", "d_id"],
        index: None,
    },
    Table {
        name: "customer",
        columns: &[
            ("c_id", Int),
            ("c_d_id", Int),
            ("c_w_id", Int),
            ("c_first", Varchar(16)),
            ("c_middle", Char(2)),
            ("c_last", Varchar(16)),
            ("c_street_1", Varchar(20)),
            ("c_street_2", Varchar(20)),
            ("c_city", Varchar(20)),
            ("c_state", Char(2)),
            ("c_zip", Char(9)),
            ("c_phone", Char(16)),
            ("c_since", Date),
            ("c_credit", Char(2)),
            ("c_credit_lim", Money(12)),
            ("c_discount", Rate),
            ("c_balance", Money(12)),
            ("c_ytd_payment", Money(12)),
            ("c_payment_cnt", Int),
            ("c_delivery_cnt", Int),
            ("c_data", Varchar(500)),
        ],
        key: &["c_w_id", "c_d_id", "c_id"],
        index: Some(("idx_customer", "c_w_id, c_d_id, c_last, c_first")),
    },
    Table {
        name: "history",
        columns: &[
            ("h_c_id", Int),
            ("h_c_d_id", Int),
            ("h_c_w_id", Int),
            ("h_d_id", Int),
            ("h_w_id", Int),
            ("h_date", Date),
            ("h_amount", Money(6)),
            ("h_data", Varchar(24)),
        ],
        key: &[],
        index: None,
    },
    Table {
        name: "new_order",
        columns: &[("no_o_id", Int), ("no_d_id", Int), ("no_w_id", Int)],
        key: &["no_w_id", "no_d_id", "no_o_id"],
        index: None,
    },
    Table {
        name: "orders",
        columns: &[
            ("o_id", Int),
            ("o_d_id", Int),
            ("o_w_id", Int),
            ("o_c_id", Int),
            ("o_entry_d", Date),
            ("o_carrier_id", IntOrNull),
            ("o_ol_cnt", Int),
            ("o_all_local", Int),
        ],
        key: &["o_w_id", "o_d_id", "o_id"],
        index: Some(("idx_order", "o_w_id, o_d_id, o_c_id, o_id")),
    },
    Table {
        name: "order_line",
        columns: &[
            ("ol_o_id", Int),
            ("ol_d_id", Int),
            ("ol_w_id", Int),
            ("ol_number", Int),
            ("ol_i_id", Int),
            ("ol_supply_w_id", Int),
            ("ol_delivery_d", DateOrNull),
            ("ol_quantity", Int),
            ("ol_amount", Money(6)),
            ("ol_dist_info", Char(24)),
        ],
        key: &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
        index: None,
    },
    Table {
        name: "stock",
        columns: &[
            ("s_i_id", Int),
            ("s_w_id", Int),
            ("s_quantity", Int),
            ("s_dist_01", Char(24)),
            ("s_dist_02", Char(24)),
            ("s_dist_03", Char(24)),
            ("s_dist_04", Char(24)),
            ("s_dist_05", Char(24)),
            ("s_dist_06", Char(24)),
            ("s_dist_07", Char(24)),
            ("s_dist_08", Char(24)),
            ("s_dist_09", Char(24)),
            ("s_dist_10", Char(24)),
            ("s_ytd", Int),
            ("s_order_cnt", Int),
            ("s_remote_cnt", Int),
            ("s_data", Varchar(50)),
        ],
        key: &["s_w_id", "s_i_id"],
        index: None,
    },
    Table {
        name: "item",
        columns: &[("i_id", Int), ("i_im_id", Int), ("i_name", Varchar(24)), ("i_price", Money(5)), ("i_data", Varchar(50))],
        key: &["i_id"],
        index: None,
    },
];

/// All tables; `rows[i]` is the number of rows of table `i`.
pub(super) fn tables(dialect: Dialect, rows: [u64; 9]) -> Vec<TableSpec> {
    let spec = |(table, rows): (&Table, u64)| TableSpec {
        bulk: BulkTable { name: table.name.to_owned(), columns: table.columns.iter().map(|(name, _)| *name).collect() },
        create: vec![create(table, dialect)],
        after_load: table
            .index
            .map(|(name, columns)| format!("CREATE INDEX {name} ON {} ({columns})", table.name))
            .into_iter()
            .collect(),
        rows: Some(rows),
    };
    TABLES.iter().zip(rows).map(spec).collect()
}

fn create(table: &Table, dialect: Dialect) -> String {
    let mut parts: Vec<String> =
        table.columns.iter().map(|(name, kind)| format!("{name} {}", type_text(*kind, dialect))).collect();
    if !table.key.is_empty() {
        // TiDB reads the comment: rows lie in the key itself, as in InnoDB, on every version.
        let clustered = if dialect == Dialect::Mysql { " /*T![clustered_index] CLUSTERED */" } else { "" };
        parts.push(format!("PRIMARY KEY ({}){clustered}", table.key.join(", ")));
    }
    let options = match dialect {
        // One collation everywhere: "ordered by C_FIRST" (2.5.2.2) must choose the same customer on every server.
        Dialect::Mysql => " DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        Dialect::Sqlite if without_rowid(table) => " WITHOUT ROWID",
        Dialect::Sqlite | Dialect::Postgres => "",
    };
    format!("CREATE TABLE {} ({}){options}", table.name, parts.join(", "))
}

/// SQLite keeps rows in the key itself where they are short; its documentation advises against it for rows beyond a
/// twentieth of a page (customer, stock), and a lone integer key is the rowid anyhow (warehouse, item).
fn without_rowid(table: &Table) -> bool {
    table.key.len() > 1 && !matches!(table.name, "customer" | "stock")
}

fn type_text(kind: Type, dialect: Dialect) -> String {
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
        (Dialect::Postgres, Int) => "INTEGER NOT NULL".to_owned(),
        (Dialect::Postgres, IntOrNull) => "INTEGER".to_owned(),
        (Dialect::Postgres, Money(digits)) => format!("NUMERIC({digits}, 2) NOT NULL"),
        (Dialect::Postgres, Rate) => "NUMERIC(4, 4) NOT NULL".to_owned(),
        // Bytewise, as everywhere: see the collation of MySQL above.
        (Dialect::Postgres, Char(length)) => format!("CHAR({length}) COLLATE \"C\" NOT NULL"),
        (Dialect::Postgres, Varchar(length)) => format!("VARCHAR({length}) COLLATE \"C\" NOT NULL"),
        (Dialect::Postgres, Date) => "TIMESTAMP NOT NULL".to_owned(),
        (Dialect::Postgres, DateOrNull) => "TIMESTAMP".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_name_their_tables() {
        let all = tables(Dialect::Mysql, [1; 9]);
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
        let line = |dialect| tables(dialect, [0; 9]).swap_remove(ORDER_LINE).create.remove(0);
        assert!(line(Dialect::Mysql).contains("ol_amount DECIMAL(6, 2) NOT NULL, ol_dist_info CHAR(24) NOT NULL, PRIMARY KEY"));
        assert!(line(Dialect::Mysql).contains("ol_delivery_d DATETIME,"));
        assert!(line(Dialect::Sqlite).contains("ol_amount INTEGER NOT NULL"));
        assert!(line(Dialect::Sqlite).ends_with("PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)) WITHOUT ROWID"));
        let history = tables(Dialect::Mysql, [0; 9]).swap_remove(HISTORY);
        assert!(!history.create[0].contains("PRIMARY KEY") && history.after_load.is_empty());
    }
}
