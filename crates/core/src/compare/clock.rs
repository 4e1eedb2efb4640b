//! Whether the clock that people set was set between trials, outside of every window.

use std::collections::BTreeMap;

use super::Remark;
use crate::run_record::{BootTime, RunRecord};
use crate::units::thousands;

/// A step by less than this is what a time server corrects, in milliseconds.
const STEP_MS: i64 = 200;
/// A time server makes a clock run faster or slower by at most this share of the time that passes.
const SLEW: i64 = 2000;

/// What the starts of trials by two clocks say: the civil one, which can be set, and the one that counts from the machine's start.
pub(super) fn steps(records: &[RunRecord]) -> Option<Remark> {
    let mut boots: BTreeMap<&str, Vec<(&BootTime, &RunRecord)>> = BTreeMap::new();
    for record in records {
        if let Some(at) = &record.started_boot {
            boots.entry(&at.boot).or_default().push((at, record));
        }
    }
    let (mut found, mut backwards): (Vec<(i64, &RunRecord)>, bool) = (Vec::new(), false);
    for starts in boots.values_mut() {
        starts.sort_by_key(|(at, _)| at.ms);
        for pair in starts.windows(2) {
            let ((from, before), (to, after)) = (pair[0], pair[1]);
            let passed_ms = i64::try_from(to.ms.saturating_sub(from.ms)).unwrap_or(i64::MAX);
            let civil_ms =
                i64::try_from(i128::from(after.started_unix_ms) - i128::from(before.started_unix_ms)).unwrap_or(i64::MAX);
            let step_ms = civil_ms.saturating_sub(passed_ms);
            if step_ms.saturating_abs() > STEP_MS + passed_ms / SLEW {
                found.push((step_ms, after));
                backwards |= civil_ms < 0;
            }
        }
    }
    let (step_ms, record) = found.iter().max_by_key(|(step_ms, _)| step_ms.unsigned_abs())?;
    let way = if *step_ms < 0 { "back" } else { "forward" };
    let most = if found.len() > 1 { "up to " } else { "" };
    let tenths = (step_ms.unsigned_abs() + 50) / 100;
    let seconds = format!("{}.{}", thousands(tenths / 10), tenths % 10);
    let order = if backwards { "; by the times in their records they are out of order" } else { "" };
    let text = format!("the clock of the client's machine was set {way} by {most}{seconds} s before the trial{order}");
    Some(Remark { text, flag: None, trials: found.len(), example: record.key.path() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::record;

    /// Trials at these seconds since the machine started, with what the civil clock was ahead by then.
    fn trials(starts: &[(u64, i64)]) -> Vec<RunRecord> {
        let at = |(trial, (s, ahead_ms)): (u32, &(u64, i64))| {
            let mut record = record("a", 1, trial, 100);
            record.started_unix_ms = (1_800_000_000_000 + *s as i64 * 1000 + ahead_ms) as u64;
            record.started_boot = Some(BootTime { boot: "b".to_owned(), ms: s * 1000 });
            record
        };
        (1..).zip(starts).map(at).collect()
    }

    #[test]
    fn a_clock_that_is_set_between_trials_is_named_with_the_size_of_its_step() {
        assert_eq!(steps(&trials(&[(10, 0), (20, 5), (30, 9), (40_000, 9_000)])), None, "what a time server corrects");
        let back = steps(&trials(&[(10, 0), (20, 0), (30, -3_599_999), (40, -3_599_999)])).unwrap();
        assert!(back.trials == 1 && back.example.ends_with("003.json"), "{back:?}");
        assert!(back.text.contains("set back by 3,600.0 s") && back.text.contains("out of order"), "{}", back.text);
        let twice = steps(&trials(&[(10, 0), (20, 1_500), (30, 0)])).unwrap();
        assert!(twice.trials == 2 && twice.text.contains("by up to 1.5 s") && !twice.text.contains("out of order"), "{twice:?}");
        let mut other = trials(&[(10, 0), (5, 7_000_000)]);
        other[1].started_boot.as_mut().unwrap().boot = "another".to_owned();
        assert_eq!(steps(&other), None, "two machines, or one that was started again");
        other[1].started_boot = None;
        assert_eq!(steps(&other), None, "a record of an older version");
    }
}
