//! What the meter reads is what the server says, of every counter in its list, read by another session before and after it.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod postgres_support;

use std::collections::BTreeMap;

use perbuck_event::block_on;
use perbuck_load::driver::Driver as _;
use perbuck_postgres::PostgresSession;
use postgres_support::{Postgres, Server as _, run, select};

/// All numbers of the views of one row, by view and column: every column as the server lists it, by other code than the meter's.
async fn views(session: &mut PostgresSession) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    for (view, row) in [
        ("pg_stat_database", "WHERE datname = current_database()"),
        ("pg_stat_bgwriter", ""),
        ("pg_stat_checkpointer", ""),
        ("pg_stat_wal", ""),
    ] {
        let there = select(session, &format!("SELECT to_regclass('pg_catalog.{view}') IS NOT NULL")).await;
        if there[0][0] != "t" && there[0][0] != "1" && there[0][0] != "true" {
            continue;
        }
        let sql = format!("SELECT j.key, j.value FROM {view} v, jsonb_each_text(to_jsonb(v)) j {row}");
        for pair in select(session, &sql).await {
            if let Ok(value) = pair[1].parse::<f64>() {
                found.insert(format!("{view}_{}", pair[0].trim_start_matches("wal_")), value);
            }
        }
    }
    found
}

#[test]
fn each_counter_is_the_servers() {
    block_on(async {
        let (mut own, driver) = (Postgres.session("").await, Postgres.driver(""));
        run(&mut own, "CREATE TABLE IF NOT EXISTS metered (id INT PRIMARY KEY, n INT)").await;
        run(&mut own, "INSERT INTO metered VALUES (1, 0) ON CONFLICT DO NOTHING").await;
        let mut meter = driver.meter(8).await.unwrap().unwrap();
        let mut all = Vec::new();
        for _ in 0..2 {
            // A session reports what it did at once where it is told to, else once a second.
            select(&mut own, "SELECT pg_stat_force_next_flush()::text").await;
            let before = views(&mut own).await;
            let read = meter.read().await.unwrap();
            let after = views(&mut own).await;
            let mut exact = 0;
            let of_views = read.counters.iter().filter(|(name, _)| !name.starts_with("pg_stat_io"));
            for (name, value) in of_views.clone() {
                let column = name.strip_suffix("_total").unwrap_or(name);
                let (low, high) = (before[column], after[column]);
                assert!((low..=high).contains(value), "{name}: {low} {value} {high}");
                exact += usize::from(low == high);
            }
            assert!(exact > 15 && of_views.count() > 25, "{exact}");
            for _ in 0..7 {
                run(&mut own, "BEGIN").await;
                run(&mut own, "UPDATE metered SET n = n + 1 WHERE id = 1").await;
                run(&mut own, "COMMIT").await;
            }
            all.push(read);
        }
        let grown = |name: &str| all[1].counters[name] - all[0].counters[name];
        assert!(grown("pg_stat_database_tup_updated") >= 7.0 && grown("pg_stat_database_xact_commit") >= 7.0);
        assert!(grown("pg_stat_wal_records") >= 7.0);
        run(&mut own, "BEGIN").await;
        let seen = meter.read().await.unwrap().gauges;
        run(&mut own, "ROLLBACK").await;
        // Whether it waits for its client by then is a matter of microseconds.
        let idle = "pg_stat_activity_count{state=\"idle in transaction\"";
        assert!(seen.iter().any(|(name, count)| name.starts_with(idle) && *count >= 1.0), "{seen:?}");
        meter.close().await;
        let none = driver.meter(1_000_000).await.unwrap().unwrap();
        assert!(none.not_told()["metrics"].contains("none was left"), "{:?}", none.not_told());
    })
    .unwrap();
}
