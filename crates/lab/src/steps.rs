//! Readings in the steps of a window: about a second each, longer ones in long trials.

use std::time::Duration;

use perbuck_core::run_record::micro;

/// The first length of a step: seconds are shown at times that differ by a little.
pub(crate) const FIRST: Duration = Duration::from_millis(900);
/// Steps at most; beyond them every two become one. The length of a trial that ends by its transactions is not known before.
pub(crate) const MOST: usize = 120;

/// Readings of something, and when they were taken. The first is that of the opening of the window.
#[derive(Debug)]
pub(crate) struct Steps<R> {
    step: Duration,
    seen: Vec<(u32, R)>,
}

impl<R> Steps<R> {
    pub(crate) fn new() -> Self {
        Self { step: FIRST, seen: Vec::new() }
    }

    /// How long a step is by now.
    pub(crate) fn step(&self) -> Duration {
        self.step
    }

    /// Whether so much time has passed between the last reading and now, which is so long after the opening.
    pub(crate) fn is_due(&self, since_opening: Duration, step: Duration) -> bool {
        self.seen.last().is_some_and(|(at_ms, _)| since_opening >= Duration::from_millis(u64::from(*at_ms)) + step)
    }

    /// Adds what was read so long after the opening.
    pub(crate) fn add(&mut self, since_opening: Duration, reading: R) {
        self.seen.push((u32::try_from(since_opening.as_millis()).unwrap_or(u32::MAX), reading));
        if self.seen.len() > MOST {
            let mut number = 0;
            self.seen.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.step *= 2;
        }
    }

    /// All readings, in the order of time.
    pub(crate) fn readings(&self) -> impl DoubleEndedIterator<Item = &R> + Clone {
        self.seen.iter().map(|(_, reading)| reading)
    }

    /// When each was taken, in milliseconds since the opening.
    pub(crate) fn times_ms(&self) -> impl Iterator<Item = u32> {
        self.seen.iter().map(|(at_ms, _)| *at_ms)
    }
}

/// By how much a counter grew in each step; `None` of one that was set back. Times of it are told in microseconds at best.
pub(crate) fn growth(counts: &[f64]) -> Option<Vec<f64>> {
    counts.windows(2).map(|w| (w[1] >= w[0]).then(|| micro(w[1] - w[0]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_window_has_longer_steps_and_keeps_its_first_and_its_last_reading() {
        let mut steps = Steps::new();
        for i in 0..1000_u32 {
            steps.add(Duration::from_secs(i.into()), i);
            let seen: Vec<u32> = steps.readings().copied().collect();
            assert!(seen.len() <= MOST && seen[0] == 0 && *seen.last().unwrap() == i, "{seen:?}");
        }
        assert!(steps.step() > FIRST && steps.times_ms().is_sorted());
        let last = Duration::from_secs(999);
        assert!(!steps.is_due(last + FIRST, steps.step()) && steps.is_due(last + steps.step(), steps.step()));
    }

    #[test]
    fn a_counter_that_was_set_back_did_not_grow() {
        assert_eq!(growth(&[1.0, 1.3, 1.3]), Some(vec![0.3, 0.0]));
        assert_eq!(growth(&[3.0, 1.0, 5.0]), None);
    }
}
