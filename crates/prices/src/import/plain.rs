//! A table with a header, in one's own columns: what people keep in a spreadsheet. OpenCost's `pricing_schema.csv` is one, too.

use std::io::BufRead;

use super::ImportError;
use super::collect::{Collector, NO_SIZE, Shape};
use super::names::Provider;
use super::number::Decimal;
use super::table::{Table, size};
use crate::snapshot::{Machine, Rates};

const TYPE: &[&str] = &["type", "instance", "InstanceType", "instance_type"];
const VCPU: &[&str] = &["vcpu", "vCPUs", "cpus"];
const MEMORY: &[&str] = &["memory_gib", "MemoryGiB", "memory"];

pub(crate) fn read(list: &mut dyn BufRead, into: &mut Collector) -> Result<String, ImportError> {
    let mut table = Table::open(list, 0)?;
    let name = table.required(TYPE)?;
    let price = table.required(&["usd_per_hour", "price", "MarketPriceHourly"])?;
    let region = table.required(&["region"])?;
    let (vcpu, memory, arch, cpu) = (table.column(VCPU), table.column(MEMORY), table.column(&["arch"]), table.column(&["cpu"]));
    let (provider, spot) = (table.column(&["provider"]), table.column(&["spot_usd_per_hour", "SpotPrice"]));
    let asset = table.column(&["AssetClass"]);
    while table.next()? {
        let line = table.line();
        let [name, price, region] = [name, price, region].map(|c| table.get(Some(c)).to_owned());
        if asset.is_some() && table.get(asset) != "node" {
            into.skip("not a node");
            continue;
        }
        if name.is_empty() || region.is_empty() {
            return Err(ImportError::new(line, "the row has no machine type or no region", "fill both columns"));
        }
        if !table.get(provider).is_empty() {
            into.provider_is(Provider::named(table.get(provider)), line)?;
        }
        let owner = into.provider_of(&name, line)?;
        if into.unwanted(&owner, &region, &name) {
            continue;
        }
        let wrong = |what: &str, why: String| {
            ImportError::new(line, format!("{what} of `{name}`: {why}"), "write dollars an hour as digits")
        };
        let decimal = Decimal::parse(&price).map_err(|why| wrong("the price", why))?;
        if decimal.is_zero() {
            return Err(wrong("the price", "it is zero".to_owned()));
        }
        let price = decimal.exact().map_err(|why| wrong("the price", why))?;
        let shape = match (table.get(vcpu), table.get(memory)) {
            ("", "") => into.known(&name),
            (vcpu, memory) => {
                let (vcpu, memory_gib) = size(line, &name, vcpu, memory)?;
                let arch = architecture(table.get(arch));
                let cpu = table.get(cpu).to_owned();
                Some(Shape { name: name.clone(), vcpu, memory_gib, arch, cpu, rates: Rates::default() })
            }
        };
        let Some(shape) = shape else {
            into.skip(NO_SIZE);
            continue;
        };
        into.instance(&region, &shape, price);
        into.spot_text(&region, &name, table.get(spot)).map_err(|why| wrong("the spot price", why))?;
    }
    Ok(String::new())
}

/// The sizes of machines: type, vcpu, memory_gib and, where the provider has no rule of naming, arch.
pub(crate) fn machines(list: &mut dyn BufRead) -> Result<Vec<Machine>, ImportError> {
    let mut table = Table::open(list, 0)?;
    let (name, vcpu, memory) = (table.required(TYPE)?, table.required(VCPU)?, table.required(MEMORY)?);
    let (arch, cpu) = (table.column(&["arch"]), table.column(&["cpu"]));
    let mut machines: Vec<Machine> = Vec::new();
    while table.next()? {
        let name = table.get(Some(name)).to_owned();
        // Lists with a row for each zone say the same size again and again, and some have rows without a machine.
        if name.is_empty() || machines.last().is_some_and(|m| m.name == name) {
            continue;
        }
        let (vcpu, memory_gib) = size(table.line(), &name, table.get(Some(vcpu)), table.get(Some(memory)))?;
        let provider = Provider::of_type(&name);
        let Some(arch) = architecture(table.get(arch)).or(provider.as_ref().and_then(|p| p.arch(&name))) else {
            let message = format!("the architecture of `{name}` is not known");
            return Err(ImportError::new(table.line(), message, "add a column `arch`"));
        };
        let (family, cpu) = (provider.map_or_else(|| name.clone(), |p| p.family(&name)), table.get(cpu).to_owned());
        let rates = Rates::default();
        machines.push(Machine { name, family, arch: arch.to_owned(), cpu, vcpu, memory_gib, vcpu_per_core: None, rates });
    }
    Ok(machines)
}

fn architecture(word: &str) -> Option<&'static str> {
    match word.to_ascii_lowercase().as_str() {
        "arm64" | "aarch64" => Some("aarch64"),
        "x86_64" | "amd64" | "x86-64" | "i386" => Some("x86_64"),
        _ => None,
    }
}
