//! The eight tables (1.4.1), their keys and references (1.4.2), and the indexes that 1.5.4 allows; [`super::ddl`] words them.

use perbuck_database::dialect::Type::{self, BigInt as Identifier, Date, Int};
// Servers must sort and compare alike, so that their answers are the same.
use perbuck_database::dialect::Type::{BytewiseChar as Char, BytewiseVarchar as Varchar};

/// Positions of the tables in [`TABLES`].
pub(super) const REGION: usize = 0;
pub(super) const NATION: usize = 1;
pub(super) const PART: usize = 2;
pub(super) const SUPPLIER: usize = 3;
pub(super) const PARTSUPP: usize = 4;
pub(super) const CUSTOMER: usize = 5;
pub(super) const ORDERS: usize = 6;
pub(super) const LINEITEM: usize = 7;

/// Decimals of 1.3.1: money, discounts, taxes and quantities.
const DECIMAL: Type = Type::Decimal(15, 2);

pub(super) struct Table {
    pub(super) name: &'static str,
    /// Names with spaces between them, and their type.
    columns: &'static [(&'static str, Type)],
    pub(super) key: &'static [&'static str],
    /// Columns of its secondary indexes, foreign keys and dates alone; a `+` follows a column that ranges are read from.
    pub(super) indexes: &'static [&'static str],
    /// The column by which it can be partitioned; small tables have none.
    pub(super) partitioned_by: Option<&'static str>,
    pub(super) references: &'static [Reference],
}

impl Table {
    /// Every column with its type, in order.
    pub(super) fn columns(&self) -> impl Iterator<Item = (&'static str, Type)> {
        self.columns.iter().flat_map(|(names, kind)| names.split(' ').map(|name| (name, *kind)))
    }
}

/// Columns, the table that they refer to, and its columns.
pub(super) type Reference = (&'static str, &'static str, &'static str);

/// A table comes after those that it refers to, so that in reverse order each can be dropped.
pub(super) const TABLES: [Table; 8] = [
    Table {
        name: "region",
        columns: &[("r_regionkey", Identifier), ("r_name", Char(25)), ("r_comment", Varchar(152))],
        key: &["r_regionkey"],
        indexes: &[],
        partitioned_by: None,
        references: &[],
    },
    Table {
        name: "nation",
        columns: &[("n_nationkey", Identifier), ("n_name", Char(25)), ("n_regionkey", Identifier), ("n_comment", Varchar(152))],
        key: &["n_nationkey"],
        indexes: &["n_regionkey"],
        partitioned_by: None,
        references: &[("n_regionkey", "region", "r_regionkey")],
    },
    Table {
        name: "part",
        columns: &[
            ("p_partkey", Identifier),
            ("p_name", Varchar(55)),
            ("p_mfgr", Char(25)),
            ("p_brand", Char(10)),
            ("p_type", Varchar(25)),
            ("p_size", Int),
            ("p_container", Char(10)),
            ("p_retailprice", DECIMAL),
            ("p_comment", Varchar(23)),
        ],
        key: &["p_partkey"],
        indexes: &[],
        partitioned_by: None,
        references: &[],
    },
    Table {
        name: "supplier",
        columns: &[
            ("s_suppkey", Identifier),
            ("s_name", Char(25)),
            ("s_address", Varchar(40)),
            ("s_nationkey", Identifier),
            ("s_phone", Char(15)),
            ("s_acctbal", DECIMAL),
            ("s_comment", Varchar(101)),
        ],
        key: &["s_suppkey"],
        indexes: &["s_nationkey"],
        partitioned_by: None,
        references: &[("s_nationkey", "nation", "n_nationkey")],
    },
    Table {
        name: "partsupp",
        columns: &[
            ("ps_partkey ps_suppkey", Identifier),
            ("ps_availqty", Int),
            ("ps_supplycost", DECIMAL),
            ("ps_comment", Varchar(199)),
        ],
        key: &["ps_partkey", "ps_suppkey"],
        indexes: &["ps_suppkey"],
        partitioned_by: None,
        references: &[("ps_partkey", "part", "p_partkey"), ("ps_suppkey", "supplier", "s_suppkey")],
    },
    Table {
        name: "customer",
        columns: &[
            ("c_custkey", Identifier),
            ("c_name", Varchar(25)),
            ("c_address", Varchar(40)),
            ("c_nationkey", Identifier),
            ("c_phone", Char(15)),
            ("c_acctbal", DECIMAL),
            ("c_mktsegment", Char(10)),
            ("c_comment", Varchar(117)),
        ],
        key: &["c_custkey"],
        indexes: &["c_nationkey"],
        partitioned_by: None,
        references: &[("c_nationkey", "nation", "n_nationkey")],
    },
    Table {
        name: "orders",
        columns: &[
            ("o_orderkey o_custkey", Identifier),
            ("o_orderstatus", Char(1)),
            ("o_totalprice", DECIMAL),
            ("o_orderdate", Date),
            ("o_orderpriority o_clerk", Char(15)),
            ("o_shippriority", Int),
            ("o_comment", Varchar(79)),
        ],
        key: &["o_orderkey"],
        indexes: &["o_custkey", "o_orderdate+"],
        partitioned_by: Some("o_orderkey"),
        references: &[("o_custkey", "customer", "c_custkey")],
    },
    Table {
        name: "lineitem",
        columns: &[
            ("l_orderkey l_partkey l_suppkey", Identifier),
            ("l_linenumber", Int),
            ("l_quantity l_extendedprice l_discount l_tax", DECIMAL),
            ("l_returnflag l_linestatus", Char(1)),
            ("l_shipdate l_commitdate l_receiptdate", Date),
            ("l_shipinstruct", Char(25)),
            ("l_shipmode", Char(10)),
            ("l_comment", Varchar(44)),
        ],
        key: &["l_orderkey", "l_linenumber"],
        indexes: &["l_partkey, l_suppkey", "l_suppkey", "l_shipdate+"],
        partitioned_by: Some("l_orderkey"),
        references: &[("l_orderkey", "orders", "o_orderkey"), ("l_partkey, l_suppkey", "partsupp", "ps_partkey, ps_suppkey")],
    },
];
