use std::ffi::OsString;

use super::*;
use crate::golden::{details, hold, pass, record};

/// Prints a run of a command line, which somebody ended early where it begins with `early`.
fn show(words: &[&str]) {
    let given = TABLE.read(&words[1..].iter().map(OsString::from).collect::<Vec<_>>()).unwrap();
    let settings = Settings::read(&given).unwrap();
    let place = Place::of(&given).unwrap();
    let checked = plan::plan(&given, Order::Run, &settings, &place.session).unwrap();
    let member = Member { name: "x".into(), address: place.target.address() };
    let inputs = frame(&checked, &settings).inputs(&[member], 1).unwrap();
    let work = Work { settings: &settings, checked: &checked, place: &place, password: &Secret::default(), inputs: &inputs };
    let stage = work.stage(None).ok().unwrap();
    let run = Run { settings: &settings, checked: &checked, inputs: &inputs, stage: &stage, address: place.target.address() };
    let mut live = live::Live::new(&settings, &StopToken::default());
    pass(&mut live);
    let early = words[0] == "early";
    let ending = if early { Ending::Early } else { Ending::Whole };
    let ended = run.ended(record("tpcc", early), &details(["x", "y"]), live.end().unwrap(), ending).unwrap();
    run.show(&ended, Some("results/x/001.json".to_owned())).unwrap();
}

#[test]
fn a_run_is_printed_as_it_was() {
    let cases = [
        "whole run --warehouses=1 --time=4s --interval=1s --seed=7",
        "early run --warehouses=1 --time=1m --interval=2s --seed=7 --compat=go-tpc --wait",
        "early run --warehouses=2 --time=1m --interval=2s --seed=7 --output=table --target=sqlite:a.db",
        "whole run --warehouses=1 --interval=2s --seed=7 --output=json --warmup=1500ms --wait",
        "early run --warehouses=1 --count=9 --interval=3s --seed=7 --output=json --ignore-error -T3",
    ];
    hold("tpcc::golden::a_run_is_printed_as_it_was", &cases, show);
}
