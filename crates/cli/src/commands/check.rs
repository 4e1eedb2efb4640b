//! `perbuck check STUDY`

use perbuck_console::{print, print_json};
use perbuck_core::units::duration_text;
use perbuck_lab::registry::Registry;
use perbuck_lab::{LabError, inputs};

use crate::args::CheckArguments;

/// Reports every problem at once; says what a good study would do.
pub(crate) fn run(arguments: &CheckArguments) -> Result<(), LabError> {
    let path = &arguments.study.path;
    let inputs = match inputs::read_or_list(path, arguments.study.prices.as_deref(), Registry::default())? {
        Ok(inputs) => inputs,
        Err(problems) if arguments.json => {
            print_json(&problems)?;
            return Err(LabError::problems(&problems));
        }
        Err(problems) => return Err(LabError::problems(&problems)),
    };
    if arguments.json {
        return print_json(&Vec::<()>::new());
    }
    let study = &inputs.study;
    if let Some(published) = &study.published {
        let (rows, numbers, claims) = (published.rows.len(), study.audit.numbers.len(), study.audit.claims.len());
        return print(&format!(
            "{}: no problem found\n{rows} published points, {numbers} printed numbers and {claims} claims; `perbuck audit` checks \
             the formulas\n",
            path.display()
        ));
    }
    let trials = study.plan().len();
    let each = study.sweep.cooldown_ns + study.sweep.warmup_ns + study.sweep.duration_ns;
    let mut out = format!("{}: no problem found\n", path.display());
    out += &format!(
        "{} contenders × {} workloads × {} points × {}{} trials = {trials} trials of {}, {} in all\n",
        study.contenders.len(),
        study.workloads.len(),
        study.sweep.points().len(),
        if study.sweep.deployments > 1 { format!("{} deployments × ", study.sweep.deployments) } else { String::new() },
        study.sweep.trials,
        duration_text(each),
        duration_text(each.saturating_mul(trials as u64)),
    );
    for contender in &study.contenders {
        // As the study writes it; a target with a password was refused.
        let target = match (&contender.target, &contender.server) {
            (Some(target), _) => target.value.replace(char::is_control, "\u{fffd}"),
            (None, Some(server)) => format!("a private server of kind {}", server.kind.value),
            (None, None) => "priced only, no target".to_owned(),
        };
        out += &format!("  {}: {target}\n", contender.name);
    }
    print(&out)
}
