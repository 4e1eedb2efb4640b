//! Whether the client itself was sound: its threads, its punctuality, its connections, and whether its numbers add up.

use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::{HistogramRecord, RunRecord};
use perbuck_core::steady::Settled;
use perbuck_core::units::{duration_text, thousands, total};

use super::environment::records_by_point;
use super::steady::word;
use super::{Context, paragraph};
use crate::document::{Block, Table};
use crate::escape::clean;
use crate::number::{bytes, counted, fixed, list, or_absent};

/// The client over some trials; what no record holds is absent.
#[derive(Debug, Default)]
struct Client {
    /// Share of a processor that the fullest load thread used in the worst trial.
    fullest: Option<f64>,
    lag: Option<Histogram>,
    send_lag: Option<Histogram>,
    lost: u64,
    memory: Option<u64>,
    /// Little's law where it is furthest from 1.
    law: Option<f64>,
    settled: [usize; 4],
}

/// The verdicts on steadiness in their order.
const VERDICTS: [Settled; 4] = [Settled::Settled, Settled::WarmupTooShort, Settled::Drifting, Settled::TooShortToTell];

impl Client {
    fn of<'r>(records: impl IntoIterator<Item = &'r RunRecord>) -> Self {
        let mut all = Self::default();
        for r in records {
            let h = &r.health;
            let window_ns = r.measured.window_ns.max(1) as f64;
            let fullest = h.workers.iter().map(|w| w.cpu_ns as f64 / window_ns).reduce(f64::max);
            all.fullest = all.fullest.into_iter().chain(fullest).reduce(f64::max);
            merge(&mut all.lag, &h.lag);
            merge(&mut all.send_lag, &h.send_lag);
            all.lost = total([all.lost, h.connections_lost]);
            all.memory = all.memory.max(Some(h.peak_memory_bytes).filter(|m| *m > 0));
            let off = |ratio: &f64| (ratio - 1.0).abs();
            let law = h.littles_law.map(|l| l.ratio);
            all.law = all.law.into_iter().chain(law).max_by(|a, b| off(a).total_cmp(&off(b)));
            if let Some(s) = &h.steadiness {
                all.settled[VERDICTS.iter().position(|v| *v == s.verdict).unwrap_or(0)] += 1;
            }
        }
        all
    }

    /// Whether any record says anything of it; lost connections alone have been in records from the start.
    fn is_known(&self) -> bool {
        let times = self.fullest.is_some() || self.lag.is_some() || self.send_lag.is_some();
        times || self.memory.is_some() || self.law.is_some() || self.judged() > 0
    }

    /// Starts that were late by more than a millisecond: from the histogram, since not every record has filled the counter
    /// beside it.
    fn late_sends(&self) -> u64 {
        let buckets = self.send_lag.iter().flat_map(Histogram::buckets);
        buckets.filter(|(ns, _)| *ns > 1_000_000).map(|(_, count)| count).sum()
    }

    fn judged(&self) -> usize {
        self.settled.iter().sum()
    }

    /// `2 settled, 1 drifting`.
    fn settled_text(&self) -> Option<String> {
        let each = |(n, verdict): (&usize, &Settled)| (*n > 0).then(|| format!("{n} {}", word(*verdict)));
        let parts: Vec<String> = self.settled.iter().zip(&VERDICTS).filter_map(each).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

fn merge(sum: &mut Option<Histogram>, record: &HistogramRecord) {
    if let Some(h) = Some(record).filter(|r| !r.is_empty()).and_then(|r| r.to_histogram().ok()) {
        sum.get_or_insert_with(Histogram::new).merge(&h);
    }
}

fn time(h: Option<&Histogram>, percent: f64) -> Option<String> {
    h.and_then(|h| h.percentile_ns(percent)).map(duration_text)
}

fn maximum(h: Option<&Histogram>) -> Option<String> {
    h.map(|h| duration_text(h.max_ns()))
}

fn share(value: f64) -> String {
    format!("{} %", fixed(value * 100.0, 0))
}

/// Empty where no record says anything of the client's health, as records of older versions.
pub(super) fn section(all: &Context<'_>) -> Vec<Block> {
    let whole = Client::of(all.records);
    if !whole.is_known() {
        return Vec::new();
    }
    vec![paragraph(summary(&whole)), Block::Data(table(all))]
}

fn summary(c: &Client) -> String {
    let mut parts = Vec::new();
    parts.extend(c.fullest.map(|s| format!("the fullest load thread used {} of a processor", share(s))));
    let lag = time(c.lag.as_ref(), 99.0).zip(maximum(c.lag.as_ref()));
    parts.extend(lag.map(|(p99, most)| format!("event loops woke {p99} late at the 99th percentile and {most} at most")));
    if c.send_lag.is_some() {
        let late = c.late_sends() as usize;
        let late = if late == 0 { "no transaction".to_owned() } else { counted(late, "transaction") };
        parts.push(format!("{late} started more than a millisecond late"));
    }
    parts.push(match c.lost {
        0 => "no connection was lost".to_owned(),
        1 => "1 connection was lost".to_owned(),
        n => format!("{} connections were lost", thousands(n)),
    });
    parts.extend(c.memory.map(|m| format!("perbuck held {} of memory at most", bytes(m))));
    parts.extend(c.law.map(|l| format!("Little's law gives {} where it is furthest from 1", fixed(l, 3))));
    let mut text = format!("Over all trials {}.", list(&parts));
    if let Some(settled) = c.settled_text() {
        text += &format!(" Of {}: {settled}.", counted(c.judged(), "trial"));
    }
    text
}

/// One row per point and contender; columns that no record fills are left out.
fn table(all: &Context<'_>) -> Table {
    let mut table = Table::new("Client health by point", &format!("Workload | {} | Contender", all.words().head));
    let clients: Vec<([String; 3], Client)> = records_by_point(all)
        .into_iter()
        .map(|(w, name, level, trials)| ([clean(w), thousands(level.into()), all.label(name)], Client::of(trials)))
        .collect();
    let used: Vec<&Column> = COLUMNS.iter().filter(|(_, of)| clients.iter().any(|(_, c)| of(c).is_some())).collect();
    for (head, _) in &used {
        table.column(head, *head != STEADINESS);
    }
    for (names, c) in clients {
        table.add(names.into_iter().chain(used.iter().map(|(_, of)| or_absent(of(&c)))));
    }
    table
}

/// What a column says of the client; `None` where no record does.
type Column = (&'static str, fn(&Client) -> Option<String>);

/// The only column of words.
const STEADINESS: &str = "Steadiness";

const COLUMNS: [Column; 10] = [
    ("Load thread, worst trial", |c| c.fullest.map(share)),
    ("Lag p50", |c| time(c.lag.as_ref(), 50.0)),
    ("Lag p99", |c| time(c.lag.as_ref(), 99.0)),
    ("Lag at most", |c| maximum(c.lag.as_ref())),
    ("Send lag p99", |c| time(c.send_lag.as_ref(), 99.0)),
    ("Late sends", |c| c.send_lag.as_ref().map(|_| thousands(c.late_sends()))),
    ("Lost connections", |c| c.is_known().then(|| thousands(c.lost))),
    ("Peak memory", |c| c.memory.map(bytes)),
    ("Little's law, worst trial", |c| c.law.map(|l| fixed(l, 3))),
    (STEADINESS, Client::settled_text),
];

#[cfg(test)]
mod tests {
    use perbuck_core::littles_law;
    use perbuck_core::run_record::{Health, WorkerHealth};
    use perbuck_core::steady;

    use super::*;

    /// A record that says nothing but this of its client.
    fn record(health: Health) -> RunRecord {
        let text = include_str!("../../../../docs/schema/run-record.example.json");
        let mut record = RunRecord::from_json(text).unwrap();
        record.measured.window_ns = 10_000_000_000;
        record.health = health;
        record
    }

    fn lag(values: &[u64]) -> HistogramRecord {
        let mut h = Histogram::new();
        values.iter().for_each(|v| h.record(*v));
        HistogramRecord::from_histogram(&h)
    }

    #[test]
    fn the_worst_trial_stands_for_the_point() {
        let worker = |cpu_ns| WorkerHealth { connections: 1, cpu_ns, busiest_phase: 0.0 };
        let health = |cpu: [u64; 2], n: u64, series: &[f64]| Health {
            workers: cpu.map(worker).to_vec(),
            lag: lag(&[n * 1_000_000; 100]),
            littles_law: Some(littles_law::check(10, u128::from(n) * 10_000_000, 10_000_000_000)),
            steadiness: Some(steady::judge(series, 0)),
            peak_memory_bytes: n << 20,
            connections_lost: 1,
            ..Health::default()
        };
        let a = record(health([5_000_000_000, 1], 10_000, &[5.0; 60]));
        let b = record(health([1, 8_000_000_000], 9_000, &[5.0; 10]));
        let client = Client::of([&a, &b]);
        let found = COLUMNS.map(|(_, of)| of(&client));
        let text = |i: usize| found[i].clone().unwrap_or_default();
        assert_eq!((text(0), text(6), text(8)), ("80 %".to_owned(), "2".to_owned(), "0.900".to_owned()));
        assert_eq!((text(7), text(9)), ("9.8 GiB".to_owned(), "1 settled, 1 too short to tell".to_owned()));
        assert_eq!((found[4].clone(), found[5].clone()), (None, None));
        let said = summary(&client);
        assert!(said.contains("used 80 % of a processor") && said.contains("2 connections were lost"), "{said}");
        assert!(said.ends_with("Of 2 trials: 1 settled, 1 too short to tell."), "{said}");
    }

    #[test]
    fn late_starts_are_counted_from_their_histogram() {
        let client = Client::of([&record(Health { send_lag: lag(&[10, 900_000, 1_100_000, 5_000_000]), ..Health::default() })]);
        assert_eq!(COLUMNS[5].1(&client).as_deref(), Some("2"));
        assert!(summary(&client).contains("2 transactions started more than a millisecond late"), "{}", summary(&client));
    }

    #[test]
    fn older_records_say_nothing() {
        let old = record(Health { connections_lost: 3, ..Health::default() });
        assert!(!Client::of([&old]).is_known());
    }
}
