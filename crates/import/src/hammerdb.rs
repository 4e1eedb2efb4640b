//! The output of HammerDB's TPROC-C with a timed driver script.
//!
//! HammerDB prints rates: new orders a minute (NOPM), rounded to a whole number, and the database's own commits and rollbacks a
//! minute (TPM), which differ between databases. The counter is NOPM times the minutes; TPM is kept as printed.

use std::borrow::Cow;

use perbuck_core::metric::{Counted, Metric, Period};

use crate::Unreadable;
use crate::run::{Counts, Run};
use crate::words::{leading_whole, number};

/// New orders per minute as HammerDB counts them. It is not tpmC: no keying, no thinking, and another set of rules.
static NOPM: Metric = Metric::rate(
    "nopm",
    "NOPM",
    ["new orders of TPROC-C", "new orders"],
    Counted::Kinds(Cow::Borrowed(&[Cow::Borrowed("new_order")])),
    Period::Minute,
);

pub(crate) fn read(text: &str) -> Result<Vec<Run>, Unreadable> {
    let (mut runs, mut seen, mut version) = (Vec::new(), Seen::default(), String::new());
    for (line, text) in (1..).zip(text.lines().map(str::trim)) {
        if let Some((_, found)) = text.split_once("HammerDB CLI v") {
            version = found.trim().to_owned();
        } else if let Some((_, minutes)) = text.split_once("Beginning rampup time of ") {
            seen = Seen { line, rampup_min: leading_whole(minutes), ..Seen::default() };
        } else if let Some((_, minutes)) = text.split_once("Timing test period of ") {
            seen.minutes = leading_whole(minutes);
            seen.line = if seen.line == 0 { line } else { seen.line };
        } else if let Some((before, _)) = text.split_once(" Active Virtual Users configured") {
            seen.users = before.rsplit(':').next().and_then(leading_whole);
        } else if text.contains("FINISHED FAILED") {
            let help = "import runs in which every virtual user worked to the end";
            return Err(Unreadable::new(line, "a virtual user of HammerDB failed, so the load was less than it says", help));
        } else if let Some((_, result)) = text.split_once("System achieved ") {
            let run = std::mem::take(&mut seen).run(line, result)?;
            runs.push(Run { version: version.clone(), ..run });
        }
    }
    if seen.minutes.is_some() {
        let message = "a test of HammerDB begins here and has no `TEST RESULT`";
        return Err(Unreadable::new(seen.line, message, "give the log of a test that ran to its end"));
    }
    Ok(runs)
}

#[derive(Default)]
struct Seen {
    line: usize,
    rampup_min: Option<u64>,
    minutes: Option<u64>,
    users: Option<u64>,
}

impl Seen {
    /// `264796 NOPM from 616230 SQL Server TPM`, before version 4 `0 Oracle TPM at 27975 NOPM`.
    fn run(self, line: usize, result: &str) -> Result<Run, Unreadable> {
        let words: Vec<&str> = result.split_whitespace().collect();
        let before =
            |unit: &str| words.iter().position(|w| *w == unit).and_then(|at| words[..at].iter().rev().find_map(|w| number(w)));
        let nopm = before("NOPM").filter(|v| *v < 1e12);
        let (Some(nopm), Some(tpm)) = (nopm, before("TPM")) else {
            return Err(Unreadable::new(line, "the result of HammerDB has no NOPM and TPM", "perbuck imports its TPROC-C tests"));
        };
        let Some(minutes) = self.minutes.filter(|m| *m > 0) else {
            let help = "give the whole log: without the time of the test its rate has no counter";
            return Err(Unreadable::new(
                line,
                "the log has no line `Timing test period of … in minutes` above this result",
                help,
            ));
        };
        let mut run = Run { line, tool: "HammerDB", kind: "hammerdb", metric: Some(&NOPM), ..Run::default() };
        run.lasts(minutes as f64 * 60.0)?;
        run.connections = self.users.and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
        run.warmup_ns = self.rampup_min.map(|m| m.min(1_000_000) * 60_000_000_000);
        let completed = (nopm * minutes as f64).round() as u64;
        run.transactions.insert("new_order".to_owned(), Counts { completed, ..Counts::default() });
        run.printed.push(("TPM".to_owned(), format!("{tpm} (commits and rollbacks as the database counts them)")));
        run.missing = vec!["warehouses", "errors and retries", "statements", "reconnects"];
        Ok(run)
    }
}
