//! Drawings of one trial over its time: throughput, latency, and what the processors did.

use perbuck_core::run_record::{Interval, MachineSamples, RunRecord};

use crate::model::{heat_of, machine_busy};
use crate::svg;
use crate::svg::over_time::{OverTime, over_time};

/// What the horizontal axis counts.
const ALONG: &str = "seconds since the measured window opened";

/// Titles and drawings of a trial, for a page with the style sheet of a report. What the record lacks is left out.
pub fn drawings(r: &RunRecord) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    if !r.intervals.is_empty() {
        let per_s = |i: &Interval| i.transactions as f64 / seconds(i);
        out.push(("Throughput", over_time("trial-throughput", &seen(r, "transactions per second", per_s))));
        let p95_ms = |i: &Interval| i.p95_ns as f64 / 1e6;
        out.push(("Latency", over_time("trial-p95", &seen(r, "95th percentile, ms", p95_ms))));
    }
    if let Some(times) = r.health.samples.as_ref().filter(|t| !t.processors.is_empty() && !t.steps_ms.is_empty()) {
        out.push(("Processors", over_time("trial-busy", &busy(r, times))));
        out.push((
            "Each processor of the client's machine",
            svg::heat::draw("trial-processors", &heat_of("Client".to_owned(), times)),
        ));
    }
    out
}

fn seconds(i: &Interval) -> f64 {
    i.length_ms.max(1) as f64 / 1e3
}

/// A value of each second, with the borders of warm-up and drain.
fn seen(r: &RunRecord, axis: &str, value: impl Fn(&Interval) -> f64) -> OverTime {
    let points = r.intervals.iter().map(|i| (i.start_ms as f64 / 1e3 + seconds(i) / 2.0, value(i))).collect();
    OverTime { axis: axis.to_owned(), lines: vec![(axis.to_owned(), vec![points])], ..empty(r) }
}

/// A drawing of the time of a trial, without a line.
fn empty(r: &RunRecord) -> OverTime {
    let window_s = r.measured.window_ns as f64 / 1e9;
    let from = r.intervals.first().map_or(0.0, |i| i.start_ms as f64 / 1e3).min(0.0);
    let to = r.intervals.last().map_or(0.0, |i| i.start_ms as f64 / 1e3 + seconds(i)).max(window_s);
    let outside = [(from, 0.0, "warm-up"), (window_s, to, "drain")];
    let outside = outside.into_iter().filter(|(start, end, _)| end > start).collect();
    OverTime { along: ALONG.to_owned(), reach_s: (from, to), outside, ..OverTime::default() }
}

/// How many processors worked: on the whole machine of the client in each step; server and client alone as means of the window.
fn busy(r: &RunRecord, times: &MachineSamples) -> OverTime {
    let window_s = (r.measured.window_ns as f64 / 1e9).max(1e-3);
    let mean = |ns: u64| vec![vec![(0.0, ns as f64 / 1e9 / window_s), (window_s, ns as f64 / 1e9 / window_s)]];
    let starts = std::iter::once(0).chain(times.steps_ms.iter().copied());
    let middle = |(start, end): (u32, &u32)| (f64::from(start) + f64::from(*end)) / 2e3;
    let machine = starts.zip(&times.steps_ms).map(middle).zip(machine_busy(times)).collect();
    let mut lines = vec![(format!("machine of the client ({})", r.host.cpus), vec![machine])];
    // An embedded database works in the process of the client, and the client's time holds its own.
    lines.extend(r.target.server_cpu_ns.map(|ns| ("server, mean".to_owned(), mean(ns))));
    lines.push(("client, mean".to_owned(), mean(r.health.client_user_ns.saturating_add(r.health.client_system_ns))));
    OverTime { axis: "processors".to_owned(), lines, ..empty(r) }
}
