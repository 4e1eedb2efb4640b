//! Form 1 of the embedded data: pages have it that were written before records were compressed. It is read and no longer written.
//!
//! A row has the values of a trial; `shared` and `own` name their fields, such as `key.trial`. The values of shared fields stand
//! in a pool. The seconds of a trial are columns.

use perbuck_core::run_record::{Interval, RunRecord};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use super::unpack::{Budget, Unpacked, broken, no_data};
use super::{FORM, Head};

/// Bytes of a second of a trial as text, about.
const SECOND: u64 = 200;
/// Numbers, texts and names of one trial at most; each needs up to fifty times its text while it is put together.
const VALUES: usize = 1_000_000;

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

pub(super) fn unpack(text: &str) -> Result<Unpacked, String> {
    let packed: Packed<'_> = serde_json::from_str(text).map_err(|e| no_data(&e))?;
    let mut budget = Budget::of(text);
    let trial =
        |(i, row): (usize, &Vec<&RawValue>)| trial(&packed, row, &mut budget).map_err(|why| broken(i, packed.trials.len(), &why));
    let trials: Vec<(RunRecord, String)> = packed.trials.iter().enumerate().map(trial).collect::<Result<_, _>>()?;
    let (records, sums) = trials.into_iter().unzip();
    Ok(Unpacked { form: 1, head: Head { form: FORM, ..packed.head }, records, sums })
}

/// The record of a row, and the checksum that stands beside it.
fn trial(packed: &Packed<'_>, row: &[&RawValue], budget: &mut Budget) -> Result<(RunRecord, String), String> {
    let columns = packed.shared.len() + packed.own.len();
    if row.len() != columns {
        return Err(format!("has {} columns in place of {columns}", row.len()));
    }
    let (indexes, own) = row.split_at(packed.shared.len());
    let (mut fields, mut values) = (Map::new(), 0);
    // Many rows may point to one long value of the pool.
    let mut add = |name: &str, value: &RawValue| {
        budget.take(value.get().len() as u64)?;
        values += 1 + value.get().bytes().filter(|b| *b == b',').count();
        if values > VALUES { Err("it has more values than any trial".to_owned()) } else { put(&mut fields, name, value) }
    };
    for (name, index) in packed.shared.iter().zip(indexes) {
        let index: usize = index.get().parse().map_err(|_| format!("`{name}` is no index of the pool"))?;
        add(name, packed.pool.get(index).ok_or_else(|| format!("`{name}` points beyond the pool"))?)?;
    }
    for (name, value) in packed.own.iter().zip(own) {
        add(name, value)?;
    }
    let mut take = |path: &str| take(&mut fields, path).ok_or_else(|| format!("there is no column `{path}`"));
    let sum = take("sha256")?.as_str().ok_or("`sha256` is no text")?.to_owned();
    let intervals = intervals(&take("intervals")?, budget)?;
    let counters = counters(&take("counter_names")?, &take("target.server_counters")?)?;
    fields.insert("intervals".to_owned(), Value::Array(Vec::new()));
    fields["target"]["server_counters"] = counters;
    let mut record = RunRecord::from_json(&Value::Object(fields).to_string())?;
    record.intervals = intervals;
    budget.one(&record)?;
    Ok((record, sum))
}

/// Puts a value into the field that a column names.
fn put(fields: &mut Map<String, Value>, name: &str, value: &RawValue) -> Result<(), String> {
    let value = serde_json::from_str(value.get()).map_err(|e| e.to_string())?;
    let (folder, name) = match name {
        // Their names are shared, their values are not: two columns for one field.
        "target.server_counters.names" => (None, "counter_names"),
        _ => name.split_once('.').map_or((None, name), |(folder, name)| (Some(folder), name)),
    };
    let inside = match folder {
        Some(folder) => fields.entry(folder).or_insert_with(|| Value::Object(Map::new())).as_object_mut(),
        None => Some(fields),
    };
    let twice = inside.ok_or_else(|| format!("`{name}` lies in no object"))?.insert(name.to_owned(), value).is_some();
    if twice { Err(format!("there are two columns `{name}`")) } else { Ok(()) }
}

/// Takes the value of a column out of the fields.
fn take(fields: &mut Map<String, Value>, path: &str) -> Option<Value> {
    match path.split_once('.') {
        Some((folder, name)) => fields.get_mut(folder)?.as_object_mut()?.remove(name),
        None => fields.remove(path),
    }
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
    let pairs: Option<Map<String, Value>> = names.iter().zip(values).map(pair).collect();
    pairs.map(Value::Object).ok_or_else(|| "a counter of the server has no name".to_owned())
}

/// The seconds of a trial. A column is a list, one number for all, or the first number and the step to the next.
pub(super) fn intervals(columns: &Value, budget: &mut Budget) -> Result<Vec<Interval>, String> {
    let columns = columns.as_object().ok_or("intervals are no columns")?;
    let n = columns.get("n").and_then(Value::as_u64).ok_or("intervals have no length `n`")?;
    budget.take(n.saturating_mul(SECOND)).map_err(|_| "intervals have a length that no trial has")?;
    let n = n as usize;
    let number = |v: &Value| v.as_i64().map(i128::from).or_else(|| v.as_u64().map(i128::from));
    let at = |column: &Value, i: usize| match column {
        Value::Array(all) => all.get(i).and_then(number),
        Value::Object(steps) => Some(number(steps.get("from")?)? + number(steps.get("step")?)? * i as i128),
        one => number(one),
    };
    let columns: Vec<(&String, &Value)> = columns.iter().filter(|(name, _)| *name != "n").collect();
    if let Some((name, _)) = columns.iter().find(|(_, c)| c.as_array().is_some_and(|all| all.len() != n)) {
        return Err(format!("intervals have no column `{name}` of {n} numbers"));
    }
    let one = |i: usize| {
        let field = |(name, column): &(&String, &Value)| {
            let value = at(column, i).and_then(Number::from_i128).map(Value::Number);
            value.map(|v| ((*name).clone(), v)).ok_or_else(|| format!("intervals: `{name}` is no column of numbers"))
        };
        let fields: Map<String, Value> = columns.iter().map(field).collect::<Result<_, _>>()?;
        serde_json::from_value(Value::Object(fields)).map_err(|e| format!("intervals: {e}"))
    };
    (0..n).map(one).collect()
}
