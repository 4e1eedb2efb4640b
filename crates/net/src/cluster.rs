//! What the processes of a TiKV cluster, with TiDB or without it, tell at their status ports: what happens within them that no client
//! sees, and whether they are at rest.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use perbuck_load::driver::{BY_SERVER, CHANGES, CONNECTIONS, CPU_MS, PAGES_READ, PROCESSES, Settling};
use sha2::{Digest, Sha256};

use crate::metrics::{Sample, samples};
use crate::web;

/// How long a status port may take.
const LIMIT: Duration = Duration::from_secs(3);
/// What processes of Go and of TiKV call their CPU time, in seconds. TiKV tells whole seconds.
const CPU: &str = "process_cpu_seconds_total";

/// When a process was started.
pub(crate) const STARTED: &str = "process_start_time_seconds";

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

const TOLD: [Told; 15] = [
    told("tidb", "tidb_session_retry_num_sum", Label::None, "server_retries_transaction"),
    told("tidb", "tidb_session_retry_error_total", Label::Divides("type"), "server_errors_retry"),
    told("tidb", "tidb_session_statement_pessimistic_retry_count_sum", Label::None, "server_retries_pessimistic_lock"),
    told("tidb", "tidb_tikvclient_backoff_seconds_count", Label::Divides("type"), "server_retries_backoff"),
    told("tidb", "tidb_tikvclient_region_err_total", Label::Divides("type"), "server_retries_region"),
    told("tidb", "tidb_server_execute_error_total", Label::Divides("type"), "server_errors"),
    told("tikv", "tikv_engine_cache_efficiency", Label::Is("type", "block_cache_hit"), "server_block_cache_hits"),
    told("tikv", "tikv_engine_cache_efficiency", Label::Is("type", "block_cache_miss"), "server_block_cache_misses"),
    told("tikv", "tikv_engine_cache_efficiency", Label::Is("type", "block_cache_miss"), PAGES_READ),
    told("tikv", COMPACTION, Label::None, "server_pending_compaction_bytes"),
    told("tikv", REGIONS, Label::Is("type", "leader"), "server_changes_regions"),
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

/// One process of a cluster, and where its status port is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// `pd`, `tidb` or `tikv`.
    pub kind: String,
    /// The host by which it is reached from here.
    pub host: String,
    /// Its status port; 0 where it tells none.
    pub port: u16,
    /// What tells it from others of its kind.
    pub identity: String,
}

/// The metrics of the processes of a cluster.
#[derive(Debug, Default)]
pub struct Metrics {
    /// The text of each process, by kind and identity.
    texts: Vec<(String, String, String)>,
    /// Parts that do not tell, and why.
    pub not_told: BTreeMap<String, String>,
}

/// What all processes have done since they started.
#[derive(Debug, Default)]
pub struct Counted {
    /// Sums by their names.
    pub sums: BTreeMap<String, i64>,
    /// Parts that are not told, and why.
    pub not_told: BTreeMap<String, String>,
}

impl Metrics {
    /// Asks every process. Where one of a part does not answer, nothing is told of that part.
    pub async fn of(processes: Vec<Process>, not_told: BTreeMap<String, String>) -> Self {
        let mut metrics = Self { texts: Vec::new(), not_told };
        for process in processes {
            if metrics.not_told.contains_key(&process.kind) {
                continue;
            }
            match ask(&process.host, process.port).await {
                Ok(text) => metrics.texts.push((process.kind, process.identity, text)),
                Err(why) => drop(metrics.not_told.insert(process.kind, why)),
            }
        }
        metrics.texts.retain(|(kind, ..)| !metrics.not_told.contains_key(kind));
        metrics
    }

    /// Sums over the processes of each part.
    pub fn counted(self) -> Counted {
        let (mut sums, mut identities): (BTreeMap<String, f64>, BTreeMap<&str, Sha256>) = Default::default();
        let mut servers = 0;
        for (kind, identity, text) in &self.texts {
            if kind == "tidb" {
                servers += 1;
                sums.insert(format!("{BY_SERVER}{servers}"), executed(text));
                sums.insert(format!("{CONNECTIONS}{servers}"), ended(text));
            }
            add(kind, text, &mut sums);
            let started = samples(text).find(|sample| sample.name == STARTED).map_or(0.0, |sample| sample.value);
            identities.entry(kind).or_default().update(format!("{identity} {started}\n"));
        }
        let mut sums: BTreeMap<String, i64> = sums.into_iter().map(|(name, sum)| (name, sum.round() as i64)).collect();
        sums.extend(identities.into_iter().map(|(kind, hash)| {
            let bytes = hash.finalize();
            (format!("{PROCESSES}{kind}"), i64::from_be_bytes(bytes[..8].try_into().unwrap_or_default()))
        }));
        Counted { sums, not_told: self.not_told }
    }

