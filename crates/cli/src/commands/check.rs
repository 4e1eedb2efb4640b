//! `perbuck check STUDY`

use perbuck_core::units::duration_text;

use crate::args::CheckArguments;
use crate::commands::{print, print_json};
use crate::error::CliError;
use crate::inputs;

/// Reports every problem at once; says what a good study would do.
pub(crate) fn run(arguments: &CheckArguments) -> Result<(), CliError> {
    let path = &arguments.study.path;
    let inputs = match inputs::read_or_list(path, arguments.study.prices.as_deref())? {
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
    let mut out = format!("{}: no problem found\n", path.display());
    out += &format!(
        "{} contenders × {} workloads × {} points × {} trials = {trials} trials of {}, {} in all\n",
        study.contenders.len(),
        study.workloads.len(),
        study.sweep.points().len(),
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
