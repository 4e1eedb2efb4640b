//! Golden files, hostile names, and numbers that agree. `UPDATE_GOLDEN=1 cargo test -p perbuck-report` rewrites the
//! golden files; look at the difference before committing it.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;
mod open_loop;
mod phases;

use common::{golden, without_data};
use perbuck_core::compare::compare;
use perbuck_core::run_record::Flag;
use perbuck_core::study::Study;
use perbuck_core::units::MicroUsd;
use perbuck_report::text::Screen;
use perbuck_report::{ReportModel, html, markdown, model, text};

fn fixture() -> ReportModel {
    let study = common::study();
    let records = common::records(&study);
    model(&study, &common::comparison(&study, &records), &records)
}

#[test]
fn the_renderings_are_the_golden_ones() {
    let report = fixture();
    golden("report.html", &without_data(&html::render(&report), &report));
    golden("report.md", &without_data(&markdown::render(&report), &report));
    golden("report.txt", &text::render(&report, Screen::default()));
}

#[test]
fn the_diagram_is_the_golden_one() {
    let volumes = "volumes = [{ kind = \"gp2\", size_gb = 1000, snapshots = \"daily\" }, { kind = \"gp3\", size_gb = 50, count = 2, iops = 6000 }]";
    let stores =
        format!("{{ role = \"tikv\", instance = \"r6g.2xlarge\", count = 3, zones = 3, {volumes} }},\n  {{ role = \"client\"");
    let text = common::STUDY.replacen("{ role = \"client\"", &stores, 1);
    let study = Study::read("study.toml", &text, &common::KINDS).unwrap();
    golden("system.svg", &perbuck_report::diagram(&study).unwrap().svg);
}

