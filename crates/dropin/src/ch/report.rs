//! What go-tpc does not say of the queries of a run. It stands above the lines of the end, so that those are the last ones, as their readers
//! expect.

use perbuck_core::run_record::RunRecord;
use perbuck_core::units::thousands;
use perbuck_workloads::ch::{LAG, QUERIES_PER_HOUR};

/// How the queries of a run differ from those of go-tpc.
const NOTES: [&str; 5] = [
    "suppliers and nations are those of the paper: the key of a nation is the code of a letter or digit, and there are 62; go-tpc has the 25 of TPC-H",
    "dates end with the year 2100; in go-tpc with 2030 or 2032",
    "Q15 has its view within the query; go-tpc makes a view of the database",
    "QphH counts no failed query; it is no metric of TPC-H, and no rate of all streams",
    "two more connections measure the lag: one commits a row of ch_marker, the other asks for it where the queries are asked",
];

/// Those of a run with so many terminals: without any there is no lag.
pub(super) fn notes(terminals: u32) -> &'static [&'static str] {
    &NOTES[..NOTES.len() - usize::from(terminals == 0)]
}

/// The time from a commit until a query sees it: median, 99th percentile and longest, in milliseconds.
pub(super) fn lag_ms(record: &RunRecord) -> Result<Option<[f64; 3]>, String> {
    let Some(seen) = record.measured.transactions.get(LAG) else { return Ok(None) };
    let times = seen.service.to_histogram().map_err(|e| format!("{LAG}: {e}"))?;
    let ms = |ns: u64| ns as f64 / 1e6;
    let at = |percent| times.percentile_ns(percent).map(ms);
    Ok(at(50.0).zip(at(99.0)).map(|(median, p99)| [median, p99, ms(times.max_ns())]))
}

/// What is said of the queries in addition to their lines.
pub(super) fn text(record: &RunRecord, (terminals, streams): (u32, u32), lag_ms: Option<[f64; 3]>) -> String {
    let per_hour = thousands(record.metric(&QUERIES_PER_HOUR).round() as u64);
    let of = if streams == 1 { "1 query stream".to_owned() } else { format!("{streams} query streams") };
    let mut out = format!("\nQueries of the measured time:\n    {per_hour} queries an hour of {of}\n");
    if let Some([median, p99, longest]) = lag_ms {
        out += &format!(
            "    lag, from a commit until a query sees it: median {median:.1} ms, 99th percentile {p99:.1} ms, longest {longest:.1} ms\n"
        );
    }
    out += "    Answers change with the data, and are not compared with right ones.\n\nOther than go-tpc:\n";
    notes(terminals).iter().for_each(|note| out += &format!("    {note}\n"));
    out
}
