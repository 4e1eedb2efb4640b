//! The metrics of MySQL and MariaDB while a load is applied, by the names of mysqld_exporter: what `SHOW GLOBAL STATUS` counts, and the
//! waits of performance_schema. Those of a TiDB cluster are at its status ports.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use perbuck_load::driver::{Driver as _, Session, SessionId};
use perbuck_load::error::DriverError;
use perbuck_load::meter::{Later, Meter, Reading};
use perbuck_load::values::Rows;
use perbuck_net::ports::Ports;
use perbuck_net::reach::pairs;

use crate::session::MysqlSession;
use crate::{MysqlDriver, facts, status_ports, tidb};

/// What explains a throughput, of all that is counted. A server gives those that it has.
const COUNTERS: &str = "\
    Aborted_clients Aborted_connects Binlog_bytes_written Binlog_cache_disk_use Binlog_commits Binlog_group_commits \
    Bytes_received Bytes_sent Com_begin Com_call_procedure Com_commit Com_delete Com_delete_multi Com_insert Com_insert_select \
    Com_replace Com_replace_select Com_rollback Com_select Com_stmt_close Com_stmt_execute Com_stmt_prepare Com_update \
    Com_update_multi Connections Created_tmp_disk_tables Created_tmp_files Created_tmp_tables Handler_commit Handler_delete \
    Handler_prepare Handler_read_first Handler_read_key Handler_read_last Handler_read_next Handler_read_prev Handler_read_rnd \
    Handler_read_rnd_next Handler_rollback Handler_update Handler_write Innodb_buffer_pool_pages_flushed \
    Innodb_buffer_pool_pages_lru_flushed Innodb_buffer_pool_read_ahead Innodb_buffer_pool_read_requests \
    Innodb_buffer_pool_reads Innodb_buffer_pool_wait_free Innodb_buffer_pool_write_requests Innodb_data_fsyncs \
    Innodb_data_read Innodb_data_reads Innodb_data_writes Innodb_data_written Innodb_dblwr_pages_written Innodb_dblwr_writes \
    Innodb_deadlocks Innodb_log_waits Innodb_log_write_requests Innodb_log_writes Innodb_os_log_fsyncs Innodb_os_log_written \
    Innodb_pages_created Innodb_pages_read Innodb_pages_written Innodb_row_lock_time Innodb_row_lock_waits \
    Innodb_rows_deleted Innodb_rows_inserted Innodb_rows_read Innodb_rows_updated Opened_tables Queries Questions Rows_read \
    Rows_sent Select_full_join Select_scan Slow_queries Sort_merge_passes Sort_rows Sort_scan Table_locks_immediate \
    Table_locks_waited Table_open_cache_hits Table_open_cache_misses Threads_created";
/// What is no count.
const GAUGES: &str = "\
    Innodb_buffer_pool_pages_data Innodb_buffer_pool_pages_dirty Innodb_buffer_pool_pages_free Innodb_checkpoint_age \
    Innodb_data_pending_fsyncs Innodb_data_pending_reads Innodb_data_pending_writes Innodb_history_list_length \
    Innodb_os_log_pending_fsyncs Innodb_os_log_pending_writes Innodb_row_lock_current_waits Open_tables Prepared_stmt_count \
    Threads_connected Threads_running";
/// All waits of a server since its start. An idle connection waits, too, and that is none of the server's.
const WAITS: &str = "\
    SELECT event_name, count_star, sum_timer_wait FROM performance_schema.events_waits_summary_global_by_event_name \
    WHERE count_star > 0 AND event_name <> 'idle'";
/// Timers of performance_schema count picoseconds.
const PICOSECONDS: f64 = 1e12;
/// What the waits are called where they are not told.
const SCHEMA: &str = "performance_schema";

/// Sessions with the servers of all hosts.
struct SqlMeter {
    sessions: Vec<MysqlSession>,
    status: String,
    /// Whether the waits are read, too.
    waits: bool,
    not_told: BTreeMap<String, String>,
    /// The driver's count of SELECTs for metrics on the first server.
    selects: Arc<AtomicU64>,
}

