//! Reports of studies in phases.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::{HistogramRecord, PhaseRecord, RunRecord, TransactionRecord};
use perbuck_core::study::Study;
use perbuck_core::units::duration_text;
use perbuck_report::document::{Block, Panels};
use perbuck_report::text::Screen;
use perbuck_report::{html, markdown, text};

use crate::common::{self, KINDS, golden, open};
use crate::open_loop::{Made, cell, made, merged};

#[test]
fn phases_of_an_open_loop_show_the_ramp_and_what_it_leaves() {
    let study = open::phased();
    let records = open::records(&study);
    let Made { records, report, .. } = made(study, records);
    golden("phased.txt", &text::render(&report, Screen::default()));
    golden("phased.html", &common::without_data(&html::render(&report), &report));
    for (contender, label) in [("arm", "Arm (Graviton2)"), ("x86", "x86 (Xeon)")] {
        let caption = format!("points, {label}: throughput and response time (from the intended start) by phase");
        let rows = [("1: 200/s", 0, 10.0), ("2: 200/s to 1200/s", 1, 20.0), ("3: 100/s", 2, 10.0)];
        for (row, i, seconds) in rows {
            let phases: Vec<&PhaseRecord> =
                records.iter().filter(|r| r.key.contender == contender).map(|r| &r.measured.phases[i]).collect();
            let completed: u64 = phases.iter().map(|p| p.transactions["point_select"].committed).sum();
            let rate = format!("{:.1}", completed as f64 / (3.0 * seconds));
            assert_eq!(cell(&report, &caption, &[row], "Completed per second"), rate);
            let p95 = merged(phases.iter().map(|p| &p.transactions["point_select"].response)).percentile_ns(95.0).unwrap();
            assert_eq!(cell(&report, &caption, &[row], "p95"), duration_text(p95));
            assert_eq!(cell(&report, &caption, &[row], "Time"), duration_text((seconds * 1e9) as u64));
        }
    }
    // The ramp leaves a backlog that is drawn although it has drained by the end of the window.
    let figures =
        || report.sections.iter().flat_map(|s| &s.blocks).filter_map(|b| if let Block::Figure(f) = b { Some(f) } else { None });
    let backlog = figures().find(|f| f.title == "Transactions that were due and waited").unwrap();
    assert!(backlog.table.rows.iter().any(|r| r.cells[2].text == "x86 (Xeon)"));
    let over_time = figures().find(|f| f.title.starts_with("Throughput over time")).unwrap();
    let Panels::Times(panels) = &over_time.panels else { panic!("{over_time:?}") };
    let second = records.iter().find(|r| r.key.contender == "arm" && r.key.trial == 1).unwrap();
    let second = second.intervals.iter().find(|i| i.start_ms == 20_000).unwrap();
    assert_eq!(panels[0].lines[0].points[20], (20.5, second.transactions as f64));
    assert_eq!(figures().map(|f| f.number).collect::<Vec<_>>(), (1..=figures().count()).collect::<Vec<_>>());
    assert!(figures().all(|f| !f.title.starts_with("Response time")), "no rate varies from point to point");
    assert!(!markdown::render(&report).contains("NaN") && !html::render(&report).contains("NaN"));
}

/// A closed loop in two phases: 100 transactions of 1 ms in 10 s, then 400 of 5 ms in 20 s, in each trial.
fn closed() -> (Study, Vec<RunRecord>) {
    let phases = r#"phases = [{ time = "10s", connections = 1 }, { time = "20s", connections = 64 }]"#;
    let text = open::STUDY.replace("rate = [200, 500, 900]", phases).replace("connections = [16]\n", "");
    let text = text.replace("duration = \"30s\"\n", "").replace("over = [200, 900]", "over = \"peak\"");
    let study = Study::read("study.toml", &text, &KINDS).unwrap();
    let kind = |count: u64, ns: u64| {
        let mut h = Histogram::new();
        (0..count).for_each(|_| h.record(ns));
        let service = HistogramRecord::from_histogram(&h);
        TransactionRecord { committed: count, failed: count / 100, service, ..TransactionRecord::default() }
    };
    let of = |(key, position)| {
        let mut r = common::record(&study, key, position);
        let phases = study.sweep.phases.iter().zip([kind(100, 1_000_000), kind(400, 5_000_000)]);
        let record = |(phase, t): (&perbuck_core::load_model::Phase, TransactionRecord)| PhaseRecord {
            phase: *phase,
            transactions: BTreeMap::from([("point_select".to_owned(), t)]),
        };
        r.measured.phases = phases.map(record).collect();
        r.load.phases.clone_from(&study.sweep.phases);
        r
    };
    let records = study.plan().iter().zip(0..).map(of).collect();
    (study, records)
}

#[test]
fn phases_of_a_closed_loop_have_known_figures() {
    let (study, records) = closed();
    let Made { report, .. } = made(study, records);
    let caption = "points, x86 (Xeon): throughput and service time by phase";
    let get = |row, column| cell(&report, caption, &[row], column);
    assert_eq!(get("1: 1 connection", "Completed per second"), "10.00");
    assert_eq!(get("2: 64 connections", "Completed per second"), "20.00");
    assert_eq!((get("1: 1 connection", "p99"), get("2: 64 connections", "p50")), ("1.00 ms".into(), "5.00 ms".into()));
    assert_eq!((get("1: 1 connection", "Failed"), get("2: 64 connections", "Failed")), ("3".into(), "12".into()));
    let words = markdown::render(&report);
    assert!(words.contains("closed loop in 2 phases: 10 s at 1 connection and 20 s at 64 connections"));
    assert!(words.contains("The load is a closed loop"));
}
