use super::*;
use crate::cases::words;
use crate::golden::{Kept, details, hold, record, show};

pub(crate) fn read(line: &[&str]) -> Result<Given, Refused> {
    TABLE.read(&words(line))
}

/// Prints a run of a command line, which the user ended early where it begins with `early`.
fn printed(words: &[&str], out: &mut Kept) {
    let given = read(&words[1..]).unwrap();
    let settings = Settings::read(&given).unwrap();
    let connection = Connection::of(&given).unwrap();
    let (_, options) = plan::workload(&given, Order::Run, &settings, &connection.session).unwrap();
    let early = words[0] == "early";
    let mut record = record("tpcc", early);
    record.target.address = connection.target.address();
    show(&mut Lines::new(&settings, &options), out, record, details(["x", "y"]), early);
}

#[test]
fn a_run_is_printed_as_it_was() {
    let cases = [
        "whole run --warehouses=1 --time=4s --interval=1s --seed=7",
        "early run --warehouses=1 --time=1m --interval=2s --seed=7 --compat=go-tpc --wait",
        "early run --warehouses=2 --time=1m --interval=2s --seed=7 --output=table --target=sqlite:a.db",
        "whole run --warehouses=1 --interval=2s --seed=7 --output=json --warmup=1500ms --wait",
        "whole run --warehouses=1 --time=4s --interval=2s --seed=7 --summary",
        "early run --warehouses=1 --count=9 --interval=3s --seed=7 --output=json --ignore-error -T3",
    ];
    hold("tpcc", &cases, printed);
}
