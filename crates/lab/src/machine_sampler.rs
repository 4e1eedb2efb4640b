//! What this machine does while a trial is measured, step by step.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use perbuck_core::run_record::{MachineSamples, Percents, ProcessorTime, Series, Values};
use perbuck_observe::{Counters, Interrupts, Processors, Share, counters, is_counter, processors};

use crate::steps::{FIRST, Steps, growth};

/// Pairs of a device and a processor whose interrupts a record holds, those with the most.
const MOST_INTERRUPTS: usize = 64;

/// Reads the counters of the machine. They only grow, so a reading that is left out takes nothing from the others.
pub(crate) struct MachineSampler {
    opened: Option<Instant>,
    seen: Steps<Reading>,
}

/// What the machine had counted at a time.
struct Reading {
    processors: Processors,
    counters: Counters,
}

impl Reading {
    fn now() -> Self {
        Self { processors: processors(), counters: counters() }
    }
}

impl MachineSampler {
    /// Before the window opens.
    pub(crate) fn new() -> Self {
        Self { opened: None, seen: Steps::new() }
    }

    pub(crate) fn open(&mut self) {
        self.opened = Some(Instant::now());
        self.seen = Steps::new();
        self.seen.add(Duration::ZERO, Reading::now());
    }

    pub(crate) fn read(&mut self) {
        self.read_after(self.seen.step());
    }

    /// The window closes. What is left is a step of its own unless it is too short for clock ticks to say anything of it.
    pub(crate) fn close(&mut self) {
        self.read_after(FIRST / 3);
        self.opened = None;
    }

    fn read_after(&mut self, step: Duration) {
        let Some(since) = self.opened.map(|opened| opened.elapsed()) else { return };
        if self.seen.is_due(since, step) {
            self.seen.add(since, Reading::now());
        }
    }

    /// What a record holds of it; `None` where nothing was seen, or the number of processors changed on the way.
    pub(crate) fn record(&self) -> Option<MachineSamples> {
        let steps = self.seen.readings().zip(self.seen.readings().skip(1));
        let shares: Vec<Vec<Share>> = steps.map(|(then, now)| now.processors.since(&then.processors)).collect();
        let count = shares.first()?.len();
        if count == 0 || shares.iter().any(|step| step.len() != count) {
            return None;
        }
        let column = |processor: usize, part: fn(&Share) -> u8| {
            let all: Vec<u8> = shares.iter().map(|step| part(&step[processor])).collect();
            Percents(if all.iter().all(|p| *p == 0) { Vec::new() } else { all })
        };
        let one = |i| ProcessorTime {
            work: column(i, |s| s.work),
            system: column(i, |s| s.system),
            irq: column(i, |s| s.irq),
            softirq: column(i, |s| s.softirq),
            stolen: column(i, |s| s.stolen),
            iowait: column(i, |s| s.iowait),
        };
        let steps_ms = self.seen.times_ms().skip(1).collect();
        let series = self.values().chain(self.interrupts()).collect();
        Some(MachineSamples { steps_ms, processors: (0..count).map(one).collect(), series })
    }

    /// What was counted in every reading, and never less than before. A device that did nothing is left out.
    fn values(&self) -> impl Iterator<Item = Series> {
        let names = self.seen.readings().next_back().into_iter().flat_map(|last| last.counters.values.keys());
        names.filter_map(|name| {
            let all: Option<Vec<f64>> = self.seen.readings().map(|reading| reading.counters.values.get(name).copied()).collect();
            let all = all?;
            if !is_counter(name) {
                return Some(Series { name: name.clone(), values: Values(all[1..].to_vec()) });
            }
            let series = Series { name: name.clone(), values: Values(growth(&all)?) };
            (!series.values.is_empty() || !name.contains('{')).then_some(series)
        })
    }

