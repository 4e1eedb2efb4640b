//! The audit of a published study: every printed number recomputed from raw numbers, and what explains its digits.
//!
//! A number is what was printed (digits and all) and a formula over raw numbers, bills and other numbers. The audit
//! computes it exactly, rounds it as printed, and where the digits differ looks for the rule that gives them: cut off
//! instead of rounded, or made from inputs that had themselves been rounded, at any stage. Which numbers are wrong is
//! known nowhere; it follows from the numbers.

mod bases;
mod ceiling;
mod checks;
mod choice;
mod classify;
mod dates;
mod evaluate;
mod functions;
mod list;
mod measures;
mod points;
mod said;
mod samples;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bill::Bill;
use crate::exact::Exact;
use crate::study::{Claim, Study};
pub use evaluate::Span;
pub use functions::Facts;
pub use list::{NOT_GIVEN, Remark, Weight};

use evaluate::{Cut, Evaluator};

/// What an audit looks at.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// The study with its published results, numbers and claims.
    pub study: &'a Study,
    /// Its bills.
    pub bills: &'a [Bill],
    /// Its price lists.
    pub facts: &'a dyn Facts,
}

/// What an audit found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Audit {
    /// Version of these fields: 3. Version 2 has no `list`, and no `weight` and `sentence` of a check. Version 1 has no such field and says
    /// `figures` for `numbers`.
    #[serde(default = "crate::compare::first_schema")]
    pub schema: u32,
    /// Name of the study.
    pub study: String,
    /// Every printed number, in the order of the study.
    #[serde(alias = "figures")]
    pub numbers: Vec<Finding>,
    /// Every claim of the text.
    pub claims: Vec<Check>,
    /// Whether the published results agree with themselves.
    pub checks: Vec<Check>,
    /// Everything that an author or a reader should know, the weightiest first.
    #[serde(default)]
    pub list: Vec<Remark>,
}

/// How a printed number relates to its formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// The printed digits are the exact value.
    Exact,
    /// The printed digits are the exact value rounded.
    Rounded,
    /// The printed digits are the exact value with its further digits cut off, where rounding gives others.
    Truncated,
    /// The printed digits follow from inputs that had been rounded themselves, and not from the exact ones.
    FromRounded,
    /// No rule gives the printed digits, or only one that starts from an inconsistent number.
    Inconsistent,
    /// The raw numbers are missing.
    NotDerivable,
}

/// One printed number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Its name.
    pub name: String,
    /// What it is, in words; may be empty.
    pub about: String,
    /// As printed.
    pub printed: String,
    /// The formula; empty where there is none.
    pub formula: String,
    /// The value from raw numbers, in full; empty where it cannot be computed.
    pub exact: String,
    /// The value rounded to the printed decimals; empty where it cannot be computed.
    pub right: String,
    /// The verdict.
    pub class: Class,
    /// The rule that gives the printed digits, or why none does.
    pub rule: String,
    /// What each reading of the number would have given, where it has several.
    pub readings: Vec<Reading>,
}

/// One reading of how a number is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// What distinguishes it.
    pub name: String,
    /// Its formula.
    pub formula: String,
    /// Its value, in full.
    pub exact: String,
    /// Rounded to the printed decimals.
    pub right: String,
    /// How the printed digits relate to it.
    pub class: Class,
}

/// Something that should hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// What should hold, in words.
    pub text: String,
    /// What was found.
    pub found: String,
    /// Whether it holds.
    pub holds: Holds,
    /// How it was computed.
    pub how: String,
    /// What it changes for a reader where it does not hold.
    #[serde(default)]
    pub weight: Weight,
    /// What to tell the author where it does not hold, in one sentence; may be empty.
    #[serde(default)]
    pub sentence: String,
}

/// Whether something holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// The reading error of a chart leaves both possible, or a number is missing.
    Unknown,
}

impl Class {
    /// All of them, best first.
    pub const ALL: [Self; 6] =
        [Self::Exact, Self::Rounded, Self::Truncated, Self::FromRounded, Self::Inconsistent, Self::NotDerivable];

    /// The word in tables.
    pub fn label(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Rounded => "rounded",
            Self::Truncated => "truncated",
            Self::FromRounded => "from rounded values",
            Self::Inconsistent => "inconsistent",
            Self::NotDerivable => "not derivable",
        }
    }

    /// Whether the printed digits are those that the formula gives.
    pub fn is_right(self) -> bool {
        matches!(self, Self::Exact | Self::Rounded)
    }
}

impl From<bool> for Holds {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

impl Holds {
    /// The word in tables.
    pub fn label(self) -> &'static str {
        match self {
            Self::Yes => "holds",
            Self::No => "does not hold",
            Self::Unknown => "cannot be told",
        }
    }
}

