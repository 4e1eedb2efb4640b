//! What a bill comes to where lists disagree on a price: each disputed line at either of its two prices.

use super::{Amount, Bill, BillLine, LineGroup};
use crate::exact::{Exact, Mode};
use crate::units::MicroUsd;

/// Micro-dollars of a dollar, as a denominator.
const MICROS: i128 = 1_000_000;

impl Bill {
    /// The total over the horizon with the lower and with the higher of the two prices of each disputed line; `None` where no billed
    /// price is disputed.
    pub fn disputed_total(&self) -> Option<(MicroUsd, MicroUsd)> {
        if !self.lines.iter().any(|l| l.priced && l.disputed.is_some()) {
            return None;
        }
        let with = |takes: fn(MicroUsd, MicroUsd) -> bool| {
            let other = |l: &BillLine| l.disputed.is_some_and(|other| takes(other, l.unit_price));
            self.with_other_prices(other).horizon_total()
        };
        Some((with(|other, own| other < own), with(|other, own| other > own)))
    }

    /// The bill with the other list's price in the disputed lines that `other` names; discounts and shares follow.
    #[must_use]
    pub fn with_other_prices(&self, other: impl Fn(&BillLine) -> bool) -> Self {
        let mut bill = self.clone();
        for line in bill.lines.iter_mut().filter(|l| other(l)) {
            if let (Some(price), Some(Amount::Units { units })) = (line.disputed, &line.amount) {
                line.monthly = MicroUsd(price.0.saturating_mul(*units));
                line.unit_price = price;
            }
        }
        for at in 0..bill.lines.len() {
            if let Some(Amount::Discount { percent }) = bill.lines[at].amount.clone() {
                let group = bill.lines[at].group;
                let above = bill.lines[..at].iter().filter(|l| l.priced && l.group == group);
                let base: i64 = above.map(|l| l.monthly.0).sum();
                bill.set(at, |_| Some(MicroUsd(-percent_of(base, digits(&percent)?)?)));
            }
        }
        let mut shares: Vec<(usize, usize)> = bill.lines.iter().enumerate().filter_map(|(at, l)| Some((order(l)?, at))).collect();
        shares.sort_unstable();
        for (mine, at) in shares {
            let counts = |l: &&BillLine| l.priced && l.group != LineGroup::Support && order(l).is_none_or(|order| order < mine);
            let base: i64 = bill.lines.iter().filter(counts).map(|l| l.monthly.0).sum();
            bill.set(at, |line| {
                let Some(Amount::Share { percent, at_least, times, .. }) = &line.amount else { return None };
                let once = percent_of(base, digits(percent)?)?.max(at_least.0);
                Some(MicroUsd(once.saturating_mul((*times).into())))
            });
        }
        bill
    }

    /// Sets the amount of a line, unless it cannot be computed.
    fn set(&mut self, at: usize, amount: impl Fn(&BillLine) -> Option<MicroUsd>) {
        if let Some(line) = self.lines.get_mut(at)
            && let Some(monthly) = amount(line)
        {
            line.monthly = monthly;
        }
    }
}

/// Its position among the shares, if it is one.
fn order(line: &BillLine) -> Option<usize> {
    match &line.amount {
        Some(Amount::Share { order, .. }) => Some(*order),
        _ => None,
    }
}

fn digits(percent: &str) -> Option<Exact> {
    Exact::parse(percent).ok().map(|(value, _)| value)
}

/// A percentage of micro-dollars, rounded half away from zero to whole ones; `None` where it does not fit.
pub fn percent_of(base: i64, percent: Exact) -> Option<i64> {
    let amount = Exact::fraction(base.into(), MICROS * 100).ok()?.times(percent).ok()?;
    micros(amount)
}

/// Dollars as micro-dollars, rounded half away from zero; `None` where they do not fit.
pub fn micros(usd: Exact) -> Option<i64> {
    let rounded = usd.times(Exact::whole(MICROS)).ok()?.rounded(0, Mode::HalfUp).ok()?;
    i64::try_from(rounded.to_whole()?).ok()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{bill_of, line};
    use super::*;
    use crate::bill::Rounding;

    #[test]
    fn a_disputed_price_moves_its_line_and_what_is_a_share_of_it() {
        let off = BillLine { amount: Some(Amount::Discount { percent: "10".into() }), ..line(LineGroup::Compute, -10_000_000) };
        let disputed = BillLine { disputed: Some(MicroUsd(120_000_000)), ..line(LineGroup::Compute, 100_000_000) };
        let share = Amount::Share { percent: "5".into(), at_least: MicroUsd(5_000_000), times: 1, order: 0 };
        let support = BillLine { amount: Some(share), ..line(LineGroup::Support, 5_000_000) };
        let bill = bill_of([disputed, off, line(LineGroup::Volume, 2_000_000), support], Rounding::None);
        // 100 − 10 + 2 + 5 = 97 a month; with the other price 120 − 12 + 2 + 5.5 = 115.5.
        assert_eq!(bill.monthly_exact(), MicroUsd(97_000_000));
        assert_eq!(bill.disputed_total(), Some((MicroUsd(97_000_000 * 60), MicroUsd(115_500_000 * 60))));
        assert_eq!(bill.with_other_prices(|_| false), bill);
        assert_eq!(bill_of([line(LineGroup::Compute, 1)], Rounding::None).disputed_total(), None);
    }
}
