//! What the processes of a TiDB cluster tell at their status ports: what happens within them that no client sees.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use perbuck_load::driver::{BY_SERVER, CPU_MS, PROCESSES};
use perbuck_load::error::DriverError;
use perbuck_net::metrics::{Sample, samples};
use perbuck_net::web;
use sha2::{Digest, Sha256};

use crate::cluster::{allowed, texts};
use crate::session::MysqlSession;

/// How long a status port may take.
const LIMIT: Duration = Duration::from_secs(3);
/// What processes of Go and of TiKV call their CPU time, in seconds. TiKV tells whole seconds.
const CPU: &str = "process_cpu_seconds_total";

/// When a process was started.
const STARTED: &str = "process_start_time_seconds";

/// A metric, the label that divides it or one that it must have, and the name of their sum in a record.
struct Told {
    kind: &'static str,
    metric: &'static str,
    by: Label,
    name: &'static str,
}

enum Label {
    /// No label counts.
    None,
    /// Each of its values is a sum of its own.
    Divides(&'static str),
    /// Only samples with this value count.
    Is(&'static str, &'static str),
}

const fn told(kind: &'static str, metric: &'static str, by: Label, name: &'static str) -> Told {
    Told { kind, metric, by, name }
}

const TOLD: [Told; 14] = [
    told("tidb", "tidb_session_retry_num_sum", Label::None, "server_retries_transaction"),
    told("tidb", "tidb_session_retry_error_total", Label::Divides("type"), "server_errors_retry"),
    told("tidb", "tidb_session_statement_pessimistic_retry_count_sum", Label::None, "server_retries_pessimistic_lock"),
    told("tidb", "tidb_tikvclient_backoff_seconds_count", Label::Divides("type"), "server_retries_backoff"),
    told("tidb", "tidb_tikvclient_region_err_total", Label::Divides("type"), "server_retries_region"),
    told("tidb", "tidb_server_execute_error_total", Label::Divides("type"), "server_errors"),
    told("tikv", "tikv_engine_cache_efficiency", Label::Is("type", "block_cache_hit"), "server_block_cache_hits"),
    told("tikv", "tikv_engine_cache_efficiency", Label::Is("type", "block_cache_miss"), "server_block_cache_misses"),
    told("tikv", "tikv_engine_pending_compaction_bytes", Label::None, "server_pending_compaction_bytes"),
    told("tikv", "tikv_raftstore_region_count", Label::Is("type", "leader"), "server_changes_regions"),
    told("tikv", "tikv_engine_stall_micro_seconds", Label::None, "server_changes_write_stalls_us"),
    told("pd", STEPS, Label::Is("type", "TransferLeader"), "server_changes_leaders_moved"),
    told("pd", STEPS, Label::Is("type", "AddLearner"), "server_changes_regions_moved"),
    told("pd", STEPS, Label::Is("type", "MergeRegion"), "server_changes_regions_merged"),
];
const STEPS: &str = "pd_schedule_finish_operator_steps_duration_seconds_count";

/// Statements that a TiDB server executed for its clients, by type; its own are not among them.
const STATEMENTS: &str = "tidb_executor_statement_total";
/// The types that read or change rows, and those that begin and end transactions, as of MySQL.
const WORK: [&str; 8] = ["Begin", "Commit", "Delete", "Insert", "Replace", "Rollback", "Select", "Update"];

/// What all processes have done since they started.
#[derive(Default)]
pub(crate) struct Counted {
    /// Sums by their names.
    pub(crate) sums: BTreeMap<String, i64>,
    /// Parts that are not told, and why.
    pub(crate) not_told: BTreeMap<String, String>,
}

/// Asks every process of the cluster. Where one of a part does not answer, nothing is told of that part.
pub(crate) async fn counters(session: &mut MysqlSession) -> Result<Counted, DriverError> {
    let mut counted = Counted::default();
    // Embedded stores have no version and no port.
    let all =
        "SELECT type, status_address, instance FROM information_schema.cluster_info WHERE version <> '' ORDER BY type, instance";
    let servers = "SELECT 'tidb', CONCAT(ip, ':', status_port), ddl_id FROM information_schema.tidb_servers_info ORDER BY ddl_id";
    let rows = match allowed(session, all).await? {
        Ok(rows) => Ok(rows),
        // It takes the privilege PROCESS, which a benchmark's user need not have. The TiDB servers are told to everyone.
        Err(why) => {
            counted.not_told.extend(["pd", "tikv"].map(|part| (part.to_owned(), why.clone())));
            allowed(session, servers).await?
        }
    };
    let processes = match rows {
        Ok(rows) => texts(&rows)?,
        Err(why) => {
            counted.not_told.insert("tidb".to_owned(), why);
            return Ok(counted);
        }
    };
    let mut parts: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    let (mut servers, mut identities): (u32, BTreeMap<String, Sha256>) = (0, BTreeMap::new());
    for [kind, address, instance] in processes {
        if counted.not_told.contains_key(&kind) {
            continue;
        }
        let (host, port) = address.rsplit_once(':').unwrap_or((&address, ""));
        let text = match ask(session, host, port).await {
            Ok(text) => text,
            Err(why) => {
                counted.not_told.insert(kind, why);
                continue;
            }
        };
        let sums = parts.entry(kind.clone()).or_default();
        if kind == "tidb" {
            servers += 1;
            sums.insert(format!("{BY_SERVER}{servers}"), executed(&text));
        }
        add(&kind, &text, sums);
        let started = samples(&text).find(|sample| sample.name == STARTED).map_or(0.0, |sample| sample.value);
        identities.entry(kind).or_default().update(format!("{instance} {started}\n"));
    }
    let told = parts.into_iter().filter(|(kind, _)| !counted.not_told.contains_key(kind));
    counted.sums = told.flat_map(|(_, sums)| sums).map(|(name, sum)| (name, sum.round() as i64)).collect();
    identities.retain(|kind, _| !counted.not_told.contains_key(kind));
    counted.sums.extend(identities.into_iter().map(|(kind, hash)| {
        let bytes = hash.finalize();
        (format!("{PROCESSES}{kind}"), i64::from_be_bytes(bytes[..8].try_into().unwrap_or_default()))
    }));
    Ok(counted)
}

/// How many statements the server of that number has executed for its clients, of those that [`WORK`] counts; why it is not known.
pub(crate) async fn work(session: &mut MysqlSession, server: &str) -> Result<Result<u64, String>, DriverError> {
    let sql = format!("SELECT ip, status_port FROM information_schema.tidb_servers_info WHERE ddl_id = '{server}'");
    let rows = match allowed(session, &sql).await? {
        Ok(rows) => rows,
        Err(why) => return Ok(Err(why)),
    };
    let all = texts(&rows)?;
    let Some([host, port]) = all.first() else {
        return Ok(Err("it is not in information_schema.tidb_servers_info".to_owned()));
    };
    Ok(ask(session, host, port).await.map(|text| executed(&text).round() as u64))
}

/// How many statements of [`WORK`] a TiDB server has executed.
fn executed(text: &str) -> f64 {
    let counts =
        |sample: &Sample<'_>| sample.name == STATEMENTS && sample.label("type").is_some_and(|label| WORK.contains(&label));
    samples(text).filter(counts).map(|sample| sample.value).sum()
}

/// The metrics at a status port.
async fn ask(session: &MysqlSession, host: &str, port: &str) -> Result<String, String> {
    let connected = session.wire.address().rsplit_once(':').map_or("", |(host, _)| host).trim_matches(['[', ']']).to_owned();
    let at = if is_reached_at(host) { host.trim_matches(['[', ']']) } else { &connected };
    // Its reason holds an address, which is its owner's business.
    web::get((at, port.parse().unwrap_or(0)), "/metrics", LIMIT).await.map_err(|_| "its status port does not answer".to_owned())
}

/// Whether an address that a server tells of itself is one by which others reach it.
fn is_reached_at(address: &str) -> bool {
    let of_any = |ip: IpAddr| ip.is_unspecified() || ip.is_loopback();
    !address.is_empty() && !address.trim_matches(['[', ']']).parse().is_ok_and(of_any)
}

/// Adds what one process of this kind tells.
fn add(kind: &str, text: &str, sums: &mut BTreeMap<String, f64>) {
    for sample in samples(text) {
        if sample.name == CPU {
            *sums.entry(format!("{CPU_MS}{kind}")).or_default() += sample.value * 1e3;
        }
        for told in TOLD.iter().filter(|told| told.kind == kind && told.metric == sample.name) {
            let name = match told.by {
                Label::None => told.name.to_owned(),
                Label::Is(label, value) if sample.label(label) == Some(value) => told.name.to_owned(),
                Label::Is(..) => continue,
                // A reason that was not met yet is as good as one that is not there.
                Label::Divides(_) if sample.value == 0.0 => continue,
                Label::Divides(label) => sample
                    .label(label)
                    .filter(|reason| !reason.is_empty())
                    .map_or(told.name.to_owned(), |r| format!("{}_{r}", told.name)),
            };
            *sums.entry(name).or_default() += sample.value;
        }
    }
}

#[cfg(test)]
mod tests {
    use perbuck_load::driver::CHANGES;

