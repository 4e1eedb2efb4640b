//! The formats of logs, and how one is known by its first line.

use std::fmt;
use std::io::BufRead;

use super::builder::Builder;
use super::lex::Quotes;
use super::recording::Recording;
use super::{bracketed, general_log, server_log, slow_log};

/// A format of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Entries as CSV.
    Csv,
    /// Entries as JSON, one a line.
    Json,
    /// All commands of clients.
    General,
    /// Statements with their times and row counts.
    Slow,
}

/// All formats with their words.
pub(super) const FORMATS: [(&str, Format); 4] =
    [("csvlog", Format::Csv), ("jsonlog", Format::Json), ("general", Format::General), ("slow", Format::Slow)];

/// The words of all formats, for a message.
pub(super) fn words() -> String {
    FORMATS.map(|(word, _)| format!("\"{word}\"")).join(", ")
}

/// Why a log cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub file: String,
    /// Its line, from 1.
    pub line: u64,
    /// What is wrong.
    pub message: String,
    /// The way out.
    pub help: String,
}

impl Fault {
    pub(super) fn unread(file: &str, line: u64, why: &dyn fmt::Display) -> Self {
        let (message, help) = (format!("cannot be read: {why}"), "check that it is the right file".to_owned());
        Self { file: file.to_owned(), line, message, help }
    }
}

/// A file of a log, as messages call it.
pub struct LogFile<R> {
    /// Its name.
    pub name: String,
    /// Its text, from the first byte.
    pub text: R,
}

impl Format {
    /// The format of that word; `None` of another word.
    pub fn named(word: &str) -> Option<Self> {
        FORMATS.iter().find(|(name, _)| *name == word).map(|(_, format)| *format)
    }

    /// The word of a format.
    pub fn word(self) -> &'static str {
        FORMATS.iter().find(|(_, format)| *format == self).map_or("", |(word, _)| word)
    }

    /// The format of a log that begins so.
    fn of(start: &[u8]) -> Option<Self> {
        let start = String::from_utf8_lossy(start);
        let start = start.trim_start_matches('\u{feff}').trim_start();
        if start.starts_with("{\"timestamp\"") {
            return Some(Self::Json);
        }
        let of = |line: &str| match line {
            line if line.starts_with("# Time: ") || line.starts_with("# User@Host: ") => Some(Self::Slow),
            line => (general_log::begins(line) || bracketed::begins(line)).then_some(Self::General),
        };
        if let Some(format) = start.lines().take(64).find_map(of) {
            return Some(format);
        }
        let first = start.lines().next().unwrap_or_default();
        let is_entry = first.split(',').next().is_some_and(|cell| super::time::read_us(cell).is_some());
        (is_entry && first.contains(',')).then_some(Self::Csv)
    }

    fn quotes(self) -> Quotes {
        match self {
            Self::Csv | Self::Json => Quotes::Standard,
            Self::General | Self::Slow => Quotes::Backslash,
        }
    }
}

/// Reads the files of one log in their order; without a format it is known by how the first one begins.
///
/// # Errors
/// A file that cannot be read, an unknown format, or a log without a statement.
pub fn read<R: BufRead>(files: Vec<LogFile<R>>, format: Option<Format>) -> Result<Recording, Fault> {
    let (mut found, mut read_bytes) = (format, 0);
    let (mut builder, mut last) = (None, String::new());
    for LogFile { name, mut text } in files {
        let start = text.fill_buf().map_err(|e| Fault::unread(&name, 1, &e))?;
        // A rotated log may have an empty file.
        if start.is_empty() {
            last = name;
            continue;
        }
        let Some(format) = found.or_else(|| Format::of(start)) else {
            let message = "begins as no log that perbuck knows".to_owned();
            let help = format!("name its format, one of {}; or give another log", words());
            return Err(Fault { file: name, line: 1, message, help });
        };
        found = Some(format);
        let in_brackets = start.starts_with(b"[");
        let builder = builder.get_or_insert_with(|| Builder::new(format.quotes()));
        read_bytes += match format {
            Format::Csv => server_log::csv(text, &name, builder)?,
            Format::Json => server_log::json(text, &name, builder)?,
            Format::General if in_brackets => bracketed::read(text, &name, builder)?,
            Format::General => general_log::read(text, &name, builder)?,
            Format::Slow => slow_log::read(text, &name, builder)?,
        };
        last = name;
    }
    let recording = builder.zip(found).map(|(builder, format)| builder.finish(format.word(), read_bytes));
    recording.filter(|recording| !recording.sessions.is_empty()).ok_or_else(|| {
        let message = "has no statement that can be replayed".to_owned();
        let help = "log all statements when traffic is recorded: docs/traffic.md has the settings".to_owned();
        Fault { file: last, line: 1, message, help }
    })
}
