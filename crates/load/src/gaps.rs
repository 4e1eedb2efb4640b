//! Times in which nothing was completed, and those of them in which a transaction was due.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// A time without a completion, in nanoseconds relative to the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Quiet {
    /// The completion before it.
    pub from: i64,
    /// The completion that ended it.
    pub to: i64,
    /// When the transaction that ended it was due: before that, in open loop, nothing may have been asked for.
    pub due: i64,
}

/// The times in which no worker completed anything: the intersection of all workers' gaps, each list ascending.
pub(crate) fn common_gaps(workers: &[Vec<Quiet>]) -> Vec<Quiet> {
    let Some((first, rest)) = workers.split_first() else { return Vec::new() };
    let mut common = first.clone();
    for other in rest {
        let mut next = Vec::new();
        for mine in &common {
            let overlaps = other.iter().map(|o| Quiet {
                from: o.from.max(mine.from),
                to: o.to.min(mine.to),
                due: match o.to.cmp(&mine.to) {
                    Ordering::Less => o.due,
                    Ordering::Equal => o.due.min(mine.due),
                    Ordering::Greater => mine.due,
                },
            });
            next.extend(overlaps.filter(|q| q.to > q.from));
        }
        common = next;
    }
    common
}

/// Of quiet times those in which a transaction was due, from when on it was: (from, to).
pub(crate) fn waited_for(quiet: Vec<Quiet>) -> Vec<(i64, i64)> {
    quiet.into_iter().map(|q| (q.from.max(q.due), q.to)).filter(|(from, to)| to > from).collect()
}
