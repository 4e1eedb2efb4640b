//! `perbuck report --format`: the files for other programs hold the numbers of the comparison, each as it is.

use std::collections::BTreeMap;

use crate::common::{Desk, edited};
use calamine::{Data, Reader, Xlsx};
use perbuck_core::run_record::RunRecord;
use serde_json::{Value, json};

/// A cell as a program reads it.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Number(f64),
    Text(String),
}

/// A row by the names of its columns, without empty cells.
type Row = BTreeMap<String, Cell>;

/// What a CSV file holds, by table.
fn of_csv(text: &str) -> BTreeMap<String, Vec<Row>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let heads = reader.headers().unwrap().clone();
    let mut tables: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for record in reader.records() {
        let record = record.unwrap();
        let cell = |text: &str| text.parse().map_or_else(|_| Cell::Text(text.to_owned()), Cell::Number);
        let filled = heads.iter().zip(&record).skip(1).filter(|(_, text)| !text.is_empty());
        tables.entry(record[0].to_owned()).or_default().push(filled.map(|(h, text)| (h.to_owned(), cell(text))).collect());
    }
    tables
}

/// What a workbook holds, by sheet.
fn of_xlsx(bytes: Vec<u8>) -> BTreeMap<String, Vec<Row>> {
    let mut book: Xlsx<_> = calamine::open_workbook_from_rs(std::io::Cursor::new(bytes)).unwrap();
    let cell = |data: &Data| match data {
        Data::Empty => None,
        Data::Float(number) => Some(Cell::Number(*number)),
        Data::String(text) => Some(Cell::Text(text.clone())),
        Data::Bool(yes) => Some(Cell::Text(yes.to_string())),
        other => panic!("{other:?} is neither number nor text"),
    };
    let mut tables = BTreeMap::new();
    for name in book.sheet_names() {
        let range = book.worksheet_range(&name).unwrap();
        let heads: Vec<String> = range.headers().unwrap_or_default();
        let row = |filled: &[Data]| heads.iter().cloned().zip(filled).filter_map(|(h, c)| Some((h, cell(c)?))).collect();
        let rows: Vec<Row> = range.rows().skip(1).map(row).collect();
        if !rows.is_empty() {
            tables.insert(name, rows);
        }
    }
    tables
}

/// Each value of some JSON by its path. Money is in dollars.
fn leaves(before: &str, value: &Value, out: &mut Row) {
    let money = ["monthly", "total", "unit_price"].contains(&before.rsplit('.').next().unwrap());
    let path = |name: &str| if before.is_empty() { name.to_owned() } else { format!("{before}.{name}") };
    match value {
        Value::Null => {}
        Value::Object(fields) => fields.iter().for_each(|(name, v)| leaves(&path(name), v, out)),
        Value::Array(list) => list.iter().enumerate().for_each(|(i, v)| leaves(&path(&i.to_string()), v, out)),
        Value::Number(n) if money => drop(out.insert(format!("{before}_usd"), Cell::Number(n.as_i64().unwrap() as f64 / 1e6))),
        Value::Number(n) => drop(out.insert(before.to_owned(), Cell::Number(n.as_f64().unwrap()))),
        Value::String(text) => drop(out.insert(before.to_owned(), Cell::Text(text.clone()))),
        Value::Bool(yes) => drop(out.insert(before.to_owned(), Cell::Text(yes.to_string()))),
    }
}

/// The only row of a table in which these stand; it holds every value of the JSON.
fn holds(rows: &[Row], key: &Value, value: &Value) {
    let (mut wanted, mut all) = (Row::new(), Row::new());
    leaves("", key, &mut wanted);
    leaves("", value, &mut all);
    let found: Vec<&Row> = rows.iter().filter(|row| wanted.iter().all(|(name, cell)| row.get(name) == Some(cell))).collect();
    assert_eq!(found.len(), 1, "{wanted:?}");
    for (name, cell) in all.iter().filter(|(_, cell)| **cell != Cell::Text(String::new())) {
        assert_eq!(found[0].get(name), Some(cell), "{name} of {wanted:?}");
    }
}

