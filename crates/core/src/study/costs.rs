//! What a contender is billed for, apart from machines and volumes: fees, traffic, discounts, payment and scenarios.

use crate::bill::LineGroup;
use crate::exact::Exact;
use crate::toml_reader::{Located, Section};
use crate::units::MicroUsd;

use super::read::{MANY, word};

/// How snapshots of volumes are billed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotRule {
    /// The AWS Pricing Calculator's daily rule: one full copy, and 30 increments of 3 GB at half a month each.
    AwsCalculator,
    /// One full copy, and what changes in 30 days, as declared for the volume.
    Steady,
}

/// A fee, a licence or a support contract.
#[derive(Debug, Clone, PartialEq)]
pub struct Fee {
    /// What it is for.
    pub name: String,
    /// Fee, licence or support.
    pub group: LineGroup,
    /// How many times it is paid.
    pub count: u32,
    /// How it is charged.
    pub terms: FeeTerms,
    /// Line in the study.
    pub line: usize,
}

/// How a fee is charged.
#[derive(Debug, Clone, PartialEq)]
pub enum FeeTerms {
    /// For each hour of the month.
    Hour(MicroUsd),
    /// For each month.
    Month(MicroUsd),
    /// For each vCPU of the billed machines and month.
    VcpuMonth(MicroUsd),
    /// As the price list says of an item, so many units of it a month (or all the time, of what is sold by the hour).
    Listed {
        /// The item.
        item: String,
        /// Units; `None` is one, of what is sold by the hour.
        quantity: Option<u64>,
    },
    /// A percentage of the rest of the bill.
    Percent {
        /// The percentage.
        percent: Exact,
        /// The least that is charged for a month.
        at_least: Option<MicroUsd>,
    },
}

/// Billed bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Traffic {
    /// What it is.
    pub name: String,
    /// An item of the price list.
    pub item: Option<String>,
    /// A price of its own.
    pub usd_per_gb: Option<MicroUsd>,
    /// How much.
    pub amount: TrafficAmount,
    /// How many ends pay: 2 where sender and receiver do.
    pub ends: u32,
    /// Whether the bytes were measured; else they are assumed.
    pub measured: bool,
    /// Line in the study.
    pub line: usize,
}

/// How much is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrafficAmount {
    /// In a month.
    GbPerMonth(u64),
    /// With each transaction, at a rate that is kept all month.
    PerTransaction {
        /// Bytes of one transaction.
        bytes: u64,
        /// Transactions per second.
        per_second: u64,
    },
}

/// A percentage off some groups of the bill.
#[derive(Debug, Clone, PartialEq)]
pub struct Discount {
    /// What it is for.
    pub name: String,
    /// How much.
    pub percent: Exact,
    /// Off which groups.
    pub of: Vec<LineGroup>,
    /// Where it is from; may be empty.
    pub source: String,
    /// Line in the study.
    pub line: usize,
}

/// How a machine is paid.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Payment {
    /// By the list, without commitment.
    #[default]
    OnDemand,
    /// Spare capacity that the provider may take back.
    Spot,
    /// Under a commitment that the price list names.
    Commitment(Located<String>),
    /// A price of its own for an hour.
    Own(MicroUsd),
}

/// A way to pay that is priced beside the one of the study.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// How every machine is paid that is billed on demand otherwise.
    pub payment: Payment,
    /// Discounts, added to those of the contenders.
    pub discounts: Vec<Discount>,
    /// Line in the study.
    pub line: usize,
}

/// The most bytes of a transaction, and transactions of a second, that a study may name.
const BYTES_MAX: i64 = 1_000_000_000_000;
const PER_SECOND_MAX: i64 = 100_000_000;

pub(super) fn read_fee(s: &Section<'_>) -> Option<Fee> {
    let name = s.required_text("name", "\"EKS control plane\"");
    let groups = [("fee", LineGroup::Fee), ("licence", LineGroup::Licence), ("support", LineGroup::Support)];
    let group = word(s, "group", &groups);
    let count = s.count("count", 1..=MANY).unwrap_or(1);
    let (hour, month, vcpu) = (s.usd("usd_per_hour"), s.usd("usd_per_month"), s.usd("usd_per_vcpu_month"));
    let (item, percent) = (s.text("item"), s.digits("percent"));
    let quantity = s.int("quantity", 0..=BYTES_MAX).map(|v| v.value as u64);
    let at_least = s.usd("at_least");
    s.finish();
    let at_least = at_least.map(|v| v.value);
    let usual = if percent.is_some() { LineGroup::Support } else { LineGroup::Fee };
    let terms = [
        hour.map(|p| FeeTerms::Hour(p.value)),
        month.map(|p| FeeTerms::Month(p.value)),
        vcpu.map(|p| FeeTerms::VcpuMonth(p.value)),
        item.map(|i| FeeTerms::Listed { item: i.value, quantity }),
        percent.map(|p| FeeTerms::Percent { percent: p.value.value, at_least }),
    ];
    let mut terms: Vec<FeeTerms> = terms.into_iter().flatten().collect();
    if terms.len() != 1 {
        let help = "give one of `usd_per_hour`, `usd_per_month`, `usd_per_vcpu_month`, `item` and `percent`";
        s.report("name", "a fee needs exactly one price", help);
        return None;
    }
    Some(Fee { name: name?.value, group: group.unwrap_or(usual), count, terms: terms.pop()?, line: s.line() })
}

