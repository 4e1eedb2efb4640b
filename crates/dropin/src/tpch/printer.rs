//! What is printed of a run: go-tpc's lines while it goes on and at its end, and more.

use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::{HistogramRecord, RunRecord};
use perbuck_lab::error::LabError;
use perbuck_lab::trial::Details;
use perbuck_load::observer::SecondSeen;
use perbuck_load::recorder::KindSecond;
use perbuck_workloads::tpch::{KINDS, QUERIES_PER_HOUR};

use super::lines::{self, Row};
use super::machine::{CurrentJson, RunJson};
use super::report;
use super::settings::Settings;
use crate::go_tpc::flag_text;
use crate::go_tpc::layout::Span;
use crate::output::Streams;
use crate::run::{Ended, Printer, defect};
use crate::style::Style;

/// The printer of a run.
pub(super) struct Lines<'a> {
    settings: &'a Settings,
    /// Whole seconds of the window that are over.
    seconds: u32,
    /// By kind since the last lines.
    kinds: Vec<KindSecond>,
    intervals: Vec<CurrentJson>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(settings: &'a Settings) -> Self {
        Self { settings, seconds: 0, kinds: vec![KindSecond::default(); KINDS.len()], intervals: Vec::new() }
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
        if seen.interval.start_ms < 0 {
            return Ok(());
        }
        self.seconds += 1;
        for (all, kind) in self.kinds.iter_mut().zip(&seen.second.kinds) {
            all.completed.merge(&kind.completed);
            all.failed.merge(&kind.failed);
        }
        let Settings { output, interval_s, .. } = *self.settings;
        if !self.seconds.is_multiple_of(interval_s) {
            return Ok(());
        }
        let kinds = KINDS.iter().copied().zip(&self.kinds).filter(|(name, _)| name.starts_with('Q'));
        let rows = lines::rows(kinds.map(|(name, kind)| (name, &kind.completed, &kind.failed)));
        self.kinds.fill(KindSecond::default());
        if output == Style::Json {
            self.intervals.push(CurrentJson { at_s: self.seconds, operations: rows });
            return Ok(());
        }
        out.print(&lines::block(Span::Current, &rows, output))
    }

    /// go-tpc's own lines come last.
    fn end(&self, ended: &Ended, record: Option<&str>, out: &mut dyn Streams) -> Result<(), LabError> {
        let (output, run) = (self.settings.output, &ended.record);
        let rows = rows(run, &ended.details).map_err(defect)?;
        if output == Style::Json {
            return out.print(&self.json(ended, &rows, record)?);
        }
        let flags: Vec<String> = run.flags.iter().map(flag_text).collect();
        out.print(&report::text(&rows, run, &flags, self.settings.check))?;
        out.print("Finished\n")?;
        out.print(&lines::block(Span::Summary, &rows, output))
    }
}

fn rows(record: &RunRecord, details: &Details) -> Result<Vec<Row>, String> {
    let mut kinds = Vec::new();
    for (name, transactions) in &record.measured.transactions {
        let failed = details.failed_latency.get(name).map(HistogramRecord::to_histogram).transpose();
        let failed = failed.map_err(|e| format!("{name}: {e}"))?.unwrap_or_else(Histogram::new);
        kinds.push((name.as_str(), transactions.service.to_histogram().map_err(|e| format!("{name}: {e}"))?, failed));
    }
    Ok(lines::rows(kinds.iter().map(|(name, completed, failed)| (*name, completed, failed))))
}
