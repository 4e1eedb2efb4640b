//! The files that a page embeds, written out again.

use std::fs;
use std::path::Path;

use perbuck_report::evidence::{Kind, Unpacked};

use crate::error::LabError;
use crate::{store, stored};

/// Writes the embedded study, prices and records as a results folder, which must not exist.
pub(super) fn write(data: &Unpacked, folder: &Path) -> Result<(), LabError> {
    if folder.exists() {
        let message = format!("{} exists already", folder.display());
        return Err(LabError::refused(message, "name a folder that does not exist"));
    }
    if let Some(odd) = data.records.iter().find(|r| !is_plain(&r.path())) {
        let message = format!("the embedded trial {:?} has a name that no study can have", odd.path());
        return Err(LabError::refused(message, "nothing was written"));
    }
    fs::create_dir_all(folder).map_err(LabError::of_file("make the folder", folder))?;
    store::replace(&folder.join(store::STUDY_FILE), &data.head.study.text)?;
    if let Some(prices) = &data.head.prices {
        store::replace(&folder.join(store::PRICES_FILE), &prices.text)?;
    }
    if let Some(results) = &data.head.results {
        store::replace(&folder.join("results.csv"), &results.text)?;
    }
    if data.head.kind == Kind::Measured {
        if let Ok(study) = stored::read_study(&data.head.study.text) {
            store::replace(&folder.join(store::FINGERPRINT_FILE), &format!("{}\n", study.fingerprint()))?;
        }
        if data.head.checked {
            store::replace(&folder.join(store::CHECKED_FILE), store::CHECKED_TEXT)?;
        }
    }
    data.records.iter().try_for_each(|r| store::write_once(folder, &folder.join(r.path()), r))
}

/// Whether a path stays below the folder that it is joined to: a page is foreign text.
fn is_plain(path: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    path.split('/').all(|part| !part.is_empty() && !part.starts_with('.') && part.chars().all(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_embedded_name_leaves_the_folder() {
        assert!(is_plain("arm/small/c00300/001.json") && is_plain("a.b/w_1/r0000010-c00001/001.json"));
        for odd in ["../a/c00001/001.json", "/etc/x/c1/1.json", "a/../b/1.json", "a//b", "a\\b", "a/\u{202e}b"] {
            assert!(!is_plain(odd), "{odd}");
        }
    }
}
