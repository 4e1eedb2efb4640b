//! Reading the embedded data back into the records that they were made of, in each form that a perbuck ever wrote.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read as _};

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::bufread::GzDecoder;
use perbuck_core::run_record::RunRecord;
use serde::Deserialize;

use super::{ELEMENT, FORM, Head, form1};

/// Bytes of records that a byte of a page may hold: those of honest pages are up to a tenth of that.
const GROWTH: u64 = 32;
/// Bytes beside them, for a page of few records that are much alike.
const ALWAYS: u64 = 16 << 20;

/// What embedded data may still give: a short text can grow to more than memory holds.
pub(super) struct Budget {
    bytes: u64,
    names: BTreeSet<String>,
}

impl Budget {
    pub(super) fn of(text: &str) -> Self {
        Self { bytes: ALWAYS + GROWTH * text.len() as u64, names: BTreeSet::new() }
    }

    /// Takes some bytes of records.
    pub(super) fn take(&mut self, bytes: u64) -> Result<(), String> {
        let left = self.bytes.checked_sub(bytes).ok_or("the data are much longer than those of a page of this length")?;
        self.bytes = left;
        Ok(())
    }

    /// Takes a record, once.
    pub(super) fn one(&mut self, record: &RunRecord) -> Result<(), String> {
        let name = record.path();
        if self.names.contains(&name) {
            return Err(format!("{name} is there twice"));
        }
        self.names.insert(name);
        Ok(())
    }
}

/// What a page holds that is not seen.
#[derive(Debug)]
pub struct Unpacked {
    /// The form in which the page holds it.
    pub form: u32,
    /// Everything but the trials.
    pub head: Head,
    /// The records of all trials, in the order of their paths.
    pub records: Vec<RunRecord>,
    /// The checksums that the page states of them.
    pub sums: Vec<String>,
}

/// The embedded data as they are written, borrowed from their text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Packed<'a> {
    head: Head,
    sha256: Vec<String>,
    #[serde(borrow)]
    records: Vec<&'a str>,
}

/// The text of the embedded data of a page; `None` where it has none, or more than one.
pub fn from_page(page: &str) -> Option<&str> {
    let (before, rest) = page.split_once(ELEMENT)?;
    let (text, after) = rest.split_once("</script>")?;
    (!before.contains("id=\"embedded\"") && !after.contains("id=\"embedded\"")).then_some(text)
}

/// Reads embedded data. That the trials match their checksums is left to the caller, who can say which one does not.
///
/// # Errors
/// Says why they are none, and of which trial they are not whole.
pub fn unpack(text: &str) -> Result<Unpacked, String> {
    #[derive(Deserialize)]
    struct Form {
        form: u32,
    }
    #[derive(Deserialize)]
    struct Numbered {
        head: Form,
    }
    let numbered: Numbered = serde_json::from_str(text).map_err(|e| no_data(&e))?;
    match numbered.head.form {
        1 => form1::unpack(text),
        FORM => current(text),
        other => Err(format!("have form {other}, and this perbuck reads forms 1 to {FORM}")),
    }
}

pub(super) fn no_data(error: &serde_json::Error) -> String {
    format!("are no data of a report: {error}")
}

pub(super) fn broken(index: usize, of: usize, why: &str) -> String {
    format!("hold a broken trial, {} of {of}: {why}", index + 1)
}

fn current(text: &str) -> Result<Unpacked, String> {
    let Packed { head, sha256: sums, records: pieces } = serde_json::from_str(text).map_err(|e| no_data(&e))?;
    let (mut records, mut budget) = (Vec::new(), Budget::of(text));
    for piece in pieces {
        read(piece, &mut records, &mut budget).map_err(|why| broken(records.len(), sums.len(), &why))?;
    }
    if records.len() != sums.len() {
        return Err(format!("hold {} trials and {} checksums", records.len(), sums.len()));
    }
    Ok(Unpacked { form: FORM, head, records, sums })
}

/// Reads the records of a piece, line by line.
fn read(piece: &str, records: &mut Vec<RunRecord>, budget: &mut Budget) -> Result<(), String> {
    let bytes = STANDARD.decode(piece).map_err(|e| format!("is not base64: {e}"))?;
    let mut lines = BufReader::with_capacity(1 << 16, GzDecoder::new(bytes.as_slice()));
    let mut line = String::new();
    loop {
        line.clear();
        lines.by_ref().take(budget.bytes + 1).read_line(&mut line).map_err(|e| format!("is not compressed text: {e}"))?;
        if line.is_empty() {
            return Ok(());
        }
        budget.take(line.len() as u64)?;
        let mut record = RunRecord::from_json(&line)?;
        // A list that grew while it was read holds room for up to twice as many.
        record.intervals.shrink_to_fit();
        budget.one(&record)?;
        records.push(record);
    }
}
