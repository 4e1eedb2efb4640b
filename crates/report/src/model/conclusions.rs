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

/// Factors, claims and the article; nothing where the study has none of them.
pub(super) fn blocks(all: &Context<'_>) -> Vec<Block> {
    let mut out: Vec<Block> = all.comparison.factors.iter().map(|factor| Block::Table(changes(all, factor))).collect();
    if !all.comparison.claims.is_empty() {
        out.push(Block::Table(claims(all)));
    }
    if let Some(beside) = &all.comparison.beside {
        out.extend(article(all, beside));
    }
    out
}

fn claims(all: &Context<'_>) -> Table {
    let printed = all.comparison.claims.iter().any(|claim| claim.printed.is_some());
    let confidence = percent(all.comparison.printed_confidence());
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
    if ratios.is_empty() && values.is_empty() {
        return Vec::new();
    }
    let told = |what: &str, rows: &[&BesideRow]| format!("of {} {}", counted(rows.len(), what), count(rows));
    let all_told: Vec<String> = [("printed ratio", &ratios), ("printed value", &values)]
        .into_iter()
        .filter(|(_, rows)| !rows.is_empty())
        .map(|(what, rows)| told(what, rows))
        .collect();
    let mut out = vec![paragraph(format!(
        "Beside {}: {}. A number is confirmed where the whole interval of measured over printed lies within {margin}, and contradicted \
         where it lies outside.",
        clean(&beside.source),
        all_told.join("; "),
    ))];
    // What was not measured is counted above, and has no room here.
    let measured: Vec<&BesideRow> = ratios.iter().filter(|row| row.measured.is_some()).copied().collect();
    if !measured.is_empty() {
        out.push(Block::Table(rows(all, "Published beside measured: ratios to the baseline", &measured)));
    }
    if !beside.differences.is_empty() {
        out.push(paragraph("What differs from the article, and may explain a difference:"));
        out.push(Block::List(beside.differences.iter().map(|line| clean(line)).collect()));
    }
    if !beside.rows.is_empty() {
        let caption = "Published beside measured: everything that was printed";
        out.push(Block::Data(rows(all, caption, &beside.rows.iter().collect::<Vec<_>>())));
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

#[cfg(test)]
mod tests {
    use super::*;
    use perbuck_core::compare::Comparison;
    use perbuck_core::study::Study;
    use serde_json::json;

    const STUDY: &str = "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\n[[contender]]\nname = \"b\"\n[[workload]]\nname = \"w\"\n\
        kind = \"k\"\n[[factor]]\nname = \"f\"\nlabel = \"memory\"\nlevel = [{ name = \"x\", label = \"80 GB\" }, { name = \"y\" }]\n\
        [sweep]\nconnections = [8]\n";

    fn shown(more: &serde_json::Value) -> String {
        let study = Study::read("s.toml", STUDY, &[]).unwrap();
        let made = perbuck_core::compare::compare(&study, &[], &[], &[]).unwrap();
        let mut made = serde_json::to_value(made).unwrap();
        made.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let comparison: Comparison = serde_json::from_value(made).unwrap();
        let all = Context::new(&study, &comparison, &[]);
        format!("{:?}", blocks(&all))
    }

    #[test]
    fn claims_have_their_bounds_and_what_was_printed() {
        let interval = json!({ "low": 1.0512, "high": 1.2 });
        let claim = json!({ "text": "b is faster", "formula": "r", "at_least": 1.05, "value": 1.125, "interval": interval,
            "outcome": "holds", "printed": ["0.9", "no"] });
        let missing = json!({ "text": "b is cheaper", "formula": "q", "at_least": 0.97, "at_most": 1.03, "value": null, "interval": null,
            "outcome": "not-measured", "note": "b was not measured" });
        let text = shown(&json!({ "claims": [claim, missing], "factors": [] }));
        for part in [
            "at least 1.05",
            "1.125",
            "1.051 to 1.200",
            "holds",
            "does not hold",
            "0.97 to 1.03",
            "not measured",
            "b was not measured",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn an_article_is_counted_and_only_what_was_measured_is_shown_at_once() {
        let row = |level: u32, measured: Option<f64>, outcome: &str| {
            let interval = measured.map(|m| json!({ "low": m - 0.01, "high": m + 0.01 }));
            json!({ "workload": "w@x", "contender": "b", "level": level, "is_ratio": true, "published": 1.2,
                "measured": measured, "interval": interval, "outcome": outcome })
        };
        let rows = [row(8, Some(1.2), "confirmed"), row(16, Some(1.5), "contradicted"), row(32, None, "not-measured")];
        let beside = json!({ "source": "Somebody, 2020", "rows": rows, "differences": ["versions: 1 in the article; here 2"] });
        let text = shown(&json!({ "beside": beside, "factors": [] }));
        let first = "Beside Somebody, 2020: of 3 printed ratios 1 confirmed, 1 contradicted and 1 not measured.";
        for part in [first, "w, 80 GB", "1.200×", "1.190 to 1.210", "versions: 1 in the article; here 2"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(text.matches("\"32\"").count(), 1, "in the table of everything alone");
    }
}
