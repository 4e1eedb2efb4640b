//! The refresh functions (2.5 to 2.7): which orders a set inserts and which it deletes, as `dbgen -U` says it.
//!
//! A set inserts the rows that follow those of the population in all streams. Their keys are those that the population leaves out, so no key
//! comes twice. It deletes as many orders, from the lowest key on. So there are as many orders after a set as before.

use perbuck_load::values::Params;

use super::rows::{Counts, Orders, order_key};
use crate::tpch::Scale;

/// The sets that a database can take before it is loaded again. The 1000th would delete orders that are not there.
pub(in crate::tpch) const SETS: u32 = 999;

/// The keys of inserted orders follow those that the population has of 32 in a row.
const GENERATION: i64 = 1;

/// A new order.
#[derive(Debug, Clone, Default)]
pub(in crate::tpch) struct NewOrder {
    /// Its row of `orders`.
    pub(in crate::tpch) order: Params,
    /// Its rows of `lineitem`, one after the other.
    pub(in crate::tpch) lines: Params,
}

/// How many orders a set inserts, and deletes: 1500 for a scale of 1 (2.6.1, 2.7.1). dbgen makes it a multiple of ten, so 10 at 0.01.
pub(in crate::tpch) fn orders_per_set(scale: Scale) -> u64 {
    per_set(Counts::of(scale)) as u64
}

fn per_set(counts: Counts) -> i64 {
    counts.orders / 10_000 * 10
}

/// Numbers of the orders of set `set`, counted from 1.
fn numbers(counts: Counts, set: u32) -> std::ops::Range<i64> {
    let (per_set, before) = (per_set(counts), i64::from(set) - 1);
    before * per_set + 1..(before + 1) * per_set + 1
}

/// The orders that RF1 inserts with set `set`, from 1 to [`SETS`], in the order of their keys.
pub(in crate::tpch) fn inserted(scale: Scale, set: u32) -> impl Iterator<Item = NewOrder> {
    let counts = Counts::of(scale);
    let numbers = numbers(counts, set);
    let mut orders = Orders::numbered_from(counts, counts.orders + numbers.start - 1, numbers.start, GENERATION);
    numbers.map(move |_| {
        let mut new = NewOrder::default();
        orders.write(Some(&mut new.order), Some(&mut new.lines));
        new
    })
}

/// The keys of the orders that RF2 deletes, with their lines, with set `set`, from 1 to [`SETS`], in their order.
pub(in crate::tpch) fn deleted(scale: Scale, set: u32) -> impl Iterator<Item = i64> {
    numbers(Counts::of(scale), set).map(|number| order_key(number, 0))
}
