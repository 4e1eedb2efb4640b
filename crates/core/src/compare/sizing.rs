//! What a demand costs a month under a latency objective, on each contender whose capacity was searched.
//!
//! A contender serves a demand with so many whole systems, each of which is what its bill names. That several of them divide a demand evenly
//! is an assumption; with one system nothing is assumed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bill::Bill;
use crate::capacity::CapacityRecord;
use crate::study::Study;
use crate::units::{MicroUsd, thousands};

/// The schema number of [`Sizing`].
pub const SIZING_SCHEMA: u32 = 1;

/// What a demand costs with one workload in one region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sizing {
    /// Always 1.
    pub schema: u32,
    /// Name of the workload.
    pub workload: String,
    /// The objective in words, such as `p99 at most 20.0 ms`.
    pub objective: String,
    /// Transactions per second that are to be served.
    pub demand_per_s: u32,
    /// Where it is priced, and in which scenario.
    pub region: String,
    /// In the order of the study.
    pub contenders: Vec<SizedContender>,
    /// The contender with the lowest cost at its capacity; `None` where none has one, or only one was searched.
    pub cheapest: Option<String>,
    /// Whether it stays the cheapest wherever in their ranges all capacities lie.
    pub surely: bool,
}

/// One contender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizedContender {
    /// Its name.
    pub contender: String,
    /// The bill of a month of one system.
    pub monthly: MicroUsd,
    /// The highest rate at which one system kept the objective; `None` where even the lowest broke it.
    pub capacity_per_s: Option<u32>,
    /// Up to this rate every trial kept the objective; `None` where one at the lowest rate did not.
    pub at_least_per_s: Option<u32>,
    /// From this rate on no trial kept it; `None` where that is not known.
    pub below_per_s: Option<u32>,
    /// What is needed at the capacity.
    pub needed: Option<Systems>,
    /// The fewest systems that may do: the capacity is below `below_per_s`.
    pub fewest: Systems,
    /// The most systems that may be needed, at `at_least_per_s`.
    pub most: Option<Systems>,
}

/// Some systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Systems {
    /// How many.
    pub count: u32,
    /// What they cost in a month.
    pub monthly: MicroUsd,
}

/// What a demand costs by these searches: for each workload, region by region.
pub fn sizing(study: &Study, bills: &[Bill], found: &[CapacityRecord], demand_per_s: u32) -> Vec<Sizing> {
    let mut regions: Vec<&str> = Vec::new();
    for bill in bills {
        if !regions.contains(&bill.region.as_str()) {
            regions.push(&bill.region);
        }
    }
    let mut all = Vec::new();
    for workload in &study.workloads {
        for region in &regions {
            let bill_of = |name: &str| bills.iter().find(|b| b.contender == name && b.region == *region);
            let of = found.iter().filter(|f| f.workload == workload.name);
            let contenders: Vec<SizedContender> =
                of.clone().filter_map(|f| Some(sized(f, bill_of(&f.contender)?, demand_per_s))).collect();
            let Some(objective) = of.map(|f| f.objective.clone()).next().filter(|_| !contenders.is_empty()) else { continue };
            let (cheapest, surely) = cheapest(&contenders).map_or((None, false), |(name, surely)| (Some(name), surely));
            all.push(Sizing {
                schema: SIZING_SCHEMA,
                workload: workload.name.clone(),
                objective,
                demand_per_s,
                region: (*region).to_owned(),
                contenders,
                cheapest,
                surely,
            });
        }
    }
    all
}

fn sized(found: &CapacityRecord, bill: &Bill, demand_per_s: u32) -> SizedContender {
    let (at_least_per_s, below_per_s) = found.result.range(&found.rule);
    let capacity_per_s = found.result.capacity_per_s;
    let systems = |per_s: u32| {
        let count = demand_per_s.div_ceil(per_s.max(1)).max(1);
        Systems { count, monthly: MicroUsd(bill.monthly().0.saturating_mul(count.into())) }
    };
    SizedContender {
        contender: found.contender.clone(),
        monthly: bill.monthly(),
        capacity_per_s,
        at_least_per_s,
        below_per_s,
        needed: capacity_per_s.map(systems),
        // Without an upper end one system may do.
        fewest: systems(below_per_s.unwrap_or(u32::MAX)),
        most: at_least_per_s.map(systems),
    }
}

/// The one with the lowest cost, the first of equal ones, and whether the others cost more wherever in its range each capacity lies.
fn cheapest(contenders: &[SizedContender]) -> Option<(String, bool)> {
    let priced = contenders.iter().filter_map(|c| Some((c, c.needed?.monthly)));
    let (first, _) = priced.min_by_key(|(_, monthly)| *monthly).filter(|_| contenders.len() > 1)?;
    let others = || contenders.iter().filter(|c| c.contender != first.contender);
    let surely = first.most.is_some_and(|most| others().all(|other| other.fewest.monthly > most.monthly));
    Some((first.contender.clone(), surely))
}

impl Sizing {
    /// `rw in us-east-1: 10,000 TPS with p99 at most 20.0 ms cost $397.12 a month on arm (2 systems, $397.12 to $595.68) and …`.
    pub fn sentence(&self) -> String {
        let each: Vec<String> = self.contenders.iter().map(SizedContender::text).collect();
        let verdict = match (&self.cheapest, self.surely) {
            (None, _) => String::new(),
            (Some(name), true) => format!("; {name} is the cheapest, wherever in its range each capacity lies"),
            (Some(name), false) => format!("; {name} is the cheapest at the capacities that were found, but the ranges overlap"),
        };
        let Self { workload, region, demand_per_s, objective, .. } = self;
        format!(
            "{workload} in {region}: {} TPS with {objective} cost {}{verdict}",
            thousands((*demand_per_s).into()),
            each.join(", and ")
        )
    }
}

impl SizedContender {
    fn text(&self) -> String {
        let name = &self.contender;
        match self.needed {
            Some(needed) => {
                let plural = if needed.count == 1 { "" } else { "s" };
                format!(
                    "{} a month on {name} ({} system{plural}{})",
                    needed.monthly,
                    thousands(needed.count.into()),
                    self.range_text(", ")
                )
            }
            None => format!("more on {name} than could be found, since the lowest rate tried broke the objective"),
        }
    }

    /// The range of the cost after `before`; empty where it is one number.
    pub fn range_text(&self, before: &str) -> String {
        match self.most {
            Some(most) if most == self.fewest => String::new(),
            Some(most) => format!("{before}{} to {}", self.fewest.monthly, most.monthly),
            None => format!("{before}{} or more", self.fewest.monthly),
        }
    }
}

#[cfg(test)]
mod tests;
