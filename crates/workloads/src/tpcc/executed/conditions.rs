//! Each condition finds the very row that breaks it, and names its keys.

use super::*;

/// Changes the database, expects exactly these conditions with the keys that the first offending row begins with, and undoes
/// the change; if anything of it is left, the next change shows it.
fn one(database: &Rc<Database>, change: &str, undo: &str, expected: &[(&str, &[i64])]) {
    database.change(change);
    let found = violations(database);
    let numbers = expected.iter().map(|(number, _)| format!("3.3.2.{number}"));
    assert!(found.iter().map(|(name, _)| name.clone()).eq(numbers), "{change}: {found:?}");
    for ((name, row), (_, keys)) in found.iter().zip(expected) {
        let first: Vec<String> = keys.iter().map(ToString::to_string).collect();
        assert_eq!(row[..keys.len()], first, "{change}: {name}");
    }
    database.change(undo);
}

#[test]
fn money_that_does_not_add_up_is_found_where_it_is() {
    let database = &fresh();
    let add = |table: &str, column: &str, cents: i64, key: &str| {
        format!("UPDATE {table} SET {column} = {column} + ({cents}) WHERE {key}")
    };
    let both = |table: &str, column: &str, key: &str, expected: &[(&str, &[i64])]| {
        one(database, &add(table, column, 1, key), &add(table, column, -1, key), expected);
    };
    both("warehouse", "w_ytd", "w_id = 2", &[("1", &[2]), ("8", &[2])]);
    both("district", "d_ytd", "d_w_id = 1 AND d_id = 7", &[("1", &[1]), ("9", &[1, 7])]);
    let customer = "c_w_id = 2 AND c_d_id = 3 AND c_id = 44";
    both("customer", "c_balance", customer, &[("10", &[2, 3, 44]), ("12", &[2, 3, 44])]);
    both("customer", "c_ytd_payment", customer, &[("12", &[2, 3, 44])]);
    let history = "h_c_w_id = 1 AND h_c_d_id = 4 AND h_c_id = 5";
    both("history", "h_amount", history, &[("8", &[1]), ("9", &[1, 4]), ("10", &[1, 4, 5])]);
    // What a payment moved from one customer to another leaves all sums of the warehouse right.
    let whose = |id: i64| format!("UPDATE history SET h_c_id = {id} WHERE rowid = 1");
    one(database, &whose(2), &whose(1), &[("10", &[1, 1, 1])]);
    // A delivered line's amount belongs to the customer of its order.
    let line = "ol_w_id = 1 AND ol_d_id = 2 AND ol_o_id = 3 AND ol_number = 4";
    let customer = database.number("SELECT o_c_id FROM orders WHERE o_w_id = 1 AND o_d_id = 2 AND o_id = 3");
    both("order_line", "ol_amount", line, &[("10", &[1, 2, customer]), ("12", &[1, 2, customer])]);
}

#[test]
fn orders_that_do_not_fit_their_district_are_found() {
    let database = &fresh();
    let next = "UPDATE district SET d_next_o_id = d_next_o_id";
    let key = "WHERE d_id = 3 AND d_w_id = 2";
    one(database, &format!("{next} + 1 {key}"), &format!("{next} - 1 {key}"), &[("2", &[2, 3])]);
    let put = "INSERT INTO new_order (no_w_id, no_d_id, no_o_id)";
    let take = |o: i64, d: i64| format!("DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = {d} AND no_o_id = {o}");
    // A gap; the oldest one, which makes none; the newest one; all of a warehouse.
    let in_middle: &[(&str, &[i64])] = &[("3", &[1, 7]), ("5", &[1, 7, 2_500]), ("11", &[1, 7])];
    one(database, &take(2_500, 7), &format!("{put} VALUES (1, 7, 2500)"), in_middle);
    let oldest: &[(&str, &[i64])] = &[("5", &[1, 7, 2_101]), ("11", &[1, 7])];
    one(database, &take(2_101, 7), &format!("{put} VALUES (1, 7, 2101)"), oldest);
    let newest: &[(&str, &[i64])] = &[("2", &[1, 10]), ("5", &[1, 10, 3_000]), ("11", &[1, 10])];
    one(database, &take(3_000, 10), &format!("{put} VALUES (1, 10, 3000)"), newest);
    let all = format!("{put} SELECT o_w_id, o_d_id, o_id FROM orders WHERE o_id > 2100 AND o_w_id = 1");
    let every: &[(&str, &[i64])] = &[("2", &[1, 1]), ("5", &[1, 1, 2_101]), ("11", &[1, 1])];
    one(database, "DELETE FROM new_order WHERE no_w_id = 1", &all, every);
    // A row for an order that was delivered, and one for an order that does not exist.
    let delivered: &[(&str, &[i64])] = &[("5", &[1, 7, 2_100]), ("11", &[1, 7])];
    one(database, &format!("{put} VALUES (1, 7, 2100)"), &take(2_100, 7), delivered);
    let invented: &[(&str, &[i64])] = &[("2", &[1, 7]), ("5", &[1, 7, 3_001]), ("11", &[1, 7])];
    one(database, &format!("{put} VALUES (1, 7, 3001)"), &take(3_001, 7), invented);
    let carrier =
        |value: &str| format!("UPDATE orders SET o_carrier_id = {value} WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 2999");
    one(database, &carrier("4"), &carrier("NULL"), &[("5", &[2, 1, 2_999]), ("7", &[2, 1, 2_999])]);
}

