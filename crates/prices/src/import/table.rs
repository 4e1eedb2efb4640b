//! Tables with a header, row by row: columns are found by name, because lists order them as they like.

use std::io::{self, BufRead, Read};

use csv::{ErrorKind, Reader, ReaderBuilder, StringRecord};

use super::ImportError;
use super::number::shown;

/// Bytes of a line at most: a reader holds all of it, and those of price lists have some hundred.
const LINE: usize = 1 << 20;

/// A list whose lines are not too long.
struct Lines<'a> {
    list: &'a mut dyn BufRead,
    /// Bytes since the last line ended.
    since: usize,
}

impl Read for Lines<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.list.read(buffer)?;
        self.since = match buffer[..read].iter().rposition(|b| *b == b'\n') {
            Some(end) => read - end - 1,
            None => self.since + read,
        };
        if self.since > LINE {
            return Err(io::Error::other(format!("a line has more than {LINE} bytes")));
        }
        Ok(read)
    }
}

pub(crate) struct Table<'a> {
    reader: Reader<Lines<'a>>,
    header: Vec<String>,
    record: StringRecord,
    /// Lines that were read before the header.
    before: u64,
}

impl<'a> Table<'a> {
    /// Reads the header; `before` lines were read from the list already.
    pub(crate) fn open(list: &'a mut dyn BufRead, before: u64) -> Result<Self, ImportError> {
        // A row may be longer than the header: SkyPilot's Azure list has had an unquoted comma in its last column.
        let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(Lines { list, since: 0 });
        let mut record = StringRecord::new();
        let there = reader.read_record(&mut record).map_err(|e| failed(&e, before))?;
        if !there {
            return Err(ImportError::new(before + 1, "the list is empty", "give a table whose first row names its columns"));
        }
        let header = record.iter().map(|name| name.trim_start_matches('\u{feff}').trim().to_owned()).collect();
        Ok(Self { reader, header, record, before })
    }

    /// The column of the first of these names that the header has.
    pub(crate) fn column(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|name| self.header.iter().position(|h| h.eq_ignore_ascii_case(name)))
    }

    /// The same for a column that must be there.
    pub(crate) fn required(&self, names: &[&str]) -> Result<usize, ImportError> {
        self.column(names).ok_or_else(|| {
            let found = shown(&self.header.join(", "));
            let message = format!("the header has no column `{}`; it has: {found}", names[0]);
            ImportError::new(self.before + 1, message, "check that the file is of this format and complete")
        })
    }

    /// Goes to the next row; `false` at the end.
    pub(crate) fn next(&mut self) -> Result<bool, ImportError> {
        let there = self.reader.read_record(&mut self.record).map_err(|e| failed(&e, self.before))?;
        if there && self.record.len() < self.header.len() {
            let (has, wants) = (self.record.len(), self.header.len());
            let message = format!("the row has {has} columns and the header {wants}; is the file cut off?");
            return Err(ImportError::new(self.line(), message, "download the list again"));
        }
        Ok(there)
    }

    /// 1-based line of this row.
    pub(crate) fn line(&self) -> u64 {
        self.before + self.record.position().map_or(0, csv::Position::line)
    }

    /// What this row has in a column; empty where the table has no such column.
    pub(crate) fn get(&self, column: Option<usize>) -> &str {
        column.and_then(|c| self.record.get(c)).unwrap_or("").trim()
    }
}

/// The vCPUs and the GiB of memory of a machine.
///
/// # Errors
/// That one of them is no number above zero.
pub(crate) fn size(line: u64, name: &str, vcpu: &str, memory: &str) -> Result<(u32, f64), ImportError> {
    whole(vcpu).zip(gib(memory)).ok_or_else(|| {
        let message = format!("`{name}` has \"{}\" vCPUs and \"{}\" GiB", shown(vcpu), shown(memory));
        ImportError::new(line, message, "both must be numbers above zero")
    })
}

fn failed(error: &csv::Error, before: u64) -> ImportError {
    let line = before + error.position().map_or(0, csv::Position::line);
    match error.kind() {
        ErrorKind::Io(e) => ImportError::new(line, format!("cannot read on: {e}"), "check the file"),
        ErrorKind::Utf8 { .. } => ImportError::new(line, "the row is not UTF-8", "give the list as plain, uncompressed text"),
        _ => ImportError::new(line, error.to_string(), "check that the file is a table with commas"),
    }
}

/// A count such as `8` or `8.0`.
pub(crate) fn whole(text: &str) -> Option<u32> {
    let digits = text.split_once('.').map_or(text, |(whole, rest)| if rest.bytes().all(|b| b == b'0') { whole } else { text });
    digits.parse().ok().filter(|n| (1..=65_536).contains(n))
}

/// Memory such as `16`, `16.0`, `0.5`, `1,952`; in GiB.
pub(crate) fn gib(text: &str) -> Option<f64> {
    let text = text.replace(',', "");
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    text.parse().ok().filter(|n: &f64| plain && *n > 0.0 && *n < 1e6)
}
