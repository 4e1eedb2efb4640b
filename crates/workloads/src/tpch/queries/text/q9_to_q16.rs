//! Queries 9 to 16.

use super::{Day, Words};

/// 2.4.9.
pub(super) fn q9(w: &Words<'_>, color: &str) -> String {
    let (year, revenue) = (w.year("o_orderdate"), w.revenue());
    format!(
        "SELECT nation, o_year, SUM(amount) AS sum_profit
FROM (SELECT n_name AS nation, {year} AS o_year, {revenue} - ps_supplycost * l_quantity AS amount
 FROM part, supplier, lineitem, partsupp, orders, nation
 WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey
  AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND p_name LIKE '%{color}%') AS profit
GROUP BY nation, o_year
ORDER BY nation, o_year DESC"
    )
}

/// 2.4.10.
pub(super) fn q10(w: &Words<'_>, date: Day) -> String {
    let (revenue, quarter) = (w.revenue(), w.period("o_orderdate", date, date.plus_months(3)));
    format!(
        "SELECT c_custkey, c_name, SUM({revenue}) AS revenue, c_acctbal, n_name, c_address, c_phone, c_comment
FROM customer, orders, lineitem, nation
WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND {quarter}
 AND l_returnflag = 'R' AND c_nationkey = n_nationkey
GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment
ORDER BY revenue DESC
LIMIT 20"
    )
}

/// 2.4.11.
pub(super) fn q11(nation: &str, fraction: &str) -> String {
    format!(
        "SELECT ps_partkey, SUM(ps_supplycost * ps_availqty) AS value
FROM partsupp, supplier, nation
WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = '{nation}'
GROUP BY ps_partkey
HAVING SUM(ps_supplycost * ps_availqty) > (SELECT SUM(ps_supplycost * ps_availqty) * {fraction}
 FROM partsupp, supplier, nation
 WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = '{nation}')
ORDER BY value DESC"
    )
}

/// 2.4.12.
pub(super) fn q12(w: &Words<'_>, [first, second]: [&str; 2], date: Day) -> String {
    let year = w.period("l_receiptdate", date, date.plus_months(12));
    format!(
        "SELECT l_shipmode,
 SUM(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high_line_count,
 SUM(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) AS low_line_count
FROM orders, lineitem
WHERE o_orderkey = l_orderkey AND l_shipmode IN ('{first}', '{second}')
 AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
 AND {year}
GROUP BY l_shipmode
ORDER BY l_shipmode"
    )
}

/// 2.4.13. Not every database takes a list of columns with the alias of a derived table.
pub(super) fn q13([first, second]: [&str; 2]) -> String {
    format!(
        "SELECT c_count, COUNT(*) AS custdist
FROM (SELECT c_custkey, COUNT(o_orderkey) AS c_count
 FROM customer LEFT OUTER JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%{first}%{second}%'
 GROUP BY c_custkey) AS c_orders
GROUP BY c_count
ORDER BY custdist DESC, c_count DESC"
    )
}

/// 2.4.14.
pub(super) fn q14(w: &Words<'_>, date: Day) -> String {
    let (revenue, month) = (w.revenue(), w.period("l_shipdate", date, date.plus_months(1)));
    format!(
        "SELECT 100.00 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN {revenue} ELSE 0 END) / SUM({revenue}) AS promo_revenue
FROM lineitem, part
WHERE l_partkey = p_partkey AND {month}"
    )
}

/// 2.4.15, by variant A of Appendix B.
pub(super) fn q15(w: &Words<'_>, date: Day) -> String {
    let (revenue, quarter) = (w.revenue(), w.period("l_shipdate", date, date.plus_months(3)));
    format!(
        "WITH revenue (supplier_no, total_revenue) AS (SELECT l_suppkey, SUM({revenue})
 FROM lineitem
 WHERE {quarter}
 GROUP BY l_suppkey)
SELECT s_suppkey, s_name, s_address, s_phone, total_revenue
FROM supplier, revenue
WHERE s_suppkey = supplier_no AND total_revenue = (SELECT MAX(total_revenue) FROM revenue)
ORDER BY s_suppkey"
    )
}

/// 2.4.16.
pub(super) fn q16(brand: &str, kind: &str, sizes: [u32; 8]) -> String {
    let sizes = sizes.map(|size| size.to_string()).join(", ");
    format!(
        "SELECT p_brand, p_type, p_size, COUNT(DISTINCT ps_suppkey) AS supplier_cnt
FROM partsupp, part
WHERE p_partkey = ps_partkey AND p_brand <> '{brand}' AND p_type NOT LIKE '{kind}%' AND p_size IN ({sizes})
 AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
GROUP BY p_brand, p_type, p_size
ORDER BY supplier_cnt DESC, p_brand, p_type, p_size"
    )
}
