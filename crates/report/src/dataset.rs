//! The numbers of a comparison as plain tables, for spreadsheets and programs.
//!
//! The rows are made from the comparison's JSON, so that no number can be forgotten or differ: every field stands in one cell, under
//! the name that its schema gives it. Only money is shown in dollars, with the ending `_usd`.

use std::collections::{BTreeMap, BTreeSet};

use perbuck_core::compare::Comparison;
use perbuck_core::run_record::{Flag, RunRecord, TransactionRecord};
use perbuck_core::units::MicroUsd;
use serde_json::{Map, Number, Value, json};

use crate::escape::clean;
use crate::sheet::{harmless, quoted};

/// A table of one kind of row.
#[derive(Debug, Clone, PartialEq)]
pub struct DataTable {
    /// Its name: `trials`, `points`, `kinds`, `verdicts`, `prices`, `bills` or `notes`.
    pub name: &'static str,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// Its rows, each with a value for every column.
    pub rows: Vec<Vec<DataValue>>,
}

/// One value of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum DataValue {
    /// Nothing is known.
    Empty,
    /// A text without control characters.
    Text(String),
    /// A number with all its digits.
    Number(Number),
    /// Money, exact.
    Usd(MicroUsd),
    /// Yes or no.
    Truth(bool),
}

/// Fields of the JSON that hold micro-dollars.
const MONEY: [&str; 3] = ["monthly", "total", "unit_price"];

/// The columns that come first, in this order; the others follow by name.
const FIRST: [&str; 35] = [
    "workload",
    "contender",
    "kind",
    "region",
    "scenario",
    "level",
    "deployment",
    "trial",
    "metric",
    "value",
    "mean",
    "interval.low",
    "interval.high",
    "ratio.value",
    "ratio.interval.low",
    "ratio.interval.high",
    "throughput.ratio.value",
    "throughput.ratio.interval.low",
    "throughput.ratio.interval.high",
    "throughput.verdict.verdict",
    "value_for_money.ratio.value",
    "value_for_money.ratio.interval.low",
    "value_for_money.ratio.interval.high",
    "value_for_money.verdict.verdict",
    "monthly_usd",
    "total_usd",
    "group",
    "item",
    "sku",
    "formula",
    "unit_price_usd",
    "unit",
    "priced",
    "what",
    "text",
];

/// A row before its table knows all columns.
type Fields = BTreeMap<String, DataValue>;

/// All tables of a comparison. `records` are those that it was made from; they add counters and remarks to the trials.
///
/// # Errors
/// None that a comparison of this program can cause: its JSON could not be made.
pub fn tables(comparison: &Comparison, records: &[RunRecord]) -> Result<Vec<DataTable>, serde_json::Error> {
    let mut rest = serde_json::to_value(comparison)?;
    let [mut trials, mut points, mut kinds, mut verdicts, mut prices] = [const { Vec::new() }; 5];
    for (i, mut w) in taken(&mut rest, "workloads").into_iter().enumerate() {
        let workload = w["workload"].clone();
        let unit = comparison.workloads.get(i).map_or(Value::Null, |w| json!(w.metric.label));
        let head = json!({ "workload": workload, "metric": unit });
        for mut point in taken(&mut w, "points") {
            trials.extend(trials_of(&head, &mut point, records));
            let at = json!({ "contender": point["contender"], "level": point["level"] });
            kinds.extend(taken(&mut point, "kinds").iter().map(|kind| fields(&[&head, &at, kind])));
            points.push(fields(&[&head, &point]));
        }
        for mut contender in taken(&mut w, "contenders") {
            let who = json!({ "contender": contender["contender"] });
            prices.extend(taken(&mut contender, "price").iter().map(|price| fields(&[&head, &who, price])));
            verdicts.push(fields(&[&head, &contender]));
        }
        if let Some(kept) = rest["workloads"].as_array_mut() {
            kept.push(w);
        }
    }
    for mut overall in taken(&mut rest, "overall") {
        let head = json!({ "workload": "all workloads", "contender": overall["contender"] });
        let weights = taken(&mut overall, "weights").into_iter().filter_map(|w| Some((w[0].as_str()?.to_owned(), w[1].clone())));
        overall["weights"] = Value::Object(weights.collect());
        prices.extend(taken(&mut overall, "price").iter().map(|price| fields(&[&head, price])));
        verdicts.push(fields(&[&head, &overall]));
    }
    let mut bills = Vec::new();
    for mut bill in taken(&mut rest, "bills") {
        let lines = taken(&mut bill, "lines");
        bills.extend(lines.iter().map(|line| fields(&[&bill, line])));
    }
    let note = |(what, value): (String, DataValue)| {
        Fields::from([("what".to_owned(), DataValue::Text(what)), ("value".to_owned(), value)])
    };
    let notes = explained().into_iter().chain(fields(&[&rest])).map(note).collect();
    let all = [
        ("trials", trials),
        ("points", points),
        ("kinds", kinds),
        ("verdicts", verdicts),
        ("prices", prices),
        ("bills", bills),
        ("notes", notes),
    ];
    // Many workloads have one kind of transaction.
    let all = all.into_iter().filter(|(name, rows)| *name != "kinds" || !rows.is_empty());
    Ok(all.map(|(name, rows)| table(name, rows)).collect())
}

