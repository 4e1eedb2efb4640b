//! `perbuck prices show`

use std::collections::BTreeSet;

use perbuck_core::units::{MicroUsd, unit_price_text};
use perbuck_prices::snapshot::{Commitment, Doubt, Instance, Listed, Origin, Rate, Region, Tier, VolumePrice};
use perbuck_prices::{Snapshot, overlay_of};
use serde::Serialize;

use super::args::{Kind, Output, ShowArguments};
use super::{known, passes, snapshot, table};
use perbuck_console::{print, print_json};
use perbuck_lab::LabError;

pub(crate) fn run(arguments: &ShowArguments) -> Result<(), LabError> {
    let (_, mut s) = snapshot(&arguments.snapshot)?;
    filter(&mut s, arguments)?;
    if arguments.toml {
        return print(&overlay_of(&s, &arguments.snapshot));
    }
    match arguments.format {
        Output::Json => print_json(&Shown::of(&s)),
        Output::Csv => print(&csv(&s, arguments.only.unwrap_or(Kind::Machines))),
        Output::Text => print(&text(&s)),
    }
}

/// Keeps what was asked for; names that nothing has are refused.
fn filter(s: &mut Snapshot, a: &ShowArguments) -> Result<(), LabError> {
    known("region", &a.region, s.regions.iter().map(|r| r.name.as_str()).chain(s.listed.iter().map(|l| l.region.as_str())))?;
    s.regions.retain(|r| passes(&a.region, &r.name));
    s.listed.retain(|l| passes(&a.region, &l.region) || l.region == "*");
    let machines = || s.regions.iter().flat_map(|r| &r.instances).map(|i| &i.machine);
    known("family", &a.family, machines().map(|m| m.family.as_str()))?;
    known("machine type", &a.types, machines().map(|m| m.name.as_str()))?;
    let wants = |kind| a.only.is_none_or(|only| only == kind);
    for region in &mut s.regions {
        region.instances.retain(|i| {
            let (m, arch) = (&i.machine, a.arch.as_deref());
            let right = passes(&a.family, &m.family) && passes(&a.types, &m.name) && arch.is_none_or(|arch| arch == m.arch);
            right && wants(Kind::Machines)
        });
        if !wants(Kind::Volumes) {
            region.volumes.clear();
            region.volume_snapshot = None;
        }
    }
    s.listed.retain(|_| wants(Kind::Fees));
    s.missing.retain(|m| passes(&a.region, &m.region) && a.only.is_none() && a.family.is_empty() && a.types.is_empty());
    Ok(())
}

fn text(s: &Snapshot) -> String {
    let mut out = format!("{}: list prices of {} as of {}, in USD\n", s.name, s.provider, s.as_of);
    for region in &s.regions {
        if !region.instances.is_empty() {
            let rows: Vec<Vec<String>> = region.instances.iter().map(machine_cells).collect();
            let columns = "type,arch,>vCPU,>cores,>GiB,>hour,>vCPU-hour,>core-hour,>Mbit/s net,>volumes,date,mark";
            out += &format!(
                "\n{}, machines (Mbit/s: baseline, and burst in parentheses)\n{}",
                region.name,
                table::text(columns, &rows)
            );
            out += &commitments(region);
        }
        if !region.volumes.is_empty() || region.volume_snapshot.is_some() {
            let rows = volume_rows(region, &s.capacity_unit, unit_price_text);
            out += &format!("\n{}, volumes\n{}", region.name, table::text("kind,unit,>price,date,mark", &rows));
        }
    }
    if !s.listed.is_empty() {
        let rows: Vec<Vec<String>> = s.listed.iter().flat_map(|l| fee_rows(l, unit_price_text)).collect();
        out += &format!("\nfees\n{}", table::text("region,item,kind,unit,>price,date,note", &rows));
    }
    if !s.missing.is_empty() {
        let rows: Vec<Vec<String>> = s.missing.iter().map(|m| [&m.region, &m.name, &m.why].map(String::clone).to_vec()).collect();
        out += &format!("\nmissing\n{}", table::text("region,what,why", &rows));
    }
    out + &sources(&Shown::of(s))
}

fn machine_cells(i: &Instance) -> Vec<String> {
    let m = &i.machine;
    let hour = i.usd_per_hour.as_usd_f64();
    let core = m.cores().map(|cores| format!("${:.6}", hour / cores)).unwrap_or_default();
    vec![
        m.name.clone(),
        m.arch.clone(),
        m.vcpu.to_string(),
        m.cores().map(|cores| cores.to_string()).unwrap_or_default(),
        m.memory_gib.to_string(),
        unit_price_text(i.usd_per_hour),
        format!("${:.6}", hour / f64::from(m.vcpu)),
        core,
        rate(m.rates.network_mbit_s),
        rate(m.rates.volume_mbit_s),
        i.origin.date.clone(),
        mark(&i.origin),
    ]
}

