//! The same cost and the same throughput in the models by which people compare systems.
//!
//! Sources: cost over throughput is TPC-Pricing's; equal cost and unequal machines is the "cost performance model" of the
//! MySQL-on-Arm studies (2020); dollars per million transactions needs no horizon. All are ratios of the same two numbers,
//! so none can contradict another; they answer different questions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WorkloadResult;
use crate::bill::{Bill, LineGroup};
use crate::metric::{Better, Metric};

const HOUR_S: f64 = 3600.0;

/// What one contender's cost and throughput come to; dollars are those of a month, throughput is the summary value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Models {
    /// Throughput for each dollar that an hour costs; higher is better.
    pub throughput_per_usd_hour: f64,
    /// Dollars for a million transactions at this throughput; lower is better. `None` where the metric counts none.
    pub usd_per_million_transactions: Option<f64>,
    /// Virtual CPUs of the billed machines; `None` where one of them is not known.
    pub vcpus: Option<u32>,
    /// Their physical cores; `None` where it is not known what a vCPU of one of them is.
    pub cores: Option<f64>,
    /// Dollars of a month for each vCPU.
    pub usd_per_vcpu_month: Option<f64>,
    /// Dollars of a month for each physical core.
    pub usd_per_core_month: Option<f64>,
    /// Throughput of each vCPU.
    pub throughput_per_vcpu: Option<f64>,
    /// Throughput of each physical core.
    pub throughput_per_core: Option<f64>,
    /// Against the baseline; `None` for the baseline itself.
    pub advantage: Option<Advantage>,
}

/// Where the advantage over the baseline comes from, and what would end it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advantage {
    /// Throughput over the baseline's.
    pub performance: f64,
    /// The baseline's cost over the contender's: above 1 the contender is cheaper.
    pub price: f64,
    /// Their product: work per dollar over the baseline's.
    pub work_per_usd: f64,
    /// The share of price in the logarithm of the advantage; the rest is performance. `None` where the two cancel out.
    pub price_share: Option<f64>,
    /// Fixed cost: how many such systems the baseline's money buys.
    pub systems_for_same_money: f64,
    /// Fixed cost: their throughput together, if it adds up.
    pub throughput_for_same_money: f64,
    /// Fixed performance: dollars of a month for the baseline's throughput, if it can be bought in any size.
    pub usd_month_for_same_throughput: f64,
    /// Dollars of a month at which work per dollar would be the baseline's.
    pub break_even_usd_month: f64,
    /// Throughput at which work per dollar would be the baseline's.
    pub break_even_throughput: f64,
    /// Work per dollar over the baseline's by what is counted as cost.
    pub scopes: Vec<Scope>,
}

/// Work per dollar when only some of the bill counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scope {
    /// What counts: `compute`, `compute and volumes`, `the whole bill`.
    pub name: String,
    /// The baseline's cost over the contender's.
    pub price: f64,
    /// Work per dollar over the baseline's.
    pub work_per_usd: f64,
}

/// What counts in each scope, the whole bill apart.
const SCOPES: [(&str, &[LineGroup]); 3] = [
    ("compute", &[LineGroup::Compute]),
    ("compute and volumes", &[LineGroup::Compute, LineGroup::Volume]),
    ("compute, volumes and snapshots", &[LineGroup::Compute, LineGroup::Volume, LineGroup::Snapshot]),
];

pub(super) fn fill(result: &mut WorkloadResult, baseline: &str, bills: &[Bill]) {
    let metric = result.metric.clone();
    if metric.better == Better::Lower {
        return;
    }
    let base_value = result.contenders.iter().find(|c| c.contender == baseline).and_then(|c| c.value);
    for contender in &mut result.contenders {
        let Some(value) = contender.value.filter(|v| *v > 0.0) else { continue };
        for price in &mut contender.price {
            let of = |name: &str| bills.iter().find(|b| b.contender == name && b.region == price.region);
            let Some(bill) = of(&contender.contender) else { continue };
            let base = of(baseline).zip(base_value.filter(|v| *v > 0.0)).filter(|_| contender.contender != baseline);
            price.models = models(bill, value, &metric, base);
        }
    }
}

fn models(bill: &Bill, value: f64, metric: &Metric, base: Option<(&Bill, f64)>) -> Option<Models> {
    let monthly = bill.monthly_exact().as_usd_f64();
    if monthly <= 0.0 {
        return None;
    }
    let hours = f64::from(bill.hours_per_month);
    let per_second = metric.transactions_per_s(value);
    let (vcpus, cores) = (bill.vcpus(), bill.cores());
    let per = |amount: f64, of: Option<f64>| of.filter(|n| *n > 0.0).map(|n| amount / n);
    let whole = vcpus.map(f64::from);
    Some(Models {
        throughput_per_usd_hour: value / (monthly / hours),
        usd_per_million_transactions: per_second.map(|tps| monthly / (tps * HOUR_S * hours / 1e6)),
        vcpus,
        cores,
        usd_per_vcpu_month: per(monthly, whole),
        usd_per_core_month: per(monthly, cores),
        throughput_per_vcpu: per(value, whole),
        throughput_per_core: per(value, cores),
        advantage: base.and_then(|(bill_of_base, base_value)| advantage(bill, value, bill_of_base, base_value)),
    })
}

fn advantage(bill: &Bill, value: f64, base: &Bill, base_value: f64) -> Option<Advantage> {
    let (cost, base_cost) = (bill.monthly_exact().as_usd_f64(), base.monthly_exact().as_usd_f64());
    if base_cost <= 0.0 {
        return None;
    }
    let (performance, price) = (value / base_value, base_cost / cost);
    let work_per_usd = performance * price;
    let both = work_per_usd.ln();
    let scope = |name: &str, cost: f64, base: f64| {
        (cost > 0.0 && base > 0.0).then(|| Scope {
            name: name.to_owned(),
            price: base / cost,
            work_per_usd: performance * base / cost,
        })
    };
    let of = |bill: &Bill, groups: &[LineGroup]| groups.iter().map(|g| bill.monthly_of(*g).as_usd_f64()).sum::<f64>();
    let parts = SCOPES.iter().filter_map(|(name, groups)| scope(name, of(bill, groups), of(base, groups)));
    Some(Advantage {
        performance,
        price,
        work_per_usd,
        // Below a tenth of a percent the shares are quotients of two nothings.
        price_share: (both.abs() > 1e-3).then(|| price.ln() / both),
        systems_for_same_money: price,
        throughput_for_same_money: value * price,
        usd_month_for_same_throughput: cost / performance,
        break_even_usd_month: base_cost * performance,
        break_even_throughput: base_value / price,
        scopes: parts.chain(scope("the whole bill", cost, base_cost)).collect(),
    })
}

#[cfg(test)]
mod tests;
