//! What the products of an AWS offer file are, and what their terms cost; the same in JSON, in CSV and in infracost's copy.
//!
//! Only what a benchmark runs on is taken: Linux, shared tenancy, no software beforehand, no licence, capacity that is used.
//! The same type is listed many times otherwise, at other prices: dedicated tenancy costs 6 or 10 % more, Windows 0.046 a vCPU.

use std::collections::BTreeMap;

use perbuck_core::units::MicroUsd;
use serde::Deserialize;

use super::collect::{ACCELERATED, COMMITMENT, Collector, OTHER_REGION, Shape, ZERO};
use super::names::Provider;
use super::number::{Decimal, Exact, shown};
use super::table::{gib, whole};
use crate::snapshot::{
    CapacityPrice, Commitment, FeeKind, Listed, Origin, Provisioned, Rate, Rates, ThroughputStep, Tier, VolumeLimits, VolumePrice,
};

/// The attributes of a product that decide what it is.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Attributes {
    pub(crate) region_code: String,
    pub(crate) location_type: String,
    pub(crate) instance_type: String,
    pub(crate) operating_system: String,
    pub(crate) tenancy: String,
    pub(crate) capacitystatus: String,
    pub(crate) pre_installed_sw: String,
    pub(crate) license_model: String,
    pub(crate) marketoption: String,
    pub(crate) vcpu: String,
    pub(crate) memory: String,
    pub(crate) physical_processor: String,
    pub(crate) gpu: String,
    pub(crate) network_performance: String,
    pub(crate) dedicated_ebs_throughput: String,
    pub(crate) volume_api_name: String,
    pub(crate) usagetype: String,
}

#[derive(Debug, Clone)]
pub(crate) enum What {
    Machine(Box<Shape>),
    Capacity(String),
    /// IOPS of a kind of volume, with the number of the tier.
    Iops(String, usize),
    Throughput(String),
    Snapshot,
    Fee(&'static str, FeeKind, &'static str),
}

/// A product that is wanted, and where it is sold.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) region: String,
    pub(crate) what: What,
}

/// How a price is bound.
pub(crate) enum Term<'a> {
    OnDemand,
    Reserved { length: &'a str, class: &'a str, option: &'a str },
}

/// IOPS up to here have the first price of io2, and up to twice as many the second (AWS, EBS pricing).
const IO2_TIERS: [u64; 2] = [32_000, 64_000];

/// Throughput of gp2 above so many GB in MiB/s, and while its IOPS burst (AWS, EBS documentation).
const GP2_STEPS: [(u32, u32, Option<u32>); 3] = [(0, 128, None), (170, 128, Some(250)), (333, 250, None)];

/// What the product is, if it is wanted; why not, is counted.
///
/// # Errors
/// What is wrong with a product that is wanted.
pub(crate) fn classify(family: &str, a: &Attributes, into: &mut Collector) -> Result<Option<Kept>, String> {
    let what = match family {
        f if f.starts_with("Compute Instance") => return machine(a, into),
        "Storage" if !a.volume_api_name.is_empty() => What::Capacity(a.volume_api_name.clone()),
        "System Operation" if a.usagetype.contains("EBS:VolumeP-IOPS") => {
            let tier = if a.usagetype.ends_with(".tier3") { 2 } else { usize::from(a.usagetype.ends_with(".tier2")) };
            What::Iops(a.volume_api_name.clone(), tier)
        }
        "Provisioned Throughput" if a.usagetype.contains("EBS:VolumeP-Throughput") => What::Throughput(a.volume_api_name.clone()),
        "Storage Snapshot" if a.usagetype.ends_with("EBS:SnapshotUsage") => What::Snapshot,
        "NAT Gateway" if a.usagetype.ends_with("NatGateway-Hours") => What::Fee("nat-gateway", FeeKind::Nat, "hour"),
        "NAT Gateway" if a.usagetype.ends_with("NatGateway-Bytes") => What::Fee("nat-gateway-traffic", FeeKind::NatUse, "GB"),
        _ => {
            into.skip("product of another kind");
            return Ok(None);
        }
    };
    if matches!(&what, What::Capacity(kind) if kind == "standard") {
        into.skip("magnetic volume, whose requests are billed one by one");
        return Ok(None);
    }
    region(a, into).map(|region| region.map(|region| Kept { region, what }))
}

