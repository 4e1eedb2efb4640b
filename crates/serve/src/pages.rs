//! The pages: a list of studies, one study, one that runs.

use std::fmt::Write as _;

use perbuck_report::html::{STYLE, shown};

use super::find::Found;
use super::http::encoded;
use super::watch;

/// Records that a list shows; the rest is a number.
const LISTED: usize = 500;

/// A page around its content.
pub(super) fn shell(title: &str, content: &str) -> String {
    let title = shown(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} · perbuck</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <nav aria-label=\"Pages\"><ul><li><a href=\"/\">Studies</a></li><li><a href=\"/compare\">Compare two trials</a></li>\
         <li><a href=\"/studies\">Compare two studies</a></li></ul></nav>\n\
         <h1>{title}</h1>\n{content}</main>\n</body>\n</html>\n"
    )
}

/// A link to a page about a study.
pub(super) fn link(page: &str, study: &str, text: &str) -> String {
    format!("<a href=\"/{page}?study={}\">{}</a>", encoded(study), shown(text))
}

/// A table; cells are HTML.
pub(super) fn table(caption: &str, heads: &[&str], rows: &[Vec<String>]) -> String {
    let caption = shown(caption);
    let mut out = format!(
        "<div class=\"scroll\" role=\"group\" aria-label=\"{caption}\" tabindex=\"0\">\n<table>\n<caption>{caption}</caption>\n<thead><tr>"
    );
    heads.iter().for_each(|h| {
        let _ = write!(out, "<th scope=\"col\">{}</th>", shown(h));
    });
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (i, cell) in row.iter().enumerate() {
            out.push_str(&if i == 0 { format!("<th scope=\"row\">{cell}</th>") } else { format!("<td>{cell}</td>") });
        }
        out.push_str("</tr>\n");
    }
    out + "</tbody>\n</table>\n</div>\n"
}

/// All studies.
pub(super) fn index(found: &[Found]) -> String {
    let row = |f: &Found| {
        let (records, planned) = (f.records().len(), f.planned());
        let trials = match planned {
            _ if f.page.is_some() => "published figures".to_owned(),
            Some(n) => format!("{records} of {n}"),
            None => format!("{records}"),
        };
        let state = match () {
            () if f.page.is_some() => "replay".to_owned(),
            () if watch::runs(&f.folder) => link("live", &f.name, "running now"),
            () if f.study.is_none() => "its study.toml cannot be read".to_owned(),
            () if planned.is_some_and(|n| records >= n) => "complete".to_owned(),
            () => "incomplete".to_owned(),
        };
        let question = f.study.as_ref().map_or("", |s| s.question.as_str());
        let report = if records > 0 || f.page.is_some() { link("report", &f.name, "report") } else { "–".to_owned() };
        vec![link("study", &f.name, f.title()), shown(question), trials, state, report]
    };
    let rows: Vec<Vec<String>> = found.iter().map(row).collect();
    shell("Studies", &table("Studies in this folder", &["Study", "Question", "Trials", "State", "Report"], &rows))
}

/// One study and its trials.
pub(super) fn study(f: &Found) -> String {
    let records = f.records();
    let mut out = String::new();
    if let Some(study) = &f.study {
        let _ = writeln!(out, "<p>{}</p>", shown(&study.question));
        let labels: Vec<String> = study.contenders.iter().map(|c| shown(&c.label)).collect();
        let _ = writeln!(out, "<p>Contenders: {}</p>", labels.join(", "));
    }
    let _ = writeln!(out, "<ul>\n<li>{}</li>", link("report", &f.name, "Open the report"));
    let _ = writeln!(out, "<li>{}</li>", link("live", &f.name, "Follow it while it runs"));
    let _ = writeln!(out, "<li><a href=\"/studies?new={}\">Compare it with an older study</a></li>\n</ul>", encoded(&f.name));
    let row = |path: &String| {
        let at = format!("{}&amp;trial={}", encoded(&f.name), encoded(path));
        vec![format!("<a href=\"/trial?study={at}\">{}</a>", shown(path))]
    };
    let rows: Vec<Vec<String>> = records.iter().take(LISTED).map(row).collect();
    if records.len() > LISTED {
        let _ = writeln!(out, "<p>The first {LISTED} of {} trials; the report has all.</p>", records.len());
    }
    out += &table(&format!("{} trials on disk", records.len()), &["Record"], &rows);
    shell(f.title(), &out)
}

/// A study while it runs; `live.js` fills it.
pub(super) fn live(f: &Found) -> String {
    let panel = |id: &str, title: &str| {
        format!(
            "<div class=\"panel\">\n<p class=\"panel-title\">{title}: <span id=\"{id}-now\">–</span></p>\n\
             <svg id=\"{id}\" class=\"s0\" viewBox=\"0 0 480 140\" role=\"img\" aria-label=\"{title} of the last seconds\">\
             <line class=\"axis\" x1=\"0\" y1=\"130\" x2=\"480\" y2=\"130\"/><polyline class=\"mean\" points=\"\"/>\
             <text class=\"tick\" x=\"0\" y=\"12\"></text></svg>\n</div>\n"
        )
    };
    let content = format!(
        "<div id=\"live\" data-study=\"{}\">\n<dl class=\"facts\">\n\
         <div><dt>State</dt><dd><span id=\"state\" role=\"status\">loading</span></dd></div>\n<div><dt>Now</dt><dd id=\"doing\">–</dd></div>\n\
         <div><dt>Progress</dt><dd><progress id=\"progress\" max=\"1\" value=\"0\" aria-label=\"Trials done\"></progress> <span id=\"trials\">–</span></dd></div>\n\
         <div><dt>Time left, about</dt><dd id=\"left\">–</dd></div>\n</dl>\n<div class=\"panels\">\n{}{}{}</div>\n\
         <h2>Finished in this run</h2>\n<ul id=\"done\"></ul>\n<p>{}</p>\n</div>\n<script src=\"/live.js\" defer></script>\n",
        encoded(&f.name),
        panel("throughput", "Transactions per second"),
        panel("p95_ms", "95th percentile of latency, ms"),
        panel("errors", "Errors per second"),
        link("report", &f.name, "The report so far"),
    );
    shell(&format!("{}: live", f.title()), &content)
}

/// That a report cannot be made.
pub(super) fn failed(f: &Found, why: &str) -> String {
    shell(f.title(), &format!("<p class=\"note\">There is no report yet: {}</p>\n", shown(why)))
}
