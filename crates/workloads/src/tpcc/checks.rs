//! The twelve consistency conditions of 3.3.2; the specification wants the first four demonstrated (3.3.3.1).
//!
//! Each is one query that reads every table once, whatever the number of warehouses, in SQL that all dialects share. Sets
//! are grouped by their key, put one below the other and grouped again. So a row without a partner is found on either side,
//! and no join can lose it or compare it with NULL. Money has the same scale on both sides, and is exact in every dialect.
//! Violations come in the order of their keys.

use perbuck_load::workload::Check;

/// Servers that read this hint group by sorting. Otherwise they keep the groups in a table, and once it does not fit into
/// memory, each group costs more the more there are. A comment to other servers.
const BIG: &str = "/*! SQL_BIG_RESULT */";
/// Those servers also read the lines of an order by the primary key, which is the order in which they are summed up.
const LINES: &str = "order_line /*! FORCE INDEX (PRIMARY) */";
/// The amounts of the lines with a delivery date, a row for each order with its customer. Lines are summed up by order
/// first, and there is no join: however many rows there are, they are sorted.
const DELIVERED: &str = "(SELECT {BIG} w, d, o, MAX(c) AS c, SUM(amount) AS amount FROM (\
    SELECT o_w_id AS w, o_d_id AS d, o_id AS o, o_c_id AS c, 0 AS amount FROM orders \
    UNION ALL SELECT ol_w_id, ol_d_id, ol_o_id, 0, SUM(ol_amount) FROM {LINES} \
    WHERE ol_delivery_d IS NOT NULL GROUP BY ol_w_id, ol_d_id, ol_o_id) pairs GROUP BY w, d, o) sums";
/// Finds a row in a database that a program has used: it left a new order, or a carrier with an order that had none.
const USED: &str = "SELECT COUNT(*) FROM orders WHERE o_id > 3000 OR (o_id > 2100 AND o_carrier_id IS NOT NULL)";

pub(super) fn all() -> Vec<Check> {
    CONDITIONS.iter().zip(1..).map(|(condition, number)| check(number, condition)).collect()
}

fn check(number: u32, (what, compared, violations, columns): &Condition) -> Check {
    let violations = violations.replace("{DELIVERED}", DELIVERED).replace("{BIG}", BIG).replace("{LINES}", LINES);
    Check {
        name: format!("3.3.2.{number}"),
        what: (*what).to_owned(),
        compared: format!("SELECT COUNT(*) FROM {compared}").into(),
        violations: format!("{violations} LIMIT 5").into(),
        columns: columns.to_vec(),
        // A delivery removes a row of NEW_ORDER and leaves the order, so condition 11 holds only before the first one.
        unless_used: (number == 11).then(|| USED.to_owned()),
    }
}