fn machine(a: &Attributes, into: &mut Collector) -> Result<Option<Kept>, String> {
    let others = [
        (a.operating_system != "Linux", "operating system other than Linux"),
        (a.tenancy != "Shared", "dedicated tenancy"),
        (a.capacitystatus != "Used", "capacity reserved or unused"),
        (a.pre_installed_sw != "NA", "with software installed"),
        (!a.license_model.is_empty() && a.license_model != "No License required", "with a licence"),
        (!a.marketoption.is_empty() && a.marketoption != "OnDemand", "capacity block"),
        (!["", "0"].contains(&a.gpu.as_str()), ACCELERATED),
    ];
    if into.skips(&others) {
        return Ok(None);
    }
    let Some(region) = region(a, into)? else { return Ok(None) };
    if into.unwanted(&Provider::Aws, &region, &a.instance_type) {
        return Ok(None);
    }
    let memory = a.memory.strip_suffix(" GiB").unwrap_or(&a.memory);
    let (Some(vcpu), Some(memory_gib)) = (whole(&a.vcpu), gib(memory)) else {
        return Err(format!("`{}` has \"{}\" vCPUs and \"{}\" memory", a.instance_type, shown(&a.vcpu), shown(&a.memory)));
    };
    let cpu = a.physical_processor.clone();
    let arch = (cpu.contains("Graviton") || cpu.contains("Apple M")).then_some("aarch64");
    let rates = Rates {
        network_mbit_s: rate(&a.network_performance),
        volume_mbit_s: rate(&a.dedicated_ebs_throughput),
        ..Rates::default()
    };
    let shape = Shape { name: a.instance_type.clone(), vcpu, memory_gib, arch, cpu, rates };
    Ok(Some(Kept { region, what: What::Machine(Box::new(shape)) }))
}

fn region(a: &Attributes, into: &mut Collector) -> Result<Option<String>, String> {
    if !["", "AWS Region"].contains(&a.location_type.as_str()) && !into.wants_by_name(&a.region_code) {
        into.skip("local or wavelength zone; --region takes one by its name");
        return Ok(None);
    }
    if a.region_code.is_empty() {
        return Err("the product has no regionCode".to_owned());
    }
    if !into.wants_region(&a.region_code) {
        into.skip(OTHER_REGION);
        return Ok(None);
    }
    Ok(Some(a.region_code.clone()))
}

/// `Up to 10 Gigabit`, `12.5 Gigabit`, `4x 100 Gigabit`, `Up to 4750 Mbps`, in Mbit/s; words such as `Moderate` say nothing.
fn rate(text: &str) -> Rate {
    let (burst, rest) = text.strip_prefix("Up to ").map_or((false, text), |rest| (true, rest));
    let (times, rest) = rest.split_once("x ").and_then(|(n, rest)| Some((n.parse::<f64>().ok()?, rest))).unwrap_or((1.0, rest));
    let mut words = rest.split(' ');
    let number = words.next().and_then(|n| n.parse::<f64>().ok());
    let unit = match words.next() {
        Some("Gigabit" | "Gbps") => 1000.0,
        Some("Megabit" | "Mbps") => 1.0,
        _ => return Rate::default(),
    };
    let mbit_s = number.map(|n| (n * times * unit).round()).filter(|n| (1.0..=1e8).contains(n)).map(|n| n as u32);
    if burst { Rate { baseline: None, burst: mbit_s } } else { Rate { baseline: mbit_s, burst: None } }
}

/// What a kind of volume costs, as far as its prices have come by.
#[derive(Debug, Default)]
struct Parts {
    capacity: Option<MicroUsd>,
    iops: [Option<MicroUsd>; 3],
    throughput: Option<MicroUsd>,
}

/// The prices of volumes come one by one, as several products.
#[derive(Debug, Default)]
pub(crate) struct Volumes(BTreeMap<(String, String), Parts>);

/// Takes the price of a product.
///
/// # Errors
/// What is wrong with the price, without naming the product.
pub(crate) fn price(
    kept: &Kept,
    unit: &str,
    usd: &str,
    start: &str,
    term: &Term<'_>,
    volumes: &mut Volumes,
    into: &mut Collector,
) -> Result<(), String> {
    let decimal = Decimal::parse(usd)?;
    if let (What::Machine(shape), Term::Reserved { length, class, option }) = (&kept.what, term) {
        return reserved(kept, &shape.name, unit, decimal, [*length, *class, *option], into);
    }
    if !matches!(term, Term::OnDemand) {
        into.skip("term other than on demand");
        return Ok(());
    }
    if !["0", "", "0.0000000000"].contains(&start) {
        return Err(format!("its price begins at {} units, a tier that such a product has not", shown(start)));
    }
    if decimal.is_zero() {
        into.skip(ZERO);
        return Ok(());
    }
    let wants: &[&str] = match &kept.what {
        What::Machine(_) | What::Fee(_, _, "hour") => &["Hrs"],
        What::Capacity(_) | What::Snapshot => &["GB-Mo", "GB-month"],
        What::Iops(..) => &["IOPS-Mo"],
        What::Throughput(_) => &["GiBps-mo", "MiBps-Mo"],
        What::Fee(..) => &["GB"],
    };
    if !wants.contains(&unit) {
        return Err(format!("its unit is \"{}\", not \"{}\"", shown(unit), wants[0]));
    }
    let decimal = if unit == "GiBps-mo" { decimal.per_1024().ok_or("its price has too many digits")? } else { decimal };
    take(kept, decimal.exact()?, volumes, into);
    Ok(())
}

