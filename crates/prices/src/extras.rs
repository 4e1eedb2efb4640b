//! The lines of a bill besides machines and volumes: fees, traffic, licences, support, and discounts on what stands above.

use perbuck_core::bill::{BillLine, LineGroup};
use perbuck_core::exact::{Exact, Mode};
use perbuck_core::study::{Discount, Fee, FeeTerms, Node, Traffic, TrafficAmount};
use perbuck_core::units::{MicroUsd, unit_price_text};

use crate::bill::{Desk, Draft, way_out};
use crate::snapshot::Listed;

/// Micro-dollars of a dollar, as a denominator.
const MICROS: i128 = 1_000_000;

/// Bytes of a GB, as providers bill traffic.
const GB: u64 = 1_000_000_000;

impl Desk<'_> {
    /// A fee, a licence, or a support contract.
    pub(crate) fn fee(&mut self, fee: &Fee) {
        let hours = u64::from(self.hours);
        let declared = format!("{}, line {}", self.study_file, fee.line);
        let line = |price: MicroUsd, unit: &str, per_one: u64, formula: String| Draft {
            study_line: fee.line,
            group: fee.group,
            item: &fee.name,
            sku: "fixed fee".to_owned(),
            formula,
            unit_price: price,
            unit: unit.to_owned(),
            units: i128::from(fee.count) * i128::from(per_one),
            priced: true,
            price_date: "as declared".to_owned(),
            source: declared.clone(),
            processors: None,
        };
        let times = if fee.count == 1 { String::new() } else { format!("{} × ", fee.count) };
        match &fee.terms {
            FeeTerms::Hour(price) => {
                let draft = line(*price, "hour", hours, format!("{times}{hours} h × {}", unit_price_text(*price)));
                self.push(draft);
            }
            FeeTerms::Month(price) => {
                let draft = line(*price, "month", 1, format!("{times}1 month × {}", unit_price_text(*price)));
                self.push(draft);
            }
            FeeTerms::VcpuMonth(price) => {
                let Some(vcpus) = self.vcpus(fee) else { return };
                let formula = format!("{times}{vcpus} vCPU × {}", unit_price_text(*price));
                let draft = line(*price, "vCPU-month", vcpus, formula);
                self.push(draft);
            }
            FeeTerms::Listed { item, quantity } => self.listed_fee(fee, item, *quantity, &times),
            FeeTerms::Percent { percent, at_least } => self.share(fee, *percent, *at_least),
        }
    }

    /// Virtual CPUs of the billed machines so far.
    fn vcpus(&mut self, fee: &Fee) -> Option<u64> {
        let machines = self.lines.iter().filter(|l| l.group == LineGroup::Compute && l.priced && l.unit == "hour");
        let known: Option<u64> = machines.map(|l| l.processors.map(|p| u64::from(p.vcpus))).sum();
        if known.is_none() {
            let message =
                format!("`{}` is paid by vCPU, and the vCPUs of a machine with a price of its own are not known", fee.name);
            self.problem(fee.line, message, "give `usd_per_month` instead".to_owned());
        }
        known
    }

    /// The row of the price list, or the problem that there is none.
    fn listed(&mut self, line: usize, item: &str) -> Option<Listed> {
        if let Some(found) = self.snapshot.listed(&self.prices.name, item) {
            return Some(found.clone());
        }
        let here = |region: &str| region == self.prices.name || region == "*";
        let known: Vec<&str> = self.snapshot.listed.iter().filter(|l| here(&l.region)).map(|l| l.item.as_str()).collect();
        let elsewhere: Vec<&str> = self.snapshot.listed.iter().filter(|l| l.item == item).map(|l| l.region.as_str()).collect();
        let help = way_out(item, &known, &elsewhere, "listed prices");
        self.no_price(line, item, help);
        None
    }

    fn listed_fee(&mut self, fee: &Fee, item: &str, quantity: Option<u64>, times: &str) {
        let Some(listed) = self.listed(fee.line, item) else { return };
        let by_hour = listed.unit == "hour" || listed.unit.ends_with("-hour");
        let units = match (quantity, by_hour) {
            (Some(quantity), false) => quantity,
            (Some(quantity), true) => quantity * u64::from(self.hours),
            (None, true) => u64::from(self.hours),
            (None, false) => {
                let message = format!("`{item}` is sold by {}, and the fee names no `quantity`", listed.unit);
                self.problem(fee.line, message, format!("add `quantity = …`: how many {} a month", listed.unit));
                return;
            }
        };
        let amount = match (quantity, by_hour) {
            (Some(q), true) => format!("{times}{q} × {} h", self.hours),
            (None, _) => format!("{times}{} h", self.hours),
            (Some(q), false) => format!("{times}{q} {}", listed.unit),
        };
        self.tiered(fee.line, fee.group, &fee.name, &listed, units, u64::from(fee.count), &amount);
    }

    /// One line for each tier that the units reach.
    #[allow(clippy::too_many_arguments, reason = "a line of a bill has as many parts")]
    fn tiered(&mut self, line: usize, group: LineGroup, name: &str, listed: &Listed, units: u64, count: u64, amount: &str) {
        let tiers: Vec<(u64, MicroUsd)> =
            std::iter::once((0, listed.usd)).chain(listed.tiers.iter().map(|t| (t.above, t.usd))).collect();
        for (i, (above, usd)) in tiers.iter().enumerate() {
            let end = tiers.get(i + 1).map_or(u64::MAX, |next| next.0);
            let part = units.min(end).saturating_sub(*above);
            // Nothing of a first tier is shown at zero, since the study asks for it.
            if part == 0 && i > 0 {
                continue;
            }
            let formula = if tiers.len() == 1 {
                format!("{amount} × {}", unit_price_text(*usd))
            } else {
                format!("{part} of {amount} × {}", unit_price_text(*usd))
            };
            self.push(Draft {
                study_line: line,
                group,
                item: name,
                sku: listed.item.clone(),
                formula,
                unit_price: *usd,
                unit: listed.unit.clone(),
                units: i128::from(part) * i128::from(count),
                priced: true,
                price_date: listed.origin.date.clone(),
                source: listed.origin.text(),
                processors: None,
            });
        }
    }

    /// A percentage of what stands on the bill so far, at least some amount; rounded to the micro-dollar.
    fn share(&mut self, fee: &Fee, percent: Exact, at_least: Option<MicroUsd>) {
        let base: i64 = self.lines.iter().filter(|l| l.priced && l.group != LineGroup::Support).map(|l| l.monthly.0).sum();
        let Some(amount) = share_of(base, percent) else {
            self.problem(
                fee.line,
                format!("`{}` comes to an amount that does not fit", fee.name),
                "check its percentage".to_owned(),
            );
            return;
        };
        let least = at_least.filter(|least| least.0 > amount);
        let formula = match least {
            Some(least) => format!("{percent} % of {}, at least {}", unit_price_text(MicroUsd(base)), unit_price_text(least)),
            None => format!("{percent} % of {}", unit_price_text(MicroUsd(base))),
        };
        let monthly = least.map_or(amount, |l| l.0);
        let source = format!("{}, line {}", self.study_file, fee.line);
        self.push(Draft {
            study_line: fee.line,
            group: fee.group,
            item: &fee.name,
            sku: "share of the bill".to_owned(),
            formula,
            unit_price: MicroUsd(monthly),
            unit: "month".to_owned(),
            units: i128::from(fee.count),
            priced: true,
            price_date: "as declared".to_owned(),
            source,
            processors: None,
        });
    }

    /// Bytes between zones, regions, or to the internet.
    pub(crate) fn traffic(&mut self, traffic: &Traffic) {
        let (gb, amount) = match traffic.amount {
            TrafficAmount::GbPerMonth(gb) => (gb, format!("{gb} GB")),
            TrafficAmount::PerTransaction { bytes, per_second } => {
                // Up to 10¹² bytes, 10⁸ a second and 744 hours: fits 128 bits many times over. A begun GB is billed.
                let bytes_month = u128::from(bytes) * u128::from(per_second) * 3600 * u128::from(self.hours);
                let gb = u64::try_from(bytes_month.div_ceil(u128::from(GB))).unwrap_or(u64::MAX);
                (gb, format!("{gb} GB ({bytes} B × {per_second}/s × {} h)", self.hours))
            }
        };
        let ends = if traffic.ends == 1 { String::new() } else { format!("{} ends × ", traffic.ends) };
        let basis = if traffic.measured { "measured" } else { "assumed" };
        let amount = format!("{ends}{amount}, {basis}");
        let ends = u64::from(traffic.ends);
        match (&traffic.item, traffic.usd_per_gb) {
            (Some(item), _) => {
                let Some(listed) = self.listed(traffic.line, item) else { return };
                self.tiered(traffic.line, LineGroup::Traffic, &traffic.name, &listed, gb, ends, &amount);
            }
            (None, price) => {
                let price = price.unwrap_or_default();
                let source = format!("{}, line {}", self.study_file, traffic.line);
                self.push(Draft {
                    study_line: traffic.line,
                    group: LineGroup::Traffic,
                    item: &traffic.name,
                    sku: "traffic".to_owned(),
                    formula: format!("{amount} × {}", unit_price_text(price)),
                    unit_price: price,
                    unit: "GB".to_owned(),
                    units: i128::from(gb) * i128::from(ends),
                    priced: true,
                    price_date: "as declared".to_owned(),
                    source,
                    processors: None,
                });
            }
        }
    }

    /// Takes a percentage off what stands on the bill so far of some groups; one line for each of them.
    pub(crate) fn discount(&mut self, discount: &Discount) {
        for group in &discount.of {
            let base: i64 = self.lines.iter().filter(|l| l.priced && l.group == *group).map(|l| l.monthly.0).sum();
            let Some(off) = share_of(base, discount.percent).filter(|off| *off > 0) else { continue };
            let source = if discount.source.is_empty() {
                format!("{}, line {}", self.study_file, discount.line)
            } else {
                discount.source.clone()
            };
            self.lines.push(BillLine {
                group: *group,
                item: discount.name.clone(),
                sku: format!("discount on {}", group.label()),
                formula: format!("−{} % of {}", discount.percent, unit_price_text(MicroUsd(base))),
                unit_price: MicroUsd(-off),
                unit: "month".to_owned(),
                monthly: MicroUsd(-off),
                priced: true,
                price_date: "as declared".to_owned(),
                source,
                processors: None,
            });
        }
    }

    /// What a commitment costs that is paid at its start: a month's part of it, rounded to the micro-dollar.
    pub(crate) fn upfront(&mut self, node: &Node, name: &str, upfront: MicroUsd, months: u32, date: &str, source: &str) {
        let part = Exact::fraction(upfront.0.into(), i128::from(months.max(1)) * MICROS).ok().and_then(micros);
        let Some(part) = part else { return };
        self.push(Draft {
            study_line: node.line,
            group: LineGroup::Compute,
            item: &node.role,
            sku: format!("{} upfront", node.instance),
            formula: format!("{} × {} ÷ {months} months ({name})", node.count, unit_price_text(upfront)),
            unit_price: MicroUsd(part),
            unit: "month".to_owned(),
            units: i128::from(node.count),
            priced: node.priced,
            price_date: date.to_owned(),
            source: source.to_owned(),
            processors: None,
        });
    }
}

/// A percentage of micro-dollars, rounded half away from zero to whole ones; `None` where it does not fit.
fn share_of(base: i64, percent: Exact) -> Option<i64> {
    let amount = Exact::fraction(base.into(), MICROS * 100).ok()?.times(percent).ok()?;
    micros(amount)
}

/// Dollars as micro-dollars.
fn micros(usd: Exact) -> Option<i64> {
    let rounded = usd.times(Exact::whole(MICROS)).ok()?.rounded(0, Mode::HalfUp).ok()?;
    i64::try_from(rounded.to_whole()?).ok()
}

#[cfg(test)]
mod tests;
