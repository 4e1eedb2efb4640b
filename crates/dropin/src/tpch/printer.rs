//! What is printed of a run: go-tpc's lines while it goes on and at its end, and more.

use perbuck_lab::error::LabError;
use perbuck_load::observer::SecondSeen;
use perbuck_workloads::tpch::{KINDS, QUERIES_PER_HOUR};

use super::lines::{self, Row};
use super::machine::{CurrentJson, RunJson};
use super::report;
use super::settings::Settings;
use crate::go_tpc::flag_text;
use crate::go_tpc::kinds::{Measured, Since};
use crate::go_tpc::layout::Span;
use crate::output::Streams;
use crate::run::{Ended, Printer, defect};
use crate::style::Style;

/// The printer of a run.
pub(super) struct Lines<'a> {
    settings: &'a Settings,
    since: Since,
    intervals: Vec<CurrentJson>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(settings: &'a Settings) -> Self {
        Self { settings, since: Since::new(KINDS.len()), intervals: Vec::new() }
    }

    fn json(&self, ended: &Ended, rows: &[Row], record: Option<&str>) -> Result<String, LabError> {
        let run = &ended.record;
        let right = run.measured.transactions.values().filter_map(|t| t.facts.get("answers_checked")).sum();
        perbuck_console::json_text(&RunJson {
            perbuck: env!("CARGO_PKG_VERSION"),
            parameters: &run.workload.parameters,
            target: &run.target.address,
            threads: self.settings.load.connections,
            warmup_s: run.load.warmup_ns as f64 / 1e9,
            measured_s: run.measured.window_ns as f64 / 1e9,
            current: &self.intervals,
            summary: rows,
            queries_per_hour: run.metric(&QUERIES_PER_HOUR),
            right_answers: right,
            disclosure: report::DISCLOSURE,
            errors_by_code: &run.errors,
            aborted: run.health.aborted,
            flags: run.flags.iter().map(flag_text).collect(),
            notes: report::notes(self.settings.check),
            interrupted: ended.early,
            record,
        })
    }
}

impl Printer for Lines<'_> {
    fn by_kind(&self) -> bool {
        true
    }

    fn second(&mut self, seen: &SecondSeen<'_>, out: &mut dyn Streams) -> Result<(), LabError> {
        let Settings { output, interval_s, .. } = *self.settings;
        if !self.since.add(seen, interval_s) {
            return Ok(());
        }
        let rows = lines::rows(self.since.times(&KINDS).filter(|(name, ..)| name.starts_with('Q')));
        self.since.clear();
        if output == Style::Json {
            self.intervals.push(CurrentJson { at_s: self.since.seconds, operations: rows });
            return Ok(());
        }
        out.print(&lines::block(Span::Current, &rows, output))
    }

    /// go-tpc's own lines come last.
    fn end(&self, ended: &Ended, record: Option<&str>, out: &mut dyn Streams) -> Result<(), LabError> {
        let (output, run) = (self.settings.output, &ended.record);
        let rows = lines::rows(Measured::of(ended, |_| true).map_err(defect)?.times());
        if output == Style::Json {
            return out.print(&self.json(ended, &rows, record)?);
        }
        let flags: Vec<String> = run.flags.iter().map(flag_text).collect();
        out.print(&report::text(&rows, run, &flags, self.settings.check))?;
        out.print("Finished\n")?;
        out.print(&lines::block(Span::Summary, &rows, output))
    }
}
