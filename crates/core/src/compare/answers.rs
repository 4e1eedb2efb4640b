//! Whether contenders gave the same answers to the same queries on the same data.

use std::collections::{BTreeMap, BTreeSet};

use super::Remark;
use crate::run_record::RunRecord;
use crate::study::Study;
use crate::workload_kind::DIGEST;

/// Names of one remark.
const NAMED: usize = 6;

/// What differs between two contenders in the trials of a workload.
#[derive(Default)]
struct Unlike<'a> {
    trials: BTreeSet<u32>,
    kinds: BTreeSet<&'a str>,
    paths: Vec<String>,
}

/// A remark for each contender whose answers differ from those of the first one of the study that did the same work.
pub(super) fn remarks(study: &Study, records: &[RunRecord]) -> Vec<Remark> {
    let rank = |r: &RunRecord| study.contenders.iter().position(|c| c.name == r.key.contender);
    let mut trials: BTreeMap<_, Vec<&RunRecord>> = BTreeMap::new();
    for r in records {
        trials.entry((&r.key.workload, r.key.level(), r.key.deployment(), r.key.trial)).or_default().push(r);
    }
    let mut found: BTreeMap<(&str, &str, &str), Unlike<'_>> = BTreeMap::new();
    for ((workload, ..), mut same) in trials {
        let Some(kind) = study.workload(workload).and_then(|w| w.known) else { continue };
        same.sort_by_key(|r| rank(r));
        let Some((first, others)) = same.split_first() else { continue };
        for other in others.iter().filter(|other| did_the_same(first, other)) {
            let kinds = (kind.answers)(&first.workload.parameters).iter().map(|kind| &**kind);
            let unlike: Vec<&str> = kinds.filter(|kind| differ(first, other, kind)).collect();
            if !unlike.is_empty() {
                let all =
                    found.entry((workload.as_str(), first.key.contender.as_str(), other.key.contender.as_str())).or_default();
                all.trials.insert(other.key.trial);
                all.kinds.extend(unlike);
                all.paths.push(other.key.path());
            }
        }
    }
    found.into_iter().map(|((_, first, other), all)| all.remark((first, other))).collect()
}

impl Unlike<'_> {
    fn remark(self, (first, other): (&str, &str)) -> Remark {
        let trials = named(self.trials.iter().map(u32::to_string));
        let plural = if self.trials.len() == 1 { "" } else { "s" };
        let kinds = named(self.kinds.iter().map(|kind| (*kind).to_owned()));
        let text = format!("answers of {first} and {other} to the same queries differ in trial{plural} {trials}: {kinds}");
        Remark { text, flag: None, trials: self.paths.len(), example: self.paths.into_iter().next().unwrap_or_default() }
    }
}

/// The first of some names, and how many more there are.
fn named(all: impl ExactSizeIterator<Item = String>) -> String {
    let more = all.len().saturating_sub(NAMED);
    let mut first: Vec<String> = all.take(NAMED).collect();
    first.extend((more > 0).then(|| format!("and {more} more")));
    first.join(", ")
}

/// Whether both had the same queries and the same rows. Another version may have another digest.
fn did_the_same(a: &RunRecord, b: &RunRecord) -> bool {
    let work = |r: &RunRecord| (r.trial_seed, r.load.connections, r.imported.is_none());
    work(a) == work(b)
        && a.perbuck == b.perbuck
        && a.workload.parameters == b.workload.parameters
        && a.workload.rows_before == b.workload.rows_before
}

/// Whether all queries of a kind were answered on both sides, and the digests differ.
fn differ(a: &RunRecord, b: &RunRecord, kind: &str) -> bool {
    let answered = |r: &RunRecord| {
        let of = r.measured.transactions.get(kind).filter(|of| of.failed == 0)?;
        let digest: Vec<(String, u64)> =
            of.facts.iter().filter(|(name, _)| name.starts_with(DIGEST)).map(|(name, sum)| (name.clone(), *sum)).collect();
        Some((of.committed, digest))
    };
    let (Some((count, digest)), Some((other_count, other_digest))) = (answered(a), answered(b)) else { return false };
    count == other_count && digest != other_digest
}
