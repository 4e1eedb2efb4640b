//! Stores of a cluster of which one has most of the work.

use super::server::Metered;
use super::{Bound, BoundBy};

/// A store that has so many times the mean of the others has most of it.
const MOST: f64 = 2.0;
/// Processors of a store that does nothing much.
const IDLE: f64 = 0.5;
/// Leaders by which stores may differ, as for a cluster that is at rest.
const LEADERS: f64 = 10.0;

/// What the stores told of one thing, by their numbers from 1.
struct ByStore(Vec<f64>);

impl ByStore {
    /// A counter, for each second.
    fn rate(metered: &Metered<'_>, family: &str) -> Self {
        let seconds = metered.seconds();
        Self::of(family, |name| metered.each_of(name).map(|(grown, _)| grown).sum::<f64>() / seconds, metered)
    }

    /// The mean of something else.
    fn mean(metered: &Metered<'_>, family: &str) -> Self {
        let seconds = metered.seconds();
        Self::of(family, |name| metered.each_of(name).map(|(mean, s)| mean * s).sum::<f64>() / seconds, metered)
    }

    /// A store that did nothing is left out of a record, so the last number that any family has is how many there are.
    fn of(family: &str, value: impl Fn(&str) -> f64, metered: &Metered<'_>) -> Self {
        let count = metered.stores();
        Self((1..=count).map(|number| value(&format!("{family}{{store=\"{number}\"}}"))).collect())
    }

    /// The store with most, its value, and the mean of the others.
    fn most(&self) -> Option<(usize, f64, f64)> {
        let (at, most) = self.0.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let others = self.0.len().checked_sub(1).filter(|others| *others > 0)?;
        Some((at, most, (self.sum() - most) / others as f64))
    }

    fn sum(&self) -> f64 {
        self.0.iter().sum()
    }

    /// `81 % of their requests`; nothing where there are none.
    fn share(&self, at: usize, of: &str) -> Option<String> {
        let sum = self.sum();
        (sum > 0.0).then(|| format!("{:.0} % of {of}", 100.0 * self.0[at] / sum))
    }
}

/// One store that has most of the processor time, while the others idle. Where that is not told, requests and leaders say it.
pub(super) fn unbalanced(metered: &Metered<'_>) -> Option<Bound> {
    let cpu = ByStore::rate(metered, "store_cpu_seconds_total");
    let requests = ByStore::rate(metered, "store_requests_total");
    let leaders = ByStore::mean(metered, "store_leaders");
    let count = cpu.0.len();
    let (at, most, others) = if cpu.sum() > 0.0 {
        cpu.most().filter(|(_, most, others)| *most >= IDLE && *most >= MOST * others)?
    } else {
        let uneven = |of: &ByStore, least: f64| of.most().filter(|(_, most, rest)| *most >= MOST * rest && most - rest > least);
        uneven(&requests, 0.0).or_else(|| uneven(&leaders, LEADERS))?
    };
    let mut has: Vec<String> = Vec::new();
    if cpu.sum() > 0.0 {
        has.push(format!("{most:.2} of the stores' {:.2} processors (each other one {others:.2})", cpu.sum()));
    }
    has.extend(requests.share(at, "their requests"));
    has.extend((leaders.sum() > 0.0).then(|| format!("{:.0} of {:.0} leaders", leaders.0[at], leaders.sum())));
    let text = format!("one store of {count} has most of the work: store {} has {}", at + 1, has.join(", "));
    Some(Bound { by: BoundBy::Unbalanced, text })
}
