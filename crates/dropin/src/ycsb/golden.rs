use super::*;
use crate::cases;
use crate::golden::{Kept, details, hold, record, show};
use crate::refused::Refused;

pub(super) fn properties(line: &[&str]) -> Result<Properties, Refused> {
    Properties::read(&words::read(&cases::words(line))?)
}

pub(super) fn settings(line: &[&str]) -> Result<Settings, Refused> {
    let given = words::read(&cases::words(line))?;
    Settings::read(&given, &Properties::read(&given)?, given.order()?.0)
}

/// Prints a run of a command line; its first word says how.
fn printed(words: &[&str], out: &mut Kept) {
    let (properties, settings) = (properties(&words[1..]).unwrap(), settings(&words[1..]).unwrap());
    header(&settings, &properties, out).unwrap();
    let mut record = record("ycsb", words[0] != "whole");
    for (kind, fact, count) in [("READ", "missing", 4), ("READ", "wrong", 2), ("INSERT", "duplicate", 3)] {
        if words[0] == "wrong"
            && let Some(transactions) = record.measured.transactions.get_mut(kind)
        {
            transactions.facts.insert(fact.to_owned(), count);
        }
    }
    let mut details = details(["READ", "UPDATE"]);
    if words[0] == "whole" {
        details.statement_latency.clear();
    }
    let ended = show(&mut Lines::new(&settings), out, record, details, false);
    if let Err(error) = verdict(&settings, &ended, out) {
        out.say(&format!("error: {}\n    help: {}", error.words().0, error.words().1));
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
    hold("ycsb", &cases, printed);
}
