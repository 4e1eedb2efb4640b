//! Queries 1 to 11.

use super::{CUSTOMER_OF_ORDER, LINES_OF_ORDER, SINCE, SUPPLIER_OF_STOCK, UNTIL, Words};

/// Lines that were delivered, by their number.
pub(super) fn q1() -> String {
    format!(
        "SELECT ol_number, SUM(ol_quantity) AS sum_qty, SUM(ol_amount) AS sum_amount, AVG(ol_quantity) AS avg_qty,
 AVG(ol_amount) AS avg_amount, COUNT(*) AS count_order
FROM order_line
WHERE ol_delivery_d > {SINCE}
GROUP BY ol_number
ORDER BY ol_number"
    )
}

/// The European supplier of each item whose stock is the lowest there.
pub(super) fn q2() -> String {
    format!(
        "SELECT su_suppkey, su_name, n_name, i_id, i_name, su_address, su_phone, su_comment
FROM item, supplier, stock, nation, region,
 (SELECT s_i_id AS m_i_id, MIN(s_quantity) AS m_s_quantity
  FROM stock, supplier, nation, region
  WHERE {SUPPLIER_OF_STOCK} = su_suppkey AND su_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name LIKE 'Europ%'
  GROUP BY s_i_id) m
WHERE i_id = s_i_id AND {SUPPLIER_OF_STOCK} = su_suppkey AND su_nationkey = n_nationkey AND n_regionkey = r_regionkey
 AND i_data LIKE '%b' AND r_name LIKE 'Europ%' AND i_id = m_i_id AND s_quantity = m_s_quantity
ORDER BY n_name, su_name, i_id"
    )
}

/// Orders that are not delivered, of customers in states with an A, by what they are worth.
pub(super) fn q3(w: &Words<'_>) -> String {
    let letter = w.first("c_state", 1);
    format!(
        "SELECT ol_o_id, ol_w_id, ol_d_id, SUM(ol_amount) AS revenue, o_entry_d
FROM customer, new_order, orders, order_line
WHERE {letter} = 'A' AND {CUSTOMER_OF_ORDER} AND no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
 AND {LINES_OF_ORDER} AND o_entry_d > {SINCE}
GROUP BY ol_o_id, ol_w_id, ol_d_id, o_entry_d
ORDER BY revenue DESC, o_entry_d"
    )
}

/// Orders of which a line was delivered in time, by their number of lines.
pub(super) fn q4() -> String {
    format!(
        "SELECT o_ol_cnt, COUNT(*) AS order_count
FROM orders
WHERE o_entry_d >= {SINCE} AND o_entry_d < {UNTIL}
 AND EXISTS (SELECT * FROM order_line WHERE {LINES_OF_ORDER} AND ol_delivery_d >= o_entry_d)
GROUP BY o_ol_cnt
ORDER BY o_ol_cnt"
    )
}

/// Revenue of European nations from suppliers of the customer's own.
pub(super) fn q5(w: &Words<'_>) -> String {
    let nation = w.nation_of_customer();
    format!(
        "SELECT n_name, SUM(ol_amount) AS revenue
FROM customer, orders, order_line, stock, supplier, nation, region
WHERE {CUSTOMER_OF_ORDER} AND {LINES_OF_ORDER} AND ol_w_id = s_w_id AND ol_i_id = s_i_id AND {SUPPLIER_OF_STOCK} = su_suppkey
 AND {nation} = su_nationkey AND su_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'Europe'
 AND o_entry_d >= {SINCE}
GROUP BY n_name
ORDER BY revenue DESC, n_name"
    )
}

/// Revenue of lines of some quantity.
pub(super) fn q6() -> String {
    format!(
        "SELECT SUM(ol_amount) AS revenue
FROM order_line
WHERE ol_delivery_d >= '1999-01-01 00:00:00' AND ol_delivery_d < {UNTIL} AND ol_quantity BETWEEN 1 AND 100000"
    )
}

