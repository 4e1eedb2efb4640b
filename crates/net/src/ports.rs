//! The metrics of a TiDB or TiKV cluster while a load is applied, by the names that its processes have for them: a chosen few of
//! thousands, summed over the processes of a part and over all labels but one.

use std::collections::BTreeMap;

use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::meter::{Later, Meter, Reading};

use crate::cluster::{Process, STARTED, ask};
use crate::metrics::{Sample, samples};

/// Metrics of one part: the name, and the label by which it is divided; of a histogram its sum and its count.
struct Chosen {
    kind: &'static str,
    counters: &'static [(&'static str, &'static str)],
    histograms: &'static [(&'static str, &'static str)],
    gauges: &'static [(&'static str, &'static str)],
}

const CHOSEN: [Chosen; 3] = [
    Chosen {
        kind: "tidb",
        counters: &[
            ("process_cpu_seconds_total", ""),
            ("tidb_executor_statement_total", "type"),
            ("tidb_server_execute_error_total", "type"),
            ("tidb_server_plan_cache_total", "type"),
            ("tidb_session_retry_error_total", "type"),
            ("tidb_tikvclient_region_err_total", "type"),
        ],
        histograms: &[
            ("pd_client_request_handle_requests_duration_seconds", "type"),
            ("tidb_server_handle_query_duration_seconds", "sql_type"),
            ("tidb_session_compile_duration_seconds", ""),
            ("tidb_session_execute_duration_seconds", ""),
            ("tidb_session_parse_duration_seconds", ""),
            ("tidb_session_statement_pessimistic_retry_count", ""),
            ("tidb_session_transaction_duration_seconds", "type"),
            ("tidb_tikvclient_backoff_seconds", "type"),
            ("tidb_tikvclient_request_seconds", "type"),
            ("tidb_tikvclient_txn_cmd_duration_seconds", "type"),
        ],
        gauges: &[("process_resident_memory_bytes", ""), ("tidb_server_connections", "")],
    },
    Chosen {
        kind: "tikv",
        counters: &[
            ("process_cpu_seconds_total", ""),
            ("tikv_engine_cache_efficiency", "type"),
            ("tikv_engine_compaction_flow_bytes", "type"),
            ("tikv_engine_flow_bytes", "type"),
            ("tikv_engine_stall_micro_seconds", ""),
            ("tikv_scheduler_commands_pri_total", "priority"),
            ("tikv_storage_command_total", "type"),
        ],
        histograms: &[
            ("raft_engine_sync_log_duration_seconds", ""),
            ("raft_engine_write_apply_duration_seconds", ""),
            ("raft_engine_write_duration_seconds", ""),
            ("tikv_coprocessor_request_duration_seconds", "req"),
            ("tikv_grpc_msg_duration_seconds", "type"),
            ("tikv_lock_manager_waiter_lifetime_duration", ""),
            ("tikv_raftstore_append_log_duration_seconds", ""),
            ("tikv_raftstore_apply_log_duration_seconds", ""),
            ("tikv_raftstore_apply_wait_time_duration_secs", ""),
            ("tikv_raftstore_commit_log_duration_seconds", ""),
            ("tikv_raftstore_request_wait_time_duration_secs", ""),
            ("tikv_raftstore_store_write_sync_duration_seconds", ""),
            ("tikv_scheduler_latch_wait_duration_seconds", "type"),
            ("tikv_storage_engine_async_request_duration_seconds", "type"),
        ],
        gauges: &[
            ("process_resident_memory_bytes", ""),
            ("tikv_engine_block_cache_size_bytes", ""),
            ("tikv_engine_pending_compaction_bytes", ""),
            ("tikv_engine_write_stall", "type"),
            ("tikv_raftstore_region_count", "type"),
        ],
    },
    Chosen {
        kind: "pd",
        counters: &[("pd_schedule_operators_count", "event"), ("process_cpu_seconds_total", "")],
        histograms: &[("etcd_disk_wal_fsync_duration_seconds", ""), ("pd_server_handle_tso_duration_seconds", "")],
        gauges: &[("pd_tso_role", ""), ("process_resident_memory_bytes", "")],
    },
];

/// What tells one part's processor time from another's.
const PART: &str = "job";

