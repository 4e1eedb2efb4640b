//! What a server says about itself: provenance for the record, and its own counters.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use perbuck_database::Dialect as _;
use perbuck_load::driver::{BYTES_READ, Build, Observed, PAGES_READ, Session, TargetFacts};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::values::Rows;

use crate::family::{self, Family};
use crate::session::PostgresSession;
use crate::size;
use crate::wire::login::APPLICATION;
use perbuck_net::reach::pairs;

/// Settings that bear on performance. A list of the allowed ones, since others hold names and paths of the server's owner
/// that a published record has no business with.
const VARIABLES: &str = "\
    autovacuum autovacuum_max_workers autovacuum_naptime autovacuum_vacuum_cost_delay autovacuum_vacuum_cost_limit \
    autovacuum_vacuum_scale_factor backend_flush_after bgwriter_delay bgwriter_lru_maxpages block_size \
    checkpoint_completion_target checkpoint_timeout commit_delay commit_siblings data_checksums data_sync_retry \
    deadlock_timeout default_statistics_target default_toast_compression default_transaction_isolation \
    default_transaction_read_only effective_cache_size effective_io_concurrency fsync full_page_writes hash_mem_multiplier \
    huge_pages io_max_concurrency io_method io_workers jit lc_collate lock_timeout maintenance_work_mem max_connections \
    max_parallel_workers max_parallel_workers_per_gather max_prepared_transactions max_wal_size max_worker_processes \
    min_wal_size plan_cache_mode random_page_cost seq_page_cost server_encoding server_version shared_buffers \
    statement_timeout synchronous_commit synchronous_standby_names temp_buffers track_activities track_counts \
    track_io_timing wal_block_size wal_buffers wal_compression wal_level wal_log_hints wal_recycle wal_segment_size \
    wal_sync_method wal_writer_delay wal_writer_flush_after work_mem";

/// The same of CockroachDB, which calls them session variables.
const COCKROACH_VARIABLES: &str = "\
    default_int_size default_transaction_isolation default_transaction_priority default_transaction_read_only \
    default_transaction_use_follower_reads distsql enable_implicit_select_for_update lock_timeout optimizer_use_histograms \
    plan_cache_mode results_buffer_size server_version statement_timeout synchronous_commit vectorize";

/// Settings of a cluster of CockroachDB.
const COCKROACH_CLUSTER: &str = "\
    kv.closed_timestamp.target_duration kv.raft_log.disable_synchronization_unsafe kv.range_split.by_load_enabled \
    kv.transaction.max_intents_bytes kv.transaction.write_buffering.enabled kv.transaction.write_pipelining.enabled \
    sql.defaults.default_int_size sql.stats.automatic_collection.enabled sql.txn.read_committed_isolation.enabled \
    sql.txn.repeatable_read_isolation.enabled storage.wal_failover.unhealthy_op_threshold version";

/// Those of YugabyteDB beside PostgreSQL's. Effective is the isolation level that transactions have where the one that is asked
/// for is not there.
const YUGABYTE_VARIABLES: &str = "\
    yb_bnl_batch_size yb_default_copy_from_rows_per_transaction yb_disable_transactional_writes \
    yb_effective_transaction_isolation_level yb_enable_base_scans_cost_model yb_enable_cbo yb_enable_docdb_tracing \
    yb_enable_optimizer_statistics yb_fetch_row_limit yb_fetch_size_limit yb_max_query_layer_retries \
    yb_read_after_commit_visibility yb_read_from_followers yb_use_hash_splitting_by_default";

/// Counters of the current database; pg_stat_database has had them in every version for ten years. It counts what
/// server processes have reported, which they do once a second at the most and when they end.
const COUNTERS: &str = "\
    blk_read_time blk_write_time blks_hit blks_read conflicts deadlocks temp_bytes temp_files tup_deleted tup_fetched \
    tup_inserted tup_returned tup_updated xact_commit xact_rollback";

/// Pages that were not in the shared memory. The operating system may have had them.
const PAGES: &str = "blks_read";

/// How often processes of the server are counted, and how long they may take to end.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
const END_TIMEOUT: Duration = Duration::from_millis(500);
/// The first version that keeps its counters in shared memory. Before it, a process collected them, and answered with those of half a
/// second ago.
const SHARED_COUNTERS: i64 = 150_000;
const COLLECTOR_DELAY: Duration = Duration::from_millis(600);

