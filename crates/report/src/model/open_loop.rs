//! What an open loop adds: what was offered and what was completed, wait beside service, and which rates were not kept.

use std::collections::BTreeMap;

use perbuck_core::compare::WorkloadResult;
use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::{Flag, HistogramRecord, RunRecord, TransactionRecord};
use perbuck_core::units::{duration_text, thousands, total};

use super::Context;
use super::levels::points_of;
use crate::document::{Block, Table};
use crate::escape::clean;
use crate::number::{ABSENT, column_decimals, fixed, or_absent};

/// Whether the target could not keep the rate of a trial.
pub(super) fn overloaded(record: &RunRecord) -> bool {
    record.flags.iter().any(|f| matches!(f, Flag::Overloaded { .. }))
}

/// What stands before the percentiles of these trials: `≥ ` where one of them is overloaded.
pub(super) fn bound(trials: &[&RunRecord]) -> &'static str {
    if trials.iter().any(|r| overloaded(r)) { "≥ " } else { "" }
}

/// Percentiles of all histograms together; `None` where one cannot be read or all are empty.
pub(super) fn percentiles<'a, const N: usize>(
    histograms: impl IntoIterator<Item = &'a HistogramRecord>,
    percents: [f64; N],
) -> Option<[u64; N]> {
    let mut merged = Histogram::new();
    for record in histograms {
        merged.merge(&record.to_histogram().ok()?);
    }
    (merged.count() > 0).then(|| percents.map(|p| merged.percentile_ns(p).unwrap_or(0)))
}

