//! Real logs, one of each format at least (`tests/logs/README.md` has their sources), broken ones, and texts that are none.

use perbuck_core::run_record::HistogramRecord;
use proptest::prelude::*;

use super::*;

const SYSBENCH_05: &str = include_str!("tests/logs/sysbench-0.5.log");
const SYSBENCH_10: &str = include_str!("tests/logs/sysbench-1.0.log");
const SYSBENCH_HISTOGRAM: &str = include_str!("tests/logs/sysbench-1.0-histogram.log");
const SYSBENCH_11: &str = include_str!("tests/logs/sysbench-1.1.log");
const TIUP: &str = include_str!("tests/logs/tiup-bench.log");
const GO_TPC: &str = include_str!("tests/logs/go-tpc.log");
const GO_YCSB: &str = include_str!("tests/logs/go-ycsb.log");
const YCSB: &str = include_str!("tests/logs/ycsb.log");
const HAMMERDB: &str = include_str!("tests/logs/hammerdb.log");
const PGBENCH_9: &str = include_str!("tests/logs/pgbench-9.log");
const PGBENCH_15: &str = include_str!("tests/logs/pgbench-15.log");
const BENCHBASE: &str = include_str!("tests/logs/benchbase.json");
const LOGS: [&str; 12] = [
    SYSBENCH_05,
    SYSBENCH_10,
    SYSBENCH_HISTOGRAM,
    SYSBENCH_11,
    TIUP,
    GO_TPC,
    GO_YCSB,
    YCSB,
    HAMMERDB,
    PGBENCH_9,
    PGBENCH_15,
    BENCHBASE,
];

fn one(text: &str) -> Run {
    let mut runs = read(text).unwrap();
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs.remove(0)
}

/// Program, version, kind, connections, completed, and per-second rate with one digit.
fn told(text: &str) -> (&'static str, String, &'static str, Option<u32>, u64, String) {
    let run = one(text);
    let rate = run.completed() as f64 / (run.window_ns as f64 / 1e9);
    (run.tool, run.version.clone(), run.kind, run.connections, run.completed(), format!("{rate:.1}"))
}

#[test]
fn each_format_gives_the_numbers_that_it_prints() {
    let text = str::to_owned;
    let cases = [
        (SYSBENCH_05, ("sysbench", text("0.5"), "sysbench", Some(128), 2_957_322, text("9792.2"))),
        (SYSBENCH_10, ("sysbench", text("1.0.20"), "sysbench", Some(8), 359, text("86.2"))),
        (SYSBENCH_11, ("sysbench", text("1.1.0"), "sysbench", Some(4), 3496, text("349.0"))),
        (GO_YCSB, ("go-ycsb", text(""), "ycsb", Some(4), 20_000, text("3044.5"))),
        (YCSB, ("YCSB", text("0.17.0"), "ycsb", Some(4), 20_000, text("2258.4"))),
        (PGBENCH_9, ("pgbench", text(""), "pgbench", Some(1), 3265, text("108.8"))),
        (PGBENCH_15, ("pgbench", text("15.18"), "pgbench", Some(4), 759, text("135.1"))),
        (BENCHBASE, ("BenchBase", text(""), "benchbase", Some(1), 6204, text("1240.8"))),
    ];
    for (log, expected) in cases {
        assert_eq!(told(log), expected);
    }
}

#[test]
fn new_orders_a_minute_are_those_of_the_log() {
    // Counter and time give the digits of the log's own rate.
    for (log, tool, connections, per_minute) in
        [(TIUP, "go-tpc", None, "33453.0"), (GO_TPC, "go-tpc", None, "3852.5"), (HAMMERDB, "HammerDB", Some(4), "264796.0")]
    {
        let run = one(log);
        let rate = run.transactions["new_order"].completed as f64 * 60e9 / run.window_ns as f64;
        assert_eq!((run.tool, run.connections, format!("{rate:.1}").as_str()), (tool, connections, per_minute));
    }
    let (tiup, hammer) = (one(TIUP), one(HAMMERDB));
    let counts = &tiup.transactions["delivery"];
    assert_eq!((counts.completed, counts.failed, tiup.errors["errors of go-tpc"]), (88_527, 133, 657));
    assert_eq!((hammer.warmup_ns, hammer.metric.map(|m| m.label.as_ref())), (Some(60_000_000_000), Some("NOPM")));
    assert!(hammer.printed[0].1.starts_with("616230 "), "{:?}", hammer.printed);
}