/// What one store of several does beside the others: its processor time, the requests that it answered, and the regions that it leads, each by
/// the name of the metric that it is of, and the `type` that alone counts, where that is one.
const BY_STORE: [(&str, &str, &str); 3] = [
    ("store_cpu_seconds_total", "process_cpu_seconds_total", ""),
    ("store_requests_total", "tikv_grpc_msg_duration_seconds_count", ""),
    ("store_leaders", "tikv_raftstore_region_count", "leader"),
];

/// Status ports, each asked on a connection of its own whenever it is read, as Prometheus does.
#[derive(Debug)]
pub struct Ports {
    /// Each with the time of its start, in seconds since 1970.
    processes: Vec<(Process, f64)>,
    not_told: BTreeMap<String, String>,
}

impl Ports {
    /// Those of these processes, without the parts that are not told, with the reason. Each is asked once: of a part with one that does
    /// not answer, nothing is told.
    pub async fn open(processes: Vec<Process>, mut not_told: BTreeMap<String, String>) -> Self {
        let mut told = Vec::new();
        for process in processes {
            if not_told.contains_key(&process.kind) {
                continue;
            }
            match ask(&process.host, process.port).await {
                Ok(text) => told.push((process, started(&text))),
                Err(why) => drop(not_told.insert(process.kind, why)),
            }
        }
        told.retain(|(process, _)| !not_told.contains_key(&process.kind));
        // A store has the same number in every trial.
        told.sort_by(|a, b| (&a.0.kind, &a.0.identity).cmp(&(&b.0.kind, &b.0.identity)));
        Self { processes: told, not_told }
    }

    async fn readings(&self) -> Result<Reading, DriverError> {
        let (mut sum, mut stores) = (Reading::default(), 0);
        for (Process { kind, host, port, .. }, since) in &self.processes {
            // Which of them it was is its owner's business.
            let lost = |why: String| DriverError::client(ErrorClass::Lost, "status", format!("{kind}: {why}"));
            let text = ask(host, *port).await.map_err(lost)?;
            if started(&text) != *since {
                return Err(lost("a process was started again, and counts from zero".to_owned()));
            }
            add(kind, &text, &mut sum);
            if kind == "tikv" {
                stores += 1;
                add_store(stores, &text, &mut sum);
            }
        }
        Ok(sum)
    }
}

impl Meter for Ports {
    fn not_told(&self) -> BTreeMap<String, String> {
        self.not_told.clone()
    }

    fn read(&mut self) -> Later<'_, Result<Reading, DriverError>> {
        Box::pin(self.readings())
    }

    fn close(self: Box<Self>) -> Later<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// When a process was started; 0 where it does not tell.
fn started(text: &str) -> f64 {
    samples(text).find(|sample| sample.name == STARTED).map_or(0.0, |sample| sample.value)
}

/// Adds what a process of this kind tells.
fn add(kind: &str, text: &str, sum: &mut Reading) {
    let Some(chosen) = CHOSEN.iter().find(|chosen| chosen.kind == kind) else { return };
    let named = |list: &[(&'static str, &'static str)], name: &str| list.iter().find(|(metric, _)| *metric == name).copied();
    let in_histogram = |name: &str| {
        let (metric, part) = name.rsplit_once('_')?;
        matches!(part, "sum" | "count").then(|| named(chosen.histograms, metric)).flatten()
    };
    for sample in samples(text).filter(|sample| sample.value.is_finite() && sample.value != 0.0) {
        let counter = named(chosen.counters, sample.name).or_else(|| in_histogram(sample.name));
        let (into, by) = match (counter, named(chosen.gauges, sample.name)) {
            (Some((_, by)), _) => (&mut sum.counters, by),
            (None, Some((_, by))) => (&mut sum.gauges, by),
            (None, None) => continue,
        };
        *into.entry(labelled(kind, &sample, by)).or_default() += sample.value;
    }
}

/// Adds what the store of that number does. The number stands for its address, which is its owner's business.
fn add_store(number: usize, text: &str, sum: &mut Reading) {
    for (name, metric, of_type) in BY_STORE {
        let ours = |s: &Sample<'_>| s.name == metric && (of_type.is_empty() || s.label("type") == Some(of_type));
        let value: f64 = samples(text).filter(ours).map(|sample| sample.value).filter(|value| value.is_finite()).sum();
        let into = if name.ends_with("_total") { &mut sum.counters } else { &mut sum.gauges };
        into.insert(format!("{name}{{store=\"{number}\"}}"), value);
    }
}

