//! `perbuck doctor`: what of this machine spoils a measurement.

use perbuck_lab::LabError;
use perbuck_lab::doctor::{examine_this_machine, lines};

use crate::args::DoctorArguments;

pub(crate) fn run(arguments: &DoctorArguments) -> Result<(), LabError> {
    let found = examine_this_machine();
    super::print_report(arguments.json, &found, || lines(&found))
}
