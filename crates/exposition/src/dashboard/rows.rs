//! The description of the dashboard.

use super::{Panel, Query, Row, Source, Stored};

/// All rows.
pub const ROWS: [Row; 4] = [
    Row { title: "perbuck", source: Source::Perbuck, panels: &PERBUCK },
    Row { title: "Machines: node_exporter on client and servers", source: Source::Node, panels: &NODE },
    Row { title: "MySQL and MariaDB: mysqld_exporter", source: Source::Mysqld, panels: &MYSQL },
    Row { title: "TiDB and TiKV: their status ports", source: Source::TiDb, panels: &TIDB },
];

const fn query(expr: &'static str, legend: &'static str) -> Query {
    Query { expr, legend, stored: Stored::Either }
}

const fn native(expr: &'static str, legend: &'static str) -> Query {
    Query { expr, legend, stored: Stored::Native }
}

const fn classic(expr: &'static str, legend: &'static str) -> Query {
    Query { expr, legend, stored: Stored::Classic }
}

const fn panel(title: &'static str, unit: &'static str, queries: &'static [Query]) -> Panel {
    Panel { title, unit, queries }
}

/// A quantile of the latency by contender, from native buckets or from classic ones.
macro_rules! quantile {
    (native $q:literal) => {
        concat!(
            "histogram_quantile(",
            $q,
            ", sum by (study, contender, workload) (rate(perbuck_transaction_latency_seconds{study=~\"$study\",contender=~\"$contender\"}[$__rate_interval])))"
        )
    };
    (classic $q:literal) => {
        concat!(
            "histogram_quantile(",
            $q,
            ", sum by (study, contender, workload, le) (rate(perbuck_transaction_latency_seconds_bucket{study=~\"$study\",contender=~\"$contender\"}[$__rate_interval])))"
        )
    };
}