pub(crate) async fn facts(session: &mut PostgresSession, family: Family, noted: &[String]) -> Result<TargetFacts, DriverError> {
    let mut rows = Rows::default();
    session.query("SELECT version()", &mut rows).await?;
    let version = rows.display(0, 0)?;
    // A connection pooler may not have passed it on at the login.
    family::must_be(family, family::of_version(&version), &version, session.wire.address())?;
    let on_this_machine = session.wire.socket.peer_is_local();
    let mut variables = match family {
        Family::Cockroach => cockroach_variables(session).await?,
        Family::Yugabyte => yugabyte_variables(session).await?,
        _ => settings(session, &format!("{VARIABLES} {}", noted.join(" "))).await?,
    };
    // Encryption costs client and server more than many a setting, and `preferred` takes it wherever it is offered.
    variables.insert("connection encryption".to_owned(), encryption(session, family).await?);
    let local_pid = match family {
        // The number is none of the operating system's, or that of a process which only plans: tablets are served by another.
        Family::Cockroach | Family::Yugabyte => None,
        _ if on_this_machine => {
            session.query("SELECT pg_backend_pid()", &mut rows).await?;
            u32::try_from(rows.int(0, 0)?).ok().and_then(postmaster_of)
        }
        _ => None,
    };
    let observed = Observed::of_version("SELECT version()", &version).into_iter().collect();
    let page_memory_bytes = if family == Family::Postgres { size::page_memory(session).await? } else { None };
    let build = Build { compiler: compiler(&version), ..Build::default() };
    Ok(TargetFacts { version, variables, page_memory_bytes, local_pid, on_this_machine, observed, build, functional: None })
}

/// The compiler in `PostgreSQL 17.5 on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit`.
fn compiler(version: &str) -> Option<String> {
    let (_, rest) = version.split_once(", compiled by ")?;
    Some(rest.rsplit_once(", ").map_or(rest, |(compiler, _)| compiler).to_owned())
}

/// Names as a list of SQL texts.
fn texts(names: &str) -> String {
    format!("('{}')", names.replace(' ', "', '"))
}

/// The settings of these names, as far as the server has them.
async fn settings(session: &mut PostgresSession, names: &str) -> Result<BTreeMap<String, String>, DriverError> {
    let sql = format!("SELECT name, current_setting(name) FROM pg_settings WHERE name IN {}", texts(names));
    pairs(session, &sql).await
}

/// The variable that has the isolation level of a session's transactions.
pub(crate) const ISOLATION: &str = "default_transaction_isolation";

/// What the variables of a session are, by the names that the target has for them; empty where the server does not tell.
pub(crate) async fn in_force(
    session: &mut PostgresSession,
    set: &[(String, String)],
    family: Family,
) -> Result<BTreeMap<String, String>, DriverError> {
    let names: Vec<String> = set.iter().map(|(name, _)| name.to_lowercase()).collect();
    let told = match settings(session, &names.join(" ")).await {
        Err(error) if error.class == ErrorClass::Lost => return Err(error),
        told => told.unwrap_or_default(),
    };
    let told = |(name, lower): (&(String, String), String)| Some((name.0.clone(), told.get(&lower)?.clone()));
    let mut found: BTreeMap<String, String> = set.iter().zip(names).filter_map(told).collect();
    // What was set is no word of what transactions have where a stricter level may stand in.
    if let Some((value, question)) = found.get_mut(ISOLATION).zip(family.isolation_in_effect()) {
        let mut rows = Rows::default();
        session.query(question.ask, &mut rows).await?;
        if !rows.is_empty() && !rows.is_null(0, 0)? {
            *value = rows.display(0, 0)?;
        }
    }
    Ok(found)
}

/// The same where not every user may see them, or not every version has them: a record then says that they could not be read.
async fn pairs_if_allowed(session: &mut PostgresSession, what: &str, sql: &str) -> Result<BTreeMap<String, String>, DriverError> {
    match pairs(session, sql).await {
        Err(error) if error.class == ErrorClass::Lost => Err(error),
        Err(error) => Ok(BTreeMap::from([(what.to_owned(), format!("not readable: {error}"))])),
        read => read,
    }
}

async fn cockroach_variables(session: &mut PostgresSession) -> Result<BTreeMap<String, String>, DriverError> {
    let sql = format!("SELECT variable, value FROM [SHOW ALL] WHERE variable IN {}", texts(COCKROACH_VARIABLES));
    let mut variables = pairs_if_allowed(session, "session variables", &sql).await?;
    let columns = "SELECT 'cluster setting ' || variable, value";
    let sql = format!("{columns} FROM [SHOW ALL CLUSTER SETTINGS] WHERE variable IN {}", texts(COCKROACH_CLUSTER));
    variables.extend(pairs_if_allowed(session, "cluster settings", &sql).await?);
    Ok(variables)
}

async fn yugabyte_variables(session: &mut PostgresSession) -> Result<BTreeMap<String, String>, DriverError> {
    let mut variables = settings(session, VARIABLES).await?;
    variables.extend(settings(session, YUGABYTE_VARIABLES).await?);
    let sql = "SELECT 'cluster nodes', CAST(COUNT(*) AS TEXT) FROM yb_servers()";
    variables.extend(pairs_if_allowed(session, "cluster nodes", sql).await?);
    Ok(variables)
}

/// The cipher, in the server's words; a server that a pooler reaches knows of the pooler's connection only.
async fn encryption(session: &mut PostgresSession, family: Family) -> Result<String, DriverError> {
    if !session.wire.socket.is_encrypted() {
        return Ok("none".to_owned());
    }
    if family == Family::Cockroach {
        // It does not tell the cipher.
        return Ok("TLS".to_owned());
    }
    let mut rows = Rows::default();
    session.query("SELECT cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl", &mut rows).await?;
    if rows.is_empty() { Ok("TLS".to_owned()) } else { rows.display(0, 0) }
}