fn taken(of: &mut Value, name: &str) -> Vec<Value> {
    of.as_object_mut().unwrap().insert(name.to_owned(), json!([])).map_or(Vec::new(), |v| v.as_array().unwrap().clone())
}

/// Asserts that the tables hold everything that the comparison says; returns how many trials they hold.
fn hold(tables: &BTreeMap<String, Vec<Row>>, mut comparison: Value) -> usize {
    let rows = |name: &str| tables.get(name).map_or(&[][..], Vec::as_slice);
    let mut trials = 0;
    let mut workloads = taken(&mut comparison, "workloads");
    for w in &mut workloads {
        let name = w["workload"].clone();
        for mut point in taken(w, "points") {
            let key = json!({ "workload": name, "contender": point["contender"], "level": point["level"] });
            let (values, positions) = (taken(&mut point, "values"), taken(&mut point, "positions"));
            for (i, value) in values.iter().enumerate() {
                let at = positions.get(i).cloned().unwrap_or(json!({}));
                let mut key = key.clone();
                key.as_object_mut().unwrap().extend(at.as_object().unwrap().clone());
                holds(rows("trials"), &key, &json!({ "value": value }));
                trials += 1;
            }
            for outlier in taken(&mut point, "outliers") {
                let mut key = key.clone();
                key.as_object_mut().unwrap().extend(outlier["position"].as_object().unwrap().clone());
                holds(rows("trials"), &key, &json!({ "outlier": outlier }));
            }
            for kind in point.get("kinds").is_some().then(|| taken(&mut point, "kinds")).into_iter().flatten() {
                let mut key = key.clone();
                key["kind"] = kind["kind"].clone();
                holds(rows("kinds"), &key, &kind);
            }
            holds(rows("points"), &key, &point);
        }
        for mut contender in taken(w, "contenders") {
            let key = json!({ "workload": name, "contender": contender["contender"] });
            for price in taken(&mut contender, "price") {
                let mut key = key.clone();
                key["region"] = price["region"].clone();
                holds(rows("prices"), &key, &price);
            }
            holds(rows("verdicts"), &key, &contender);
        }
    }
    for mut overall in taken(&mut comparison, "overall") {
        let (key, who) =
            (json!({ "workload": "all workloads", "contender": overall["contender"] }), overall["contender"].clone());
        for price in taken(&mut overall, "price") {
            holds(rows("prices"), &json!({ "workload": "all workloads", "contender": who, "region": price["region"] }), &price);
        }
        let weights = taken(&mut overall, "weights").into_iter().map(|w| (w[0].as_str().unwrap().to_owned(), w[1].clone()));
        overall["weights"] = Value::Object(weights.collect());
        holds(rows("verdicts"), &key, &overall);
    }
    for mut bill in taken(&mut comparison, "bills") {
        for line in taken(&mut bill, "lines") {
            let key = json!({ "contender": bill["contender"], "region": bill["region"], "item": line["item"], "sku": line["sku"], "formula": line["formula"] });
            holds(rows("bills"), &key, &line);
            holds(rows("bills"), &key, &bill);
        }
    }
    comparison["workloads"] = json!(workloads);
    let mut rest = Row::new();
    leaves("", &comparison, &mut rest);
    for (what, value) in rest.iter().filter(|(_, cell)| **cell != Cell::Text(String::new())) {
        let note = rows("notes").iter().find(|row| row.get("what") == Some(&Cell::Text(what.clone())));
        assert_eq!(note.and_then(|n| n.get("value")), Some(value), "{what}");
    }
    trials
}

