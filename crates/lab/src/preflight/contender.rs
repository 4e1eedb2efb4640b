//! What is looked at for one contender.

use std::path::PathBuf;

use perbuck_core::compare::{declares_machine, other_machine, other_volume};
use perbuck_core::run_record::{HostRecord, Observed};
use perbuck_core::study::{Contender, Reset, ServerSpec};
use perbuck_deploy::local::Kind;
use perbuck_load::error::{Cause, DriverError, ErrorCode};
use perbuck_load::preflight::{HostFacts, HostProblem};
use perbuck_load::stop::StopToken;

use super::{Preflight, Purpose, Request, SeenHost};
use crate::data::DataState;
use crate::error::{ErrorKind, LabError};
use crate::globals;
use crate::inputs::Inputs;
use crate::servers::{self, Looked};
use crate::stage::{DataNeed, Stage};

pub(super) struct Look<'a> {
    pub(super) inputs: &'a Inputs,
    pub(super) contender: &'a Contender,
    pub(super) request: Request<'a>,
    /// This machine.
    pub(super) host: &'a HostRecord,
    pub(super) found: &'a mut Preflight,
}

impl Look<'_> {
    fn problem(&mut self, error: &LabError) {
        self.found.push(self.inputs, Some(self.contender), error);
    }

    /// An answer of a server that keeps the study from running, whatever it would mean in a trial.
    fn refused(&self, doing: &str, error: &DriverError) -> LabError {
        let answer = LabError::target(&self.contender.name, error);
        let (message, help) = answer.words();
        if answer.kind() == ErrorKind::Interrupted {
            return answer;
        }
        let message = if doing.is_empty() { message.to_owned() } else { format!("{message}; {doing}") };
        LabError::new(ErrorKind::Target, message, help)
    }

    /// A server that perbuck would start.
    pub(super) fn private_server(&mut self, spec: &ServerSpec, stop: &StopToken) -> Result<Looked, LabError> {
        let asked = self.inputs.study.sweep.profile.as_ref().filter(|asked| asked.value.has_servers());
        let profiled = asked.filter(|_| self.request.purpose == Purpose::Run).map(|asked| asked.line);
        let looked = servers::look(self.contender, spec, profiled, stop)?;
        let observed = looked.observed();
        if let Some(text) = other_volume(&self.inputs.study, &self.contender.name, &observed) {
            self.found.notes.push(format!("{}: {text}", self.contender.name));
        }
        self.declared(&Self::of_private_server(spec, observed));
        Ok(looked)
    }

    /// The servers of a stage; the folder to which a run would load its data, where that is known.
    pub(super) fn stage(&mut self, stage: &Stage) -> Result<Option<PathBuf>, LabError> {
        let hosts = stage.server.hosts();
        let mut seen = Vec::new();
        for index in 0..hosts.len().max(1) {
            let name = hosts.get(index).unwrap_or(&stage.address);
            match stage.server.host_facts(index as u32) {
                Ok(facts) => {
                    self.host(stage, (index as u32, name), hosts.len().max(1) as u32, &facts)?;
                    seen.push((name.as_str(), facts));
                }
                Err(error) if error.cause == Some(Cause::Stopped) => return Err(LabError::interrupted()),
                Err(error) => {
                    let refused = self.refused("", &error);
                    self.problem(&refused);
                }
            }
        }
        self.versions(&seen);
        self.copies(stage, &seen)?;
        // Checks and loads begin on the first host.
        match seen.first() {
            Some((name, facts)) if hosts.first().is_none_or(|first| first == name) => self.data(stage, facts),
            _ => Ok(None),
        }
    }

    fn host(&mut self, stage: &Stage, (index, name): (u32, &str), of: u32, facts: &HostFacts) -> Result<(), LabError> {
        let host = SeenHost { contender: self.contender.name.clone(), host: name.to_owned(), version: facts.version.clone() };
        if !self.found.hosts.contains(&host) {
            self.found.hosts.push(host);
        }
        for problem in &facts.problems {
            let message = format!("{}: {name}: {}", self.contender.name, problem.message);
            self.problem(&LabError::new(ErrorKind::Target, message, &*problem.help));
        }
        let needed = self.request.connections.div_ceil(of);
        let Some(limit) = facts.sessions_max.filter(|limit| *limit < needed) else { return Ok(()) };
        // A pooler may let in more than its server says.
        match stage.server.open_sessions(index, needed) {
            (_, Ok(())) => Ok(()),
            (_, Err(error)) if error.cause == Some(Cause::Stopped) => Err(LabError::interrupted()),
            (opened, Err(error)) => {
                let message = format!(
                    "{}: {name} let in {opened} connections of the {needed} that a trial needs, and says that its limit is {limit}: \
                     {error}",
                    self.contender.name
                );
                let help = "raise max_connections of the server, or the limit of the user; or lower `connections`";
                self.problem(&LabError::new(ErrorKind::Target, message, help));
                Ok(())
            }
        }
    }

    /// Hosts of one target that differ are measured as one system.
    fn versions(&mut self, seen: &[(&str, HostFacts)]) {
        let Some((_, first)) = seen.first().filter(|(_, first)| seen.iter().any(|(_, f)| f.version != first.version)) else {
            return;
        };
        let all: Vec<String> = seen.iter().map(|(name, facts)| format!("{name} is {}", facts.version)).collect();
        let note = format!("{}: its hosts have several versions: {}", self.contender.name, all.join(", "));
        if !first.version.is_empty() && !self.found.notes.contains(&note) {
            self.found.notes.push(note);
        }
    }

    /// Whether the data can be restored, where the study asks for it.
    fn copies(&mut self, stage: &Stage, seen: &[(&str, HostFacts)]) -> Result<(), LabError> {
        if stage.reset != Reset::Restore || self.request.purpose == Purpose::Check || seen.is_empty() {
            return Ok(());
        }
        let found =
            stage.server.copy_problems(&stage.server.copy_scope(&stage.tables)).map_err(|error| self.refused("", &error))?;
        for HostProblem { message, help } in found {
            self.problem(&LabError::new(ErrorKind::Target, format!("{}: {message}", stage.title), help));
        }
        Ok(())
    }

    /// What the user may do with the database, where data will be loaded; the folder they go to.
    fn data(&mut self, stage: &Stage, facts: &HostFacts) -> Result<Option<PathBuf>, LabError> {
        if self.request.purpose == Purpose::Check {
            return Ok(None);
        }
        let reload = matches!(self.request.purpose, Purpose::Load { reload: true });
        let need = match facts.is_new {
            true => DataNeed::Missing,
            false => stage.server.data_need(&stage.tables, reload || stage.reset != Reset::Never)?,
        };
        if need != DataNeed::Kept
            && !facts.is_new
            && let Err(error) = stage.server.try_rights()
        {
            let refused = self.refused("a load makes, fills and drops tables in that database", &error);
            if refused.kind() == ErrorKind::Interrupted {
                return Err(refused);
            }
            self.problem(&refused.or_help("give the user the right to create, index, fill and drop tables there"));
        }
        if need != DataNeed::Missing && self.request.purpose == Purpose::Run {
            self.statements(stage, need)?;
        }
        Ok(facts.data_folder.clone().filter(|_| need == DataNeed::Missing))
    }

    /// Whether the statements of a script can be prepared. Data of another study have other tables.
    fn statements(&mut self, stage: &Stage, need: DataNeed) -> Result<(), LabError> {
        let is_ours =
            || Ok(matches!(stage.data.noted()?, DataState::Ours { fingerprint, .. } if fingerprint == stage.fingerprint));
        if need != DataNeed::Kept && !is_ours()? {
            return Ok(());
        }
        let Err(error) = stage.trials.try_statements(self.inputs.study.seed) else { return Ok(()) };
        // What perbuck found itself, as another isolation level, says what to do.
        let (doing, help) = match error.code {
            ErrorCode::Word("client", _) => ("", ""),
            _ => (
                "its statements were prepared on the data that are there",
                "mend the script, or give the tables what it asks for",
            ),
        };
        let refused = self.refused(doing, &error);
        if refused.kind() == ErrorKind::Interrupted {
            return Err(refused);
        }
        self.problem(&refused.or_help(help));
        Ok(())
    }

    /// The machines that the study declares, against what the server and this machine say.
    pub(super) fn machine(&mut self, stage: &Stage) {
        let (study, name) = (&self.inputs.study, &self.contender.name);
        // To ask makes the file of a database that is one. One that does not answer is a problem of its own.
        if self.request.purpose == Purpose::Run
            && !study.notional
            && declares_machine(study, name)
            && let Ok(facts) = stage.server.facts()
        {
            self.declared(&stage.observed(&facts, self.host));
        }
    }

    fn declared(&mut self, observed: &[Observed]) {
        let (study, name) = (&self.inputs.study, &self.contender.name);
        if self.request.purpose != Purpose::Run || study.notional {
            return;
        }
        if let Some(text) = other_machine(study, name, observed) {
            self.problem(&LabError::other_machines(&format!("{name}: {text}"), None));
        }
    }

    /// What is known of a server that perbuck starts before it is there: all of it runs on one machine.
    fn of_private_server(spec: &ServerSpec, mut observed: Vec<Observed>) -> Vec<Observed> {
        let Some(kind) = Kind::named(&spec.kind.value) else { return observed };
        let source = || "its `server`".to_owned();
        let (parts, config) = (spec.parts(), spec.config());
        observed.extend(kind.running_parts(&parts).into_iter().map(|part| Observed {
            source: source(),
            role: Some(part.to_owned()),
            machines: Some(1),
            ..Observed::default()
        }));
        let copies = kind.copies(&parts, &config);
        observed.extend(copies.map(|copies| Observed { source: source(), copies: Some(copies), ..Observed::default() }));
        observed
    }

    /// The settings that the study changes on the servers: each is set to the value that it has.
    pub(super) fn settings(&mut self, stage: Option<&Stage>) -> Result<(), LabError> {
        let Some(stage) = stage.filter(|_| self.request.purpose == Purpose::Run) else { return Ok(()) };
        let study = &self.inputs.study;
        let all = study.by_state().into_iter().flat_map(|spec| study.contender_at(self.contender, spec).server_settings);
        for error in globals::refused(&self.contender.name, &all.collect(), stage) {
            if error.kind() == ErrorKind::Interrupted {
                return Err(error);
            }
            self.problem(&error);
        }
        Ok(())
    }
}