/// How to read the columns.
fn explained() -> Vec<(String, DataValue)> {
    let say = |what: &str, text: &str| (what.to_owned(), DataValue::Text(text.to_owned()));
    vec![
        say("columns", "named as in the JSON of perbuck compare --json; docs/schema/comparison.schema.json describes them"),
        say("units", "values are in the unit of the column metric; _ns is nanoseconds, _usd is US dollars, _ms is milliseconds"),
    ]
}

/// An array out of an object, which keeps an empty one.
fn taken(of: &mut Value, name: &str) -> Vec<Value> {
    match of.get_mut(name).map(Value::take) {
        Some(Value::Array(list)) => {
            of[name] = json!([]);
            list
        }
        _ => Vec::new(),
    }
}

/// The trials of a point: their values, and what their records say of them.
fn trials_of(head: &Value, point: &mut Value, records: &[RunRecord]) -> Vec<Fields> {
    let (values, positions) = (taken(point, "values"), taken(point, "positions"));
    let at = json!({ "contender": point["contender"], "level": point["level"] });
    let outliers = taken(point, "outliers");
    let one = |(i, value): (usize, &Value)| {
        let position = positions.get(i).cloned().unwrap_or(Value::Null);
        let record = records.iter().find(|r| {
            let key = &r.key;
            let named = head["workload"] == *key.workload && at["contender"] == *key.contender && at["level"] == key.level();
            named && position["deployment"] == key.deployment() && position["trial"] == key.trial
        });
        let outlier = outliers.iter().find(|o| o["position"] == position).cloned();
        let known = record.map_or(Value::Null, facts);
        fields(&[head, &at, &position, &json!({ "value": value, "outlier": outlier }), &known])
    };
    values.iter().enumerate().map(one).collect()
}

/// What the record of a trial says of it.
fn facts(r: &RunRecord) -> Value {
    let counted = |of: fn(&TransactionRecord) -> u64| r.measured.transactions.values().map(of).sum::<u64>();
    let flags: Vec<String> = r.flags.iter().map(Flag::text).collect();
    let mut out = json!({
        "record": r.path(),
        "position": r.position,
        "started_unix_ms": r.started_unix_ms,
        "connections": r.load.connections,
        "rate_per_s": r.load.rate_per_s,
        "window_ns": r.measured.window_ns,
        "completed": counted(TransactionRecord::completed),
        "failed": counted(|t| t.failed),
        "retries": r.measured.retries,
        "server_cpu_ns": r.target.server_cpu_ns,
        "client_cpu_ns": r.health.client_user_ns + r.health.client_system_ns,
        "flags": flags.len(),
        "flag_texts": flags.join("; "),
    });
    if let Ok(latency) = r.latency() {
        let at = |p: f64| latency.percentile_ns(p);
        out["latency"] = json!({ "p50_ns": at(50.0), "p95_ns": at(95.0), "p99_ns": at(99.0), "max_ns": latency.max_ns() });
    }
    out
}

/// Some objects as the fields of one row.
fn fields(objects: &[&Value]) -> Fields {
    let mut out = Fields::new();
    objects.iter().filter_map(|o| o.as_object()).for_each(|o| flatten(&mut out, "", o));
    out
}

fn flatten(out: &mut Fields, before: &str, object: &Map<String, Value>) {
    object.iter().for_each(|(name, value)| leaf(out, &format!("{before}{name}"), value));
}

