//! `vms.csv` of the SkyPilot catalogue: one row per zone, prices on demand with Linux, spot beside them. The order of columns
//! differs by cloud, and numbers are written as `8.0`.

use std::io::BufRead;

use super::ImportError;
use super::collect::{ACCELERATED, Collector, Shape};
use super::table::{Table, size};
use crate::snapshot::Rates;

pub(crate) fn read(list: &mut dyn BufRead, into: &mut Collector) -> Result<String, ImportError> {
    let mut table = Table::open(list, 0)?;
    let name = table.required(&["InstanceType"])?;
    let (vcpus, memory) = (table.required(&["vCPUs"])?, table.required(&["MemoryGiB"])?);
    let (price, region) = (table.required(&["Price"])?, table.required(&["Region"])?);
    let (accelerators, spot, arch) = (table.column(&["AcceleratorName"]), table.column(&["SpotPrice"]), table.column(&["Arch"]));
    while table.next()? {
        let line = table.line();
        let [name, vcpus, memory, price, region] = [name, vcpus, memory, price, region].map(|c| table.get(Some(c)).to_owned());
        if name.is_empty() {
            into.skip("row of an accelerator without a machine");
            continue;
        }
        let provider = into.provider_of(&name, line)?;
        if into.unwanted(&provider, &region, &name) {
            continue;
        }
        let left_out = [(!table.get(accelerators).is_empty(), ACCELERATED), (price.is_empty(), "no on-demand price")];
        if into.skips(&left_out) {
            continue;
        }
        let (vcpu, memory_gib) = size(line, &name, &vcpus, &memory)?;
        let wrong =
            |what: &str, why: String| ImportError::new(line, format!("{what} of `{name}`: {why}"), "prices are dollars an hour");
        let Some(price) = into.price(&price).map_err(|why| wrong("Price", why))? else { continue };
        let arch = match table.get(arch) {
            "arm64" | "aarch64" => Some("aarch64"),
            // The first of several architectures is named; those that start in 32-bit mode run 64-bit programs.
            "x86_64" | "amd64" | "i386" => Some("x86_64"),
            _ => None,
        };
        let shape = Shape { name: name.clone(), vcpu, memory_gib, arch, cpu: String::new(), rates: Rates::default() };
        into.instance(&region, &shape, price);
        into.spot_text(&region, &name, table.get(spot)).map_err(|why| wrong("SpotPrice", why))?;
    }
    Ok(String::new())
}
