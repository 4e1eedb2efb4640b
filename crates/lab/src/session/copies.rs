//! Copies of the data of a study (`reset = "restore"`): saved when they are loaded, restored before each further block.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Instant;

use perbuck_load::driver::CopyScope;

use super::Session;
use super::readied::Readied;
use crate::data::{DataState, FRESH};
use crate::error::{ErrorKind, LabError};
use crate::preflight;
use crate::prepare;
use crate::progress::{Details, Progress};
use crate::rest;
use crate::servers::WhileStopped;
use crate::stage::Stage;
use crate::tiflash;

/// What was saved.
#[derive(Default)]
pub(super) struct Copies {
    /// Of what there is a copy; see [`Session::copy_name`].
    saved: BTreeSet<String>,
    /// Rows per table of the data that were saved, by stage.
    rows: BTreeMap<usize, BTreeMap<String, u64>>,
}

impl Session<'_> {
    /// What the copy of a stage's data holds: a private server as a whole, of any other one its database.
    fn copy_name(&self, stage: usize) -> String {
        let contender = stage / self.inputs.study.workloads.len();
        if self.servers.has(contender) {
            self.inputs.study.contenders[contender].name.clone()
        } else {
            self.stages[stage].address.clone()
        }
    }

    /// The data of all workloads in the database of a stage.
    fn scope(&self, stage: usize) -> CopyScope {
        let mut all = CopyScope::default();
        for other in self.stages.iter().filter(|other| other.address == self.stages[stage].address) {
            let own = other.server.copy_scope(&other.tables);
            all.tables.extend(own.tables);
            all.rows.extend(own.rows);
            all.mixed.extend(own.mixed);
        }
        all.tables.sort();
        all.tables.dedup();
        all.rows.sort();
        all.rows.dedup();
        all
    }

    /// Saves a copy of fresh data, unless that was done.
    pub(super) fn save(&mut self, stage: usize, contender: &str, progress: &mut dyn Progress) -> Result<Readied, LabError> {
        let name = self.copy_name(stage);
        if self.copies.saved.contains(&name) {
            return Ok(Readied::Kept);
        }
        let (began, title) = (Instant::now(), &self.stages[stage].title);
        progress.passing(&format!("{title}: saving a copy of the data"));
        self.has_room(stage)?;
        // What is begun goes at the end of the run.
        self.copies.saved.insert(name);
        self.copy(stage, WhileStopped::Save, contender, progress)?;
        let seconds = began.elapsed().as_secs_f64();
        let storage = self.inputs.study.contenders[stage / self.inputs.study.workloads.len()].backup.as_ref();
        let url = storage.map(|url| url.value.split('?').next().unwrap_or_default());
        let left = url.map_or_else(String::new, |url| format!("; its folder in {url} stays there until you delete it"));
        progress.line(&format!("{title}: saved a copy of the data in {seconds:.1} s{left}"));
        Ok(Readied::Saved)
    }

    /// Makes sure that the copies of loaded data, whose size is known now, have room beside them. The guard of a private server looks by itself.
    fn has_room(&self, stage: usize) -> Result<(), LabError> {
        let at = &self.stages[stage];
        if at.copies_beside() == 0 || self.servers.has(stage / self.inputs.study.workloads.len()) {
            return Ok(());
        }
        let folder = at.server.host_facts(0).map_err(|e| LabError::target(&at.title, &e))?.data_folder;
        let seen = folder.and_then(|folder| Some((preflight::room_at(&folder)?, folder)));
        let Some((room, folder)) = seen.filter(|(room, _)| !room.shares && !room.compresses) else { return Ok(()) };
        let size = at.server.data_size(&at.tables)?.store_bytes.unwrap_or(0);
        let needed = size.saturating_mul(at.copies_beside());
        // A copy that a run before left is replaced.
        let left = at.server.copy_file().and_then(|file| fs::metadata(file).ok()).map_or(0, |file| file.len());
        let free = room.free_bytes.saturating_add(left);
        if needed <= free {
            return Ok(());
        }
        let [needed, free] = [needed, free].map(preflight::megabytes);
        let (title, folder) = (&at.title, folder.display());
        let message = format!("{title}: the copies of the data need {needed} on the disk of {folder}, and {free} are free there");
        Err(LabError::new(ErrorKind::Files, message, "free some space on that disk, or write `reset = \"per-block\"`"))
    }

    /// Restores the data of a stage; where there is no copy, or one of other data, they are loaded and saved.
    pub(super) fn restore(&mut self, position: usize, contender: &str, progress: &mut dyn Progress) -> Result<Readied, LabError> {
        let (stage, noted) = (&self.stages[position], self.stages[position].data.noted()?);
        // A restore wipes out the evidence of what the last trials did to the data.
        if matches!(noted, DataState::Ours { .. }) {
            prepare::check(stage, &mut Details(progress))?;
        }
        let name = self.copy_name(position);
        // A run that was killed leaves the copy, unless it goes with the server.
        let is_left = !self.copies.saved.contains(&name) && stage.server.has_copy()?;
        if is_left {
            let cut_off = match noted {
                DataState::Unfinished => "the data are a mix, since their restore or load was cut off; ",
                _ => "",
            };
            progress.line(&format!("{}: {cut_off}going on with the copy of the data that a run before left", stage.title));
        }
        if is_left || self.copies.saved.contains(&name) {
            let began = Instant::now();
            progress.passing(&format!("{}: restoring the data", stage.title));
            self.copy(position, WhileStopped::Restore, contender, progress)?;
            if is_fresh(stage)? {
                progress.detail(&format!("{}: restored the data in {:.1} s", stage.title, began.elapsed().as_secs_f64()));
                self.copies.saved.insert(name);
                return Ok(Readied::Restored);
            }
            progress.alert(&format!("{}: the copy holds other data, and is saved again", stage.title));
        }
        prepare::load(stage, None, self.stop, &mut Details(progress))?;
        rest::wait(&[stage], self.stop, progress)?;
        self.copies.saved.remove(&name);
        self.save(position, contender, progress)?;
        Ok(Readied::Reloaded)
    }

    fn copy(&mut self, stage: usize, step: WhileStopped, contender: &str, progress: &mut dyn Progress) -> Result<(), LabError> {
        if self.servers.has(stage / self.inputs.study.workloads.len()) {
            return self.restart(stage, step, contender);
        }
        self.globals.release(contender)?;
        let at = &self.stages[stage];
        match step {
            WhileStopped::Save => at.server.save_copy(&self.scope(stage))?,
            WhileStopped::Restore => at.server.restore_copy(&self.scope(stage), &self.leases.notes_of(at))?,
            WhileStopped::Nothing | WhileStopped::Cool => {}
        }
        if at.server.drops_first() {
            // As after a load.
            tiflash::ready(at, self.stop, &mut Details(progress))?;
            rest::settled(at, false, self.stop, &mut Details(progress))?;
        }
        Ok(())
    }

    /// Makes sure that restored data have the rows of those that were saved.
    pub(super) fn has_all_rows(&mut self, stage: usize, rows: &BTreeMap<String, u64>, readied: Readied) -> Result<(), LabError> {
        match (readied, self.copies.rows.get(&stage)) {
            (Readied::Restored, Some(saved)) if saved != rows => {
                let (title, count) =
                    (&self.stages[stage].title, |of: &BTreeMap<String, u64>, table: &str| of.get(table).copied().unwrap_or(0));
                let other = saved.keys().find(|table| count(saved, table) != count(rows, table)).map_or("", String::as_str);
                let message = format!(
                    "{title}: {other} has {} rows after its restore, and had {}",
                    count(rows, other),
                    count(saved, other)
                );
                Err(LabError::failed(message, "write `reset = \"per-block\"`, which loads the data instead"))
            }
            (Readied::Saved | Readied::Reloaded | Readied::Restored, _) => {
                self.copies.rows.insert(stage, rows.clone());
                Ok(())
            }
            (Readied::Foreign | Readied::Kept | Readied::Restarted, _) => Ok(()),
        }
    }

    /// Removes the copies that would be left; those of private servers go with them.
    pub(super) fn drop_copies(&self) -> Result<(), LabError> {
        let saved = |stage: &&Stage| self.copies.saved.contains(&stage.address);
        self.stages.iter().filter(saved).try_for_each(|stage| stage.server.drop_copy())
    }
}

fn is_fresh(stage: &Stage) -> Result<bool, LabError> {
    let noted = stage.data.noted()?;
    Ok(matches!(noted, DataState::Ours { fingerprint, used_by } if fingerprint == stage.fingerprint && used_by == FRESH))
}
