//! `perbuck doctor`: what of a machine spoils a measurement.

use std::path::Path;

use perbuck_console::{print_styled, say};
use perbuck_lab::LabError;
use perbuck_lab::disk::{Ceilings, DiskLoad, FILE_BYTES, HEADS, promises};
use perbuck_lab::doctor::{Doctor, lines};

use perbuck_report::text;
use serde::Serialize;

use super::screen;
use crate::args::DoctorArguments;

pub(crate) fn run(arguments: &DoctorArguments) -> Result<(), LabError> {
    if let Some(folder) = &arguments.disk {
        return disk(folder, arguments);
    }
    let stop = super::stop_on_signal("stopping; nothing was changed")?;
    let doctor = Doctor::of(arguments.host.as_deref(), &stop)?;
    match &arguments.apply {
        Some(undo) => {
            let said = doctor.apply(undo)?;
            super::print(&said)
        }
        None => super::print_report(arguments.json, &doctor.found(), || lines(doctor.found())),
    }
}

/// What a disk does, beside what was paid for.
#[derive(Serialize)]
struct Disk {
    disk: Ceilings,
    promised: Vec<perbuck_lab::disk::Promise>,
}

fn disk(folder: &Path, arguments: &DoctorArguments) -> Result<(), LabError> {
    let (promised, beyond) = arguments.study.as_deref().map(promises).transpose()?.unwrap_or_default();
    let stop = super::stop_on_signal("stopping; nothing is left on the disk")?;
    let load = DiskLoad { folder: folder.to_owned(), seconds: arguments.seconds };
    say(&format!(
        "perbuck: fio loads the disk of {} for {} s, after a file of {} GiB is written there; it is gone at the end. Ctrl-C ends it",
        folder.display(),
        load.seconds,
        FILE_BYTES >> 30
    ));
    let disk = Ceilings::of(arguments.host.as_deref(), &load, &stop)?;
    let found = Disk { disk, promised };
    if arguments.json {
        return super::print_json(&found);
    }
    let mut lines: Vec<String> = found.promised.iter().map(|promise| promise.line(&found.disk)).collect();
    lines.extend(beyond);
    let lines: String = lines.into_iter().map(|line| line + "\n").collect();
    print_styled(&(text::table(HEADS, &found.disk.rows(), screen()) + &lines))
}