/// The name with one label at most. What all processes of Go have is told by its part.
fn labelled(kind: &str, sample: &Sample<'_>, by: &str) -> String {
    let name = sample.name;
    if name.starts_with("process_") {
        return format!("{name}{{{PART}=\"{kind}\"}}");
    }
    match sample.label(by).filter(|value| !value.is_empty()) {
        Some(value) => format!("{name}{{{by}=\"{value}\"}}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_summed_over_processes_and_over_all_labels_but_one() {
        let store = "\
            # TYPE tikv_grpc_msg_duration_seconds histogram\n\
            tikv_grpc_msg_duration_seconds_bucket{type=\"kv_get\",le=\"1\"} 9\n\
            tikv_grpc_msg_duration_seconds_sum{type=\"kv_get\"} 0.25\n\
            tikv_grpc_msg_duration_seconds_count{type=\"kv_get\"} 9\n\
            tikv_grpc_msg_duration_seconds_count{type=\"kv_scan\"} 0\n\
            tikv_engine_flow_bytes{db=\"kv\",type=\"wal_file_bytes\"} 100\n\
            tikv_engine_flow_bytes{db=\"raft\",type=\"wal_file_bytes\"} 11\n\
            tikv_raftstore_region_count{type=\"leader\"} 19\n\
            tikv_thread_cpu_seconds_total{name=\"grpc-server-1\",pid=\"1\"} 4\n\
            process_cpu_seconds_total 5\n";
        let mut sum = Reading::default();
        add("tikv", store, &mut sum);
        add("tikv", store, &mut sum);
        add(
            "tidb",
            "process_cpu_seconds_total 1.5\ntidb_server_connections 8\ntidb_executor_statement_total{type=\"Select\"} 3\n",
            &mut sum,
        );
        add("pd", "process_cpu_seconds_total 2\npd_server_handle_tso_duration_seconds_count{group=\"0\"} 6\n", &mut sum);
        add("tiflash", store, &mut sum);
        let of = |all: &[(&str, f64)]| all.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let counters = [
            ("pd_server_handle_tso_duration_seconds_count", 6.0),
            ("process_cpu_seconds_total{job=\"pd\"}", 2.0),
            ("process_cpu_seconds_total{job=\"tidb\"}", 1.5),
            ("process_cpu_seconds_total{job=\"tikv\"}", 10.0),
            ("tidb_executor_statement_total{type=\"Select\"}", 3.0),
            ("tikv_engine_flow_bytes{type=\"wal_file_bytes\"}", 222.0),
            ("tikv_grpc_msg_duration_seconds_count{type=\"kv_get\"}", 18.0),
            ("tikv_grpc_msg_duration_seconds_sum{type=\"kv_get\"}", 0.5),
        ];
        let gauges = [("tidb_server_connections", 8.0), ("tikv_raftstore_region_count{type=\"leader\"}", 38.0)];
        assert_eq!(sum, Reading { counters: of(&counters), gauges: of(&gauges) });
    }

    #[test]
    fn each_store_is_told_by_its_number() {
        let store = |leaders, cpu| {
            format!(
                "tikv_grpc_msg_duration_seconds_count{{type=\"kv_get\"}} 9\ntikv_grpc_msg_duration_seconds_count{{type=\"kv_scan\"}} 4\n\
                 tikv_raftstore_region_count{{type=\"leader\"}} {leaders}\ntikv_raftstore_region_count{{type=\"region\"}} 65\n\
                 process_cpu_seconds_total {cpu}\n"
            )
        };
        let mut sum = Reading::default();
        add_store(1, &store(19, 5), &mut sum);
        add_store(2, &store(0, 1), &mut sum);
        let of = |all: &[(&str, f64)]| all.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let counters = [
            ("store_cpu_seconds_total{store=\"1\"}", 5.0),
            ("store_cpu_seconds_total{store=\"2\"}", 1.0),
            ("store_requests_total{store=\"1\"}", 13.0),
            ("store_requests_total{store=\"2\"}", 13.0),
        ];
        let gauges = [("store_leaders{store=\"1\"}", 19.0), ("store_leaders{store=\"2\"}", 0.0)];
        assert_eq!(sum, Reading { counters: of(&counters), gauges: of(&gauges) });
    }

    #[test]
    fn the_lists_are_sorted_and_hold_nothing_twice() {
        for chosen in &CHOSEN {
            for list in [chosen.counters, chosen.histograms, chosen.gauges] {
                assert!(list.is_sorted_by(|a, b| a.0 < b.0), "{list:?}");
            }
        }
    }
}
