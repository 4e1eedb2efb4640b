//! What a server says about itself: provenance for the record, and its own counters.

use std::collections::BTreeMap;
use std::path::Path;

use perbuck_load::driver::{BYTES_READ, Build, Observed, PAGES_READ, Session, TargetFacts};
use perbuck_load::error::DriverError;
use perbuck_load::values::Rows;

use crate::session::MysqlSession;
use crate::{status_ports, tidb};
use perbuck_net::reach::pairs;

/// Variables that bear on performance, of MySQL, MariaDB and TiDB. A list of the allowed ones, since others hold names
/// and paths of the server's owner that a published record has no business with.
const VARIABLES: &str = "\
    autocommit binlog_format binlog_group_commit_sync_delay binlog_row_image character_set_server collation_server \
    default_storage_engine innodb_adaptive_hash_index innodb_autoinc_lock_mode innodb_buffer_pool_instances \
    innodb_buffer_pool_size innodb_change_buffering innodb_data_file_buffering innodb_data_file_write_through \
    innodb_dedicated_server innodb_doublewrite innodb_file_per_table innodb_flush_log_at_trx_commit innodb_flush_method \
    innodb_flush_neighbors innodb_io_capacity innodb_io_capacity_max innodb_log_buffer_size innodb_log_file_buffering \
    innodb_log_file_size innodb_log_files_in_group innodb_page_size innodb_read_io_threads innodb_redo_log_capacity \
    innodb_snapshot_isolation innodb_thread_concurrency innodb_use_native_aio innodb_write_io_threads log_bin \
    max_allowed_packet max_connections max_prepared_stmt_count performance_schema query_cache_size query_cache_type \
    skip_log_bin slow_query_log sql_mode sync_binlog table_open_cache table_open_cache_instances thread_cache_size \
    thread_handling thread_pool_size tidb_analyze_version tidb_build_stats_concurrency tidb_constraint_check_in_place \
    tidb_distsql_scan_concurrency tidb_enable_1pc tidb_enable_async_commit tidb_enable_auto_analyze tidb_enable_batch_dml \
    tidb_enable_clustered_index tidb_enable_collect_execution_info tidb_enable_mutation_checker \
    tidb_enable_non_prepared_plan_cache tidb_enable_prepared_plan_cache tidb_enable_rate_limit_action \
    tidb_enable_vectorized_expression tidb_executor_concurrency tidb_guarantee_linearizability tidb_hash_join_concurrency \
    tidb_index_lookup_concurrency tidb_isolation_read_engines tidb_mem_quota_query tidb_prepared_plan_cache_size \
    tidb_rc_read_check_ts tidb_replica_read tidb_retry_limit tidb_server_memory_limit tidb_store_batch_size \
    tidb_tso_client_batch_max_wait_time tidb_txn_assertion_level tidb_txn_mode transaction_isolation tx_isolation version \
    version_comment version_compile_machine version_compile_os version_source_revision version_ssl_library";

/// Counters of `SHOW GLOBAL STATUS`; a server gives those that it has. Rows are counted by `Handler_…` everywhere; MariaDB
/// has given up `Innodb_rows_…`.
const COUNTERS: &str = "\
    Aborted_clients Aborted_connects Binlog_commits Bytes_received Bytes_sent Com_begin Com_commit Com_delete Com_insert \
    Com_rollback Com_select Com_stmt_close Com_stmt_execute Com_stmt_prepare Com_update Connections Created_tmp_disk_tables \
    Handler_commit Handler_delete Handler_read_first Handler_read_key Handler_read_last Handler_read_next Handler_read_prev \
    Handler_read_rnd Handler_read_rnd_next Handler_rollback Handler_update Handler_write Innodb_buffer_pool_read_requests \
    Innodb_buffer_pool_reads Innodb_buffer_pool_wait_free Innodb_data_fsyncs Innodb_data_read Innodb_data_reads \
    Innodb_data_writes Innodb_data_written Innodb_dblwr_writes Innodb_deadlocks Innodb_log_waits Innodb_os_log_fsyncs \
    Innodb_os_log_written Innodb_row_lock_time Innodb_row_lock_waits Innodb_rows_deleted Innodb_rows_inserted \
    Innodb_rows_read Innodb_rows_updated Prepared_stmt_count Queries Questions Rows_read Rows_sent Slow_queries \
    Threads_connected Threads_running Uptime";

/// What InnoDB reads from disk, pages that it reads ahead included.
const READS: [(&str, &str); 2] = [(PAGES_READ, "Innodb_pages_read"), (BYTES_READ, "Innodb_data_read")];

