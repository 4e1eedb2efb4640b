//! The non-uniform random function of 2.1.6 and its constants.

use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;

use super::{CUSTOMERS, ITEMS};

/// A for C_LAST, whose numbers are 0..=999.
pub(super) const A_LAST: i64 = 255;
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
pub(super) mod tests {
    use super::*;
    use crate::tpcc::tests::fits;

    /// Exact probabilities by enumeration of both uniform draws.
    fn enumerated(a: i64, x: i64, y: i64, c: i64) -> Vec<f64> {
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

    /// The same in closed form, where A is 2ⁿ - 1: a value v of the two draws, put together bit by bit, comes of a second draw
    /// that agrees with v above its n lowest bits and has a subset s of v's ones there. The first draw must then have the ones
    /// that s lacks, and may have those of s: 2 to the number of ones in s ways of A + 1. Over all subsets that is 3 to the
    /// number of ones in v, but for those that lie outside of x to y.
    pub(in crate::tpcc) fn exact(a: i64, x: i64, y: i64, c: i64) -> Vec<f64> {
        assert!((a + 1).count_ones() == 1 && x <= a);
        let (n, each) = (y - x + 1, 1.0 / ((a + 1) as f64 * (y - x + 1) as f64));
        let mut p = vec![0.0; n as usize];
        for high in 0..=y / (a + 1) {
            for low in 0..=a {
                let second = |subset: i64| high * (a + 1) + subset;
                let ways = if second(0) >= x && second(a) <= y {
                    3_i64.pow(low.count_ones())
                } else {
                    let inside = |s: i64| if (x..=y).contains(&second(s)) { 1 << s.count_ones() } else { 0 };
                    let (mut subset, mut ways) = (low, 0);
                    loop {
                        ways += inside(subset);
                        if subset == 0 {
                            break ways;
                        }
                        subset = (subset - 1) & low;
                    }
                };
                p[((second(low) + c) % n) as usize] += ways as f64 * each;
            }
        }
        p
    }

    #[test]
    fn the_closed_form_is_what_enumeration_gives() {
        for (a, x, y, c) in
            [(7, 0, 99, 3), (15, 1, 50, 11), (31, 1, 63, 0), (A_LAST, 0, 999, 123), (A_CUSTOMER, 1, CUSTOMERS, 259)]
        {
            for (one, other) in exact(a, x, y, c).iter().zip(enumerated(a, x, y, c)) {
                assert!((one - other).abs() < 1e-12, "A={a}: {one} {other}");
            }
        }
        let items: f64 = exact(A_ITEM, 1, ITEMS, 7_911).iter().sum();
        assert!((items - 1.0).abs() < 1e-9, "{items}");
    }

    #[test]
    fn every_nurand_has_the_exact_distribution_of_its_formula() {
        for (a, x, y, c, draws) in [
            (7, 0, 99, 3, 400_000),
            (15, 1, 50, 11, 400_000),
            (A_LAST, 0, 999, 123, 400_000),
            (A_CUSTOMER, 1, CUSTOMERS, 259, 400_000),
            (A_ITEM, 1, ITEMS, 7_911, 1_500_000),
        ] {
            let mut rng = OpRng::new(Seed(11));
            let mut seen = vec![0; (y - x + 1) as usize];
            (0..draws).for_each(|_| seen[(nurand(&mut rng, a, x, y, c) - x) as usize] += 1);
            fits(&format!("A={a}"), &seen, &exact(a, x, y, c));
        }
    }

    /// Which function and which constant the three uses of 2.1.6 take.
    #[test]
    fn names_customers_and_items_use_their_own_constants() {
        let constants = Constants::for_run(Seed(5), 100);
        let (mut names, mut customers, mut items) = (vec![0; 1_000], vec![0; CUSTOMERS as usize], vec![0; ITEMS as usize]);
        let mut rng = OpRng::new(Seed(6));
        for _ in 0..200_000 {
            names[last_name(&mut rng, constants.last) as usize] += 1;
            customers[constants.customer(&mut rng) as usize - 1] += 1;
        }
        (0..1_000_000).for_each(|_| items[constants.item(&mut rng) as usize - 1] += 1);
        fits("C_LAST", &names, &exact(A_LAST, 0, 999, constants.last));
        fits("C_ID", &customers, &exact(A_CUSTOMER, 1, CUSTOMERS, constants.customer));
        fits("OL_I_ID", &items, &exact(A_ITEM, 1, ITEMS, constants.item));
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
