//! Prepared data beside results, on which private servers start.

use std::fs;
use std::path::{Path, PathBuf};

use perbuck_core::study::Contender;
use perbuck_load::stop::StopToken;

use super::archive::{Archive, write_whole};
use super::manifest::Manifest;
use super::{manifest_in, manifest_name, new_id, of_server, wanted};
use crate::error::LabError;
use crate::inputs::Inputs;

/// The folder of all studies that holds them.
const KEPT: &str = ".data";
const OTHERS: &str = "restore those of this study, or remove them: perbuck data drop";

/// The folder of a study's.
pub(super) fn folder(results: &Path, study: &str) -> PathBuf {
    results.join(KEPT).join(study)
}

/// Puts data where a private server finds them; the old ones go after that.
pub(super) fn keep(
    manifest: &Manifest,
    root: &Path,
    unpack: &mut dyn FnMut(&Path) -> Result<(), LabError>,
) -> Result<PathBuf, LabError> {
    let own = root.join(&manifest.contender);
    // A folder of its own, also where the same data are there: those stay until these are whole.
    let kept = Manifest { parts: Vec::new(), id: new_id()?, ..manifest.clone() };
    let (into, listed) = (root.join(kept.folder()), root.join(manifest_name(&manifest.contender)));
    if let Err(error) = unpack(&into) {
        let _ = fs::remove_dir_all(&into);
        return Err(error);
    }
    let text = kept.text().map_err(|why| LabError::failed(format!("cannot write the manifest: {why}"), ""))?;
    write_whole(&listed, &text).map_err(LabError::of_file("write", &listed))?;
    let others = fs::read_dir(&own).map_err(LabError::of_file("read", &own))?.flatten().map(|entry| entry.path());
    others
        .filter(|path| *path != into)
        .try_for_each(|path| fs::remove_dir_all(&path).map_err(LabError::of_file("remove", &path)))?;
    Ok(into)
}

/// The folder of the prepared data that a private server is to start on, and when they were saved; `None` where there are none.
pub(crate) fn kept(
    inputs: &Inputs,
    contender: &Contender,
    results: &Path,
    stop: &StopToken,
) -> Result<Option<(PathBuf, String)>, LabError> {
    let root = folder(results, &inputs.study.name);
    let name = contender.control_of.as_ref().unwrap_or(&contender.name);
    let Some(manifest) = manifest_in(&Archive::Folder(root.clone()), name)? else { return Ok(None) };
    let stages = of_server(inputs, contender, stop)?;
    let wanted = wanted(inputs, contender, &stages, stop)?;
    if let Some(how) = manifest.differs(&wanted) {
        let message = format!("contender `{name}`: the prepared data in {} are others: {how}", root.display());
        return Err(LabError::refused(message, format!("{OTHERS} {}", root.display())));
    }
    let data = root.join(manifest.folder());
    let data = data.canonicalize().map_err(LabError::of_file("read the prepared data in", &data))?;
    Ok(Some((data, manifest.saved)))
}
