//! The report of an open-loop study: its numbers are recomputed here from the records.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::LazyLock;

use perbuck_core::compare::{Comparison, compare};
use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::{Flag, HistogramRecord, RunRecord};
use perbuck_core::study::Study;
use perbuck_core::units::duration_text;
use perbuck_report::document::{Block, Panels, ReportModel, Scale, Table};
use perbuck_report::text::Screen;
use perbuck_report::{html, markdown, model, text};

use crate::common::{golden, open, without_data};

pub(crate) struct Made {
    pub(crate) study: Study,
    pub(crate) records: Vec<RunRecord>,
    pub(crate) comparison: Comparison,
    pub(crate) report: ReportModel,
}

pub(crate) fn made(study: Study, records: Vec<RunRecord>) -> Made {
    let comparison = compare(&study, &records, &[], &[]).unwrap();
    let report = model(&study, &comparison, &records);
    Made { study, records, comparison, report }
}

/// Simulated once for all tests.
static OPEN_LOOP: LazyLock<Made> = LazyLock::new(|| {
    let study = open::study();
    let records = open::records(&study);
    made(study, records)
});

/// All tables of a report, those inside folded blocks and figures included.
pub(crate) fn tables(report: &ReportModel) -> Vec<&Table> {
    fn of<'a>(blocks: &'a [Block], out: &mut Vec<&'a Table>) {
        for block in blocks {
            match block {
                Block::Table(t) | Block::Data(t) => out.push(t),
                Block::Figure(f) => out.push(&f.table),
                Block::Folded(_, inner) => of(inner, out),
                _ => {}
            }
        }
    }
    let mut out = Vec::new();
    report.sections.iter().for_each(|s| of(&s.blocks, &mut out));
    out
}

/// The cell of the row that begins with these texts.
pub(crate) fn cell(report: &ReportModel, caption: &str, row: &[&str], column: &str) -> String {
    let table = tables(report).into_iter().find(|t| t.caption == caption).unwrap_or_else(|| panic!("no table {caption}"));
    let index = table.columns.iter().position(|c| c.head == column).unwrap_or_else(|| panic!("{:?}", table.columns));
    let begins = |r: &&perbuck_report::document::Row| r.cells.iter().zip(row).all(|(c, t)| c.text == *t);
    table.rows.iter().find(begins).unwrap_or_else(|| panic!("{caption}: no row {row:?}")).cells[index].text.clone()
}

pub(crate) fn merged<'a>(all: impl Iterator<Item = &'a HistogramRecord>) -> Histogram {
    let mut sum = Histogram::new();
    all.for_each(|h| sum.merge(&h.to_histogram().unwrap()));
    sum
}

