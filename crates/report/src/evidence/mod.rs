//! What a report was made from, as JSON in its page: the study, the prices and every trial, without loss.
//!
//! Each trial carries the SHA-256 checksum of its record as a file holds it, so that a page can be held against the
//! files, and a page that was changed against itself. The form is described in docs/commands/verify.md. A perbuck writes the
//! newest form and reads every form.

mod form1;
mod pack;
mod unpack;

use perbuck_core::run_record::RunRecord;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use pack::{pack, pack_into};
pub use unpack::{Unpacked, from_page, unpack};

/// The form of the embedded data that this version writes.
pub const FORM: u32 = 2;

/// The page's element that holds them.
pub const ELEMENT: &str = "<script type=\"application/json\" id=\"embedded\">";

/// Everything but the trials.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Always [`FORM`].
    pub form: u32,
    /// Version of perbuck that wrote it.
    pub perbuck: String,
    /// Whether trials were measured or published.
    pub kind: Kind,
    /// The study file.
    pub study: Source,
    /// The price snapshot; `None` where nothing is priced.
    pub prices: Option<Source>,
    /// Published results from a file of their own.
    pub results: Option<Source>,
    /// The time that the study's runs used; `None` where the results folder does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Source>,
    /// What the comparison was made in spite of: words of `--insist`.
    pub insist: Vec<String>,
    /// Whether the data were checked after the last trial.
    pub checked: bool,
}

/// What a study's numbers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Trials of perbuck.
    Measured,
    /// Numbers of a published study.
    Published,
}

/// A text file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Its name, without a folder.
    pub name: String,
    /// Whether the user named the file; otherwise it was found beside the records or comes with perbuck.
    pub given: bool,
    /// What it holds.
    pub text: String,
    /// The checksum of its text.
    pub sha256: String,
}

impl Source {
    /// A file of this name and text.
    pub fn new(name: &str, given: bool, text: &str) -> Self {
        Self { name: name.to_owned(), given, text: text.to_owned(), sha256: checksum(text) }
    }

    /// Whether the text is the one that the checksum was made of.
    pub fn is_whole(&self) -> bool {
        checksum(&self.text) == self.sha256
    }
}

/// The checksum of a record as a file holds it; `sha256sum` gives the same of a file that perbuck wrote.
///
/// # Errors
/// When a number of the record is not finite.
pub fn seal(record: &RunRecord) -> Result<String, String> {
    record.to_json().map(|text| checksum(&text))
}

/// SHA-256 in hexadecimal digits.
pub fn checksum(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests;