pub(super) fn read_traffic(s: &Section<'_>) -> Option<Traffic> {
    let name = s.required_text("name", "\"between zones\"");
    let (item, usd_per_gb) = (s.text("item").map(|i| i.value), s.usd("usd_per_gb").map(|p| p.value));
    let gb = s.int("gb_per_month", 0..=BYTES_MAX);
    let bytes = s.int("bytes_per_transaction", 0..=BYTES_MAX);
    let rate = s.int("transactions_per_s", 0..=PER_SECOND_MAX);
    let ends = s.count("ends", 1..=2).unwrap_or(1);
    let measured = s.boolean("measured").is_some_and(|m| m.value);
    s.finish();
    if item.is_some() == usd_per_gb.is_some() {
        s.report("name", "traffic needs exactly one price", "give either `item`, as the price list calls it, or `usd_per_gb`");
        return None;
    }
    let amount = match (gb, bytes, rate) {
        (Some(gb), None, None) => TrafficAmount::GbPerMonth(gb.value as u64),
        (None, Some(bytes), Some(rate)) => {
            TrafficAmount::PerTransaction { bytes: bytes.value as u64, per_second: rate.value as u64 }
        }
        _ => {
            let help = "give either `gb_per_month`, or `bytes_per_transaction` and `transactions_per_s`";
            s.report("name", "traffic needs exactly one amount", help);
            return None;
        }
    };
    Some(Traffic { name: name?.value, item, usd_per_gb, amount, ends, measured, line: s.line() })
}

pub(super) fn read_discount(s: &Section<'_>) -> Option<Discount> {
    let name = s.required_text("name", "\"three-year agreement\"");
    let percent = s.digits("percent");
    let of = s.texts("of");
    let source = s.text("source").map(|t| t.value).unwrap_or_default();
    s.finish();
    let Some(percent) = percent.map(|p| p.value.value) else {
        if !s.has("percent") {
            s.report("name", "a discount has no `percent`", "add for instance `percent = 12.5`");
        }
        return None;
    };
    if percent < Exact::ZERO || percent > Exact::whole(100) {
        s.report("percent", format!("`percent` is {percent}, outside 0 to 100"), "a discount takes off from 0 to 100 percent");
        return None;
    }
    let mut groups = Vec::new();
    for wanted in of.map_or_else(|| vec!["compute".to_owned()], |o| o.value) {
        match LineGroup::ALL.into_iter().find(|g| g.label() == wanted) {
            // A share of the bill is one of what is paid, so fees come after discounts and cannot be part of one.
            Some(LineGroup::Fee | LineGroup::Licence | LineGroup::Support) => {
                let message = format!("a discount cannot be of `{wanted}`: fees, licences and support are added after discounts");
                s.report("of", message, "lower the price of that `fee` itself");
            }
            Some(group @ (LineGroup::Compute | LineGroup::Volume | LineGroup::Snapshot | LineGroup::Traffic)) => {
                groups.push(group);
            }
            None => {
                let known: Vec<&str> = LineGroup::ALL.iter().map(|g| g.label()).collect();
                s.report("of", format!("`of` names no group of a bill: `{wanted}`"), format!("use {}", known.join(", ")));
            }
        }
    }
    Some(Discount { name: name?.value, percent, of: groups, source, line: s.line() })
}

/// How a machine, or all machines of a scenario, are paid.
pub(super) fn read_payment(s: &Section<'_>) -> Payment {
    let own = s.usd("usd_per_hour").map(|p| p.value);
    let commitment = s.text("commitment");
    let spot = s.boolean("spot").is_some_and(|b| b.value);
    match (own, commitment, spot) {
        (None, None, false) => Payment::OnDemand,
        (Some(price), None, false) => Payment::Own(price),
        (None, Some(name), false) => Payment::Commitment(name),
        (None, None, true) => Payment::Spot,
        _ => {
            let help = "give one of `usd_per_hour`, `commitment` and `spot = true`";
            s.report("spot", "a machine is paid in exactly one way", help);
            Payment::OnDemand
        }
    }
}

pub(super) fn read_scenario(s: &Section<'_>) -> Option<Scenario> {
    let name = s.required_text("name", "\"1 year\"");
    let payment = read_payment(s);
    let discounts = s.each("discount", read_discount);
    s.finish();
    if matches!(payment, Payment::OnDemand) && discounts.as_ref().is_some_and(Vec::is_empty) {
        let help = "add `commitment = \"…\"`, `spot = true`, or a `discount`";
        s.report("name", "a scenario is paid as the study is", help);
    }
    if matches!(payment, Payment::Own(_)) {
        let help = "give the machines their `usd_per_hour`";
        s.report("usd_per_hour", "a scenario has no price of its own for every machine", help);
    }
    Some(Scenario { name: name?.value, payment, discounts: discounts?, line: s.line() })
}