fn rate(rate: Rate) -> String {
    match (rate.baseline, rate.burst) {
        (None, None) => String::new(),
        (Some(baseline), None) => baseline.to_string(),
        (None, Some(burst)) => format!("({burst})"),
        (Some(baseline), Some(burst)) => format!("{baseline} ({burst})"),
    }
}

fn mark(origin: &Origin) -> String {
    match origin.doubt {
        None => String::new(),
        Some(Doubt::Inferred) => "inferred".to_owned(),
        Some(Doubt::Disputed(other)) => format!("disputed: {}", unit_price_text(other)),
    }
}

/// Spot prices and commitments, where the snapshot has them.
fn commitments(region: &Region) -> String {
    let mut rows = Vec::new();
    for i in &region.instances {
        let row = |name: &str, upfront: MicroUsd, hour: MicroUsd| {
            vec![i.machine.name.clone(), name.to_owned(), unit_price_text(upfront), unit_price_text(hour)]
        };
        rows.extend(i.spot_usd_per_hour.map(|usd| row("spot", MicroUsd(0), usd)));
        rows.extend(i.commitments.iter().map(|c| row(&c.name, c.upfront, c.usd_per_hour)));
    }
    if rows.is_empty() {
        return String::new();
    }
    format!("\n{}, spot and commitments\n{}", region.name, table::text("type,terms,>upfront,>hour", &rows))
}

fn volume_rows(region: &Region, unit: &str, money: impl Fn(MicroUsd) -> String) -> Vec<Vec<String>> {
    let row = |p: &ShownPrice, unit: String, usd| vec![p.item.clone(), unit, money(usd), p.date.clone(), p.mark.clone()];
    let rows = |p: &ShownPrice| {
        let of = p.unit.split(" above ").next().unwrap_or_default();
        let tiers = p.tiers.iter().map(|t| row(p, format!("{of} above {}", t.above), t.micro_usd));
        [row(p, p.unit.clone(), p.micro_usd)].into_iter().chain(tiers).collect::<Vec<_>>()
    };
    volumes(region, unit).iter().flat_map(rows).collect()
}

fn fee_rows(l: &Listed, money: impl Fn(MicroUsd) -> String) -> Vec<Vec<String>> {
    let row = |unit: String, usd: MicroUsd| {
        vec![l.region.clone(), l.item.clone(), l.kind.word().to_owned(), unit, money(usd), l.origin.date.clone(), l.note.clone()]
    };
    let tiers = l.tiers.iter().map(|t| row(format!("{} above {}", l.unit, t.above), t.usd));
    [row(l.unit.clone(), l.usd)].into_iter().chain(tiers).collect()
}

/// Where the prices shown are from.
fn sources(shown: &Shown<'_>) -> String {
    let machines = shown.machines.iter().map(|m| m.source);
    let others = shown.volumes.iter().chain(&shown.fees).map(|p| p.source.as_str());
    let all: BTreeSet<&str> = machines.chain(others).collect();
    let lines: String = all.into_iter().map(|source| format!("- {source}\n")).collect();
    if lines.is_empty() { "\nnothing to show\n".to_owned() } else { format!("\nsources\n{lines}") }
}

fn csv(s: &Snapshot, kind: Kind) -> String {
    let plain = |usd: MicroUsd| unit_price_text(usd).replace(['$', ','], "");
    match kind {
        Kind::Machines => {
            let columns = "provider,region,type,family,arch,cpu,vcpu,cores,memory_gib,usd_per_hour,date,mark,source";
            let row = |(region, i): (&Region, &Instance)| {
                let m = &i.machine;
                let cores = m.cores().map(|cores| cores.to_string()).unwrap_or_default();
                let price = i.listed_usd.clone().unwrap_or_else(|| plain(i.usd_per_hour));
                let texts = [&s.provider, &region.name, &m.name, &m.family, &m.arch, &m.cpu].map(String::clone);
                let numbers = [m.vcpu.to_string(), cores, m.memory_gib.to_string(), price];
                let origin = [i.origin.date.clone(), mark(&i.origin), i.origin.source.clone()];
                texts.into_iter().chain(numbers).chain(origin).collect()
            };
            let all = s.regions.iter().flat_map(|r| r.instances.iter().map(move |i| (r, i)));
            table::csv(columns, &all.map(row).collect::<Vec<Vec<String>>>())
        }
        Kind::Volumes => {
            let rows = s.regions.iter().flat_map(|r| {
                volume_rows(r, &s.capacity_unit, plain).into_iter().map(|row| [vec![r.name.clone()], row].concat())
            });
            table::csv("region,kind,unit,usd,date,mark", &rows.collect::<Vec<_>>())
        }
        Kind::Fees => {
            let rows: Vec<Vec<String>> = s.listed.iter().flat_map(|l| fee_rows(l, plain)).collect();
            table::csv("region,item,kind,unit,usd,date,note", &rows)
        }
    }
}

