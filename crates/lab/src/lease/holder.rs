//! Who holds a lease: one line of words, so that it fits into a row, a file and a message. It holds no secret.

use std::time::{SystemTime, UNIX_EPOCH};

use perbuck_core::plan;
use perbuck_observe::{ProcessId, host_name, still_runs, this_process};

/// What a row has room for.
const MAX_WORD: usize = 60;

/// A perbuck that loads a database or runs on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Tells this holder from every other one.
    token: String,
    /// The name of its machine.
    host: String,
    /// What it does: the name of its study.
    study: String,
    /// Since when, milliseconds since 1970 UTC by its own clock: for people alone.
    since_ms: u64,
    /// Its process, by which another perbuck on that machine sees whether it still runs.
    process: ProcessId,
}

impl Holder {
    /// This process, for a study of this name.
    pub(crate) fn own(study: &str) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let unseen = || ProcessId { machine: "unknown".to_owned(), pid: std::process::id(), started: 0 };
        let (process, host) = (this_process().unwrap_or_else(unseen), word(&host_name()));
        let token = plan::fingerprint(&format!("lease {host} {process:?} {}", now.as_nanos()));
        Self { token, host, study: word(study), since_ms: u64::try_from(now.as_millis()).unwrap_or_default(), process }
    }

    /// As it is written down.
    pub(crate) fn text(&self) -> String {
        let Self { token, host, study, since_ms, process: ProcessId { machine, pid, started } } = self;
        format!("{token} {host} {study} {since_ms} {machine} {pid} {started}")
    }

    /// Reads it; `None` where that is not the text of one.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let [token, host, study, since_ms, machine, pid, started] = words[..] else { return None };
        let process = ProcessId { machine: word(machine), pid: pid.parse().ok()?, started: started.parse().ok()? };
        Some(Self { token: word(token), host: word(host), study: word(study), since_ms: since_ms.parse().ok()?, process })
    }

    /// Whether it is the same one.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.token == other.token
    }

    /// Whether its process still runs; `None` where that cannot be seen from this machine.
    pub(crate) fn still_runs(&self) -> Option<bool> {
        still_runs(&self.process)
    }

    /// For people.
    pub(crate) fn words(&self) -> String {
        let Self { host, study, process, .. } = self;
        format!("process {} on {host} for study `{study}` since {}", process.pid, perbuck_report::utc(self.since_ms))
    }
}

/// A word that needs no quotes in SQL and on a terminal.
fn word(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' };
    let word: String = text.chars().take(MAX_WORD).map(plain).collect();
    if word.is_empty() { "_".to_owned() } else { word }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_written_and_read_and_seen_to_run() {
        let own = Holder::own("small; 'x'");
        let read = Holder::read(&own.text()).unwrap();
        assert_eq!(read, own);
        assert!(read.is(&own) && !read.is(&Holder::own("small")));
        assert_eq!(read.still_runs(), Some(true));
        let words = read.words();
        let process = format!("process {} on ", std::process::id());
        assert!(
            words.starts_with(&process) && words.contains(" for study `small___x_` since 20") && words.ends_with("UTC"),
            "{words}"
        );
        for text in ["", "a b c", "t h s x m 1 2", "t h s 1 m -1 2"] {
            assert_eq!(Holder::read(text), None, "{text}");
        }
        // What another program wrote there steers no terminal.
        assert!(Holder::read("t \x1b[2J s 1 m 1 2").unwrap().words().is_ascii());
        assert!(!Holder::read("t \x1b[2J s 1 m 1 2").unwrap().words().contains('\x1b'));
    }
}
