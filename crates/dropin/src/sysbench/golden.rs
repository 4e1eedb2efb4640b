use std::ffi::OsString;

use super::parse::parse;
use super::*;
use crate::golden::{details, hold, pass, record};

/// Prints a run of a command line whose first word names its record.
fn show(words: &[&str]) {
    let line: Vec<OsString> = words[1..].iter().map(OsString::from).collect();
    let given = parse(&line, &script::options(None, None)).unwrap();
    let settings = Settings::read(&given).unwrap();
    let log = Log::new(settings.verbosity, settings.output == Output::Text);
    let (engine, script) = (Engine::of(&given).unwrap(), script::script(&given).unwrap().0);
    let checked = script::plan(&given, script, &settings, &mut Vec::new()).unwrap();
    let target = target::target(&given, engine, false).unwrap();
    let inputs = study::frame(&checked, &settings).inputs(&[Member { name: "x".into(), address: target.address() }], 1).unwrap();
    let study = &inputs.study;
    let stage = stage::stage(study, study.baseline(), &study.workloads[0], &checked.plan, &target, &Default::default()).unwrap();
    let run =
        Run { settings: &settings, script: &checked, engine, inputs: &inputs, stage: &stage, address: target.address(), log };
    run.banner().unwrap();
    let mut live = live::Live::new(&settings, log, &StopToken::default()).unwrap();
    pass(&mut live);
    let ended = run.ended(record(words[0], words[0].ends_with("open")), details(["point_select", "commit"]), live.end().unwrap());
    run.show(ended.unwrap(), Some("results/x/001.json".to_owned())).unwrap();
}

#[test]
fn a_run_is_printed_as_it_was() {
    let cases = [
        "sysbench_closed oltp_read_only --threads=2 --time=1 --rand-seed=7 --report-interval=1",
        "sysbench_closed oltp_read_only --threads=2 --events=90 --time=0 --rand-seed=7 --verbosity=5 --percentile=0",
        "sysbench_closed oltp_read_only --threads=2 --time=1 --rand-seed=7 --verbosity=0 --report-interval=1",
        "sysbench_open oltp_read_write --threads=3 --time=2 --rate=200 --rand-seed=7 --report-interval=2 --histogram --compat=sysbench-1.1 --percentile=50,95,99.9 --statement-latency --warmup-time=1",
        "sysbench_open oltp_read_write --threads=3 --time=2 --rate=200 --rand-seed=7 --report-checkpoints=1 --forced-shutdown=5 --db-driver=pgsql --mysql-ignore-errors=all",
        "sysbench_open oltp_read_write --threads=3 --time=4 --rate=200 --rand-seed=7 --report-interval=1 --output=csv --percentile=50,99",
        "sysbench_open oltp_read_write --threads=3 --time=2 --rate=200 --rand-seed=7 --output=csv --report-checkpoints=1",
        "sysbench_open oltp_read_write --threads=3 --time=2 --rate=200 --rand-seed=7 --report-interval=2 --report-checkpoints=1 --output=json --histogram --statement-latency --db-driver=sqlite",
        "sysbench_closed bulk_insert --threads=2 --time=1 --rand-seed=7 --output=json --compat=perbuck",
    ];
    hold("sysbench::golden::a_run_is_printed_as_it_was", &cases, show);
}
