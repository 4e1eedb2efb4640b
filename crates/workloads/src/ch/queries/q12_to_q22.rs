//! Queries 12 to 22.

use super::{CUSTOMER_OF_ORDER, LINES_OF_ORDER, SINCE, SUPPLIER_OF_STOCK, UNTIL, Words};

/// Orders in time by their number of lines: those of two carriers, and the others.
pub(super) fn q12() -> String {
    format!(
        "SELECT o_ol_cnt, SUM(CASE WHEN o_carrier_id = 1 OR o_carrier_id = 2 THEN 1 ELSE 0 END) AS high_line_count,
 SUM(CASE WHEN o_carrier_id <> 1 AND o_carrier_id <> 2 THEN 1 ELSE 0 END) AS low_line_count
FROM orders, order_line
WHERE {LINES_OF_ORDER} AND o_entry_d <= ol_delivery_d AND ol_delivery_d < {UNTIL}
GROUP BY o_ol_cnt
ORDER BY o_ol_cnt"
    )
}

/// How many customers have so many orders of some carriers; customers of all districts with one number are one, as the paper has it.
pub(super) fn q13() -> String {
    "SELECT c_count, COUNT(*) AS custdist
FROM (SELECT c_id, COUNT(o_id) AS c_count
 FROM customer LEFT OUTER JOIN orders ON (c_w_id = o_w_id AND c_d_id = o_d_id AND c_id = o_c_id AND o_carrier_id > 8)
 GROUP BY c_id) c_orders
GROUP BY c_count
ORDER BY custdist DESC, c_count DESC"
        .to_owned()
}

/// The share of some items in the revenue.
pub(super) fn q14(w: &Words<'_>) -> String {
    let one = w.dollars(1);
    format!(
        "SELECT 100.00 * SUM(CASE WHEN i_data LIKE 'PR%' THEN ol_amount ELSE 0 END) / ({one} + SUM(ol_amount)) AS promo_revenue
FROM order_line, item
WHERE ol_i_id = i_id AND ol_delivery_d >= {SINCE} AND ol_delivery_d < {UNTIL}"
    )
}

/// The suppliers with the highest revenue.
pub(super) fn q15() -> String {
    format!(
        "WITH revenue AS (SELECT {SUPPLIER_OF_STOCK} AS supplier_no, SUM(ol_amount) AS total_revenue
 FROM order_line, stock
 WHERE ol_i_id = s_i_id AND ol_supply_w_id = s_w_id AND ol_delivery_d >= {SINCE}
 GROUP BY {SUPPLIER_OF_STOCK})
SELECT su_suppkey, su_name, su_address, su_phone, total_revenue
FROM supplier, revenue
WHERE su_suppkey = supplier_no AND total_revenue = (SELECT MAX(total_revenue) FROM revenue)
ORDER BY su_suppkey"
    )
}

/// How many suppliers without complaints have items of some kinds.
pub(super) fn q16(w: &Words<'_>) -> String {
    let brand = w.first("i_data", 3);
    format!(
        "SELECT i_name, {brand} AS brand, i_price, COUNT(DISTINCT {SUPPLIER_OF_STOCK}) AS supplier_cnt
FROM stock, item
WHERE i_id = s_i_id AND i_data NOT LIKE 'zz%'
 AND {SUPPLIER_OF_STOCK} NOT IN (SELECT su_suppkey FROM supplier WHERE su_comment LIKE '%bad%')
GROUP BY i_name, {brand}, i_price
ORDER BY supplier_cnt DESC, i_name, brand, i_price"
    )
}

/// Revenue that small orders of some items bring.
pub(super) fn q17() -> String {
    "SELECT SUM(ol_amount) / 2.0 AS avg_yearly
FROM order_line, (SELECT i_id, AVG(ol_quantity) AS a FROM item, order_line WHERE i_data LIKE '%b' AND ol_i_id = i_id GROUP BY i_id) t
WHERE ol_i_id = t.i_id AND ol_quantity < t.a"
        .to_owned()
}

