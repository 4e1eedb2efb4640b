use super::*;
use crate::cases::words;
use crate::golden::{Kept, details, hold, record, show};
use crate::refused::Refused;

pub(super) fn read(line: &[&str]) -> Result<Given, Refused> {
    TABLE.read(&words(line))
}

/// Prints a run of a command line, which the user ended early where it begins with `early`.
fn printed(words: &[&str], out: &mut Kept) {
    let given = read(&words[1..]).unwrap();
    let settings = Settings::read(&given).unwrap();
    let early = words[0] == "early";
    let mut record = record("tpch", early);
    record.target.address = Connection::of(&given).unwrap().target.address();
    let mut details = details(["x", "y"]);
    details.failed_latency = details.failed_latency.into_values().map(|failed| ("Q6".to_owned(), failed)).collect();
    show(&mut Lines::new(&settings), out, record, details, early);
}

#[test]
fn a_run_is_printed_as_it_was() {
    let cases = [
        "whole run --sf=0.01 --queries=q1,q6,q14 --count=7 --interval=2s --check",
        "early run --sf=0.01 --time=1m --interval=2s --ignore-error",
        "whole run --sf=0.01 --time=4s --interval=2s --output=table --check",
        "early run --sf=0.01 --time=1m --interval=3s --output=json -T3",
    ];
    hold("tpch", &cases, printed);
}
