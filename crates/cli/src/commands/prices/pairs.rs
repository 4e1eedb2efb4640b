//! `perbuck prices match`

use perbuck_console::print_either;
use perbuck_core::units::{MicroUsd, unit_price_text};
use perbuck_lab::{ErrorKind, LabError};
use perbuck_prices::pairs::{By, Pair, pairs};
use perbuck_prices::snapshot::Region;
use perbuck_prices::{Snapshot, catalogue};
use serde::Serialize;

use super::args::{MatchArguments, MatchBy};
use super::{known, snapshot, table};

/// Machines that are shown.
const SHOWN: usize = 8;

/// What is printed as JSON.
#[derive(Serialize)]
struct Found<'a> {
    snapshot: &'a str,
    region: &'a str,
    beside: &'a str,
    machines: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    machine: String,
    vcpus: u32,
    memory_gib: f64,
    usd_per_hour: MicroUsd,
    vcpus_ratio: f64,
    memory_ratio: f64,
    cost_ratio: f64,
}

pub(crate) fn run(arguments: &MatchArguments) -> Result<(), LabError> {
    let MatchArguments { machine, arch, .. } = arguments;
    let list = list_with(arguments)?;
    let region = region(&list, arguments)?;
    let Some(of) = region.instance(machine) else {
        let message = format!("{} has no price for `{machine}` in {}", list.name, region.name);
        let help = format!("it has one in {}", list.regions_where(|r| r.instance(machine).is_some()).join(", "));
        return Err(LabError::new(ErrorKind::Usage, message, help));
    };
    let by = match arguments.by {
        MatchBy::Vcpu => By::Vcpu,
        MatchBy::Memory => By::Memory,
        MatchBy::Cost => By::Cost,
    };
    let machines: Vec<Row> = pairs(region, of, arch, by).iter().take(SHOWN).map(row).collect();
    let found = Found { snapshot: &list.name, region: &region.name, beside: machine, machines };
    if found.machines.is_empty() {
        let message = format!("{} has no machine of {arch} in {}", list.name, region.name);
        return Err(LabError::new(ErrorKind::Usage, message, "name another region or another snapshot"));
    }
    let m = &of.machine;
    let hour = unit_price_text(of.usd_per_hour);
    print_either(arguments.json, &found, || {
        format!(
            "{}, {}: machines of {arch} beside {machine} ({}, {} vCPU, {} GiB, {hour} an hour), the best match first\n{}",
            list.name,
            region.name,
            m.arch,
            m.vcpu,
            m.memory_gib,
            table::text(
                "type,>vCPU,>GiB,>hour,>vCPU ratio,>GiB ratio,>cost ratio",
                &found.machines.iter().map(cells).collect::<Vec<_>>()
            )
        )
    })
}

/// The snapshot that is named, or else the newest one of perbuck's that has the machine.
fn list_with(arguments: &MatchArguments) -> Result<Snapshot, LabError> {
    if let Some(name) = &arguments.snapshot {
        let (_, list) = snapshot(name)?;
        known("machine type", std::slice::from_ref(&arguments.machine), machines(&list))?;
        return Ok(list);
    }
    let mut lists = catalogue().iter().map(|b| snapshot(b.name).map(|(_, list)| list)).collect::<Result<Vec<_>, _>>()?;
    lists.sort_by(|a, b| b.as_of.cmp(&a.as_of));
    let right =
        |r: &Region| r.instance(&arguments.machine).is_some() && arguments.region.as_ref().is_none_or(|name| *name == r.name);
    if let Some(at) = lists.iter().position(|list| list.regions.iter().any(right)) {
        return Ok(lists.swap_remove(at));
    }
    let regions = lists.iter().flat_map(|list| &list.regions).map(|r| r.name.as_str());
    known("region", &arguments.region.iter().cloned().collect::<Vec<_>>(), regions)?;
    let all = lists.iter().flat_map(machines);
    known("machine type", std::slice::from_ref(&arguments.machine), all)?;
    let region = arguments.region.as_deref().map(|name| format!(" in {name}")).unwrap_or_default();
    let message = format!("no list of perbuck has `{}`{region}", arguments.machine);
    Err(LabError::new(ErrorKind::Usage, message, "leave --region out, or name a snapshot with --snapshot"))
}

fn machines(list: &Snapshot) -> impl Iterator<Item = &str> {
    list.regions.iter().flat_map(|r| &r.instances).map(|i| i.machine.name.as_str())
}

/// The region that is named, or else the first one that has the machine.
fn region<'a>(list: &'a Snapshot, arguments: &MatchArguments) -> Result<&'a Region, LabError> {
    let wanted: Vec<String> = arguments.region.iter().cloned().collect();
    known("region", &wanted, list.regions.iter().map(|r| r.name.as_str()))?;
    let right = |r: &&Region| match &arguments.region {
        Some(name) => &r.name == name,
        None => r.instance(&arguments.machine).is_some(),
    };
    let none = || LabError::new(ErrorKind::Usage, format!("{} has no `{}`", list.name, arguments.machine), "name a region");
    list.regions.iter().find(right).ok_or_else(none)
}

fn row(pair: &Pair<'_>) -> Row {
    Row {
        machine: pair.instance.machine.name.clone(),
        vcpus: pair.instance.machine.vcpu,
        memory_gib: pair.instance.machine.memory_gib,
        usd_per_hour: pair.instance.usd_per_hour,
        vcpus_ratio: pair.vcpus,
        memory_ratio: pair.memory,
        cost_ratio: pair.cost,
    }
}

fn cells(row: &Row) -> Vec<String> {
    let ratio = |ratio: f64| format!("{ratio:.2}");
    vec![
        row.machine.clone(),
        row.vcpus.to_string(),
        row.memory_gib.to_string(),
        unit_price_text(row.usd_per_hour),
        ratio(row.vcpus_ratio),
        ratio(row.memory_ratio),
        ratio(row.cost_ratio),
    ]
}