/// The counters of statements that read or change rows, and of those that begin and end transactions, which are all that a replica
/// counts of what it repeats. A statement counts whether it is prepared or text, and whether it fails or not.
const WORK: &str = "\
    Com_begin Com_call_procedure Com_commit Com_delete Com_delete_multi Com_insert Com_insert_select Com_replace \
    Com_replace_select Com_rollback Com_select Com_update Com_update_multi";
/// The first words of such statements, as perbuck writes them.
const WORK_WORDS: [&[u8]; 10] =
    [b"BEGIN", b"CALL", b"COMMIT", b"DELETE", b"INSERT", b"REPLACE", b"ROLLBACK", b"SELECT", b"UPDATE", b"WITH"];
/// What tells a server from another one.
const IDENTITY: &str = "datadir hostname port server_id socket";

/// What the server says of itself; `noted` are settings that the study names.
pub(crate) async fn facts(session: &mut MysqlSession, noted: &[String]) -> Result<TargetFacts, DriverError> {
    let mut rows = Rows::default();
    session.query("SELECT VERSION()", &mut rows).await?;
    let version = rows.display(0, 0)?;
    let all = pairs(session, "SHOW GLOBAL VARIABLES").await?;
    let on_this_machine = session.wire.socket.peer_is_local();
    let local_pid = if on_this_machine { local_pid(session, &all).await? } else { Ok(None) };
    let wanted = |name: &String| lists(VARIABLES, name) || noted.contains(name);
    let mut variables: BTreeMap<String, String> = all.into_iter().filter(|(name, _)| wanted(name)).collect();
    if let Err(why) = &local_pid {
        variables.insert("CPU time of the server".to_owned(), format!("not told: {why}"));
    }
    // Encryption costs client and server more than many a setting, and `preferred` takes it wherever it is offered.
    let cipher = pairs(session, "SHOW SESSION STATUS LIKE 'Ssl_cipher'").await?;
    let cipher = cipher.into_values().next().filter(|c| !c.is_empty()).unwrap_or_else(|| "none".to_owned());
    variables.insert("connection encryption".to_owned(), cipher);
    let mut observed: Vec<Observed> = compiled_for(&version, &variables).into_iter().collect();
    // MariaDB alone tells it.
    let commit = variables.get("version_source_revision").filter(|commit| !commit.is_empty()).cloned();
    let mut build = Build { commit, ..Build::default() };
    let mut functional = None;
    if version.contains("TiDB") {
        build = tidb::build(session).await?;
        functional = tidb::facts(session, noted, (&mut variables, &mut observed)).await?;
    }
    let page_memory_bytes = variables.get("innodb_buffer_pool_size").and_then(|bytes| bytes.parse().ok());
    let page_memory_bytes = page_memory_bytes.or_else(|| tidb::block_cache(&variables));
    let local_pid = local_pid.unwrap_or_default();
    Ok(TargetFacts { version, variables, page_memory_bytes, local_pid, on_this_machine, observed, build, functional })
}

/// The architecture that the server was compiled for. Old versions of TiDB say `x86_64` on any machine, newer ones Go's word for their own.
fn compiled_for(version: &str, variables: &BTreeMap<String, String>) -> Option<Observed> {
    let word = variables.get("version_compile_machine")?;
    if version.contains("TiDB") && word == "x86_64" { None } else { Observed::of_arch("@@version_compile_machine", word) }
}

pub(crate) async fn counters(session: &mut MysqlSession) -> Result<BTreeMap<String, i64>, DriverError> {
    let all = pairs(session, "SHOW GLOBAL STATUS").await?;
    let wanted = all.iter().filter(|(name, _)| lists(COUNTERS, name));
    let mut counted: BTreeMap<String, i64> =
        wanted.filter_map(|(name, value)| Some((name.clone(), value.parse().ok()?))).collect();
    for (name, own) in READS {
        counted.extend(all.get(own).and_then(|value| Some((name.to_owned(), value.parse().ok()?))));
    }
    if all.contains_key(tidb::ITS_OWN) {
        // Where they cannot be read, the facts say why.
        counted.extend(status_ports::counters(session).await?.sums);
    }
    Ok(counted)
}

/// Who the server is, and how many statements it has executed; why not, where it does not count them.
pub(crate) async fn work(session: &mut MysqlSession) -> Result<Result<(String, u64), String>, DriverError> {
    let status = pairs(session, "SHOW GLOBAL STATUS").await?;
    if let Some(server) = status.get("server_id").filter(|_| status.contains_key(tidb::ITS_OWN)) {
        return Ok(status_ports::work(session, server).await?.map(|done| (server.clone(), done)));
    }
    if !status.contains_key("Com_select") {
        return Ok(Err("it has no counters of its work".to_owned()));
    }
    let work = status.iter().filter(|(name, _)| lists(WORK, name));
    let done = work.filter_map(|(_, count)| count.parse::<u64>().ok()).sum();
    let variables = pairs(session, "SHOW GLOBAL VARIABLES").await?;
    Ok(Ok((identity(&variables), done)))
}

