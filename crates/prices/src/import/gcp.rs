//! Pages of SKUs of Google Cloud's billing API. There is no price of a machine: a core has one and a GiB of memory has one, by
//! series and region. Each machine is their sum, exact, rounded once. No sustained-use discount is in it.

use std::collections::BTreeMap;
use std::io::BufRead;

use perbuck_core::units::MicroUsd;
use serde::Deserialize;
use serde::de::{Error, IgnoredAny, MapAccess};

use super::ImportError;
use super::collect::{COMMITMENT, Collector, OTHER_REGION, Shape, ZERO};
use super::names::Provider;
use super::number::{Decimal, Exact, shown};
use super::stream::{Items, Pages};
use crate::snapshot::{CapacityPrice, Commitment, VolumePrice};

const PAGES: Pages = Pages {
    page: "a page of SKUs, an object with `skus`",
    items: ("skus", "a list of SKUs"),
    next: "nextPageToken",
    missing: "no page has `skus`, so this is no answer of the billing API",
    help: "give the pages of the SKUs of Compute Engine, one after the other",
};

/// Reads the pages, one after the other in one file.
pub(crate) fn read(list: &mut dyn BufRead, into: &mut Collector) -> Result<String, ImportError> {
    into.provider_is(Provider::Gcp, 1)?;
    let mut skus = Skus { into, rates: Rates::default() };
    let note = PAGES.read(list, &mut skus)?;
    let Skus { into, rates } = skus;
    note.into_iter().for_each(|note| into.note(note));
    rates.finish(into)?;
    Ok(String::new())
}

struct Skus<'a> {
    into: &'a mut Collector,
    rates: Rates,
}

/// A SKU; the words are those of the API.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sku {
    #[serde(default)]
    sku_id: String,
    description: String,
    category: Category,
    #[serde(default)]
    service_regions: Vec<String>,
    #[serde(default)]
    pricing_info: Vec<Pricing>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Category {
    usage_type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pricing {
    pricing_expression: Expression,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Expression {
    usage_unit: String,
    #[serde(default)]
    tiered_rates: Vec<Tiered>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tiered {
    unit_price: Money,
}

/// Whole dollars as text, and billionths.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Money {
    currency_code: String,
    #[serde(default)]
    units: String,
    #[serde(default)]
    nanos: u32,
}

impl Items for Skus<'_> {
    type Item = Sku;

    fn other<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "error" => Err(A::Error::custom("the page is an error answer of the API, not a list")),
            _ => map.next_value::<IgnoredAny>().map(drop),
        }
    }

    fn item(&mut self, sku: Sku) -> Result<(), String> {
        let (into, rates) = (&mut *self.into, &mut self.rates);
        let Some(part) = part(&sku.description, &sku.category.usage_type, into) else { return Ok(()) };
        take(&sku, &part, rates, into).map_err(|why| format!("SKU {} ({}): {why}", shown(&sku.sku_id), shown(&sku.description)))
    }
}

fn take(sku: &Sku, part: &Part, rates: &mut Rates, into: &mut Collector) -> Result<(), String> {
    // The newest price is last; history stands before it only where it was asked for.
    let Some(expression) = sku.pricing_info.last().map(|p| &p.pricing_expression) else {
        into.skip("SKU without a price");
        return Ok(());
    };
    let [rate] = expression.tiered_rates.as_slice() else {
        into.skip("SKU with several tiers");
        return Ok(());
    };
    let money = &rate.unit_price;
    if money.currency_code != "USD" {
        return Err(format!("its price is in {}, not in USD", shown(&money.currency_code)));
    }
    if money.nanos >= 1_000_000_000 {
        return Err(format!("its price has {} billionths", money.nanos));
    }
    let units = if money.units.is_empty() { "0" } else { &money.units };
    let units: u64 = units.parse().map_err(|_| format!("its price has \"{}\" dollars", shown(units)))?;
    for region in &sku.service_regions {
        rates.add(region, part, &expression.usage_unit, Decimal::from_nanos(units, money.nanos), into)?;
    }
    Ok(())
}

