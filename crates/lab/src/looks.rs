//! A study that ends when its verdicts are there: which of its trials are still run.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use perbuck_core::compare::{Points, cost_of, driven, open_points, point_of};
use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::RunRecord;
use perbuck_core::study::{Budget, Study, Until};

use crate::error::LabError;
use crate::inputs::Inputs;
use crate::progress::{Progress, clock_text};
use crate::stored;

/// What becomes of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Run,
    /// It is not needed.
    Skip,
    /// Neither it nor any after it fits into the budget.
    End,
}

/// The looks of one run.
pub(crate) struct Looks<'a> {
    inputs: &'a Inputs,
    /// `None` in a study that runs all of its trials.
    until: Option<&'a Until>,
    /// The values of all trials so far.
    records: Vec<RunRecord>,
    block: u32,
    open: Option<Points>,
    began: Instant,
    /// When the first trial of this block began.
    began_block: Option<Instant>,
    /// The longest block of this run.
    longest: Duration,
}

impl<'a> Looks<'a> {
    /// Those of a study whose finished trials lie in a folder.
    ///
    /// # Errors
    /// Records that cannot be read.
    pub(crate) fn start(inputs: &'a Inputs, root: &Path) -> Result<Self, LabError> {
        let until = inputs.study.decision.until.as_ref();
        let records = if until.is_some() { stored::records(root)?.0 } else { Vec::new() };
        let records = records.into_iter().filter(|r| r.void.is_none()).map(light).collect();
        Ok(Self {
            inputs,
            until,
            records,
            block: 0,
            open: None,
            began: Instant::now(),
            began_block: None,
            longest: Duration::ZERO,
        })
    }

    /// Of trials that are not on disk those that may be run: none where no block needs one of them.
    pub(crate) fn needed(&self, missing: &mut Vec<(usize, &TrialKey)>) {
        if self.until.is_none() {
            return;
        }
        let mut blocks: Vec<u32> = missing.iter().map(|(_, key)| key.trial).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let first = blocks.into_iter().find_map(|block| {
            let open = open_points(&self.inputs.study, &self.records, &self.inputs.bills, block);
            let is_open = |key: &TrialKey| open.as_ref().is_none_or(|open| open.contains(&point_of(key)));
            let ends = open.as_ref().is_some_and(Points::is_empty);
            let needed = missing.iter().any(|(_, key)| key.trial == block && is_open(key));
            (ends || needed).then_some((block, ends))
        });
        missing.retain(|(_, key)| first.is_some_and(|(first, ends)| !ends && key.trial >= first));
    }

    /// What becomes of this trial. The first one of a block is a look at all blocks before it.
    pub(crate) fn before(&mut self, key: &TrialKey, progress: &mut dyn Progress) -> Next {
        let Some(until) = self.until else { return Next::Run };
        if key.trial != self.block {
            let took = self.began_block.map_or(Duration::ZERO, |began| began.elapsed());
            self.longest = self.longest.max(took);
            if let Some(budget) = until.budget.filter(|budget| self.is_beyond(*budget)) {
                let budget = match budget {
                    Budget::Ns(ns) => clock_text(Duration::from_nanos(ns)),
                    Budget::Usd(dollars) => dollars.to_string(),
                };
                progress.line(&format!(
                    "block {} would use more than the budget of {budget}; the same command goes on with it",
                    key.trial
                ));
                return Next::End;
            }
            let was = self.open.take();
            (self.block, self.began_block) = (key.trial, None);
            self.open = open_points(&self.inputs.study, &self.records, &self.inputs.bills, key.trial);
            if let Some(open) = self.open.as_ref().filter(|open| was.as_ref() != Some(open)) {
                progress.line(&told(&self.inputs.study, key.trial - 1, open));
            }
        }
        match &self.open {
            // Nothing is measured any more that could open one of them again.
            Some(open) if open.is_empty() => Next::End,
            Some(open) if !open.contains(&point_of(key)) => Next::Skip,
            _ => {
                self.began_block.get_or_insert_with(Instant::now);
                Next::Run
            }
        }
    }

    /// Takes a trial that was run.
    pub(crate) fn saw(&mut self, record: &RunRecord) {
        if self.until.is_some() {
            self.records.push(light(record.clone()));
        }
    }

    /// Whether another block as long as the longest of this run would use more than that.
    fn is_beyond(&self, budget: Budget) -> bool {
        let end = self.began.elapsed().saturating_add(self.longest);
        let Inputs { study, bills, .. } = self.inputs;
        let is_beyond = match budget {
            Budget::Ns(ns) => end > Duration::from_nanos(ns),
            Budget::Usd(most) => cost_of(study, bills, &driven(study), end.as_millis() as u64).is_some_and(|cost| cost > most),
        };
        is_beyond && !self.longest.is_zero()
    }
}

/// A record without what its value does not need: a study may have thousands.
fn light(mut record: RunRecord) -> RunRecord {
    record.intervals = Vec::new();
    record.audit = Vec::new();
    record.measured.phases = Vec::new();
    for transaction in record.measured.transactions.values_mut() {
        [&mut transaction.service, &mut transaction.wait, &mut transaction.response]
            .into_iter()
            .for_each(|h| h.hdr = String::new());
    }
    record
}

/// What holds the study up after a block.
fn told(study: &Study, block: u32, open: &Points) -> String {
    let rivals = open.iter().filter(|(contender, ..)| {
        *contender != study.baseline().name && study.contender(contender).is_some_and(|c| c.control_of.is_none())
    });
    let names: BTreeSet<String> = rivals.map(|(contender, workload, _)| format!("{contender} on {workload}")).collect();
    if names.is_empty() {
        return format!("after block {block} no verdict is waited for any more");
    }
    format!("after block {block} not decided: {}", names.into_iter().collect::<Vec<_>>().join(", "))
}
