//! What a study costs: told before it runs, counted while it runs, and computed again from its files.

use std::process::Stdio;

use crate::common::{Desk, edited, signal, wait_until};
use perbuck_core::compare::{Comparison, DataLoad, Spent, Stretch, Work};
use perbuck_core::units::MicroUsd;

const USED: &str = "results/small/used.jsonl";

/// A study whose contenders cost $36 and $72 an hour, and their client $3.60: 10, 20 and 1 micro-dollars a millisecond.
fn paid(edits: &[(&str, &str)]) -> String {
    let node =
        "instance = \"desk\", usd_per_hour = 36 }, { role = \"client\", instance = \"lap\", usd_per_hour = 3.6, priced = false }";
    let own = [
        ("notional = true\n", ""),
        ("instance = \"m7g.large\" }", node),
        ("instance = \"m7i.large\" }", "instance = \"desk\", usd_per_hour = 72 }"),
    ];
    edited(&[&own[..], edits].concat())
}

fn spent(desk: &Desk) -> Spent {
    let compared: Comparison = serde_json::from_str(&desk.good(&["compare", "--json", "results/small"]).out).unwrap();
    compared.spent.unwrap()
}

/// The milliseconds of all lines of the file.
fn noted(desk: &Desk) -> i64 {
    let stretches = Stretch::lines(&desk.read(USED)).unwrap();
    assert!(stretches.iter().all(|stretch| stretch.up == ["full", "off"]), "{stretches:?}");
    stretches.iter().map(|stretch| stretch.took_ms as i64).sum()
}

#[test]
fn the_bill_of_a_study_is_that_of_its_files_by_hand() {
    let desk = Desk::new();
    desk.write("study.toml", &paid(&[]));
    let checked = desk.good(&["check", "study.toml"]).out;
    assert!(checked.contains(" min and $") && checked.contains(" with loads and checks"), "{checked}");
    let planned: serde_json::Value = serde_json::from_str(&desk.good(&["plan", "--json", "study.toml"]).out).unwrap();
    let (seconds, cost) = (planned["estimated_s"].as_f64().unwrap(), planned["estimated_cost"].as_f64().unwrap());
    assert!((cost - seconds * 31_000.0).abs() <= 31.0, "{seconds} {cost}");
    assert!(desk.good(&["plan", "study.toml"]).out.contains(" min and $"));

    let ran = desk.good(&["run", "study.toml"]);
    assert!(ran.err.contains("8 trials to run, about 0:") && ran.err.contains(" min and $"), "{ran:#?}");
    let (ms, found) = (noted(&desk), spent(&desk));
    let rows: Vec<_> = found.machines.iter().map(|m| (m.contender.as_deref(), m.is_client, m.up_ms as i64, m.cost.0)).collect();
    assert_eq!(rows, [(Some("full"), false, ms, 10 * ms), (Some("off"), false, ms, 20 * ms), (None, true, ms, ms)]);
    assert_eq!((found.took_ms as i64, found.total), (ms, Some(MicroUsd(31 * ms))));
    assert_eq!(found.works.iter().map(|part| part.took_ms).sum::<u64>(), found.took_ms);
    let sentence = format!("This answer took {}.", found.text());
    assert!(sentence.contains(" and $") && ran.out.contains(&sentence), "{sentence}: {ran:#?}");

    desk.good(&["report", "results/small"]);
    for page in ["results/small/report.md", "results/small/report.html"] {
        let text = desk.read(page).replace('\\', "");
        assert!(text.contains(&sentence) && text.contains("What this answer cost"), "{page}");
    }
    // A run that has nothing to do uses nothing, so that the report stays that of its files.
    let before = desk.read(USED);
    desk.good(&["run", "study.toml"]);
    assert_eq!(desk.read(USED), before);
    let whole = desk.good(&["verify", "results/small"]).out;
    assert!(whole.contains("results/small/used.jsonl is the embedded one"), "{whole}");
    desk.good(&["verify", "results/small/report.html", "--extract", "elsewhere"]);
    assert_eq!(desk.read("elsewhere/used.jsonl"), before);
    desk.write(USED, &before.replacen("\"took_ms\":", "\"took_ms\":9", 1));
    let other = desk.perbuck(&["verify", "results/small"]);
    assert!(other.code == Some(1) && other.out.contains("used.jsonl: is not the embedded one"), "{other:#?}");
    desk.write(USED, &format!("{{}}\n{before}"));
    let broken = desk.perbuck(&["compare", "results/small"]);
    assert_eq!(broken.code, Some(5), "{broken:#?}");
    assert!(broken.err.contains("used.jsonl of results/small: line 1 is none of it"), "{broken:#?}");
    assert!(broken.err.contains("help: remove that line"), "{broken:#?}");
}

