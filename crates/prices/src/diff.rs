//! What two snapshots have otherwise, price by price.

use std::collections::{BTreeMap, BTreeSet};

use perbuck_core::units::MicroUsd;

use crate::snapshot::{Region, Snapshot, Tier};

/// A price that two snapshots do not share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The region.
    pub region: String,
    /// What is sold: `c6g.large`, `gp3`, `nat-gateway`.
    pub item: String,
    /// Which of its prices: `hour`, `spot hour`, `1y-no-upfront hour`, `GB-month`, `IOPS-month above 3000`.
    pub price: String,
    /// What became of it.
    pub change: Change,
}

/// What became of a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Only the second snapshot has it.
    Added(MicroUsd),
    /// Only the first snapshot has it.
    Removed(MicroUsd),
    /// Both have it, at another price.
    Changed(MicroUsd, MicroUsd),
}

impl Change {
    /// The word for it in the output.
    pub fn word(self) -> &'static str {
        match self {
            Self::Added(_) => "added",
            Self::Removed(_) => "removed",
            Self::Changed(..) => "changed",
        }
    }

    /// The price before and after.
    pub fn prices(self) -> (Option<MicroUsd>, Option<MicroUsd>) {
        match self {
            Self::Added(to) => (None, Some(to)),
            Self::Removed(from) => (Some(from), None),
            Self::Changed(from, to) => (Some(from), Some(to)),
        }
    }

    /// By how many percent of the first price it changed, where both have one.
    pub fn percent(self) -> Option<f64> {
        match self {
            Self::Changed(from, to) if from.0 != 0 => Some((to.0 - from.0) as f64 / from.0 as f64 * 100.0),
            _ => None,
        }
    }
}

/// All differences from `old` to `new`, by region, item and price.
pub fn diff(old: &Snapshot, new: &Snapshot) -> Vec<Difference> {
    let (before, after) = (prices(old), prices(new));
    let keys: BTreeSet<&Key> = before.keys().chain(after.keys()).collect();
    let change = |key: &Key| match (before.get(key), after.get(key)) {
        (None, Some(to)) => Some(Change::Added(*to)),
        (Some(from), None) => Some(Change::Removed(*from)),
        (Some(from), Some(to)) if from != to => Some(Change::Changed(*from, *to)),
        _ => None,
    };
    let all = keys.into_iter().filter_map(|key| Some((key, change(key)?)));
    all.map(|((region, item, price), change)| Difference {
        region: region.clone(),
        item: item.clone(),
        price: price.clone(),
        change,
    })
    .collect()
}

/// Region, item and price.
type Key = (String, String, String);

fn prices(snapshot: &Snapshot) -> BTreeMap<Key, MicroUsd> {
    let mut all = BTreeMap::new();
    for region in &snapshot.regions {
        machines(region, &mut all);
        volumes(region, &snapshot.capacity_unit, &mut all);
    }
    for l in &snapshot.listed {
        let key = |price: String| (l.region.clone(), l.item.clone(), price);
        all.insert(key(l.unit.clone()), l.usd);
        all.extend(tiers(&l.tiers, &l.unit).map(|(price, usd)| (key(price), usd)));
    }
    all
}

fn machines(region: &Region, all: &mut BTreeMap<Key, MicroUsd>) {
    for i in &region.instances {
        let key = |price: String| (region.name.clone(), i.machine.name.clone(), price);
        all.insert(key("hour".to_owned()), i.usd_per_hour);
        all.extend(i.spot_usd_per_hour.map(|usd| (key("spot hour".to_owned()), usd)));
        for c in &i.commitments {
            all.insert(key(format!("{} hour", c.name)), c.usd_per_hour);
            all.insert(key(format!("{} upfront", c.name)), c.upfront);
        }
    }
}

fn volumes(region: &Region, unit: &str, all: &mut BTreeMap<Key, MicroUsd>) {
    for v in &region.volumes {
        let key = |price: String| (region.name.clone(), v.kind.clone(), price);
        all.insert(key(format!("{unit}-month")), v.capacity.usd_per_gb_month);
        if let Some(iops) = v.iops {
            all.insert(key(format!("IOPS-month above {}", iops.included)), iops.usd_per_month);
        }
        all.extend(tiers(&v.iops_tiers, "IOPS-month").map(|(price, usd)| (key(price), usd)));
        if let Some(rate) = v.throughput {
            all.insert(key(format!("MiB/s-month above {}", rate.included)), rate.usd_per_month);
        }
    }
    if let Some(s) = &region.volume_snapshot {
        all.insert((region.name.clone(), "volume snapshot".to_owned(), format!("{unit}-month")), s.usd_per_gb_month);
    }
}

fn tiers(tiers: &[Tier], unit: &str) -> impl Iterator<Item = (String, MicroUsd)> {
    tiers.iter().map(move |t| (format!("{unit} above {}", t.above), t.usd))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::catalogue;

    #[test]
    fn what_was_added_removed_and_changed_is_told_and_nothing_else() {
        let bundled = catalogue().iter().find(|b| b.name == "aws-2026-07").unwrap();
        let old = Snapshot::read("old", bundled.text).unwrap();
        assert!(diff(&old, &old).is_empty());
        let mut new = old.clone();
        let east = &mut new.regions[0];
        let gone = east.instances.remove(0);
        east.instances[0].usd_per_hour = MicroUsd(east.instances[0].usd_per_hour.0 * 110 / 100);
        east.instances[1].spot_usd_per_hour = Some(MicroUsd(30_000));
        let found = diff(&old, &new);
        assert_eq!(found.len(), 3, "{found:?}");
        let of = |item: &str| found.iter().find(|d| d.item == item).unwrap();
        assert_eq!(of(&gone.machine.name).change, Change::Removed(gone.usd_per_hour));
        let dearer = of(&new.regions[0].instances[0].machine.name);
        assert!((dearer.change.percent().unwrap() - 10.0).abs() < 1e-9, "{dearer:?}");
        let spot = of(&new.regions[0].instances[1].machine.name);
        assert_eq!((spot.change, spot.price.as_str()), (Change::Added(MicroUsd(30_000)), "spot hour"));
        // The other way round everything is the other way round.
        let back = diff(&new, &old);
        assert_eq!(back.iter().filter(|d| matches!(d.change, Change::Added(_))).count(), 1);
    }
}
