//! The list at the end of an audit: one sentence for each finding, the weightiest first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::evaluate::Source;
use super::{Check, Class, Finding, Holds};
use crate::exact::Exact;

/// What a finding changes for a reader who decides by the article, the most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// A conclusion that the article's own numbers do not support.
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
    /// What the sentence is about: names of numbers, words of claims and checks, or what is missing.
    pub of: Vec<String>,
    /// One sentence for the author.
    pub sentence: String,
}

/// The class of what an article leaves out.
pub const NOT_GIVEN: &str = "not given";
/// Words of a sentence at most: it names as many cases as fit, and counts the others.
const WORDS: usize = 32;

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

/// One thing that is not right, before those of a kind are put together.
struct Entry<'a> {
    weight: Weight,
    class: &'a str,
    of: &'a str,
    /// The sentence where it stands alone.
    alone: String,
    /// What it has in common with others of its kind, and what tells it from them.
    common: String,
    own: String,
}

/// Everything that is not right, in order of weight; within a weight claims and checks in the order of the study, and then the numbers, the
/// farthest off first. What differs in nothing but its case becomes one sentence.
pub(super) fn in_order(numbers: &[Finding], (claims, checks): (&[Check], &[Check]), missing: &[String]) -> Vec<Remark> {
    let mut off: Vec<(&Finding, f64)> = numbers.iter().filter(|f| !f.class.is_right()).map(|f| (f, distance(f))).collect();
    off.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut entries: Vec<Entry<'_>> = claims.iter().filter_map(|check| of_check(check, true)).collect();
    entries.extend(checks.iter().filter_map(|check| of_check(check, false)));
    entries.extend(off.into_iter().map(|(finding, _)| of_number(finding)));
    let mut list = together(entries);
    list.extend(missing.iter().map(|text| Remark {
        weight: Weight::Reproduction,
        class: NOT_GIVEN.to_owned(),
        of: vec![text.clone()],
        sentence: format!("The article does not give: {text}."),
    }));
    list.sort_by_key(|remark| remark.weight);
    list
}

/// Entries of one weight, class and kind become one remark, where the first of them stands.
fn together(entries: Vec<Entry<'_>>) -> Vec<Remark> {
    let mut groups: Vec<Vec<Entry<'_>>> = Vec::new();
    for entry in entries {
        let same = |group: &&mut Vec<Entry<'_>>| {
            let first = &group[0];
            (first.weight, first.class, &first.common) == (entry.weight, entry.class, &entry.common) && !entry.common.is_empty()
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(entry),
            None => groups.push(vec![entry]),
        }
    }
    groups.iter().map(|group| remark(group)).collect()
}