/// Which value of which series.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Core(String, Bound),
    Ram(String, Bound),
    Disk(&'static str),
    Snapshot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Bound {
    OnDemand,
    Spot,
    OneYear,
    ThreeYears,
}

const DISKS: [(&str, &str); 3] =
    [("Storage PD Capacity", "pd-standard"), ("Balanced PD Capacity", "pd-balanced"), ("SSD backed PD Capacity", "pd-ssd")];

/// What a SKU is by its description, such as `T2A Arm Instance Core running in Americas`; what else it is, is counted.
fn part(description: &str, usage: &str, into: &mut Collector) -> Option<Part> {
    let bound = match usage {
        "OnDemand" => Bound::OnDemand,
        "Preemptible" => Bound::Spot,
        "Commit1Yr" => Bound::OneYear,
        "Commit3Yr" => Bound::ThreeYears,
        _ => {
            into.skip("usage of another type");
            return None;
        }
    };
    let unwanted = match bound {
        Bound::Spot if !into.spot => Some("spot price; --spot takes them"),
        Bound::OneYear | Bound::ThreeYears if !into.commitments => Some(COMMITMENT),
        _ => None,
    };
    if let Some(reason) = unwanted {
        into.skip(reason);
        return None;
    }
    let disk = |what: &str| description == what || description.strip_prefix(what).is_some_and(|rest| rest.starts_with(" in "));
    if bound == Bound::OnDemand {
        if let Some((_, kind)) = DISKS.iter().find(|(words, _)| disk(words)) {
            return Some(Part::Disk(kind));
        }
        if disk("Storage PD Snapshot") {
            return Some(Part::Snapshot);
        }
    }
    let found = if bound > Bound::Spot { committed(description) } else { running(description) };
    let Some((series, core)) = found else {
        into.skip("SKU of another kind");
        return None;
    };
    Some(if core { Part::Core(series, bound) } else { Part::Ram(series, bound) })
}

/// The series, and whether it is a core: `N2 Instance Core running in …`, `Compute optimized Ram running in …`.
fn running(description: &str) -> Option<(String, bool)> {
    let (what, _region) = description.split_once(" running in ")?;
    let what = what.strip_prefix("Spot Preemptible ").unwrap_or(what);
    let (what, core) = core_or_ram(what, [" Core", " Ram"])?;
    let series = if what == COMPUTE_OPTIMIZED { series(what) } else { series(what.strip_suffix(" Instance")?) };
    series.map(|series| (series, core))
}

/// The series of `Commitment v1: N2 Cpu in Americas for 1 Year`.
fn committed(description: &str) -> Option<(String, bool)> {
    let (what, _region) = description.strip_prefix("Commitment v1: ")?.split_once(" in ")?;
    let (what, core) = core_or_ram(what, [" Cpu", " Ram"])?;
    series(what).map(|series| (series, core))
}

fn core_or_ram<'a>(what: &'a str, words: [&str; 2]) -> Option<(&'a str, bool)> {
    what.strip_suffix(words[0]).map(|rest| (rest, true)).or(what.strip_suffix(words[1]).map(|rest| (rest, false)))
}

/// What the list calls the series C2.
const COMPUTE_OPTIMIZED: &str = "Compute optimized";

/// `T2A Arm`, `N2D AMD`, `N1 Predefined`, `C3` as `t2a`, `n2d`, `n1`, `c3`; custom machines and sole tenancy are none.
fn series(words: &str) -> Option<String> {
    if words == COMPUTE_OPTIMIZED {
        return Some("c2".to_owned());
    }
    let mut words = words.split(' ');
    let series = words.next()?.to_ascii_lowercase();
    let named = series.len() <= 4
        && series.starts_with(|c: char| c.is_ascii_lowercase())
        && series.contains(|c: char| c.is_ascii_digit());
    let plain = words.all(|word| ["Arm", "AMD", "Predefined"].contains(&word));
    (named && plain).then_some(series)
}

/// The rates of cores and memory until all of them are there.
#[derive(Default)]
struct Rates(BTreeMap<(String, Part), Decimal>);

