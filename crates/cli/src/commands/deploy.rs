//! `perbuck deploy render`, `up`, `status` and `down`.

use std::fs;
use std::path::Path;

use perbuck_console::{Display, print, print_styled, stop_on_signal};
use perbuck_lab::deploy::{self, Deployment, Spending, Status};
use perbuck_lab::inputs::{self, Inputs};
use perbuck_lab::registry::Registry;
use perbuck_lab::{ErrorKind, LabError};
use perbuck_report::text;

use super::screen;
use crate::args::StudyArguments;
use crate::args::deploy::{
    DeployArguments, DeployCommand, DeployedArguments, DownArguments, RenderArguments, SpendingArguments, UpArguments,
};

/// What Ctrl-C does.
const STOPS: &str = "stopping; what was made stays, and the same command goes on";

pub(crate) fn run(arguments: &DeployArguments) -> Result<(), LabError> {
    match &arguments.command {
        DeployCommand::Render(arguments) => render(arguments),
        DeployCommand::Up(arguments) => up(arguments),
        DeployCommand::Status(arguments) => status(arguments),
        DeployCommand::Down(arguments) => down(arguments),
    }
}

/// How the user wants to spend money.
pub(crate) fn spending(arguments: SpendingArguments) -> Spending {
    let consent = (!arguments.yes).then_some(perbuck_console::confirm as deploy::Consent);
    Spending { consent, ttl_s: arguments.ttl.map(|ns| ns.div_ceil(1_000_000_000)) }
}

fn read(study: &StudyArguments) -> Result<Inputs, LabError> {
    inputs::read((&study.path, &study.targets.of()), study.prices.as_deref(), Registry::default())
}

fn render(arguments: &RenderArguments) -> Result<(), LabError> {
    let inputs = read(&arguments.study)?;
    for file in deploy::files(&inputs)? {
        write(&arguments.out.join(&file.path), &file.text)?;
        print(&format!("{}\n", arguments.out.join(&file.path).display()))?;
    }
    let rows = deploy::cost_rows(&inputs)?;
    print_styled(&format!("\n{}", text::table(deploy::COST_HEADS, &rows, screen())))
}

fn write(path: &Path, content: &str) -> Result<(), LabError> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(path, content)).map_err(|e| LabError::file("write", path, &e))
}

fn up(arguments: &UpArguments) -> Result<(), LabError> {
    let DeployedArguments { study, results } = &arguments.of;
    let (inputs, stop) = (read(study)?, stop_on_signal(STOPS)?);
    deploy::finish(&inputs, results, &mut Display::default(), &stop)?;
    let mut deployment = Deployment::open(&inputs, results)?;
    deployment.begin(&spending(arguments.spending))?;
    deployment.keep();
    deployment.up(&mut Display::default(), &stop)?;
    print(&format!("up: {}\n", deployment.cost_text()))?;
    let targets = deployment.targets()?;
    let lines: String = targets.iter().map(|(name, target)| format!("  {name}: {target}\n")).collect();
    print(&lines)
}

fn status(arguments: &DeployedArguments) -> Result<(), LabError> {
    let inputs = read(&arguments.study)?;
    known(&inputs, &arguments.results)?;
    let mut deployment = Deployment::seen(&inputs, &arguments.results)?;
    let all = deployment.status();
    if all.is_err() {
        // What it has cost is known without an answer of the cluster.
        spent(&deployment)?;
    }
    let all = all?;
    if all.is_empty() {
        print("nothing is up\n")?;
    }
    for Status { contender, deployed, differences } in &all {
        let ready = deployed.pods.iter().filter(|pod| pod.ready).count();
        let (nodes, pods, volumes) = (deployed.nodes.len(), deployed.pods.len(), deployed.volumes.len());
        let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let (nodes, volumes) = (counted(nodes, "node"), counted(volumes, "volume"));
        print(&format!("{contender}: {nodes}, {ready} of {} ready, {volumes}\n", counted(pods, "pod")))?;
        let what = if differences.is_empty() {
            "  as billed\n".to_owned()
        } else {
            differences.iter().map(|d| format!("  {d}\n")).collect()
        };
        print(&what)?;
    }
    spent(&deployment)?;
    let differing = all.iter().filter(|status| !status.differences.is_empty()).count();
    if differing == 0 {
        Ok(())
    } else {
        Err(LabError::new(
            ErrorKind::OtherMachines,
            "what runs is not what is billed",
            "correct `node` in the study, or make the clusters again: perbuck deploy down, then up",
        ))
    }
}

fn down(arguments: &DownArguments) -> Result<(), LabError> {
    let DeployedArguments { study, results } = &arguments.of;
    let (inputs, stop) = (read(study)?, stop_on_signal(STOPS)?);
    if arguments.when_expired {
        let ended = deploy::end_expired(&inputs, results, &mut Display::default(), &stop)?;
        return if ended { gone(&Deployment::seen(&inputs, results)?) } else { Ok(()) };
    }
    known(&inputs, results)?;
    let mut deployment = Deployment::open(&inputs, results)?;
    if !deployment.is_up() {
        return print("nothing is up\n");
    }
    deployment.down(&mut Display::default(), &stop)?;
    gone(&deployment)
}

/// Says that a deployment was taken down, and what it cost.
fn gone(deployment: &Deployment<'_>) -> Result<(), LabError> {
    print("nothing of this study is left\n")?;
    spent(deployment)
}

/// Refuses a folder of results that knows of no deployment: something may be up that is known elsewhere.
fn known(inputs: &Inputs, results: &Path) -> Result<(), LabError> {
    if deploy::is_known(inputs, results)? {
        return Ok(());
    }
    let folder = results.join(&inputs.study.name);
    let message = format!("{} knows of no deployment of this study", folder.display());
    Err(LabError::new(ErrorKind::Usage, message, "name the folder that it was deployed with: --results FOLDER"))
}

fn spent(deployment: &Deployment<'_>) -> Result<(), LabError> {
    let spent = deployment.spent();
    if spent.is_empty() {
        return Ok(());
    }
    let rows = deploy::spent_rows(&spent);
    print_styled(&format!(
        "{}\nthis study's clusters cost {}{} until now\n",
        text::table(deploy::SPENT_HEADS, &rows, screen()),
        deploy::total(&spent),
        deploy::but(&spent)
    ))
}