/// What holds, the table of what is compared, the query that finds violations, and the names of its columns.
type Condition = (&'static str, &'static str, &'static str, &'static [&'static str]);

/// Those of 3.3.2.1 to 3.3.2.12.
const CONDITIONS: [Condition; 12] = [
    (
        "W_YTD is the sum of D_YTD in every warehouse",
        "warehouse",
        "SELECT w.w_id, w.w_ytd, d.total FROM warehouse w \
         LEFT JOIN (SELECT d_w_id, SUM(d_ytd) AS total FROM district GROUP BY d_w_id) d ON d.d_w_id = w.w_id \
         WHERE d.total IS NULL OR d.total <> w.w_ytd ORDER BY 1",
        &["w_id", "w_ytd", "sum(d_ytd)"],
    ),
    // The specification has max(NO_O_ID) without a word on districts that deliveries have emptied. There the newest order
    // must have been delivered, which tells them from a district that lost its rows.
    (
        "D_NEXT_O_ID - 1 is the largest O_ID in every district, and the largest NO_O_ID unless all is delivered",
        "district",
        "SELECT d.d_w_id, d.d_id, d.d_next_o_id, o.newest, n.newest FROM district d \
         LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS newest FROM orders GROUP BY o_w_id, o_d_id) o \
         ON o.o_w_id = d.d_w_id AND o.o_d_id = d.d_id \
         LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS newest FROM new_order GROUP BY no_w_id, no_d_id) n \
         ON n.no_w_id = d.d_w_id AND n.no_d_id = d.d_id \
         LEFT JOIN orders l ON l.o_w_id = d.d_w_id AND l.o_d_id = d.d_id AND l.o_id = d.d_next_o_id - 1 \
         WHERE o.newest IS NULL OR o.newest <> d.d_next_o_id - 1 \
         OR n.newest <> d.d_next_o_id - 1 OR (n.newest IS NULL AND l.o_carrier_id IS NULL) ORDER BY 1, 2",
        &["d_w_id", "d_id", "d_next_o_id", "max(o_id)", "max(no_o_id)"],
    ),
    // A district without undelivered orders fulfils it; condition 2 says whether it may be without.
    (
        "NO_O_ID has no gaps in any district: max - min + 1 is the number of rows",
        "district",
        "SELECT no_w_id, no_d_id, MIN(no_o_id), MAX(no_o_id), COUNT(*) FROM new_order GROUP BY no_w_id, no_d_id \
         HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*) ORDER BY 1, 2",
        &["no_w_id", "no_d_id", "min(no_o_id)", "max(no_o_id)", "rows"],
    ),
    // Beyond its words, lines and orders of a district that has none are found, too.
    (
        "the sum of O_OL_CNT is the number of order lines in every district",
        "district",
        "SELECT w, d, SUM(expected), SUM(found) FROM (\
         SELECT o_w_id AS w, o_d_id AS d, SUM(o_ol_cnt) AS expected, 0 AS found FROM orders GROUP BY o_w_id, o_d_id \
         UNION ALL SELECT ol_w_id, ol_d_id, 0, COUNT(*) FROM order_line GROUP BY ol_w_id, ol_d_id \
         UNION ALL SELECT d_w_id, d_id, 0, 0 FROM district) t \
         GROUP BY w, d HAVING SUM(expected) <> SUM(found) OR SUM(found) = 0 ORDER BY 1, 2",
        &["d_w_id", "d_id", "sum(o_ol_cnt)", "order lines"],
    ),
    // Only orders without a carrier can have a partner, so only they are looked at: one that has a carrier and a row in
    // NEW_ORDER shows as a row of NEW_ORDER without an undelivered order.
    (
        "O_CARRIER_ID is null exactly where NEW_ORDER has a row, in every order",
        "orders",
        "SELECT w, d, o, SUM(undelivered), SUM(waiting) FROM (\
         SELECT o_w_id AS w, o_d_id AS d, o_id AS o, 1 AS undelivered, 0 AS waiting FROM orders WHERE o_carrier_id IS NULL \
         UNION ALL SELECT no_w_id, no_d_id, no_o_id, 0, 1 FROM new_order) t \
         GROUP BY w, d, o HAVING SUM(undelivered) <> SUM(waiting) ORDER BY 1, 2, 3",
        &["o_w_id", "o_d_id", "o_id", "orders without carrier", "rows in new_order"],
    ),
    (
        "O_OL_CNT is the number of order lines of every order",
        "orders",
        "SELECT {BIG} w, d, o, SUM(expected), SUM(found) FROM (\
         SELECT o_w_id AS w, o_d_id AS d, o_id AS o, o_ol_cnt AS expected, 0 AS found FROM orders \
         UNION ALL SELECT ol_w_id, ol_d_id, ol_o_id, 0, COUNT(*) FROM {LINES} GROUP BY ol_w_id, ol_d_id, ol_o_id) t \
         GROUP BY w, d, o HAVING SUM(expected) <> SUM(found) ORDER BY 1, 2, 3",
        &["o_w_id", "o_d_id", "o_id", "o_ol_cnt", "order lines"],
    ),
    // Of an order with a carrier all lines have a date, of one without (or of no order at all) none has.
    (
        "OL_DELIVERY_D is null exactly where O_CARRIER_ID is, in every line of every order",
        "orders",
        "SELECT {BIG} w, d, o, SUM(carrier), SUM(found), SUM(dated) FROM (\
         SELECT o_w_id AS w, o_d_id AS d, o_id AS o, CASE WHEN o_carrier_id IS NULL THEN 0 ELSE 1 END AS carrier, \
         0 AS found, 0 AS dated FROM orders \
         UNION ALL SELECT ol_w_id, ol_d_id, ol_o_id, 0, COUNT(*), COUNT(ol_delivery_d) FROM {LINES} \
         GROUP BY ol_w_id, ol_d_id, ol_o_id) t \
         GROUP BY w, d, o HAVING SUM(dated) <> SUM(found) * SUM(carrier) ORDER BY 1, 2, 3",
        &["ol_w_id", "ol_d_id", "ol_o_id", "orders with carrier", "order lines", "lines with ol_delivery_d"],
    ),
    (
        "W_YTD is the sum of H_AMOUNT in every warehouse",
        "warehouse",
        "SELECT w, SUM(kept), SUM(paid) FROM (\
         SELECT w_id AS w, w_ytd AS kept, 0 AS paid FROM warehouse \
         UNION ALL SELECT h_w_id, 0, SUM(h_amount) FROM history GROUP BY h_w_id) t \
         GROUP BY w HAVING SUM(kept) <> SUM(paid) ORDER BY 1",
        &["w_id", "w_ytd", "sum(h_amount)"],
    ),
    (
        "D_YTD is the sum of H_AMOUNT in every district",
        "district",
        "SELECT w, d, SUM(kept), SUM(paid) FROM (\
         SELECT d_w_id AS w, d_id AS d, d_ytd AS kept, 0 AS paid FROM district \
         UNION ALL SELECT h_w_id, h_d_id, 0, SUM(h_amount) FROM history GROUP BY h_w_id, h_d_id) t \
         GROUP BY w, d HAVING SUM(kept) <> SUM(paid) ORDER BY 1, 2",
        &["d_w_id", "d_id", "d_ytd", "sum(h_amount)"],
    ),
    (
        "C_BALANCE is the sum of delivered OL_AMOUNT less the sum of H_AMOUNT for every customer",
        "customer",
        "SELECT {BIG} w, d, c, SUM(kept), SUM(delivered), SUM(paid) FROM (\
         SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_balance AS kept, 0 AS delivered, 0 AS paid FROM customer \
         UNION ALL SELECT w, d, c, 0, amount, 0 FROM {DELIVERED} \
         UNION ALL SELECT h_c_w_id, h_c_d_id, h_c_id, 0, 0, h_amount FROM history) t \
         GROUP BY w, d, c HAVING SUM(kept) <> SUM(delivered) - SUM(paid) ORDER BY 1, 2, 3",
        &["c_w_id", "c_d_id", "c_id", "c_balance", "sum(delivered ol_amount)", "sum(h_amount)"],
    ),
    (
        "there are 2,100 orders more than rows in NEW_ORDER in every district",
        "district",
        "SELECT w, d, SUM(ordered), SUM(waiting) FROM (\
         SELECT o_w_id AS w, o_d_id AS d, COUNT(*) AS ordered, 0 AS waiting FROM orders GROUP BY o_w_id, o_d_id \
         UNION ALL SELECT no_w_id, no_d_id, 0, COUNT(*) FROM new_order GROUP BY no_w_id, no_d_id \
         UNION ALL SELECT d_w_id, d_id, 0, 0 FROM district) t \
         GROUP BY w, d HAVING SUM(ordered) - SUM(waiting) <> 2100 ORDER BY 1, 2",
        &["d_w_id", "d_id", "orders", "rows in new_order"],
    ),
    (
        "C_BALANCE + C_YTD_PAYMENT is the sum of delivered OL_AMOUNT for every customer",
        "customer",
        "SELECT {BIG} w, d, c, SUM(kept), SUM(delivered) FROM (\
         SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_balance + c_ytd_payment AS kept, 0 AS delivered FROM customer \
         UNION ALL SELECT w, d, c, 0, amount FROM {DELIVERED}) t \
         GROUP BY w, d, c HAVING SUM(kept) <> SUM(delivered) ORDER BY 1, 2, 3",
        &["c_w_id", "c_d_id", "c_id", "c_balance + c_ytd_payment", "sum(delivered ol_amount)"],
    ),
];
