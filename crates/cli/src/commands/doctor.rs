//! `perbuck doctor`: what of a machine spoils a measurement.

use perbuck_lab::LabError;
use perbuck_lab::doctor::{Doctor, lines};

use crate::args::DoctorArguments;

pub(crate) fn run(arguments: &DoctorArguments) -> Result<(), LabError> {
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