/// Opens the sessions. Hosts may be names of one server, which counts once.
pub(crate) async fn open(driver: &MysqlDriver, connections: u32) -> Result<Option<Box<dyn Meter>>, DriverError> {
    let names = format!("{COUNTERS} {GAUGES}").replace(' ', "','");
    let status = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ('{names}')");
    let (not_told, selects) = (BTreeMap::new(), Arc::clone(&driver.metered));
    let mut meter = SqlMeter { sessions: Vec::new(), status, waits: true, not_told, selects };
    let mut known = Vec::new();
    let hosts = driver.hosts().len() as u32;
    for host in 0..hosts {
        let mut session = driver.connect_at(SessionId::Own(hosts), host).await?;
        let status = pairs(&mut session, "SHOW GLOBAL STATUS").await?;
        if status.contains_key(tidb::ITS_OWN) {
            let ports = status_ports::processes(&mut session).await;
            session.close().await;
            let (processes, not_told) = ports?;
            return Ok(Some(Box::new(Ports::open(processes, not_told).await)));
        }
        let variables = pairs(&mut session, "SHOW GLOBAL VARIABLES").await?;
        let server = facts::identity(&variables);
        if known.contains(&server) || !status.contains_key("Com_select") {
            session.close().await;
            continue;
        }
        known.push(server);
        meter.sessions.push(session);
        if let Some(why) = no_room(&status, &variables, connections.div_ceil(hosts)) {
            meter.end().await;
            meter.not_told.insert("metrics".to_owned(), why);
            return Ok(Some(Box::new(meter)));
        }
        let is_first = meter.sessions.len() == 1;
        let Some(session) = meter.sessions.last_mut() else { continue };
        if let Some(why) = no_waits(session, &variables, &meter.selects, is_first).await? {
            meter.waits = false;
            meter.not_told.insert(SCHEMA.to_owned(), why);
        }
    }
    let tells = !meter.sessions.is_empty();
    Ok(tells.then(|| -> Box<dyn Meter> { Box::new(meter) }))
}

/// Why a session for the metrics would take a connection that the load needs. That session is among those that are connected.
fn no_room(status: &BTreeMap<String, String>, variables: &BTreeMap<String, String>, connections: u32) -> Option<String> {
    let number = |from: &BTreeMap<String, String>, name: &str| from.get(name).and_then(|text| text.parse::<u64>().ok());
    let (most, connected) = (number(variables, "max_connections")?, number(status, "Threads_connected")?);
    let of_user = number(variables, "max_user_connections").filter(|most| *most > 0).unwrap_or(most);
    let needed = u64::from(connections) + 1;
    (connected - 1 + needed > most || needed > of_user)
        .then(|| format!("the server takes {} connections at most, so none was left for reading them", most.min(of_user)))
}

/// Why the waits of a server are not told.
async fn no_waits(
    session: &mut MysqlSession,
    variables: &BTreeMap<String, String>,
    selects: &AtomicU64,
    is_first: bool,
) -> Result<Option<String>, DriverError> {
    match variables.get(SCHEMA).map(String::as_str) {
        Some("ON") => {
            selects.fetch_add(u64::from(is_first), Ordering::Relaxed);
            Ok(crate::cluster::allowed(session, WAITS).await?.err())
        }
        Some(_) => Ok(Some("it is off on the server".to_owned())),
        None => Ok(Some("the server has none".to_owned())),
    }
}

impl SqlMeter {
    async fn readings(&mut self) -> Result<Reading, DriverError> {
        let mut sum = Reading::default();
        for (number, session) in self.sessions.iter_mut().enumerate() {
            let status = pairs(session, &self.status).await?;
            sum.add(status_reading(&status));
            if self.waits {
                let mut rows = Rows::default();
                // The counters of a record are those of the first server.
                self.selects.fetch_add(u64::from(number == 0), Ordering::Relaxed);
                session.query(WAITS, &mut rows).await?;
                sum.add(waits(&rows)?);
            }
        }
        Ok(sum)
    }

    async fn end(&mut self) {
        for session in self.sessions.drain(..) {
            session.close().await;
        }
    }
}

impl Meter for SqlMeter {
    fn not_told(&self) -> BTreeMap<String, String> {
        self.not_told.clone()
    }

    fn read(&mut self) -> Later<'_, Result<Reading, DriverError>> {
        Box::pin(self.readings())
    }

    fn close(mut self: Box<Self>) -> Later<'static, ()> {
        Box::pin(async move { self.end().await })
    }
}

/// What the status tells, by the exporter's names.
fn status_reading(status: &BTreeMap<String, String>) -> Reading {
    let of = |list: &str| {
        let told = list.split(' ').filter_map(|name| Some((exported(name), status.get(name)?.parse().ok()?)));
        told.collect()
    };
    Reading { counters: of(COUNTERS), gauges: of(GAUGES) }
}

