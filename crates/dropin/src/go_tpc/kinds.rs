//! What a run has completed by kind of transaction: since the last lines, and in the whole window.

use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::HistogramRecord;
use perbuck_load::observer::SecondSeen;
use perbuck_load::recorder::KindSecond;

use crate::run::Ended;

/// What was completed since the last lines, or since the start where they are totals.
pub(crate) struct Since {
    /// Whole seconds of the window that are over.
    pub(crate) seconds: u32,
    /// By kind.
    pub(crate) kinds: Vec<KindSecond>,
}

impl Since {
    /// For the first so many kinds of a workload.
    pub(crate) fn new(kinds: usize) -> Self {
        Self { seconds: 0, kinds: vec![KindSecond::default(); kinds] }
    }

    /// Adds a second; whether lines are due after it, which come at intervals of so many seconds. What came before the window counts nowhere.
    pub(crate) fn add(&mut self, seen: &SecondSeen<'_>, interval_s: u32) -> bool {
        if seen.interval.start_ms < 0 {
            return false;
        }
        self.seconds += 1;
        for (all, kind) in self.kinds.iter_mut().zip(&seen.second.kinds) {
            all.completed.merge(&kind.completed);
            all.failed.merge(&kind.failed);
            all.pauses.merge(&kind.pauses);
        }
        self.seconds.is_multiple_of(interval_s)
    }

    /// Begins with the next lines.
    pub(crate) fn clear(&mut self) {
        self.kinds.fill(KindSecond::default());
    }

    /// By name, for [`paired`].
    pub(crate) fn times<'a>(&'a self, names: &'a [&'a str]) -> impl Iterator<Item = Times<'a>> {
        names.iter().copied().zip(&self.kinds).map(|(name, kind)| (name, &kind.completed, &kind.failed))
    }
}

/// A kind with the times of what was completed, and of what failed.
pub(crate) type Times<'a> = (&'a str, &'a Histogram, &'a Histogram);

/// The kinds of the whole window.
pub(crate) struct Measured<'a>(Vec<(&'a str, Histogram, Histogram)>);

impl<'a> Measured<'a> {
    /// Those with a wanted name.
    pub(crate) fn of(ended: &'a Ended, wanted: impl Fn(&str) -> bool) -> Result<Self, String> {
        let mut kinds = Vec::new();
        for (name, transactions) in ended.record.measured.transactions.iter().filter(|(name, _)| wanted(name)) {
            let failed = ended.details.failed_latency.get(name).map(HistogramRecord::to_histogram).transpose();
            let failed = failed.map_err(|e| format!("{name}: {e}"))?.unwrap_or_else(Histogram::new);
            kinds.push((name.as_str(), transactions.service.to_histogram().map_err(|e| format!("{name}: {e}"))?, failed));
        }
        Ok(Self(kinds))
    }

    pub(crate) fn times(&self) -> impl Iterator<Item = Times<'_>> {
        self.0.iter().map(|(name, completed, failed)| (*name, completed, failed))
    }
}

/// The operations of go-tpc, by name in capitals and with `_ERR` after it for what failed, in its order, which is that of the letters: Q1, Q10,
/// Q1_ERR, Q2. Nothing for those without any.
pub(crate) fn paired<'a>(kinds: impl IntoIterator<Item = Times<'a>>) -> Vec<(String, &'a Histogram)> {
    let both = |(name, completed, failed): Times<'a>| {
        let name = name.to_uppercase();
        [(name.clone(), completed), (name + "_ERR", failed)]
    };
    let mut all: Vec<_> = kinds.into_iter().flat_map(both).filter(|(_, times)| times.count() > 0).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}