    /// What all stores take, in bytes and in all copies; `None` where they do not tell.
    pub fn store_bytes(&self) -> Option<u64> {
        let stores = || self.texts.iter().filter(|(kind, ..)| kind == "tikv");
        let used = |(.., text): &(String, String, String)| sum(text, STORE_SIZE, Some(("type", "used"))).round() as u64;
        stores().next().map(|_| stores().map(used).sum()).filter(|bytes| *bytes > 0)
    }

    /// How far the cluster is from rest; `None` where its stores have no status ports.
    pub fn settling(self) -> Option<Settling> {
        let has_stores = self.not_told.contains_key("tikv") || self.texts.iter().any(|(kind, ..)| kind == "tikv");
        has_stores.then(|| self.far_from_rest())
    }

    fn far_from_rest(self) -> Settling {
        let stores: Vec<&str> = self.texts.iter().filter(|(kind, ..)| kind == "tikv").map(|(.., text)| text.as_str()).collect();
        let mut open = Vec::new();
        let waiting: Vec<f64> = stores.iter().map(|text| sum(text, COMPACTION, None)).collect();
        let most = waiting.iter().copied().fold(0.0, f64::max);
        if most > COMPACTION_MAX {
            let mib = |bytes: f64| (bytes / f64::from(1 << 20)).round();
            let (of, tolerated) = (stores.len(), mib(COMPACTION_MAX));
            open.push(format!("{} MiB wait for compaction on one of {of} stores ({tolerated} MiB are tolerated)", mib(most)));
        }
        let leaders: Vec<f64> = stores.iter().map(|text| sum(text, REGIONS, Some(("type", "leader")))).collect();
        let uneven = unbalanced(&leaders);
        let told = !self.not_told.contains_key("tikv");
        let counted = self.counted();
        let changes = counted.sums.into_iter().filter(|(name, _)| name.starts_with(CHANGES)).collect();
        Settling { open, uneven, changes, not_told: counted.not_told, told }
    }
}

/// Bytes of a store, by `type`: `capacity` and `available` of its disk, and what it has `used`.
const STORE_SIZE: &str = "tikv_store_size_bytes";
/// Bytes that wait for compaction.
const COMPACTION: &str = "tikv_engine_pending_compaction_bytes";
/// So many of one store are less than one file of a lower level.
const COMPACTION_MAX: f64 = 64.0 * 1024.0 * 1024.0;
/// Regions of a store.
const REGIONS: &str = "tikv_raftstore_region_count";
/// Stores may differ by so many leaders, as they may for PD, which moves none for a difference of five ...
const LEADERS: f64 = 10.0;
/// ... or by this share of their mean.
const LEADERS_SHARE: f64 = 0.1;

/// That one store leads more regions than another, beyond the tolerance.
fn unbalanced(leaders: &[f64]) -> Option<String> {
    let (least, most) = leaders.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), n| (least.min(*n), most.max(*n)));
    let mean = leaders.iter().sum::<f64>() / leaders.len().max(1) as f64;
    let tolerated = LEADERS.max(LEADERS_SHARE * mean).round();
    (most - least > tolerated)
        .then(|| format!("stores lead from {least} to {most} regions (a difference of {tolerated} is tolerated)"))
}

/// The sum of the samples of a metric, of all or of those with a label.
fn sum(text: &str, metric: &str, with: Option<(&str, &str)>) -> f64 {
    let ours = |s: &Sample<'_>| s.name == metric && with.is_none_or(|(label, value)| s.label(label) == Some(value));
    samples(text).filter(ours).map(|sample| sample.value).sum()
}

/// How many statements a TiDB server has executed for its clients, of those that count as work.
pub fn executed(text: &str) -> f64 {
    let counts = |s: &Sample<'_>| s.name == STATEMENTS && s.label("type").is_some_and(|label| WORK.contains(&label));
    samples(text).filter(counts).map(|sample| sample.value).sum()
}

