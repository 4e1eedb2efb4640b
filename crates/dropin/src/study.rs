//! A command line as a study: what its record belongs to, so that `compare` and `report` can read it.

use std::collections::BTreeMap;
use std::fmt::Write;

use perbuck_core::plan;
use perbuck_core::study::Scalar;

use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::inputs::{self, Inputs};
use perbuck_lab::registry::Registry;

/// A database in a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    /// Its name.
    pub(crate) name: String,
    /// Its address.
    pub(crate) address: String,
}

/// How a command line loads the database, as a study's `[sweep]` says it.
#[derive(Debug, Clone)]
pub(crate) struct Sweep {
    /// Connections.
    pub(crate) connections: u32,
    /// The time before the measured window, as a study writes it (`3s`).
    pub(crate) warmup: String,
    /// The measured window; `None` is no limit.
    pub(crate) duration: Option<String>,
    /// The most transactions; `None` is no limit.
    pub(crate) events: Option<u64>,
    /// Transactions per second offered; `None` is closed loop.
    pub(crate) rate: Option<u32>,
    /// Load threads.
    pub(crate) workers: Option<u32>,
    /// How often a transaction is tried, at most.
    pub(crate) attempts: u32,
}

impl Sweep {
    /// The lines of the study, but for the number of trials.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("[sweep]\ncollected = true\nconnections = [{}]\nwarmup = \"{}\"\n", self.connections, self.warmup);
        if let Some(duration) = &self.duration {
            let _ = writeln!(text, "duration = \"{duration}\"");
        }
        if let Some(events) = self.events {
            let _ = writeln!(text, "events = {events}");
        }
        if let Some(rate) = self.rate {
            let _ = writeln!(text, "rate = [{rate}]\narrivals = \"poisson\"");
        }
        if let Some(workers) = self.workers {
            let _ = writeln!(text, "workers = {workers}");
        }
        let _ = writeln!(text, "max_attempts = {}", self.attempts);
        text
    }
}

/// What is run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// The word behind `perbuck`, which is also the kind of workload.
    pub(crate) command: &'static str,
    /// The name of the workload in its study.
    pub(crate) workload: &'a str,
    /// Its parameters, as a study writes them.
    pub(crate) parameters: &'a BTreeMap<String, Scalar>,
    /// How it is loaded.
    pub(crate) sweep: &'a Sweep,
}

/// What all runs of one study have in common.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    /// The name of the study, and of its folder.
    pub(crate) name: String,
    /// Tells it from every other one.
    pub(crate) fingerprint: String,
    question: String,
    workload: String,
    sweep: String,
}

impl Frame {
    /// The frame of a command line. `identity` is everything that decides what is measured, but for the database and the
    /// seed.
    pub(crate) fn new(asked: &Asked<'_>, identity: &str) -> Self {
        let Asked { command, workload: name, parameters, sweep } = *asked;
        let mut workload = format!("[[workload]]\nname = \"{name}\"\nkind = \"{command}\"\n");
        for (key, value) in parameters {
            // Without the quotes a point would make a table.
            let key = if key.contains('.') { format!("\"{key}\"") } else { key.clone() };
            let _ = writeln!(workload, "{key} = {}", toml(value));
        }
        let fingerprint = plan::fingerprint(identity);
        let question = if name == command { command.to_owned() } else { format!("{command} {name}") };
        let question = format!("perbuck {question} with {} threads", sweep.connections);
        let name = format!("{name}-{}-{}", sweep.connections, &fingerprint[..8]);
        Self { name, fingerprint, question, workload, sweep: sweep.text() }
    }

    /// The study with these databases and so many runs of each.
    ///
    /// # Errors
    /// What the reader of studies says; a defect of perbuck.
    pub(crate) fn inputs(&self, members: &[Member], trials: u32) -> Result<Inputs, LabError> {
        let mut text = format!("schema = 1\nname = \"{}\"\nquestion = \"{}\"\n\n", self.name, self.question);
        for member in members {
            let address = toml(&Scalar::Text(member.address.clone()));
            let _ = writeln!(text, "[[contender]]\nname = \"{}\"\ntarget = {address}\n", member.name);
        }
        let _ = write!(text, "{}\n{}trials = {trials}\n", self.workload, self.sweep);
        inputs::check("the study of this command line", text, None, Registry::default()).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            LabError::new(
                ErrorKind::Failed,
                lines.join("\n"),
                "this is a defect of perbuck; --no-record goes on without a record",
            )
        })
    }
}

/// A value as TOML writes it.
fn toml(value: &Scalar) -> String {
    match value {
        Scalar::Int(number) => number.to_string(),
        // A whole number is a float only with its point.
        Scalar::Float(number) => format!("{number:?}"),
        Scalar::Bool(on) => on.to_string(),
        Scalar::Text(text) => {
            let mut out = "\"".to_owned();
            for c in text.chars() {
                match c {
                    '"' | '\\' => out.extend(['\\', c]),
                    c if c.is_control() => {
                        let _ = write!(out, "\\u{:04X}", u32::from(c));
                    }
                    c => out.push(c),
                }
            }
            out + "\""
        }
    }
}
