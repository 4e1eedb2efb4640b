//! Lines of a file, with their numbers.

use std::io::BufRead;

use super::Fault;

/// The lines of a file; what is no UTF-8 is replaced.
pub(super) struct Lines<'a, R> {
    reader: R,
    file: &'a str,
    bytes: u64,
    number: u64,
    raw: Vec<u8>,
    text: String,
}

impl<'a, R: BufRead> Lines<'a, R> {
    pub(super) fn new(reader: R, file: &'a str) -> Self {
        Self { reader, file, bytes: 0, number: 0, raw: Vec::new(), text: String::new() }
    }

    /// The next line without its end, and its number.
    pub(super) fn next(&mut self) -> Result<Option<(&str, u64)>, Fault> {
        self.raw.clear();
        self.number += 1;
        let read = self.reader.read_until(b'\n', &mut self.raw).map_err(|e| Fault::unread(self.file, self.number, &e))?;
        self.bytes += read as u64;
        if read == 0 {
            return Ok(None);
        }
        self.text.clear();
        self.text.push_str(&String::from_utf8_lossy(&self.raw));
        let line = self.text.strip_suffix('\n').unwrap_or(&self.text);
        Ok(Some((line.strip_suffix('\r').unwrap_or(line), self.number)))
    }

    /// Bytes that were read.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}
