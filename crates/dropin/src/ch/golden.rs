use perbuck_core::run_record::{HistogramRecord, TransactionRecord};
use perbuck_workloads::ch::LAG;

use super::plan::Sessions;
use super::*;
use crate::cases::{histogram, words};
use crate::flags::Given;
use crate::golden::{Kept, details, hold, record, show};
use crate::refused::Refused;

pub(super) fn read(line: &[&str]) -> Result<Given, Refused> {
    TABLE.read(&words(line))
}

/// Queries and lags of a run, in milliseconds.
fn kind(name: &str, times_ms: &[u64]) -> (String, TransactionRecord) {
    let service = HistogramRecord::from_histogram(&histogram(times_ms.iter().map(|ms| ms * 1_000_000)));
    (name.to_owned(), TransactionRecord { committed: times_ms.len() as u64, service, ..TransactionRecord::default() })
}

/// Prints a run of a command line, which the user ended early where it begins with `early`.
fn printed(words: &[&str], out: &mut Kept) {
    let given = read(&words[1..]).unwrap();
    let settings = Settings::read(&given).unwrap();
    let (_, options) = plan::workload(&given, Order::Run, &settings, &Sessions::default()).unwrap();
    let early = words[0] == "early";
    // The transactions of a real run, and queries beside them.
    let mut record = record("tpcc", early);
    record.target.address = Connection::of(&given).unwrap().target.address();
    if settings.streams > 0 {
        let beside = [("Q1", &[40, 50][..]), ("Q10", &[1_500, 2_500]), ("Q6", &[7]), ("marker", &[1; 9]), (LAG, &[1, 1, 2, 30])];
        record.measured.transactions.extend(beside.map(|(name, times_ms)| kind(name, times_ms)));
    }
    let mut details = details(["x", "y"]);
    let failed = details.failed_latency["payment"].clone();
    details.failed_latency.insert("Q6".to_owned(), failed);
    show(&mut Lines::new(&settings, &options), out, record, details, early);
}

#[test]
fn a_run_is_printed_as_it_was() {
    let cases = [
        "whole run --warehouses=1 --time=4s --interval=2s --seed=7 -t2",
        "early run --warehouses=1 --time=1m --interval=2s --seed=7 --compat=go-tpc --output=table",
        "early run --warehouses=1 --time=1m --interval=3s --seed=7 --output=json -T3 -t4",
        "whole run --warehouses=1 --time=4s --interval=4s --seed=7 -t0",
    ];
    hold("ch", &cases, printed);
}
