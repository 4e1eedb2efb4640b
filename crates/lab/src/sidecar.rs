//! The file of series beside a record. The record holds its checksum, so it is written first; without its record it counts for nothing.

use std::path::{Path, PathBuf};

use perbuck_core::run_record::{RunRecord, ServerSeries};
use perbuck_report::evidence;

use crate::error::LabError;
use crate::folder::{self, has_file};
use crate::inputs::Limit;
use crate::store;

/// What is kept of a trial.
#[derive(Debug, Clone)]
pub struct Trial {
    /// Its record.
    pub record: RunRecord,
    /// The file of series that belongs beside it, where the servers told their metrics.
    pub series: Option<String>,
}

/// What is added to the name of a record.
pub const SERIES: &str = "series";

/// The file of series of the record at this path: `001.json.series`.
pub fn path_of(record: &Path) -> PathBuf {
    record.with_added_extension(SERIES)
}

/// The checksum of a file of series, as its record holds it.
pub(crate) fn digest(text: &str) -> String {
    evidence::checksum(text)
}

/// Writes it beside a record that is not there yet. One that a killed command left is replaced.
pub(crate) fn write(record: &Path, text: &str) -> Result<(), LabError> {
    if has_file(record) { Ok(()) } else { store::replace(&path_of(record), text) }
}

/// The text beside a record, if there is any.
pub(crate) fn text_of(record: &Path) -> Result<Option<String>, LabError> {
    let path = path_of(record);
    has_file(&path).then(|| folder::read_text("the series", &path, Limit::RECORD)).transpose()
}

/// What lies beside a record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    /// Nothing, and the record names nothing.
    Nothing,
    /// What the record names.
    Whole,
    /// The record names a file that is not there.
    Missing,
    /// Another one than the record names, and why.
    Other(String),
}

/// Compares the file beside a record with what the record says of it.
pub(crate) fn look(path: &Path, record: &RunRecord) -> Beside {
    let named = record.target.metrics.as_ref().and_then(|m| Some((m, m.series_sha256.as_ref()?)));
    let found = match text_of(path) {
        Ok(found) => found,
        Err(error) => return Beside::Other(error.words().0.to_owned()),
    };
    match (named, found) {
        (None, None) => Beside::Nothing,
        (None, Some(_)) => Beside::Other("the record names no such file".to_owned()),
        (Some(_), None) => Beside::Missing,
        (Some((_, sum)), Some(text)) if *sum != digest(&text) => {
            Beside::Other("its content does not match the checksum in the record".to_owned())
        }
        (Some((metrics, _)), Some(text)) => match ServerSeries::from_json(&text) {
            Ok(series) if series.growth() == metrics.growth && series.means() == metrics.means => Beside::Whole,
            Ok(_) => Beside::Other("its values are not those that the record sums up".to_owned()),
            Err(why) => Beside::Other(format!("it {why}")),
        },
    }
}
