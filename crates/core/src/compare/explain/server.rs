//! What the servers' own metrics say of a point: what was waited for, and what they did for each unit of work.

use super::{Bound, BoundBy, ServerWorkEach};
use crate::run_record::{RunRecord, ServerMetrics};

/// The share of the connections' time for which locks were waited for.
const LOCKED: f64 = 0.2;
/// The share of the connections' time for which the log, or a file, was waited for.
const IO_WAITING: f64 = 0.5;

/// What is counted for each unit of work, and its families of counters: of every database those that it has, added up.
const EACH: [(&str, &[&str]); 8] = [
    ("pages read", &["mysql_global_status_innodb_pages_read", "pg_stat_database_blks_read"]),
    ("writes to files", &["mysql_global_status_innodb_data_writes", "pg_stat_io_writes"]),
    ("flushes to disk", &["mysql_global_status_innodb_data_fsyncs", "pg_stat_wal_sync", "pg_stat_io_fsyncs"]),
    ("bytes of log", &["mysql_global_status_innodb_os_log_written", "pg_stat_wal_bytes"]),
    ("waits for row locks", &["mysql_global_status_innodb_row_lock_waits"]),
    ("temporary files", &["mysql_global_status_created_tmp_disk_tables", "pg_stat_database_temp_files"]),
    ("waits", &["mysql_perf_schema_events_waits_total"]),
    ("requests to stores", &["tidb_tikvclient_request_seconds_count"]),
];
/// What their names begin with: a server that tells one of a source tells all of it.
const SOURCES: [&str; 6] =
    ["mysql_global_status_", "mysql_perf_schema_", "pg_stat_database_", "pg_stat_io_", "pg_stat_wal_", "tidb_tikvclient_"];
/// InnoDB counts the milliseconds for which row locks were waited for.
const ROW_LOCK_MS: &str = "mysql_global_status_innodb_row_lock_time";
/// As many stores as a record may tell of.
const MOST_STORES: usize = 64;
/// Sessions of PostgreSQL by what they wait for, as they were seen once a second.
const ACTIVITY: &str = "pg_stat_activity_count";

/// The metrics of the trials of a point.
pub(super) struct Metered<'r> {
    all: Vec<(&'r RunRecord, &'r ServerMetrics)>,
}

impl<'r> Metered<'r> {
    /// `None` where a trial has none, or none to the end of its window.
    pub(super) fn of(trials: &[&'r RunRecord]) -> Option<Self> {
        let told = |r: &&'r RunRecord| r.target.metrics.as_ref().filter(|m| m.series_sha256.is_some()).map(|m| (*r, m));
        let all: Vec<_> = trials.iter().map(told).collect::<Option<_>>()?;
        // Times of readings are whole milliseconds, rounded down.
        let whole = |(r, m): &(&RunRecord, &ServerMetrics)| (u64::from(m.to_ms) + 1) * 1_000_000 >= r.measured.window_ns;
        (!all.is_empty() && all.iter().all(whole)).then_some(Self { all })
    }

    /// The time between the first readings and the last, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.all.iter().map(|(_, m)| seconds(m)).sum()
    }

    /// The same for each connection, added up.
    fn time(&self) -> f64 {
        self.all.iter().map(|(r, m)| seconds(m) * f64::from(r.load.connections)).sum()
    }

    /// By how much the counters of a family grew, all together.
    fn growth(&self, family: &str) -> f64 {
        let grown = self.all.iter().flat_map(|(_, m)| &m.growth);
        grown.filter(|(name, _)| name.split('{').next() == Some(family)).fold(0.0, |sum, (_, value)| sum + value)
    }

    /// The growth of a counter, or the mean of something else, in each trial that tells it, with its seconds.
    pub(super) fn each_of(&self, name: &str) -> impl Iterator<Item = (f64, f64)> {
        self.all.iter().filter_map(move |(_, m)| Some((*m.growth.get(name).or_else(|| m.means.get(name))?, seconds(m))))
    }

    /// How many stores of a cluster are told of.
    pub(super) fn stores(&self) -> usize {
        let names = self.all.iter().flat_map(|(_, m)| m.growth.keys().chain(m.means.keys()));
        let number = |name: &String| name.strip_prefix("store_")?.split("{store=\"").nth(1)?.strip_suffix("\"}")?.parse().ok();
        names.filter_map(number).filter(|number| *number <= MOST_STORES).max().unwrap_or_default()
    }

    /// For how long connections were seen in such a state, in seconds.
    fn seen(&self, is_wanted: impl Fn(&str) -> bool) -> f64 {
        let of = |m: &ServerMetrics| m.means.iter().filter(|(name, _)| is_wanted(name)).map(|(_, mean)| mean).sum::<f64>();
        self.all.iter().map(|(_, m)| seconds(m) * of(m)).sum()
    }

    /// What was waited for.
    pub(super) fn bounds(&self) -> Vec<Bound> {
        let time = self.time();
        let waits = |name: &str, kind: &str| name.starts_with(ACTIVITY) && name.contains(&format!("wait_event_type=\"{kind}\""));
        let row_locks = self.growth(ROW_LOCK_MS) / 1e3 / time;
        let locks = self.seen(|name| waits(name, "Lock")) / time;
        let files = self.seen(|name| waits(name, "IO") || name.contains("wait_event=\"WALWrite\"")) / time;
        let percent = |share: f64| format!("{:.0} %", 100.0 * share.min(1.0));
        let found = [
            (
                BoundBy::Locks,
                row_locks >= LOCKED,
                format!("connections waited for row locks {} of their time", percent(row_locks)),
            ),
            (
                BoundBy::Locks,
                locks >= LOCKED,
                format!("connections waited for locks {} of their time, by samples", percent(locks)),
            ),
            (
                BoundBy::Disk,
                files >= IO_WAITING,
                format!("connections waited for files {} of their time, by samples", percent(files)),
            ),
        ];
        found.into_iter().filter(|(_, is_bound, _)| *is_bound).map(|(by, _, text)| Bound { by, text }).collect()
    }

    /// Whether every trial has counters of the source that a family is of: what such a source does not count is zero, since zeros are left
    /// out. Of any other one nothing is known.
    fn tells(&self, family: &str) -> bool {
        let Some(source) = SOURCES.iter().find(|source| family.starts_with(**source)) else { return false };
        self.all.iter().all(|(_, m)| m.growth.keys().any(|name| name.starts_with(source)))
    }

    /// What the servers did for each of so many units of work, as far as they tell it.
    pub(super) fn each(&self, units: u64) -> Vec<ServerWorkEach> {
        let of = |(what, names): &(&str, &[&str])| {
            let told: Vec<f64> = names.iter().filter(|name| self.tells(name)).map(|name| self.growth(name)).collect();
            let count = told.iter().sum::<f64>() / units as f64;
            (!told.is_empty()).then(|| ServerWorkEach { what: (*what).to_owned(), count })
        };
        EACH.iter().filter_map(of).collect()
    }
}

fn seconds(metrics: &ServerMetrics) -> f64 {
    f64::from(metrics.to_ms.saturating_sub(metrics.from_ms)) / 1e3
}