#[test]
fn the_renderings_of_an_open_loop_are_the_golden_ones() {
    let Made { report, study, comparison, .. } = &*OPEN_LOOP;
    golden("open_loop.html", &without_data(&html::render(report), report));
    golden("open_loop.md", &without_data(&markdown::render(report), report));
    golden("open_loop.txt", &text::render(report, Screen::default()));
    let verdicts = text::verdicts(study, comparison, Screen::default());
    assert!(verdicts.contains("mean over 200 and") && verdicts.contains("900 transactions/s"), "{verdicts}");
    assert!(verdicts.contains("a target that keeps the rate completes what is offered"), "{verdicts}");
    for line in text::render(report, Screen::default()).lines().chain(verdicts.lines()) {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn what_was_offered_and_completed_comes_from_the_counters() {
    let Made { records, report, .. } = &*OPEN_LOOP;
    let caption = "points: what was offered and what was completed";
    for (contender, label) in [("arm", "Arm (Graviton2)"), ("x86", "x86 (Xeon)")] {
        for rate in [200, 500, 900] {
            let trials = || records.iter().filter(|r| r.key.contender == contender && r.key.level() == rate);
            let offered: u64 = trials().map(|r| r.measured.open_loop.as_ref().unwrap().offered).sum();
            let completed: u64 = trials().map(|r| r.measured.transactions["point_select"].committed).sum();
            let at_close = trials().map(|r| r.measured.open_loop.as_ref().unwrap().backlog_at_close).max().unwrap();
            let get = |column| cell(report, caption, &[&rate.to_string(), label], column);
            assert_eq!(get("Due per second"), format!("{:.1}", offered as f64 / 90.0));
            assert_eq!(get("Completed per second"), format!("{:.1}", completed as f64 / 90.0));
            assert_eq!(get("Completed ÷ due"), format!("{:.1} %", completed as f64 / offered as f64 * 100.0));
            assert_eq!(get("Waiting at the end, at most").replace(',', ""), at_close.to_string());
            let kept = !trials().any(|r| r.flags.iter().any(|f| matches!(f, Flag::Overloaded { .. })));
            assert_eq!(get("Rate kept"), if kept { "yes" } else { "no" });
            assert_eq!(kept, (contender, rate) != ("x86", 900));
        }
    }
}

#[test]
fn percentiles_count_the_unfinished_and_say_where_they_are_lower_bounds() {
    let Made { records, report, comparison, .. } = &*OPEN_LOOP;
    for (contender, label) in [("arm", "Arm (Graviton2)"), ("x86", "x86 (Xeon)")] {
        for rate in [200, 900] {
            let trials = || records.iter().filter(|r| r.key.contender == contender && r.key.level() == rate);
            let kinds: Vec<_> = trials().map(|r| &r.measured.transactions["point_select"]).collect();
            let unfinished = trials().map(|r| &r.measured.open_loop.as_ref().unwrap().unfinished);
            let all = merged(kinds.iter().map(|t| &t.response).chain(unfinished));
            let p99 = duration_text(all.percentile_ns(99.0).unwrap());
            let bound = if (contender, rate) == ("x86", 900) { "≥ " } else { "" };
            let row = [rate.to_string(), label.to_owned()];
            let row = [row[0].as_str(), row[1].as_str()];
            let caption = "points: throughput, and response time (from the intended start) of all trials together";
            assert_eq!(cell(report, caption, &row, "p99"), format!("{bound}{p99}"));
            let cells = &comparison.workloads[0].points;
            let found = cells.iter().find(|c| c.contender == contender && c.level == rate).unwrap();
            assert_eq!(duration_text(found.latency.p99_ns), p99);
            let caption = "points: latency objective, failed transactions and retries of all trials together";
            let objective = cell(report, caption, &row, "99th percentile at most 100.0 ms");
            assert_eq!(objective, if bound.is_empty() { format!("yes, {p99}") } else { format!("no, ≥ {p99}") });
            let caption = "points: wait and service time of the transactions that completed";
            let wait = merged(kinds.iter().map(|t| &t.wait)).percentile_ns(95.0).unwrap();
            let service = merged(kinds.iter().map(|t| &t.service)).percentile_ns(50.0).unwrap();
            assert_eq!(cell(report, caption, &row, "Wait p95"), duration_text(wait));
            assert_eq!(cell(report, caption, &row, "Service time p50"), duration_text(service));
        }
    }
}

#[test]
fn an_overload_is_said_before_the_numbers_and_beside_them() {
    let Made { records, report, .. } = &*OPEN_LOOP;
    let over: Vec<&RunRecord> = records.iter().filter(|r| !r.flags.is_empty()).collect();
    assert_eq!(over.len(), 3);
    assert!(report.brief.caveats.iter().any(|w| w.contains("he target could not keep the rate")), "{:?}", report.brief.caveats);
    let completed: u64 = over.iter().map(|r| r.measured.transactions["point_select"].committed).sum();
    let offered: u64 = over.iter().map(|r| r.measured.open_loop.as_ref().unwrap().offered).sum();
    let unfinished = over.iter().map(|r| r.measured.open_loop.as_ref().unwrap().unfinished.count).max().unwrap();
    let sentence = format!(
        "points: x86 (Xeon) could not keep 900 transactions/s offered in 3 of 3 trials: it completed {:.1} per second ({:.1} % of what was \
         due), and up to {},{:03} transactions had not ended at the end of a trial.",
        completed as f64 / 90.0,
        completed as f64 / offered as f64 * 100.0,
        unfinished / 1000,
        unfinished % 1000
    );
    let said = |b: &Block| matches!(b, Block::List(items) if items.contains(&sentence));
    assert!(report.sections.iter().flat_map(|s| &s.blocks).any(said), "{sentence}");
    // Not overloaded, but flagged: the remark is shown, too.
    let study = open::study();
    let mut calm: Vec<RunRecord> = records.iter().filter(|r| r.key.level() != 900).cloned().collect();
    calm[0].flags = vec![Flag::Unsettled { why: "it drifted".into() }, Flag::LittlesLaw { busy: 1.0, connections: 2 }];
    let report = made(study, calm).report;
    for text in ["he throughput had not settled", "Little's law fails"] {
        assert!(report.brief.caveats.iter().any(|w| w.contains(text)), "{:?}", report.brief);
    }
    assert!(!markdown::render(&report).contains('≥'));
}

#[test]
fn the_figures_show_response_times_and_the_backlog_of_the_worst_trial() {
    let Made { records, report, .. } = &*OPEN_LOOP;
    let figures: Vec<_> = report
        .sections
        .iter()
        .flat_map(|s| &s.blocks)
        .filter_map(|b| if let Block::Figure(f) = b { Some(f) } else { None })
        .collect();
    assert_eq!(figures.iter().map(|f| f.number).collect::<Vec<_>>(), (1..=figures.len()).collect::<Vec<_>>());
    let by_id = |id: &str| *figures.iter().find(|f| f.id == id).unwrap();
    let Panels::Times(backlog) = &by_id("backlog").panels else { panic!("{figures:?}") };
    assert_eq!((backlog.len(), backlog[0].lines.len()), (1, 1));
    let line = &backlog[0].lines[0];
    let at_close = |r: &RunRecord| r.measured.open_loop.as_ref().unwrap().backlog_at_close;
    let worst = records.iter().max_by_key(|r| at_close(r)).unwrap();
    assert_eq!((line.trial.clone(), line.name.as_str()), (format!("trial {}", worst.key.trial), "x86 (Xeon)"));
    assert_eq!(line.points.len(), 31);
    assert_eq!(line.points[30], (30.0, at_close(worst) as f64));
    let fifth = worst.intervals.iter().find(|i| i.start_ms == 4_000).unwrap();
    assert_eq!(line.points[5], (5.0, fifth.backlog as f64));
    let Panels::Lines(response) = &by_id("response").panels else { panic!("{figures:?}") };
    assert_eq!((response[0].scale, response[0].levels.as_slice()), (Scale::LogTime, [200, 500, 900].as_slice()));
    let x86 = &response[0].series[1];
    assert_eq!(x86.points.iter().map(|p| p.at_least).collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(x86.points[2].values.len(), 3);
    // What could not keep the rate is a lower bound in every number.
    let Panels::Xy(stick) = &by_id("latency-throughput").panels else { panic!("{figures:?}") };
    assert_eq!(stick[0].series[1].points.iter().map(|p| p.label.as_str()).collect::<Vec<_>>()[2], "≥");
    assert!(by_id("distribution").caption.contains("lower bounds"), "{}", by_id("distribution").caption);
}

#[test]
fn the_health_of_the_client_is_that_of_the_records() {
    let Made { records, report, .. } = &*OPEN_LOOP;
    let trials = || records.iter().filter(|r| r.key.contender == "arm" && r.key.level() == 900);
    let get = |column| cell(report, "Client health by point", &["points", "900", "Arm (Graviton2)"], column);
    let fullest = trials().flat_map(|r| &r.health.workers).map(|w| w.cpu_ns).max().unwrap();
    assert_eq!(get("Load thread, worst trial"), format!("{:.0} %", fullest as f64 / 30e9 * 100.0));
    let lag = merged(trials().map(|r| &r.health.lag));
    assert_eq!(get("Lag p99"), duration_text(lag.percentile_ns(99.0).unwrap()));
    assert_eq!(get("Lag at most"), duration_text(lag.max_ns()));
    assert_eq!(get("Lost connections"), "0");
    let head = |t: &&&Table| t.caption == "Client health by point";
    let all = tables(report);
    let table = all.iter().find(head).unwrap();
    assert!(!table.columns.iter().any(|c| c.head.contains("Little")), "an open loop has no such figure");
    // The terminal shows the summary only; older records show nothing.
    let terminal = text::render(report, Screen::default());
    assert!(terminal.contains("Over all trials the fullest load thread used") && !terminal.contains("Lag p99"));
    let mut old = records.clone();
    old.iter_mut().for_each(|r| r.health = perbuck_core::run_record::Health::default());
    let report = made(open::study(), old).report;
    assert!(report.sections.iter().all(|s| s.id != "health"));
}
