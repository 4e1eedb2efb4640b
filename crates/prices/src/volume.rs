//! The lines of a node's volume: capacity, what is bought above the included performance, daily snapshots.

use perbuck_core::bill::LineGroup;
use perbuck_core::study::{Node, SnapshotRule, Volume};
use perbuck_core::units::{MicroUsd, unit_price_text};

use crate::bill::{BillContext, Draft, by_tier, way_out};
use crate::snapshot::{Origin, Provisioned, Tier, VolumePrice};

/// The AWS Pricing Calculator's daily rule: increments of a month, GB of each, and half of the month that each is kept.
const INCREMENTS: u32 = 30;
const INCREMENT_GB: u32 = 3;

/// IOPS or throughput of a volume, as far as both are billed alike.
struct Performance<'p> {
    /// What the study's key is called.
    key: &'static str,
    /// The word in the bill.
    word: &'static str,
    unit: &'static str,
    asked: Option<u32>,
    price: Option<Provisioned>,
    /// Prices above some number of them.
    tiers: &'p [Tier],
    /// The most that can be bought, where the list says so.
    most: Option<u32>,
}

impl BillContext<'_> {
    pub(crate) fn volume(&mut self, node: &Node, volume: &Volume) {
        let unit = self.snapshot.capacity_unit.as_str();
        let quantity = format!("{} {unit}", volume.size_gb);
        match (volume.usd_per_month, self.prices.volume(&volume.kind)) {
            (Some(usd), _) => self.own_volume(node, volume, usd),
            (None, Some(price)) => self.priced_volume(node, volume, price),
            (None, None) if !node.priced => self.push_without_price(node, LineGroup::Volume, &volume.kind, &quantity),
            (None, None) => {
                let here: Vec<&str> = self.prices.volumes.iter().map(|v| v.kind.as_str()).collect();
                let elsewhere = self.snapshot.regions_where(|r| r.volume(&volume.kind).is_some());
                let help = way_out(&volume.kind, &here, &elsewhere, "kinds of volume");
                self.no_price(volume.line, &volume.kind, help);
            }
        }
        if volume.daily_snapshots {
            self.volume_snapshots(node, volume, &quantity);
        }
    }

    /// A volume with a price of the study's own, which covers its size and its performance.
    fn own_volume(&mut self, node: &Node, volume: &Volume, usd: MicroUsd) {
        self.push(Draft {
            sku: volume.kind.clone(),
            formula: format!("{} × {}", pieces(node, volume), unit_price_text(usd)),
            unit_price: usd,
            unit: "volume-month".to_owned(),
            units: number(node, volume),
            priced: node.priced,
            ..Draft::new(volume.line, LineGroup::Volume, &node.role, self.declared(volume.line))
        });
    }

    fn priced_volume(&mut self, node: &Node, volume: &Volume, price: &VolumePrice) {
        let (unit, origin) = (&self.snapshot.capacity_unit, &price.capacity.origin);
        let usd = price.capacity.usd_per_gb_month;
        self.push(Draft {
            sku: volume.kind.clone(),
            formula: format!("{} × {} {unit} × {}", pieces(node, volume), volume.size_gb, unit_price_text(usd)),
            unit_price: usd,
            disputed: origin.disputed(),
            unit: format!("{unit}-month"),
            units: number(node, volume) * i128::from(volume.size_gb),
            priced: node.priced,
            ..Draft::new(volume.line, LineGroup::Volume, &node.role, origin.dated())
        });
        let iops = Performance {
            key: "iops",
            word: "IOPS",
            unit: "IOPS",
            asked: volume.iops,
            price: price.iops,
            tiers: &price.iops_tiers,
            most: price.limits.iops_max,
        };
        let throughput = Performance {
            key: "throughput_mib_s",
            word: "throughput",
            unit: "MiB/s",
            asked: volume.throughput_mib_s,
            price: price.throughput,
            tiers: &[],
            most: price.limits.mib_s_max,
        };
        for performance in [iops, throughput] {
            if let Some(problem) = refusal(volume, &performance, price) {
                if node.priced {
                    self.problem(volume.line, problem.0, problem.1);
                } else {
                    let sku = format!("{} {}", volume.kind, performance.word);
                    let quantity = format!("{} {}", performance.asked.unwrap_or(0), performance.unit);
                    self.push_without_price(node, LineGroup::Volume, &sku, &quantity);
                }
            } else if let (Some(asked), Some(price)) = (performance.asked, performance.price) {
                // The first tier starts above what is included; the price list gives the others by the number where they start.
                let tiers = by_tier((price.included.into(), price.usd_per_month), performance.tiers, asked.into());
                tiers.into_iter().for_each(|tier| self.performance(node, volume, &performance, tier, origin));
            }
        }
    }

    /// A line of what is bought above the included value.
    fn performance(&mut self, node: &Node, volume: &Volume, what: &Performance<'_>, tier: (u64, u64, MicroUsd), origin: &Origin) {
        let (start, above, usd) = tier;
        let beyond = if start > 0 { format!(" above {start}") } else { String::new() };
        self.push(Draft {
            sku: format!("{} {}", volume.kind, what.word),
            formula: format!("{} × {above} {}{beyond} × {}", pieces(node, volume), what.unit, unit_price_text(usd)),
            unit_price: usd,
            unit: format!("{}-month", what.unit),
            units: number(node, volume) * i128::from(above),
            priced: node.priced,
            ..Draft::new(volume.line, LineGroup::Volume, &node.role, origin.dated())
        });
    }

    fn volume_snapshots(&mut self, node: &Node, volume: &Volume, quantity: &str) {
        let unit = self.snapshot.capacity_unit.as_str();
        let sku = format!("snapshots of {}", volume.kind);
        let Some(price) = &self.prices.volume_snapshot else {
            if node.priced {
                let elsewhere = self.snapshot.regions_where(|r| r.volume_snapshot.is_some());
                let help = match &elsewhere[..] {
                    [] => "leave `snapshots` out, or take another price snapshot".to_owned(),
                    regions => format!("leave `snapshots` out; they have a price in: {}", regions.join(", ")),
                };
                self.no_price(volume.line, &sku, help);
            } else {
                self.push_without_price(node, LineGroup::Snapshot, &sku, quantity);
            }
            return;
        };
        let usd = unit_price_text(price.usd_per_gb_month);
        let (size, count) = (i128::from(volume.size_gb), pieces(node, volume));
        let (formula, gb) = match self.rule {
            SnapshotRule::AwsCalculator => (
                format!("{count} × ({quantity} × {usd} + {INCREMENTS} × {INCREMENT_GB} {unit} × {usd} × ½)"),
                // 30 × 3 is even, so that half of it is a whole number and the amount stays exact.
                size + i128::from(INCREMENTS * INCREMENT_GB / 2),
            ),
            SnapshotRule::Steady => {
                let change = volume.daily_change_gb;
                let formula = format!("{count} × ({quantity} + {INCREMENTS} × {change} {unit}) × {usd}");
                (formula, size + i128::from(INCREMENTS) * i128::from(change))
            }
        };
        self.push(Draft {
            disputed: price.origin.disputed(),
            sku,
            formula,
            unit_price: price.usd_per_gb_month,
            unit: format!("{unit}-month"),
            units: number(node, volume) * gb,
            priced: node.priced,
            ..Draft::new(volume.line, LineGroup::Snapshot, &node.role, price.origin.dated())
        });
    }
}

