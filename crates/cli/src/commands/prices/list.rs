//! `perbuck prices list`

use perbuck_prices::{Snapshot, catalogue};
use serde::Serialize;

use super::args::{ListArguments, Output};
use super::{known, passes, table};
use perbuck_console::{print, print_json};
use perbuck_lab::LabError;

#[derive(Serialize)]
struct Row {
    name: &'static str,
    provider: String,
    as_of: String,
    regions: Vec<String>,
    machine_prices: usize,
    volume_prices: usize,
    fees: usize,
}

pub(crate) fn run(arguments: &ListArguments) -> Result<(), LabError> {
    let mut rows = Vec::new();
    for bundled in catalogue() {
        let snapshot = Snapshot::read(bundled.name, bundled.text).map_err(|p| LabError::problems(&p))?;
        rows.push(Row {
            name: bundled.name,
            provider: snapshot.provider,
            as_of: snapshot.as_of,
            machine_prices: snapshot.regions.iter().map(|r| r.instances.len()).sum(),
            volume_prices: snapshot.regions.iter().map(|r| r.volumes.len()).sum(),
            fees: snapshot.listed.len(),
            regions: snapshot.regions.into_iter().map(|r| r.name).collect(),
        });
    }
    known("provider", &arguments.provider, rows.iter().map(|r| r.provider.as_str()))?;
    rows.retain(|r| passes(&arguments.provider, &r.provider));
    if arguments.format == Output::Json {
        return print_json(&rows);
    }
    let cells = |r: &Row| {
        let [machines, volumes, fees] = [r.machine_prices, r.volume_prices, r.fees].map(|n| n.to_string());
        vec![r.name.to_owned(), r.provider.clone(), r.as_of.clone(), machines, volumes, fees, r.regions.join(" ")]
    };
    let cells: Vec<Vec<String>> = rows.iter().map(cells).collect();
    match arguments.format {
        Output::Csv => print(&table::csv("name,provider,as_of,machines,volumes,fees,regions", &cells)),
        _ => print(&table::text("name,provider,as of,>machines,>volumes,>fees,regions", &cells)),
    }
}