#[test]
fn the_terminal_tables_are_the_golden_ones_and_fit() {
    let study = common::study();
    let comparison = common::comparison(&study, &common::records(&study));
    let bills = text::bills(&study, &comparison.bills, Screen::default());
    let verdicts = text::verdicts(&study, &comparison, Screen::default());
    golden("bills.txt", &bills);
    golden("verdicts.txt", &verdicts);
    for line in bills.lines().chain(verdicts.lines()) {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn the_same_input_gives_the_same_bytes_in_any_order_of_records() {
    let study = common::study();
    let mut records = common::records(&study);
    let comparison = common::comparison(&study, &records);
    let first = html::render(&model(&study, &comparison, &records));
    records.reverse();
    assert_eq!(html::render(&model(&study, &comparison, &records)), first);
}

#[test]
fn markdown_and_page_say_the_same_words() {
    let report = fixture();
    let (page, md) = (html::render(&report).replace('\u{a0}', " "), markdown::render(&report));
    let brief = &report.brief;
    for text in std::iter::once(&brief.answer.text).chain(&brief.remarks).chain(&brief.caveats) {
        assert!(page.contains(text) && md.contains(text), "{text}");
    }
    assert!(brief.parts.iter().all(|part| md.contains(&part.text)), "{md}");
    for section in &report.sections {
        assert!(page.contains(&section.title) && md.contains(&section.title));
    }
}

#[test]
fn the_numbers_are_those_of_the_comparison() {
    let study = common::study();
    let records = common::records(&study);
    let comparison = common::comparison(&study, &records);
    let report = model(&study, &comparison, &records);
    let page = html::render(&report).replace('\u{a0}', " ");
    // The embedded data are the whole comparison.
    let start = page.find("id=\"comparison\">").unwrap() + "id=\"comparison\">".len();
    let end = start + page[start..].find("</script>").unwrap();
    assert_eq!(page[start..end], serde_json::to_string(&comparison).unwrap());
    let embedded: perbuck_core::compare::Comparison = serde_json::from_str(&page[start..end]).unwrap();
    assert_eq!(embedded.workloads.len(), comparison.workloads.len());
    // What is printed is what is in it, rounded once.
    for w in &comparison.workloads {
        for c in &w.contenders {
            for p in &c.price {
                assert!(page.contains(&p.monthly.to_string()) && page.contains(&p.total.to_string()));
                assert!(page.contains(&format!("${:.2}", p.usd_per_unit.unwrap())));
                let Some(j) = &p.value_for_money else { continue };
                let i = j.ratio.interval.unwrap();
                let decimals = if i.high - i.low < 0.01 {
                    4
                } else if i.high - i.low < 0.1 {
                    3
                } else {
                    2
                };
                let printed = format!("{:.decimals$}×", j.ratio.value);
                assert!(page.contains(&printed), "{printed}");
                assert!(page.contains(&format!("{:.decimals$}–{:.decimals$}", i.low, i.high)), "{i:?}");
            }
        }
        for cell in w.points.iter().filter(|c| c.contender == "arm") {
            let base = w.points.iter().find(|c| c.contender == "x86" && c.level == cell.level).unwrap();
            let delta = (cell.mean.unwrap() - base.mean.unwrap()) / base.mean.unwrap() * 100.0;
            let sign = if delta < 0.0 { "−" } else { "+" };
            let either = [1, 2].map(|d| format!("{sign}{:.d$} %", delta.abs()));
            assert!(either.iter().any(|t| page.contains(t)), "{either:?}");
        }
    }
}

#[test]
fn a_page_asks_for_nothing_from_outside() {
    let page = html::render(&fixture());
    for forbidden in [" src=", "url(", "@import", "<link", "<iframe", "<img", "javascript:"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    // Two of data and one that runs.
    assert_eq!((page.matches("<script").count(), page.matches("<script>").count()), (3, 1));
    assert!(page.contains(&format!("script-src {}\"", html::script::source())));
    let mut ids: Vec<&str> = page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an id occurs twice");
}

const HOSTILE: &[&str] = &[
    "<script>alert(1)</script>",
    "\" onmouseover=\"alert(1)",
    "a|b`c`*d*\n# e\r\n- f",
    "\u{1b}[31mred\u{1b}[0m\u{7}\u{8}\u{9b}2J",
    "\u{202e}evil\u{2066}\u{200f}",
    "</title><b>--></script><!--",
    "$(x) `id` &amp; &#60; \\",
    "データベース 🦀",
];

#[test]
fn stalls_and_disputed_prices_stand_beside_what_they_concern() {
    let study = common::study();
    let mut records = common::records(&study);
    let stalls = |r: &&mut perbuck_core::run_record::RunRecord| {
        (r.key.contender.as_str(), r.key.workload.as_str(), r.key.connections, r.key.trial) == ("arm", "points", 800, 2)
    };
    records.iter_mut().filter(stalls).for_each(|r| r.flags.push(Flag::Gap { total_ms: 60_000 }));
    let mut bills = common::bills();
    let arm = bills.iter_mut().find(|b| b.contender == "arm" && b.region == "us-west-2").unwrap();
    arm.lines[0].disputed = Some(MicroUsd(arm.lines[0].unit_price.0 * 2));
    let comparison = compare(&study, &records, &bills, &["client-limited".to_owned()]).unwrap();
    let told = text::verdicts(&study, &comparison, Screen::default()).split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "Arm (Graviton2) stalled on points in 1 of 15 trials (800 connections, trial 2): 0.17 % to 32 % of its trials may stall.",
        "14 trials without a stall cannot exclude that up to 19 % of trials stall (95 %).",
        "Arm (Graviton2) stalled on points in 1 of 15 trials: its intervals there do not hold.",
        "Lists disagree on prices in us-west-2: verdicts on work per dollar depend on which price is right.",
        "Arm (Graviton2) on small: ",
        "the verdict depends on which price is right",
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    let bills = text::bills(&study, &comparison.bills, Screen::default());
    assert!(bills.contains("disputed"), "{bills}");
    let page = markdown::render(&model(&study, &comparison, &records));
    assert!(page.contains("(1 of 3 stalled)") && page.contains("(a trial stalled)"));
}

#[test]
fn hostile_names_stay_names() {
    let giant = "x".repeat(10_000);
    let records = common::records(&common::study());
    let comparison = common::comparison(&common::study(), &records);
    for name in HOSTILE.iter().copied().chain([giant.as_str()]) {
        let mut study = common::study();
        study.question = name.to_owned();
        study.price.note = name.to_owned();
        study.contenders.iter_mut().for_each(|c| c.label = name.to_owned());
        study.contenders[0].nodes[0].instance = name.to_owned();
        let mut records = records.clone();
        for r in &mut records {
            r.target.version = name.to_owned();
            r.target.variables.insert(name.to_owned(), name.to_owned());
            r.host.cpu_model = name.to_owned();
            let facts = r.host.facts.as_mut().unwrap();
            facts.cpu.core = Some(name.to_owned());
            facts.kernel.vulnerabilities.insert(name.to_owned(), name.to_owned());
            r.workload.rows_after.insert(name.to_owned(), 1);
            r.errors.values_mut().for_each(|e| e.example = name.to_owned());
        }
        let mut comparison = comparison.clone();
        comparison.question = name.to_owned();
        comparison.bills[0].lines[0].sku = name.to_owned();
        comparison.bills[0].lines[0].source = name.to_owned();
        comparison.remarks[0].text = name.to_owned();
        check_hostile(&study, &model(&study, &comparison, &records), name);
        let terminal =
            text::bills(&study, &comparison.bills, Screen::default()) + &text::verdicts(&study, &comparison, Screen::default());
        assert!(terminal.chars().all(|c| !c.is_control() || c == '\n'), "{name}");
    }
}

fn check_hostile(study: &Study, report: &ReportModel, name: &str) {
    let page = html::render(report);
    assert_eq!(page.matches("<script").count(), 3, "{name}");
    assert_eq!(page.matches("</script>").count(), 3, "{name}");
    assert!(!page.contains("<b>") && !page.contains(" onmouseover=\""), "{name}");
    assert_eq!(page.matches("<!--").count(), 0, "{name}");
    let md = markdown::render(report);
    // Every row of a table has as many bars as its head.
    let bars = |l: &str| l.replace("\\\\", "").replace("\\|", "").matches('|').count();
    let lines: Vec<&str> = md.lines().filter(|l| l.starts_with("| ")).collect();
    assert!(lines.windows(2).all(|w| bars(w[0]) >= 3 && bars(w[1]) >= 3), "{name}");
    let plain = text::render(report, Screen::default());
    for (rendering, made) in [("page", &page), ("markdown", &md), ("text", &plain)] {
        let bad = |c: char| {
            (c.is_control() && c != '\n') || matches!(c, '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert!(!made.contains(bad), "{rendering}: {name}");
        assert!(made.lines().all(|l| l.len() < 200_000), "{rendering}");
    }
    assert!(plain.lines().all(|l| l.chars().count() <= 130), "{name}: {}", study.name);
    assert!(!md.contains("\n# e"), "{name}");
}

#[test]
fn a_study_without_trials_or_prices_still_reports() {
    let study = common::study();
    let priced = compare(&study, &[], &common::bills(), &[]).unwrap();
    let report = model(&study, &priced, &[]);
    assert!(report.brief.caveats[0].contains("prices only"), "{:?}", report.brief);
    assert!(html::render(&report).contains("figure-cost"));
    let bare = compare(&study, &[], &[], &[]).unwrap();
    let report = model(&study, &bare, &[]);
    for made in [html::render(&report), markdown::render(&report), text::render(&report, Screen::default())] {
        assert!(made.contains("nothing is priced"));
        assert!(!made.contains("NaN") && !made.contains("inf"));
    }
    assert!(serde_json::to_string(&report).is_ok());
}

#[test]
fn one_trial_one_contender_and_many_points_do_not_break_figures() {
    let text = common::STUDY
        .replace("trials = 3", "trials = 1")
        .replace("[150, 300, 500, 800, 1000]", "[1, 2, 4, 8, 16, 300, 500, 800, 4096]");
    let study = Study::read("s.toml", &text, &common::KINDS).unwrap();
    let records: Vec<_> = study.plan().iter().zip(0..).map(|(k, i)| common::record(&study, k, i)).collect();
    let comparison = common::comparison(&study, &records);
    let page = html::render(&model(&study, &comparison, &records));
    assert!(page.contains("a single trial has no interval"));
    assert!(page.contains("equal steps"));
    assert!(!page.contains("NaN") && !page.contains("inf\""));
    let only: Vec<_> = records.into_iter().filter(|r| r.key.contender == "x86").collect();
    let comparison = common::comparison(&study, &only);
    let page = html::render(&model(&study, &comparison, &only));
    assert!(page.contains("cannot be compared"));
}
