//! The first screen of a page: question, answer, charts, caveats and sources.

use maud::{Markup, PreEscaped, html};

use super::{NL, Words, legend};
use crate::document::{Brief, Figure, Panels, ReportModel};
use crate::svg;

/// The brief of a report; `whole` says that the rest follows, which it may link to.
pub(super) fn brief(report: &ReportModel, whole: bool) -> Markup {
    let brief = &report.brief;
    html! {
        header class="brief" { (NL)
            p class="kicker" { "Study: " (Words(&report.study)) } (NL)
            h1 { (Words(&report.title)) } (NL)
            p class={ "answer " (brief.answer.tone.class()) } { (Words(&brief.answer.text)) } (NL)
            @if !brief.remarks.is_empty() { p class="remarks" { (Words(&brief.remarks.join(" "))) } (NL) }
            (charts(&brief.figures))
            div class="notes" { (NL)
                @if !brief.caveats.is_empty() { (caveats(brief, whole)) }
                @if !brief.sources.is_empty() {
                    dl class="facts" { (NL)
                        @for (label, value) in &brief.sources { div { dt { (Words(label)) } dd { (Words(value)) } } (NL) }
                    } (NL)
                }
            } (NL)
        } (NL)
    }
}

fn caveats(brief: &Brief, whole: bool) -> Markup {
    html! {
        div class="warnings" role="note" aria-label="Caveats" { (NL)
            ul { (NL)
                @for (i, caveat) in brief.caveats.iter().enumerate() {
                    li {
                        (Words(caveat))
                        @if brief.more_caveats > 0 && i + 1 == brief.caveats.len() {
                            " "
                            @if whole { a href="#method" { (brief.more_caveats) " more" } } @else { (brief.more_caveats) " more." }
                        }
                    } (NL)
                }
            } (NL)
        } (NL)
    }
}

/// The charts side by side; how many drawings of throughput there are decides how they share the screen.
fn charts(figures: &[Figure]) -> Markup {
    let count = |f: &Figure| if let Panels::Columns(list) = &f.panels { list.len() } else { 0 };
    let (columns, cost) =
        (figures.iter().map(count).sum::<usize>(), figures.iter().any(|f| matches!(f.panels, Panels::Stacks(_))));
    let class = match (columns, cost) {
        (0, _) => "charts",
        (2.., true) => "charts wide",
        (_, _) => "charts tall",
    };
    html! { @if !figures.is_empty() { div class=(class) { (NL) @for f in figures { (chart(f, count(f))) } } (NL) } }
}

fn chart(f: &Figure, columns: usize) -> Markup {
    html! {
        figure id={ "figure-" (f.id) } class={ "c" (columns) } { (NL)
            figcaption { strong { (Words(&f.title)) } " " (Words(&f.caption)) } (NL)
            (legend(f))
            div class="panels" { (NL)
                @for (title, drawing) in svg::panels(f) {
                    div class="panel" { (NL)
                        @if columns > 0 { p class="panel-title" { (Words(&title)) } (NL) }
                        (PreEscaped(drawing)) (NL)
                    } (NL)
                }
            } (NL)
        } (NL)
    }
}
