//! What prices that lists disagree on do to work per dollar: the ratio at the prices that favour the contender least and most.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::judge::{Basis, judgement};
use super::result::Judgement;
use super::workload::{bill_of_baseline, scaled};
use crate::bill::{Bill, BillLine};
use crate::stats::Ratio;
use crate::study::Study;
use crate::units::MicroUsd;

/// The cost of a contender where lists disagree on a price of its bill, or of the baseline's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DisputedPrice {
    /// The total over the horizon with the lower of the two prices of each disputed line.
    pub low: MicroUsd,
    /// The same with the higher ones.
    pub high: MicroUsd,
    /// Work per dollar against the baseline; `None` for the baseline itself or without cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<DisputedRatio>,
}

/// Work per dollar against the baseline over all combinations of disputed prices. A price that both pay is the same for both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DisputedRatio {
    /// At the prices that favour the contender least.
    pub least: Judgement,
    /// At those that favour it most.
    pub most: Judgement,
}

impl DisputedRatio {
    /// Whether the verdict depends on which price is right.
    pub fn decides(&self) -> bool {
        self.least.verdict.word() != self.most.verdict.word()
    }
}

/// What a bill comes to, and the ratio of throughputs that it scales; `None` where no price of it or of the baseline's is disputed.
pub(super) fn disputed(study: &Study, bills: &[Bill], bill: &Bill, against: Option<(Ratio, Basis)>) -> Option<DisputedPrice> {
    let base = bill_of_baseline(study, bills, bill);
    let own = bill.disputed_total();
    own.or_else(|| base.and_then(Bill::disputed_total))?;
    let (low, high) = own.unwrap_or((bill.horizon_total(), bill.horizon_total()));
    Some(DisputedPrice { low, high, ratio: against.and_then(|(ratio, basis)| ratio_of(study, bills, bill, ratio, basis)) })
}

/// The same for a ratio alone.
pub(super) fn ratio_of(study: &Study, bills: &[Bill], bill: &Bill, ratio: Ratio, basis: Basis) -> Option<DisputedRatio> {
    let base = bill_of_baseline(study, bills, bill)?;
    if rows([base, bill]).is_empty() {
        return None;
    }
    let judged = |times: f64| judgement(scaled(ratio, times), &study.decision, basis, None);
    Some(DisputedRatio { least: judged(extreme(base, bill, |a, b| a < b)?), most: judged(extreme(base, bill, |a, b| a > b)?) })
}

/// A row of a price list, as bills name it.
type Row = (String, String, String, MicroUsd);

fn row(bill: &Bill, line: &BillLine) -> Row {
    (bill.snapshot.clone(), bill.own_region.as_ref().unwrap_or(&bill.region).clone(), line.sku.clone(), line.unit_price)
}

/// The disputed rows that two bills are paid by, each once.
fn rows(bills: [&Bill; 2]) -> Vec<Row> {
    let of = |bill: &Bill| -> Vec<Row> {
        bill.lines.iter().filter(|l| l.priced && l.disputed.is_some()).map(|l| row(bill, l)).collect()
    };
    let mut rows: Vec<Row> = bills.into_iter().flat_map(of).collect();
    rows.sort();
    rows.dedup();
    rows
}

/// The baseline's cost over that of a bill at the best of all combinations of disputed prices; `None` where one of them is free.
///
/// The quotient is a linear-fractional function of the prices, so a combination that no single other price improves is the best of all
/// (Charnes and Cooper 1962).
fn extreme(base: &Bill, mine: &Bill, better: impl Fn(f64, f64) -> bool) -> Option<f64> {
    let rows = rows([base, mine]);
    let mut other = vec![false; rows.len()];
    let quotient = |other: &[bool]| {
        let total = |bill: &Bill| {
            let takes = |l: &BillLine| rows.iter().zip(other).any(|(r, other)| *other && *r == row(bill, l));
            bill.with_other_prices(takes).horizon_total().as_usd_f64()
        };
        let (base, mine) = (total(base), total(mine));
        (base > 0.0 && mine > 0.0).then(|| base / mine)
    };
    let mut best = quotient(&other)?;
    let mut at = 0;
    let mut since = 0;
    while since < other.len() {
        other[at] = !other[at];
        match quotient(&other) {
            Some(found) if better(found, best) => (best, since) = (found, 0),
            _ => {
                other[at] = !other[at];
                since += 1;
            }
        }
        at = (at + 1) % other.len();
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bill::{
        LineGroup,
        tests::{bill_of, line},
    };
    use crate::study::Rounding;

    fn bill(name: &str, lines: &[(&str, i64, Option<i64>)]) -> Bill {
        let of = |(sku, price, other): &(&str, i64, Option<i64>)| BillLine {
            sku: (*sku).to_owned(),
            disputed: other.map(MicroUsd),
            ..line(LineGroup::Compute, *price)
        };
        Bill { contender: name.to_owned(), ..bill_of(lines.iter().map(of), Rounding::None) }
    }

    #[test]
    fn a_price_that_both_pay_is_the_same_for_both() {
        let base = bill("base", &[("m", 100, Some(200)), ("v", 50, None)]);
        let mine = bill("mine", &[("m", 100, Some(200)), ("w", 10, Some(5))]);
        // 150/110, 150/105, 250/210, 250/205: never 250/105.
        let (least, most) = (extreme(&base, &mine, |a, b| a < b).unwrap(), extreme(&base, &mine, |a, b| a > b).unwrap());
        assert!((least - 250.0 / 210.0).abs() < 1e-12 && (most - 150.0 / 105.0).abs() < 1e-12, "{least} {most}");
        assert_eq!(rows([&base, &mine]).len(), 2);
    }
}
