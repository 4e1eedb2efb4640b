//! The `summary.json` of BenchBase.
//!
//! Its throughput counts every request, its goodput those that succeeded. The completed ones are goodput times the time, and no more
//! than all.

use serde_json::{Map, Value};

use crate::Unreadable;
use crate::run::{Counts, Run};

const REQUESTS: &str = "Measured Requests";
const ELAPSED: &str = "Elapsed Time (nanoseconds)";

pub(crate) fn read(text: &str) -> Result<Vec<Run>, Unreadable> {
    if !text.trim_start().starts_with('{') || !text.contains("(requests/second)\"") {
        return Ok(Vec::new());
    }
    let help = "give the `….summary.json` of BenchBase as it is";
    let summary: Map<String, Value> = serde_json::from_str(text)
        .map_err(|e| Unreadable::new(e.line(), format!("the summary of BenchBase is no whole JSON: {e}"), help))?;
    let number = |key: &str| summary.get(key).and_then(Value::as_f64).filter(|v| *v >= 0.0);
    let (Some(requests), Some(elapsed_ns)) = (summary.get(REQUESTS).and_then(Value::as_u64), number(ELAPSED)) else {
        let message = format!("the summary of BenchBase has no `{REQUESTS}` and `{ELAPSED}`");
        return Err(Unreadable::new(1, message, "versions before November 2023 write only rates; run a newer one"));
    };
    let Some((throughput, goodput)) = number("Throughput (requests/second)").zip(number("Goodput (requests/second)")) else {
        return Err(Unreadable::new(1, "the summary of BenchBase has no throughput and goodput", help));
    };
    let text = |key: &str| summary.get(key).and_then(Value::as_str).map(str::to_owned);
    let mut run = Run { line: 1, tool: "BenchBase", kind: "benchbase", ..Run::default() };
    run.metric = Some(&perbuck_core::metric::TPS);
    run.lasts(elapsed_ns / 1e9)?;
    run.agrees("requests", requests, throughput, 0.0)?;
    run.connections = text("terminals").and_then(|n| n.parse().ok()).filter(|n| *n > 0);
    run.server = text("DBMS Version").unwrap_or_default();
    run.started_unix_ms = summary.get("Start timestamp (milliseconds)").and_then(Value::as_u64);
    let completed = ((goodput * elapsed_ns / 1e9).round() as u64).min(requests);
    let failed = requests - completed;
    if failed > 0 {
        run.errors.insert("failed requests of BenchBase", failed);
    }
    for (key, name) in [("Benchmark Type", "benchmark"), ("scalefactor", "scale"), ("isolation", "isolation")] {
        run.parameters.extend(text(key).map(|value| (name, value)));
    }
    let latencies = summary.get("Latency Distribution").and_then(Value::as_object).into_iter().flatten();
    let printed = |(key, value): (&String, &Value)| {
        Some((key.strip_suffix(" Latency (microseconds)")?.to_owned(), format!("{} µs", value.as_u64()?)))
    };
    run.printed = latencies.filter_map(printed).collect();
    run.transactions.insert("transaction".to_owned(), Counts { completed, failed, latency: None });
    run.missing = vec!["whether a rate limited it", "retries", "statements", "reconnects"];
    Ok(vec![run])
}
