//! The demo: one command from nothing to a report whose every number comes from the records beside it.

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::common::{Desk, Ended, ended, nothing_half_written};
use perbuck_core::run_record::{RunRecord, TransactionRecord};
use serde_json::Value;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Whether two numbers are the same but for the order in which they were added.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// The metric from the raw counters of a record, not by the function that the comparison uses.
fn counted(record: &RunRecord, metric: &Value) -> f64 {
    let seconds = record.measured.window_ns as f64 / 1e9;
    let of = |kind: &str| record.measured.transactions.get(kind).map_or(0, |t| t.committed + t.rolled_back) as f64;
    match metric.as_str() {
        Some("tpmc") => of("new_order") / (seconds / 60.0),
        Some("tps") => record.measured.transactions.keys().map(|kind| of(kind)).sum::<f64>() / seconds,
        _ => panic!("the demo has no metric {metric}"),
    }
}

/// Every throughput of a comparison against the records; returns how many were looked at.
fn values_are_those_of_the_records(comparison: &Value, records: &[RunRecord]) -> usize {
    let mut looked_at = 0;
    for workload in comparison["workloads"].as_array().unwrap() {
        let metric = &workload["metric"];
        let mut peaks = std::collections::BTreeMap::new();
        for point in workload["points"].as_array().unwrap() {
            let here = |r: &&RunRecord| {
                (r.key.workload == workload["workload"] && r.key.contender == point["contender"])
                    && r.key.connections == point["level"]
            };
            let values: Vec<f64> = records.iter().filter(here).map(|r| counted(r, metric)).collect();
            let said: Vec<f64> = point["values"].as_array().unwrap().iter().map(number).collect();
            assert!(said.len() == values.len() && said.iter().zip(&values).all(|(a, b)| same(*a, *b)), "{point}: {values:?}");
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            assert!(mean > 0.0 && same(number(&point["mean"]), mean), "{point}: {mean}");
            let peak = peaks.entry(point["contender"].as_str().unwrap()).or_insert(0.0_f64);
            *peak = peak.max(mean);
            looked_at += 1 + values.len();
        }
        for contender in workload["contenders"].as_array().unwrap() {
            let peak = peaks[contender["contender"].as_str().unwrap()];
            assert!(same(number(&contender["value"]), peak), "{contender}: {peak}");
            for price in contender["price"].as_array().unwrap() {
                let (each, per_dollar) = (number(&price["usd_per_unit"]), number(&price["units_per_usd"]));
                assert!(same(each * per_dollar, 1.0) && same(each * peak, number(&price["total"]) / 1e6), "{price}");
            }
            looked_at += 1;
        }
    }
    looked_at
}

/// Whatever a page could fetch from elsewhere when it is opened.
fn outside_resources(html: &str) -> Vec<&str> {
    let hosts = ["http:", "https:", "//"];
    let mut found = Vec::new();
    for opener in ["src=\"", "href=\"", "src='", "href='", "srcset=\"", "data=\"", "action=\"", "url(", "url(\"", "url('"] {
        let values = html.match_indices(opener).map(|(at, _)| &html[at + opener.len()..]);
        found
            .extend(values.filter(|v| hosts.iter().any(|h| v.starts_with(h))).map(|v| v.split(['"', '\'', ')']).next().unwrap()));
    }
    found.extend(["<script src", "<link", "<iframe", "@import", "fetch("].into_iter().filter(|word| html.contains(word)));
    found
}

fn the_report_is_whole(desk: &Desk, demo: &Ended) {
    let html = desk.read("demo/demo/report.html");
    assert!(demo.out.contains("Report: ") && demo.out.contains("demo/demo/report.html"), "{demo:#?}");
    assert!(html.starts_with("<!DOCTYPE html>") && html.trim_end().ends_with("</html>") && html.contains("<svg"));
    assert_eq!(outside_resources(&html), Vec::<&str>::new());
    let markdown = desk.read("demo/demo/report.md");
    desk.good(&["report", "demo/demo"]);
    assert_eq!(
        (html, markdown),
        (desk.read("demo/demo/report.html"), desk.read("demo/demo/report.md")),
        "rebuilt from files alone"
    );
}