/// Customers with large orders.
pub(super) fn q18(w: &Words<'_>) -> String {
    let large = w.dollars(200);
    format!(
        "SELECT c_last, c_id, o_id, o_entry_d, o_ol_cnt, SUM(ol_amount) AS amount_sum
FROM customer, orders, order_line
WHERE {CUSTOMER_OF_ORDER} AND {LINES_OF_ORDER}
GROUP BY o_id, o_w_id, o_d_id, c_id, c_last, o_entry_d, o_ol_cnt
HAVING SUM(ol_amount) > {large}
ORDER BY amount_sum DESC, o_entry_d, o_w_id, o_d_id, o_id"
    )
}

/// Revenue from items of three kinds in some warehouses. The join that all alternatives share stands before them.
pub(super) fn q19(w: &Words<'_>) -> String {
    let (low, high) = (w.dollars(1), w.dollars(400_000));
    let kind = |end: &str, warehouses: &str| {
        format!(
            "(i_data LIKE '%{end}' AND ol_quantity >= 1 AND ol_quantity <= 10 AND i_price BETWEEN {low} AND {high} AND ol_w_id IN ({warehouses}))"
        )
    };
    let kinds = [kind("a", "1, 2, 3"), kind("b", "1, 2, 4"), kind("c", "1, 5, 3")].join("\n OR ");
    format!(
        "SELECT SUM(ol_amount) AS revenue
FROM order_line, item
WHERE ol_i_id = i_id AND ({kinds})"
    )
}

/// German suppliers whose stock of some items is more than half of what was delivered lately.
pub(super) fn q20() -> String {
    format!(
        "SELECT su_name, su_address
FROM supplier, nation
WHERE su_suppkey IN (SELECT {SUPPLIER_OF_STOCK}
  FROM stock INNER JOIN item ON i_id = s_i_id INNER JOIN order_line ON ol_i_id = s_i_id
  WHERE ol_delivery_d > '2010-05-23 12:00:00' AND i_data LIKE 'co%'
  GROUP BY s_i_id, s_w_id, s_quantity
  HAVING 2 * s_quantity > SUM(ol_quantity))
 AND su_nationkey = n_nationkey AND n_name = 'Germany'
ORDER BY su_name"
    )
}

/// German suppliers of orders whose last line came after their entry.
pub(super) fn q21() -> String {
    let lines = LINES_OF_ORDER.replace("ol_", "l1.ol_");
    format!(
        "SELECT su_name, COUNT(*) AS numwait
FROM supplier, order_line l1, orders, stock, nation
WHERE {lines} AND l1.ol_w_id = s_w_id AND l1.ol_i_id = s_i_id AND {SUPPLIER_OF_STOCK} = su_suppkey AND l1.ol_delivery_d > o_entry_d
 AND NOT EXISTS (SELECT * FROM order_line l2 WHERE l2.ol_o_id = l1.ol_o_id AND l2.ol_w_id = l1.ol_w_id AND l2.ol_d_id = l1.ol_d_id
  AND l2.ol_delivery_d > l1.ol_delivery_d)
 AND su_nationkey = n_nationkey AND n_name = 'Germany'
GROUP BY su_name
ORDER BY numwait DESC, su_name"
    )
}

/// Customers without orders and with more than the usual balance, by state.
pub(super) fn q22(w: &Words<'_>) -> String {
    let (letter, digit) = (w.first("c_state", 1), w.first("c_phone", 1));
    let some = format!("{digit} IN ('1', '2', '3', '4', '5', '6', '7')");
    format!(
        "SELECT {letter} AS country, COUNT(*) AS numcust, SUM(c_balance) AS totacctbal
FROM customer
WHERE {some} AND c_balance > (SELECT AVG(c_balance) FROM customer WHERE c_balance > 0 AND {some})
 AND NOT EXISTS (SELECT * FROM orders WHERE o_c_id = c_id AND o_w_id = c_w_id AND o_d_id = c_d_id)
GROUP BY {letter}
ORDER BY country"
    )
}
