//! The design of an experiment as a user asks for it: A/A controls, deployments, pauses; and old results against new ones.

use crate::common::{Desk, edited};
use serde_json::Value;

/// One point, and no waiting for a disk that other tests keep busy.
const SHORT: [(&str, &str); 2] = [("[1, 2]", "[1]"), ("synchronous=FULL", "synchronous=OFF")];

fn study(edits: &[(&str, &str)]) -> String {
    edited(&[&SHORT[..], edits].concat())
}

fn compared(desk: &Desk) -> Value {
    serde_json::from_str(&desk.good(&["compare", "--json", "results/small"]).out).unwrap()
}

#[test]
fn a_control_is_measured_beside_its_twin_and_its_ratio_is_the_noise_floor() {
    let desk = Desk::new();
    desk.write("study.toml", &study(&[("schema = 1\n", "schema = 1\ncontrol = \"full\"\n")]));
    let ran = desk.good(&["run", "study.toml"]);
    assert!(ran.out.contains("Noise floor"), "{}", ran.out);
    assert!(ran.out.contains("A/A control"), "{}", ran.out);
    let records = desk.records("results/small");
    let of =
        |name: &str| records.iter().filter(|r| r.key.contender == name).map(|r| r.target.address.clone()).collect::<Vec<_>>();
    assert_eq!(of("full-control"), of("full"));
    assert!(!of("full").is_empty());
    let found = compared(&desk);
    assert_eq!(found["layout"]["control"], serde_json::json!({ "name": "full-control", "of": "full" }));
    assert!(found["workloads"][0]["noise"]["ratio"]["interval"]["low"].as_f64().is_some(), "{}", found["workloads"][0]["noise"]);
    // No answer speaks of the control as of a rival, and the report is whole.
    assert!(!ran.out.contains("control) gives"), "{}", ran.out);
    desk.good(&["report", "results/small"]);
    assert!(desk.read("results/small/report.md").contains("Noise floor"));
    // The control may be asked for later, and left out again.
    desk.write("study.toml", &study(&[]));
    desk.good(&["run", "study.toml"]);
}

#[test]
fn deployments_of_other_targets_are_run_one_at_a_time() {
    let desk = Desk::new();
    desk.write("study.toml", &study(&[("trials = 2", "trials = 2\ndeployments = 2\ncooldown = \"50ms\"")]));
    let refused = desk.perbuck(&["run", "study.toml"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("neither `server` nor `deploy`") && refused.err.contains("--deployment 1"), "{}", refused.err);
    assert_eq!(desk.perbuck(&["run", "--deployment", "3", "study.toml"]).code, Some(2));
    desk.good(&["run", "--deployment", "1", "study.toml"]);
    let half = desk.records("results/small").len();
    desk.good(&["run", "--deployment", "2", "study.toml"]);
    let records = desk.records("results/small");
    assert_eq!(records.len(), 2 * half);
    assert!(records.iter().all(|r| r.load.cooldown_ns == 50_000_000));
    assert_eq!(records.iter().filter(|r| r.key.deployment() == 2).count(), half);
    let found = compared(&desk);
    assert_eq!(found["layout"]["deployments"], 2);
    let judged =
        found["workloads"][0]["contenders"].as_array().unwrap().iter().find_map(|c| c["throughput"].as_object()).unwrap();
    assert_eq!((&judged["units"], &judged["ratio"]["freedom"]), (&2.into(), &1.0.into()));
}

#[test]
fn a_regression_ends_with_its_own_code_and_another_workload_is_refused() {
    let desk = Desk::new();
    desk.write("study.toml", &study(&[("trials = 2", "trials = 4")]));
    desk.good(&["run", "study.toml", "--results", "old"]);
    desk.good(&["run", "study.toml", "--results", "new"]);
    // A margin that no noise of a busy machine exceeds.
    let same = desk.perbuck(&["compare", "--baseline", "old/small", "new/small", "--margin", "0.99"]);
    assert_eq!(same.code, Some(0), "{same:#?}");
    assert!(same.out.contains("No regression shown"), "{}", same.out);
    // The new results, made slower by more than any noise of a busy machine.
    for record in desk.records("new/small") {
        let path = desk.path("new/small").join(record.key.path());
        let mut slow = record.clone();
        slow.measured.window_ns *= 1_000;
        std::fs::write(path, slow.to_json().unwrap()).unwrap();
    }
    let worse = desk.perbuck(&["compare", "--baseline", "old/small", "new/small", "--margin", "0.5"]);
    assert_eq!(worse.code, Some(6), "{worse:#?}");
    assert!(worse.out.contains("Regression:") && worse.err.contains("worse than before"), "{worse:#?}");
    a_pipeline_is_told(&desk);
    let json = desk.perbuck(&["compare", "--baseline", "old/small", "new/small", "--json"]);
    assert_eq!((json.code, serde_json::from_str::<Value>(&json.out).unwrap()["old"].as_str()), (Some(6), Some("small")));

    desk.write("other.toml", &study(&[("trials = 2", "trials = 4"), ("\"200ms\"", "\"250ms\"")]));
    desk.good(&["run", "other.toml", "--results", "other"]);
    let refused = desk.perbuck(&["compare", "--baseline", "old/small", "other/small"]);
    assert_eq!(refused.code, Some(4), "{refused:#?}");
    assert!(refused.err.contains("window in ns was 200000000 and is 250000000"), "{}", refused.err);
    assert!(refused.err.contains("--insist workloads"), "{}", refused.err);
    let insisted = ["compare", "--baseline", "old/small", "other/small", "--insist", "workloads", "--margin", "0.99"];
    assert_eq!(desk.perbuck(&insisted).code, Some(0));
    assert_eq!(desk.perbuck(&["compare", "old/small", "--margin", "0.1"]).code, Some(2));
}

/// The verdicts of the slower results as JUnit and as annotations.
fn a_pipeline_is_told(desk: &Desk) {
    let told = ["compare", "--baseline", "old/small", "new/small", "--margin", "0.5", "--junit", "verdicts.xml", "--github"];
    let told = desk.perbuck(&told);
    assert_eq!(told.code, Some(6), "{told:#?}");
    let xml = desk.read("verdicts.xml");
    let document = roxmltree::Document::parse(&xml).unwrap();
    let all = |name: &str| document.descendants().filter(|n| n.has_tag_name(name)).collect::<Vec<_>>();
    let (suite, cases, failures) = (all("testsuite")[0], all("testcase"), all("failure"));
    let counted = |name: &str| suite.attribute(name).unwrap().parse::<usize>().unwrap();
    assert_eq!((counted("tests"), counted("failures"), counted("skipped")), (cases.len(), failures.len(), all("skipped").len()));
    assert!(!failures.is_empty() && failures.iter().all(|f| f.attribute("message").unwrap().starts_with("worse")), "{xml}");
    assert!(cases.iter().all(|c| c.attribute("classname") == Some("rw") && c.attribute("name").is_some()), "{xml}");
    let annotated = |kind: &str| told.out.lines().filter(|l| l.starts_with(kind)).count();
    assert_eq!(
        (annotated("::error title=perbuck%3A worse"), annotated("::notice title=perbuck::")),
        (failures.len(), 1),
        "{}",
        told.out
    );
    let alone = desk.perbuck(&["compare", "new/small", "--junit", "x.xml"]);
    assert_eq!((alone.code, alone.err.contains("--baseline")), (Some(2), true), "{alone:#?}");
}
