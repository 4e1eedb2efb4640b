//! What the processors of this machine do while a trial is measured, step by step.

use std::time::{Duration, Instant};

use perbuck_core::run_record::{Percents, ProcessorTime, ProcessorTimes};
use perbuck_observe::{Processors, Share, processors};

/// The first length of a step: seconds are shown at times that differ by a little.
const FIRST: Duration = Duration::from_millis(900);
/// Steps at most; beyond them every two become one. The length of a trial that ends by its transactions is not known before.
const MOST: usize = 120;

/// Reads the counters of the processors. They only grow, so a reading that is left out takes nothing from the others.
pub(crate) struct CpuSampler {
    step: Duration,
    opened: Option<Instant>,
    /// Milliseconds since the window opened, and what was seen; the first at its opening.
    seen: Vec<(u32, Processors)>,
}

impl CpuSampler {
    /// Before the window opens.
    pub(crate) fn new() -> Self {
        Self { step: FIRST, opened: None, seen: Vec::new() }
    }

    pub(crate) fn open(&mut self) {
        self.opened = Some(Instant::now());
        self.seen = vec![(0, processors())];
    }

    pub(crate) fn read(&mut self) {
        self.read_after(self.step);
    }

    /// The window closes. What is left is a step of its own unless it is too short for clock ticks to say anything of it.
    pub(crate) fn close(&mut self) {
        self.read_after(FIRST / 3);
        self.opened = None;
    }

    fn read_after(&mut self, step: Duration) {
        let (Some(opened), Some((last_ms, _))) = (self.opened, self.seen.last()) else { return };
        let since = opened.elapsed();
        if since >= Duration::from_millis(u64::from(*last_ms)) + step {
            self.add(u32::try_from(since.as_millis()).unwrap_or(u32::MAX), processors());
        }
    }

    fn add(&mut self, at_ms: u32, seen: Processors) {
        self.seen.push((at_ms, seen));
        if self.seen.len() > MOST {
            let mut number = 0;
            self.seen.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.step *= 2;
        }
    }

    /// What a record holds of it; `None` where nothing was seen, or the number of processors changed on the way.
    pub(crate) fn record(&self) -> Option<ProcessorTimes> {
        let steps: Vec<(u32, Vec<Share>)> = self.seen.windows(2).map(|w| (w[1].0, w[1].1.since(&w[0].1))).collect();
        let count = steps.first()?.1.len();
        if count == 0 || steps.iter().any(|(_, shares)| shares.len() != count) {
            return None;
        }
        let column = |processor: usize, part: fn(&Share) -> u8| {
            let all: Vec<u8> = steps.iter().map(|(_, shares)| part(&shares[processor])).collect();
            Percents(if all.iter().all(|p| *p == 0) { Vec::new() } else { all })
        };
        let one = |i| ProcessorTime {
            work: column(i, |s| s.work),
            irq: column(i, |s| s.irq),
            softirq: column(i, |s| s.softirq),
            stolen: column(i, |s| s.stolen),
        };
        Some(ProcessorTimes { steps_ms: steps.iter().map(|(at, _)| *at).collect(), processors: (0..count).map(one).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two processors after so many steps: the first works half of each, the second has softirqs all the time.
    fn after(steps: u64) -> Processors {
        let t = steps * 100;
        Processors::read(&format!("cpu0 {} 0 0 {} 0 0 0 0\ncpu1 0 0 0 0 0 0 {t} 0\n", t / 2, t / 2))
    }

    #[test]
    fn steps_become_columns_and_zeros_are_left_out() {
        let mut sampler = CpuSampler::new();
        (0..3).for_each(|i| sampler.add(i as u32 * 1000, after(i)));
        let record = sampler.record().unwrap();
        assert_eq!((record.steps_ms, record.processors.len()), (vec![1000, 2000], 2));
        assert_eq!(record.processors[0], ProcessorTime { work: Percents(vec![50, 50]), ..ProcessorTime::default() });
        assert_eq!(record.processors[1], ProcessorTime { softirq: Percents(vec![100, 100]), ..ProcessorTime::default() });
    }

    #[test]
    fn a_long_trial_has_longer_steps_and_the_same_shares() {
        let mut sampler = CpuSampler::new();
        (0..1000).for_each(|i| sampler.add(i as u32 * 1000, after(i)));
        let record = sampler.record().unwrap();
        assert!(record.steps_ms.len() <= MOST && sampler.step > FIRST, "{:?}", record.steps_ms);
        assert!(record.processors[0].work.0.iter().all(|p| *p == 50), "{record:?}");
        assert!(record.steps_ms.is_sorted(), "{:?}", record.steps_ms);
    }

    #[test]
    fn a_machine_that_changed_or_says_nothing_has_no_columns() {
        let one = Processors::read("cpu0 1 1 1 1 1 1 1 1\n");
        let nothing = Processors::default;
        for all in [[after(0), after(1), one], [nothing(), nothing(), nothing()]] {
            let mut sampler = CpuSampler::new();
            all.into_iter().enumerate().for_each(|(i, p)| sampler.add(i as u32, p));
            assert_eq!(sampler.record(), None);
        }
        let mut never = CpuSampler::new();
        never.read();
        never.close();
        assert_eq!(never.record(), None);
    }
}