/// How many connections to a TiDB server have ended.
fn ended(text: &str) -> f64 {
    sum(text, "tidb_server_disconnection_total", None)
}

/// The metrics at a status port.
///
/// # Errors
/// That there are none. It holds no address, which is its owner's business.
pub async fn ask(host: &str, port: u16) -> Result<String, String> {
    web::get((host, port), "/metrics", LIMIT).await.map_err(|_| "its status port does not answer".to_owned())
}

/// The first of the hosts that a process tells of itself by which others reach it, or else `other`.
pub fn reached_at<'a>(told: impl IntoIterator<Item = &'a str>, other: &'a str) -> String {
    told.into_iter().find(|host| is_reached_at(host)).unwrap_or(other).trim_matches(['[', ']']).to_owned()
}

fn is_reached_at(host: &str) -> bool {
    let of_any = |ip: IpAddr| ip.is_unspecified() || ip.is_loopback();
    !host.is_empty() && !host.trim_matches(['[', ']']).parse().is_ok_and(of_any)
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

    fn store(waiting: u64, leaders: u64, regions: u64) -> (String, String, String) {
        let text = format!(
            "tikv_engine_pending_compaction_bytes{{cf=\"default\",db=\"kv\"}} {waiting}\n\
             tikv_engine_pending_compaction_bytes{{cf=\"write\",db=\"kv\"}} 1048576\n\
             tikv_raftstore_region_count{{type=\"leader\"}} {leaders}\ntikv_raftstore_region_count{{type=\"region\"}} {regions}\n"
        );
        ("tikv".to_owned(), leaders.to_string(), text)
    }

    #[test]
    fn what_stores_take_is_added_up() {
        let store = |used: &str| {
            let text = format!("tikv_store_size_bytes{{type=\"available\"}} 9\ntikv_store_size_bytes{{type=\"used\"}} {used}\n");
            ("tikv".to_owned(), used.to_owned(), text)
        };
        let bytes = |texts: Vec<_>| Metrics { texts, not_told: BTreeMap::new() }.store_bytes();
        assert_eq!(bytes(vec![store("1.5e+09"), store("500")]), Some(1_500_000_500));
        assert_eq!(bytes(vec![("tidb".to_owned(), String::new(), String::new())]), None);
        assert_eq!(bytes(vec![("tikv".to_owned(), String::new(), String::new())]), None, "a version that does not tell it");
    }

    #[test]
    fn a_process_is_reached_by_a_host_that_is_none_of_its_own() {
        for (told, at) in [(["10.0.0.7", ""], "10.0.0.7"), (["127.0.0.1", "tikv-1"], "tikv-1"), (["::", "[::1]"], "fd00::2")] {
            assert_eq!(reached_at(told, "[fd00::2]"), at);
        }
    }

    #[test]
    fn a_cluster_is_at_rest_within_its_tolerances() {
        let settling = |texts: Vec<_>| Metrics { texts, not_told: BTreeMap::new() }.settling();
        let mib = 1 << 20;
        let calm = settling(vec![store(63 * mib, 20, 60), store(0, 30, 60), store(0, 22, 60)]).unwrap();
        assert_eq!((calm.open.len(), calm.uneven, calm.changes["server_changes_regions"], calm.told), (0, None, 72, true));
        let busy = settling(vec![store(1024 * mib, 31, 60), store(0, 20, 60)]).unwrap();
        assert_eq!(busy.open, ["1025 MiB wait for compaction on one of 2 stores (64 MiB are tolerated)"]);
        assert_eq!(busy.uneven.unwrap(), "stores lead from 20 to 31 regions (a difference of 10 is tolerated)");
        assert_eq!(settling(vec![store(0, 1000, 0), store(0, 1100, 0)]).unwrap().uneven, None, "a tenth of many is tolerated");
        assert_eq!(settling(Vec::new()), None, "an embedded store");
        let silent =
            Metrics { texts: Vec::new(), not_told: [("tikv".to_owned(), "silent".to_owned())].into() }.settling().unwrap();
        assert!(!silent.told && silent.not_told["tikv"] == "silent", "what cannot be told is said");
    }
}
