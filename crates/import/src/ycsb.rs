//! The output of `ycsb run`, the Java program.

use std::collections::BTreeMap;

use crate::Unreadable;
use crate::run::Run;
use crate::words::{number, whole};

/// The operations by their names there, with the names of perbuck.
const KINDS: [(&str, &str); 6] = [
    ("READ", "read"),
    ("UPDATE", "update"),
    ("INSERT", "insert"),
    ("SCAN", "scan"),
    ("DELETE", "delete"),
    (MODIFY, "read_modify_write"),
];
const MODIFY: &str = "READ-MODIFY-WRITE";

/// The kind of an operation; go-ycsb writes `_`.
pub(crate) fn kind_of(name: &str) -> Option<&'static str> {
    KINDS.iter().find(|(theirs, _)| *theirs == name.replace('_', "-")).map(|(_, kind)| *kind)
}

pub(crate) fn read(text: &str) -> Result<Vec<Run>, Unreadable> {
    let (mut runs, mut draft) = (Vec::new(), Draft::default());
    for (line, text) in (1..).zip(text.lines().map(str::trim)) {
        if let Some(command) = text.strip_prefix("Command line:") {
            if draft.line > 0 {
                runs.push(std::mem::take(&mut draft).run()?);
            }
            draft.command = command.to_owned();
            continue;
        }
        if let Some(version) = text.strip_prefix("YCSB Client ").filter(|_| draft.line == 0) {
            draft.version = version.to_owned();
            continue;
        }
        let mut columns = text.split(',').map(str::trim);
        let (Some(name), Some(key), Some(value)) = (columns.next(), columns.next(), columns.next()) else { continue };
        let Some(name) = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')) else { continue };
        if name == "OVERALL" && key == "RunTime(ms)" {
            if draft.line > 0 {
                runs.push(std::mem::take(&mut draft).run()?);
            }
            draft.line = line;
        }
        if draft.line > 0 {
            draft.columns.push((line, name.to_owned(), key.to_owned(), value.to_owned()));
        }
    }
    if draft.line > 0 {
        runs.push(draft.run()?);
    }
    Ok(runs)
}

#[derive(Default)]
struct Draft {
    line: usize,
    command: String,
    version: String,
    /// Line number, operation, key and value of each line.
    columns: Vec<(usize, String, String, String)>,
}

impl Draft {
    fn overall(&self, key: &str) -> Option<f64> {
        self.columns.iter().find(|(_, name, k, _)| name == "OVERALL" && k == key).and_then(|(.., value)| number(value))
    }

    /// The word after an option of the command line.
    fn option(&self, name: &str) -> Option<&str> {
        let mut words = self.command.split_whitespace();
        words.find(|word| *word == name).and_then(|_| words.next())
    }

    fn run(self) -> Result<Run, Unreadable> {
        if self.option("-target").and_then(number).is_some_and(|rate| rate > 0.0) {
            return Err(paced(self.line));
        }
        let help = "give the whole output of `ycsb run`";
        let lacks = |what: &str| Unreadable::new(self.line, format!("the output of YCSB has no {what}"), help);
        let mut run = Run { line: self.line, tool: "YCSB", version: self.version.clone(), kind: "ycsb", ..Run::default() };
        run.lasts(self.overall("RunTime(ms)").ok_or_else(|| lacks("`RunTime(ms)`"))? / 1e3)?;
        let rate = self.overall("Throughput(ops/sec)").ok_or_else(|| lacks("`Throughput(ops/sec)`"))?;
        run.connections = self.option("-threads").and_then(whole).and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
        for (line, name, key, value) in &self.columns {
            let (name, failed) = name.strip_suffix("-FAILED").map_or((name.as_str(), false), |name| (name, true));
            let Some(kind) = kind_of(name) else { continue };
            if key == "Operations" {
                let help = "check that the log is whole";
                let count = whole(value).ok_or_else(|| Unreadable::new(*line, format!("`{value}` is no count"), help))?;
                let counts = run.transactions.entry(kind.to_owned()).or_default();
                *(if failed { &mut counts.failed } else { &mut counts.completed }) = count;
            } else if let Some(time) = key.strip_suffix("(us)").or_else(|| key.strip_suffix("(ms)")).filter(|_| !failed) {
                let unit = if key.ends_with("(us)") { "µs" } else { "ms" };
                run.printed.push((format!("{kind} {time}"), format!("{value} {unit}")));
            }
        }
        if run.transactions.is_empty() {
            return Err(lacks("operations"));
        }
        for (kind, failed) in self.failed_among(&run) {
            let counts = run.transactions.entry(kind.to_owned()).or_default();
            counts.failed = failed.min(counts.completed);
            counts.completed -= counts.failed;
        }
        count_modifications(&mut run)?;
        let failed = run.transactions.values().map(|counts| counts.failed).fold(0, u64::saturating_add);
        if failed > 0 {
            run.errors.insert("failed operations of YCSB", failed);
        }
        run.agrees("operations", run.completed().saturating_add(failed), rate, 0.0005)?;
        run.missing = vec!["records and shares of the operations", "retries", "statements", "seed", "reconnects"];
        Ok(run)
    }
}

impl Draft {
    /// Failed operations that are among those counted: versions without `-FAILED` have only lines such as `Return=ERROR` for them.
    fn failed_among(&self, run: &Run) -> BTreeMap<&'static str, u64> {
        let mut found = BTreeMap::new();
        for (_, name, key, value) in &self.columns {
            let wrong = key.strip_prefix("Return=").is_some_and(|code| !["OK", "0", "BATCHED_OK"].contains(&code));
            let Some(kind) = kind_of(name).filter(|_| wrong) else { continue };
            if run.transactions.get(kind).is_some_and(|counts| counts.failed == 0) {
                let sum: &mut u64 = found.entry(kind).or_default();
                *sum = sum.saturating_add(whole(value).unwrap_or(0));
            }
        }
        found
    }
}

/// A run whose rate was fixed.
pub(crate) fn paced(line: usize) -> Unreadable {
    let help = "a rate says how much was offered, and not how much the database can do; import runs without a target";
    Unreadable::new(line, "the run had a fixed rate (target)", help)
}

/// A read-modify-write counts as a read and an update, too: once is enough.
pub(crate) fn count_modifications(run: &mut Run) -> Result<(), Unreadable> {
    let Some(both) = run.transactions.get("read_modify_write").map(|counts| counts.completed) else { return Ok(()) };
    for kind in ["read", "update"] {
        let counts = run.transactions.entry(kind.to_owned()).or_default();
        counts.completed = counts.completed.checked_sub(both).ok_or_else(|| {
            let message = format!("{both} read-modify-writes have {} of {kind}, which is fewer", counts.completed);
            Unreadable::new(run.line, message, "check that the log is whole")
        })?;
    }
    run.transactions.retain(|_, counts| counts.completed > 0 || counts.failed > 0);
    Ok(())
}
