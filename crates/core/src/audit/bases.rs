//! Opposite bases of two percentages: A is 50 % cheaper than B, and B 100 % dearer than A.

use super::{Check, Class, Finding, Weight};

/// Numbers with the same readings should follow the same one.
pub(super) fn of_numbers(numbers: &[Finding]) -> Vec<Check> {
    let mut out = Vec::new();
    let read: Vec<&Finding> = numbers.iter().filter(|f| !fitting(f).is_empty()).collect();
    for (i, a) in read.iter().enumerate() {
        for b in read[i + 1..].iter().filter(|b| same_readings(a, b)) {
            let (of_a, of_b) = (fitting(a), fitting(b));
            let common = of_a.iter().any(|name| of_b.contains(name));
            let (Some(first), Some(second)) = (of_a.first(), of_b.first()) else { continue };
            let by_first = b.readings.iter().find(|r| r.name == *first).map(|r| r.right.as_str()).unwrap_or_default();
            let found = format!("[{}] follows \"{first}\", [{}] follows \"{second}\"", a.name, b.name);
            let sentence = format!(
                "{} ({}) is \"{first}\" and {} ({}) is \"{second}\"; by the rule of the first the second is {by_first}.",
                a.name, a.printed, b.name, b.printed
            );
            out.push(Check {
                text: format!("two percentages have one base: {} and {}", a.name, b.name),
                found,
                holds: common.into(),
                how: "of the readings that both have, one must give the printed digits of both".to_owned(),
                weight: Weight::Number,
                sentence,
            });
        }
    }
    out
}

/// The readings that give the printed digits.
fn fitting(finding: &Finding) -> Vec<&str> {
    finding.readings.iter().filter(|r| r.class < Class::Inconsistent).map(|r| r.name.as_str()).collect()
}

fn same_readings(a: &Finding, b: &Finding) -> bool {
    a.readings.len() == b.readings.len() && a.readings.iter().zip(&b.readings).all(|(x, y)| x.name == y.name)
}
