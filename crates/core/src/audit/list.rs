//! The list at the end of an audit: one sentence for each finding, the weightiest first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Check, Class, Finding, Holds};
use crate::exact::Exact;

/// What a finding changes for a reader who decides by the article, the most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// A conclusion that the article's own numbers do not bear.
    Conclusion,
    /// A number that does not follow from the others.
    #[default]
    Number,
    /// Something that cannot be reproduced or told from the article.
    Reproduction,
    /// A rounding or a slip; conclusions stand.
    Slip,
}

/// One finding in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remark {
    /// What it changes for a reader.
    pub weight: Weight,
    /// The class of a number, `does not hold` or `cannot be told` of claims and checks, `not given` of what is missing.
    pub class: String,
    /// Name of the number, words of the claim or check, or what is missing.
    pub of: String,
    /// One sentence for the author.
    pub sentence: String,
}

/// The class of what an article leaves out.
const NOT_GIVEN: &str = "not given";

impl Weight {
    /// All of them, the weightiest first.
    pub const ALL: [Self; 4] = [Self::Conclusion, Self::Number, Self::Reproduction, Self::Slip];

    /// The word in tables.
    pub fn label(self) -> &'static str {
        match self {
            Self::Conclusion => "conclusion",
            Self::Number => "number",
            Self::Reproduction => "reproduction",
            Self::Slip => "rounding or slip",
        }
    }
}

/// Everything that is not right, in order of weight; within a weight the numbers that are farthest off first, and then the order of the study.
pub(super) fn in_order(numbers: &[Finding], (claims, checks): (&[Check], &[Check]), missing: &[String]) -> Vec<Remark> {
    let mut off: Vec<(&Finding, f64)> = numbers.iter().filter(|f| !f.class.is_right()).map(|f| (f, distance(f))).collect();
    off.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut list: Vec<Remark> = claims.iter().chain(checks).filter_map(of_check).collect();
    list.extend(off.into_iter().map(|(finding, _)| of_number(finding)));
    list.extend(missing.iter().map(|text| Remark {
        weight: Weight::Reproduction,
        class: NOT_GIVEN.to_owned(),
        of: text.clone(),
        sentence: format!("The article does not give: {text}."),
    }));
    list.sort_by_key(|remark| remark.weight);
    list
}

/// How far the printed digits are from the right ones, as a share of those.
fn distance(finding: &Finding) -> f64 {
    let value = |text: &str| Exact::parse(text).map(|(value, _)| value.as_f64());
    match (value(&finding.printed), value(&finding.right)) {
        (Ok(printed), Ok(right)) if right != 0.0 => (printed / right - 1.0).abs(),
        _ => 0.0,
    }
}

fn of_check(check: &Check) -> Option<Remark> {
    // What cannot be told is no fault of a conclusion or a number.
    let weight = match check.holds {
        Holds::Yes => return None,
        Holds::No => check.weight,
        Holds::Unknown => check.weight.max(Weight::Reproduction),
    };
    Some(Remark { weight, class: check.holds.label().to_owned(), of: check.text.clone(), sentence: check.sentence.clone() })
}

fn of_number(finding: &Finding) -> Remark {
    let Finding { name, printed, right, rule, class, .. } = finding;
    let (weight, sentence) = match class {
        Class::NotDerivable => {
            let why = if rule.is_empty() { "its raw numbers are not given" } else { rule };
            (Weight::Reproduction, format!("{name} is printed as {printed} and cannot be derived: {why}."))
        }
        Class::Truncated => (Weight::Slip, format!("{name} is printed as {printed}, cut off; rounding gives {right}.")),
        Class::FromRounded => {
            (Weight::Slip, format!("{name} is printed as {printed}, made from rounded values; exact ones give {right}."))
        }
        _ => (Weight::Number, format!("{name} is printed as {printed}; its formula gives {right}.")),
    };
    Remark { weight, class: class.label().to_owned(), of: name.clone(), sentence }
}