#[test]
fn what_earlier_studies_loaded_tells_how_long_the_next_load_takes() {
    let desk = Desk::new();
    let text = paid(&[]);
    desk.write("study.toml", &text);
    let value = |key: &str| {
        let line = text.lines().find(|line| line.starts_with(key)).unwrap();
        line.split('"').nth(1).unwrap().to_owned()
    };
    let promised = || {
        let planned: serde_json::Value = serde_json::from_str(&desk.good(&["plan", "--json", "study.toml"]).out).unwrap();
        planned["estimated_s"].as_f64().unwrap()
    };
    let before = promised();
    // A thousand bytes in so many seconds.
    let load = DataLoad { target: value("target = "), kind: value("kind = "), bytes: 1_000, reset: None };
    let slow = Stretch { ended_unix_ms: 1, took_ms: 50_000, work: Work::Loads, up: Vec::new(), load: Some(load) };
    desk.write("results/earlier/used.jsonl", &(serde_json::to_string(&slow).unwrap() + "\n"));
    assert!(promised() > before + 100.0, "{before} s, then {} s", promised());
    assert!(desk.good(&["check", "study.toml"]).out.contains(" h and $"));
}

#[test]
fn what_was_used_outlives_a_run_that_is_killed() {
    let desk = Desk::new();
    desk.write("study.toml", &paid(&[("trials = 2", "trials = 6"), ("[1, 2]", "[1]")]));
    let mut child = desk.command(&["run", "study.toml"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("two trials are noted", || desk.path(USED).exists() && desk.read(USED).matches("\"trials\"").count() >= 2);
    signal(&child, "KILL");
    child.wait().unwrap();
    let before = desk.read(USED);
    let whole = &before[..before.rfind('\n').unwrap() + 1];
    // As if it had been killed within a line.
    desk.write(USED, &format!("{whole}{{\"ended_unix"));
    let ran = desk.good(&["run", "study.toml"]);
    assert!(ran.err.contains("used until now: ") && ran.err.contains(" and $"), "{ran:#?}");
    assert!(desk.read(USED).starts_with(whole) && desk.read(USED).len() > whole.len());
    assert_eq!(spent(&desk).total, Some(MicroUsd(31 * noted(&desk))));
}

#[test]
fn a_budget_of_dollars_ends_a_run_between_blocks_and_the_next_run_goes_on() {
    let desk = Desk::new();
    let rule = "trials = 30\n[decision]\nuntil = \"decided\"\nleast = 20\nbudget = \"$0.06\"\n";
    desk.write("study.toml", &paid(&[("[1, 2]", "[1]"), ("trials = 2\n", rule)]));
    let ran = desk.good(&["run", "study.toml"]);
    assert!(ran.err.contains("would use more than the budget of $0.06; the same command goes on"), "{ran:#?}");
    let before = desk.records("results").len();
    assert!(before < 40 && before.is_multiple_of(2), "{before}");
    desk.good(&["run", "study.toml"]);
    assert!(desk.records("results").len() > before);
}

#[test]
fn a_notional_study_is_told_its_time_alone_and_wrong_budgets_are_named() {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&crate::common::QUICK));
    assert!(!desk.good(&["check", "study.toml"]).out.contains('$'));
    let ran = desk.good(&["run", "study.toml"]);
    assert!(ran.out.contains("This answer took") && spent(&desk).total.is_none(), "{ran:#?}");
    desk.good(&["report", "results/small"]);
    assert!(desk.read("results/small/report.md").contains("so no dollars are counted"));
    let until = |budget: &str| format!("trials = 30\n[decision]\nuntil = \"decided\"\nbudget = {budget}\n");
    let cases = [
        ("\"50\"", "`decision.budget`: `50` has no unit", true),
        ("\"$50\"", "`budget` is in dollars, and its trials run on other machines than it prices", false),
        ("\"$0\"", "\"$0\" pays for nothing", true),
        ("\"$1e3\"", "`1e3` is not a decimal number of dollars", true),
        ("50", "`decision.budget` is an integer", true),
    ];
    for (budget, says, is_paid) in cases {
        let rule = until(budget);
        let edit = [("trials = 2\n", rule.as_str())];
        desk.write("wrong.toml", &if is_paid { paid(&edit) } else { edited(&edit) });
        let wrong = desk.perbuck(&["check", "wrong.toml"]);
        assert!(wrong.code == Some(2) && wrong.err.contains(says) && wrong.err.contains("help: "), "{budget}: {wrong:#?}");
    }
}
