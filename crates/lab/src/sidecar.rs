//! The files beside a record: series, and plans. The record holds their checksums, so they are written first; without it they count for nothing.

use std::path::{Path, PathBuf};

use perbuck_core::run_record::{PlanFile, RunRecord, ServerSeries};
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
    /// The file of plans that belongs beside it, where they were asked for.
    pub plans: Option<String>,
}

/// A sort of file beside a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// What the servers counted in each step.
    Series,
    /// The plans of queries.
    Plans,
}

impl Sort {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Series, Self::Plans];

    /// What is added to the name of a record.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Series => "series",
            Self::Plans => "plans",
        }
    }

    /// The file of the record at this path: `001.json.series`.
    pub fn path_of(self, record: &Path) -> PathBuf {
        record.with_added_extension(self.ending())
    }

    /// The checksum that a record holds of its file.
    fn named(self, record: &RunRecord) -> Option<&String> {
        match self {
            Self::Series => record.target.metrics.as_ref()?.series_sha256.as_ref(),
            Self::Plans => record.target.plans.as_ref().map(|plans| &plans.file_sha256),
        }
    }

    /// Whether the record says what its file says.
    fn agrees(self, record: &RunRecord, text: &str) -> Result<bool, String> {
        let (metrics, plans) = (record.target.metrics.as_ref(), record.target.plans.as_ref());
        match self {
            Self::Series => {
                let series = ServerSeries::from_json(text)?;
                Ok(metrics.is_some_and(|metrics| series.growth() == metrics.growth && series.means() == metrics.means))
            }
            Self::Plans => {
                let file = PlanFile::from_json(text)?;
                Ok(plans.is_some_and(|plans| file.belongs_to(plans)))
            }
        }
    }
}

/// The checksum of a file, as its record holds it.
pub(crate) fn digest(text: &str) -> String {
    evidence::checksum(text)
}

/// Writes it beside a record that is not there yet. One that a killed command left is replaced.
pub(crate) fn write(record: &Path, sort: Sort, text: &str) -> Result<(), LabError> {
    if has_file(record) { Ok(()) } else { store::replace(&sort.path_of(record), text) }
}

/// The text beside a record, if there is any.
pub(crate) fn text_of(record: &Path, sort: Sort) -> Result<Option<String>, LabError> {
    let path = sort.path_of(record);
    has_file(&path).then(|| folder::read_text(&format!("the {}", sort.ending()), &path, Limit::RECORD)).transpose()
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

/// Compares the files beside a record with what the record says of them.
pub(crate) fn look(path: &Path, record: &RunRecord) -> [(Sort, Beside); 2] {
    Sort::ALL.map(|sort| (sort, look_at(path, record, sort)))
}

fn look_at(path: &Path, record: &RunRecord, sort: Sort) -> Beside {
    let found = match text_of(path, sort) {
        Ok(found) => found,
        Err(error) => return Beside::Other(error.words().0.to_owned()),
    };
    match (sort.named(record), found) {
        (None, None) => Beside::Nothing,
        (None, Some(_)) => Beside::Other("the record names no such file".to_owned()),
        (Some(_), None) => Beside::Missing,
        (Some(sum), Some(text)) if *sum != digest(&text) => {
            Beside::Other("its content does not match the checksum in the record".to_owned())
        }
        (Some(_), Some(text)) => match sort.agrees(record, &text) {
            Ok(true) => Beside::Whole,
            Ok(false) => Beside::Other("its values are not those that the record sums up".to_owned()),
            Err(why) => Beside::Other(format!("it {why}")),
        },
    }
}
