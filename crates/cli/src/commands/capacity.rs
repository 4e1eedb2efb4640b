//! `perbuck capacity STUDY`

use perbuck_console::{Display, TRIAL_STOPS, print_either, stop_on_signal};
use perbuck_core::arrivals::Arrivals;
use perbuck_lab::capacity::{CapacityRequest, search_capacity};
use perbuck_lab::registry::Registry;
use perbuck_lab::{LabError, inputs};

use crate::args::CapacityArguments;

/// Searches for every chosen contender and workload, and says what was found.
pub(crate) fn run(arguments: &CapacityArguments) -> Result<(), LabError> {
    let inputs = inputs::read_to_measure(&arguments.study.path, arguments.study.prices.as_deref(), Registry::default())?;
    let arrivals = arguments.arrivals.as_deref().map(|a| if a == "uniform" { Arrivals::Uniform } else { Arrivals::Poisson });
    let request = CapacityRequest {
        file: arguments.study.path.display().to_string(),
        contenders: arguments.contender.clone(),
        workloads: arguments.workload.clone(),
        percentile: arguments.percentile,
        at_most_ns: arguments.at_most,
        from_per_s: arguments.from,
        to_per_s: arguments.to,
        resolution: arguments.resolution,
        repeats: arguments.repeats,
        connections: arguments.connections,
        warmup_ns: arguments.warmup,
        duration_ns: arguments.duration,
        arrivals,
        results: arguments.results.clone(),
        ask_password: arguments.password.asked(),
    };
    let stop = stop_on_signal(TRIAL_STOPS)?;
    let capacity = search_capacity(inputs, &request, &mut Display::default(), &stop)?;
    print_either(arguments.json, &capacity.found, || capacity.text.clone())?;
    capacity.kept()
}