pub(crate) async fn counters(session: &mut PostgresSession) -> Result<BTreeMap<String, i64>, DriverError> {
    let mut rows = Rows::default();
    others_are_gone(session, &mut rows).await?;
    let columns = COUNTERS.replace(' ', "::bigint, ");
    let sql = format!("SELECT {columns}::bigint FROM pg_stat_database WHERE datname = current_database()");
    session.query(&sql, &mut rows).await?;
    let mut counters = BTreeMap::new();
    for (i, name) in COUNTERS.split(' ').enumerate().take(rows.width()) {
        if !rows.is_null(0, i)? {
            counters.insert(name.to_owned(), rows.int(0, i)?);
        }
    }
    if let Some(pages) = counters.get(PAGES).copied() {
        session.query("SELECT current_setting('block_size')::bigint", &mut rows).await?;
        counters.extend([(PAGES_READ.to_owned(), pages), (BYTES_READ.to_owned(), pages * rows.int(0, 0)?)]);
    }
    Ok(counters)
}

/// Who the server is, and how many transactions it has executed in all its databases; why not, where that cannot be told. Statements
/// are not among its counters, and rows are not known before.
pub(crate) async fn work(session: &mut PostgresSession) -> Result<Result<(String, u64), String>, DriverError> {
    let mut rows = Rows::default();
    if !others_are_gone(session, &mut rows).await? {
        return Ok(Err(
            "its processes that served perbuck stay, as those of a pooler do, and have not reported all they did".to_owned()
        ));
    }
    session.query("SELECT current_setting('server_version_num')::int", &mut rows).await?;
    if rows.int(0, 0)? < SHARED_COUNTERS {
        perbuck_event::sleep(COLLECTOR_DELAY).await;
    }
    let sql = "SELECT pg_postmaster_start_time()::text, SUM(xact_commit + xact_rollback)::bigint FROM pg_stat_database WHERE datid <> 0";
    session.query(sql, &mut rows).await?;
    Ok(Ok((rows.display(0, 0)?, rows.int(0, 1)?.max(0) as u64)))
}

/// A process of the server reports what it counted when it ends, which is some time after its client took leave: waits for
/// those that served us, as long as they become fewer. Others, such as those that a pooler keeps, are waited for once. Whether all
/// are gone.
async fn others_are_gone(session: &mut PostgresSession, rows: &mut Rows) -> Result<bool, DriverError> {
    let sql = format!(
        "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = current_user \
         AND application_name = '{APPLICATION}' AND pid <> pg_backend_pid()"
    );
    let (mut left, mut waited) = (i64::MAX, Duration::ZERO);
    while waited < END_TIMEOUT {
        session.query(&sql, rows).await?;
        let now = rows.int(0, 0)?;
        if now == 0 {
            return Ok(true);
        }
        waited = if now < left { Duration::ZERO } else { waited + POLL_INTERVAL };
        left = now;
        perbuck_event::sleep(POLL_INTERVAL).await;
    }
    Ok(false)
}

/// The server's first process, the parent of the one that serves us, where both are seen to be what they should. In a
/// container of its own the server has other numbers for its processes, and there is no answer.
pub(crate) fn postmaster_of(backend: u32) -> Option<u32> {
    let (name, parent) = name_and_parent(backend)?;
    let (first, _) = name_and_parent(parent)?;
    (name == first && name.contains("postgres")).then_some(parent)
}

/// The second and the fourth field of `/proc/PID/stat` (proc(5)).
fn name_and_parent(pid: u32) -> Option<(String, u32)> {
    let stat = std::fs::read(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat).into_owned();
    let (before, after) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    Some((name.to_owned(), after.split_ascii_whitespace().nth(1)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_and_hold_nothing_twice() {
        for list in [VARIABLES, COCKROACH_VARIABLES, COCKROACH_CLUSTER, YUGABYTE_VARIABLES, COUNTERS] {
            assert!(list.split(' ').is_sorted_by(|a, b| a < b));
        }
    }

    #[test]
    fn the_compiler_is_read_from_the_version() {
        let version = "PostgreSQL 17.5 on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit";
        assert_eq!(compiler(version).as_deref(), Some("gcc (Debian 12.2.0-14) 12.2.0"));
        assert_eq!(compiler("CockroachDB CCL v23.1.11 (aarch64-unknown-linux-gnu, built 2023/09/27)"), None);
    }

    #[test]
    fn a_process_that_is_no_server_is_not_taken_for_one() {
        assert_eq!(postmaster_of(std::process::id()), None);
        assert_eq!(postmaster_of(u32::MAX), None);
        assert!(name_and_parent(std::process::id()).is_some_and(|(_, parent)| parent == std::os::unix::process::parent_id()));
    }
}