#[test]
fn sysbench_tells_statements_errors_and_the_histogram() {
    let run = one(SYSBENCH_10);
    assert_eq!((run.statements, run.retries, run.reconnects), (Some([5054, 1438, 720]), 2, Some(0)));
    // Reports of every second one are no seconds.
    assert!(run.seconds.is_empty() && run.transactions["transaction"].latency.is_none());
    let run = one(SYSBENCH_HISTOGRAM);
    let latency: &HistogramRecord = run.transactions["transaction"].latency.as_ref().unwrap();
    assert_eq!((latency.count, latency.sum_ns, latency.max_ns), (595, 32_115_420_000, 261_150_000));
    let p95_ms = latency.to_histogram().unwrap().percentile_ns(95.0).unwrap() as f64 / 1e6;
    assert!((p95_ms / 147.61 - 1.0).abs() < 0.002, "sysbench prints 147.61 ms from the same buckets: {p95_ms}");
    assert_eq!(run.seconds.len(), 8);
    assert_eq!((run.seconds[0].transactions, run.seconds[0].statements, run.seconds[0].p95_ns), (117, 2384, 121_080_000));
    assert!(!run.not_known().contains(&"latency histogram") && run.not_known().contains(&"warm-up"));
}

#[test]
fn a_histogram_of_other_transactions_is_left_out_and_told() {
    let other = SYSBENCH_HISTOGRAM.replacen(
        "|***                                      1",
        "|***                                      2",
        1,
    );
    let run = one(&other);
    assert!(run.transactions["transaction"].latency.is_none());
    assert!(run.not_known().iter().any(|what| what.contains("has another count")), "{:?}", run.not_known());
}

#[test]
fn a_read_modify_write_is_counted_once() {
    let log = "Run finished, takes 10s\nREAD - Takes(s): 10.0, Count: 100, OPS: 10.0\nUPDATE - Takes(s): 10.0, Count: 50, OPS: 5.0\n\
               READ_MODIFY_WRITE - Takes(s): 10.0, Count: 50, OPS: 5.0\nTOTAL - Takes(s): 10.0, Count: 150, OPS: 15.0\n";
    let run = one(&format!("\"threadcount\"=\"4\"\n{log}"));
    let counts: Vec<(&str, u64)> = run.transactions.iter().map(|(kind, c)| (kind.as_str(), c.completed)).collect();
    assert_eq!(counts, [("read", 50), ("read_modify_write", 50)]);
}

#[test]
fn failed_operations_of_ycsb_are_no_completed_ones() {
    let log = "[OVERALL], RunTime(ms), 618904.0\n[OVERALL], Throughput(ops/sec), 729.0371\n[READ], Operations, 451206.0\n\
               [READ], Return=OK, 201342\n[READ], Return=ERROR, 544\n[READ], Return=NOT_FOUND, 249320\n";
    let run = one(log);
    let counts = &run.transactions["read"];
    assert_eq!((counts.completed, counts.failed, run.errors["failed operations of YCSB"]), (201_342, 249_864, 249_864));
}

#[test]
fn several_runs_of_one_log_are_several_trials() {
    let all = read(&format!("{SYSBENCH_10}\n{SYSBENCH_05}\n{SYSBENCH_10}")).unwrap();
    assert_eq!(all.iter().map(|r| r.connections.unwrap()).collect::<Vec<_>>(), [8, 128, 8]);
    assert_eq!(all.iter().map(|r| r.version.as_str()).collect::<Vec<_>>(), ["1.0.20", "0.5", "1.0.20"]);
    assert!(all[0].line < all[1].line && all[1].line < all[2].line);
    let mixed = read(&format!("{PGBENCH_15}\n{TIUP}\n{TIUP}\n{PGBENCH_9}")).unwrap();
    assert_eq!(mixed.iter().map(|r| r.tool).collect::<Vec<_>>(), ["pgbench", "go-tpc", "go-tpc", "pgbench"]);
}

