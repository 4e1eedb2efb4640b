//! `perbuck data save`, `restore`, `list` and `drop`.

use perbuck_console::{Display, print, print_either, stop_on_signal};
use perbuck_core::units::thousands;
use perbuck_lab::LabError;
use perbuck_lab::inputs::{self, Inputs};
use perbuck_lab::prepared::{self, Manifest, Request};
use perbuck_lab::registry::Registry;
use perbuck_report::text;

use super::screen;
use crate::args::data::{DataArguments, DataCommand, DropArguments, ListArguments, MoveArguments};

/// What Ctrl-C does.
const STOPS: &str = "stopping; the old data stay, and the same command starts again";
const HEADS: &str = "contender | database | data | size | stored | saved";

pub(crate) fn run(arguments: &DataArguments) -> Result<(), LabError> {
    match &arguments.command {
        DataCommand::Save(arguments) => {
            prepared::save(&read(arguments)?, request(arguments), &mut Display::default(), &stop_on_signal(STOPS)?)
        }
        DataCommand::Restore(arguments) => {
            prepared::restore(&read(arguments)?, request(arguments), &mut Display::default(), &stop_on_signal(STOPS)?)
        }
        DataCommand::List(arguments) => list(arguments),
        DataCommand::Drop(arguments) => drop_from(arguments),
    }
}

fn read(arguments: &MoveArguments) -> Result<Inputs, LabError> {
    let study = &arguments.study;
    inputs::read_to_measure((&study.path, &study.targets.of()), study.prices.as_deref(), Registry::default())
}

fn request(arguments: &MoveArguments) -> Request<'_> {
    let MoveArguments { archive, results, password, .. } = arguments;
    Request { archive, results, ask_password: password.asked() }
}

fn list(arguments: &ListArguments) -> Result<(), LabError> {
    let (all, left) = prepared::list(&arguments.archive)?;
    print_either(arguments.json, &all, || {
        let rows: Vec<Vec<String>> = all.iter().map(row).collect();
        let table =
            if rows.is_empty() { format!("{} holds no data\n", arguments.archive) } else { text::table(HEADS, &rows, screen()) };
        let unfinished = match left.len() {
            0 => String::new(),
            count => {
                format!("\nparts of saves that did not end: {count}; perbuck data drop {} removes them\n", arguments.archive)
            }
        };
        table + &unfinished
    })
}

fn row(manifest: &Manifest) -> Vec<String> {
    let workloads = manifest.workloads.iter().map(|loaded| {
        let parameters: String = loaded.parameters.iter().map(|(name, value)| format!("{name} {value}, ")).collect();
        format!("{} ({parameters}seed {})", loaded.kind, loaded.seed)
    });
    let megabytes = |bytes: u64| format!("{} MB", thousands(bytes.div_ceil(1_000_000)));
    vec![
        manifest.contender.clone(),
        format!("{} {}", manifest.database.kind, manifest.database.version),
        workloads.collect::<Vec<_>>().join("; "),
        megabytes(manifest.bytes()),
        megabytes(manifest.stored()),
        manifest.saved.clone(),
    ]
}

fn drop_from(arguments: &DropArguments) -> Result<(), LabError> {
    let gone = prepared::drop_from(&arguments.archive, &arguments.contenders)?;
    print(&gone.iter().map(|contender| format!("removed the data of {contender}\n")).collect::<String>())
}
