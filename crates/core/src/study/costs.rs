//! What a contender is billed for, apart from machines and volumes.

use crate::bill::LineGroup;
use crate::exact::Exact;
use crate::toml_reader::Located;
use crate::units::MicroUsd;

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
