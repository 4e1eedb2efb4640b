//! One trial, and two side by side.

use std::collections::BTreeSet;

use maud::{Markup, PreEscaped, html};
use perbuck_core::run_record::{Flag, RunRecord, TransactionRecord};
use perbuck_core::units::{duration_text, thousands};
use perbuck_lab::stored::read_record;
use perbuck_report::trial::drawings;

use super::find::Found;
use super::http::encoded;
use super::machines;
use super::pages::{cell, choice, link, note, shell, table};
use super::summary::Summaries;

/// Trials that can be chosen from.
const CHOICE: usize = 2000;

/// A page about a trial; `None` where the study has none of that name.
pub(super) fn one(f: &Found, summaries: &Summaries, name: &str) -> Option<String> {
    let record = record_of(f, name)?;
    let rows: Vec<Vec<Markup>> = facts(&record).into_iter().map(|(what, value)| vec![cell(&what), cell(&value)]).collect();
    let content = html! {
        p {
            (link("study", &f.name, "All trials of the study")) " · "
            a href={ "/compare?a=" (encoded(&id(f, name))) } { "Compare it with another trial" }
        }
        div.panels {
            @for (title, drawing) in drawings(&record) {
                div.panel { p.panel-title { (title) } (PreEscaped(drawing)) }
            }
        }
        (table("The trial", &["What", "Value"], &rows))
        (machines::section(f, &summaries.of(f), (name, &record)))
    };
    Some(shell(&record.key.title(), &content))
}

/// The record of a name that the study has.
pub(super) fn record_of(f: &Found, name: &str) -> Option<RunRecord> {
    // The name is one of those that were found, never a path out of the address.
    let known = f.records().into_iter().find(|r| r == name)?;
    read_record(&f.folder.join(known)).ok()
}

/// How an address names a trial of any study.
fn id(f: &Found, record: &str) -> String {
    format!("{}::{record}", f.name)
}

fn by_id(found: &[Found], id: &str) -> Option<RunRecord> {
    let (study, record) = id.split_once("::")?;
    record_of(found.iter().find(|f| f.name == study)?, record)
}

/// A page that compares two trials, or lets choose them.
pub(super) fn two(found: &[Found], a: &str, b: &str) -> String {
    let ids: Vec<String> = found.iter().flat_map(|f| f.records().into_iter().map(|r| id(f, &r)).collect::<Vec<_>>()).collect();
    let compared = match (by_id(found, a), by_id(found, b)) {
        (Some(a), Some(b)) => side_by_side(&a, &b),
        _ if !a.is_empty() && !b.is_empty() => note("One of these trials is not there."),
        _ => Markup::default(),
    };
    let names: Vec<&str> = ids.iter().take(CHOICE).map(String::as_str).collect();
    let both = [("a", "First trial", a), ("b", "Second trial", b)];
    let content = html! {
        (choice("/compare", both, &names))
        @if ids.len() > CHOICE {
            p { "The first " (CHOICE) " of " (ids.len()) " trials can be chosen here." }
        }
        (compared)
    };
    shell("Compare two trials", &content)
}

fn side_by_side(a: &RunRecord, b: &RunRecord) -> Markup {
    let (left, right) = (facts(a), facts(b));
    let names: Vec<String> = left.iter().chain(&right).map(|f| f.0.clone()).collect();
    let mut seen = BTreeSet::new();
    let value = |facts: &[(String, String)], name: &str| {
        facts.iter().find(|f| f.0 == name).map_or_else(|| "–".to_owned(), |f| f.1.clone())
    };
    let row = |name: String| {
        let (l, r) = (value(&left, &name), value(&right, &name));
        let mark = if l == r { "" } else { "differs" };
        vec![cell(&name), cell(&l), cell(&r), cell(mark)]
    };
    let rows: Vec<Vec<Markup>> = names.into_iter().filter(|n| seen.insert(n.clone())).map(row).collect();
    let metric = a.workload.metric.metric();
    let (x, y) = (a.metric(metric), b.metric(metric));
    let ratio = if metric == b.workload.metric.metric() && x > 0.0 {
        format!("The second gives {:.3} times the {} of the first. ", y / x, metric.label)
    } else {
        String::new()
    };
    let warning = format!(
        "{ratio}This compares one trial with one other trial. Without repeats there is no interval and no verdict. The report of a study \
         has both."
    );
    html! {
        (note(&warning))
        (table("Side by side", &["What", &a.key.title(), &b.key.title(), "Difference"], &rows))
    }
}

/// What a trial was and gave, as name and value.
fn facts(r: &RunRecord) -> Vec<(String, String)> {
    let metric = r.workload.metric.metric();
    let mut out = vec![
        ("Metric".to_owned(), format!("{:.1} {}", r.metric(metric), metric.label)),
        ("Completed".to_owned(), thousands(r.measured.transactions.values().map(TransactionRecord::completed).sum())),
        ("Failed".to_owned(), thousands(r.measured.transactions.values().map(|t| t.failed).sum())),
        ("Retries".to_owned(), thousands(r.measured.retries)),
        ("Window".to_owned(), duration_text(r.measured.window_ns)),
    ];
    if let Ok(latency) = r.latency() {
        for p in [50.0, 95.0, 99.0, 99.9] {
            out.extend(latency.percentile_ns(p).map(|ns| (format!("p{p}"), duration_text(ns))));
        }
        out.push(("Maximum".to_owned(), duration_text(latency.max_ns())));
    }
    out.extend(r.imported.as_ref().map(|imported| ("Log".to_owned(), imported.text())));
    let flags: Vec<String> = r.flags.iter().map(Flag::text).collect();
    out.push(("Remarks".to_owned(), if flags.is_empty() { "none".to_owned() } else { flags.join("; ") }));
    for (name, value) in [
        ("Target", &r.target.address),
        ("Version", &r.target.version),
        ("Processor of the client", &r.host.cpu_model),
        ("System of the client", &r.host.os),
        ("Data", &r.workload.data),
    ] {
        out.push((name.to_owned(), value.clone()));
    }
    let agents: Vec<&str> = r.agents.iter().map(|agent| agent.name.as_str()).collect();
    if !agents.is_empty() {
        out.push(("Agents".to_owned(), agents.join(", ")));
    }
    out.push(("Connections".to_owned(), r.load.connections.to_string()));
    out.extend(r.workload.parameters.iter().map(|(n, v)| (format!("parameter {n}"), v.clone())));
    out.extend(r.target.variables.iter().map(|(n, v)| (format!("setting {n}"), v.clone())));
    out
}
