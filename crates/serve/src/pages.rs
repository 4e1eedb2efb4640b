//! The pages: a list of studies, one study, one that runs.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use perbuck_report::html::STYLE;

use super::find::Found;
use super::http::encoded;
use super::summary::Summaries;
use super::watch;

/// A page around its content.
pub(super) fn shell(title: &str, content: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · perbuck" }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    nav aria-label="Pages" {
                        ul {
                            li { a href="/" { "Studies" } }
                            li { a href="/compare" { "Compare two trials" } }
                            li { a href="/studies" { "Compare two studies" } }
                        }
                    }
                    h1 { (title) }
                    (content)
                }
            }
        }
    };
    page.into_string()
}

pub(super) fn link(page: &str, study: &str, text: &str) -> Markup {
    html! { a href={ "/" (page) "?study=" (encoded(study)) } { (text) } }
}

pub(super) fn table(caption: &str, heads: &[&str], rows: &[Vec<Markup>]) -> Markup {
    html! {
        div.scroll role="group" aria-label=(caption) tabindex="0" {
            table {
                caption { (caption) }
                thead { tr { @for head in heads { th scope="col" { (head) } } } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (i, cell) in row.iter().enumerate() {
                                // A group that is named above has no name here, and no header may be empty.
                                @if i == 0 && !cell.0.is_empty() { th scope="row" { (cell) } } @else { td { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn cell(text: &str) -> Markup {
    html! { (text) }
}

/// A form that lets choose two of some things; each has its name, its label, and what is chosen now.
pub(super) fn choice(action: &str, both: [(&str, &str, &str); 2], values: &[&str]) -> Markup {
    html! {
        form action=(action) method="get" {
            @for (name, label, chosen) in both {
                p {
                    label {
                        (label) " "
                        select name=(name) {
                            @for value in values {
                                option value=(value) selected[*value == chosen] { (value) }
                            }
                        }
                    }
                }
            }
            p { button { "Compare" } }
        }
    }
}

pub(super) fn index(found: &[Found], summaries: &Summaries) -> String {
    let row = |f: &Found| {
        let (records, planned) = (f.records().len(), f.planned());
        let trials = match planned {
            _ if f.page.is_some() => "published numbers".to_owned(),
            Some(n) => format!("{records} of {n}"),
            None => format!("{records}"),
        };
        let state = match () {
            () if f.page.is_some() => cell("replay"),
            () if watch::runs(&f.folder) => link("live", &f.name, "running now"),
            () if f.study.is_none() => cell("its study.toml cannot be read"),
            () if planned.is_some_and(|n| records >= n) => cell("complete"),
            () => cell("incomplete"),
        };
        let question = f.study.as_ref().map_or("", |s| s.question.as_str());
        let summary = (records > 0).then(|| summaries.of(f));
        let said = match summary.as_deref().map(|s| &s.answer) {
            Some(Ok(answer)) => html! { strong { (answer.text) } },
            Some(Err(why)) => html! { "No answer yet: " (why) },
            None => cell("–"),
        };
        let asked = html! { @if !question.is_empty() { p { (question) } } (said) };
        let report = if records > 0 || f.page.is_some() { link("report", &f.name, "report") } else { cell("–") };
        vec![link("study", &f.name, f.title()), asked, cell(&trials), state, report]
    };
    let rows: Vec<Vec<Markup>> = found.iter().map(row).collect();
    shell("Studies", &table("Studies in this folder", &["Study", "Question and answer", "Trials", "State", "Report"], &rows))
}

/// A study while it runs; `live.js` fills it.
pub(super) fn live(f: &Found) -> String {
    let panel = |id: &str, title: &str| {
        html! {
            div.panel {
                p.panel-title { (title) ": " span id={ (id) "-now" } { "–" } }
                // The program draws it, and the script puts it here.
                div id=(id) {}
            }
        }
    };
    let content = html! {
        div id="live" data-study=(encoded(&f.name)) {
            dl.facts {
                div { dt { "State" } dd { span id="state" role="status" { "loading" } } }
                div { dt { "Now" } dd id="doing" { "–" } }
                div {
                    dt { "This trial" }
                    dd { progress id="part" max="1" value="0" aria-label="Part of the trial" {} " " span id="phase" { "–" } }
                }
                div {
                    dt { "Progress" }
                    dd { progress id="progress" max="1" value="0" aria-label="Trials done" {} " " span id="trials" { "–" } }
                }
                div { dt { "Time left, about" } dd id="left" { "–" } }
            }
            div.panels {
                (panel("throughput", "Transactions per second"))
                (panel("p95_ms", "95th percentile of latency, ms"))
                (panel("errors", "Errors per second"))
            }
            h2 { "Finished in this run" }
            ul id="done" {}
            p { (link("report", &f.name, "The report so far")) }
        }
        script src="/live.js" defer {}
    };
    shell(&format!("{}: live", f.title()), &content)
}

pub(super) fn note(text: &str) -> Markup {
    html! { p.note { (text) } }
}

pub(super) fn failed(f: &Found, why: &str) -> String {
    shell(f.title(), &note(&format!("There is no report yet: {why}")))
}
