//! Claims about many points at once: "consistently", "for all", "the majority", "in some cases".

use std::collections::BTreeSet;

use super::checks::{bounds_text, short, within};
use super::evaluate::{Cut, Evaluator, Span};
use super::functions::is_not_shown;
use super::{Check, Holds};
use crate::formula::Formula;
use crate::study::{PointsClaim, Quantifier};

/// The value of the first point that has one, or why none has. What is wrong at one point is wrong, unless the article does not show it.
pub(super) fn first_value(evaluator: &Evaluator<'_>, claim: &PointsClaim) -> Result<Span, String> {
    let (mut first, mut hidden) = (None, None);
    for (workload, connections) in points(evaluator, claim) {
        match value(evaluator, claim, &workload, connections) {
            Ok(span) => first = first.or(Some(span)),
            Err(why) if is_not_shown(&why) => hidden = Some(why),
            Err(why) => return Err(why),
        }
    }
    let none = || hidden.unwrap_or_else(|| "no point of `[results]` is what the claim is about".to_owned());
    first.ok_or_else(none)
}

fn points(evaluator: &Evaluator<'_>, claim: &PointsClaim) -> BTreeSet<(String, u32)> {
    let (least, most) = claim.connections;
    let rows = evaluator.ground.study.published.iter().flat_map(|p| &p.rows);
    rows.filter(|r| claim.workloads.is_empty() || claim.workloads.contains(&r.workload))
        .filter(|r| (least..=most).contains(&r.connections))
        .map(|r| (r.workload.clone(), r.connections))
        .collect()
}

fn value(evaluator: &Evaluator<'_>, claim: &PointsClaim, workload: &str, connections: u32) -> Result<Span, String> {
    let text = claim.formula.replace("{workload}", workload).replace("{connections}", &connections.to_string());
    evaluator.value(&Formula::parse(&text)?, &Cut::Never)
}

/// How far a value lies outside the bounds with its reading error, for the point that is named.
fn outside(claim: &PointsClaim, value: Span) -> f64 {
    let below = claim.at_least.map_or(0.0, |low| low.as_f64() - value.high.as_f64());
    let above = claim.at_most.map_or(0.0, |high| value.low.as_f64() - high.as_f64());
    below.max(above)
}

/// Judges a claim about points. A point at which the article shows no number decides nothing, and is counted apart.
pub(super) fn claim(evaluator: &Evaluator<'_>, claim: &PointsClaim) -> Check {
    let (mut inside, mut out, mut all, mut hidden) = (0_usize, 0_usize, 0_usize, 0_usize);
    let mut farthest: Option<(f64, String)> = None;
    for (workload, connections) in points(evaluator, claim) {
        let Ok(span) = value(evaluator, claim, &workload, connections) else {
            hidden += 1;
            continue;
        };
        all += 1;
        match within(span, claim.at_least, claim.at_most) {
            Holds::Yes => inside += 1,
            Holds::Unknown => {}
            Holds::No => {
                out += 1;
                let off = outside(claim, span);
                let of = if connections == 1 { "connection" } else { "connections" };
                if farthest.as_ref().is_none_or(|(most, _)| off > *most) {
                    farthest = Some((off, format!("{} ({workload}, {connections} {of})", short(span.value))));
                }
            }
        }
    }
    let holds = match claim.quantifier {
        Quantifier::All if out > 0 => Holds::No,
        Quantifier::All if inside == all => Holds::Yes,
        Quantifier::Most if 2 * inside > all => Holds::Yes,
        Quantifier::Most if 2 * out >= all => Holds::No,
        Quantifier::Some if inside > 0 => Holds::Yes,
        Quantifier::Some if out == all => Holds::No,
        _ => Holds::Unknown,
    };
    let open = all - inside - out;
    let counted = |n: usize, what: &str| if n > 0 { format!(", {n} {what}") } else { String::new() };
    let open = counted(open, "within the reading error") + &counted(hidden, "not shown");
    let far = farthest.map(|(_, text)| format!("; the farthest is {text}")).unwrap_or_default();
    let found = format!("{inside} of {all} points within, {out} outside{open}{far}");
    let bounds = bounds_text(claim.at_least, claim.at_most);
    let word = match claim.quantifier {
        Quantifier::All => "all points",
        Quantifier::Most => "more than half of the points",
        Quantifier::Some => "at least one point",
    };
    let are = if out == 1 { "is" } else { "are" };
    let text = if claim.own { claim.text.clone() } else { format!("\"{}\"", claim.text) };
    let sentence = format!("{text}: {inside} of {all} points are {bounds}, {out} {are} not{open}{far}.");
    let how = format!("{} must be {bounds} at {word}", claim.formula);
    Check { text: claim.text.clone(), found, holds, how, weight: claim.weight, sentence }
}
