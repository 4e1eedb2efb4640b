//! Reading the embedded data back into the records that they were made of.

use perbuck_core::run_record::RunRecord;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::pack::{OWN, SHARED};
use super::{ELEMENT, FORM, Head, columns};

/// What a page holds besides what is seen.
#[derive(Debug)]
pub struct Unpacked {
    /// Everything but the trials.
    pub head: Head,
    /// The records of all trials, in the order of their paths.
    pub records: Vec<RunRecord>,
    /// The checksums that the page states of them.
    pub sums: Vec<String>,
}

/// The embedded data as they are written, borrowed from their text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Packed<'a> {
    head: Head,
    shared: Vec<String>,
    own: Vec<String>,
    #[serde(borrow)]
    trials: Vec<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pool: Vec<&'a RawValue>,
}

/// The text of the embedded data of a page; `None` where it has none, or more than one.
pub fn from_page(page: &str) -> Option<&str> {
    let (before, rest) = page.split_once(ELEMENT)?;
    let (text, after) = rest.split_once("</script>")?;
    (!before.contains("id=\"embedded\"") && !after.contains("id=\"embedded\"")).then_some(text)
}

/// Reads embedded data. That the trials match their checksums is left to the caller, who can say which one does not.
///
/// # Errors
/// Says why they are none, and of which trial they are not whole.
pub fn unpack(text: &str) -> Result<Unpacked, String> {
    #[derive(Deserialize)]
    struct Form {
        form: u32,
    }
    #[derive(Deserialize)]
    struct Numbered {
        head: Form,
    }
    let numbered: Numbered = serde_json::from_str(text).map_err(|e| format!("are no data of a report: {e}"))?;
    if numbered.head.form != FORM {
        return Err(format!("have form {}, and this perbuck reads form {FORM}", numbered.head.form));
    }
    let packed: Packed<'_> = serde_json::from_str(text).map_err(|e| format!("are no data of a report: {e}"))?;
    if packed.shared != SHARED || packed.own != OWN {
        return Err("name other columns than this perbuck writes".to_owned());
    }
    let (mut records, mut sums) = (Vec::new(), Vec::new());
    for (i, row) in packed.trials.iter().enumerate() {
        let (record, sum) =
            trial(&packed.pool, row).map_err(|e| format!("hold a broken trial, {} of {}: {e}", i + 1, packed.trials.len()))?;
        records.push(record);
        sums.push(sum);
    }
    Ok(Unpacked { head: packed.head, records, sums })
}

/// The record of a row, and the checksum that stands beside it.
fn trial(pool: &[&RawValue], row: &[&RawValue]) -> Result<(RunRecord, String), String> {
    if row.len() != SHARED.len() + OWN.len() {
        return Err(format!("has {} columns in place of {}", row.len(), SHARED.len() + OWN.len()));
    }
    let parsed = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).map_err(|e| e.to_string());
    let cell = |name: &str| -> Result<Value, String> {
        if let Some(i) = SHARED.iter().position(|n| *n == name) {
            let place: usize = serde_json::from_str(row[i].get()).map_err(|_| format!("`{name}` is no place in the pool"))?;
            return parsed(pool.get(place).ok_or_else(|| format!("`{name}` points beyond the pool"))?);
        }
        let own = OWN.iter().position(|n| *n == name).ok_or_else(|| format!("there is no column `{name}`"))?;
        parsed(row[SHARED.len() + own])
    };
    let counters = counters(&cell("target.server_counters.names")?, &cell("target.server_counters")?)?;
    let record = json!({
        "schema": cell("schema")?,
        "perbuck": cell("perbuck")?,
        "study": cell("study")?,
        "study_fingerprint": cell("study_fingerprint")?,
        "key": {
            "contender": cell("key.contender")?,
            "workload": cell("key.workload")?,
            "connections": cell("key.connections")?,
            "rate_per_s": cell("key.rate_per_s")?,
            "deployment": cell("key.deployment")?,
            "trial": cell("key.trial")?,
        },
        "position": cell("position")?,
        "seed": cell("seed")?,
        "trial_seed": cell("trial_seed")?,
        "started_unix_ms": cell("started_unix_ms")?,
        "load": cell("load")?,
        "workload": {
            "kind": cell("workload.kind")?,
            "parameters": cell("workload.parameters")?,
            "data_fingerprint": cell("workload.data_fingerprint")?,
            "data": cell("workload.data")?,
            "rows_before": cell("workload.rows_before")?,
            "rows_after": cell("workload.rows_after")?,
            "metric": cell("workload.metric")?,
        },
        "target": {
            "address": cell("target.address")?,
            "driver": cell("target.driver")?,
            "version": cell("target.version")?,
            "variables": cell("target.variables")?,
            "server_counters": counters,
            "server_cpu_ns": cell("target.server_cpu_ns")?,
        },
        "host": cell("host")?,
        "measured": cell("measured")?,
        "statements_whole_run": cell("statements_whole_run")?,
        "errors": cell("errors")?,
        "intervals": [],
        "health": cell("health")?,
        "flags": cell("flags")?,
        "audit": cell("audit")?,
    });
    let mut record: RunRecord = serde_json::from_value(record).map_err(|e| format!("is no run record: {e}"))?;
    record.intervals = columns::to_intervals(&cell("intervals")?)?;
    let sum = cell("sha256")?.as_str().ok_or("`sha256` is no text")?.to_owned();
    Ok((record, sum))
}

/// Names and values of the server's counters, put together again.
fn counters(names: &Value, values: &Value) -> Result<Value, String> {
    let (Some(names), Some(values)) = (names.as_array(), values.as_array()) else {
        return Err("the server's counters are no lists".to_owned());
    };
    if names.len() != values.len() {
        return Err(format!("the server has {} names of counters and {} values", names.len(), values.len()));
    }
    let pair = |(name, value): (&Value, &Value)| Some((name.as_str()?.to_owned(), value.clone()));
    let pairs: Option<serde_json::Map<String, Value>> = names.iter().zip(values).map(pair).collect();
    pairs.map(Value::Object).ok_or_else(|| "a counter of the server has no name".to_owned())
}
