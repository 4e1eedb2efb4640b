//! What is printed of a run: the lines of `tpcc` for its transactions, those of the queries after them, and more.

use perbuck_lab::error::LabError;
use perbuck_load::observer::SecondSeen;
use perbuck_workloads::ch::{KINDS, Options, QUERIES_PER_HOUR, is_query};

use super::lines::{self, Row};
use super::machine::{CurrentJson, RunJson};
use super::report;
use super::settings::Settings;
use crate::go_tpc::kinds::{Measured, Since};
use crate::go_tpc::layout::Span;
use crate::output::Streams;
use crate::run::{Ended, Printer, defect};
use crate::style::Style;
use crate::tpcc::printer::{Lines as OfTransactions, Reached};

/// The printer of a run.
pub(super) struct Lines<'a> {
    settings: &'a Settings,
    transactions: OfTransactions<'a>,
    since: Since,
    intervals: Vec<CurrentJson>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(settings: &'a Settings, options: &'a Options) -> Self {
        let transactions = OfTransactions::new(&settings.tpcc, &options.tpcc);
        Self { settings, transactions, since: Since::new(KINDS.len()), intervals: Vec::new() }
    }

    fn json(&self, ended: &Ended, reached: &Reached, rows: &[Row], record: Option<&str>) -> Result<String, LabError> {
        perbuck_console::json_text(&RunJson {
            transactions: self.transactions.json(ended, reached, record),
            query_streams: self.settings.streams,
            current_queries: &self.intervals,
            summary_queries: rows,
            qphh: lines::qphh(rows),
            queries_per_hour: ended.record.metric(&QUERIES_PER_HOUR),
            lag_ms: report::lag_ms(&ended.record).map_err(defect)?,
            other_than_go_tpc: report::notes(self.settings.tpcc.terminals),
        })
    }
}

impl Printer for Lines<'_> {
    fn by_kind(&self) -> bool {
        true
    }

    fn second(&mut self, seen: &SecondSeen<'_>, out: &mut dyn Streams) -> Result<(), LabError> {
        self.transactions.second(seen, out)?;
        let (output, interval_s) = (self.settings.tpcc.output, self.settings.tpcc.interval_s);
        if !self.since.add(seen, interval_s) {
            return Ok(());
        }
        let rows = lines::rows(self.since.times(&KINDS).filter(|(name, ..)| is_query(name)));
        self.since.clear();
        if output == Style::Json {
            self.intervals.push(CurrentJson { at_s: self.since.seconds, operations: rows });
            return Ok(());
        }
        out.print(&lines::block(Span::Current, &rows, output))
    }

    /// go-tpc's own lines come last.
    fn end(&self, ended: &Ended, record: Option<&str>, out: &mut dyn Streams) -> Result<(), LabError> {
        let reached = self.transactions.reached(ended)?;
        let rows = lines::rows(Measured::of(ended, is_query).map_err(defect)?.times());
        let Settings { tpcc, streams, .. } = self.settings;
        let terminals = tpcc.terminals;
        if tpcc.output == Style::Json {
            return out.print(&self.json(ended, &reached, &rows, record)?);
        }
        if *streams > 0 {
            let lag_ms = report::lag_ms(&ended.record).map_err(defect)?;
            out.print(&report::text(&ended.record, (terminals, *streams), lag_ms))?;
        }
        out.print(&self.transactions.report(&ended.record, &reached))?;
        out.print(&format!("Finished: {terminals} OLTP workers, {streams} OLAP workers\n"))?;
        out.print(&self.transactions.summary(&reached))?;
        out.print(&lines::block(Span::Summary, &rows, tpcc.output))?;
        out.print(&lines::qphh(&rows).map_or_else(String::new, |qphh| format!("QphH: {qphh:.1}\n")))
    }
}
