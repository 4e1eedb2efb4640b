//! Queries 17 to 22.

use super::{Day, Words};

/// 2.4.17.
pub(super) fn q17(brand: &str, container: &str) -> String {
    format!(
        "SELECT SUM(l_extendedprice) / 7.0 AS avg_yearly
FROM lineitem, part
WHERE p_partkey = l_partkey AND p_brand = '{brand}' AND p_container = '{container}'
 AND l_quantity < (SELECT 0.2 * AVG(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)"
    )
}

/// 2.4.18.
pub(super) fn q18(w: &Words<'_>, quantity: u32) -> String {
    let quantity = w.whole(quantity);
    format!(
        "SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, SUM(l_quantity)
FROM customer, orders, lineitem
WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING SUM(l_quantity) > {quantity})
 AND c_custkey = o_custkey AND o_orderkey = l_orderkey
GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice
ORDER BY o_totalprice DESC, o_orderdate
LIMIT 100"
    )
}

/// 2.4.19: by kind of container, the sizes that fit into it. The specification asks for a mode `AIR REG`, which no line has.
pub(super) fn q19(w: &Words<'_>, quantities: [u32; 3], brands: &[String; 3]) -> String {
    let containers = [
        "'SM CASE', 'SM BOX', 'SM PACK', 'SM PKG'",
        "'MED BAG', 'MED BOX', 'MED PKG', 'MED PACK'",
        "'LG CASE', 'LG BOX', 'LG PACK', 'LG PKG'",
    ];
    let (ten, revenue) = (w.whole(10), w.revenue());
    let parts: Vec<String> = (0..3)
        .map(|i| {
            let (brand, containers, quantity, size) = (&brands[i], containers[i], w.whole(quantities[i]), 5 * (i + 1));
            format!(
                "(p_partkey = l_partkey AND p_brand = '{brand}' AND p_container IN ({containers})
  AND l_quantity >= {quantity} AND l_quantity <= {quantity} + {ten} AND p_size BETWEEN 1 AND {size}
  AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON')"
            )
        })
        .collect();
    format!("SELECT SUM({revenue}) AS revenue\nFROM lineitem, part\nWHERE {}", parts.join("\n OR "))
}

/// 2.4.20.
pub(super) fn q20(w: &Words<'_>, color: &str, date: Day, nation: &str) -> String {
    let year = w.period("l_shipdate", date, date.plus_months(12));
    // The other side is a number of parts, not a decimal.
    let parts = if w.0.exact_decimals() { "" } else { " / 100" };
    format!(
        "SELECT s_name, s_address
FROM supplier, nation
WHERE s_suppkey IN (SELECT ps_suppkey
 FROM partsupp
 WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE '{color}%')
  AND ps_availqty > (SELECT 0.5 * SUM(l_quantity){parts}
   FROM lineitem
   WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey AND {year}))
 AND s_nationkey = n_nationkey AND n_name = '{nation}'
ORDER BY s_name"
    )
}

/// 2.4.21.
pub(super) fn q21(nation: &str) -> String {
    format!(
        "SELECT s_name, COUNT(*) AS numwait
FROM supplier, lineitem l1, orders, nation
WHERE s_suppkey = l1.l_suppkey AND o_orderkey = l1.l_orderkey AND o_orderstatus = 'F'
 AND l1.l_receiptdate > l1.l_commitdate
 AND EXISTS (SELECT * FROM lineitem l2 WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey)
 AND NOT EXISTS (SELECT * FROM lineitem l3
  WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey AND l3.l_receiptdate > l3.l_commitdate)
 AND s_nationkey = n_nationkey AND n_name = '{nation}'
GROUP BY s_name
ORDER BY numwait DESC, s_name
LIMIT 100"
    )
}

/// 2.4.22.
pub(super) fn q22(w: &Words<'_>, codes: [u32; 7]) -> String {
    let (code, zero) = (w.0.first_characters("c_phone", 2), if w.0.exact_decimals() { "0.00" } else { "0" });
    let codes = codes.map(|code| format!("'{code}'")).join(", ");
    format!(
        "SELECT cntrycode, COUNT(*) AS numcust, SUM(c_acctbal) AS totacctbal
FROM (SELECT {code} AS cntrycode, c_acctbal
 FROM customer
 WHERE {code} IN ({codes})
  AND c_acctbal > (SELECT AVG(c_acctbal) FROM customer WHERE c_acctbal > {zero} AND {code} IN ({codes}))
  AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey)) AS custsale
GROUP BY cntrycode
ORDER BY cntrycode"
    )
}