/// Who the server with these variables is.
pub(crate) fn identity(variables: &BTreeMap<String, String>) -> String {
    let told: Vec<&str> = IDENTITY.split(' ').filter_map(|name| variables.get(name)).map(String::as_str).collect();
    told.join(" ")
}

/// Whether [`WORK`] counts a statement.
#[inline]
pub(crate) fn is_work(sql: &[u8]) -> bool {
    WORK_WORDS.iter().any(|word| sql.starts_with(word))
}

fn lists(words: &str, name: &str) -> bool {
    words.split(' ').any(|word| word == name)
}

/// The process of a server on this machine: the one in its pid file, where that can be read and is as old as the server says. An address
/// of this machine may be that of a tunnel, and the file one of another server. In a container of its own the file is out of sight, and
/// there is no answer. Why not, where there is a process of another age.
pub(crate) async fn local_pid(
    session: &mut MysqlSession,
    variables: &BTreeMap<String, String>,
) -> Result<Result<Option<u32>, String>, DriverError> {
    let Some((pid, age)) = pid_of_file(variables).and_then(|pid| Some((pid, age_of(pid)?))) else { return Ok(Ok(None)) };
    let uptime = pairs(session, "SHOW GLOBAL STATUS LIKE 'Uptime'").await?.into_values().next();
    let uptime = uptime.and_then(|seconds| seconds.parse::<f64>().ok());
    let same = uptime.is_some_and(|uptime| (age - uptime).abs() <= SAME_AGE_SECONDS);
    Ok(if same { Ok(Some(pid)) } else { Err("the process in its pid file is not as old as the server says (Uptime)".to_owned()) })
}

/// What the clocks of a process and of its server may differ by: the server sets its own when it has read its options.
const SAME_AGE_SECONDS: f64 = 5.0;
/// Clock ticks of `/proc` in a second, on every Linux.
const TICKS: f64 = 100.0;

fn pid_of_file(variables: &BTreeMap<String, String>) -> Option<u32> {
    let file = variables.get("pid_file").filter(|name| !name.is_empty())?;
    // A relative name is relative to the data.
    let path = Path::new(variables.get("datadir").map_or("", String::as_str)).join(file);
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// How long a process has been there, in seconds: field 22 of `/proc/PID/stat` (proc(5)) is when it was started, in ticks since the boot.
fn age_of(pid: u32) -> Option<f64> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The name may hold anything; it ends at the last parenthesis.
    let started: f64 = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(22 - 3)?.parse().ok()?;
    let now: f64 = std::fs::read_to_string("/proc/uptime").ok()?.split(' ').next()?.parse().ok()?;
    Some(now - started / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_and_hold_nothing_twice() {
        for list in [VARIABLES, COUNTERS, WORK, IDENTITY] {
            assert!(list.split(' ').is_sorted_by(|a, b| a < b));
        }
    }

    #[test]
    fn the_machine_is_what_the_server_was_compiled_for_unless_it_says_the_same_everywhere() {
        let arch = |version, word: &str| {
            let variables = BTreeMap::from([("version_compile_machine".to_owned(), word.to_owned())]);
            compiled_for(version, &variables).and_then(|o| o.arch)
        };
        assert_eq!(arch("10.11.6-MariaDB", "x86_64").as_deref(), Some("x86_64"));
        assert_eq!(arch("8.0.36", "aarch64").as_deref(), Some("aarch64"));
        assert_eq!(arch("5.7.25-TiDB-v4.0.0", "x86_64"), None);
        assert_eq!(arch("8.0.11-TiDB-v8.5.1", "arm64").as_deref(), Some("aarch64"));
    }

    #[test]
    fn a_pid_file_names_a_process_with_an_age() {
        let file = std::env::temp_dir().join(format!("perbuck-pid-{}", std::process::id()));
        let variables = |name: &str| BTreeMap::from([("pid_file".to_owned(), name.to_owned())]);
        std::fs::write(&file, format!("{}\n", std::process::id())).unwrap();
        assert_eq!(pid_of_file(&variables(&file.to_string_lossy())), Some(std::process::id()));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(pid_of_file(&variables(&file.to_string_lossy())), None);
        assert_eq!(pid_of_file(&BTreeMap::new()), None);
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(300));
        let age = age_of(child.id()).unwrap();
        let own = age_of(std::process::id()).unwrap();
        child.kill().and_then(|()| child.wait()).unwrap();
        assert!((0.2..5.0).contains(&age) && own >= age, "{own} {age}");
        assert_eq!(age_of(u32::MAX), None);
    }
}
