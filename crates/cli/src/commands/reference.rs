//! `perbuck help`, `perbuck completions` and `perbuck man`: the reference without a network.

use std::fs;

use clap::CommandFactory as _;
use perbuck_console::print;
use perbuck_core::problem::nearest;
use perbuck_lab::LabError;

use crate::args::{Arguments, CompletionsArguments, HelpArguments, ManArguments};

macro_rules! pages {
    ($(($name:literal, $file:literal)),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../reference/", $file, ".md")))),*]
    };
}

/// The pages of the reference: their topics and their texts.
const PAGES: &[(&str, &str)] = pages![
    ("study", "study-file"),
    ("contenders", "study/contenders"),
    ("workloads", "study/workloads"),
    ("study-prices", "study/prices"),
    ("deployments", "study/deploy"),
    ("published-results", "study/results"),
    ("targets", "targets"),
    ("price-lists", "prices"),
    ("exit-codes", "exit-codes"),
    ("glossary", "glossary"),
    ("verdicts", "method/verdicts"),
    ("intervals", "method/intervals"),
];

/// A page of the reference, or the help of a command; without a topic the list of both.
pub(crate) fn help(arguments: &HelpArguments) -> Result<(), LabError> {
    let mut command = Arguments::command();
    let Some(topic) = arguments.topic.as_deref() else {
        let topics: Vec<&str> = PAGES.iter().map(|(name, _)| *name).collect();
        let text = command.render_long_help().to_string();
        return print(&format!("{text}\nPages of the reference, for perbuck help TOPIC: {}\n", topics.join(", ")));
    };
    if let Some((_, text)) = PAGES.iter().find(|(name, _)| *name == topic) {
        return print(text);
    }
    command.build();
    if let Some(found) = command.find_subcommand_mut(topic) {
        return print(&found.render_long_help().to_string());
    }
    let topics: Vec<&str> =
        PAGES.iter().map(|(name, _)| *name).chain(command.get_subcommands().map(clap::Command::get_name)).collect();
    let near = nearest(topic, topics.iter().copied()).map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
    Err(LabError::usage(format!("there is no page `{topic}`"), format!("{near}there are: {}", topics.join(", "))))
}

pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<(), LabError> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "perbuck", &mut script);
    print(&String::from_utf8_lossy(&script))
}

pub(crate) fn man(arguments: &ManArguments) -> Result<(), LabError> {
    let folder = &arguments.folder;
    fs::create_dir_all(folder).map_err(|e| LabError::file("make the folder", folder, &e))?;
    clap_mangen::generate_to(Arguments::command(), folder).map_err(|e| LabError::file("write the pages to", folder, &e))?;
    print(&format!("{0}: man pages of all commands; read one with man -l {0}/perbuck.1\n", folder.display()))
}