#[test]
fn lines_that_do_not_fit_their_order_are_found() {
    let database = &fresh();
    let order = "o_w_id = 1 AND o_d_id = 9 AND o_id = 9";
    let count = |by: &str| format!("UPDATE orders SET o_ol_cnt = o_ol_cnt {by} WHERE {order}");
    one(database, &count("+ 1"), &count("- 1"), &[("4", &[1, 9]), ("6", &[1, 9, 9])]);
    // Two orders of one district that are wrong by as much: the sum of the district does not show it.
    let swap = |by: i64| {
        format!(
            "UPDATE orders SET o_ol_cnt = o_ol_cnt + CASE o_id WHEN 8 THEN {by} ELSE -({by}) END \
             WHERE o_w_id = 1 AND o_d_id = 9 AND o_id IN (8, 9)"
        )
    };
    one(database, &swap(1), &swap(-1), &[("6", &[1, 9, 8])]);
    let date = |value: &str, order: i64| {
        format!(
            "UPDATE order_line SET ol_delivery_d = {value} \
             WHERE ol_w_id = 2 AND ol_d_id = 6 AND ol_o_id = {order} AND ol_number = 5"
        )
    };
    one(database, &date("NULL", 77), &date("'2010-02-01 00:00:00'", 77), &[("7", &[2, 6, 77])]);
    let (customer, lines) = (
        database.number("SELECT o_c_id FROM orders WHERE o_w_id = 2 AND o_d_id = 6 AND o_id = 2200"),
        "ol_w_id = 2 AND ol_d_id = 6 AND ol_o_id = 2200",
    );
    let early: &[(&str, &[i64])] = &[("7", &[2, 6, 2_200]), ("10", &[2, 6, customer]), ("12", &[2, 6, customer])];
    one(database, &date("'2010-02-01 00:00:00'", 2_200), &date("NULL", 2_200), early);
    // An order without any line is none that has nothing to compare.
    database.change(&format!("DELETE FROM order_line WHERE {lines}"));
    assert_eq!(broken(database), ["3.3.2.4", "3.3.2.6"]);
    database.change("DELETE FROM order_line WHERE ol_w_id = 2 AND ol_d_id = 6");
    database.change("DELETE FROM orders WHERE o_w_id = 2 AND o_d_id = 6");
    assert_eq!(broken(database), ["3.3.2.2", "3.3.2.4", "3.3.2.5", "3.3.2.11"], "a district without orders");
}

#[test]
fn rows_without_a_partner_are_found_on_either_side() {
    let database = &fresh();
    let order = "o_w_id = 2 AND o_d_id = 1 AND o_id = 1";
    database.change(&format!("DELETE FROM orders WHERE {order}"));
    let found = violations(database);
    let first = |name: &str| found.iter().find(|(n, _)| n == name).map(|(_, row)| row.join(" ")).unwrap_or_default();
    assert!(first("3.3.2.6").starts_with("2 1 1 0 "), "{found:?}");
    assert!(first("3.3.2.7").starts_with("2 1 1 0 "), "{found:?}");
    let database = &fresh();
    database.change("DELETE FROM district WHERE d_w_id = 1 AND d_id = 3");
    assert_eq!(broken(database), ["3.3.2.1", "3.3.2.9"]);
    let database = &fresh();
    database.change("DELETE FROM customer WHERE c_w_id = 1 AND c_d_id = 3 AND c_id = 5");
    let found = violations(database);
    // It was paid for, and nothing was delivered to it but what cost nothing.
    assert_eq!((found.len(), found[0].0.as_str(), found[0].1[..3].join(" ")), (1, "3.3.2.10", "1 3 5".to_owned()));
}
