//! The non-uniform random function of 2.1.6 and its constants.

use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;

use super::{CUSTOMERS, ITEMS};

/// A for C_LAST, whose numbers are 0..=999.
const A_LAST: i64 = 255;
/// A for C_ID.
const A_CUSTOMER: i64 = 1_023;
/// A for OL_I_ID.
const A_ITEM: i64 = 8_191;

/// NURand(A, x, y) of 2.1.6.
fn nurand(rng: &mut OpRng, a: i64, x: i64, y: i64, c: i64) -> i64 {
    ((rng.between(0, a) | rng.between(x, y)) + c) % (y - x + 1) + x
}

/// The number of a last name, 0..=999, with the constant of the load or of the run.
pub(super) fn last_name(rng: &mut OpRng, c: i64) -> i64 {
    nurand(rng, A_LAST, 0, 999, c)
}

/// The constant for C_LAST with which a data set is populated (4.3.2.3).
pub(super) fn load_constant(data_seed: Seed) -> i64 {
    OpRng::new(data_seed.derive("tpcc.c_load")).between(0, A_LAST)
}

/// The constants of a run, the same for all terminals of a trial.
#[derive(Debug, Clone, Copy)]
pub(super) struct Constants {
    pub(super) last: i64,
    customer: i64,
    item: i64,
    a_item: i64,
}

impl Constants {
    /// Derived from the trial's seed; the one for C_LAST keeps the distance from the load's that 2.1.6.1 asks for.
    pub(super) fn for_run(trial_seed: Seed, c_load: i64) -> Self {
        let mut rng = OpRng::new(trial_seed.derive("tpcc.c_run"));
        let choices = (0..=A_LAST).filter(|c| allowed_delta((c - c_load).abs()));
        // Never empty: every c_load in 0..=255 has values 65 or more away on one side at least.
        let pick = rng.below(choices.clone().count() as u64) as usize;
        let last = choices.clone().nth(pick).unwrap_or_default();
        Self { last, customer: rng.between(0, A_CUSTOMER), item: rng.between(0, A_ITEM), a_item: A_ITEM }
    }

    /// Those that go-tpc takes (its defect 4): C for items and for customers are exchanged, A for items is smaller by two,
    /// and C for last names keeps no distance from the load's.
    pub(super) fn like_go_tpc(trial_seed: Seed) -> Self {
        let mut rng = OpRng::new(trial_seed.derive("tpcc.c_run"));
        let (last, item, customer) = (rng.between(0, A_LAST), rng.between(0, A_CUSTOMER), rng.between(0, A_ITEM));
        Self { last, customer, item, a_item: A_ITEM - 2 }
    }

    /// C_ID by NURand(1023, 1, 3000).
    pub(super) fn customer(&self, rng: &mut OpRng) -> i64 {
        nurand(rng, A_CUSTOMER, 1, CUSTOMERS, self.customer)
    }

    /// OL_I_ID by NURand(8191, 1, 100000).
    pub(super) fn item(&self, rng: &mut OpRng) -> i64 {
        nurand(rng, self.a_item, 1, ITEMS, self.item)
    }
}

/// 2.1.6.1: from 65 to 119, except 96 and 112.
fn allowed_delta(delta: i64) -> bool {
    (65..=119).contains(&delta) && delta != 96 && delta != 112
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exact probabilities by enumeration of both uniform draws.
    fn exact(a: i64, x: i64, y: i64, c: i64) -> Vec<f64> {
        let n = (y - x + 1) as usize;
        let mut p = vec![0.0; n];
        let each = 1.0 / ((a + 1) as f64 * n as f64);
        for first in 0..=a {
            for second in x..=y {
                p[(((first | second) + c) % (y - x + 1)) as usize] += each;
            }
        }
        p
    }

    /// Chi-square of `draws` against the exact probabilities; cells that expect fewer than 5 are put together.
    fn chi_square(a: i64, x: i64, y: i64, c: i64, draws: usize) -> (f64, f64) {
        let p = exact(a, x, y, c);
        let mut seen = vec![0.0; p.len()];
        let mut rng = OpRng::new(Seed(11));
        for _ in 0..draws {
            seen[(nurand(&mut rng, a, x, y, c) - x) as usize] += 1.0;
        }
        let (mut chi, mut cells, mut rest) = (0.0, 0.0, (0.0, 0.0));
        for (p, seen) in p.iter().zip(&seen) {
            let expected = p * draws as f64;
            if expected < 5.0 {
                rest = (rest.0 + expected, rest.1 + seen);
            } else {
                chi += (seen - expected).powi(2) / expected;
                cells += 1.0;
            }
        }
        assert!(rest.0 < 5.0 || (rest.1 - rest.0).powi(2) / rest.0 < 12.0);
        (chi, cells - 1.0)
    }

    #[test]
    fn nurand_has_the_exact_distribution_of_the_formula() {
        for (a, x, y, c) in [(7, 0, 99, 3), (15, 1, 50, 11), (A_LAST, 0, 999, 123), (A_CUSTOMER, 1, CUSTOMERS, 259)] {
            let (chi, freedom) = chi_square(a, x, y, c, 400_000);
            // The mean of chi-square is its freedom and its variance twice that; five sigma on either side.
            assert!((chi - freedom).abs() < 5.0 * (2.0 * freedom).sqrt(), "A={a}: {chi} for {freedom}");
        }
    }

    #[test]
    fn items_stay_in_range_and_are_skewed() {
        let constants = Constants::for_run(Seed(5), 100);
        let mut rng = OpRng::new(Seed(6));
        let mut seen = vec![0u32; ITEMS as usize + 1];
        for _ in 0..400_000 {
            seen[constants.item(&mut rng) as usize] += 1;
        }
        assert_eq!(seen[0], 0);
        // A uniform draw with mean 4 would almost never exceed 20.
        assert!(seen.iter().max().unwrap() > &40);
    }

    #[test]
    fn the_distance_of_the_constants_obeys_the_rule_for_ten_thousand_seeds() {
        let mut deltas = std::collections::BTreeSet::new();
        for seed in 0..10_000 {
            let c_load = load_constant(Seed(seed));
            let run = Constants::for_run(Seed(seed ^ 0xabcd), c_load);
            assert!((0..=A_LAST).contains(&c_load) && (0..=A_LAST).contains(&run.last));
            let delta = (run.last - c_load).abs();
            assert!((65..=119).contains(&delta) && delta != 96 && delta != 112, "{delta}");
            deltas.insert(delta);
        }
        assert_eq!(deltas.len(), 53, "every admissible distance occurs");
        assert!((0..=A_LAST).all(|c_load| (0..=A_LAST).any(|c| allowed_delta((c - c_load).abs()))));
    }
}
