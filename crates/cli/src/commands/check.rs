//! `perbuck check STUDY`

use perbuck_console::{Display, TRIAL_STOPS, print, print_json, stop_on_signal};
use perbuck_core::study::{Contender, NO_LIMIT_NS, Study, Sweep};
use perbuck_core::units::duration_text;
use perbuck_lab::estimate::{Estimate, time_and_cost};
use perbuck_lab::inputs::Inputs;
use perbuck_lab::planned::pilots_text;
use perbuck_lab::preflight::Preflight;
use perbuck_lab::progress::clock_text;
use perbuck_lab::rates::Rates;
use perbuck_lab::registry::Registry;
use perbuck_lab::run::RunOptions;
use perbuck_lab::{Lab, LabError, LabOptions, inputs};

use crate::args::CheckArguments;

/// Reports every problem at once; says what a good study would do.
pub(crate) fn run(arguments: &CheckArguments) -> Result<(), LabError> {
    let path = &arguments.study.path;
    let mut inputs = match inputs::read_or_list(
        (path, &arguments.study.targets.of()),
        arguments.study.prices.as_deref(),
        Registry::default(),
    )? {
        Ok(inputs) => inputs,
        Err(problems) if arguments.json => {
            print_json(&problems)?;
            return Err(LabError::problems(&problems));
        }
        Err(problems) => return Err(LabError::problems(&problems)),
    };
    inputs.rates = Rates::of(&LabOptions::default().run.results);
    let mut out = format!("{}: no problem found\n", path.display());
    out += &match () {
        () if inputs.study.published.is_some() => published(&inputs.study),
        () if inputs.study.imported => imported(&inputs.study),
        () => trials(&inputs),
    };
    out.extend(inputs.plans.iter().flat_map(|plan| plan.told()).map(|line| format!("  {line}\n")));
    let volumes = inputs.study.contenders.iter().flat_map(Contender::volumes_beyond_machines);
    out.extend(volumes.map(|line| line + "\n"));
    if arguments.connect {
        let run = RunOptions { ask_password: arguments.password.asked(), ..LabOptions::default().run };
        let lab = Lab::of(inputs, LabOptions { run, ..LabOptions::default() })?;
        let found = lab.preflight(&mut Display::default(), &stop_on_signal(TRIAL_STOPS)?)?;
        if arguments.json {
            print_json(&found.problems())?;
            return found.passed();
        }
        found.passed()?;
        out += &connected(&found);
    }
    if arguments.json { print_json(&Vec::<()>::new()) } else { print(&out) }
}

fn published(study: &Study) -> String {
    let rows = study.published.as_ref().map_or(0, |published| published.rows.len());
    let (numbers, claims) = (study.audit.numbers.len(), study.audit.claims.len() + study.audit.points_claims.len());
    format!("{rows} published points, {numbers} printed numbers and {claims} claims; `perbuck audit` checks the formulas\n")
}

fn imported(study: &Study) -> String {
    let (contenders, workloads) = (study.contenders.len(), study.workloads.len());
    format!("{contenders} contenders and {workloads} workloads; `perbuck import` reads their logs\n")
}

/// Points and trials of each, of all workloads together where they are alike.
fn points(study: &Study) -> String {
    let of = |sweep: &Sweep| {
        let deployments = if sweep.deployments > 1 { format!("{} deployments × ", sweep.deployments) } else { String::new() };
        format!("{} points × {deployments}{} trials", sweep.levels().len(), sweep.trials)
    };
    if study.workloads.iter().all(|w| w.sweep.is_none()) {
        let levels: String = study.factors.iter().map(|f| format!(" × {} levels of {}", f.levels.len(), f.name)).collect();
        let combinations: usize = study.factors.iter().map(|f| f.levels.len()).product();
        return format!("{} workloads{levels} × {}", study.workloads.len() / combinations, of(&study.sweep));
    }
    let each: Vec<String> = study.workloads.iter().map(|w| format!("{}: {}", w.name, of(study.sweep_of(&w.name)))).collect();
    format!("({})", each.join("; "))
}

fn trials(inputs: &Inputs) -> String {
    let (study, estimate) = (&inputs.study, Estimate::of(inputs));
    let mut out = format!(
        "{} contenders × {} = {} trials{}\n",
        study.contenders.len(),
        points(study),
        estimate.trials,
        if study.workloads.iter().any(|w| study.sweep_of(&w.name).duration_ns >= NO_LIMIT_NS) {
            ", whose time is not known, since a number of transactions or the last stream ends them".to_owned()
        } else {
            let mean = if study.workloads.iter().all(|w| w.sweep.is_none()) { "" } else { " in the mean" };
            let (each, all) = (duration_text(estimate.trial.as_nanos() as u64), time_and_cost(inputs, estimate.total()));
            format!(" of {each}{mean}, about {all} with loads and checks")
        },
    );
    if estimate.guessed * 10 > estimate.total() {
        out += &format!(
            "  {} of it are a guess: no study in `results` tells how long such a load takes there\n",
            clock_text(estimate.guessed)
        );
    }
    out.extend(pilots_text(study).map(|line| line + "\n"));
    for contender in &study.contenders {
        // As the study writes it; a target with a password was refused.
        let deployed =
            contender.deploy.as_ref().map(|deploy| (deploy.provider.word(), &deploy.kind.value, &deploy.version.value));
        let target = match (&contender.target, &contender.server, deployed) {
            (Some(target), _, _) => target.value.clone(),
            (None, Some(server), _) => format!("a private server of kind {}", server.kind.value),
            (None, None, Some((provider, kind, version))) => {
                format!("{kind} {version}, which perbuck deploys on {provider}")
            }
            (None, None, None) => format!("priced only, no target; to drive it, add `--target {}=URL`", contender.name),
        };
        let choices: Vec<String> =
            contender.transactions.iter().map(|c| format!("{} = {}", c.value.key(), c.value.value())).collect();
        let transactions = if choices.is_empty() { String::new() } else { format!(", transactions: {}", choices.join(", ")) };
        out += &format!("  {}: {target}{transactions}\n", contender.name);
    }
    out
}

/// What answered.
pub(crate) fn connected(found: &Preflight) -> String {
    let hosts = found.hosts.iter().map(|host| format!("  {}: {} is {}\n", host.contender, host.host, host.version));
    let notes = found.notes.iter().map(|note| format!("{note}\n"));
    let lines: String = hosts.chain(notes).collect();
    format!("every target answers, and the study can run there\n{lines}")
}
