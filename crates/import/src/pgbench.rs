//! The output of pgbench.
//!
//! It prints a count and a rate, and the time that was asked for. The measured time is count / rate, without the time of opening
//! connections, as the program itself defines its rate.

use crate::Unreadable;
use crate::run::{Counts, Run, Second};
use crate::words::{labelled, leading, leading_whole, number};

pub(crate) fn read(text: &str) -> Result<Vec<Run>, Unreadable> {
    let (mut runs, mut draft, mut version) = (Vec::new(), Draft::default(), String::new());
    for (line, text) in (1..).zip(text.lines().map(str::trim)) {
        if let Some(found) = text.strip_prefix("pgbench (").and_then(|rest| rest.split([' ', ',', ')']).next()) {
            version = found.to_owned();
        } else if let Some(progress) = text.strip_prefix("progress: ") {
            draft.seconds.extend(second(progress));
        } else if text.starts_with("transaction type:") {
            if draft.line > 0 {
                return Err(draft.cut());
            }
            draft.line = line;
            draft.take(text);
        } else if draft.line > 0 {
            draft.take(text);
            if draft.rate.is_some() {
                runs.push(Run { version: version.clone(), ..std::mem::take(&mut draft).run()? });
            }
        }
    }
    if draft.line > 0 { Err(draft.cut()) } else { Ok(runs) }
}

#[derive(Default)]
struct Draft {
    line: usize,
    values: Vec<(String, String)>,
    /// Transactions per second without the time of opening connections.
    rate: Option<f64>,
    seconds: Vec<(u64, Second)>,
}

impl Draft {
    fn take(&mut self, text: &str) {
        if let Some(rate) = text.strip_prefix("tps = ") {
            // Up to version 13 a line with that time comes before.
            if text.contains("(excluding connections establishing)") || text.contains("(without initial connection time)") {
                self.rate = leading(rate);
            }
            self.rate = self.rate.or_else(|| leading(rate).filter(|_| text.contains("(including reconnection times)")));
        } else if let Some((key, value)) = labelled(text).or_else(|| text.split_once(" = ")) {
            self.values.push((key.to_owned(), value.to_owned()));
        }
    }

    fn value(&self, key: &str) -> Option<&str> {
        self.values.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    fn cut(&self) -> Unreadable {
        let message = "a result of pgbench begins here and has no line `tps = …`";
        Unreadable::new(self.line, message, "give the whole output, to its line of tps")
    }

    fn run(self) -> Result<Run, Unreadable> {
        if self.value("rate limit schedule lag").is_some() {
            let help = "a rate says how much was offered, and not how much the database can do; import runs without --rate";
            return Err(Unreadable::new(self.line, "a run of pgbench at a fixed rate (--rate) begins here", help));
        }
        let rate = self.rate.filter(|rate| *rate > 0.0).ok_or_else(|| self.cut())?;
        let completed = self.value("number of transactions actually processed").and_then(leading_whole).filter(|n| *n > 0);
        let Some(completed) = completed else {
            let help = "give the whole output of a run that completed transactions";
            return Err(Unreadable::new(self.line, "pgbench says of no transaction that it was processed", help));
        };
        let mut run = Run { line: self.line, tool: "pgbench", kind: "pgbench", ..Run::default() };
        run.metric = Some(&perbuck_core::metric::TPS);
        run.lasts(completed as f64 / rate)?;
        if let Some(asked) = self.value("duration").and_then(leading) {
            // A run takes as long as was asked for, but for connections and the last transactions.
            let took = run.window_ns as f64 / 1e9;
            if took > 2.0 * asked + 60.0 || took < asked / 2.0 {
                let message =
                    format!("{completed} transactions at {rate} per second take {took:.1} s, and the run was of {asked} s");
                return Err(Unreadable::new(self.line, message, "check that no lines of another run are in the log"));
            }
        }
        let whole = |key: &str| self.value(key).and_then(leading_whole);
        run.connections = whole("number of clients").and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
        let failed = whole("number of failed transactions").unwrap_or(0);
        run.retries = whole("total number of retries").or_else(|| whole("number of retries")).unwrap_or(0);
        if failed > 0 {
            run.errors.insert("failed transactions of pgbench", failed);
        }
        for (key, name) in [("transaction type", "script"), ("scaling factor", "scale"), ("query mode", "query mode")] {
            run.parameters.extend(self.value(key).map(|value| (name, value.to_owned())));
        }
        let printed = |key: &str| self.value(key).map(|value| (key.to_owned(), value.to_owned()));
        run.printed = ["latency average", "latency stddev", "initial connection time"].into_iter().filter_map(printed).collect();
        run.transactions.insert("transaction".to_owned(), Counts { completed, failed, latency: None });
        run.missing = vec!["statements", "seed", "reconnects"];
        run.in_seconds(self.seconds);
        Ok(run)
    }
}

/// `1.0 s, 42.2 tps, lat 51.757 ms stddev 45.545, 0 failed`; only reports of every second become seconds.
fn second(text: &str) -> Option<(u64, Second)> {
    let mut parts = text.split(", ");
    let at = number(parts.next()?.strip_suffix(" s")?)?;
    let tps = number(parts.next()?.strip_suffix(" tps")?)?;
    let failed = parts.find_map(|part| part.strip_suffix(" failed")).and_then(leading_whole).unwrap_or(0);
    let rounded = |value: f64| value.round().clamp(0.0, 1e12) as u64;
    Some((rounded(at), Second { transactions: rounded(tps), errors: failed, ..Second::default() }))
}
