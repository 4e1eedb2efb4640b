use perbuck_load::statement_times::StepTotals;

use super::*;
use crate::cases::words;
use crate::golden::{Kept, details, hold, record, show};

pub(super) fn read(line: &[&str]) -> Result<Given, Refused> {
    TABLE.read(&words(line))
}

/// Prints a run of a command line.
fn printed(words: &[&str], out: &mut Kept) {
    let given = read(words).unwrap();
    if let Some(text) = asked(&given).unwrap() {
        return crate::output::Streams::print(out, &text).unwrap();
    }
    let settings = Settings::read(&given).unwrap();
    let mut record = record("tpcc", false);
    // The record is of another workload; its kinds get the names of the scripts.
    let known = std::mem::take(&mut record.measured.transactions);
    for (script, (_, times)) in settings.scripts.iter().zip(known) {
        record.measured.transactions.insert(script.name.clone(), times);
    }
    let commands = workload(&settings, settings.parameters(10)).unwrap().1.commands();
    let mut details = details(["x", "y"]);
    let step = |n: u64| StepTotals { count: n % 7, sum_ns: n * n * 10_000, failures: n % 3, retries: n % 4 };
    details.steps = (0..commands.iter().map(|of_one| of_one.len() as u64).sum()).map(step).collect();
    let mut lines = Lines::new((&settings, &commands, None), 10, StopToken::default());
    // The clock of this machine is no part of what is held.
    lines.connecting = Some(std::time::Duration::from_millis(3));
    show(&mut lines, out, record, details, false);
}

#[test]
fn a_run_is_printed_as_it_was() {
    let cases = [
        "--help",
        "--version",
        "-b list",
        "--show-script=sel",
        "-c 3 -t 10",
        "-S -T 4 -P 2 -L 1.5 -M prepared",
        "-b tpcb-like@2 -b select-only -c 4 -j 2 -T 4 --max-tries=2 -P 1",
        "-N --failures-detailed -C",
        "-T 4 -R 100 --max-tries=0",
        "-r",
        "-b si@2 -S -r --max-tries=3",
    ];
    hold("pgbench", &cases, printed);
}
