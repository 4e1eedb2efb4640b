//! An old folder beside a new one.

use super::*;

fn slower(by: f64) -> Vec<RunRecord> {
    let mut all = records();
    for r in &mut all {
        let t = r.measured.transactions.get_mut("mixed").unwrap();
        t.committed = (t.committed as f64 * by) as u64;
    }
    all
}

fn of(old: &[RunRecord], new: &[RunRecord], insist: &[&str]) -> Result<Regression, Vec<Refusal>> {
    let insist: Vec<String> = insist.iter().map(|w| (*w).to_owned()).collect();
    regression((&study(), old), (&study(), new), None, &insist)
}

#[test]
fn the_same_is_no_regression_and_a_fifth_less_is_one() {
    let same = of(&records(), &records(), &[]).unwrap();
    assert_eq!((same.results.len(), same.worse().count(), same.changes.len()), (2, 0, 0));
    near(same.results[0].judgement.ratio.value, 1.0);
    let less = of(&records(), &slower(0.8), &[]).unwrap();
    assert_eq!(less.worse().map(|r| r.contender.as_str()).collect::<Vec<_>>(), ["arm", "x86"]);
    assert!((less.results[1].judgement.ratio.value - 0.8).abs() < 1e-3 && (less.results[1].old - 500.0).abs() < 1e-9);
    // Faster is no regression, and a wider margin forgives.
    assert_eq!(of(&slower(0.8), &records(), &[]).unwrap().worse().count(), 0);
    assert_eq!(regression((&study(), &records()), (&study(), &slower(0.8)), Some(0.4), &[]).unwrap().worse().count(), 0);
}

#[test]
fn another_version_of_the_system_is_named_and_another_machine_refused() {
    let mut new = records();
    new.iter_mut().for_each(|r| r.target.version = "4".into());
    let found = of(&records(), &new, &[]).unwrap();
    assert_eq!((found.changes.len(), found.changes[0].what.as_str(), found.changes[0].new.as_str()), (1, "version", "4"));
    new.iter_mut().for_each(|r| r.host.cpus = 64);
    let refused = of(&records(), &new, &[]).unwrap_err();
    assert_eq!((refused.len(), refused[0].insist), (1, Some("environment")));
    assert!(refused[0].reason.contains("processors was 2 and is 64"), "{refused:?}");
    assert_eq!(of(&records(), &new, &["environment"]).unwrap().changes.len(), 2);
    new.iter_mut().for_each(|r| r.workload.data_fingerprint = "other".into());
    assert_eq!(of(&records(), &new, &["environment"]).unwrap_err()[0].insist, Some("workloads"));
    assert!(of(&records(), &new, &["environment", "workloads"]).is_ok());
}

#[test]
fn what_only_one_side_has_is_named_and_nothing_in_common_is_refused() {
    let new: Vec<RunRecord> = records().into_iter().filter(|r| r.key.contender == "arm").collect();
    let found = of(&records(), &new, &[]).unwrap();
    assert_eq!(found.results.len(), 1);
    assert_eq!(found.unmatched, ["x86, small is only in the old folder"]);
    let old: Vec<RunRecord> = records().into_iter().filter(|r| r.key.contender == "x86").collect();
    let refused = of(&old, &new, &[]).unwrap_err();
    assert_eq!((refused.len(), refused[0].insist), (1, None));
}