impl Audit {
    /// The version of its fields.
    pub const SCHEMA: u32 = 3;

    /// How many numbers are of a class.
    pub fn count(&self, class: Class) -> usize {
        self.numbers.iter().filter(|f| f.class == class).count()
    }

    /// Whether nothing was found wrong: no inconsistent number, no claim and no check that does not hold.
    pub fn is_clean(&self) -> bool {
        let held = |c: &Check| c.holds != Holds::No;
        self.count(Class::Inconsistent) == 0 && self.claims.iter().all(held) && self.checks.iter().all(held)
    }
}

/// What a function of a formula gives that no trial decides: bills, unit prices, sizes of machines.
///
/// # Errors
/// What is not known.
pub(crate) fn constant(ground: &Ground<'_>, function: &str, words: &[&str]) -> Result<Exact, String> {
    functions::look_up(ground, function, words).map(|span| span.value)
}

/// Whether only trials can decide a claim: it is about the course of a curve, which needs the scatter of its points.
pub(crate) fn is_of_trials(claim: &Claim) -> bool {
    claim.rule.formula.calls("slope") || claim.rule.formula.calls("crossing")
}

/// Whether formulas have a function of that name.
pub(crate) fn is_function(name: &str) -> bool {
    ["slope", "crossing"].contains(&name) || functions::is_known(name)
}

/// What the printed numbers say of a claim: the value, and whether it holds; `None` where they do not have what it names.
pub(crate) fn as_printed(ground: &Ground<'_>, claim: &Claim) -> Option<(String, Holds)> {
    let evaluator = Evaluator::new(ground);
    evaluator.value(&claim.rule.formula, &Cut::Never).ok()?;
    let check = checks::claim(&evaluator, claim);
    Some((check.found, check.holds))
}

/// Recomputes everything that a study prints.
///
/// # Errors
/// Every formula that names something that is not there, with the line of the study: the audit itself is then wrong.
pub fn audit(ground: &Ground<'_>) -> Result<Audit, Vec<(usize, String)>> {
    let evaluator = Evaluator::new(ground);
    let mut problems = Vec::new();
    let mut note = |line: usize, what: &str, found: Result<Span, String>| {
        if let Err(why) = found {
            problems.push((line, format!("{what}: {why}")));
        }
    };
    for number in &ground.study.audit.numbers {
        for rule in &number.rules {
            note(number.line, &format!("number [{}]", number.name), evaluator.value(&rule.formula, &Cut::Never));
        }
    }
    for claim in ground.study.audit.claims.iter().filter(|claim| !is_of_trials(claim)) {
        note(claim.line, &format!("claim \"{}\"", claim.text), evaluator.value(&claim.rule.formula, &Cut::Never));
    }
    for claim in &ground.study.audit.points_claims {
        note(claim.line, &format!("claim \"{}\"", claim.text), points::first_value(&evaluator, claim));
    }
    problems.extend(samples::unknown_names(ground));
    if !problems.is_empty() {
        problems.sort();
        problems.dedup();
        return Err(problems);
    }
    let mut classifier = classify::Classifier::new(&evaluator);
    let numbers: Vec<Finding> = ground.study.audit.numbers.iter().map(|f| classifier.finding(f)).collect();
    let (own, claims) = judged(&evaluator);
    let families = [
        own,
        checks::of_results(ground),
        ceiling::of_results(ground),
        choice::of_results(ground),
        samples::of_samples(ground),
        measures::of_measures(ground),
        bases::of_numbers(&numbers),
        dates::of_products(ground),
        said::of_statements(ground),
    ];
    let (study, checks) = (ground.study.name.clone(), families.concat());
    let missing = ground.study.published.as_ref().map_or(&[][..], |p| &p.missing);
    let list = list::in_order(&numbers, (&claims, &checks), missing);
    Ok(Audit { schema: Audit::SCHEMA, study, numbers, claims, checks, list })
}

/// Claims, judged: checks of perbuck's own, and claims of the article.
fn judged(evaluator: &Evaluator<'_>) -> (Vec<Check>, Vec<Check>) {
    let audit = &evaluator.ground.study.audit;
    let of_formulas = audit.claims.iter().filter(|c| !is_of_trials(c)).map(|c| (c.own, checks::claim(evaluator, c)));
    let of_points = audit.points_claims.iter().map(|c| (c.own, points::claim(evaluator, c)));
    let (own, claims): (Vec<_>, Vec<_>) = of_formulas.chain(of_points).partition(|(own, _)| *own);
    let checks = |all: Vec<(bool, Check)>| all.into_iter().map(|(_, check)| check).collect();
    (checks(own), checks(claims))
}

#[cfg(test)]
mod tests;
