use super::super::golden;
use super::super::tally::{Distribution, Fairness, Tally};
use super::*;
use crate::cases::histogram as latency;

fn settings(words: &[&str]) -> Settings {
    golden::settings(words).unwrap()
}

/// The counters of a run of real sysbench, as its report had them.
fn example() -> Summary {
    let tally = Tally { transactions: 650, read: 9142, write: 2605, other: 1303, errors: 3, ..Tally::default() };
    let (events_avg, events_stddev) = (325.0, 33.0);
    let fairness = Fairness { events_avg, events_stddev, execution_time_avg_s: 2.0036, execution_time_stddev_s: 0.0 };
    let latency = Distribution::of(&latency([1_720_000, 6_160_000, 83_270_000]));
    Summary { threads: 2, elapsed_s: 2.00763, covers_s: 2.00763, tally, latency, fairness: Some(fairness) }
}

#[test]
fn the_report_is_that_of_sysbench_to_the_column() {
    assert_eq!(summary(&example(), &settings(&[])), include_str!("tests/report.txt"));
    let newer = summary(&example(), &settings(&["--compat=sysbench-1.1"]));
    let throughput = "
Throughput:
    events/s (eps):                      323.7648
    time elapsed:                        2.0076s
    total number of events:              650

Latency (ms):
";
    assert!(newer.contains(throughput), "{newer}");
}

#[test]
fn several_percentiles_stand_below_each_other_and_none_is_said() {
    let text = summary(&example(), &settings(&["--percentile=5,50,99.9"]));
    let lines: Vec<&str> = text.lines().filter(|l| l.contains("percentile")).collect();
    let expected = [
        "          5th percentile:                        1.72",
        "         50th percentile:                        6.16",
        "        99.9th percentile:                      83.27",
    ];
    assert_eq!(lines, expected);
    let text = summary(&example(), &settings(&["--percentile=0"]));
    assert!(text.contains("\n         percentile stats:               disabled\n"), "{text}");
}

#[test]
fn the_banner_says_what_is_about_to_run() {
    let words = [
        "--threads=2",
        "--rate=50",
        "--report-interval=1",
        "--report-checkpoints=1,2",
        "--rand-seed=7",
        "--forced-shutdown=5",
        "--warmup-time=3",
    ];
    assert_eq!(banner(&settings(&words), true), include_str!("tests/banner.txt"));
    let plain = banner(&Settings { seed: 5, ..settings(&[]) }, true);
    assert!(plain.ends_with("(seed 5)\n\n\nInitializing worker threads...\n\n"), "{plain}");
}

#[test]
fn the_histogram_has_sysbenchs_buckets() {
    let mut summary = example();
    summary.latency = Distribution::of(&latency([2_106_000, 2_223_000, 2_662_000, 2_662_000]));
    assert_eq!(histogram(&summary), include_str!("tests/histogram.txt"));
}
