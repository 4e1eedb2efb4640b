//! What the meter reads is what the server says, of every counter in its list, read by another session before and after it.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod mysql_support;

use std::collections::BTreeMap;

use mysql_support::{MARIADB, MYSQL9, Mysql, Server as _, run, select};
use perbuck_event::block_on;
use perbuck_load::driver::Driver as _;
use perbuck_mysql::MysqlSession;

/// The status of the server by the exporter's names, made here by other code than the meter's.
async fn status(session: &mut MysqlSession) -> BTreeMap<String, f64> {
    let rows = select(session, "SHOW GLOBAL STATUS").await;
    let numbers = rows.iter().filter_map(|row| Some((row[0].to_lowercase(), row[1].parse().ok()?)));
    let named = |name: String| {
        for (start, family, label) in [
            ("com_", "commands_total", "command"),
            ("handler_", "handlers_total", "handler"),
            ("innodb_rows_", "innodb_row_ops_total", "operation"),
        ] {
            if let Some(of) = name.strip_prefix(start) {
                return format!("mysql_global_status_{family}{{{label}=\"{of}\"}}");
            }
        }
        if let Some(of) = name.strip_prefix("innodb_buffer_pool_pages_").filter(|of| of.ends_with("flushed")) {
            return format!("mysql_global_status_buffer_pool_page_changes_total{{operation=\"{of}\"}}");
        }
        format!("mysql_global_status_{name}")
    };
    numbers.map(|(name, value)| (named(name), value)).collect()
}

async fn check(server: Mysql) {
    let (mut own, driver) = (server.session("").await, server.driver(""));
    run(&mut own, "CREATE TABLE IF NOT EXISTS metered (id INT PRIMARY KEY, n INT) ENGINE=InnoDB").await;
    run(&mut own, "REPLACE INTO metered VALUES (1, 0)").await;
    let mut meter = driver.meter(8).await.unwrap().unwrap();
    let mut all = Vec::new();
    for _ in 0..2 {
        let before = status(&mut own).await;
        let read = meter.read().await.unwrap();
        let after = status(&mut own).await;
        let of_status = read.counters.iter().filter(|(name, _)| name.starts_with("mysql_global_status_"));
        let mut exact = 0;
        for (name, value) in of_status.clone() {
            let (low, high) = (before[name], after[name]);
            assert!((low..=high).contains(value), "{server:?} {name}: {low} {value} {high}");
            exact += usize::from(low == high);
        }
        // Other tests may use the server, and reading the status counts as work of the server, too.
        assert!(exact > 30 && of_status.count() > 60, "{server:?}: {exact}");
        for _ in 0..7 {
            run(&mut own, "BEGIN").await;
            run(&mut own, "UPDATE metered SET n = n + 1 WHERE id = 1").await;
            run(&mut own, "COMMIT").await;
        }
        all.push(read);
    }
    let grown = |name: &str| all[1].counters[name] - all[0].counters[name];
    for name in ["begin", "commit", "update"] {
        assert!(grown(&format!("mysql_global_status_commands_total{{command=\"{name}\"}}")) >= 7.0, "{server:?} {name}");
    }
    assert!(all[1].gauges["mysql_global_status_threads_connected"] >= 2.0);
    let schema = select(&mut own, "SHOW GLOBAL VARIABLES LIKE 'performance_schema'").await[0][1].clone();
    let has_waits =
        all[1].counters.keys().any(|name| name.starts_with("mysql_perf_schema_events_waits_seconds_total{event_name="));
    assert_eq!(has_waits, schema == "ON", "{server:?}");
    assert_eq!(meter.not_told().contains_key("performance_schema"), schema != "ON");
    meter.close().await;
    // As many connections as the server takes are the load's.
    let most = select(&mut own, "SELECT @@max_connections").await[0][0].parse().unwrap();
    let none = driver.meter(most).await.unwrap().unwrap();
    assert!(none.not_told()["metrics"].contains(&format!("the server takes {most} connections")), "{:?}", none.not_told());
}

#[test]
fn each_counter_is_the_servers() {
    block_on(async {
        for server in [MARIADB, MYSQL9].into_iter().filter(|server| std::env::var_os(server.0).is_some()) {
            check(server).await;
        }
    })
    .unwrap();
}
