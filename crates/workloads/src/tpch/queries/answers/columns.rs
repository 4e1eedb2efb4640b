//! The columns of the 22 answers, with the rule by which a value of each is right (2.1.3.5).

/// When a value is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The same text or date, without blanks at its ends.
    Text,
    /// The same number: keys, single values, counts, and sums of quantities or of ones (rule a, comments 2 and 4).
    Exact,
    /// A sum of money, within 100 (rule c).
    Money,
    /// An average, within 1 % once it is rounded to hundredths (rule d).
    Average,
    /// A quotient with sums: within 1 % and within 100 (rules b and c, comment 1).
    Quotient,
}

/// A column of an answer.
#[derive(Debug)]
pub(super) struct Column {
    /// Its name in the SELECT list.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// Digits after the point of its unit on a database whose decimals are whole numbers: 2 for hundredths.
    pub(super) scale: u32,
}

/// The columns of an answer and the order of its rows.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) columns: &'static [Column],
    /// The columns of ORDER BY by their position. Rows that have the same values there may come in any order.
    pub(super) order_by: &'static [usize],
}

const fn text(name: &'static str) -> Column {
    Column { name, kind: Kind::Text, scale: 0 }
}

const fn whole(name: &'static str) -> Column {
    Column { name, kind: Kind::Exact, scale: 0 }
}

const fn decimal(name: &'static str) -> Column {
    Column { name, kind: Kind::Exact, scale: 2 }
}

const fn money(name: &'static str, scale: u32) -> Column {
    Column { name, kind: Kind::Money, scale }
}

const fn average(name: &'static str) -> Column {
    Column { name, kind: Kind::Average, scale: 2 }
}

const fn quotient(name: &'static str, scale: u32) -> Column {
    Column { name, kind: Kind::Quotient, scale }
}

const fn shape(columns: &'static [Column], order_by: &'static [usize]) -> Shape {
    Shape { columns, order_by }
}

static SHAPES: [Shape; 22] = [
    shape(
        &[
            text("l_returnflag"),
            text("l_linestatus"),
            decimal("sum_qty"),
            money("sum_base_price", 2),
            money("sum_disc_price", 4),
            money("sum_charge", 6),
            average("avg_qty"),
            average("avg_price"),
            average("avg_disc"),
            whole("count_order"),
        ],
        &[0, 1],
    ),
    shape(
        &[
            decimal("s_acctbal"),
            text("s_name"),
            text("n_name"),
            whole("p_partkey"),
            text("p_mfgr"),
            text("s_address"),
            text("s_phone"),
            text("s_comment"),
        ],
        &[0, 2, 1, 3],
    ),
    shape(&[whole("l_orderkey"), money("revenue", 4), text("o_orderdate"), whole("o_shippriority")], &[1, 2]),
    shape(&[text("o_orderpriority"), whole("order_count")], &[0]),
    shape(&[text("n_name"), money("revenue", 4)], &[1]),
    shape(&[money("revenue", 4)], &[]),
    shape(&[text("supp_nation"), text("cust_nation"), whole("l_year"), money("revenue", 4)], &[0, 1, 2]),
    shape(&[whole("o_year"), quotient("mkt_share", 0)], &[0]),
    shape(&[text("nation"), whole("o_year"), money("sum_profit", 4)], &[0, 1]),
    shape(
        &[
            whole("c_custkey"),
            text("c_name"),
            money("revenue", 4),
            decimal("c_acctbal"),
            text("n_name"),
            text("c_address"),
            text("c_phone"),
            text("c_comment"),
        ],
        &[2],
    ),
    shape(&[whole("ps_partkey"), money("value", 2)], &[1]),
    shape(&[text("l_shipmode"), whole("high_line_count"), whole("low_line_count")], &[0]),
    shape(&[whole("c_count"), whole("custdist")], &[1, 0]),
    shape(&[quotient("promo_revenue", 0)], &[]),
    shape(&[whole("s_suppkey"), text("s_name"), text("s_address"), text("s_phone"), money("total_revenue", 4)], &[0]),
    shape(&[text("p_brand"), text("p_type"), whole("p_size"), whole("supplier_cnt")], &[3, 0, 1, 2]),
    shape(&[quotient("avg_yearly", 2)], &[]),
    shape(
        &[
            text("c_name"),
            whole("c_custkey"),
            whole("o_orderkey"),
            text("o_orderdate"),
            decimal("o_totalprice"),
            decimal("sum_quantity"),
        ],
        &[4, 3],
    ),
    shape(&[money("revenue", 4)], &[]),
    shape(&[text("s_name"), text("s_address")], &[0]),
    shape(&[text("s_name"), whole("numwait")], &[1, 0]),
    shape(&[text("cntrycode"), whole("numcust"), money("totacctbal", 2)], &[0]),
];

/// The columns of query 1 to 22.
pub(super) fn of(number: usize) -> &'static Shape {
    debug_assert!((1..=22).contains(&number));
    &SHAPES[number.clamp(1, 22) - 1]
}
