use super::*;
use crate::cases::words;
use crate::golden::{Kept, details, hold, record, show};
use crate::output::Streams;

pub(super) fn read(line: &[&str]) -> Result<Given, Refused> {
    parse::parse(&words(line), &script::options(None, None))
}

pub(super) fn settings(line: &[&str]) -> Result<Settings, Refused> {
    Settings::read(&read(line)?)
}

/// Prints a run of a command line whose first word names its record.
fn printed(words: &[&str], out: &mut Kept) {
    let given = read(&words[1..]).unwrap();
    let settings = Settings::read(&given).unwrap();
    let log = Log::new(settings.verbosity, settings.output == Output::Text, Called::Perbuck);
    let (workload, options) = script::workload(&given, script::script(&given).unwrap().0, &settings, &mut Vec::new()).unwrap();
    let target = target::target(&given, false).unwrap();
    log.notice(&text::banner(&settings, true), out).unwrap();
    if settings.output == Output::Csv {
        out.print(&machine::csv_header(&settings)).unwrap();
    }
    let mut record = record(words[0], words[0].ends_with("open"));
    record.target.address = target.address();
    let mut lines = Lines::new(&settings, &workload, Subject::BuiltIn(&options), target.dialect(), log);
    show(&mut lines, out, record, details(["point_select", "commit"]), false);
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
    hold("sysbench", &cases, printed);
}
