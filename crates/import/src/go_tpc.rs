//! The output of `go-tpc tpcc run` and `tiup bench tpcc run`, and of `perbuck tpcc run`, which prints the same lines.

use crate::Unreadable;
use crate::run::Run;
use crate::words::{field, number, whole};

const SUMMARY: &str = "[Summary] ";
/// The five transactions by their names there, with the names of perbuck.
const KINDS: [(&str, &str); 5] = [
    ("NEW_ORDER", "new_order"),
    ("PAYMENT", "payment"),
    ("ORDER_STATUS", "order_status"),
    ("DELIVERY", "delivery"),
    ("STOCK_LEVEL", "stock_level"),
];
/// Times are printed with one digit.
const ROUNDED_S: f64 = 0.05;

pub(crate) fn read(text: &str) -> Result<Vec<Run>, Unreadable> {
    let (mut runs, mut draft) = (Vec::new(), Draft::default());
    for (line, text) in (1..).zip(text.lines().map(str::trim)) {
        if let Some(summary) = text.strip_prefix(SUMMARY) {
            let Some((name, values)) = summary.split_once(" - Takes(s)") else { return Err(of_another(line)) };
            let name = name.trim();
            if draft.holds(name) {
                runs.push(std::mem::take(&mut draft).run()?);
            }
            draft.lines.push((line, name.to_owned(), format!("Takes(s){values}")));
        } else if let Some(rest) = text.strip_prefix("tpmC:").filter(|_| !draft.lines.is_empty()) {
            // Newer versions go on: `tpmC: 362.5, tpmTotal: 805.5, efficiency: 281.9%`.
            draft.tpmc = rest.split(',').next().and_then(number);
            draft.rest = rest.split_once(',').map(|(_, rest)| rest.trim().to_owned());
            runs.push(std::mem::take(&mut draft).run()?);
        }
    }
    if !draft.lines.is_empty() {
        runs.push(draft.run()?);
    }
    Ok(runs)
}

fn of_another(line: usize) -> Unreadable {
    Unreadable::new(line, "this is a summary of another benchmark of go-tpc", "perbuck imports its `tpcc run`")
}

/// The summary lines of one run.
#[derive(Default)]
struct Draft {
    /// Line, name, and fields.
    lines: Vec<(usize, String, String)>,
    tpmc: Option<f64>,
    /// What comes after tpmC.
    rest: Option<String>,
}

impl Draft {
    fn holds(&self, name: &str) -> bool {
        self.lines.iter().any(|(_, held, _)| held == name)
    }

    fn run(self) -> Result<Run, Unreadable> {
        let first = self.lines.first().map_or(0, |(line, ..)| *line);
        let help = "give the whole output of `go-tpc tpcc run`, with all lines that begin with `[Summary]`";
        let lacks = |line: usize, what: String| Unreadable::new(line, what, help);
        let mut run = Run { line: first, tool: "go-tpc", kind: "tpcc", ..Run::default() };
        let mut takes = None;
        for (line, name, fields) in &self.lines {
            let (kind, failed) = name.strip_suffix("_ERR").map_or((name.as_str(), false), |kind| (kind, true));
            let Some((_, kind)) = KINDS.iter().find(|(theirs, _)| *theirs == kind) else { return Err(of_another(*line)) };
            let value = |name: &str| field(fields, name).and_then(number);
            let count = field(fields, "Count").and_then(whole).ok_or_else(|| lacks(*line, format!("{name} has no `Count`")))?;
            let counts = run.transactions.entry((*kind).to_owned()).or_default();
            if failed {
                counts.failed = count;
                continue;
            }
            counts.completed = count;
            let times = crate::words::fields(fields).filter(|(key, _)| key.ends_with("(ms)") && *key != "Sum(ms)");
            run.printed
                .extend(times.map(|(key, value)| (format!("{kind} {}", key.trim_end_matches("(ms)")), format!("{value} ms"))));
            if *kind == "new_order" {
                takes = value("Takes(s)").zip(value("TPM")).map(|(seconds, tpm)| (*line, count, seconds, tpm));
            }
        }
        let Some((line, orders, seconds, tpm)) = takes else {
            return Err(lacks(
                first,
                "the summary of a run of go-tpc has no line of NEW_ORDER with its time and rate".to_owned(),
            ));
        };
        run.line = line;
        run.lasts(seconds)?;
        run.agrees("new orders", orders, tpm / 60.0, ROUNDED_S)?;
        if let Some(printed) = self.tpmc {
            run.agrees("new orders", orders, printed / 60.0, ROUNDED_S)?;
        }
        let rate = self.tpmc.unwrap_or(tpm);
        if orders > 0 && rate > 0.0 {
            // The rate has more digits than the time.
            run.lasts(orders as f64 * 60.0 / rate)?;
        }
        let failed: u64 = run.transactions.values().map(|counts| counts.failed).fold(0, u64::saturating_add);
        if failed > 0 {
            run.errors.insert("errors of go-tpc", failed);
        }
        run.printed.extend(self.rest.map(|rest| ("beside tpmC".to_owned(), rest)));
        run.missing = vec!["warehouses", "retries", "statements", "seed", "reconnects"];
        Ok(run)
    }
}
