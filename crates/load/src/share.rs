//! The part of a trial that one of several processes applies. Terminals and arrivals are dealt in turn, so that the union of all shares is the
//! very same plan as that of one process: terminal and arrival *i* belong to share *i* mod *n*.

use std::iter::{Skip, StepBy};

use perbuck_core::arrivals::Schedule;
use serde::{Deserialize, Serialize};

/// One of several shares of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// From 0.
    pub number: u32,
    /// How many shares there are.
    pub of: u32,
}

/// The arrivals of one share.
pub(crate) type ShareOfSchedule = StepBy<Skip<Schedule>>;

impl Share {
    /// All of a trial.
    pub const WHOLE: Self = Self { number: 0, of: 1 };

    /// How many connections this share has, of so many in all.
    pub fn connections(self, of_all: u32) -> u32 {
        self.terminals(of_all).count
    }

    /// The terminals of this share, if there are so many in all.
    pub(crate) fn terminals(self, of_all: u32) -> Terminals {
        let of = self.of.max(1);
        Terminals { first: self.number, step: of, count: of_all.saturating_sub(self.number).div_ceil(of) }
    }

    /// The arrivals of this share.
    pub(crate) fn arrivals(self, all: Schedule) -> ShareOfSchedule {
        all.skip(self.number as usize).step_by(self.of.max(1) as usize)
    }

    /// How many of these things are this share's.
    pub(crate) fn part(self, of_all: u64) -> u64 {
        let of = u64::from(self.of.max(1));
        of_all / of + u64::from(u64::from(self.number) < of_all % of)
    }
}

/// Terminals at equal steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terminals {
    first: u32,
    step: u32,
    pub(crate) count: u32,
}

impl Terminals {
    /// The one with this index.
    pub(crate) fn one(index: u32) -> Self {
        Self { first: index, step: 1, count: 1 }
    }

    /// Their indexes, ascending.
    pub(crate) fn indexes(self) -> impl Iterator<Item = u32> {
        (0..self.count).map(move |position| self.first + position * self.step)
    }

    /// Those at these positions.
    pub(crate) fn between(self, from: u32, to: u32) -> Self {
        Self { first: self.first + from * self.step, count: to - from, ..self }
    }
}

#[cfg(test)]
mod tests {
    use perbuck_core::arrivals::{Arrivals, RatePhase};
    use perbuck_core::units::Seed;

    use super::*;

    #[test]
    fn the_union_of_all_shares_is_the_plan_of_one() {
        let phases = [RatePhase { length_ns: 20_000_000_000, from_per_s: 10.0, to_per_s: 400.0 }];
        for arrivals in [Arrivals::Poisson, Arrivals::Uniform] {
            let whole = Schedule::new(&phases, arrivals, Seed(9));
            let all: Vec<u64> = whole.clone().collect();
            for of in [1, 3, 7] {
                let shares = (0..of).map(|number| Share { number, of });
                let mut dealt: Vec<_> = shares.clone().map(|share| share.arrivals(whole.clone())).collect();
                let union: Vec<u64> = (0..all.len()).map(|i| dealt[i % of as usize].next().unwrap()).collect();
                assert_eq!((&union, dealt.iter_mut().all(|rest| rest.next().is_none())), (&all, true), "{of} shares");
                for terminals in [1, 6, 7, 64, 1000] {
                    let mut indexes: Vec<u32> = shares.clone().flat_map(|share| share.terminals(terminals).indexes()).collect();
                    indexes.sort_unstable();
                    assert_eq!(indexes, (0..terminals).collect::<Vec<_>>(), "{of} shares of {terminals}");
                    let parts: Vec<u64> = shares.clone().map(|share| share.part(terminals.into())).collect();
                    assert_eq!(parts.iter().sum::<u64>(), u64::from(terminals));
                }
            }
        }
    }

    #[test]
    fn workers_get_what_lies_between_two_positions() {
        let mine = Share { number: 2, of: 3 }.terminals(11);
        assert_eq!(mine.indexes().collect::<Vec<_>>(), [2, 5, 8]);
        assert_eq!(mine.between(1, 3).indexes().collect::<Vec<_>>(), [5, 8]);
        assert_eq!(Share { number: 5, of: 8 }.terminals(4).count, 0);
    }
}