/// Runs the demo, and counts the bytes that the kernel holds it responsible for, until shortly before its end.
fn demo_with_its_bytes(desk: &Desk) -> (Ended, u64) {
    let mut command = desk.command(&["demo", "--out", "demo"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let io = format!("/proc/{}/io", child.id());
    let count = thread::spawn(move || {
        let mut written = 0;
        while let Ok(text) = std::fs::read_to_string(&io) {
            let Some(now) = text.lines().find_map(|l| l.strip_prefix("write_bytes: ")?.parse().ok()) else { break };
            written = written.max(now);
            thread::sleep(Duration::from_millis(20));
        }
        written
    });
    let demo = ended(child.wait_with_output().unwrap());
    assert_eq!(demo.code, Some(0), "{demo:#?}");
    (demo, count.join().unwrap())
}

#[test]
fn the_demo_measures_prices_compares_and_reports() {
    let desk = Desk::new();
    let (demo, written) = demo_with_its_bytes(&desk);
    assert!(written > 100_000_000 && written < 1_000_000_000, "{written} bytes were written");
    for part in ["Verdict", "Throughput", "baseline", "sysbench", "tpcc", "full", "relaxed", "tpmC", "TPS"] {
        assert!(demo.out.contains(part), "`{part}` is missing in {demo:#?}");
    }
    for contender in ["full", "relaxed"] {
        let held = format!("{contender}, tpcc: 12 of 12 conditions hold\n");
        assert_eq!(demo.err.matches(&held).count(), 1, "{held}: {demo:#?}");
    }
    // All but the one of each contender that is stated for fresh data.
    assert!(demo.err.contains("after the last trial 26 of 28 conditions hold, 2 do not apply\n"), "{demo:#?}");
    assert!(!demo.err.contains(" 3.3.2."), "what holds is counted: {demo:#?}");
    // Both contenders cost the same, so no table says in dollars what another says in transactions.
    assert_eq!(demo.out.matches("! notional: ").count(), 1, "{demo:#?}");
    assert!(demo.out.contains("Price cancels out there") && !demo.out.contains("Price-performance in"), "{demo:#?}");
    let records = desk.records("demo");
    assert_eq!(records.len(), 40);
    let completed = |r: &RunRecord| r.measured.transactions.values().map(TransactionRecord::completed).sum::<u64>();
    assert!(records.iter().all(|r| (1..=160).contains(&completed(r))));
    nothing_half_written(&desk.path("demo"));
    assert!(!desk.path("demo/databases").exists(), "the databases went");
    let comparison: Value = serde_json::from_str(&desk.good(&["compare", "--json", "demo/demo"]).out).unwrap();
    assert_eq!(values_are_those_of_the_records(&comparison, &records), 2 * (2 * 11 + 2));
    the_report_is_whole(&desk, &demo);

    let rerun = desk.perbuck(&["demo", "--out", "demo"]);
    assert_eq!(rerun.code, Some(4), "{rerun:#?}");
    assert!(rerun.err.contains("demo exists already") && rerun.err.contains("help: name a folder"), "{rerun:#?}");
    assert_eq!(desk.records("demo"), records, "what was there is untouched");
}

#[test]
fn what_a_page_would_fetch_is_seen() {
    let page =
        "<img src=\"https://a/b.png\"><a href='//c/d'>x</a><style>@import \"e\"; p { background: url(http://f/g) }</style>";
    assert_eq!(outside_resources(page), ["https://a/b.png", "//c/d", "http://f/g", "@import"]);
    let quiet = "<svg xmlns=\"http://www.w3.org/2000/svg\"><a href=\"#bill\">x</a><img src=\"data:image/png;base64,AA\"></svg>";
    assert_eq!(outside_resources(quiet), Vec::<&str>::new());
}

#[test]
fn a_first_study_from_a_template_to_its_verdict_by_flags_alone() {
    let desk = Desk::new();
    let two = ["--target", "sqlite:a.db", "--target", "sqlite:b.db?synchronous=OFF"];
    // Without a terminal nothing is asked: a missing target is named, and nothing is written.
    let asked = desk.perbuck(&["init", "first.toml"]);
    assert_eq!(asked.code, Some(2), "{asked:#?}");
    assert!(asked.err.contains("takes 2 targets, and 0 are given") && asked.err.contains("--target"), "{asked:#?}");
    let wrong = desk.perbuck(&[&["init", "first.toml", "--template", "sizng"][..], &two].concat());
    assert!(wrong.code == Some(2) && wrong.err.contains("did you mean `sizing`?"), "{wrong:#?}");
    assert!(!desk.path("first.toml").exists());

    let made = desk.good(&[&["init", "first.toml", "--instance", "m7i.48xlarge"][..], &two].concat());
    assert!(made.out.starts_with("first.toml: written from the template two-versions\n"), "{made:#?}");
    assert!(
        made.out.contains("notional, because")
            && made.out.contains("every target answers")
            && made.out.ends_with("next: perbuck run first.toml\n"),
        "{made:#?}"
    );
    let study = desk.read("first.toml");
    assert!(study.contains("# ") && study.contains("name = \"first\"") && study.contains("notional = true"), "{study}");
    let away = desk.perbuck(&["init", "away.toml", "--template", "two-settings", "--target", "mysql://me@127.0.0.1:1/x"]);
    assert!(away.code != Some(0) && away.err.contains("perbuck check away.toml --connect"), "{away:#?}");
    assert!(desk.path("away.toml").exists(), "what was typed is not lost");
    let kept = desk.perbuck(&[&["init", "first.toml"][..], &two].concat());
    assert!(kept.code == Some(4) && kept.err.contains("first.toml exists already"), "{kept:#?}");
    assert_eq!(desk.read("first.toml"), study);
    desk.good(&["check", "first.toml"]);

    assert!(desk.perbuck(&["list"]).code == Some(5), "there is no folder yet");
    desk.write("first.toml", &study.replace("\"6s\"", "\"200ms\"").replace("\"2s\"", "\"100ms\"").replace("25_000", "500"));
    desk.good(&["run", "first.toml"]);
    let list = desk.good(&["list"]).out;
    assert!(list.starts_with("results/first: 20 of 20 trials\n  ") && list.lines().count() == 2, "{list}");
}

#[test]
fn the_reference_is_there_offline() {
    let desk = Desk::new();
    let all = desk.good(&["help"]).out;
    assert!(all.contains("\n  run ") && all.contains("perbuck help TOPIC: study, contenders"), "{all}");
    assert!(desk.good(&["help", "study"]).out.starts_with("# "), "a page");
    assert!(desk.good(&["help", "prices"]).out.contains("perbuck prices"), "a command");
    let wrong = desk.perbuck(&["help", "glosary"]);
    assert!(wrong.code == Some(2) && wrong.err.contains("did you mean `glossary`?"), "{wrong:#?}");
    for (shell, part) in [("bash", "complete -F"), ("zsh", "#compdef perbuck"), ("fish", "complete -c perbuck")] {
        assert!(desk.good(&["completions", shell]).out.contains(part), "{shell}");
    }
    desk.good(&["man", "pages"]);
    let page = desk.read("pages/perbuck-init.1");
    assert!(page.contains(".TH") && page.contains("template"), "{page}");
}