/// Trade between two nations, by year.
pub(super) fn q7(w: &Words<'_>) -> String {
    let (nation, letter, year) = (w.nation_of_customer(), w.first("c_state", 1), w.year("o_entry_d"));
    format!(
        "SELECT su_nationkey AS supp_nation, {letter} AS cust_nation, {year} AS l_year, SUM(ol_amount) AS revenue
FROM supplier, stock, order_line, orders, customer, nation n1, nation n2
WHERE ol_supply_w_id = s_w_id AND ol_i_id = s_i_id AND {SUPPLIER_OF_STOCK} = su_suppkey AND {LINES_OF_ORDER} AND {CUSTOMER_OF_ORDER}
 AND su_nationkey = n1.n_nationkey AND {nation} = n2.n_nationkey
 AND ((n1.n_name = 'Germany' AND n2.n_name = 'Cambodia') OR (n1.n_name = 'Cambodia' AND n2.n_name = 'Germany'))
 AND ol_delivery_d BETWEEN {SINCE} AND {UNTIL}
GROUP BY su_nationkey, {letter}, {year}
ORDER BY su_nationkey, cust_nation, l_year"
    )
}

/// Germany's share of what Europeans paid for some items, by year.
pub(super) fn q8(w: &Words<'_>) -> String {
    let (nation, year) = (w.nation_of_customer(), w.year("o_entry_d"));
    format!(
        "SELECT {year} AS l_year,
 1.0 * SUM(CASE WHEN n2.n_name = 'Germany' THEN ol_amount ELSE 0 END) / NULLIF(SUM(ol_amount), 0) AS mkt_share
FROM item, supplier, stock, order_line, orders, customer, nation n1, nation n2, region
WHERE i_id = s_i_id AND ol_i_id = s_i_id AND ol_supply_w_id = s_w_id AND {SUPPLIER_OF_STOCK} = su_suppkey AND {LINES_OF_ORDER}
 AND {CUSTOMER_OF_ORDER} AND n1.n_nationkey = {nation} AND n1.n_regionkey = r_regionkey AND ol_i_id < 1000
 AND r_name = 'Europe' AND su_nationkey = n2.n_nationkey AND o_entry_d BETWEEN {SINCE} AND {UNTIL} AND i_data LIKE '%b'
 AND i_id = ol_i_id
GROUP BY {year}
ORDER BY l_year"
    )
}

/// Revenue from some items by nation of the supplier and year.
pub(super) fn q9(w: &Words<'_>) -> String {
    let year = w.year("o_entry_d");
    format!(
        "SELECT n_name, {year} AS l_year, SUM(ol_amount) AS sum_profit
FROM item, stock, supplier, order_line, orders, nation
WHERE ol_i_id = s_i_id AND ol_supply_w_id = s_w_id AND {SUPPLIER_OF_STOCK} = su_suppkey AND {LINES_OF_ORDER} AND ol_i_id = i_id
 AND su_nationkey = n_nationkey AND i_data LIKE '%bb'
GROUP BY n_name, {year}
ORDER BY n_name, l_year DESC"
    )
}

/// What customers spent on orders that were delivered after their entry.
pub(super) fn q10(w: &Words<'_>) -> String {
    let nation = w.nation_of_customer();
    format!(
        "SELECT c_id, c_last, SUM(ol_amount) AS revenue, c_city, c_phone, n_name
FROM customer, orders, order_line, nation
WHERE {CUSTOMER_OF_ORDER} AND {LINES_OF_ORDER} AND o_entry_d >= {SINCE} AND o_entry_d <= ol_delivery_d AND n_nationkey = {nation}
GROUP BY c_id, c_last, c_city, c_phone, n_name
ORDER BY revenue DESC, c_id, c_city"
    )
}

/// The items of German suppliers that are ordered most.
pub(super) fn q11() -> String {
    let german = format!(
        "FROM stock, supplier, nation\nWHERE {SUPPLIER_OF_STOCK} = su_suppkey AND su_nationkey = n_nationkey AND n_name = 'Germany'"
    );
    format!(
        "SELECT s_i_id, SUM(s_order_cnt) AS ordercount
{german}
GROUP BY s_i_id
HAVING SUM(s_order_cnt) > (SELECT SUM(s_order_cnt) * 0.005 {german})
ORDER BY ordercount DESC, s_i_id"
    )
}