const PERBUCK: [Panel; 12] = [
    panel(
        "Transactions per second",
        "short",
        &[query(
            "sum by (study, contender, workload, connections, rate) (rate(perbuck_transactions_total{study=~\"$study\",contender=~\"$contender\"}[$__rate_interval]))",
            "{{contender}} · {{workload}} · {{connections}} connections {{rate}}",
        )],
    ),
    panel(
        "Statements per second",
        "short",
        &[query(
            "sum by (study, contender, workload) (rate(perbuck_statements_total{study=~\"$study\",contender=~\"$contender\"}[$__rate_interval]))",
            "{{contender}} · {{workload}}",
        )],
    ),
    panel(
        "Latency from native histograms (within 2.2 %)",
        "s",
        &[
            native(quantile!(native "0.5"), "{{contender}} · {{workload}} p50"),
            native(quantile!(native "0.95"), "{{contender}} · {{workload}} p95"),
            native(quantile!(native "0.99"), "{{contender}} · {{workload}} p99"),
        ],
    ),
    panel(
        "Latency from classic histograms (between bounds 1, 2, 5)",
        "s",
        &[
            classic(quantile!(classic "0.5"), "{{contender}} · {{workload}} p50"),
            classic(quantile!(classic "0.95"), "{{contender}} · {{workload}} p95"),
            classic(quantile!(classic "0.99"), "{{contender}} · {{workload}} p99"),
        ],
    ),
    panel(
        "Errors per second, by class",
        "short",
        &[query(
            "sum by (study, contender, class) (rate(perbuck_transaction_errors_total{study=~\"$study\",contender=~\"$contender\"}[$__rate_interval]))",
            "{{contender}} {{class}}",
        )],
    ),
    panel(
        "Retries, failed transactions and reconnects per second",
        "short",
        &[
            query(
                "sum by (study, contender) (rate(perbuck_transaction_retries_total{study=~\"$study\",contender=~\"$contender\"}[$__rate_interval]))",
                "{{contender}} retries",
            ),
            query(
                "sum by (study, contender) (rate(perbuck_transactions_failed_total{study=~\"$study\",contender=~\"$contender\"}[$__rate_interval]))",
                "{{contender}} failed",
            ),
            query(
                "sum by (study, contender) (rate(perbuck_reconnects_total{study=~\"$study\",contender=~\"$contender\"}[$__rate_interval]))",
                "{{contender}} reconnects",
            ),
        ],
    ),
    panel(
        "CPU of the client, processors",
        "short",
        &[query(
            "sum by (study, mode) (rate(perbuck_client_cpu_seconds_total{study=~\"$study\"}[$__rate_interval]))",
            "{{study}} {{mode}}",
        )],
    ),
    panel(
        "Transactions in flight, and waiting for a connection",
        "short",
        &[
            query("perbuck_trial_in_flight_transactions{study=~\"$study\",contender=~\"$contender\"}", "{{contender}} in flight"),
            query("perbuck_trial_backlog_transactions{study=~\"$study\",contender=~\"$contender\"}", "{{contender}} waiting"),
        ],
    ),
    panel(
        "Trials done",
        "percentunit",
        &[query(
            "max by (study) (perbuck_study_trials_done{study=~\"$study\"}) / max by (study) (perbuck_study_trials_planned{study=~\"$study\"})",
            "{{study}}",
        )],
    ),
    panel("Time left, about", "s", &[query("perbuck_study_left_seconds{study=~\"$study\"}", "{{study}}")]),
    panel(
        "Trial and its phase",
        "short",
        &[
            query(
                "perbuck_trial_info{study=~\"$study\",contender=~\"$contender\"}",
                "{{contender}} · {{workload}} · {{connections}} connections · block {{block}}",
            ),
            query("perbuck_trial_phase{study=~\"$study\",contender=~\"$contender\"} == 1", "{{contender}} {{phase}}"),
            query("perbuck_study_state{study=~\"$study\"} == 1", "{{study}} {{state}}"),
        ],
    ),
    panel(
        "US dollars per million transactions at this rate",
        "currencyUSD",
        &[query(
            "sum by (study, contender, region) (perbuck_price_dollars_per_hour{study=~\"$study\",contender=~\"$contender\"}) / on (study, contender) group_left sum by (study, contender) (rate(perbuck_transactions_total{study=~\"$study\",contender=~\"$contender\"}[$__rate_interval]) > 0) / 3600 * 1e6",
            "{{contender}} · {{region}}",
        )],
    ),
];

const NODE: [Panel; 6] = [
    panel(
        "CPU by mode, processors",
        "short",
        &[query(
            "sum by (instance, mode) (rate(node_cpu_seconds_total{mode!=\"idle\"}[$__rate_interval]))",
            "{{instance}} {{mode}}",
        )],
    ),
    panel(
        "Soft interrupts by processor",
        "percentunit",
        &[query("rate(node_cpu_seconds_total{mode=\"softirq\"}[$__rate_interval])", "{{instance}} cpu {{cpu}}")],
    ),
    panel(
        "Network",
        "Bps",
        &[
            query("rate(node_network_receive_bytes_total[$__rate_interval])", "{{instance}} {{device}} received"),
            query("rate(node_network_transmit_bytes_total[$__rate_interval])", "{{instance}} {{device}} sent"),
        ],
    ),
    panel(
        "Disk: mean time of an operation",
        "s",
        &[query(
            "(rate(node_disk_read_time_seconds_total[$__rate_interval]) + rate(node_disk_write_time_seconds_total[$__rate_interval])) / (rate(node_disk_reads_completed_total[$__rate_interval]) + rate(node_disk_writes_completed_total[$__rate_interval]))",
            "{{instance}} {{device}}",
        )],
    ),
    panel(
        "Disk: operations per second",
        "iops",
        &[
            query("rate(node_disk_reads_completed_total[$__rate_interval])", "{{instance}} {{device}} reads"),
            query("rate(node_disk_writes_completed_total[$__rate_interval])", "{{instance}} {{device}} writes"),
        ],
    ),
    panel("Memory that is available", "bytes", &[query("node_memory_MemAvailable_bytes", "{{instance}}")]),
];

