//! What follows from all workloads together: what factors do to the ratios, which claims hold, and whether an article is confirmed.

use perbuck_core::audit::Holds;
use perbuck_core::compare::{Agreement, Beside, BesideRow, ClaimResult, FactorResult, Outcome};
use perbuck_core::stats::Interval;
use perbuck_core::units::thousands;

use super::verdicts::{ratio_cell, verdict_cell};
use super::{Context, paragraph};
use crate::document::{Block, Cell, Table, Tone};
use crate::escape::{clean, clean_to};
use crate::number::{ABSENT, counted, fixed, list, percent, significant_decimals};

/// Characters of a formula that a table shows.
const FORMULA: usize = 200;

/// Claims first, then the article, then factors; nothing where the study has none of them.
pub(super) fn blocks(all: &Context<'_>) -> Vec<Block> {
    let mut out = Vec::new();
    if !all.comparison.claims.is_empty() {
        out.push(Block::Table(claims(all)));
    }
    if let Some(beside) = &all.comparison.beside {
        out.extend(article(all, beside));
    }
    out.extend(all.comparison.factors.iter().map(|factor| Block::Table(changes(all, factor))));
    out
}

fn claims(all: &Context<'_>) -> Table {
    let printed = all.comparison.claims.iter().any(|claim| claim.printed.is_some());
    let confidence = percent(all.comparison.decision.confidence);
    let caption = format!(
        "Claims: each holds where the whole {confidence} interval lies within its bounds, and fails where it lies outside"
    );
    let mut table = Table::new(caption, "Claim | Bounds | #Measured | Outcome");
    if printed {
        table.column("As printed", false);
    }
    for claim in &all.comparison.claims {
        let measured = match (claim.value, claim.interval) {
            (None, _) => Cell::new(ABSENT),
            (Some(value), None) => Cell::new(digits(value)),
            (Some(value), Some(interval)) => Cell::noted(digits(value), between(interval)),
        };
        let tone = match claim.outcome {
            Outcome::Holds => Tone::Better,
            Outcome::Fails => Tone::Worse,
            Outcome::Undecided => Tone::Undecided,
            Outcome::NotMeasured => Tone::Plain,
        };
        let outcome = Cell::noted(claim.outcome.label(), clean(&claim.note)).toned(tone);
        let text = Cell::noted(clean(&claim.text), clean_to(&claim.formula, FORMULA));
        let as_printed = printed.then(|| match &claim.printed {
            None => Cell::new(ABSENT),
            Some((found, holds)) => Cell::noted(holds.label(), clean(found)).toned(match holds {
                Holds::Yes => Tone::Better,
                Holds::No => Tone::Worse,
                Holds::Unknown => Tone::Undecided,
            }),
        });
        table.add([text, Cell::new(bounds(claim)), measured, outcome].into_iter().chain(as_printed));
    }
    table
}

fn bounds(claim: &ClaimResult) -> String {
    match (claim.at_least, claim.at_most) {
        (Some(low), Some(high)) => format!("{} to {}", plain(low), plain(high)),
        (Some(low), None) => format!("at least {}", plain(low)),
        (None, Some(high)) => format!("at most {}", plain(high)),
        (None, None) => ABSENT.to_owned(),
    }
}

/// A bound as it was written.
fn plain(value: f64) -> String {
    value.to_string()
}

fn digits(value: f64) -> String {
    fixed(value, significant_decimals(value, 4))
}

fn between(interval: Interval) -> String {
    format!("{} to {}", digits(interval.low), digits(interval.high))
}

/// The printed numbers beside the measured ones: how many are confirmed, then each of them.
fn article(all: &Context<'_>, beside: &Beside) -> Vec<Block> {
    let count = |rows: &[&BesideRow]| {
        let one = |outcome: Agreement| {
            let n = rows.iter().filter(|row| row.outcome == outcome).count();
            (n > 0).then(|| format!("{n} {}", outcome.label()))
        };
        let words: Vec<String> = [Agreement::Confirmed, Agreement::Contradicted, Agreement::Undecided, Agreement::NotMeasured]
            .into_iter()
            .filter_map(one)
            .collect();
        list(&words)
    };
    let (ratios, values): (Vec<&BesideRow>, Vec<&BesideRow>) = beside.rows.iter().partition(|row| row.is_ratio);
    let margin = percent(all.comparison.decision.margin);
    let mut out = vec![paragraph(format!(
        "Beside {}: of {} {}. A number is confirmed where the whole interval of measured over printed lies within {margin}, and contradicted \
         where it lies outside.",
        clean(&beside.source),
        counted(ratios.len(), "printed ratio"),
        count(&ratios),
    ))];
    if !ratios.is_empty() {
        out.push(Block::Table(rows(all, "Published beside measured: ratios to the baseline", &ratios)));
    }
    if !beside.differences.is_empty() {
        out.push(paragraph("What differs from the article, and may explain a difference:"));
        out.push(Block::List(beside.differences.iter().map(|line| clean(line)).collect()));
    }
    if !values.is_empty() {
        let caption = format!("Published beside measured: values, {}", count(&values));
        out.push(Block::Data(rows(all, &caption, &values)));
    }
    out
}

fn rows(all: &Context<'_>, caption: &str, list: &[&BesideRow]) -> Table {
    let head = all.words().head;
    let mut table = Table::new(caption, &format!("Workload | Contender | #{head} | #Published | #Measured | Outcome"));
    for row in list {
        let number = |value: f64| if row.is_ratio { format!("{}×", fixed(value, 3)) } else { digits(value) };
        let measured = match (row.measured, row.interval) {
            (None, _) => Cell::new(ABSENT),
            (Some(value), None) => Cell::new(number(value)),
            (Some(value), Some(interval)) => Cell::noted(number(value), between(interval)),
        };
        let tone = match row.outcome {
            Agreement::Confirmed => Tone::Better,
            Agreement::Contradicted => Tone::Worse,
            Agreement::Undecided => Tone::Undecided,
            Agreement::NotMeasured => Tone::Plain,
        };
        let level = row.level.map_or_else(|| "all".to_owned(), |level| thousands(level.into()));
        let names =
            [clean(&all.study.title_of(&row.workload)), all.label(&row.contender), level, number(row.published)].map(Cell::new);
        table.add(names.into_iter().chain([measured, Cell::new(row.outcome.label()).toned(tone)]));
    }
    table
}

/// How the ratio of each contender changes from the first level of a factor to the others.
fn changes(all: &Context<'_>, factor: &FactorResult) -> Table {
    let label = clean(&factor.label);
    let caption = format!("Factor {label}: how the ratio to {} changes with it", all.base_label());
    let mut table = Table::new(caption, "Workload | Contender | Change of level | #Ratio over ratio | Verdict on the change");
    for found in &factor.changes {
        let workload = found.workload.as_deref().map_or_else(|| "all".to_owned(), clean);
        let step = format!("{} → {}", clean(&found.first), clean(&found.level));
        let names = [workload, all.label(&found.contender), step].map(Cell::new);
        table.add(names.into_iter().chain([ratio_cell(&found.change.ratio), verdict_cell(&found.change, true)]));
    }
    table
}