pub(super) fn completed(kinds: &BTreeMap<String, TransactionRecord>) -> u64 {
    total(kinds.values().map(TransactionRecord::completed))
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Counts {
    seconds: f64,
    offered: u64,
    completed: u64,
    /// The most that waited at the end of a trial.
    waiting: u64,
    /// The most that were due and had not ended at the end of a trial.
    unfinished: u64,
}

impl Counts {
    fn of(trials: &[&RunRecord]) -> Self {
        let mut sum = Self::default();
        for r in trials {
            let Some(open) = &r.measured.open_loop else { continue };
            sum.seconds += r.measured.window_ns as f64 / 1e9;
            sum.offered = total([sum.offered, open.offered]);
            sum.completed = total([sum.completed, completed(&r.measured.transactions)]);
            sum.waiting = sum.waiting.max(open.backlog_at_close);
            sum.unfinished = sum.unfinished.max(open.unfinished.count);
        }
        sum
    }

    /// Completed per offered transaction, in percent.
    fn share(&self) -> String {
        let share = || format!("{} %", fixed(self.completed as f64 / self.offered as f64 * 100.0, 1));
        or_absent((self.offered > 0).then(share))
    }

    fn per_second(&self, count: u64) -> f64 {
        if self.seconds > 0.0 { count as f64 / self.seconds } else { f64::NAN }
    }
}

/// What was offered and completed, and where a target could not keep the rate; empty for a closed loop.
pub(super) fn offered(all: &Context<'_>) -> Vec<Block> {
    if !all.study.sweep.is_open() {
        return Vec::new();
    }
    let mut blocks = Vec::new();
    let lost = not_kept(all);
    if !lost.is_empty() {
        blocks.push(Block::Note(
            "Not every rate was kept. Where less than 99 % of what was due in a window ended in it while more waited, the throughput is \
             what the target could do at most with these connections (its capacity), and the percentiles of response time are lower \
             bounds (≥)."
                .to_owned(),
        ));
        blocks.push(Block::List(lost));
    }
    blocks.extend(all.measured().iter().map(|w| Block::Table(offered_table(all, w))));
    blocks
}

/// One sentence for each contender and point whose rate was not kept.
fn not_kept(all: &Context<'_>) -> Vec<String> {
    let mut out = Vec::new();
    for w in all.measured() {
        for (level, name, trials) in points_of(all, w) {
            let over: Vec<&RunRecord> = trials.iter().copied().filter(|r| overloaded(r)).collect();
            if over.is_empty() {
                continue;
            }
            let counts = Counts::of(&over);
            let rate = counts.per_second(counts.completed);
            let asked = match all.study.sweep.phases.is_empty() {
                true => all.words().at(level),
                false => "the rates of all phases".to_owned(),
            };
            out.push(format!(
                "{}: {} could not keep {} in {} of {} trials: it completed {} per second ({} of what was due), and up to {} \
                 transactions had not ended at the end of a trial.",
                clean(&w.workload),
                all.label(name),
                asked,
                over.len(),
                trials.len(),
                fixed(rate, column_decimals([rate])),
                counts.share(),
                thousands(counts.unfinished)
            ));
        }
    }
    out
}

fn offered_table(all: &Context<'_>, w: &WorkloadResult) -> Table {
    let caption = format!("{}: what was offered and what was completed", clean(&w.workload));
    let heads = format!(
        "{} | Contender | #Due per second | #Completed per second | #Completed ÷ due | \
        #Waiting at the end, at most | Rate kept",
        all.words().head
    );
    let mut table = Table::new(caption, &heads);
    let points = points_of(all, w);
    let rates = |counts: Counts| [counts.per_second(counts.offered), counts.per_second(counts.completed)];
    let decimals = column_decimals(points.iter().flat_map(|(_, _, trials)| rates(Counts::of(trials))));
    for (level, name, trials) in points {
        let counts = Counts::of(&trials);
        let over = trials.iter().filter(|r| overloaded(r)).count();
        let kept = match over {
            _ if counts.seconds == 0.0 => ABSENT.to_owned(),
            0 => "yes".to_owned(),
            n if n == trials.len() => "no".to_owned(),
            n => format!("no in {n} of {} trials", trials.len()),
        };
        let [due, completed] = rates(counts).map(|v| fixed(v, decimals));
        let waiting = or_absent((counts.seconds != 0.0).then(|| thousands(counts.waiting)));
        table.add([thousands(level.into()), all.label(name), due, completed, counts.share(), waiting, kept]);
    }
    table
}

pub(super) fn explanation(all: &Context<'_>) -> String {
    let mut text = "Response time runs from the intended start of a transaction to its last answer, all attempts included: what users \
                    who arrive on their own feel. It is the wait for a free connection and then the service time, which runs from the first \
                    statement. Transactions that had not ended when the window closed count in the response time with their age then, and \
                    in neither wait nor service time. Failed transactions were given up and have no time; retries are attempts beyond the \
                    first."
        .to_owned();
    if all.records.iter().any(overloaded) {
        text += " Values marked ≥ are lower bounds: the target did not keep the rate, and transactions still waited at the end.";
    }
    text
}

/// Wait and service time of the transactions that completed.
pub(super) fn wait_table(all: &Context<'_>, w: &WorkloadResult) -> Table {
    let caption = format!("{}: wait and service time of the transactions that completed", clean(&w.workload));
    let heads = format!(
        "{} | Contender | #Wait p50 | #Wait p95 | #Wait p99 | #Service time p50 | #Service time p95 | \
        #Service time p99",
        all.words().head
    );
    let mut table = Table::new(caption, &heads);
    for (level, name, trials) in points_of(all, w) {
        let times = |of: fn(&TransactionRecord) -> &HistogramRecord| {
            let kinds = trials.iter().flat_map(|r| r.measured.transactions.values());
            let found = percentiles(kinds.map(of), [50.0, 95.0, 99.0]);
            found.map_or_else(|| [ABSENT; 3].map(str::to_owned), |times| times.map(duration_text))
        };
        let names = [thousands(level.into()), all.label(name)];
        table.add(names.into_iter().chain(times(|t| &t.wait)).chain(times(|t| &t.service)));
    }
    table
}