/// How many volumes of a kind there are.
fn number(node: &Node, volume: &Volume) -> i128 {
    i128::from(node.count) * i128::from(volume.count)
}

/// The same in a formula: machines, and volumes of each where there are several.
fn pieces(node: &Node, volume: &Volume) -> String {
    if volume.count == 1 { node.count.to_string() } else { format!("{} × {}", node.count, volume.count) }
}

/// Message and way out where this kind of volume does not sell what the study asks for.
fn refusal(volume: &Volume, what: &Performance<'_>, price: &VolumePrice) -> Option<(String, String)> {
    let (kind, key, word) = (&volume.kind, what.key, what.word);
    match (what.asked, what.price) {
        (Some(_), None) => {
            let includes = if price.includes.is_empty() { String::new() } else { format!("; it includes {}", price.includes) };
            let help = format!("leave `{key}` out{includes}; or take a kind that sells {word}, such as gp3 where it has a price");
            Some((format!("`{kind}` does not sell {word}, but `{key}` is given"), help))
        }
        (None, Some(Provisioned { included: 0, .. })) => {
            let help = format!("add `{key} = …`: this kind includes none and bills what is asked for");
            Some((format!("`{kind}` needs `{key}`"), help))
        }
        (Some(asked), Some(_)) if what.most.is_some_and(|most| asked > most) => {
            let most = what.most.unwrap_or_default();
            let help = format!("ask for at most {most}, or take a kind that has more");
            Some((format!("`{key}` of `{kind}` is {asked}, and {most} is the most that can be bought"), help))
        }
        (Some(asked), Some(Provisioned { priced_up_to: Some(top), .. })) if asked > top => {
            let help = format!("ask for at most {top}, or take a price snapshot of your own with the further tiers");
            Some((format!("`{key}` of `{kind}` is {asked}, but its price is known up to {top} only"), help))
        }
        _ => None,
    }
}