#[test]
fn a_log_that_says_no_number_of_connections_leaves_it_open() {
    let bare = SYSBENCH_10.split_once("SQL statistics:").unwrap().1;
    assert_eq!(one(&format!("SQL statistics:{bare}")).connections, None);
}

#[test]
fn what_cannot_be_trusted_is_refused() {
    let cut = |log: &str, at: &str| log.split_once(at).unwrap().0.to_owned();
    let cases = [
        ("hello\nworld\n".to_owned(), "no log is recognised"),
        (String::new(), "`SQL statistics:` (sysbench)"),
        (cut(SYSBENCH_10, "SQL statistics:"), "it has no `SQL statistics`: it was cut off"),
        (cut(SYSBENCH_10, "General statistics:"), "it has no `total time`"),
        (include_str!("tests/logs/sysbench-1.0-rate.log").to_owned(), "at a fixed rate (--rate)"),
        (include_str!("tests/logs/pgbench-15-rate.log").to_owned(), "at a fixed rate (--rate)"),
        (cut(PGBENCH_15, "tps = 135"), "has no line `tps = …`"),
        (cut(HAMMERDB, "Vuser 1:TEST RESULT"), "has no `TEST RESULT`"),
        (HAMMERDB.replace("Timing test period of 3 in minutes", ""), "no line `Timing test period"),
        (HAMMERDB.replace("Vuser 2:FINISHED SUCCESS", "Vuser 2:FINISHED FAILED"), "a virtual user of HammerDB failed"),
        (YCSB.replace("-threads 4\n", "-threads 4 -target 5000\n"), "the run had a fixed rate"),
        (YCSB.replace("Operations, 9918", "Operations, 99"), "the log prints 2258.36"),
        (SYSBENCH_10.replace("86.15 per sec", "92.15 per sec"), "the log prints 92.15"),
        (TIUP.replace("tpmC: 33453.0", "tpmC: 43453.0"), "the log prints 724.22"),
        (TIUP.replace("[Summary] NEW_ORDER - ", "[Summary] Q1 - "), "another benchmark of go-tpc"),
        ("[Summary] Q1: 32.13s\n".to_owned(), "another benchmark of go-tpc"),
        (BENCHBASE.replace("6204", "9999"), "9999 requests in"),
        (BENCHBASE.replace("\"Elapsed Time (nanoseconds)\": 5000067833,", ""), "no `Measured Requests` and `Elapsed"),
        (BENCHBASE.replace("\"terminals\"", "terminals"), "is no whole JSON"),
        (cut(GO_YCSB, "READ   -"), "no operations are counted"),
        (SYSBENCH_10.replace("4.1665s", "0.0000s"), "the run took 0 s"),
    ];
    for (text, says) in cases {
        let refused = read(&text).unwrap_err();
        assert!(refused.to_string().contains(says), "{says}: {refused}");
    }
}

proptest! {
    /// No text makes a reader panic, and what is read has a time and counts.
    #[test]
    fn any_text_is_read_or_refused(log in 0..LOGS.len(), cut in 0.0..1.0_f64, from in 0.0..1.0_f64, put in "[0-9.:,\\[\\] eE+-]{0,12}|\\PC{0,8}") {
        let text = LOGS[log];
        let at = |share: f64| {
            let mut at = (text.len() as f64 * share) as usize;
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let (a, b) = (at(cut.min(from)), at(cut.max(from)));
        for text in [format!("{}{put}{}", &text[..a], &text[a..]), format!("{}{put}{}", &text[..a], &text[b..]), text[a..b].to_owned(), put] {
            for run in read(&text).unwrap_or_default() {
                prop_assert!(run.window_ns > 0 && !run.tool.is_empty() && !run.transactions.is_empty(), "{run:?}");
            }
        }
    }
}
