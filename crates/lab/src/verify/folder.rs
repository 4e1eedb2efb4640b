//! A report against the files of a results folder.

use std::collections::BTreeMap;
use std::path::Path;

use perbuck_core::parallel::in_parallel;
use perbuck_core::run_record::RunRecord;
use perbuck_report::difference;
use perbuck_report::evidence::Unpacked;
use serde_json::Value;

use super::{Findings, VerifyRequest, same_text};
use crate::error::LabError;
use crate::folder::has_file;
use crate::{store, stored};

/// Values of one record that are printed where it differs.
const VALUES: usize = 3;

pub(super) fn holds_records(folder: &Path) -> bool {
    has_file(&folder.join(store::STUDY_FILE))
}

/// Compares study, prices and every record of a folder with what a page embeds. A record that cannot be read is a finding.
pub(super) fn check(found: &mut Findings, data: &Unpacked, folder: &Path, asked: &VerifyRequest) -> Result<(), LabError> {
    same_text(found, &data.head.study, asked.study.as_deref(), &folder.join(store::STUDY_FILE))?;
    if let Some(prices) = &data.head.prices {
        same_text(found, prices, asked.prices.as_deref(), &folder.join(store::PRICES_FILE))?;
    }
    let mut embedded: BTreeMap<String, (&RunRecord, &str)> =
        data.records.iter().zip(&data.sums).map(|(r, sum)| (r.path(), (r, sum.as_str()))).collect();
    let paths = store::evidence_in(folder)?;
    let read = in_parallel(&paths, |path| {
        let sealed = stored::read_record(path).and_then(|r| stored::seal(&r).map(|sum| (r, sum)));
        Ok(sealed.map_err(|e| e.words().0.to_owned()))
    })?;
    let before = found.differs.len();
    for (path, read) in paths.iter().zip(read) {
        let name = path.strip_prefix(folder).unwrap_or(path).to_string_lossy().replace('\\', "/");
        match (embedded.remove(&name), read) {
            (_, Err(why)) => found.differs(format!("record {name}: {why}")),
            (None, Ok(_)) => found.differs(format!("record {name}: is in the folder and not in the page")),
            (Some((_, sum)), Ok((_, file))) if sum == file => {}
            (Some((trial, _)), Ok((file, _))) => found.differs(format!("record {name}: {}", what_differs(trial, &file))),
        }
    }
    for name in embedded.keys() {
        found.differs(format!("record {name}: is in the page and not in the folder"));
    }
    if found.differs.len() == before {
        found.held(format!("{} records in {} are the embedded ones", paths.len(), folder.display()));
    }
    Ok(())
}

/// The first values by which a file and an embedded trial differ.
fn what_differs(embedded: &RunRecord, file: &RunRecord) -> String {
    let value = |r: &RunRecord| serde_json::to_value(r).unwrap_or(Value::Null);
    let (some, count) = difference::of_values(&value(embedded), &value(file), VALUES);
    let mut each: Vec<String> =
        some.iter().map(|d| format!("{} is {} in the page and {} in the file", d.path, d.says, d.must)).collect();
    if count > some.len() {
        each.push(format!("{} more values differ", count - some.len()));
    }
    if each.is_empty() { "its content does not match the checksum in the page".to_owned() } else { each.join("; ") }
}