#[test]
fn csv_and_workbook_hold_every_number_of_the_comparison() {
    let desk = Desk::new();
    desk.write("s.toml", &edited(&[("[1, 2]", "[1]"), ("trials = 2", "trials = 6")]));
    desk.good(&["run", "s.toml"]);
    // A trial that did the same in a thousandth of the time is an outlier for certain.
    let fast = desk.path("results/small/off/rw/c00001/003.json");
    let mut record = RunRecord::from_json(&std::fs::read_to_string(&fast).unwrap()).unwrap();
    record.measured.window_ns /= 1000;
    std::fs::write(&fast, record.to_json().unwrap()).unwrap();
    let comparison: Value = serde_json::from_str(&desk.good(&["compare", "results/small", "--json"]).out).unwrap();
    let said = desk.good(&["report", "results/small", "-o", "out", "--format", "csv,xlsx"]).out;
    assert_eq!(said, "out/report.csv\nout/report.xlsx\n");
    let (csv, xlsx) = (of_csv(&desk.read("out/report.csv")), of_xlsx(std::fs::read(desk.path("out/report.xlsx")).unwrap()));
    assert_eq!(
        csv.keys().collect::<Vec<_>>(),
        ["bills", "notes", "points", "prices", "trials", "verdicts"].iter().collect::<Vec<_>>()
    );
    for tables in [&csv, &xlsx] {
        assert_eq!(hold(tables, comparison.clone()), 12);
        // What a record says beside the comparison.
        for record in desk.records("results/small") {
            let latency = record.latency().unwrap();
            let known = json!({ "started_unix_ms": record.started_unix_ms, "flags": record.flags.len(),
                "latency": { "p95_ns": latency.percentile_ns(95.0), "max_ns": latency.max_ns() } });
            holds(&tables["trials"], &json!({ "record": record.key.path() }), &known);
        }
    }
    assert!(comparison.to_string().contains("\"modified_z\""), "there is an outlier: {comparison:#}");
    let mut changed = comparison;
    changed["workloads"][0]["points"][0]["latency"]["p95_ns"] = json!(1);
    assert!(std::panic::catch_unwind(|| hold(&csv, changed)).is_err(), "a wrong number is seen");
    // Nothing but what was asked for, and the same bytes again.
    let before = std::fs::read(desk.path("out/report.xlsx")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    desk.good(&["report", "results/small", "-o", "out", "--format", "xlsx"]);
    assert!(before == std::fs::read(desk.path("out/report.xlsx")).unwrap(), "the clock is not in the workbook");
    let mut all = Vec::new();
    crate::common::files(&desk.path("out"), &mut all);
    assert_eq!(all.len(), 2, "{all:?}");
}

#[test]
fn a_published_study_has_its_files_and_a_wrong_format_is_named() {
    let desk = Desk::new();
    desk.write("s.toml", include_str!("../../../../studies/published/tidb-eks-arm-2021.toml"));
    let said = desk.good(&["replay", "s.toml", "-o", "r", "--format", "xlsx", "--format", "csv,json,md,brief"]).out;
    assert!(said.ends_with("\nr/brief.html\nr/report.md\nr/report.csv\nr/report.xlsx\nr/report.json\n"), "{said}");
    let model: Value = serde_json::from_str(&desk.read("r/report.json")).unwrap();
    assert_eq!(model, serde_json::from_str::<Value>(&desk.good(&["replay", "s.toml", "--json"]).out).unwrap());
    let comparison: Value = serde_json::from_str(model["data"].as_str().unwrap()).unwrap();
    for tables in [of_csv(&desk.read("r/report.csv")), of_xlsx(std::fs::read(desk.path("r/report.xlsx")).unwrap())] {
        assert!(hold(&tables, comparison.clone()) > 10);
    }
    let brief = desk.read("r/brief.html").replace('\u{a0}', " ");
    let answer = model["brief"]["answer"]["text"].as_str().unwrap();
    assert!(brief.matches(answer).count() >= 2 && !brief.contains("<details") && !brief.contains("href=\"#"), "{brief}");
    assert!(brief.contains("<meta property=\"og:description\" content=\""), "{brief}");
    let picture = std::fs::read(desk.path("r/figures/throughput-1.png")).unwrap();
    assert_eq!(picture[16..24], [0, 0, 6, 64, 0, 0, 3, 132], "1600 by 900 pixels");
    assert!(!desk.path("r/report.html").exists());
    let wrong = desk.perbuck(&["replay", "s.toml", "--format", "pdf"]);
    assert!(
        wrong.code == Some(2) && wrong.err.contains("pdf") && wrong.err.contains("full, brief, md, csv, xlsx, json"),
        "{wrong:#?}"
    );
}
