//! `--agents` of a run: other machines apply its load. What is printed stays the same.

use std::path::Path;

use perbuck_lab::error::LabError;
use perbuck_lab::fleet::{Fleet, FleetOptions, OneContender};
use perbuck_lab::progress::Progress;
use perbuck_load::stop::StopToken;

use crate::output::{Standard, Streams};
use crate::refused::Refused;
use crate::run::Run;

/// The option that names agents, with its help.
pub(crate) const AGENTS: (&str, &str) =
    ("agents", "machines where `perbuck agent` runs, as HOST[:PORT]: they apply the load of a run in place of this one");
/// The option that names the file of their token.
pub(crate) const TOKEN_FILE: (&str, &str) =
    ("token-file", "a file with the token of the agents; PERBUCK_FLEET_TOKEN may hold it instead");

/// The agents that a command line names.
pub(crate) fn named(agents: &[&str], token_file: &str) -> Result<Option<FleetOptions>, LabError> {
    let agents: Vec<String> = agents.iter().map(|name| (*name).to_owned()).collect();
    FleetOptions::named(&agents, Some(Path::new(token_file)).filter(|file| !file.as_os_str().is_empty()), false)
}

/// Refuses them to an order that is no run.
pub(crate) fn none(agents: Option<&FleetOptions>, order: &str) -> Result<(), Refused> {
    match agents {
        None => Ok(()),
        Some(_) => Err(Refused::usage(
            format!("--agents: {order} is done by this machine alone"),
            format!("leave --agents out of {order}, and give it to run"),
        )),
    }
}

/// What the lab tells of its work, on standard error.
pub(crate) struct Said;

impl Progress for Said {
    fn line(&mut self, text: &str) {
        Standard.say(&format!("perbuck: {text}"));
    }

    fn passing(&mut self, _text: &str) {}
}

impl Run<'_> {
    /// The agents that apply the load of a run on this target, ready for it; `None` where this process does.
    pub(crate) fn fleet(&self, stop: &StopToken) -> Result<Option<Fleet>, LabError> {
        let Some(options) = &self.agents else { return Ok(None) };
        options.suits(&self.series.study(&[self.member()], 1))?;
        let load = &self.series.load;
        let (threads, agents) = (load.connections as usize, options.agents.len());
        if threads < agents {
            let message = format!("--agents: {threads} threads cannot be divided among {agents} agents");
            return Err(LabError::usage(message, "raise the number of threads, or name fewer agents"));
        }
        let (fleet, member) = (Fleet::gather(options, load.connections, stop)?, self.member());
        let (text, target) = (self.series.text(std::slice::from_ref(&member), 1), self.patient_target());
        let one = OneContender {
            text: &text,
            contender: &member.name,
            target: &target,
            password: self.password,
            connections: load.connections,
            threads: load.workers,
        };
        fleet.prepare_one(&one, &mut Said)?;
        Ok(Some(fleet))
    }
}