    /// The interrupts of devices, by the processor that took them.
    fn interrupts(&self) -> impl Iterator<Item = Series> {
        let pairs: BTreeSet<(&str, u32)> = self
            .seen
            .readings()
            .next_back()
            .into_iter()
            .flat_map(|last| last.counters.interrupts.each())
            .map(|(of, cpu, _)| (of, cpu))
            .collect();
        let mut all: Vec<Series> = pairs
            .into_iter()
            .filter_map(|(device, cpu)| {
                let counts: Vec<f64> = self.seen.readings().map(|r| r.counters.interrupts.of(device, cpu) as f64).collect();
                Some(Series { name: Interrupts::series(device, cpu), values: Values(growth(&counts)?) })
            })
            .filter(|series| !series.values.is_empty())
            .collect();
        all.sort_by(|a, b| b.sum().total_cmp(&a.sum()).then_with(|| a.name.cmp(&b.name)));
        all.truncate(MOST_INTERRUPTS);
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::MOST;

    /// Two processors after so many steps: the first works half of each, the second has softirqs all the time.
    fn after(steps: u64) -> Processors {
        let t = steps * 100;
        Processors::read(&format!("cpu0 {} 0 0 {} 0 0 0 0\ncpu1 0 0 0 0 0 0 {t} 0\n", t / 2, t / 2))
    }

    fn reading(processors: Processors) -> Reading {
        Reading { processors, counters: Counters::default() }
    }

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn what_is_counted_is_growth_and_the_rest_is_as_it_was() {
        let mut sampler = MachineSampler::new();
        let at = |n: u64, values: &[(&str, f64)]| {
            let interrupts = format!("CPU0 CPU1\n9: {} 5 PCI-MSI 1-edge q0\n", 7 + 3 * n);
            let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
            let counters = Counters { values, interrupts: Interrupts::read(&interrupts) };
            (seconds(n), Reading { counters, ..reading(after(n)) })
        };
        let first =
            [("a_total", 10.0), ("still_total", 1.0), ("b_total{device=\"x\"}", 1.0), ("g_bytes", 5.0), ("back_total", 9.0)];
        let second =
            [("a_total", 10.3), ("still_total", 1.0), ("b_total{device=\"x\"}", 1.0), ("g_bytes", 4.0), ("back_total", 2.0)];
        let third = [("a_total", 10.5), ("new_total", 3.0), ("still_total", 1.0), ("g_bytes", 6.0), ("back_total", 3.0)];
        for (time, reading) in [at(0, &first), at(1, &second), at(2, &third)] {
            sampler.seen.add(time, reading);
        }
        let series = sampler.record().unwrap().series;
        let seen: Vec<(&str, String)> = series.iter().map(|s| (s.name.as_str(), s.values.to_string())).collect();
        let queue = "node_interrupts_total{cpu=\"0\",devices=\"q0\"}";
        let expected = [("a_total", "0.3 0.2"), ("g_bytes", "4 6"), ("still_total", "0 0"), (queue, "3 3")];
        assert_eq!(seen, expected.map(|(name, values)| (name, values.to_owned())));
    }

    #[test]
    fn steps_become_columns_and_zeros_are_left_out() {
        let mut sampler = MachineSampler::new();
        (0..3).for_each(|i| sampler.seen.add(seconds(i), reading(after(i))));
        let record = sampler.record().unwrap();
        assert_eq!((record.steps_ms, record.processors.len()), (vec![1000, 2000], 2));
        assert_eq!(record.processors[0], ProcessorTime { work: Percents(vec![50, 50]), ..ProcessorTime::default() });
        assert_eq!(record.processors[1], ProcessorTime { softirq: Percents(vec![100, 100]), ..ProcessorTime::default() });
    }

    #[test]
    fn a_long_trial_has_longer_steps_and_the_same_shares() {
        let mut sampler = MachineSampler::new();
        (0..1000).for_each(|i| sampler.seen.add(seconds(i), reading(after(i))));
        let record = sampler.record().unwrap();
        assert!(record.steps_ms.len() <= MOST && sampler.seen.step() > FIRST, "{:?}", record.steps_ms);
        assert!(record.processors[0].work.0.iter().all(|p| *p == 50), "{record:?}");
        assert!(record.steps_ms.is_sorted(), "{:?}", record.steps_ms);
    }

    #[test]
    fn a_machine_that_changed_or_says_nothing_has_no_columns() {
        let one = Processors::read("cpu0 1 1 1 1 1 1 1 1\n");
        let nothing = Processors::default;
        for all in [[after(0), after(1), one], [nothing(), nothing(), nothing()]] {
            let mut sampler = MachineSampler::new();
            all.into_iter().zip(0..).for_each(|(p, i)| sampler.seen.add(seconds(i), reading(p)));
            assert_eq!(sampler.record(), None);
        }
        let mut never = MachineSampler::new();
        never.read();
        never.close();
        assert_eq!(never.record(), None);
    }
}