    use super::*;

    #[test]
    fn metrics_are_summed_by_their_reason_over_all_processes_of_a_part() {
        let one = "tidb_session_retry_num_sum 3\ntidb_session_retry_num_count 9\nprocess_cpu_seconds_total 1.25\n\
                   tidb_tikvclient_backoff_seconds_count{scope=\"user\",type=\"txnLock\"} 4\n\
                   tidb_tikvclient_backoff_seconds_count{scope=\"internal\",type=\"txnLock\"} 1\n";
        let other =
            "tidb_session_retry_num_sum 2\ntidb_server_execute_error_total{type=\"kv:9007\"} 7\nprocess_cpu_seconds_total 2\n";
        let mut sums = BTreeMap::new();
        [one, other].iter().for_each(|text| add("tidb", text, &mut sums));
        let expected = [
            ("server_cpu_ms_tidb", 3250.0),
            ("server_errors_kv:9007", 7.0),
            ("server_retries_backoff_txnLock", 5.0),
            ("server_retries_transaction", 5.0),
        ];
        assert_eq!(sums, expected.map(|(name, sum)| (name.to_owned(), sum)).into());
        let store = "tikv_engine_cache_efficiency{db=\"kv\",type=\"block_cache_hit\"} 9\n\
                     tikv_engine_cache_efficiency{db=\"kv\",type=\"memtable_hit\"} 5\n\
                     tikv_raftstore_region_count{type=\"leader\"} 19\ntikv_raftstore_region_count{type=\"region\"} 65\n";
        let mut sums = BTreeMap::new();
        [store, store].iter().for_each(|text| add("tikv", text, &mut sums));
        let expected = [("server_changes_regions", 38.0), ("server_block_cache_hits", 18.0)];
        assert_eq!(sums, expected.map(|(name, sum)| (name.to_owned(), sum)).into());
        // One part's names are nothing to another.
        let mut none = BTreeMap::new();
        add("pd", store, &mut none);
        assert!(none.is_empty());
    }

    #[test]
    fn every_change_of_a_cluster_is_named_as_one() {
        let changes = TOLD.iter().filter(|told| told.name.starts_with("server_changes_"));
        assert!(changes.clone().count() == 5 && changes.into_iter().all(|told| told.name.starts_with(CHANGES)));
    }

    #[test]
    fn an_address_of_this_machine_is_reached_by_the_way_of_the_connection() {
        assert!(is_reached_at("10.0.0.7") && is_reached_at("tidb-1"));
        assert!(["127.0.0.1", "::", "[::1]", ""].iter().all(|address| !is_reached_at(address)));
    }
}
