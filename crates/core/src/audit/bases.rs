//! Opposite bases of two percentages: A is 50 % cheaper than B, and B 100 % dearer than A.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::{Check, Class, Finding, Weight};

/// Numbers with the same readings should follow the same one as the first of them.
pub(super) fn of_numbers(numbers: &[Finding]) -> Vec<Check> {
    let mut firsts: BTreeMap<Vec<&str>, &Finding> = BTreeMap::new();
    let mut out = Vec::new();
    for number in numbers.iter().filter(|f| !fitting(f).is_empty()) {
        let names = number.readings.iter().map(|r| r.name.as_str()).collect();
        match firsts.entry(names) {
            Entry::Vacant(entry) => {
                entry.insert(number);
            }
            Entry::Occupied(entry) => out.extend(of_two(entry.get(), number)),
        }
    }
    out
}

fn of_two(a: &Finding, b: &Finding) -> Option<Check> {
    let (of_a, of_b) = (fitting(a), fitting(b));
    let common = of_a.iter().any(|name| of_b.contains(name));
    let (first, second) = (of_a.first()?, of_b.first()?);
    let by_first = b.readings.iter().find(|r| r.name == *first).map(|r| r.right.as_str()).unwrap_or_default();
    let sentence = format!(
        "{} ({}) is \"{first}\" and {} ({}) is \"{second}\"; by the rule of the first the second is {by_first}.",
        a.name, a.printed, b.name, b.printed
    );
    Some(Check {
        text: format!("two percentages have one base: {} and {}", a.name, b.name),
        found: format!("[{}] follows \"{first}\", [{}] follows \"{second}\"", a.name, b.name),
        holds: common.into(),
        how: "of the readings that both have, one must give the printed digits of both".to_owned(),
        weight: Weight::Number,
        sentence,
    })
}

/// The readings that give the printed digits, the one with the best class first.
fn fitting(finding: &Finding) -> Vec<&str> {
    let mut fit: Vec<_> = finding.readings.iter().filter(|r| r.class < Class::Inconsistent).collect();
    fit.sort_by_key(|r| r.class);
    fit.into_iter().map(|r| r.name.as_str()).collect()
}
