//! `perbuck init`: writes a first study.

use std::io::{IsTerminal as _, stdin};

use perbuck_console::{Display, TRIAL_STOPS, print, say, stop_on_signal};
use perbuck_lab::init::{self, TEMPLATES, Template, Wishes};
use perbuck_lab::run::RunOptions;
use perbuck_lab::{Lab, LabError, LabOptions};
use perbuck_prices::{Snapshot, catalogue};

use crate::args::InitArguments;
use crate::commands::check::connected;

pub(crate) fn run(arguments: &InitArguments) -> Result<(), LabError> {
    let asks = stdin().is_terminal();
    if arguments.study.exists() {
        let message = format!("{} exists already", arguments.study.display());
        return Err(LabError::refused(message, "name another file, or remove that one"));
    }
    let template = Template::named(&template(arguments, asks)?)?;
    let here = init::machine_here();
    let targets = targets(arguments, asks, &template)?;
    let list = answer(asks, arguments.snapshot.as_ref(), "Price list", "aws-2026-07")?;
    let prices = snapshot(&list)?;
    let first = prices.regions.first().map_or("", |r| r.name.as_str());
    let region = answer(asks, arguments.region.as_ref(), "Region", first)?;
    let wanted = if template.name == "tidb-on-kubernetes" { 0 } else { template.values("instance").len() };
    let mut instances = arguments.instance.clone();
    let seen = format!("this machine is {}", here.text());
    while instances.len() < wanted {
        let (default, why) = proposal(&template, instances.len(), &targets, &prices, &region, &here, &seen);
        if asks {
            say(&why);
        }
        instances.push(answer(asks, None, &format!("Instance of {}", role(wanted, instances.len(), "the database")), &default)?);
    }
    let name = arguments.study.file_stem().map_or_else(|| "study".to_owned(), |name| name.to_string_lossy().into_owned());
    let made = init::make(&template, &Wishes { name, targets, instances, list, region }, &here)?;
    let path = init::write(&arguments.study, &made.text)?.display().to_string();
    let mut out = format!("{path}: written from the template {}\n", template.name);
    for remark in &made.remarks {
        out += &format!("notional, because {remark}\n");
    }
    print(&out)?;
    let run = RunOptions { ask_password: arguments.password.asked(), ..RunOptions::default() };
    let lab = Lab::open(&arguments.study, LabOptions { run, ..LabOptions::default() })?;
    let found = lab.preflight(&mut Display::default(), &stop_on_signal(TRIAL_STOPS)?)?;
    if !found.problems().is_empty() {
        say(&format!("the study stays; mend what follows, then try it by: perbuck check {path} --connect"));
    }
    found.passed()?;
    print(&format!("{}next: perbuck run {path}\n", connected(&found)))
}

/// The instance that is proposed, and why.
fn proposal(
    template: &Template,
    index: usize,
    targets: &[String],
    prices: &Snapshot,
    region: &str,
    here: &perbuck_core::run_record::Observed,
    seen: &str,
) -> (String, String) {
    let own = template.values("instance")[index].to_owned();
    let local = targets.get(index.min(targets.len().saturating_sub(1))).is_some_and(|t| init::is_here(t));
    match init::propose(prices, region, here).filter(|_| local && template.values("instance").len() == 1) {
        Some(i) => (i.machine.name.clone(), format!("{seen}; nearest in {region}: {}", i.machine.name)),
        None => (own, format!("perbuck prices show {} --region {region} lists the machines", prices.name)),
    }
}

fn template(arguments: &InitArguments, asks: bool) -> Result<String, LabError> {
    if asks && arguments.template.is_none() {
        TEMPLATES.iter().for_each(|t| say(&format!("  {:<20} {}", t.name, t.what)));
    }
    answer(asks, arguments.template.as_ref(), "Template", TEMPLATES[0].name)
}

/// Targets have no default: perbuck cannot know them.
fn targets(arguments: &InitArguments, asks: bool, template: &Template) -> Result<Vec<String>, LabError> {
    let wanted = template.values("target");
    let mut targets = arguments.target.clone();
    if targets.len() > wanted.len() || (!asks && targets.len() < wanted.len()) {
        let message = format!("template {} takes {} targets, and {} are given", template.name, wanted.len(), targets.len());
        return Err(LabError::usage(message, format!("give --target {} times, such as --target {}", wanted.len(), wanted[0])));
    }
    while targets.len() < wanted.len() {
        let what = format!("Target of {}", role(wanted.len(), targets.len(), "the server"));
        let typed = ask(&format!("{what}, such as {}", wanted[targets.len()]))?;
        if !typed.is_empty() {
            targets.push(typed);
        }
    }
    Ok(targets)
}

fn role(of: usize, index: usize, alone: &str) -> String {
    if of == 1 { alone.to_owned() } else { format!("contender {}", index + 1) }
}

/// What a flag says, or what the user types, or the default.
fn answer(asks: bool, flag: Option<&String>, question: &str, default: &str) -> Result<String, LabError> {
    if let Some(flag) = flag {
        return Ok(flag.clone());
    }
    let typed = if asks { ask(&format!("{question} [{default}]"))? } else { String::new() };
    Ok(if typed.is_empty() { default.to_owned() } else { typed })
}

fn ask(question: &str) -> Result<String, LabError> {
    say(&format!("{question}:"));
    let mut line = String::new();
    match stdin().read_line(&mut line) {
        Ok(0) | Err(_) => Err(LabError::usage("the answers ended", "give the answers as flags: perbuck init --help")),
        Ok(_) => Ok(line.trim().to_owned()),
    }
}

fn snapshot(name: &str) -> Result<Snapshot, LabError> {
    let Some(b) = catalogue().iter().find(|b| b.name == name) else {
        let names: Vec<&str> = catalogue().iter().map(|b| b.name).collect();
        return Err(LabError::usage(
            format!("there is no price list `{name}`"),
            format!("the price lists are: {}", names.join(", ")),
        ));
    };
    Snapshot::read(b.name, b.text).map_err(|p| LabError::problems(&p))
}
