//! A command line as a study: what its record belongs to, so that `compare` and `report` can read it.

use std::fmt::Write;

use perbuck_core::plan;
use perbuck_core::study::Scalar;

use super::script::Checked;
use super::settings::Settings;
use crate::error::{CliError, Exit};
use crate::inputs::{self, Inputs};

/// How often a transaction is tried, at most; beyond it, it counts as failed and the next one begins.
pub(super) const ATTEMPTS: u32 = 1000;

/// A database in a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    /// Its name.
    pub(super) name: String,
    /// Its address.
    pub(super) address: String,
}

/// What all runs of one study have in common.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    /// The name of the study, and of its folder.
    pub(super) name: String,
    /// Tells it from every other one.
    pub(super) fingerprint: String,
    question: String,
    workload: String,
    sweep: String,
}

impl Frame {
    /// The frame of a command line: everything that decides what is measured, but for the database and the seed.
    pub(super) fn new(script: &Checked, settings: &Settings) -> Self {
        let mut workload = format!("[[workload]]\nname = \"{}\"\nkind = \"sysbench\"\n", script.options.script.name());
        for (name, value) in &script.parameters {
            let _ = writeln!(workload, "{name} = {}", toml(value));
        }
        let mut sweep =
            format!("[sweep]\ncollected = true\nconnections = [{}]\nwarmup = \"{}s\"\n", settings.threads, settings.warmup_s);
        if let Some(time_s) = settings.time_s {
            let _ = writeln!(sweep, "duration = \"{time_s}s\"");
        }
        if let Some(events) = settings.events {
            let _ = writeln!(sweep, "events = {events}");
        }
        if let Some(rate) = settings.rate {
            let _ = writeln!(sweep, "rate = [{rate}]\narrivals = \"poisson\"");
        }
        if let Some(workers) = settings.workers {
            let _ = writeln!(sweep, "workers = {workers}");
        }
        let _ = writeln!(sweep, "max_attempts = {ATTEMPTS}");
        // Parameters that are given with their defaults are the same as those left out.
        let identity = format!("{:?} {sweep} {:?}", script.plan.parameters(), settings.ignored);
        let fingerprint = plan::fingerprint(&identity);
        let name = format!("{}-{}-{}", script.options.script.name(), settings.threads, &fingerprint[..8]);
        let question = format!("perbuck sysbench {} with {} threads", script.options.script.name(), settings.threads);
        Self { name, fingerprint, question, workload, sweep }
    }

    /// The study with these databases and so many runs of each.
    ///
    /// # Errors
    /// What the reader of studies says; a defect of perbuck.
    pub(super) fn inputs(&self, members: &[Member], trials: u32) -> Result<Inputs, CliError> {
        let mut text = format!("schema = 1\nname = \"{}\"\nquestion = \"{}\"\n\n", self.name, self.question);
        for member in members {
            let address = toml(&Scalar::Text(member.address.clone()));
            let _ = writeln!(text, "[[contender]]\nname = \"{}\"\ntarget = {address}\n", member.name);
        }
        let _ = write!(text, "{}\n{}trials = {trials}\n", self.workload, self.sweep);
        inputs::check("the study of this command line", text, None).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            CliError::new(Exit::Failed, lines.join("\n"), "this is a defect of perbuck; --no-record goes on without a record")
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use std::ffi::OsString;

    use super::super::{parse::parse, script};
    use super::*;

    fn frame(words: &[&str]) -> Frame {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let given = parse(&words, &script::options(None, None)).unwrap();
        let settings = Settings::read(&given).unwrap();
        let script = script::script(&given).unwrap().0;
        Frame::new(&script::plan(&given, script, &settings, &mut Vec::new()).unwrap(), &settings)
    }

    #[test]
    fn every_command_line_is_a_study_that_can_be_read() {
        let members = [("a", "mysql://u@h:1/d?tls=disabled"), ("b", "sqlite:x\"y.db")]
            .map(|(name, address)| Member { name: name.into(), address: address.into() });
        for words in [
            &["oltp_read_write"][..],
            &["oltp_update_non_index", "--threads=10000", "--rate=5", "--time=0", "--events=7", "--warmup-time=3"],
            &["oltp_read_only", "--rand-type=pareto", "--rand-pareto-h=0.3", "--workers=2", "--skip-trx=off"],
            &["oltp_insert", "--create-table-options=COMMENT \"x\\y\""],
            &["bulk_insert", "--threads=4"],
            &["select_random_ranges", "--compat=sysbench-1.1", "--rand-type=zipfian", "--rand-zipfian-exp=2"],
        ] {
            let inputs = frame(words).inputs(&members, 3).unwrap();
            assert_eq!((inputs.study.contenders.len(), inputs.study.sweep.trials), (2, 3), "{words:?}");
            assert_eq!(inputs.targets[1].as_ref().unwrap().address(), "sqlite:x\"y.db");
        }
    }

    #[test]
    fn the_same_measurement_is_the_same_study_however_it_is_written() {
        let plain = frame(&["oltp_read_write"]);
        let same =
            frame(&["/x/oltp_read_write.lua", "--threads=1", "--tables=1", "--time=10", "--rand-seed=9", "--mysql-host=other"]);
        assert_eq!((&plain.name, &plain.fingerprint), (&same.name, &same.fingerprint));
        for other in [
            &["oltp_read_write", "--threads=2"][..],
            &["oltp_read_write", "--tables=2"],
            &["oltp_read_write", "--time=11"],
            &["oltp_read_write", "--events=11"],
            &["oltp_read_write", "--rate=11"],
            &["oltp_read_write", "--mysql-ignore-errors=all"],
            &["oltp_read_write", "--compat=sysbench-1.1"],
            &["oltp_read_only"],
        ] {
            assert_ne!(plain.fingerprint, frame(other).fingerprint, "{other:?}");
        }
    }
}
