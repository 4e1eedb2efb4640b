//! The lines of a bill that are no machines and volumes: fees, traffic, licences, support, and discounts on what stands above.

use perbuck_core::bill::{Amount, BillLine, LineGroup, micros, percent_of};
use perbuck_core::exact::Exact;
use perbuck_core::study::{Discount, Fee, FeeTerms, Node, Traffic, TrafficAmount};
use perbuck_core::units::{MicroUsd, unit_price_text};

use crate::bill::{BillContext, Draft, by_tier, way_out};
use crate::snapshot::{Commitment, Listed};

/// Micro-dollars of a dollar, as a denominator.
const MICROS: i128 = 1_000_000;

/// Bytes of a GB, as providers bill traffic.
const GB: u64 = 1_000_000_000;

impl BillContext<'_> {
    pub(crate) fn fee(&mut self, fee: &Fee) {
        let hours = u64::from(self.hours);
        let times = if fee.count == 1 { String::new() } else { format!("{} × ", fee.count) };
        let (price, unit, per_one, quantity) = match &fee.terms {
            FeeTerms::Hour(price) => (*price, "hour", hours, format!("{hours} h")),
            FeeTerms::Month(price) => (*price, "month", 1, "1 month".to_owned()),
            FeeTerms::VcpuMonth(price) => {
                let Some(vcpus) = self.vcpus(fee) else { return };
                (*price, "vCPU-month", vcpus, format!("{vcpus} vCPU"))
            }
            FeeTerms::Listed { item, quantity } => return self.listed_fee(fee, item, *quantity, &times),
            FeeTerms::Percent { percent, at_least } => return self.share(fee, *percent, *at_least),
        };
        self.push(Draft {
            sku: "fixed fee".to_owned(),
            formula: format!("{times}{quantity} × {}", unit_price_text(price)),
            unit_price: price,
            unit: unit.to_owned(),
            units: i128::from(fee.count) * i128::from(per_one),
            ..Draft::new(fee.line, fee.group, &fee.name, self.declared(fee.line))
        });
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
        let hours = u64::from(self.hours);
        let (units, amount) = match (quantity, by_hour) {
            (Some(quantity), false) => (quantity, format!("{times}{quantity} {}", listed.unit)),
            (Some(quantity), true) => (quantity * hours, format!("{times}{quantity} × {hours} h")),
            (None, true) => (hours, format!("{times}{hours} h")),
            (None, false) => {
                let message = format!("`{item}` is sold by {}, and the fee names no `quantity`", listed.unit);
                self.problem(fee.line, message, format!("add `quantity = …`: how many {} a month", listed.unit));
                return;
            }
        };
        self.tiered(fee.line, fee.group, &fee.name, &listed, units, u64::from(fee.count), &amount);
    }

    /// One line for each tier that the units reach.
    #[allow(clippy::too_many_arguments, reason = "a line of a bill has as many parts")]
    fn tiered(&mut self, line: usize, group: LineGroup, name: &str, listed: &Listed, units: u64, count: u64, amount: &str) {
        for (start, part, usd) in by_tier((0, listed.usd), &listed.tiers, units) {
            let of = if listed.tiers.is_empty() { String::new() } else { format!("{part} of ") };
            self.push(Draft {
                sku: listed.item.clone(),
                formula: format!("{of}{amount} × {}", unit_price_text(usd)),
                unit_price: usd,
                unit: listed.unit.clone(),
                units: i128::from(part) * i128::from(count),
                // A dispute is about the first tier.
                disputed: listed.origin.disputed().filter(|_| start == 0),
                ..Draft::new(line, group, name, listed.origin.dated())
            });
        }
    }

    /// A percentage of what stands on the bill so far, at least some amount; rounded to the micro-dollar.
    fn share(&mut self, fee: &Fee, percent: Exact, at_least: Option<MicroUsd>) {
        let base: i64 = self.lines.iter().filter(|l| l.priced && l.group != LineGroup::Support).map(|l| l.monthly.0).sum();
        let Some(amount) = percent_of(base, percent) else {
            let message = format!("`{}` comes to an amount that does not fit", fee.name);
            self.problem(fee.line, message, "check its percentage".to_owned());
            return;
        };
        let least = at_least.filter(|least| least.0 > amount);
        let floor = least.map(|least| format!(", at least {}", unit_price_text(least))).unwrap_or_default();
        let order = self.lines.iter().filter(|l| matches!(l.amount, Some(Amount::Share { .. }))).count();
        let line = self.push(Draft {
            sku: "share of the bill".to_owned(),
            formula: format!("{percent} % of {}{floor}", unit_price_text(MicroUsd(base))),
            unit_price: least.unwrap_or(MicroUsd(amount)),
            unit: "month".to_owned(),
            units: i128::from(fee.count),
            ..Draft::new(fee.line, fee.group, &fee.name, self.declared(fee.line))
        });
        if let Some(line) = line {
            let at_least = at_least.unwrap_or_default();
            line.amount = Some(Amount::Share { percent: percent.digits(), at_least, times: fee.count, order });
        }
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
        if let Some(item) = &traffic.item {
            let Some(listed) = self.listed(traffic.line, item) else { return };
            self.tiered(traffic.line, LineGroup::Traffic, &traffic.name, &listed, gb, ends, &amount);
            return;
        }
        let price = traffic.usd_per_gb.unwrap_or_default();
        self.push(Draft {
            sku: "traffic".to_owned(),
            formula: format!("{amount} × {}", unit_price_text(price)),
            unit_price: price,
            unit: "GB".to_owned(),
            units: i128::from(gb) * i128::from(ends),
            ..Draft::new(traffic.line, LineGroup::Traffic, &traffic.name, self.declared(traffic.line))
        });
    }

    /// Takes a percentage off what stands on the bill so far of some groups; one line for each of them.
    pub(crate) fn discount(&mut self, discount: &Discount) {
        for group in &discount.of {
            let base: i64 = self.lines.iter().filter(|l| l.priced && l.group == *group).map(|l| l.monthly.0).sum();
            let Some(off) = percent_of(base, discount.percent).filter(|off| *off > 0) else { continue };
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
                disputed: None,
                unit: "month".to_owned(),
                monthly: MicroUsd(-off),
                amount: Some(Amount::Discount { percent: discount.percent.digits() }),
                priced: true,
                price_date: "as declared".to_owned(),
                source,
                processors: None,
            });
        }
    }

    /// What a commitment costs that is paid at its start: a month's part of it, rounded to the micro-dollar.
    pub(crate) fn upfront(&mut self, node: &Node, terms: &Commitment, origin: (String, String)) {
        let Commitment { name, months, upfront, .. } = terms;
        let part = Exact::fraction(upfront.0.into(), i128::from((*months).max(1)) * MICROS).ok().and_then(micros);
        let Some(part) = part.filter(|_| upfront.0 > 0) else { return };
        self.push(Draft {
            sku: format!("{} upfront", node.instance),
            formula: format!("{} × {} ÷ {months} months ({name})", node.count, unit_price_text(*upfront)),
            unit_price: MicroUsd(part),
            unit: "month".to_owned(),
            units: i128::from(node.count),
            priced: node.priced,
            ..Draft::new(node.line, LineGroup::Compute, &node.role, origin)
        });
    }
}

#[cfg(test)]
mod tests;
