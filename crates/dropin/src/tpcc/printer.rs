//! What is printed of a run: go-tpc's lines while it goes on and at its end, and more. `ch` prints them of its transactions.

use perbuck_core::run_record::{RunRecord, TransactionRecord};
use perbuck_lab::error::LabError;
use perbuck_load::observer::SecondSeen;
use perbuck_workloads::tpcc::audit::{Audit, DISCLOSURE, Ran, audit};
use perbuck_workloads::tpcc::{KINDS, Options, TPMC, compat_notes};

use super::lines::{self, Row, Wait};
use super::machine::{self, CurrentJson, RunJson};
use super::report;
use super::settings::Settings;
use crate::go_tpc::flag_text;
use crate::go_tpc::kinds::{Measured, Since};
use crate::go_tpc::layout::Span;
use crate::output::Streams;
use crate::run::{Ended, Printer, defect};
use crate::style::Style;

/// The printer of a run.
pub(crate) struct Lines<'a> {
    settings: &'a Settings,
    options: &'a Options,
    since: Since,
    intervals: Vec<CurrentJson>,
}

/// What a run reached.
pub(crate) struct Reached {
    rows: Vec<Row>,
    waits: Vec<Wait>,
    audit: Audit,
    tpmc: f64,
    tpm_total: f64,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(settings: &'a Settings, options: &'a Options) -> Self {
        Self { settings, options, since: Since::new(KINDS.len()), intervals: Vec::new() }
    }

    pub(crate) fn reached(&self, ended: &Ended) -> Result<Reached, LabError> {
        let run = &ended.record;
        let seconds = run.measured.window_ns as f64 / 1e9;
        let rows = lines::rows(Measured::of(ended, |kind| KINDS.contains(&kind)).map_err(defect)?.times(), seconds);
        let waits = lines::waits(ended.details.pauses.iter().map(|(name, pauses)| (name.as_str(), *pauses)));
        let Options { warehouses, wait: waited, .. } = *self.options;
        let ran = Ran { warehouses, waited, window_ns: run.measured.window_ns };
        let audit = audit(&run.measured.transactions, ran).map_err(defect)?;
        Ok(Reached { rows, waits, audit, tpmc: run.metric(&TPMC), tpm_total: tpm_total(run) })
    }

    pub(crate) fn json<'b>(&'b self, ended: &'b Ended, reached: &'b Reached, record: Option<&'b str>) -> RunJson<'b> {
        let (run, Reached { rows, waits, audit, tpmc, tpm_total }) = (&ended.record, reached);
        RunJson {
            perbuck: env!("CARGO_PKG_VERSION"),
            parameters: &run.workload.parameters,
            target: &run.target.address,
            threads: self.settings.terminals,
            seed: self.settings.seed,
            warmup_s: run.load.warmup_ns as f64 / 1e9,
            measured_s: run.measured.window_ns as f64 / 1e9,
            current: &self.intervals,
            summary: rows,
            waits_s: machine::waits(waits),
            tpmc: *tpmc,
            tpm_total: *tpm_total,
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
        }
    }

    /// What is said above go-tpc's own lines.
    pub(crate) fn report(&self, run: &RunRecord, reached: &Reached) -> String {
        let flags: Vec<String> = run.flags.iter().map(flag_text).collect();
        report::text(&reached.audit, run, &flags, compat_notes(self.options), self.settings.seed)
    }

    /// go-tpc's own lines of the end.
    pub(crate) fn summary(&self, reached: &Reached) -> String {
        let (output, Reached { rows, waits, audit, tpmc, tpm_total }) = (self.settings.output, reached);
        let closing = if self.settings.summary {
            lines::closing_of_2020(*tpmc, output)
        } else {
            lines::closing(*tpmc, *tpm_total, audit.efficiency.percent, output)
        };
        lines::block(Span::Summary, rows, output) + &lines::wait_block(Span::Summary, waits, output) + &closing
    }
}

impl Printer for Lines<'_> {
    fn by_kind(&self) -> bool {
        true
    }

    fn second(&mut self, seen: &SecondSeen<'_>, out: &mut dyn Streams) -> Result<(), LabError> {
        let Settings { summary, output, interval_s, .. } = *self.settings;
        if !self.since.add(seen, interval_s) {
            return Ok(());
        }
        let (span, takes_s) = if summary { (Span::Summary, self.since.seconds) } else { (Span::Current, interval_s) };
        let rows = lines::rows(self.since.times(KINDS), f64::from(takes_s));
        let waits = lines::waits(KINDS.iter().copied().zip(&self.since.kinds).map(|(name, kind)| (name, kind.pauses)));
        if !summary {
            self.since.clear();
        }
        if output == Style::Json {
            // Totals are no intervals, and the document ends with the total.
            if !summary {
                self.intervals.push(CurrentJson::of(self.since.seconds, rows, &waits));
            }
            return Ok(());
        }
        out.print(&(lines::block(span, &rows, output) + &lines::wait_block(span, &waits, output)))
    }

    /// go-tpc's own lines come last.
    fn end(&self, ended: &Ended, record: Option<&str>, out: &mut dyn Streams) -> Result<(), LabError> {
        let reached = self.reached(ended)?;
        if self.settings.output == Style::Json {
            return out.print(&perbuck_console::json_text(&self.json(ended, &reached, record))?);
        }
        out.print(&self.report(&ended.record, &reached))?;
        out.print("Finished\n")?;
        out.print(&self.summary(&reached))
    }
}

/// Transactions of TPC-C a minute; there may be others beside them.
fn tpm_total(run: &RunRecord) -> f64 {
    let kinds = KINDS.iter().filter_map(|kind| run.measured.transactions.get(*kind));
    let completed: u64 = kinds.map(TransactionRecord::completed).sum();
    let seconds = run.measured.window_ns as f64 / 1e9;
    if seconds > 0.0 { completed as f64 / seconds * 60.0 } else { 0.0 }
}
