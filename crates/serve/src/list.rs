//! The trials of a study as a table that is sorted by its headings. A heading is a link, so it needs no script.

use std::cmp::Ordering;

use maud::{Markup, html};
use perbuck_core::units::{duration_text, thousands};

use super::find::Found;
use super::http::encoded;
use super::pages::{cell, link, shell};
use super::summary::{Summary, Trial};

/// Trials that a list shows; the rest is a number.
const LISTED: usize = 1000;

/// How two trials stand to each other.
type Order = fn(&Trial, &Trial) -> Ordering;

/// A column: its word in the address, its heading, whether it holds numbers, and its order.
type Column = (&'static str, &'static str, bool, Order);

const COLUMNS: [Column; 7] = [
    ("contender", "Contender", false, |a, b| a.key.contender.cmp(&b.key.contender)),
    ("workload", "Workload", false, |a, b| a.key.workload.cmp(&b.key.workload)),
    ("level", "Load", true, |a, b| a.key.level().cmp(&b.key.level())),
    ("trial", "Trial", true, |a, b| (a.key.deployment(), a.key.trial).cmp(&(b.key.deployment(), b.key.trial))),
    ("throughput", "Throughput", true, |a, b| a.value.total_cmp(&b.value)),
    ("p95", "p95", true, |a, b| a.p95_ns.cmp(&b.p95_ns)),
    ("flags", "Flags", true, |a, b| a.flags.len().cmp(&b.flags.len())),
];

/// The page of a study. `sort` is the word of a column, with `-` before it for the largest first.
pub(super) fn study(f: &Found, summary: &Summary, sort: &str) -> String {
    let content = html! {
        @if let Some(study) = &f.study {
            @if !study.question.is_empty() { p { (study.question) } }
        }
        (answer(summary))
        @if let Some(study) = &f.study {
            p { "Contenders: " (study.contenders.iter().map(|c| c.label.as_str()).collect::<Vec<_>>().join(", ")) }
        }
        ul {
            li { (link("report", &f.name, "Open the report")) }
            li { (link("live", &f.name, "Follow it while it runs")) }
            li { a href={ "/studies?new=" (encoded(&f.name)) } { "Compare it with an older study" } }
        }
        @if summary.trials.len() > LISTED {
            p { "The first " (LISTED) " of " (summary.trials.len()) " trials in this order; the report has all." }
        }
        (trials(f, &summary.trials, sort))
    };
    shell(f.title(), &content)
}

/// The answer of a study in its colour, or why there is none.
fn answer(summary: &Summary) -> Markup {
    match &summary.answer {
        Ok(answer) => html! { p class={ "answer " (answer.tone.class()) } { (cell(&answer.text)) } },
        Err(why) => html! { p.note { "No answer yet: " (why) } },
    }
}

fn trials(f: &Found, trials: &[Trial], sort: &str) -> Markup {
    let (word, falling) = sort.strip_prefix('-').map_or((sort, false), |word| (word, true));
    let mut rows: Vec<&Trial> = trials.iter().collect();
    if let Some((_, _, _, order)) = COLUMNS.iter().find(|(name, ..)| *name == word) {
        // Stable: equal ones keep the order of their paths.
        rows.sort_by(|a, b| if falling { order(b, a) } else { order(a, b) });
    }
    let caption = format!("{} trials on disk", trials.len());
    html! {
        div.scroll role="group" aria-label=(caption) tabindex="0" {
            table {
                caption { (caption) }
                thead {
                    tr {
                        th scope="col" { "Record" }
                        @for (name, head, numeric, _) in COLUMNS { (heading(f, (name, head, numeric), (word, falling))) }
                    }
                }
                tbody { @for t in rows.into_iter().take(LISTED) { (row(f, t)) } }
            }
        }
    }
}

/// A heading that sorts by its column; numbers with the largest first, and the other way round at the second time.
fn heading(f: &Found, (name, head, numeric): (&str, &str, bool), (word, falling): (&str, bool)) -> Markup {
    let chosen = word == name;
    let next = if chosen { !falling } else { numeric };
    let at = format!("/study?study={}&sort={}{name}", encoded(&f.name), if next { "-" } else { "" });
    let sorted = chosen.then_some(if falling { "descending" } else { "ascending" });
    let mark = if falling { " ▼" } else { " ▲" };
    // Flags are counted, but read as text.
    let right = numeric && name != "flags";
    html! {
        th scope="col" class=[right.then_some("n")] aria-sort=[sorted] {
            a href=(at) { (head) @if chosen { span aria-hidden="true" { (mark) } } }
        }
    }
}

fn row(f: &Found, t: &Trial) -> Markup {
    let at = format!("/trial?study={}&trial={}", encoded(&f.name), encoded(&t.path));
    let load = match t.key.rate_per_s {
        Some(rate) => format!("{}/s", thousands(u64::from(rate))),
        None => thousands(u64::from(t.key.connections)),
    };
    let trial = t.key.deployment.map_or_else(|| t.key.trial.to_string(), |d| format!("{d}-{}", t.key.trial));
    html! {
        tr {
            th scope="row" { a href=(at) { (t.path.trim_end_matches(".json")) } }
            td { (t.key.contender) }
            td { (t.key.workload) }
            td.n { (load) }
            td.n { (trial) }
            td.n { (value(t.value)) " " (t.unit) }
            td.n { (t.p95_ns.map_or_else(|| "–".to_owned(), duration_text)) }
            td { @if t.flags.is_empty() { "–" } @else { (t.flags.len()) ": " (t.flags.join("; ")) } }
        }
    }
}

/// A value with as many decimals as it needs beside others of its size.
fn value(value: f64) -> String {
    if value >= 100.0 { thousands(value.round() as u64) } else { format!("{value:.2}") }
}