fn take(kept: &Kept, exact: Exact, volumes: &mut Volumes, into: &mut Collector) {
    let usd = exact.usd;
    if exact.listed.is_some() && !matches!(kept.what, What::Machine(_)) {
        into.rounded();
    }
    match &kept.what {
        What::Machine(shape) => into.instance(&kept.region, shape, exact),
        What::Capacity(kind) => volumes.parts(&kept.region, kind).capacity = Some(usd),
        What::Iops(kind, tier) => volumes.parts(&kept.region, kind).iops[*tier] = Some(usd),
        What::Throughput(kind) => volumes.parts(&kept.region, kind).throughput = Some(usd),
        What::Snapshot => into.snapshot(&kept.region, usd),
        What::Fee(item, kind, unit) => into.listed(Listed {
            region: kept.region.clone(),
            item: (*item).to_owned(),
            kind: *kind,
            unit: (*unit).to_owned(),
            usd,
            tiers: Vec::new(),
            note: String::new(),
            origin: Origin::default(),
            line: 0,
        }),
    }
}

fn reserved(kept: &Kept, name: &str, unit: &str, price: Decimal, term: [&str; 3], into: &mut Collector) -> Result<(), String> {
    if !into.commitments {
        into.skip(COMMITMENT);
        return Ok(());
    }
    let [length, class, option] = term;
    let (years, months) = match length {
        "1yr" | "1 yr" => ("1y", 12),
        "3yr" | "3 yr" => ("3y", 36),
        _ => return Err(format!("its term is \"{}\", not \"1yr\" or \"3yr\"", shown(length))),
    };
    let class = if class.eq_ignore_ascii_case("convertible") { "convertible-" } else { "" };
    let paid = match option {
        "No Upfront" => "no-upfront",
        "Partial Upfront" => "partial-upfront",
        "All Upfront" => "all-upfront",
        _ => return Err(format!("its purchase option is \"{}\"", shown(option))),
    };
    let usd = if price.is_zero() { MicroUsd(0) } else { price.exact()?.usd };
    let (upfront, usd_per_hour) = match unit {
        "Quantity" => (usd, MicroUsd(0)),
        "Hrs" => (MicroUsd(0), usd),
        _ => return Err(format!("its unit is \"{}\", not \"Hrs\" or \"Quantity\"", shown(unit))),
    };
    into.commitment(&kept.region, name, Commitment { name: format!("{years}-{class}{paid}"), months, upfront, usd_per_hour });
    Ok(())
}

impl Volumes {
    fn parts(&mut self, region: &str, kind: &str) -> &mut Parts {
        self.0.entry((region.to_owned(), kind.to_owned())).or_default()
    }

    /// Hands over all kinds of volume whose capacity has a price.
    pub(crate) fn finish(self, into: &mut Collector) {
        for ((region, kind), parts) in self.0 {
            match volume(kind, &parts) {
                Some(volume) => into.volume(&region, volume),
                None => into.skip("volume without a price of its capacity or of its IOPS"),
            }
        }
    }
}

/// A kind of volume; what is included and what can be bought is AWS's documentation, not its price list.
fn volume(kind: String, parts: &Parts) -> Option<VolumePrice> {
    let bought = |included: u32, usd: Option<MicroUsd>| {
        usd.map(|usd_per_month| Provisioned { included, usd_per_month, priced_up_to: None })
    };
    let capacity = CapacityPrice { usd_per_gb_month: parts.capacity?, origin: Origin::default() };
    let mut found = VolumePrice { kind, capacity, ..VolumePrice::default() };
    match found.kind.as_str() {
        "gp2" => {
            found.includes = "3 IOPS per GB (at least 100, bursts to 3000), and 128 to 250 MiB/s by size".to_owned();
            found.throughput_steps = GP2_STEPS
                .map(|(above_gb, baseline, burst)| ThroughputStep { above_gb, mib_s: Rate { baseline: Some(baseline), burst } })
                .to_vec();
            let (iops_per_gb, iops_min, iops_max, mib_s_max) = (Some(3), Some(100), Some(16_000), Some(250));
            found.limits = VolumeLimits { iops_per_gb, iops_min, iops_max, mib_s_max, ..VolumeLimits::default() };
        }
        "gp3" => {
            found.iops = bought(3000, parts.iops[0]);
            found.throughput = bought(125, parts.throughput);
        }
        "io1" => found.iops = Some(bought(0, parts.iops[0])?),
        "io2" => {
            let tiers = IO2_TIERS.iter().zip(&parts.iops[1..]);
            found.iops_tiers = tiers.map_while(|(above, usd)| Some(Tier { above: *above, usd: (*usd)? })).collect();
            // A tier whose price has not come by must not be billed at the price of the one before.
            let priced_up_to = IO2_TIERS.get(found.iops_tiers.len()).map(|above| *above as u32);
            found.iops = Some(Provisioned { priced_up_to, ..bought(0, parts.iops[0])? });
        }
        _ => {}
    }
    Some(found)
}
