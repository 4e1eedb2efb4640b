//! Consistency conditions 1 to 4 of 3.3.2, the ones that the specification wants demonstrated (3.3.3.1). Each is one
//! query that reads every table once, whatever the number of warehouses, in SQL that all dialects share.

use perbuck_load::workload::Check;

/// Conditions 1 to 4.
pub(super) fn all() -> Vec<Check> {
    vec![condition_1(), condition_2(), condition_3(), condition_4()]
}

fn check(name: &str, what: &str, compared: &str, violations: &str, columns: Vec<&'static str>) -> Check {
    let violations = format!("{violations} LIMIT 5");
    Check { name: name.to_owned(), what: what.to_owned(), compared: compared.to_owned(), violations, columns }
}

fn condition_1() -> Check {
    check(
        "3.3.2.1",
        "W_YTD is the sum of D_YTD in every warehouse",
        "SELECT COUNT(*) FROM warehouse",
        "SELECT w.w_id, w.w_ytd, d.total \
         FROM warehouse w \
         LEFT JOIN (SELECT d_w_id, SUM(d_ytd) AS total FROM district GROUP BY d_w_id) d ON d.d_w_id = w.w_id \
         WHERE d.total IS NULL OR d.total <> w.w_ytd",
        vec!["w_id", "w_ytd", "sum(d_ytd)"],
    )
}

/// The specification has max(NO_O_ID) without a word on districts that deliveries have emptied. There the newest order
/// must have been delivered, which tells them from a district that lost its rows.
fn condition_2() -> Check {
    check(
        "3.3.2.2",
        "D_NEXT_O_ID - 1 is the largest O_ID in every district, and the largest NO_O_ID unless all is delivered",
        "SELECT COUNT(*) FROM district",
        "SELECT d.d_w_id, d.d_id, d.d_next_o_id, o.newest, n.newest \
         FROM district d \
         LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS newest FROM orders GROUP BY o_w_id, o_d_id) o \
         ON o.o_w_id = d.d_w_id AND o.o_d_id = d.d_id \
         LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS newest FROM new_order GROUP BY no_w_id, no_d_id) n \
         ON n.no_w_id = d.d_w_id AND n.no_d_id = d.d_id \
         LEFT JOIN orders l ON l.o_w_id = d.d_w_id AND l.o_d_id = d.d_id AND l.o_id = d.d_next_o_id - 1 \
         WHERE o.newest IS NULL OR o.newest <> d.d_next_o_id - 1 \
         OR n.newest <> d.d_next_o_id - 1 OR (n.newest IS NULL AND l.o_carrier_id IS NULL)",
        vec!["d_w_id", "d_id", "d_next_o_id", "max(o_id)", "max(no_o_id)"],
    )
}

/// A district without undelivered orders fulfils it; condition 2 says whether it may be without.
fn condition_3() -> Check {
    check(
        "3.3.2.3",
        "NO_O_ID has no gaps in any district: max - min + 1 is the number of rows",
        "SELECT COUNT(*) FROM district",
        "SELECT no_w_id, no_d_id, MIN(no_o_id), MAX(no_o_id), COUNT(*) FROM new_order GROUP BY no_w_id, no_d_id \
         HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)",
        vec!["no_w_id", "no_d_id", "min(no_o_id)", "max(no_o_id)", "rows"],
    )
}

fn condition_4() -> Check {
    check(
        "3.3.2.4",
        "the sum of O_OL_CNT is the number of order lines in every district",
        "SELECT COUNT(*) FROM district",
        "SELECT d.d_w_id, d.d_id, o.expected, l.found \
         FROM district d \
         LEFT JOIN (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS expected FROM orders GROUP BY o_w_id, o_d_id) o \
         ON o.o_w_id = d.d_w_id AND o.o_d_id = d.d_id \
         LEFT JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS found FROM order_line GROUP BY ol_w_id, ol_d_id) l \
         ON l.ol_w_id = d.d_w_id AND l.ol_d_id = d.d_id \
         WHERE o.expected IS NULL OR l.found IS NULL OR o.expected <> l.found",
        vec!["d_w_id", "d_id", "sum(o_ol_cnt)", "order lines"],
    )
}