/// The snapshot as JSON; money in micro-dollars.
#[derive(Serialize)]
struct Shown<'a> {
    name: &'a str,
    provider: &'a str,
    as_of: &'a str,
    machines: Vec<ShownMachine<'a>>,
    volumes: Vec<ShownPrice>,
    fees: Vec<ShownPrice>,
}

#[derive(Serialize)]
struct ShownMachine<'a> {
    region: &'a str,
    #[serde(rename = "type")]
    name: &'a str,
    family: &'a str,
    arch: &'a str,
    cpu: &'a str,
    vcpu: u32,
    cores: Option<f64>,
    memory_gib: f64,
    network_mbit_s: Option<u32>,
    network_burst_mbit_s: Option<u32>,
    volume_mbit_s: Option<u32>,
    volume_burst_mbit_s: Option<u32>,
    hour_micro_usd: MicroUsd,
    listed_usd: Option<&'a str>,
    spot_hour_micro_usd: Option<MicroUsd>,
    commitments: Vec<ShownCommitment<'a>>,
    date: &'a str,
    source: &'a str,
    mark: String,
}

#[derive(Serialize)]
struct ShownCommitment<'a> {
    name: &'a str,
    months: u32,
    upfront_micro_usd: MicroUsd,
    hour_micro_usd: MicroUsd,
}

#[derive(Serialize)]
struct ShownPrice {
    region: String,
    item: String,
    unit: String,
    micro_usd: MicroUsd,
    tiers: Vec<ShownTier>,
    date: String,
    source: String,
    mark: String,
}

#[derive(Serialize)]
struct ShownTier {
    above: u64,
    micro_usd: MicroUsd,
}

impl<'a> Shown<'a> {
    fn of(s: &'a Snapshot) -> Self {
        let machines = s.regions.iter().flat_map(|r| r.instances.iter().map(move |i| machine(r, i)));
        let volumes = s.regions.iter().flat_map(|r| volumes(r, &s.capacity_unit));
        let fees = s.listed.iter().map(|l| priced(&l.region, &l.item, l.unit.clone(), l.usd, &l.tiers, &l.origin));
        let (machines, volumes, fees) = (machines.collect(), volumes.collect(), fees.collect());
        Self { name: &s.name, provider: &s.provider, as_of: &s.as_of, machines, volumes, fees }
    }
}

fn machine<'a>(region: &'a Region, i: &'a Instance) -> ShownMachine<'a> {
    let m = &i.machine;
    let commitment = |c: &'a Commitment| ShownCommitment {
        name: &c.name,
        months: c.months,
        upfront_micro_usd: c.upfront,
        hour_micro_usd: c.usd_per_hour,
    };
    ShownMachine {
        region: &region.name,
        name: &m.name,
        family: &m.family,
        arch: &m.arch,
        cpu: &m.cpu,
        vcpu: m.vcpu,
        cores: m.cores(),
        memory_gib: m.memory_gib,
        network_mbit_s: m.rates.network_mbit_s.baseline,
        network_burst_mbit_s: m.rates.network_mbit_s.burst,
        volume_mbit_s: m.rates.volume_mbit_s.baseline,
        volume_burst_mbit_s: m.rates.volume_mbit_s.burst,
        hour_micro_usd: i.usd_per_hour,
        listed_usd: i.listed_usd.as_deref(),
        spot_hour_micro_usd: i.spot_usd_per_hour,
        commitments: i.commitments.iter().map(commitment).collect(),
        date: &i.origin.date,
        source: &i.origin.source,
        mark: mark(&i.origin),
    }
}

fn volumes(region: &Region, unit: &str) -> Vec<ShownPrice> {
    let one = |v: &VolumePrice| {
        let of = |unit: String, usd, tiers: &[Tier]| priced(&region.name, &v.kind, unit, usd, tiers, &v.capacity.origin);
        let mut rows = vec![of(format!("{unit}-month"), v.capacity.usd_per_gb_month, &[])];
        rows.extend(v.iops.map(|p| of(format!("IOPS-month above {}", p.included), p.usd_per_month, &v.iops_tiers)));
        rows.extend(v.throughput.map(|p| of(format!("MiB/s-month above {}", p.included), p.usd_per_month, &[])));
        rows
    };
    let snapshot = region.volume_snapshot.as_ref();
    let snapshot = snapshot
        .map(|s| priced(&region.name, "snapshot of a volume", format!("{unit}-month"), s.usd_per_gb_month, &[], &s.origin));
    region.volumes.iter().flat_map(one).chain(snapshot).collect()
}

fn priced(region: &str, item: &str, unit: String, usd: MicroUsd, tiers: &[Tier], origin: &Origin) -> ShownPrice {
    ShownPrice {
        region: region.to_owned(),
        item: item.to_owned(),
        unit,
        micro_usd: usd,
        tiers: tiers.iter().map(|t| ShownTier { above: t.above, micro_usd: t.usd }).collect(),
        date: origin.date.clone(),
        source: origin.source.clone(),
        mark: mark(origin),
    }
}
