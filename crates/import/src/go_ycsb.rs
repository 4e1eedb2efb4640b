//! The output of `go-ycsb run`, and of `perbuck ycsb run`, which prints the same lines.

use crate::Unreadable;
use crate::run::Run;
use crate::words::{field, number, whole};
use crate::ycsb::{count_modifications, kind_of};

const FINISHED: &str = "Run finished, takes ";

pub(crate) fn read(text: &str) -> Result<Vec<Run>, Unreadable> {
    let mut runs: Vec<Run> = Vec::new();
    let (mut threads, mut target, mut open) = (None, false, false);
    for (line, text) in (1..).zip(text.lines().map(str::trim)) {
        if let Some((key, value)) = property(text) {
            match key {
                "threadcount" => threads = whole(value).and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0),
                "target" => target = number(value).is_some_and(|rate| rate > 0.0),
                _ => {}
            }
        } else if let Some(took) = text.strip_prefix(FINISHED) {
            if target {
                return Err(crate::ycsb::paced(line));
            }
            let mut run = Run { line, tool: "go-ycsb", kind: "ycsb", connections: threads, ..Run::default() };
            run.lasts(go_duration_s(took).ok_or_else(|| Unreadable::new(line, format!("`{took}` is no time"), ""))?)?;
            run.missing = vec!["records and shares of the operations", "retries", "statements", "seed", "reconnects"];
            runs.push(run);
            open = true;
        } else if let Some((name, values)) = text.split_once("- Takes(s)").filter(|_| open) {
            let Some(run) = runs.last_mut() else { continue };
            operation(run, line, name.trim(), values)?;
        } else if !text.is_empty() {
            open = false;
        }
    }
    for run in &mut runs {
        if run.completed() == 0 {
            let help = "give the whole output, with the lines of READ, UPDATE and others that come after this one";
            return Err(Unreadable::new(run.line, "no operations are counted after this line", help));
        }
        count_modifications(run)?;
    }
    Ok(runs)
}

/// `"threadcount"="8"`.
fn property(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('"')?.strip_suffix('"')?.split_once("\"=\"")
}

fn operation(run: &mut Run, line: usize, name: &str, values: &str) -> Result<(), Unreadable> {
    // The sum of all operations, in newer versions.
    if name == "TOTAL" {
        return Ok(());
    }
    let (name, failed) = name.strip_suffix("_ERROR").map_or((name, false), |name| (name, true));
    let count = field(values, "Count").and_then(whole);
    let Some((kind, count)) = kind_of(name).zip(count) else {
        return Err(Unreadable::new(line, format!("`{name}` is no counted operation of YCSB"), "perbuck imports `go-ycsb run`"));
    };
    let counts = run.transactions.entry(kind.to_owned()).or_default();
    if failed {
        counts.failed = count;
        *run.errors.entry("errors of go-ycsb").or_default() += count;
        return Ok(());
    }
    counts.completed = count;
    let times = crate::words::fields(values).filter(|(key, _)| key.ends_with("(us)"));
    run.printed.extend(times.map(|(key, value)| (format!("{kind} {}", key.trim_end_matches("(us)")), format!("{value} µs"))));
    Ok(())
}

/// A duration as Go prints it, such as `1m24.170438017s`, in seconds.
fn go_duration_s(text: &str) -> Option<f64> {
    let (mut rest, mut seconds) = (text.trim(), 0.0);
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (value, tail) = (number(&rest[..digits])?, &rest[digits..]);
        let end = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let unit = match &tail[..end] {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "µs" | "us" => 1e-6,
            _ => return None,
        };
        seconds += value * unit;
        rest = &tail[end..];
    }
    Some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_go_are_read() {
        let cases =
            [("4.945199407s", Some(4.945199407)), ("1m24.5s", Some(84.5)), ("1h2m3s", Some(3723.0)), ("250ms", Some(0.25))];
        for (text, seconds) in cases {
            assert_eq!(go_duration_s(text), seconds, "{text}");
        }
        for text in ["", "s", "4", "4.4.4s", "4x", "-1s"] {
            assert_eq!(go_duration_s(text), None, "{text}");
        }
    }
}
