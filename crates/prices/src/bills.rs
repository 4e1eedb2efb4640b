//! All bills of a study: every contender in every region, each by its own price list where it has one.

use perbuck_core::bill::Bill;
use perbuck_core::problem::Problem;
use perbuck_core::study::{Located, Scenario, Study};

use crate::bill::bill;
use crate::{Lists, Snapshot, find};

/// What a study costs, and by which lists.
#[derive(Debug, Clone, Default)]
pub struct Priced {
    /// Contenders in the order of the study, regions within.
    pub bills: Vec<Bill>,
    /// The price lists, that of the study first.
    pub lists: Lists,
}

/// Prices a study; `given` stands for the list that the study names. Nothing where it names none.
///
/// # Errors
/// Every line that cannot be priced, each once.
pub fn bills(study: &Study, given: Option<Snapshot>, study_file: &str) -> Result<Priced, Vec<Problem>> {
    let Some(wanted) = &study.price.snapshot else { return Ok(Priced::default()) };
    let own = match given {
        Some(snapshot) => snapshot,
        None => find(wanted, "`price.snapshot`", study_file)?,
    };
    let (mut lists, mut problems) = (vec![own], Vec::new());
    let mut bills = Vec::new();
    // An A/A control is the system that another contender pays for.
    for contender in study.contenders.iter().filter(|c| c.control_of.is_none()) {
        let at = match &contender.snapshot {
            None => 0,
            Some(name) => {
                let key = || format!("`snapshot` of contender `{}`", contender.name);
                match list_of(&mut lists, name, key, study_file) {
                    Ok(at) => at,
                    Err(found) => {
                        problems.extend(found);
                        continue;
                    }
                }
            }
        };
        for region in &study.price.regions {
            let own = contender.region.as_ref().unwrap_or(region);
            let ways = std::iter::once(None).chain(study.price.scenarios.iter().map(Some));
            for scenario in ways {
                match bill(contender, own, &study.price, &lists[at], scenario, study_file) {
                    Ok(bill) => bills.push(named(bill, study, region, scenario)),
                    Err(found) => problems.extend(found),
                }
            }
        }
    }
    // A region that the list does not have is found once per contender.
    problems.dedup();
    if problems.is_empty() { Ok(Priced { bills, lists: Lists(lists) }) } else { Err(problems) }
}

/// The index of a bundled list among those already read.
fn list_of(
    lists: &mut Vec<Snapshot>,
    name: &Located<String>,
    key: impl Fn() -> String,
    study_file: &str,
) -> Result<usize, Vec<Problem>> {
    if let Some(at) = lists.iter().position(|l| l.name == name.value) {
        return Ok(at);
    }
    lists.push(find(name, &key(), study_file)?);
    Ok(lists.len() - 1)
}

/// Bills that are to be compared have one text for where they are, even if their regions differ.
fn named(mut bill: Bill, study: &Study, region: &Located<String>, scenario: Option<&Scenario>) -> Bill {
    let mut all: Vec<&str> = Vec::new();
    for own in study.contenders.iter().map(|c| c.region.as_ref().unwrap_or(region).value.as_str()) {
        if !all.contains(&own) {
            all.push(own);
        }
    }
    if all.len() > 1 {
        bill.own_region = Some(std::mem::replace(&mut bill.region, all.join(" and ")));
    }
    if let Some(scenario) = scenario {
        bill.own_region.get_or_insert_with(|| bill.region.clone());
        bill.region = format!("{}, {}", bill.region, scenario.name);
        bill.scenario = Some(scenario.name.clone());
    }
    bill
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = include_str!("bills/tests/two_providers.toml");

    #[test]
    fn contenders_of_two_providers_are_priced_each_by_its_own_and_compared() {
        let study = Study::read("s.toml", STUDY, &[]).unwrap();
        let priced = bills(&study, None, "s.toml").unwrap();
        let found: Vec<(&str, Option<&str>, &str, String)> = priced
            .bills
            .iter()
            .map(|b| (b.region.as_str(), b.own_region.as_deref(), b.snapshot.as_str(), b.monthly().to_string()))
            .collect();
        let both = "us-central1 and us-west-2";
        assert_eq!(found[0], (both, Some("us-central1"), "gcp-2026-07", "$224.84".into()));
        assert_eq!(found[1], (both, Some("us-west-2"), "aws-2024-08", "$198.56".into()));
        assert_eq!(priced.lists.0.len(), 2);
    }

    #[test]
    fn an_unknown_list_of_a_contender_is_named_with_its_line() {
        let study = Study::read("s.toml", &STUDY.replace("aws-2024-08", "aws-2024-8"), &[]).unwrap();
        let problems = bills(&study, None, "s.toml").unwrap_err();
        assert_eq!((problems.len(), problems[0].line), (1, 12));
        assert!(problems[0].message.starts_with("`snapshot` of contender `"), "{}", problems[0]);
        assert!(problems[0].help.contains("did you mean `aws-2024-08`"), "{}", problems[0]);
    }
}
