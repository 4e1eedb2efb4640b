//! `perbuck facts` tells what this machine is, and what it prints as JSON is the host of a record.

use crate::common::{Desk, QUICK, edited};
use perbuck_core::run_record::HostRecord;

#[test]
fn facts_are_a_table_and_json() {
    let desk = Desk::new();
    let text = desk.good(&["facts"]).out;
    for word in ["Fact", "architecture", "kernel", "page size", "open files"] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
    let json = desk.good(&["facts", "--json"]).out;
    let host: HostRecord = serde_json::from_str(&json).unwrap();
    let facts = host.facts.unwrap();
    assert!(facts.cpu.threads.is_some_and(|n| n >= host.cpus) && facts.kernel.release.is_some(), "{json}");
    assert_eq!(desk.perbuck(&["facts", "more"]).code, Some(2));
}

/// A record holds them, and the report shows them.
#[test]
fn records_and_reports_hold_the_facts() {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&QUICK));
    desk.good(&["run", "study.toml"]);
    let host: HostRecord = serde_json::from_str(&desk.good(&["facts", "--json"]).out).unwrap();
    let records = desk.records("results");
    assert!(!records.is_empty() && records.iter().all(|record| record.host.facts == host.facts), "{:?}", records[0].host);
}

/// What it finds depends on the machine; that it changes nothing does not.
#[test]
fn the_doctor_says_what_it_saw_or_that_there_is_nothing() {
    let desk = Desk::new();
    let found: serde_json::Value = serde_json::from_str(&desk.good(&["doctor", "--json"]).out).unwrap();
    let found = found.as_array().unwrap();
    let text = desk.good(&["doctor"]).out;
    assert_eq!(found.is_empty(), text.starts_with("nothing was found"), "{text}");
    for finding in found {
        let line = format!("{}: {}\n", finding["about"].as_str().unwrap(), finding["seen"].as_str().unwrap());
        assert!(text.contains(&line) && finding["costs"].as_str().is_some_and(|costs| text.contains(costs)), "{line}{text}");
    }
}
