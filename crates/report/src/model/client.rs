//! Who applied the load: the machine of perbuck, or those of its agents, and how far they are from the server.

use perbuck_core::run_record::{FactGroup, HostRecord, RunRecord};

use crate::escape::clean;
use crate::number::bytes;

/// Facts by name. Where agents applied the load, the machine of their coordinator plays no part.
pub(super) fn facts(r: &RunRecord) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut add = |name: &str, value: String| facts.push((format!("client: {name}"), value));
    for host in r.clients() {
        add("architecture", clean(&host.arch));
        add("emulator", host.emulator.as_deref().map_or_else(|| "none".to_owned(), clean));
        add("operating system", clean(&host.os));
        add("processor", clean(&host.cpu_model));
        add("processors", host.cpus.to_string());
        add("memory", bytes(host.memory_bytes));
        of_machine(host).into_iter().for_each(|(name, value)| add(&name, value));
    }
    if !r.agents.is_empty() {
        add("agents", r.agents.len().to_string());
    }
    if let Some(distance) = r.distance() {
        add("round trip of a statement", round_trip_text(distance.statement_ns));
        distance.packet_ns.into_iter().for_each(|ns| add("round trip of a packet", round_trip_text(ns)));
    }
    facts
}

/// What its system tells of the machine: what a reader asks for first in one line, and a line for each group.
fn of_machine(host: &HostRecord) -> Vec<(String, String)> {
    let Some(facts) = &host.facts else { return Vec::new() };
    let line = |group: FactGroup| {
        let each: Vec<String> = group.facts.iter().map(|(name, value)| format!("{}: {}", clean(name), clean(value))).collect();
        (format!("facts, {}", group.title), each.join("; "))
    };
    let first = Some(("facts".to_owned(), clean(&facts.line()))).filter(|(_, line)| !line.is_empty());
    first.into_iter().chain(facts.groups().into_iter().map(line)).collect()
}

/// To tenths of a millisecond, so that trials at one distance have one value.
fn round_trip_text(ns: u64) -> String {
    match ns {
        0..100_000 => "below 0.1 ms".to_owned(),
        _ => format!("{:.1} ms", ns as f64 / 1e6),
    }
}
