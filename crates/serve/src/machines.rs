//! The machines of a trial, fact by fact as `perbuck facts` prints them, and in what other trials of its contender differ.

use std::collections::BTreeMap;

use maud::{Markup, html};
use perbuck_core::run_record::RunRecord;
use perbuck_core::units::{capitalised, thousands};
use perbuck_lab::facts::{HEADS, Machine, differences, machines, table as rows};

use super::find::Found;
use super::http::encoded;
use super::pages::{cell, note, table};
use super::summary::{Summary, Trial, hash_of};
use super::trials::record_of;

/// Other sets of machines that are compared; a study with more of them has no machines that trials share.
const COMPARED: usize = 20;

pub(super) fn section(f: &Found, summary: &Summary, (name, record): (&str, &RunRecord)) -> Markup {
    let own = machines(record);
    if own.is_empty() {
        return Markup::default();
    }
    let heads: Vec<&str> = HEADS.split(" | ").collect();
    html! {
        h2 { "Machines" }
        (compared(f, summary, (name, record), &own))
        @for machine in &own {
            (table(&capitalised(&machine.name), &heads, &cells(&rows(&machine.facts))))
        }
    }
}

/// What trials of the same contender and workload were run on other machines than this one.
fn compared(f: &Found, summary: &Summary, (name, record): (&str, &RunRecord), own: &[Machine]) -> Markup {
    let same = |t: &&Trial| t.path != name && t.key.contender == record.key.contender && t.key.workload == record.key.workload;
    let others: Vec<&Trial> = summary.trials.iter().filter(same).collect();
    let hash = hash_of(own);
    let mut by_machines: BTreeMap<u64, Vec<&Trial>> = BTreeMap::new();
    for other in others.iter().filter(|other| other.machines != hash) {
        by_machines.entry(other.machines).or_default().push(other);
    }
    let mut sets: Vec<Vec<&Trial>> = by_machines.into_values().collect();
    sets.sort_by(|a, b| a[0].path.cmp(&b[0].path));
    let mut found = Vec::new();
    for trials in sets.iter().take(COMPARED) {
        let Some(other) = record_of(f, &trials[0].path) else { continue };
        for unlike in differences(own, &machines(&other)) {
            let [group, fact, value] = &unlike.fact;
            let texts = [&unlike.machine, group, fact, value, &unlike.other].map(|text| cell(text));
            found.push(texts.into_iter().chain([first_of(f, trials)]).collect::<Vec<Markup>>());
        }
    }
    if found.is_empty() {
        let count = others.len();
        return html! { @if count > 0 { p { (same_facts(count)) } } };
    }
    let heads = ["Machine", "Of", "Fact", "This trial", "Others", "Which"];
    html! {
        (note("Other trials of this contender with this workload ran on machines with other facts."))
        (table("Facts in which trials of this contender differ", &heads, &found))
    }
}

fn same_facts(count: usize) -> String {
    match count {
        1 => "The other trial of this contender with this workload differs in no fact.".to_owned(),
        n => format!("The {} other trials of this contender with this workload differ in no fact.", thousands(n as u64)),
    }
}

/// `3 trials, the first is x86/rw/c00008/002`, as a link to that one.
fn first_of(f: &Found, trials: &[&Trial]) -> Markup {
    let path = &trials[0].path;
    let at = format!("/trial?study={}&trial={}", encoded(&f.name), encoded(path));
    let link = html! { a href=(at) { (path.trim_end_matches(".json")) } };
    html! { @if trials.len() > 1 { (trials.len()) " trials, the first is " } (link) }
}

fn cells(rows: &[Vec<String>]) -> Vec<Vec<Markup>> {
    rows.iter().map(|row| row.iter().map(|text| cell(text)).collect()).collect()
}