fn leaf(out: &mut Fields, name: &str, value: &Value) {
    match value {
        Value::Null => {}
        Value::Object(inner) => flatten(out, &format!("{name}."), inner),
        Value::Array(list) => list.iter().enumerate().for_each(|(i, inner)| leaf(out, &format!("{name}.{i}"), inner)),
        Value::Bool(yes) => drop(out.insert(name.to_owned(), DataValue::Truth(*yes))),
        Value::String(text) => drop(out.insert(name.to_owned(), DataValue::Text(clean(text)))),
        Value::Number(n) => {
            let money = name.rsplit('.').next().is_some_and(|last| MONEY.contains(&last));
            match n.as_i64().filter(|_| money) {
                Some(micros) => out.insert(format!("{name}_usd"), DataValue::Usd(MicroUsd(micros))),
                None => out.insert(name.to_owned(), DataValue::Number(n.clone())),
            };
        }
    }
}

fn table(name: &'static str, rows: Vec<Fields>) -> DataTable {
    let columns = ordered(rows.iter().flat_map(BTreeMap::keys));
    let row = |mut fields: Fields| columns.iter().map(|c| fields.remove(c).unwrap_or(DataValue::Empty)).collect();
    let rows = rows.into_iter().map(row).collect();
    DataTable { name, columns, rows }
}

/// Each name once, in the order of columns.
fn ordered<'n>(names: impl Iterator<Item = &'n String>) -> Vec<String> {
    let distinct: BTreeSet<&String> = names.collect();
    let rank = |name: &str| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
    let mut columns: Vec<String> = distinct.into_iter().cloned().collect();
    columns.sort_by_key(|name| rank(name));
    columns
}

/// All tables as one CSV file (RFC 4180). The first column names the table; a column that a table lacks stays empty there.
pub fn csv(tables: &[DataTable]) -> String {
    let columns = ordered(tables.iter().flat_map(|t| &t.columns));
    let mut out = line(std::iter::once("table".to_owned()).chain(columns.iter().map(|c| harmless(c))));
    for t in tables {
        let at: Vec<Option<usize>> = columns.iter().map(|c| t.columns.iter().position(|own| own == c)).collect();
        for row in &t.rows {
            let cells = at.iter().map(|i| i.map_or_else(String::new, |i| row[i].csv()));
            out += &line(std::iter::once(t.name.to_owned()).chain(cells));
        }
    }
    out
}

fn line(cells: impl Iterator<Item = String>) -> String {
    cells.map(|c| quoted(&c)).collect::<Vec<_>>().join(",") + "\r\n"
}

impl DataValue {
    /// As it stands in a CSV file. A text that a spreadsheet would take for a formula gets an apostrophe before it.
    fn csv(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Text(text) => harmless(text),
            Self::Number(n) => n.to_string(),
            Self::Usd(money) => dollars(*money),
            Self::Truth(yes) => yes.to_string(),
        }
    }
}

/// Dollars with as many decimals as the amount has: `2117.468`.
fn dollars(money: MicroUsd) -> String {
    let (sign, micros) = (if money.0 < 0 { "-" } else { "" }, money.0.unsigned_abs());
    let text = format!("{sign}{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_exact() {
        let cases =
            [(2_117_468_000, "2117.468"), (-1, "-0.000001"), (0, "0"), (10_000_000, "10"), (i64::MAX, "9223372036854.775807")];
        for (micros, text) in cases {
            assert_eq!(dollars(MicroUsd(micros)), text);
        }
    }

    #[test]
    fn every_leaf_of_an_object_is_a_field() {
        let object = json!({ "a": { "low": 1.5, "monthly": 2_500_000 }, "list": [true, { "x": "=1" }], "none": null });
        let expected = [
            ("a.low", DataValue::Number(Number::from_f64(1.5).unwrap())),
            ("a.monthly_usd", DataValue::Usd(MicroUsd(2_500_000))),
            ("list.0", DataValue::Truth(true)),
            ("list.1.x", DataValue::Text("=1".to_owned())),
        ];
        assert_eq!(fields(&[&object]), expected.map(|(name, value)| (name.to_owned(), value)).into());
    }

    #[test]
    fn one_file_holds_all_tables_and_no_formula() {
        let row = |pairs: &[(&str, DataValue)]| pairs.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect::<Fields>();
        let text = |t: &str| DataValue::Text(t.to_owned());
        let tables = [
            table("points", vec![row(&[("mean", DataValue::Number(5.into())), ("contender", text("=cmd|'/C calc'!A0"))])]),
            table("bills", vec![row(&[("monthly_usd", DataValue::Usd(MicroUsd(-1_500_000))), ("item", text("a,\"b\""))])]),
        ];
        let expected =
            "table,contender,mean,monthly_usd,item\r\npoints,'=cmd|'/C calc'!A0,5,,\r\nbills,,,-1.5,\"a,\"\"b\"\"\"\r\n";
        assert_eq!(csv(&tables), expected);
    }
}
