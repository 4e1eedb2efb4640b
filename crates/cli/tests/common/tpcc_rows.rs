//! Sums over all rows of the nine tables of TPC-C, by which two databases are found to hold the very same rows.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test binary uses its own part of this")]

use super::maria::Maria;
use super::postgres::Postgres;

const TABLES: [&str; 9] = ["warehouse", "district", "customer", "history", "orders", "new_order", "item", "stock", "order_line"];

/// The server's own checksums of the tables.
pub fn of_maria(maria: &Maria) -> String {
    let sums = maria.sql(&format!("CHECKSUM TABLE {}", TABLES.join(", ")));
    assert!(sums.lines().count() == 9 && !sums.contains("NULL"), "{sums}");
    sums.replace(&format!("{}.", maria.database), "")
}

/// Sums of a hash of every row, whatever their order.
pub fn of_postgres(postgres: &Postgres) -> String {
    let one = |t: &str| format!("SELECT '{t}', COUNT(*), SUM(hashtextextended(r::text, 0)) FROM {t} AS r");
    // Parallel workers answer the parts of a union in any order.
    postgres.sql(&format!("{} ORDER BY 1", TABLES.map(one).join(" UNION ALL ")))
}

/// Makes a load that has ended look as if it had been cut off when all rows were in, but not noted as ended.
pub fn as_if_cut_off(sql: &dyn Fn(&str), kind: &str, parts: u32) {
    sql(&format!("DROP TABLE IF EXISTS perbuck_load_{kind}"));
    sql(&format!(
        "CREATE TABLE perbuck_load_{kind} (part INT NOT NULL PRIMARY KEY, batches BIGINT NOT NULL, loaded BIGINT NOT NULL, \
         done INT NOT NULL, claims INT NOT NULL)"
    ));
    let rows: Vec<String> = (0..parts).map(|part| format!("({part}, 0, 0, 1, 0)")).collect();
    sql(&format!("INSERT INTO perbuck_load_{kind} VALUES {}", rows.join(", ")));
    sql(&format!("UPDATE perbuck_data SET used_by = 'loading' WHERE workload = '{kind}'"));
}