/// The name that mysqld_exporter gives a variable of the status.
fn exported(name: &str) -> String {
    const DIVIDED: [(&str, &str, &str); 5] = [
        ("Com_", "commands_total", "command"),
        ("Handler_", "handlers_total", "handler"),
        ("Innodb_buffer_pool_pages_flushed", "buffer_pool_page_changes_total", "operation"),
        ("Innodb_buffer_pool_pages_lru_flushed", "buffer_pool_page_changes_total", "operation"),
        ("Innodb_rows_", "innodb_row_ops_total", "operation"),
    ];
    let plain = name.to_lowercase();
    match DIVIDED.iter().find(|(start, ..)| name.starts_with(start)) {
        Some((start, family, label)) => {
            let value = plain.strip_prefix("innodb_buffer_pool_pages_").unwrap_or(&plain[start.len().min(plain.len())..]);
            format!("mysql_global_status_{family}{{{label}=\"{value}\"}}")
        }
        None if name == "Innodb_buffer_pool_pages_dirty" => "mysql_global_status_buffer_pool_dirty_pages".to_owned(),
        None => match plain.strip_prefix("innodb_buffer_pool_pages_") {
            Some(state) => format!("mysql_global_status_buffer_pool_pages{{state=\"{state}\"}}"),
            None => format!("mysql_global_status_{plain}"),
        },
    }
}

/// Waits by the exporter's names.
fn waits(rows: &Rows) -> Result<Reading, DriverError> {
    let mut counters = BTreeMap::new();
    for row in 0..rows.len() as usize {
        let event = rows.display(row, 0)?;
        let number = |column| Ok::<f64, DriverError>(rows.display(row, column)?.parse().unwrap_or(0.0));
        let (count, seconds) = (number(1)?, number(2)? / PICOSECONDS);
        let name = |family: &str| format!("mysql_perf_schema_{family}{{event_name=\"{event}\"}}");
        counters.extend([(name("events_waits_total"), count), (name("events_waits_seconds_total"), seconds)]);
    }
    Ok(Reading { counters, gauges: BTreeMap::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_and_hold_nothing_twice() {
        for list in [COUNTERS, GAUGES] {
            assert!(list.split(' ').is_sorted_by(|a, b| a < b));
        }
        let names: BTreeMap<String, ()> = COUNTERS.split(' ').chain(GAUGES.split(' ')).map(|name| (exported(name), ())).collect();
        assert_eq!(names.len(), COUNTERS.split(' ').count() + GAUGES.split(' ').count());
    }

    #[test]
    fn names_are_those_of_the_exporter() {
        for (name, expected) in [
            ("Com_stmt_execute", "mysql_global_status_commands_total{command=\"stmt_execute\"}"),
            ("Handler_read_key", "mysql_global_status_handlers_total{handler=\"read_key\"}"),
            ("Innodb_rows_read", "mysql_global_status_innodb_row_ops_total{operation=\"read\"}"),
            ("Innodb_row_lock_time", "mysql_global_status_innodb_row_lock_time"),
            ("Innodb_buffer_pool_pages_flushed", "mysql_global_status_buffer_pool_page_changes_total{operation=\"flushed\"}"),
            ("Innodb_buffer_pool_pages_dirty", "mysql_global_status_buffer_pool_dirty_pages"),
            ("Innodb_buffer_pool_pages_data", "mysql_global_status_buffer_pool_pages{state=\"data\"}"),
            ("Innodb_buffer_pool_reads", "mysql_global_status_innodb_buffer_pool_reads"),
            ("Threads_running", "mysql_global_status_threads_running"),
        ] {
            assert_eq!(exported(name), expected);
        }
    }

    #[test]
    fn a_session_for_metrics_takes_no_connection_of_the_load() {
        let of = |name: &str, value: u32| BTreeMap::from([(name.to_owned(), value.to_string())]);
        let why = |most, connected, needs| no_room(&of("Threads_connected", connected), &of("max_connections", most), needs);
        // Its own session is connected, and one of another program.
        assert_eq!(why(10, 2, 8), None);
        assert!(why(10, 2, 9).unwrap().contains("10 connections"));
        assert_eq!(no_room(&BTreeMap::new(), &BTreeMap::new(), 9), None);
    }
}
