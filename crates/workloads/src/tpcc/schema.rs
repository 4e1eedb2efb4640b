//! The nine tables (1.3), their keys, the two secondary indexes and the references between them; [`super::ddl`] words them.
//!
//! Column types follow 1.3.1; counters that it gives four digits are integers, which hold more.

use perbuck_database::dialect::Type::{self, DateTime as Date, Int};
// "Ordered by C_FIRST" (2.5.2.2) must choose the same customer on every server.
use perbuck_database::dialect::Type::{BytewiseChar as Char, BytewiseVarchar as Varchar};

/// Positions of the tables in [`TABLES`].
pub(super) const WAREHOUSE: usize = 0;
pub(super) const DISTRICT: usize = 1;
pub(super) const CUSTOMER: usize = 2;
pub(super) const HISTORY: usize = 3;
pub(super) const ORDERS: usize = 4;
pub(super) const NEW_ORDER: usize = 5;
pub(super) const ITEM: usize = 6;
pub(super) const STOCK: usize = 7;
pub(super) const ORDER_LINE: usize = 8;

/// Taxes and discounts: four decimals.
const RATE: Type = Type::Decimal(4, 4);

/// Cents with this many digits in all.
const fn money(digits: u8) -> Type {
    Type::Decimal(digits, 2)
}

/// A table, and what its statements are made of.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// Names with spaces between them, and their type.
    pub(crate) columns: &'static [(&'static str, Type)],
    /// Empty for HISTORY, which has none (1.3.1).
    pub(crate) key: &'static [&'static str],
    /// Name and columns of its secondary index.
    pub(crate) index: Option<(&'static str, &'static str)>,
    /// The column by which it can be partitioned: that of the warehouse. ITEM has none.
    pub(crate) warehouse: Option<&'static str>,
    pub(crate) references: &'static [Reference],
}

impl Table {
    /// Every column with its type, in order.
    pub(super) fn columns(&self) -> impl Iterator<Item = (&'static str, Type)> {
        self.columns.iter().flat_map(|(names, kind)| names.split(' ').map(|name| (name, *kind)))
    }
}

/// The columns that may be NULL.
pub(super) const NULLABLE: [&str; 2] = ["o_carrier_id", "ol_delivery_d"];

/// Columns, the table that they refer to, and its columns.
pub(crate) type Reference = (&'static str, &'static str, &'static str);

/// A table comes after those that it refers to, so that in reverse order each can be dropped.
pub(super) const TABLES: [Table; 9] = [
    Table {
        name: "warehouse",
        columns: &[
            ("w_id", Int),
            ("w_name", Varchar(10)),
            ("w_street_1 w_street_2 w_city", Varchar(20)),
            ("w_state", Char(2)),
            ("w_zip", Char(9)),
            ("w_tax", RATE),
            ("w_ytd", money(12)),
        ],
        key: &["w_id"],
        index: None,
        warehouse: Some("w_id"),
        references: &[],
    },
    Table {
        name: "district",
        columns: &[
            ("d_id d_w_id", Int),
            ("d_name", Varchar(10)),
            ("d_street_1 d_street_2 d_city", Varchar(20)),
            ("d_state", Char(2)),
            ("d_zip", Char(9)),
            ("d_tax", RATE),
            ("d_ytd", money(12)),
            ("d_next_o_id", Int),
        ],
        key: &["d_w_id", "d_id"],
        index: None,
        warehouse: Some("d_w_id"),
        references: &[("d_w_id", "warehouse", "w_id")],
    },
    Table {
        name: "customer",
        columns: &[
            ("c_id c_d_id c_w_id", Int),
            ("c_first", Varchar(16)),
            ("c_middle", Char(2)),
            ("c_last", Varchar(16)),
            ("c_street_1 c_street_2 c_city", Varchar(20)),
            ("c_state", Char(2)),
            ("c_zip", Char(9)),
            ("c_phone", Char(16)),
            ("c_since", Date),
            ("c_credit", Char(2)),
            ("c_credit_lim", money(12)),
            ("c_discount", RATE),
            ("c_balance c_ytd_payment", money(12)),
            ("c_payment_cnt c_delivery_cnt", Int),
            ("c_data", Varchar(500)),
        ],
        key: &["c_w_id", "c_d_id", "c_id"],
        index: Some(("idx_customer", "c_w_id, c_d_id, c_last, c_first")),
        warehouse: Some("c_w_id"),
        references: &[("c_w_id, c_d_id", "district", "d_w_id, d_id")],
    },
    Table {
        name: "history",
        columns: &[
            ("h_c_id h_c_d_id h_c_w_id h_d_id h_w_id", Int),
            ("h_date", Date),
            ("h_amount", money(6)),
            ("h_data", Varchar(24)),
        ],
        key: &[],
        index: None,
        warehouse: Some("h_w_id"),
        references: &[
            ("h_c_w_id, h_c_d_id, h_c_id", "customer", "c_w_id, c_d_id, c_id"),
            ("h_w_id, h_d_id", "district", "d_w_id, d_id"),
        ],
    },
    Table {
        name: "orders",
        columns: &[("o_id o_d_id o_w_id o_c_id", Int), ("o_entry_d", Date), ("o_carrier_id o_ol_cnt o_all_local", Int)],
        key: &["o_w_id", "o_d_id", "o_id"],
        index: Some(("idx_order", "o_w_id, o_d_id, o_c_id, o_id")),
        warehouse: Some("o_w_id"),
        references: &[("o_w_id, o_d_id, o_c_id", "customer", "c_w_id, c_d_id, c_id")],
    },
    Table {
        name: "new_order",
        columns: &[("no_o_id no_d_id no_w_id", Int)],
        key: &["no_w_id", "no_d_id", "no_o_id"],
        index: None,
        warehouse: Some("no_w_id"),
        references: &[("no_w_id, no_d_id, no_o_id", "orders", "o_w_id, o_d_id, o_id")],
    },
    Table {
        name: "item",
        columns: &[("i_id i_im_id", Int), ("i_name", Varchar(24)), ("i_price", money(5)), ("i_data", Varchar(50))],
        key: &["i_id"],
        index: None,
        warehouse: None,
        references: &[],
    },
    Table {
        name: "stock",
        columns: &[
            ("s_i_id s_w_id s_quantity", Int),
            ("s_dist_01 s_dist_02 s_dist_03 s_dist_04 s_dist_05 s_dist_06 s_dist_07 s_dist_08 s_dist_09 s_dist_10", Char(24)),
            ("s_ytd s_order_cnt s_remote_cnt", Int),
            ("s_data", Varchar(50)),
        ],
        key: &["s_w_id", "s_i_id"],
        index: None,
        warehouse: Some("s_w_id"),
        references: &[("s_w_id", "warehouse", "w_id"), ("s_i_id", "item", "i_id")],
    },
    Table {
        name: "order_line",
        columns: &[
            ("ol_o_id ol_d_id ol_w_id ol_number ol_i_id ol_supply_w_id", Int),
            ("ol_delivery_d", Date),
            ("ol_quantity", Int),
            ("ol_amount", money(6)),
            ("ol_dist_info", Char(24)),
        ],
        key: &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
        index: None,
        warehouse: Some("ol_w_id"),
        references: &[
            ("ol_w_id, ol_d_id, ol_o_id", "orders", "o_w_id, o_d_id, o_id"),
            ("ol_supply_w_id, ol_i_id", "stock", "s_w_id, s_i_id"),
        ],
    },
];