impl Rates {
    fn add(&mut self, region: &str, part: &Part, unit: &str, price: Decimal, into: &mut Collector) -> Result<(), String> {
        if into.skips(&[(!into.wants_region(region), OTHER_REGION), (price.is_zero(), ZERO)]) {
            return Ok(());
        }
        let wants = match part {
            Part::Core(..) => "h",
            Part::Ram(..) => "GiBy.h",
            Part::Disk(_) | Part::Snapshot => "GiBy.mo",
        };
        if unit != wants {
            return Err(format!("its unit is \"{}\", not \"{wants}\"", shown(unit)));
        }
        match part {
            Part::Disk(kind) => into.volume(region, disk(kind, &price.exact()?)),
            Part::Snapshot => into.snapshot(region, price.exact()?.usd),
            Part::Core(..) | Part::Ram(..) => {
                let before = self.0.insert((region.to_owned(), part.clone()), price);
                if before.is_some_and(|before| before.exact() != price.exact()) {
                    return Err("another SKU has another price for the same".to_owned());
                }
            }
        }
        Ok(())
    }

    fn finish(self, into: &mut Collector) -> Result<(), ImportError> {
        let regions: std::collections::BTreeSet<&String> = self.0.keys().map(|(region, _)| region).collect();
        let names: Vec<String> = into.known_types().map(|m| m.name.clone()).collect();
        let sized = |name: &String| Some((name.split_once('-')?.0.to_owned(), into.known(name)?));
        let types: Vec<(String, Shape)> = names.iter().filter_map(sized).collect();
        for region in regions {
            for (series, shape) in &types {
                let wrong = |why: String| {
                    ImportError::new(0, format!("`{}` in {region}: {why}", shape.name), "check the SKUs of its series")
                };
                let Some(usd) = self.sum(region, series, Bound::OnDemand, shape).map_err(wrong)? else { continue };
                if into.unwanted(&Provider::Gcp, region, &shape.name) {
                    continue;
                }
                if !plain_machine(&shape.name) {
                    into.skip("machine with parts that have prices of their own, such as local disks");
                    continue;
                }
                into.instance(region, shape, usd);
                if let Some(spot) = self.sum(region, series, Bound::Spot, shape).map_err(wrong)? {
                    into.spot(region, &shape.name, &spot);
                }
                for (bound, name, months) in [(Bound::OneYear, "1y", 12), (Bound::ThreeYears, "3y", 36)] {
                    let Some(price) = self.sum(region, series, bound, shape).map_err(wrong)? else { continue };
                    let commitment = Commitment { name: name.to_owned(), months, upfront: MicroUsd(0), usd_per_hour: price.usd };
                    into.commitment(region, &shape.name, commitment);
                }
            }
        }
        Ok(())
    }

    /// What a machine costs an hour, where both rates of its series are there.
    fn sum(&self, region: &str, series: &str, bound: Bound, shape: &Shape) -> Result<Option<Exact>, String> {
        let rate = |part| self.0.get(&(region.to_owned(), part)).copied();
        let (core, ram) = (rate(Part::Core(series.to_owned(), bound)), rate(Part::Ram(series.to_owned(), bound)));
        let (Some(core), Some(ram)) = (core, ram) else { return Ok(None) };
        let many = || "its price has too many digits".to_owned();
        let times = |rate: Decimal, count: String| Decimal::parse(&count).and_then(|count| rate.times(count).ok_or_else(many));
        let (core, ram) = (times(core, shape.vcpu.to_string())?, times(ram, shape.memory_gib.to_string())?);
        core.plus(ram).ok_or_else(many)?.exact().map(Some)
    }
}

/// A predefined machine of cores and memory alone. Shared cores, local disks and whole hosts are priced in other ways.
fn plain_machine(name: &str) -> bool {
    let mut parts = name.split('-').skip(1);
    let kind = parts.next().is_some_and(|kind| ["standard", "highmem", "highcpu"].contains(&kind));
    let size = parts.next().is_some_and(|size| size.bytes().all(|b| b.is_ascii_digit()));
    kind && size && parts.next().is_none()
}

fn disk(kind: &str, price: &Exact) -> VolumePrice {
    let capacity = CapacityPrice { usd_per_gb_month: price.usd, ..CapacityPrice::default() };
    VolumePrice { kind: kind.to_owned(), capacity, ..VolumePrice::default() }
}
