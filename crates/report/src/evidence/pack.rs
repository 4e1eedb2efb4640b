//! Writing the embedded data.
//!
//! What trials have in common (versions, settings, machines) is kept once in a pool; what is their own stands in their row.

use std::collections::HashMap;

use perbuck_core::run_record::RunRecord;
use serde::Serialize;

use super::{Head, columns};
use crate::escape;

/// Parts of a record that trials share, in the order of a row.
pub(super) const SHARED: [&str; 26] = [
    "schema",
    "perbuck",
    "study",
    "study_fingerprint",
    "key.contender",
    "key.workload",
    "key.connections",
    "key.rate_per_s",
    "key.deployment",
    "seed",
    "load",
    "workload.kind",
    "workload.parameters",
    "workload.data_fingerprint",
    "workload.data",
    "workload.rows_before",
    "workload.rows_after",
    "workload.metric",
    "target.address",
    "target.driver",
    "target.version",
    "target.variables",
    "target.server_counters.names",
    "host",
    "errors",
    "flags",
];

/// Parts that belong to one trial, in the order of a row, behind the shared ones.
pub(super) const OWN: [&str; 12] = [
    "key.trial",
    "position",
    "trial_seed",
    "started_unix_ms",
    "target.server_counters",
    "target.server_cpu_ns",
    "measured",
    "statements_whole_run",
    "intervals",
    "health",
    "audit",
    "sha256",
];

/// Values that occur in more than one trial, each once.
#[derive(Default)]
struct Pool {
    places: HashMap<String, usize>,
    values: String,
}

impl Pool {
    /// The place of a value, which is added where it is new.
    fn place(&mut self, value: &impl Serialize) -> Result<usize, String> {
        let text = text(value)?;
        if let Some(place) = self.places.get(&text) {
            return Ok(*place);
        }
        let place = self.places.len();
        self.values.push_str(if place > 0 { ",\n" } else { "" });
        escape::json_into(&text, &mut self.values);
        self.places.insert(text, place);
        Ok(place)
    }
}

/// The embedded data of a report: JSON that can stand in a page. Each record has the checksum at its place in `sums`. The
/// same trials give the same text in any order.
///
/// # Errors
/// When a number of a record is not finite.
pub fn pack(head: &Head, records: &[RunRecord], sums: &[String]) -> Result<String, String> {
    let mut all = String::new();
    pack_into(head, records, sums, &mut |part| {
        all.push_str(part);
        Ok(())
    })?;
    Ok(all)
}

/// The same piece by piece: of thousands of trials it is large, and most of the page.
///
/// # Errors
/// As [`pack`], and those of the sink.
pub fn pack_into(
    head: &Head,
    records: &[RunRecord],
    sums: &[String],
    sink: &mut dyn FnMut(&str) -> Result<(), String>,
) -> Result<(), String> {
    let mut ordered: Vec<(String, &RunRecord, &str)> =
        records.iter().zip(sums).map(|(r, sum)| (r.key.path(), r, sum.as_str())).collect();
    ordered.sort_by(|a, b| a.0.cmp(&b.0));
    let mut pool = Pool::default();
    let mut out = String::new();
    for (key, value) in [("{\"head\":", text(head)?), (",\n\"shared\":", text(&SHARED)?), (",\n\"own\":", text(&OWN)?)] {
        out.push_str(key);
        escape::json_into(&value, &mut out);
    }
    out.push_str(",\n\"trials\":[");
    for (i, (_, record, sum)) in ordered.into_iter().enumerate() {
        out.push_str(if i > 0 { ",\n[" } else { "\n[" });
        for place in shared(&mut pool, record)? {
            out.push_str(&place.to_string());
            out.push(',');
        }
        own(&mut out, record, sum)?;
        out.push(']');
        sink(&out)?;
        out.clear();
    }
    out.push_str("],\n\"pool\":[\n");
    out.push_str(&pool.values);
    out.push_str("]}");
    sink(&out)
}

fn text(value: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(value).map_err(|e| e.to_string())
}

/// Places in the pool, in the order of [`SHARED`].
fn shared(pool: &mut Pool, r: &RunRecord) -> Result<[usize; SHARED.len()], String> {
    let counters: Vec<&String> = r.target.server_counters.keys().collect();
    Ok([
        pool.place(&r.schema)?,
        pool.place(&r.perbuck)?,
        pool.place(&r.study)?,
        pool.place(&r.study_fingerprint)?,
        pool.place(&r.key.contender)?,
        pool.place(&r.key.workload)?,
        pool.place(&r.key.connections)?,
        pool.place(&r.key.rate_per_s)?,
        pool.place(&r.key.deployment)?,
        pool.place(&r.seed)?,
        pool.place(&r.load)?,
        pool.place(&r.workload.kind)?,
        pool.place(&r.workload.parameters)?,
        pool.place(&r.workload.data_fingerprint)?,
        pool.place(&r.workload.data)?,
        pool.place(&r.workload.rows_before)?,
        pool.place(&r.workload.rows_after)?,
        pool.place(&r.workload.metric)?,
        pool.place(&r.target.address)?,
        pool.place(&r.target.driver)?,
        pool.place(&r.target.version)?,
        pool.place(&r.target.variables)?,
        pool.place(&counters)?,
        pool.place(&r.host)?,
        pool.place(&r.errors)?,
        pool.place(&r.flags)?,
    ])
}

/// A trial's own values, in the order of [`OWN`].
fn own(out: &mut String, r: &RunRecord, sum: &str) -> Result<(), String> {
    let counters: Vec<&i64> = r.target.server_counters.values().collect();
    let before = [
        text(&r.key.trial)?,
        text(&r.position)?,
        text(&r.trial_seed)?,
        text(&r.started_unix_ms)?,
        text(&counters)?,
        text(&r.target.server_cpu_ns)?,
        text(&r.measured)?,
        text(&r.statements_whole_run)?,
    ];
    for value in before {
        escape::json_into(&value, out);
        out.push(',');
    }
    columns::of_intervals(&r.intervals, out);
    for value in [text(&r.health)?, text(&r.audit)?, text(&sum)?] {
        out.push(',');
        escape::json_into(&value, out);
    }
    Ok(())
}
