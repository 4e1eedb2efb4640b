//! Logs of other load generators, read into what they say: counters, times, histograms, and what they leave out.
//!
//! A text goes in, neutral runs come out. Nothing is guessed: a number that a log does not print is missing, and a log
//! whose numbers contradict each other is refused.
//!
//! Place on the floor plan: floor 1, a tool. It knows formats of programs, and no study, file or database.

mod benchbase;
mod go_tpc;
mod go_ycsb;
mod hammerdb;
mod pgbench;
mod run;
mod sysbench;
mod words;
mod ycsb;

use std::fmt;

pub use run::{Counts, Run, Second};

/// Why a text cannot be imported: the line where that shows, what is wrong, and the way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The line, from 1; 0 for the whole text.
    pub line: usize,
    /// What is wrong.
    pub message: String,
    /// The way out.
    pub help: String,
}

impl Unreadable {
    fn new(line: usize, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { line, message: message.into(), help: help.into() }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(f, "line {line}: {}", self.message),
        }
    }
}

type Read = fn(&str) -> Result<Vec<Run>, Unreadable>;

/// The formats: the program, a line that its logs have, and the function that reads them.
const FORMATS: [(&str, &str, Read); 7] = [
    ("sysbench", "SQL statistics:", sysbench::read),
    ("go-tpc and tiup bench", "[Summary] NEW_ORDER - Takes(s): …", go_tpc::read),
    ("go-ycsb", "Run finished, takes …", go_ycsb::read),
    ("YCSB", "[OVERALL], RunTime(ms), …", ycsb::read),
    ("HammerDB", "TEST RESULT : System achieved … NOPM", hammerdb::read),
    ("pgbench", "number of transactions actually processed: …", pgbench::read),
    ("BenchBase", "\"Measured Requests\": …", benchbase::read),
];

/// Reads the runs of a text, in their order. A text may hold several, of one program or of some.
///
/// # Errors
/// A text in which no format is seen, a run that was cut off, or numbers that contradict each other.
pub fn read(text: &str) -> Result<Vec<Run>, Unreadable> {
    let mut runs = Vec::new();
    for (_, _, read) in FORMATS {
        runs.extend(read(text)?);
    }
    if runs.is_empty() {
        let looked = FORMATS.map(|(program, line, _)| format!("`{line}` ({program})")).join(", ");
        let help = "give the whole output of the program, as it printed it";
        return Err(Unreadable::new(0, format!("no log is recognised in it; it has none of the lines {looked}"), help));
    }
    runs.sort_by_key(|run| run.line);
    Ok(runs)
}

#[cfg(test)]
mod tests;