fn remark(group: &[Entry<'_>]) -> Remark {
    let first = &group[0];
    let sentence = if group.len() == 1 { capital(&first.alone) } else { of_cases(group) };
    let of = group.iter().map(|entry| entry.of.to_owned()).collect();
    Remark { weight: first.weight, class: first.class.to_owned(), of, sentence }
}

/// One sentence for several cases.
fn of_cases(group: &[Entry<'_>]) -> String {
    let first = &group[0];
    let words = |text: &str| text.split_whitespace().count();
    let mut free = WORDS.saturating_sub(words(&first.common));
    let fits = |entry: &&Entry<'_>| {
        let needed = words(&entry.own);
        let fits = needed <= free;
        free = free.saturating_sub(needed);
        fits
    };
    let named: Vec<&str> = group.iter().take_while(fits).map(|entry| entry.own.as_str()).collect();
    let more = match (named.len(), group.len() - named.len()) {
        (_, 0) => String::new(),
        (0, more) => format!("{more} cases"),
        (_, more) => format!("; {more} more"),
    };
    format!("{}: {}{more}.", first.common, named.join("; "))
}

/// How far the printed digits are from the right ones, as a share of those.
fn distance(finding: &Finding) -> f64 {
    let value = |text: &str| Exact::parse(text).map(|(value, _)| value.as_f64());
    match (value(&finding.printed), value(&finding.right)) {
        (Ok(printed), Ok(right)) if right != 0.0 => (printed / right - 1.0).abs(),
        _ => 0.0,
    }
}

fn of_check(check: &Check, is_claim: bool) -> Option<Entry<'_>> {
    // What cannot be told is no fault of a conclusion or a number.
    let weight = match check.holds {
        Holds::Yes => return None,
        Holds::No => check.weight,
        Holds::Unknown => check.weight.max(Weight::Reproduction),
    };
    let (kind, case) = check.text.split_once(": ").unwrap_or((&check.text, ""));
    let class = check.holds.label();
    let found = check.found.split(", from ").next().and_then(|found| found.split(" for ").next()).unwrap_or(&check.found);
    let bounds = check.how.rsplit_once(" must be ").map(|(_, b)| format!(" ({b})")).unwrap_or_default();
    let from = [Source::Given, Source::PriceLists].map(Source::words).into_iter().find(|words| check.sentence.contains(words));
    let source = from.map(|words| format!(" {words}")).unwrap_or_default();
    // Without a case of its own a text is the only one of its kind.
    let common = match (case.is_empty(), is_claim) {
        (true, _) => String::new(),
        (_, true) => format!("The claim \"{kind}\"{bounds} {class}{source} for"),
        (_, false) => format!("\"{kind}\" {class} for"),
    };
    Some(Entry { weight, class, of: &check.text, alone: check.sentence.clone(), common, own: format!("{case} ({found})") })
}

fn of_number(finding: &Finding) -> Entry<'_> {
    let Finding { name, about, right, rule, formula, class, .. } = finding;
    // One kind of minus sign, whatever the article has.
    let printed = finding.printed.replace('-', "−");
    let what = if about.is_empty() { name.clone() } else { format!("{name} ({about})") };
    let fact = of_the_list(formula);
    let from = if fact.is_some() { "the price list has" } else { "the formula gives" };
    let own = |word: &str| format!("{name} (printed {printed}, {word} {right})");
    let (weight, alone, common, own) = match class {
        Class::NotDerivable => {
            let why = if rule.is_empty() { "its raw numbers are not given" } else { rule };
            let common = format!("Cannot be derived, because {why}");
            let alone = format!("{what}: printed {printed}, not derivable, because {why}.");
            (Weight::Reproduction, alone, common, format!("{name} ({printed})"))
        }
        Class::Truncated => {
            let alone = format!("{what}: printed {printed}, cut off; rounding gives {right}.");
            (Weight::Slip, alone, "Printed digits were cut off where rounding gives others".to_owned(), own("rounded"))
        }
        Class::FromRounded => {
            let alone = format!("{what}: printed {printed}, made from rounded values; exact ones give {right}.");
            (
                Weight::Slip,
                alone,
                "Printed digits were made from rounded values, where exact ones give others".to_owned(),
                own("exact"),
            )
        }
        _ => {
            let alone = format!("{what}: printed {printed}, {from} {right}.");
            let common = fact.map(|what| format!("The price list has other {what}")).unwrap_or_default();
            (Weight::Number, alone, common, own("listed"))
        }
    };
    Entry { weight, class: class.label(), of: name, alone, common, own }
}

/// What a formula takes from the price list, where that is where its number is from.
fn of_the_list(formula: &str) -> Option<&'static str> {
    let facts = [
        ("vcpu(", "numbers of vCPUs"),
        ("memory_gib(", "memory sizes in GiB"),
        ("usd_per_hour(", "dollars an hour"),
        ("volume_iops(", "IOPS of volumes"),
        ("volume_", "rates of volumes"),
        ("network_", "rates of networks"),
    ];
    facts.iter().find(|(function, _)| formula.starts_with(function)).map(|(_, what)| *what)
}

/// A sentence begins with a capital; names of workloads and contenders stay as they are.
fn capital(sentence: &str) -> String {
    sentence.strip_prefix("the ").map_or_else(|| sentence.to_owned(), |rest| format!("The {rest}"))
}
