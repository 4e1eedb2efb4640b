use std::ffi::OsString;
use std::time::Duration;

use super::*;
use crate::golden::{details, hold, pass, record};

/// Prints a run of a command line; its first word says how.
fn show(words: &[&str]) {
    let given = words::read(&words[1..].iter().map(OsString::from).collect::<Vec<_>>()).unwrap();
    let properties = Properties::read(&given).unwrap();
    let settings = Settings::read(&given, &properties, given.order().unwrap().0).unwrap();
    header(&settings, &properties).unwrap();
    let mut live = live::Live::new(&settings, &StopToken::default());
    pass(&mut live);
    live.end().unwrap();
    let mut record = record("ycsb", words[0] != "whole");
    for (kind, fact, count) in [("READ", "missing", 4), ("READ", "wrong", 2), ("INSERT", "duplicate", 3)] {
        if words[0] == "wrong"
            && let Some(transactions) = record.measured.transactions.get_mut(kind)
        {
            transactions.facts.insert(fact.to_owned(), count);
        }
    }
    let parts = if words[0] == "whole" { Default::default() } else { details(["READ", "UPDATE"]).statement_latency };
    let operations = report::operations(&record, &parts).unwrap();
    let ended = run::Ended { record, operations, took: Duration::from_millis(61_234) };
    run::show(&settings, &ended).unwrap();
    if let Some(error) = verdict(&settings, &ended.operations) {
        failed(error.words().0, error.words().1);
    }
}

#[test]
fn a_run_is_printed_as_it_was() {
    let cases = [
        "whole run mysql -P workloadf -p recordcount=30 --seed=7 -p measurement.interval=2 -p mysql.password=x -s -p status.interval=2",
        "parts run sqlite -P workloadf -p recordcount=30 --seed=7 -p measurement.interval=1 -p outputstyle=table --target=300",
        "wrong run sqlite -P workloadf -p recordcount=30 --seed=7 -p outputstyle=json -p dataintegrity=true -p fieldlengthdistribution=constant",
        "wrong run sqlite -P workloadf -p recordcount=30 --seed=7 --shape=ycsb -p hdrhistogram.percentiles=1,2,3,11,50,99.9",
        "whole load postgres -P workloadf -p recordcount=30 --seed=7 -p measurement.interval=3",
    ];
    hold("ycsb::golden::a_run_is_printed_as_it_was", &cases, show);
}
