//! `perbuck run STUDY`

use perbuck_console::{Display, TRIAL_STOPS, print, print_json, stop_on_signal};
use perbuck_lab::run::RunOptions;
use perbuck_lab::{Lab, LabError, LabOptions, ceiling};

use crate::args::RunArguments;

/// Runs a study and prints its verdicts.
pub(crate) fn run(arguments: &RunArguments) -> Result<(), LabError> {
    let run = RunOptions {
        results: arguments.results.clone(),
        deployment: arguments.deployment,
        ask_password: arguments.password.asked(),
    };
    let lab =
        Lab::open(&arguments.study.path, LabOptions { prices: arguments.study.prices.clone(), run, ..LabOptions::default() })?;
    let stop = stop_on_signal(TRIAL_STOPS)?;
    if arguments.driver.is_some() {
        let table = ceiling::run(lab.inputs(), &mut Display::default(), &stop)?;
        return print(&table);
    }
    let results = lab.run(&mut Display::default(), &stop)?;
    if arguments.json {
        return print_json(&results.comparison);
    }
    print(&perbuck_report::text::verdicts(&results.study, &results.comparison))?;
    print(&format!("\nWrite the report with: perbuck report {}\n", lab.folder().display()))
}
