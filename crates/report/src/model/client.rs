//! Who applied the load: the machine of perbuck, or those of its agents, and how far they are from the server.

use perbuck_core::run_record::RunRecord;

use crate::escape::clean;
use crate::number::bytes;

/// Facts by name. Where agents applied the load, the machine of their coordinator plays no part.
pub(super) fn facts(r: &RunRecord) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    for host in r.clients() {
        facts.extend([
            ("client: architecture", clean(&host.arch)),
            ("client: emulator", host.emulator.as_deref().map_or_else(|| "none".to_owned(), clean)),
            ("client: operating system", clean(&host.os)),
            ("client: processor", clean(&host.cpu_model)),
            ("client: processors", host.cpus.to_string()),
            ("client: memory", bytes(host.memory_bytes)),
        ]);
    }
    if !r.agents.is_empty() {
        facts.push(("client: agents", r.agents.len().to_string()));
    }
    if let Some(distance) = r.distance() {
        facts.push(("client: round trip of a statement", round_trip_text(distance.statement_ns)));
        facts.extend(distance.packet_ns.map(|ns| ("client: round trip of a packet", round_trip_text(ns))));
    }
    facts
}

/// To tenths of a millisecond, so that trials at one distance have one value.
fn round_trip_text(ns: u64) -> String {
    match ns {
        0..100_000 => "below 0.1 ms".to_owned(),
        _ => format!("{:.1} ms", ns as f64 / 1e6),
    }
}
