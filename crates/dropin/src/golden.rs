//! Fixed runs for the printers: what they print of them stands in `tests/golden/` and must not change by accident.
//! `PERBUCK_REWRITE=1` writes those files again, for a change that is meant.

use std::collections::BTreeMap;
use std::time::Duration;

use perbuck_core::histogram::Histogram;
use perbuck_core::run_record::{ErrorRecord, Flag, HistogramRecord, Interval, RunRecord, StatementCounts};
use perbuck_lab::error::LabError;
use perbuck_lab::trial::Details;
use perbuck_load::observer::{Observer, SecondSeen};
use perbuck_load::recorder::{KindSecond, Second};
use perbuck_load::stop::StopToken;
use perbuck_load::totals::{PausesSeen, TerminalTotals};

use crate::cases::histogram;
use crate::output::Streams;
use crate::run::{Ended, Live, Printer};

fn path(name: &str) -> String {
    format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A record of a real run, with trouble that it did not have.
pub(crate) fn record(name: &str, troubled: bool) -> RunRecord {
    let mut record = RunRecord::from_json(&std::fs::read_to_string(path(&format!("{name}.json"))).unwrap()).unwrap();
    if troubled {
        let error = |count, class: &str| ErrorRecord { count, class: class.to_owned(), example: format!("{class} it\nmore") };
        record.errors.extend([("mysql 1213".to_owned(), error(7, "retry")), ("client closed".to_owned(), error(2, "lost"))]);
        record.flags = vec![Flag::Aborted { count: 3 }, Flag::Gap { total_ms: 1500 }, Flag::TextStatements { count: 9 }];
        (record.health.aborted, record.health.reconnects, record.measured.retries) = (3, 2, 7);
        record.measured.window_ns += 250_000_000;
    }
    record
}

fn times(values_ms: &[u64]) -> Histogram {
    histogram(values_ms.iter().map(|ms| ms * 1_000_000))
}

fn pauses(seconds: u64) -> PausesSeen {
    let mut pauses = PausesSeen::default();
    (pauses.before.count, pauses.before.sum_ns, pauses.after.count, pauses.after.sum_ns) =
        (2, seconds * 2_000_000_000, 4, seconds * 3_000_000_000);
    pauses
}

/// What a run shows beside its record.
pub(crate) fn details(labels: [&str; 2]) -> Details {
    let terminal = |transactions, busy_ns| TerminalTotals { transactions, busy_ns, last_ended_ns: 0 };
    let latency = |label: &str, ms: &[u64]| (label.to_owned(), HistogramRecord::from_histogram(&times(ms)));
    Details {
        terminals: vec![terminal(120, 1_900_000_000), terminal(130, 1_800_000_000), terminal(119, 1_950_000_000)],
        statement_latency: BTreeMap::from([latency(labels[0], &[1, 2, 40]), latency(labels[1], &[3, 3, 3, 9])]),
        steps: Vec::new(),
        failed_latency: BTreeMap::from([latency("payment", &[5, 6])]),
        pauses: BTreeMap::from([("new_order".to_owned(), pauses(9)), ("delivery".to_owned(), pauses(1))]),
        series: None,
    }
}

/// Shows a second of warm-up and four of the window.
fn pass(watch: &mut dyn Observer) {
    watch.opens();
    for second in -1..4_i64 {
        let n = (second + 3).unsigned_abs();
        let interval =
            Interval { start_ms: second * 1000, transactions: 100 * n, errors: n, backlog: n / 3, ..Interval::default() };
        let kind = |k: u64| KindSecond {
            completed: times(&vec![n * (k + 1); (k + n) as usize]),
            failed: times(if k == 1 { &[7] } else { &[] }),
            pauses: if k == 2 { pauses(n) } else { PausesSeen::default() },
        };
        let kinds: Vec<KindSecond> = (0..27).map(kind).collect();
        let latency = times(&[n, 2 * n, 30 * n]);
        let counts = StatementCounts { read: 1400 * n, write: 400 * n, other: 200 * n, ..StatementCounts::default() };
        let second = Second { counts, reconnects: n / 2, losses: n / 2, latency, kinds, ..Second::default() };
        watch.second(&SecondSeen { interval: &interval, second: &second, in_flight: 3 });
    }
}

/// Both streams, kept.
#[derive(Default)]
pub(crate) struct Kept {
    out: String,
    err: String,
}

impl Streams for Kept {
    fn print(&mut self, text: &str) -> Result<(), LabError> {
        self.out += text;
        Ok(())
    }

    fn say(&mut self, text: &str) {
        self.err += text;
        self.err += "\n";
    }
}

/// Shows a run to a printer: its seconds, and its end.
pub(crate) fn show(printer: &mut dyn Printer, kept: &mut Kept, record: RunRecord, details: Details, early: bool) -> Ended {
    let mut live = Live { printer, out: kept, shown: Ok(()), stop: StopToken::default() };
    pass(&mut live);
    live.shown.unwrap();
    let ended = Ended { record, details, took: Duration::from_millis(61_234), early };
    printer.end(&ended, Some("results/x/001.json"), kept).unwrap();
    ended
}

/// Holds what each command line prints of a run against the file of that name.
pub(crate) fn hold(name: &str, cases: &[&str], show: impl Fn(&[&str], &mut Kept)) {
    let mut text = String::new();
    for case in cases {
        let mut kept = Kept::default();
        show(&case.split(' ').collect::<Vec<_>>(), &mut kept);
        let said: String = kept.err.lines().map(|line| format!("! {line}\n")).collect();
        text += &format!("$ {case}\n{}{said}", kept.out).replace(env!("CARGO_PKG_VERSION"), "VERSION");
    }
    let path = path(&format!("{name}.txt"));
    if std::env::var_os("PERBUCK_REWRITE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap();
    assert_eq!(known.lines().zip(text.lines()).find(|(a, b)| a != b), None);
    assert_eq!(known, text);
}
