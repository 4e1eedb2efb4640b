//! Queries 1 to 8.

use super::{Day, Words};

/// 2.4.1.
pub(super) fn q1(w: &Words<'_>, delta: u32) -> String {
    let (revenue, one, last) = (w.revenue(), w.whole(1), w.date(Day::new(1998, 12, 1).minus_days(delta)));
    format!(
        "SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, SUM(l_extendedprice) AS sum_base_price,
 SUM({revenue}) AS sum_disc_price, SUM({revenue} * ({one} + l_tax)) AS sum_charge,
 AVG(l_quantity) AS avg_qty, AVG(l_extendedprice) AS avg_price, AVG(l_discount) AS avg_disc, COUNT(*) AS count_order
FROM lineitem
WHERE l_shipdate <= {last}
GROUP BY l_returnflag, l_linestatus
ORDER BY l_returnflag, l_linestatus"
    )
}

/// 2.4.2.
pub(super) fn q2(size: u32, kind: &str, region: &str) -> String {
    format!(
        "SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
FROM part, supplier, partsupp, nation, region
WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND p_size = {size} AND p_type LIKE '%{kind}'
 AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = '{region}'
 AND ps_supplycost = (SELECT MIN(ps_supplycost)
  FROM partsupp, supplier, nation, region
  WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey
   AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = '{region}')
ORDER BY s_acctbal DESC, n_name, s_name, p_partkey
LIMIT 100"
    )
}

/// 2.4.3.
pub(super) fn q3(w: &Words<'_>, segment: &str, date: Day) -> String {
    let (revenue, date) = (w.revenue(), w.date(date));
    format!(
        "SELECT l_orderkey, SUM({revenue}) AS revenue, o_orderdate, o_shippriority
FROM customer, orders, lineitem
WHERE c_mktsegment = '{segment}' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
 AND o_orderdate < {date} AND l_shipdate > {date}
GROUP BY l_orderkey, o_orderdate, o_shippriority
ORDER BY revenue DESC, o_orderdate
LIMIT 10"
    )
}

/// 2.4.4.
pub(super) fn q4(w: &Words<'_>, date: Day) -> String {
    let quarter = w.period("o_orderdate", date, date.plus_months(3));
    format!(
        "SELECT o_orderpriority, COUNT(*) AS order_count
FROM orders
WHERE {quarter}
 AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
GROUP BY o_orderpriority
ORDER BY o_orderpriority"
    )
}

/// 2.4.5.
pub(super) fn q5(w: &Words<'_>, region: &str, date: Day) -> String {
    let (revenue, year) = (w.revenue(), w.period("o_orderdate", date, date.plus_months(12)));
    format!(
        "SELECT n_name, SUM({revenue}) AS revenue
FROM customer, orders, lineitem, supplier, nation, region
WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey
 AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = '{region}'
 AND {year}
GROUP BY n_name
ORDER BY revenue DESC"
    )
}

/// 2.4.6.
pub(super) fn q6(w: &Words<'_>, date: Day, discount: u32, quantity: u32) -> String {
    let year = w.period("l_shipdate", date, date.plus_months(12));
    let (discount, step, quantity) = (w.hundredths(discount), w.hundredths(1), w.whole(quantity));
    format!(
        "SELECT SUM(l_extendedprice * l_discount) AS revenue
FROM lineitem
WHERE {year}
 AND l_discount BETWEEN {discount} - {step} AND {discount} + {step} AND l_quantity < {quantity}"
    )
}

/// 2.4.7.
pub(super) fn q7(w: &Words<'_>, [first, second]: [&str; 2]) -> String {
    let (year, revenue) = (w.year("l_shipdate"), w.revenue());
    let (from, to) = (w.date(Day::new(1995, 1, 1)), w.date(Day::new(1996, 12, 31)));
    format!(
        "SELECT supp_nation, cust_nation, l_year, SUM(volume) AS revenue
FROM (SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, {year} AS l_year, {revenue} AS volume
 FROM supplier, lineitem, orders, customer, nation n1, nation n2
 WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey
  AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey
  AND ((n1.n_name = '{first}' AND n2.n_name = '{second}') OR (n1.n_name = '{second}' AND n2.n_name = '{first}'))
  AND l_shipdate BETWEEN {from} AND {to}) AS shipping
GROUP BY supp_nation, cust_nation, l_year
ORDER BY supp_nation, cust_nation, l_year"
    )
}

/// 2.4.8.
pub(super) fn q8(w: &Words<'_>, nation: &str, region: &str, kind: &str) -> String {
    let (year, revenue) = (w.year("o_orderdate"), w.revenue());
    let (from, to) = (w.date(Day::new(1995, 1, 1)), w.date(Day::new(1996, 12, 31)));
    // Whole numbers would have a whole quotient.
    let binary = if w.0.exact_decimals() { "" } else { "1.0 * " };
    format!(
        "SELECT o_year, {binary}SUM(CASE WHEN nation = '{nation}' THEN volume ELSE 0 END) / SUM(volume) AS mkt_share
FROM (SELECT {year} AS o_year, {revenue} AS volume, n2.n_name AS nation
 FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region
 WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey
  AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = '{region}'
  AND s_nationkey = n2.n_nationkey AND o_orderdate BETWEEN {from} AND {to}
  AND p_type = '{kind}') AS all_nations
GROUP BY o_year
ORDER BY o_year"
    )
}
