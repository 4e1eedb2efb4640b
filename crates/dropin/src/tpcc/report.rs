//! What go-tpc does not say of a run: the audit, remarks, errors by code, and what is done otherwise than by the
//! specification. It stands above the lines of the end, so that those are the last ones, as their readers expect.

use perbuck_core::run_record::{AuditValue, Judgement, RunRecord};
use perbuck_workloads::tpcc::audit::{Audit, DISCLOSURE, Efficiency, TPMC_MAX_PER_WAREHOUSE};

use crate::output::errors_by_code;

/// What is said of a run in addition to its numbers; `notes` say how it differs from the specification.
pub(super) fn text(audit: &Audit, record: &RunRecord, flags: &[String], notes: &[&str], seed: u64) -> String {
    let mut out = "\nAudit of the measured time (clauses of TPC-C 5.11):\n".to_owned();
    out += &audit.values.iter().map(line).collect::<String>();
    if audit.values.iter().any(|f| f.judgement == Judgement::NotEnoughData) {
        out +=
            "    not enough data: outside of its range, by no more than chance explains with so few transactions; run longer\n";
    }
    let Efficiency { percent, meaning, .. } = &audit.efficiency;
    out += &format!("    efficiency {percent:.1} % of {TPMC_MAX_PER_WAREHOUSE} tpmC per warehouse: {meaning}\n");
    out += &format!("    {DISCLOSURE}\n");
    if !record.errors.is_empty() {
        out += &format!(
            "\nErrors by code (of the whole run, with warm-up and last transactions; {} attempts beyond the first in the measured time):\n{}",
            record.measured.retries,
            errors_by_code(&record.errors)
        );
    }
    if !notes.is_empty() {
        out += "\nOther than the specification, as go-tpc does it:\n";
        notes.iter().for_each(|note| out += &format!("    {note}\n"));
    }
    if !flags.is_empty() {
        out += "\nRemarks:\n";
        flags.iter().for_each(|flag| out += &format!("    {flag}\n"));
    }
    out + &format!("\nSeed: {seed}\n\n")
}

/// `    9.2.2.5  remote payments   15.02 %   14 to 16   chance ±1.07   of 9,999   holds`
fn line(audited: &AuditValue) -> String {
    let AuditValue { clause, what, value, unit, width, of, judgement, .. } = audited;
    let (digits, range) = (audited.decimals(), audited.range());
    let chance = if *width > 0.0 && *of > 0 { format!("chance ±{width:.2}") } else { String::new() };
    let value = if *of == 0 { "-".to_owned() } else { format!("{value:.digits$} {unit}") };
    let counted = perbuck_core::units::thousands(*of);
    let judgement = judgement.words();
    format!("    {clause:<8} {what:<45} {value:>12}   {range:<14} {chance:<15} of {counted:<11} {judgement}\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use perbuck_core::run_record::{HistogramRecord, TransactionRecord};
    use perbuck_workloads::tpcc::audit::{Ran, audit};

    use super::*;
    use crate::cases::histogram;
    use crate::golden::record;

    #[test]
    fn every_value_stands_beside_its_range_and_what_follows() {
        let (orders, rolled_back) = (100_000, 1_000);
        let service = HistogramRecord::from_histogram(&histogram((0..orders).map(|_| 6_000_000_000)));
        let facts = BTreeMap::from([("order_lines".to_owned(), orders * 10), ("remote_lines".to_owned(), orders / 10)]);
        let new_orders = TransactionRecord { committed: orders - rolled_back, rolled_back, service, facts, ..Default::default() };
        let transactions = BTreeMap::from([("new_order".to_owned(), new_orders)]);
        let audit = audit(&transactions, Ran { warehouses: 2, waited: false, window_ns: 60_000_000_000 }).unwrap();
        let text = text(&audit, &record("tpcc", false), &[], &[], 7);
        for expected in [
            "    9.2.2.5  new orders rolled back                              1.00 %   0.9 to 1.1     chance ±0.09    of 100,000     holds\n",
            "    9.2.2.5  lines of a new order                           10.00 lines   9.5 to 10.5    chance ±0.03    of 100,000     holds\n",
            "    5.2.5    90th percentile of new_order                       6.000 s   5 or less                      of 100,000     BROKEN\n",
            "    9.2.2.5  remote payments                                          -   14 to 16                       of 0           not applicable\n",
            "    efficiency 388802.5 % of 12.86 tpmC per warehouse: without keying",
            "\n    not a TPC result: ",
            "\nSeed: 7\n",
        ] {
            assert!(text.contains(expected), "{expected}{text}");
        }
        assert!(!text.contains("not enough data") && !text.contains("Errors by code") && !text.contains("Remarks"));
    }
}
