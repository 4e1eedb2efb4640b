//! Sample outputs: a right one is silent, and each planted fault is found by the check that is meant for it.

use super::*;

/// A sample of the run of 100 connections in the head: 1000.4 transactions a second for a minute.
const RIGHT: &str = r#"
[[sample]]
name = "the output"
workload = "w"
contender = "a"
connections = 100
run_s = 60
read_share = 0.778
seconds = "60.0"
count = "60024"
per_second = "1000.40"
reads = "840336"
writes = "240096"
others = "120048"
statements = "1200480"
statements_per_second = "20008.00"
min_ms = "20.1"
mean_ms = "99.96"
p95_ms = "150.2"
max_ms = "300.9"
sum_ms = "5999999"
events_per_thread = "600.2400"
seconds_per_thread = "60.0000"
kind = [
  { name = "order", share = 0.45, seconds = "60.0", count = "27011", per_minute = "27011.0", sum_ms = "2699999" , mean_ms = "99" },
  { name = "pay", share = 0.55, seconds = "60.0", count = "33013", per_minute = "33013.0", sum_ms = "3300000", mean_ms = "99" },
]
"#;

/// The checks of the sample that do not hold.
fn wrong(text: &str) -> Vec<String> {
    let found = try_audit(text).unwrap_or_else(|p| panic!("{p:#?}"));
    let of_it = found.checks.iter().filter(|c| c.text.contains("the output"));
    assert!(of_it.clone().count() >= 14, "{:#?}", of_it.map(|c| &c.text).collect::<Vec<_>>());
    of_it.filter(|c| c.holds != Holds::Yes).map(|c| c.text.clone()).collect()
}

#[test]
fn a_right_sample_is_silent() {
    assert_eq!(wrong(RIGHT), Vec::<String>::new());
}

#[test]
fn each_planted_fault_of_a_sample_is_found() {
    for (right, planted, expected) in [
        ("per_second = \"1000.40\"", "per_second = \"1010.40\"", &["per second follows", "is of a run in the table"][..]),
        (
            "per_minute = \"27011.0\"",
            "per_minute = \"28011.0\"",
            &["per minute follows from count and seconds: the output, order"],
        ),
        (
            "statements_per_second = \"20008.00\"",
            "statements_per_second = \"30008.00\"",
            &["statements per second", "in the table"],
        ),
        ("mean_ms = \"99.96\"", "mean_ms = \"97.96\"", &["the mean is the sum", "in the table"]),
        ("p95_ms = \"150.2\"", "p95_ms = \"350.2\"", &["latencies are in order"]),
        ("events_per_thread = \"600.2400\"", "events_per_thread = \"610.2400\"", &["events per thread follows"]),
        ("seconds_per_thread = \"60.0000\"", "seconds_per_thread = \"61.0000\"", &["seconds per thread follows"]),
        ("min_ms = \"20.1\"", "min_ms = \"120.1\"", &["latencies are in order"]),
        ("run_s = 60", "run_s = 600", &["the run has the declared length"]),
        ("statements = \"1200480\"\nstatements_per", "statements = \"1200481\"\nstatements_per", &["statements add up"]),
        ("read_share = 0.778", "read_share = 0.75", &["the share of reads"]),
        (
            "reads = \"840336\"\nwrites = \"240096\"",
            "reads = \"846336\"\nwrites = \"234096\"",
            &["reads, writes and others of a transaction are 14, 4, 2"],
        ),
        (
            "count = \"27011\", per_minute = \"27011.0\"",
            "count = \"28511\", per_minute = \"28511.0\"",
            &["the mean is", "the share of order", "the share of pay"],
        ),
        ("sum_ms = \"3300000\", mean_ms = \"99\"", "sum_ms = \"3900000\", mean_ms = \"118\"", &["Little's law"]),
        (
            "connections = 100",
            "connections = 200",
            &["Little's law", "is of a run in the table", "events per thread", "seconds per thread"],
        ),
    ] {
        assert!(RIGHT.contains(right), "{right}");
        let found = wrong(&RIGHT.replacen(right, planted, 1));
        let all = expected.iter().all(|words| found.iter().any(|text| text.contains(words)));
        assert!(all && found.len() == expected.len(), "{planted}: {found:#?}");
    }
}

#[test]
fn a_sample_of_a_shorter_run_is_a_sentence() {
    let found = try_audit(&RIGHT.replace("run_s = 60", "run_s = 600")).unwrap();
    let remark = found.list.iter().find(|r| r.of[0].contains("declared length")).unwrap();
    assert_eq!(remark.sentence, "The output is of a run of 60.0 s; the article says that a run takes 600 s.");
    assert_eq!(remark.weight, Weight::Reproduction);
}

#[test]
fn a_sample_of_nothing_is_refused() {
    let unknown = try_audit(&RIGHT.replacen("workload = \"w\"", "workload = \"v\"", 1)).unwrap_err();
    assert!(unknown[0].1.contains("sample \"the output\": there is no workload `v`"), "{unknown:?}");
    let empty = format!("{HEAD}[[sample]]\nname = \"s\"\nworkload = \"w\"\n");
    let problems = Study::read("s.toml", &empty, &KINDS).unwrap_err();
    assert!(problems[0].message.contains("a sample output has no numbers"), "{problems:?}");
}

#[test]
fn a_table_may_round_what_an_output_shows() {
    let of = |tps: &str| {
        let head = HEAD.replace("tps = [1000.4, 2000.52]", tps).replace("qps = [20008, 40010]\nmean_ms = [99.96, 120]\n", "");
        let study = Study::read("s.toml", &format!("{head}{RIGHT}"), &KINDS).unwrap_or_else(|p| panic!("{p:#?}"));
        let found = audit(&Ground { study: &study, bills: &[], facts: &Nothing }).unwrap();
        found.checks.into_iter().find(|c| c.text.contains("of a run in the table")).unwrap().holds
    };
    assert_eq!(of("tps = [1000, 2001]"), Holds::Yes);
    assert_eq!(of("tps = [1001, 2001]"), Holds::No);
    assert_eq!(of("tps = [1000, 2000.52]"), Holds::No, "the column has decimals");
}

#[test]
fn shares_of_kinds_are_held_against_counts_only_where_all_are_there() {
    let found = try_audit(&RIGHT.replace("share = 0.55, ", "")).unwrap();
    assert!(found.checks.iter().all(|c| !c.text.starts_with("the share of order")), "{:#?}", found.checks);
    let none = RIGHT.replace("reads = \"840336\"\nwrites = \"240096\"", "reads = \"0\"\nwrites = \"0\"");
    let found = try_audit(&none).unwrap();
    assert!(found.checks.iter().all(|c| !c.text.starts_with("the share of reads")));
}
