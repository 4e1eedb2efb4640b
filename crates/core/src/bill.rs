//! A contender's bill of materials: priced lines, exact sums, and rounding where the study says so.

mod disputed;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::MicroUsd;

pub use disputed::{micros, percent_of};

/// When money is rounded to cents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    /// Only when printed.
    None,
    /// The monthly total is rounded to cents before it is multiplied by the horizon, as the 2021 article did.
    Monthly,
}

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
    /// Control planes, load balancers, gateways and other fees.
    Fee,
    /// Bytes that are billed.
    Traffic,
    /// Licences of software.
    Licence,
    /// Support contracts.
    Support,
}

impl LineGroup {
    /// All groups, in the order of bills.
    pub const ALL: [Self; 7] =
        [Self::Compute, Self::Volume, Self::Snapshot, Self::Fee, Self::Traffic, Self::Licence, Self::Support];

    /// The name in tables.
    pub fn label(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Volume => "volume",
            Self::Snapshot => "snapshot",
            Self::Fee => "fee",
            Self::Traffic => "traffic",
            Self::Licence => "licence",
            Self::Support => "support",
        }
    }
}

/// How the amount of a line follows from its price, exactly: with other prices the same rule gives another amount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Amount {
    /// The unit price times a whole number of units.
    Units {
        /// Units a month.
        units: i64,
    },
    /// A percentage off the billed lines of its group above it, rounded half up to the micro-dollar.
    Discount {
        /// The percentage, in decimal digits.
        percent: String,
    },
    /// A percentage of all billed lines that are no support and no later share, rounded half up to the micro-dollar.
    Share {
        /// The percentage, in decimal digits.
        percent: String,
        /// The least that is charged each time.
        at_least: MicroUsd,
        /// How many times it is charged.
        times: u32,
        /// Its position among the shares of the bill, from 0: one may be a part of the next one's base.
        order: usize,
    },
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
    /// What another list says that a unit costs; `None` where no list disagrees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disputed: Option<MicroUsd>,
    /// What a unit is (`hour`, `GB-month`).
    pub unit: String,
    /// Exact amount of a month.
    pub monthly: MicroUsd,
    /// How the amount follows from the price; `None` in the bill of an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<Amount>,
    /// False for lines that are shown and not billed.
    pub priced: bool,
    /// Date of the price.
    pub price_date: String,
    /// Source of the price.
    pub source: String,
    /// The processors of all machines of the line, where it is one of machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<Processors>,
}

/// The processors of some machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Processors {
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Virtual CPUs on one physical core; `None` where that is not known.
    pub vcpus_per_core: Option<u32>,
}

/// The bill of one contender in one region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bill {
    /// Name of the contender.
    pub contender: String,
    /// Where it is priced, and in which scenario: bills of one text are compared.
    pub region: String,
    /// The contender's own region, where `region` names those of several providers.
    #[serde(alias = "place", default, skip_serializing_if = "Option::is_none")]
    pub own_region: Option<String>,
    /// How it is paid, where that is not as the study says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
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

    /// Virtual CPUs of the billed machines; `None` where those of one are not known, or there is none.
    pub fn vcpus(&self) -> Option<u32> {
        let all: Vec<Processors> = self.processors()?;
        all.iter().try_fold(0u32, |sum, p| sum.checked_add(p.vcpus))
    }

    /// Physical cores of the billed machines, halves for single hyper-threads; `None` where that is not known of one.
    pub fn cores(&self) -> Option<f64> {
        let cores = |p: &Processors| Some(f64::from(p.vcpus) / f64::from(p.vcpus_per_core.filter(|n| *n > 0)?));
        self.processors()?.iter().map(cores).sum()
    }

    fn processors(&self) -> Option<Vec<Processors>> {
        let machines = |l: &&BillLine| l.priced && l.group == LineGroup::Compute && l.unit == "hour";
        let all: Option<Vec<Processors>> = self.lines.iter().filter(machines).map(|l| l.processors).collect();
        all.filter(|all| !all.is_empty())
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
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A priced line of so many micro-dollars a month.
    pub(crate) fn line(group: LineGroup, monthly: i64) -> BillLine {
        let [item, sku, unit] = ["db", "m", "month"].map(str::to_owned);
        let [formula, price_date, source] = [const { String::new() }; 3];
        let (unit_price, amount) = (MicroUsd(monthly), Some(Amount::Units { units: 1 }));
        let (monthly, priced, processors, disputed) = (unit_price, true, None, None);
        BillLine {
            disputed,
            group,
            item,
            sku,
            formula,
            unit_price,
            unit,
            monthly,
            amount,
            priced,
            price_date,
            source,
            processors,
        }
    }

    pub(crate) fn bill_of(lines: impl IntoIterator<Item = BillLine>, round: Rounding) -> Bill {
        let [contender, region, snapshot] = ["a", "r", "p"].map(str::to_owned);
        let (own_region, scenario, lines) = (None, None, lines.into_iter().collect());
        Bill { contender, region, own_region, scenario, snapshot, lines, hours_per_month: 730, horizon_months: 60, round }
    }

    fn bill(amounts: &[(i64, bool)], round: Rounding) -> Bill {
        let group = |micros| if micros % 2 == 0 { LineGroup::Compute } else { LineGroup::Volume };
        bill_of(amounts.iter().map(|(micros, priced)| BillLine { priced: *priced, ..line(group(micros), *micros) }), round)
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
