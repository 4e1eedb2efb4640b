//! What is printed of a run: numbers while it goes on and at its end, and what is wrong with the data.

use std::time::Duration;

use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::Flag;
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_load::observer::SecondSeen;
use perbuck_workloads::ycsb::KINDS;

use super::report::{self, Line, Operation, go_ycsb, operations, status};
use super::settings::{Settings, Shape};
use crate::load::SECOND_NS;
use crate::output::Streams;
use crate::run::{Ended, Printer, defect};

/// What closes the properties, and the run.
pub(super) const RULE: &str = "**********************************************\n";

/// Prints the numbers since the start at every interval, as go-ycsb does: by operation, where a read-modify-write is one.
pub(super) struct Lines<'a> {
    settings: &'a Settings,
    /// Whole seconds of the window that are over.
    seconds: u32,
    kinds: Vec<Histogram>,
    completed: u64,
    /// Completed at the last status line.
    told: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(settings: &'a Settings) -> Self {
        let kinds = KINDS.iter().map(|_| Histogram::new()).collect();
        Self { settings, seconds: 0, kinds, completed: 0, told: 0 }
    }

    fn lines(&self) -> Vec<Line> {
        let mut all = Histogram::new();
        self.kinds.iter().for_each(|h| all.merge(h));
        let operations = KINDS.iter().zip(&self.kinds).map(|(name, times)| Line::timed(*name, times.clone()));
        let mut lines: Vec<Line> = operations.chain([Line::timed("TOTAL", all)]).filter(|l| l.count > 0).collect();
        lines.sort_by(|a, b| a.name.cmp(&b.name));
        lines
    }
}

impl Printer for Lines<'_> {
    fn by_kind(&self) -> bool {
        true
    }

    fn second(&mut self, seen: &SecondSeen<'_>, out: &mut dyn Streams) -> Result<(), LabError> {
        if seen.interval.start_ms < 0 {
            return Ok(());
        }
        self.seconds += 1;
        self.completed += seen.interval.transactions;
        self.kinds.iter_mut().zip(&seen.second.kinds).for_each(|(all, one)| all.merge(&one.completed));
        // What ends in the last second is part of the numbers at the end.
        let s = self.settings;
        if let Some(every) = s.status_s.filter(|every| self.seconds.is_multiple_of(*every)) {
            out.say(&status(self.seconds, self.completed, self.completed - self.told, every, &self.lines()));
            self.told = self.completed;
        }
        if s.shape == Shape::GoYcsb && self.seconds.is_multiple_of(s.interval_s) {
            out.print(&go_ycsb(&self.lines(), f64::from(self.seconds), s.style))?;
        }
        Ok(())
    }

    /// The numbers go to standard output or into the named file, remarks on them to standard error.
    fn end(&self, ended: &Ended, _record: Option<&str>, out: &mut dyn Streams) -> Result<(), LabError> {
        let (settings, record) = (self.settings, &ended.record);
        let operations = operations(record, &ended.details.statement_latency).map_err(defect)?;
        let seconds = record.measured.window_ns as f64 / 1e9;
        let values = match settings.shape {
            Shape::GoYcsb => {
                out.print(&format!("{RULE}Run finished, takes {}\n", duration(ended.took)))?;
                go_ycsb(&report::lines(&operations), seconds, settings.style)
            }
            Shape::Ycsb => report::ycsb(&operations, seconds, settings),
        };
        match &settings.output_file {
            Some(path) => std::fs::write(path, values).map_err(|e| LabError::file("write the numbers to", path, &e))?,
            None => out.print(&values)?,
        }
        for (code, error) in &record.errors {
            out.say(&format!("perbuck: {} errors {code}: {}", error.count, error.example));
        }
        // A handful of operations account for little of the time of their connections. Missing and wrong rows are told of by
        // `verdict`.
        let brief = record.measured.window_ns < SECOND_NS;
        let told = |f: &&Flag| matches!(f, Flag::WrongRows { .. }) || (brief && matches!(f, Flag::LittlesLaw { .. }));
        for flag in record.flags.iter().filter(|f| !told(f)) {
            out.say(&format!("perbuck: {}", flag.text()));
        }
        Ok(())
    }
}

/// What is wrong with the data, if anything: what YCSB's programs let pass.
pub(super) fn verdict(settings: &Settings, ended: &Ended, out: &mut dyn Streams) -> Result<(), LabError> {
    let operations = operations(&ended.record, &ended.details.statement_latency).map_err(defect)?;
    let sum = |fact: &str| operations.iter().map(|o: &Operation| o.fact(fact)).sum::<u64>();
    let (missing, wrong, duplicate) = (sum("missing"), sum("wrong"), sum("duplicate"));
    if duplicate > 0 {
        let message = format!("{duplicate} keys existed already; their rows were left as they are");
        return Err(LabError::new(ErrorKind::Failed, message, "-p dropdata=true drops the table before the load"));
    }
    if missing + wrong == 0 {
        return Ok(());
    }
    let message = format!("{missing} operations did not find a row that must be there, and {wrong} found wrong rows");
    if settings.options.dataintegrity {
        let help = "load the table again with the properties of this run, above all its dataintegrity and compat";
        return Err(LabError::new(ErrorKind::Failed, message, help));
    }
    out.say(&format!(
        "perbuck: {message}\n    recordcount must be that of the load, and compat that of the program that loaded the table"
    ));
    Ok(())
}

/// A duration as Go prints it.
pub(super) fn duration(took: Duration) -> String {
    let seconds = took.as_secs_f64();
    match took.as_secs() {
        0 => format!("{:.6}ms", seconds * 1000.0),
        1..=59 => format!("{seconds:.9}s"),
        60..=3599 => format!("{}m{:.9}s", took.as_secs() / 60, seconds % 60.0),
        whole => format!("{}h{}m{:.9}s", whole / 3600, whole % 3600 / 60, seconds % 60.0),
    }
}
