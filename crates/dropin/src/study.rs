//! A command line as a study: what its record belongs to, so that `compare` and `report` can read it.

use std::collections::BTreeMap;
use std::fmt::Write;

use perbuck_core::plan;
use perbuck_core::study::{Located, Scalar, Study};
use perbuck_workloads::params::ParamProblem;
use perbuck_workloads::{Benchmark, Plan};

use crate::load::Load;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) address: String,
}

/// The workload of a command line.
#[derive(Debug, Clone)]
pub(crate) struct Workload {
    /// Its name in a study.
    pub(crate) name: String,
    /// Its parameters as a study writes them: those that were given.
    pub(crate) parameters: BTreeMap<String, Scalar>,
    /// The same, checked.
    pub(crate) plan: Plan,
}

impl Workload {
    /// The workload of these parameters, and its options.
    pub(crate) fn of<B: Benchmark + Clone>(
        name: &str,
        parameters: BTreeMap<String, Scalar>,
    ) -> Result<(Self, B), Vec<ParamProblem>> {
        let located = |(name, value): (&String, &Scalar)| (name.clone(), Located { value: value.clone(), line: 0 });
        let options = B::checked(&parameters.iter().map(located).collect())?;
        Ok((Self { name: name.to_owned(), parameters, plan: Plan::of(options.clone()) }, options))
    }
}

/// What all runs of one command line have in common, whatever the database and the seed: they are trials of one study.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    pub(crate) workload: Workload,
    pub(crate) load: Load,
    /// The name of the study, and of its folder.
    pub(crate) name: String,
    /// Tells it from every other one.
    pub(crate) fingerprint: String,
}

impl Series {
    /// The series of a command line; `others` are the further settings that change what is measured.
    pub(crate) fn new(workload: Workload, load: Load, others: &str) -> Self {
        // Parameters that are given with their defaults are the same as those left out.
        let fingerprint = plan::fingerprint(&format!("{:?} {}{others}", workload.plan.parameters(), load.text()));
        let name = format!("{}-{}-{}", workload.name, load.connections, &fingerprint[..8]);
        Self { workload, load, name, fingerprint }
    }

    fn question(&self) -> String {
        let (kind, name) = (self.workload.plan.kind.name, &self.workload.name);
        let what = if name == kind { name.clone() } else { format!("{kind} {name}") };
        format!("perbuck {what} with {} threads", self.load.connections)
    }

    /// The study with these databases and so many runs of each.
    pub(crate) fn study(&self, members: &[Member], trials: u32) -> Study {
        let Workload { name, parameters, plan } = &self.workload;
        let contenders = members.iter().map(|m| (m.name.as_str(), m.address.as_str()));
        Study::collected((&self.name, &self.question()), contenders, (name, plan.kind), parameters, self.load.sweep(trials))
    }

    /// The text of that study, for its folder.
    pub(crate) fn text(&self, members: &[Member], trials: u32) -> String {
        let mut text = format!("schema = 1\nname = \"{}\"\nquestion = \"{}\"\n\n", self.name, self.question());
        for member in members {
            let address = toml(&Scalar::Text(member.address.clone()));
            let _ = writeln!(text, "[[contender]]\nname = \"{}\"\ntarget = {address}\n", member.name);
        }
        let _ = writeln!(text, "[[workload]]\nname = \"{}\"\nkind = \"{}\"", self.workload.name, self.workload.plan.kind.name);
        for (key, value) in &self.workload.parameters {
            // Without the quotes a point would make a table, and a space is no part of a key.
            let bare = key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
            let key = if bare { key.clone() } else { toml(&Scalar::Text(key.clone())) };
            let _ = writeln!(text, "{key} = {}", toml(value));
        }
        let _ = write!(text, "\n{}trials = {trials}\n", self.load.text());
        text
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

/// Holds a series against the study that is read from its text.
#[cfg(test)]
pub(crate) fn hold_against_its_text(series: &Series) {
    let member = |name: &str, address: &str| Member { name: name.to_owned(), address: address.to_owned() };
    let members = [member("a", "mysql://u@h:1/d?tls=disabled"), member("b", "sqlite:x\"y.db")];
    let (made, text) = (series.study(&members, 3), series.text(&members, 3));
    let inputs = perbuck_lab::inputs::check("study.toml", text, None, perbuck_lab::registry::Registry::default())
        .unwrap_or_else(|problems| panic!("{problems:?}"));
    let without_lines = |study: &Study| {
        let text = format!("{study:?}");
        let parts = text.split("line: ").map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()));
        parts.collect::<Vec<_>>().join("line: ")
    };
    assert_eq!(without_lines(&made), without_lines(&inputs.study));
    assert_eq!(made.fingerprint_alone("b"), inputs.study.fingerprint_alone("b"));
    assert_eq!(format!("{:?}", inputs.plans), format!("{:?}", [&series.workload.plan]));
    assert!(inputs.targets[1].as_ref().is_some_and(|target| target.address() == "sqlite:x\"y.db"));
}
