//! What is printed of a run: go-tpc's lines while it goes on and at its end, and more.

use perbuck_core::histogram::Histogram;
use perbuck_core::metric::TPS;
use perbuck_core::run_record::{HistogramRecord, RunRecord};
use perbuck_lab::error::LabError;
use perbuck_lab::trial::Details;
use perbuck_load::observer::SecondSeen;
use perbuck_load::recorder::KindSecond;
use perbuck_workloads::tpcc::audit::{Audit, DISCLOSURE, Ran, audit};
use perbuck_workloads::tpcc::{KINDS, Options, TPMC, compat_notes};

use super::lines::{self, Row, Wait};
use super::machine::{self, CurrentJson, RunJson};
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
    options: &'a Options,
    /// Whole seconds of the window that are over.
    seconds: u32,
    /// By kind since the last lines, or since the start where they are totals.
    kinds: Vec<KindSecond>,
    intervals: Vec<CurrentJson>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(settings: &'a Settings, options: &'a Options) -> Self {
        Self { settings, options, seconds: 0, kinds: vec![KindSecond::default(); KINDS.len()], intervals: Vec::new() }
    }

    fn json(&self, ended: &Ended, rows: &[Row], waits: &[Wait], audit: &Audit, record: Option<&str>) -> Result<String, LabError> {
        let run = &ended.record;
        perbuck_console::json_text(&RunJson {
            perbuck: env!("CARGO_PKG_VERSION"),
            parameters: &run.workload.parameters,
            target: &run.target.address,
            threads: self.settings.load.connections,
            seed: self.settings.seed,
            warmup_s: run.load.warmup_ns as f64 / 1e9,
            measured_s: run.measured.window_ns as f64 / 1e9,
            current: &self.intervals,
            summary: rows,
            waits_s: machine::waits(waits),
            tpmc: run.metric(&TPMC),
            tpm_total: run.metric(&TPS) * 60.0,
            efficiency: audit.efficiency.percent,
            efficiency_meaning: audit.efficiency.meaning,
            audit: audit.values.iter().map(Into::into).collect(),
            disclosure: DISCLOSURE,
            retries: run.measured.retries,
            errors_by_code: &run.errors,
            aborted: run.health.aborted,
            flags: run.flags.iter().map(flag_text).collect(),
            notes: compat_notes(self.options),
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
            all.pauses.merge(&kind.pauses);
        }
        if !self.seconds.is_multiple_of(self.settings.interval_s) {
            return Ok(());
        }
        let kinds = || KINDS.iter().copied().zip(&self.kinds);
        let Settings { summary, output, interval_s, .. } = *self.settings;
        let (span, takes_s) = if summary { (Span::Summary, self.seconds) } else { (Span::Current, interval_s) };
        let rows = kinds().map(|(name, kind)| (name, &kind.completed, &kind.failed));
        let rows = lines::rows(rows, f64::from(takes_s));
        let waits = lines::waits(kinds().map(|(name, kind)| (name, kind.pauses)));
        if !summary {
            self.kinds.fill(KindSecond::default());
        }
        if output == Style::Json {
            // Totals are no intervals, and the document ends with the total.
            if !summary {
                self.intervals.push(CurrentJson::of(self.seconds, rows, &waits));
            }
            return Ok(());
        }
        out.print(&(lines::block(span, &rows, output) + &lines::wait_block(span, &waits, output)))
    }

    /// go-tpc's own lines come last.
    fn end(&self, ended: &Ended, record: Option<&str>, out: &mut dyn Streams) -> Result<(), LabError> {
        let (output, run) = (self.settings.output, &ended.record);
        let rows = rows(run, &ended.details).map_err(defect)?;
        let waits = lines::waits(ended.details.pauses.iter().map(|(name, pauses)| (name.as_str(), *pauses)));
        let Options { warehouses, wait: waited, .. } = *self.options;
        let ran = Ran { warehouses, waited, window_ns: run.measured.window_ns };
        let audit = audit(&run.measured.transactions, ran).map_err(defect)?;
        if output == Style::Json {
            return out.print(&self.json(ended, &rows, &waits, &audit, record)?);
        }
        let (tpmc, tpm_total) = (run.metric(&TPMC), run.metric(&TPS) * 60.0);
        let flags: Vec<String> = run.flags.iter().map(flag_text).collect();
        out.print(&report::text(&audit, run, &flags, compat_notes(self.options), self.settings.seed))?;
        out.print("Finished\n")?;
        out.print(&lines::block(Span::Summary, &rows, output))?;
        out.print(&lines::wait_block(Span::Summary, &waits, output))?;
        out.print(&if self.settings.summary {
            lines::closing_of_2020(tpmc, output)
        } else {
            lines::closing(tpmc, tpm_total, audit.efficiency.percent, output)
        })
    }
}

fn rows(record: &RunRecord, details: &Details) -> Result<Vec<Row>, String> {
    let mut kinds = Vec::new();
    for (name, transactions) in &record.measured.transactions {
        let failed = details.failed_latency.get(name).map(HistogramRecord::to_histogram).transpose();
        let failed = failed.map_err(|e| format!("{name}: {e}"))?.unwrap_or_else(Histogram::new);
        kinds.push((name.as_str(), transactions.service.to_histogram().map_err(|e| format!("{name}: {e}"))?, failed));
    }
    let seconds = record.measured.window_ns as f64 / 1e9;
    Ok(lines::rows(kinds.iter().map(|(name, completed, failed)| (*name, completed, failed)), seconds))
}
