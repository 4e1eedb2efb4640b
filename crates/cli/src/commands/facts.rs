//! `perbuck facts`: what this machine is, as far as it bears on performance.

use perbuck_console::say;
use perbuck_lab::LabError;
use perbuck_lab::facts::{HEADS, rows, this_machine};
use perbuck_report::text;

use super::screen;
use crate::args::FactsArguments;

pub(crate) fn run(arguments: &FactsArguments) -> Result<(), LabError> {
    let host = this_machine(arguments.cloud);
    let told = host.facts.as_ref().is_some_and(|facts| facts.platform.instance_type.is_some());
    if arguments.cloud && !told {
        say("perbuck: no metadata service told an instance type");
    }
    super::print_report(arguments.json, &host, || text::table(HEADS, &rows(&host), screen()))
}
