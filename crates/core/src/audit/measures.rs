//! Measures that an article defines: whether "lower is better" fits the formula, and whether an average is of more than one value.

use super::{Check, Ground, Weight};
use crate::formula::{Argument, Formula, Operator};
use crate::study::Measure;

/// All checks of measures, and of means in formulas.
pub(super) fn of_measures(ground: &Ground<'_>) -> Vec<Check> {
    let audit = &ground.study.audit;
    let mut out: Vec<Check> = audit.measures.iter().flat_map(|m| [direction(m), average(m)]).flatten().collect();
    for number in &audit.numbers {
        let alone = |f: &Formula| f.functions().iter().any(|(name, arguments)| *name == "mean" && arguments.len() == 1);
        if number.rules.iter().any(|rule| alone(&rule.formula)) {
            out.push(of_one(&number.name, "its formula"));
        }
    }
    out
}

/// A formula that grows with throughput is one of which more is better; so is one that falls with cost or latency.
fn direction(measure: &Measure) -> Option<Check> {
    let (text, formula) = measure.formula.as_ref()?;
    let lower = measure.lower_is_better?;
    let grows = |name: &str| {
        let [before, after] = [1.0, 2.0].map(|of_it| value(formula, &|n| if n == name { of_it } else { 1.0 }));
        Some(after? - before?).filter(|change| *change != 0.0).map(|change| change > 0.0)
    };
    let votes: Vec<bool> =
        [grows("throughput"), grows("cost").map(|up| !up), grows("latency").map(|up| !up)].into_iter().flatten().collect();
    let more_is_better = *votes.first()?;
    if votes.iter().any(|vote| *vote != more_is_better) {
        return None;
    }
    let word = |lower: bool| if lower { "lower" } else { "higher" };
    let text = text.replace(['[', ']'], "");
    let found = format!("{text}, of which the {} value is better", word(!more_is_better));
    Some(Check {
        text: format!("{} is better where it is {}", measure.name, word(lower)),
        sentence: format!(
            "{} is defined as {text}, of which the {} value is better; the article calls the {} one better.",
            measure.name,
            word(!more_is_better),
            word(lower)
        ),
        found,
        holds: (lower != more_is_better).into(),
        how: "more throughput, less cost and less latency must move the formula towards its better end".to_owned(),
        weight: Weight::Conclusion,
    })
}

fn average(measure: &Measure) -> Option<Check> {
    let levels = measure.average_of.as_ref()?;
    if let [only] = levels[..] {
        return Some(of_one(&measure.name, &format!("{only} connections")));
    }
    let found = format!("{} points", levels.len());
    let how = "an average needs at least two values";
    let text = format!("an average of several values: {}", measure.name);
    Some(super::checks::of_weight(Weight::Slip, text, found, true, how))
}

fn of_one(name: &str, of: &str) -> Check {
    Check {
        text: format!("an average of several values: {name}"),
        found: format!("one value ({of})"),
        holds: super::Holds::No,
        how: "an average needs at least two values".to_owned(),
        weight: Weight::Slip,
        sentence: format!("{name} is called an average and is of one value ({of})."),
    }
}

/// The value of a formula without functions.
fn value(formula: &Formula, of: &dyn Fn(&str) -> f64) -> Option<f64> {
    Some(match formula {
        Formula::Number(n) => n.as_f64(),
        Formula::Name(name) => of(name),
        Formula::Minus(inner) => -value(inner, of)?,
        Formula::Binary(operator, a, b) => {
            let (a, b) = (value(a, of)?, value(b, of)?);
            match operator {
                Operator::Plus => a + b,
                Operator::Minus => a - b,
                Operator::Times => a * b,
                Operator::Over => a / b,
            }
        }
        Formula::Call(function, arguments) => match (function.as_str(), &arguments[..]) {
            ("percent", [Argument::Formula(inner)]) => 100.0 * value(inner, of)?,
            _ => return None,
        },
    })
}
