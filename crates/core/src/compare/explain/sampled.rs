//! Sums over what the machines of a point's trials counted.

use std::collections::BTreeMap;

use crate::run_record::{MachineSamples, Percents, ProcessorTime, RunRecord, SERVERS, Series};

/// What a machine did in the trials of a point.
pub(super) struct Sampled<'r> {
    /// Whose machine it is, for texts: `the client's machine`.
    pub(super) machine: String,
    all: Vec<&'r MachineSamples>,
    /// The length of all of them.
    pub(super) seconds: f64,
}

/// What one processor did on average, percent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mean {
    /// All but idle time.
    pub(super) busy: f64,
    /// Interrupts, and what they leave to be done.
    pub(super) interrupts: f64,
}

impl<'r> Sampled<'r> {
    /// The machines that every trial sampled.
    pub(super) fn of(trials: &[&'r RunRecord]) -> Vec<Self> {
        let each: Vec<Vec<(String, &MachineSamples)>> = trials.iter().map(|r| r.sampled()).collect();
        let names = each.first().into_iter().flatten().map(|(name, _)| name);
        let one = |machine: &String| {
            let of_trial =
                |sampled: &Vec<(String, &'r MachineSamples)>| sampled.iter().find(|(name, _)| name == machine).map(|s| s.1);
            let all: Vec<&MachineSamples> = each.iter().map(of_trial).collect::<Option<_>>()?;
            let seconds = all.iter().filter_map(|s| s.steps_ms.last()).map(|ms| f64::from(*ms) / 1e3).sum();
            (seconds > 0.0).then(|| Self { machine: machine.clone(), all, seconds })
        };
        names.filter_map(one).collect()
    }

    /// Whether it is the machine of a server that stands alone.
    pub(super) fn is_servers(&self) -> bool {
        self.machine.starts_with(SERVERS)
    }

    /// By how much the counters of a family grew, all together; `None` where no trial counted any.
    pub(super) fn sum(&self, family: &str) -> Option<f64> {
        let mut found = self.all.iter().flat_map(|s| &s.series).filter(|s| s.family() == family).peekable();
        found.peek()?;
        Some(found.map(Series::sum).sum())
    }

    /// The same by the value of a label.
    pub(super) fn by(&self, family: &str, label: &str) -> BTreeMap<&'r str, f64> {
        let mut sums = BTreeMap::new();
        for series in self.all.iter().flat_map(|s| &s.series).filter(|s| s.family() == family) {
            if let Some(value) = series.label(label) {
                *sums.entry(value).or_insert(0.0) += series.sum();
            }
        }
        sums
    }

    /// Each processor, steps weighed by their length; none where machines had different numbers of them.
    pub(super) fn processors(&self) -> Vec<Mean> {
        let count = self.all.first().map_or(0, |s| s.processors.len());
        if self.all.iter().any(|s| s.processors.len() != count) {
            return Vec::new();
        }
        let of = |i: usize, parts: fn(&ProcessorTime) -> Vec<&Percents>| {
            let sums = self.all.iter().map(|s| parts(&s.processors[i]).into_iter().map(|p| weighed(p, &s.steps_ms)).sum::<f64>());
            sums.sum::<f64>() / self.seconds
        };
        let one = |i| Mean {
            busy: of(i, |p| vec![&p.work, &p.irq, &p.softirq, &p.stolen]),
            interrupts: of(i, |p| vec![&p.irq, &p.softirq]),
        };
        (0..count).map(one).collect()
    }
}

/// Percents by the seconds of their steps.
fn weighed(percents: &Percents, steps_ms: &[u32]) -> f64 {
    let starts = std::iter::once(0).chain(steps_ms.iter().copied());
    let steps = steps_ms.iter().zip(starts).map(|(end, start)| f64::from(end.saturating_sub(start)) / 1e3);
    percents.0.iter().zip(steps).map(|(percent, seconds)| f64::from(*percent) * seconds).sum()
}
