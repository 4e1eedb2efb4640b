//! `perbuck check STUDY`

use perbuck_core::units::duration_text;

use crate::args::CheckArguments;
use crate::commands::{print, print_json};
use crate::error::CliError;
use crate::inputs::{self, read_text};

/// Reports every problem at once; says what a good study would do.
pub(crate) fn run(arguments: &CheckArguments) -> Result<(), CliError> {
    let text = read_text("the study", &arguments.study)?;
    let prices = arguments.prices.as_ref().map(|p| read_text("the prices", p).map(|t| (p.clone(), t))).transpose()?;
    let checked = inputs::check(&arguments.study.display().to_string(), text, prices);
    let inputs = match checked {
        Ok(inputs) => inputs,
        Err(problems) if arguments.json => {
            print_json(&problems)?;
            return Err(CliError::problems(&problems));
        }
        Err(problems) => return Err(CliError::problems(&problems)),
    };
    if arguments.json {
        return print_json(&Vec::<()>::new());
    }
    let study = &inputs.study;
    let trials = study.plan().len();
    let each = study.sweep.warmup_ns + study.sweep.duration_ns;
    let mut out = format!("{}: no problem found\n", arguments.study.display());
    out += &format!(
        "{} contenders × {} workloads × {} points × {} trials = {trials} trials of {}, {} in all\n",
        study.contenders.len(),
        study.workloads.len(),
        study.sweep.connections.len(),
        study.sweep.trials,
        duration_text(each),
        duration_text(each.saturating_mul(trials as u64)),
    );
    for (contender, target) in study.contenders.iter().zip(&inputs.targets) {
        let target =
            target.as_ref().map_or_else(|| "priced only, no target".to_owned(), perbuck_drivers::target::Target::address);
        out += &format!("  {}: {target}\n", contender.name);
    }
    print(&out)
}
