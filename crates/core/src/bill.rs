//! A contender's bill of materials: priced lines, exact sums, and rounding where the study says so.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::study::Rounding;
use crate::units::MicroUsd;

/// What a line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LineGroup {
    /// Machines.
    Compute,
    /// Block volumes: size, IOPS and throughput.
    Volume,
    /// Snapshots of volumes.
    Snapshot,
    /// Control planes and other fixed fees.
    Fee,
}

impl LineGroup {
    /// The name in tables.
    pub fn label(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Volume => "volume",
            Self::Snapshot => "snapshot",
            Self::Fee => "fee",
        }
    }
}

/// One line of a bill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BillLine {
    /// What it is for.
    pub group: LineGroup,
    /// The role or fee it serves (`tikv`).
    pub item: String,
    /// What is bought (`r6g.2xlarge`, `gp2`, `snapshots of gp2`).
    pub sku: String,
    /// How the amount comes about, in full: `3 × 730 h × $0.4032`.
    pub formula: String,
    /// The price of one unit.
    pub unit_price: MicroUsd,
    /// What a unit is (`hour`, `GB-month`).
    pub unit: String,
    /// Exact amount of a month.
    pub monthly: MicroUsd,
    /// False for lines that are shown and not billed.
    pub priced: bool,
    /// Date of the price.
    pub price_date: String,
    /// Source of the price.
    pub source: String,
}

/// The bill of one contender in one region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bill {
    /// Name of the contender.
    pub contender: String,
    /// Where it is priced.
    pub region: String,
    /// Name of the price snapshot.
    pub snapshot: String,
    /// All lines, priced or not.
    pub lines: Vec<BillLine>,
    /// Hours that a month is billed.
    pub hours_per_month: u32,
    /// Months of the total.
    pub horizon_months: u32,
    /// When money is rounded.
    pub round: Rounding,
}

impl Bill {
    /// The exact sum of the priced lines of a month.
    pub fn monthly_exact(&self) -> MicroUsd {
        self.sum(|_| true)
    }

    /// The exact sum of the priced lines of one group.
    pub fn monthly_of(&self, group: LineGroup) -> MicroUsd {
        self.sum(|line| line.group == group)
    }

    fn sum(&self, take: impl Fn(&BillLine) -> bool) -> MicroUsd {
        // `prices` refuses lines above a billion dollars and studies above a thousand lines, so this cannot overflow.
        MicroUsd(self.lines.iter().filter(|l| l.priced && take(l)).map(|l| l.monthly.0).sum())
    }

    /// The monthly total under the study's rounding rule.
    pub fn monthly(&self) -> MicroUsd {
        match self.round {
            Rounding::None => self.monthly_exact(),
            Rounding::Monthly => self.monthly_exact().to_cents(),
        }
    }

    /// The total system cost: the monthly total times the horizon.
    pub fn horizon_total(&self) -> MicroUsd {
        MicroUsd(self.monthly().0.saturating_mul(i64::from(self.horizon_months)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bill(amounts: &[(i64, bool)], round: Rounding) -> Bill {
        let line = |&(micros, priced): &(i64, bool)| BillLine {
            group: if micros % 2 == 0 { LineGroup::Compute } else { LineGroup::Volume },
            item: String::new(),
            sku: String::new(),
            formula: String::new(),
            unit_price: MicroUsd(1),
            unit: String::new(),
            monthly: MicroUsd(micros),
            priced,
            price_date: String::new(),
            source: String::new(),
        };
        Bill {
            contender: "a".into(),
            region: "r".into(),
            snapshot: "s".into(),
            lines: amounts.iter().map(line).collect(),
            hours_per_month: 730,
            horizon_months: 60,
            round,
        }
    }

    #[test]
    fn monthly_rounding_moves_the_five_year_total_as_in_the_article() {
        // The Arm system in us-west-2: 2117.468 a month; the article rounds first: 2117.47 × 60 = 127 048.20.
        let lines = [(595_680_000, true), (883_008_000, true), (99_280_000, true), (466_500_000, true), (73_000_000, true)];
        assert_eq!(bill(&lines, Rounding::Monthly).horizon_total().to_string(), "$127,048.20");
        assert_eq!(bill(&lines, Rounding::None).horizon_total().to_string(), "$127,048.08");
    }

    proptest! {
        #[test]
        fn totals_equal_the_sum_of_their_lines(amounts in prop::collection::vec((0i64..1_000_000_000_000, any::<bool>()), 0..40)) {
            let b = bill(&amounts, Rounding::None);
            let expected: i64 = amounts.iter().filter(|a| a.1).map(|a| a.0).sum();
            prop_assert_eq!(b.monthly_exact(), MicroUsd(expected));
            prop_assert_eq!(b.monthly_of(LineGroup::Compute).0 + b.monthly_of(LineGroup::Volume).0, expected);
            prop_assert_eq!(b.horizon_total().0, expected * 60);
        }
    }
}