const MYSQL: [Panel; 6] = [
    panel(
        "Queries and commits per second",
        "short",
        &[
            query("rate(mysql_global_status_queries[$__rate_interval])", "{{instance}} queries"),
            query("rate(mysql_global_status_commands_total{command=\"commit\"}[$__rate_interval])", "{{instance}} commits"),
        ],
    ),
    panel(
        "Threads",
        "short",
        &[
            query("mysql_global_status_threads_running", "{{instance}} running"),
            query("mysql_global_status_threads_connected", "{{instance}} connected"),
        ],
    ),
    panel(
        "Row locks: waits per second",
        "short",
        &[query("rate(mysql_global_status_innodb_row_lock_waits[$__rate_interval])", "{{instance}}")],
    ),
    panel(
        "Buffer pool: share of reads that went to the disk",
        "percentunit",
        &[query(
            "rate(mysql_global_status_innodb_buffer_pool_reads[$__rate_interval]) / rate(mysql_global_status_innodb_buffer_pool_read_requests[$__rate_interval])",
            "{{instance}}",
        )],
    ),
    panel(
        "Redo log",
        "Bps",
        &[query("rate(mysql_global_status_innodb_os_log_written[$__rate_interval])", "{{instance}} written")],
    ),
    panel(
        "Network of the server",
        "Bps",
        &[
            query("rate(mysql_global_status_bytes_received[$__rate_interval])", "{{instance}} received"),
            query("rate(mysql_global_status_bytes_sent[$__rate_interval])", "{{instance}} sent"),
        ],
    ),
];

const TIDB: [Panel; 8] = [
    panel(
        "TiDB: statements per second",
        "short",
        &[query("sum by (type) (rate(tidb_executor_statement_total[$__rate_interval]))", "{{type}}")],
    ),
    panel(
        "TiDB: query latency",
        "s",
        &[
            query(
                "histogram_quantile(0.5, sum by (le) (rate(tidb_server_handle_query_duration_seconds_bucket{sql_type!=\"internal\"}[$__rate_interval])))",
                "p50",
            ),
            query(
                "histogram_quantile(0.99, sum by (le) (rate(tidb_server_handle_query_duration_seconds_bucket{sql_type!=\"internal\"}[$__rate_interval])))",
                "p99",
            ),
        ],
    ),
    panel("TiDB: connections", "short", &[query("sum by (instance) (tidb_server_connections)", "{{instance}}")]),
    panel(
        "TiDB: errors and retries per second",
        "short",
        &[
            query("sum by (type) (rate(tidb_server_execute_error_total[$__rate_interval]))", "{{type}}"),
            query(
                "sum by (instance) (rate(tidb_session_statement_pessimistic_retry_count_sum[$__rate_interval]))",
                "{{instance}} retries of locks",
            ),
        ],
    ),
    panel(
        "TiKV: CPU, processors",
        "short",
        &[query("sum by (instance) (rate(tikv_thread_cpu_seconds_total[$__rate_interval]))", "{{instance}}")],
    ),
    panel(
        "TiKV: latency of requests, p99",
        "s",
        &[query(
            "histogram_quantile(0.99, sum by (le, type) (rate(tikv_grpc_msg_duration_seconds_bucket{type!=\"kv_gc\"}[$__rate_interval])))",
            "{{type}}",
        )],
    ),
    panel(
        "TiKV: latency of writes in its storage engine, p99",
        "s",
        &[query(
            "histogram_quantile(0.99, sum by (le, instance) (rate(tikv_storage_engine_async_request_duration_seconds_bucket{type=\"write\"}[$__rate_interval])))",
            "{{instance}}",
        )],
    ),
    panel("TiKV: data", "bytes", &[query("sum by (instance) (tikv_engine_size_bytes)", "{{instance}}")]),
];
