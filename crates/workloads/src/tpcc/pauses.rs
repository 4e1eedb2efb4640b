//! Keying and think times (5.2.5.2, 5.2.5.4), and where a terminal begins.

use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;
use perbuck_load::workload::Pauses;

/// Seconds of keying before each kind of transaction, by kind.
const KEYING_S: [u64; 5] = [18, 3, 2, 2, 2];
/// Mean seconds of thinking after each kind, by kind.
const THINKING_S: [f64; 5] = [12.0, 12.0, 10.0, 5.0, 5.0];
/// No think time is longer than so many means.
const LONGEST: f64 = 10.0;
/// The mean of keying and thinking over a deck of 23 cards: ten new orders, ten payments, one each of the others.
const CYCLE_S: f64 = (10.0 * 30.0 + 10.0 * 15.0 + 12.0 + 7.0 + 7.0) / 23.0;
const SECOND_NS: f64 = 1e9;

/// The pauses of a terminal: a stream of their own, so that what it does is the same with and without them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clockwork {
    seed: Seed,
    terminal: u64,
}

impl Clockwork {
    pub(super) fn new(trial_seed: Seed, terminal: u32) -> Self {
        Self { seed: trial_seed.derive("tpcc.pauses"), terminal: u64::from(terminal) }
    }

    /// Those around operation `sequence`, which is of that kind. Before its first one a terminal also waits a uniform share of
    /// the mean cycle: users do not sit down in the same second, and terminals that began together would press
    /// their keys together for many cycles.
    pub(super) fn pauses(&self, sequence: u64, kind: u8) -> Pauses {
        let mut rng = OpRng::at(self.seed, self.terminal, sequence);
        let kind = usize::from(kind);
        // 1 - u lies in (0, 1], where the logarithm is finite.
        let means = (-(1.0 - rng.unit_f64()).ln()).min(LONGEST);
        let arrival_s = if sequence == 0 { rng.unit_f64() * CYCLE_S } else { 0.0 };
        Pauses {
            before_ns: KEYING_S[kind] * 1_000_000_000 + (arrival_s * SECOND_NS) as u64,
            after_ns: (means * THINKING_S[kind] * SECOND_NS) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::deck::{Deck, NEW_ORDER, PAYMENT, STOCK_LEVEL};

    #[test]
    fn keying_is_fixed_and_thinking_negative_exponential() {
        let clockwork = Clockwork::new(Seed(3), 4);
        let n = 200_000u64;
        let thinking: Vec<f64> = (1..=n)
            .map(|i| {
                let pauses = clockwork.pauses(i, PAYMENT);
                assert_eq!(pauses.before_ns, 3_000_000_000);
                pauses.after_ns as f64 / 12e9
            })
            .collect();
        let mean = thinking.iter().sum::<f64>() / n as f64;
        // Both are 1 but for what is cut off, which is less than 0.001.
        let variance = thinking.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / n as f64;
        assert!((mean - 1.0).abs() < 5.0 / (n as f64).sqrt() && (variance - 1.0).abs() < 0.04, "{mean} {variance}");
        // P(T > t) = e^-t, also where hardly anything is left.
        for t in [0.1, 0.5, 1.0, 2.0, 4.0] {
            let share = thinking.iter().filter(|x| **x > t).count() as f64 / n as f64;
            let expected = (-t).exp();
            assert!((share - expected).abs() < 5.0 * (expected * (1.0 - expected) / n as f64).sqrt(), "{t}: {share}");
        }
        assert!(thinking.iter().all(|t| *t <= 10.0) && thinking.iter().any(|t| *t > 8.0));
        assert_eq!(clockwork.pauses(7, STOCK_LEVEL), Clockwork::new(Seed(3), 4).pauses(7, STOCK_LEVEL));
        assert_ne!(clockwork.pauses(7, STOCK_LEVEL), Clockwork::new(Seed(3), 5).pauses(7, STOCK_LEVEL));
    }

    #[test]
    fn terminals_begin_spread_over_the_mean_cycle() {
        let first: Vec<f64> =
            (0..4_000).map(|t| Clockwork::new(Seed(8), t).pauses(0, NEW_ORDER).before_ns as f64 / 1e9 - 18.0).collect();
        assert!(first.iter().all(|s| (0.0..=CYCLE_S).contains(s)) && (20.6..20.8).contains(&CYCLE_S));
        for quarter in 0..4 {
            let from = f64::from(quarter) * CYCLE_S / 4.0;
            let inside = first.iter().filter(|s| (from..from + CYCLE_S / 4.0).contains(*s)).count();
            assert!(inside.abs_diff(1_000) < 5 * 28, "{inside}");
        }
    }

    /// Ten terminals per warehouse whose transactions take 50 ms, for an hour after five minutes, on a simulated clock.
    #[test]
    fn ten_terminals_give_just_below_the_most_that_a_warehouse_allows() {
        let (warm_ns, end_ns, service_ns) = (300e9 as u64, 3_900e9 as u64, 50_000_000);
        let warehouses = 20u32;
        let mut orders = 0u32;
        for terminal in 0..10 * warehouses {
            let (clockwork, mut deck) = (Clockwork::new(Seed(1), terminal), Deck::new(Seed(1), terminal));
            let (mut now, mut sequence) = (0, 0);
            while now < end_ns {
                let kind = deck.card(sequence);
                let pauses = clockwork.pauses(sequence, kind);
                now += pauses.before_ns + service_ns;
                orders += u32::from(kind == NEW_ORDER && (warm_ns..end_ns).contains(&now));
                now += pauses.after_ns;
                sequence += 1;
            }
        }
        let tpmc = f64::from(orders) / 60.0 / f64::from(warehouses);
        assert!((12.4..12.65).contains(&tpmc), "{tpmc} by the means of the deck: {}", 600.0 / 23.0 * 10.0 / (CYCLE_S + 0.05));
    }
}
