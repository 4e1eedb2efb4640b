//! Machines of another architecture that match one: of as many processors, of as much memory, or of the same price.

use crate::snapshot::{Instance, Region};

/// What a pair has in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Virtual CPUs: equal compute.
    Vcpu,
    /// Memory.
    Memory,
    /// The list price of an hour: equal cost.
    Cost,
}

/// A machine beside the one that it is to match, each ratio to that one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair<'a> {
    /// The machine with its price.
    pub instance: &'a Instance,
    /// Virtual CPUs.
    pub vcpus: f64,
    /// Memory.
    pub memory: f64,
    /// List price of an hour.
    pub cost: f64,
}

/// The machines of that architecture in a region, the best match first: by what is asked for, then by the other two.
pub fn pairs<'a>(region: &'a Region, of: &Instance, arch: &str, by: By) -> Vec<Pair<'a>> {
    let ratio = |this: f64, that: f64| if that > 0.0 { this / that } else { f64::INFINITY };
    let pair = |instance: &'a Instance| Pair {
        instance,
        vcpus: ratio(instance.machine.vcpu.into(), of.machine.vcpu.into()),
        memory: ratio(instance.machine.memory_gib, of.machine.memory_gib),
        cost: ratio(instance.usd_per_hour.as_usd_f64(), of.usd_per_hour.as_usd_f64()),
    };
    let wanted = |i: &&Instance| i.machine.arch == arch && i.machine.name != of.machine.name;
    let mut found: Vec<Pair<'a>> = region.instances.iter().filter(wanted).map(pair).collect();
    let apart = |p: &Pair<'_>| {
        let order = match by {
            By::Vcpu => [p.vcpus, p.memory, p.cost],
            By::Memory => [p.memory, p.vcpus, p.cost],
            By::Cost => [p.cost, p.vcpus, p.memory],
        };
        // Twice as much is as far away as half as much. Ratios that print alike are alike.
        order.map(|ratio| (ratio.ln().abs() * 1e4).round())
    };
    let order = |a: &Pair<'_>, b: &Pair<'_>| {
        let (a, b) = (apart(a), apart(b));
        a.iter().zip(&b).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    };
    found.sort_by(|a, b| order(a, b).then_with(|| a.instance.machine.name.cmp(&b.instance.machine.name)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::snapshot::Snapshot;

    #[test]
    fn the_best_match_is_first() {
        let bundled = catalogue().iter().find(|b| b.name == "aws-2021-03").unwrap();
        let list = Snapshot::read(bundled.name, bundled.text).unwrap();
        let region = list.region("us-west-2").unwrap();
        let of = region.instance("c5.2xlarge").unwrap();
        let best = |by| pairs(region, of, "aarch64", by)[0];
        // The pair of the EKS study: as many vCPUs, as much memory, a fifth cheaper.
        let compute = best(By::Vcpu);
        assert_eq!((compute.instance.machine.name.as_str(), compute.vcpus, compute.memory), ("c6g.2xlarge", 1.0, 1.0));
        assert!((compute.cost - 0.8).abs() < 1e-9, "{compute:?}");
        assert_eq!(best(By::Memory).memory, 1.0);
        let costs: Vec<f64> = pairs(region, of, "aarch64", By::Cost).iter().map(|p| p.cost.ln().abs()).collect();
        assert!(costs.is_sorted_by(|a, b| a <= &(b + 1e-4)), "{costs:?}");
        assert!(pairs(region, of, "aarch64", By::Cost).iter().all(|p| p.instance.machine.arch == "aarch64"));
    }
}
