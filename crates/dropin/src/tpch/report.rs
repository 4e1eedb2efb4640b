//! What go-tpc does not say of a run. It stands above the lines of the end, so that those are the last ones, as their readers
//! expect.

use perbuck_core::run_record::RunRecord;
use perbuck_core::units::thousands;
use perbuck_workloads::tpch::QUERIES_PER_HOUR;

use super::lines::Row;
use crate::output::errors_by_code;

/// How the queries of a run differ from those of go-tpc.
const NOTES: [&str; 4] = [
    "a time ends when the last row is there and was compared; in go-tpc it ends when the answer begins",
    "Q15 has its view within the query, as variant A of Appendix B; go-tpc makes a view of the database before each run",
    "the texts have dates and no arithmetic with dates, and the same constants on each database; go-tpc has others for PostgreSQL",
    "the fraction of Q11 follows the scale, as the specification says; in go-tpc it is that of SF 1",
];
/// Those of `--check`.
const CHECKED: &str =
    "with --check the queries have the values of validation (2.4.x.4), whose right answers are known; go-tpc's are others";
/// That a run is no result of TPC-H.
pub(super) const DISCLOSURE: &str =
    "not a TPC result: chosen queries round after round are no test of the specification, and nothing was audited or priced";

/// How a run differs from one of go-tpc.
pub(super) fn notes(check: bool) -> Vec<&'static str> {
    NOTES.into_iter().chain(check.then_some(CHECKED)).collect()
}

/// What is said of a run in addition to its lines.
pub(super) fn text(rows: &[Row], record: &RunRecord, flags: &[String], check: bool) -> String {
    let mut out = "\nQueries of the measured time, to the last row of the answer:\n".to_owned();
    for row in rows {
        let right = record.measured.transactions.get(&row.operation).and_then(|t| t.facts.get("answers_checked"));
        let right = right.filter(|_| check).map_or_else(String::new, |right| format!("   right answers {}", thousands(*right)));
        let Row { operation, count, mean_s, median_s, max_s } = row;
        let count = thousands(*count);
        out += &format!(
            "    {operation:<7} times {count:>6}   mean {mean_s:>9.3} s   median {median_s:>9.3} s   longest {max_s:>9.3} s{right}\n"
        );
    }
    let per_hour = thousands(record.metric(&QUERIES_PER_HOUR).round() as u64);
    out += &format!("    {per_hour} queries an hour\n    {DISCLOSURE}\n");
    if !record.errors.is_empty() {
        out +=
            &format!("\nErrors by code (of the whole run, with warm-up and last queries):\n{}", errors_by_code(&record.errors));
    }
    out += "\nOther than go-tpc:\n";
    notes(check).iter().for_each(|note| out += &format!("    {note}\n"));
    if !flags.is_empty() {
        out += "\nRemarks:\n";
        flags.iter().for_each(|flag| out += &format!("    {flag}\n"));
    }
    out + "\n"
}
