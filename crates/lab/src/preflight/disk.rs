//! Whether the disks of this machine and of hosts have room for what will be written to them.

use std::path::{Path, PathBuf};

use perbuck_core::study::{Sweep, WorkloadSpec};
use perbuck_observe::{Room, room};

use super::Request;
use crate::error::{ErrorKind, LabError};
use crate::inputs::Inputs;

/// Bytes of a record for each second of its trial, at least.
const RECORD_SECOND: u64 = 200;

/// What will be written, by disk.
#[derive(Debug, Default)]
pub(super) struct Disks(Vec<Disk>);

#[derive(Debug)]
struct Disk {
    /// The machine of a server; empty for this one.
    host: String,
    room: Room,
    folder: PathBuf,
    who: Vec<String>,
    bytes: u64,
    /// Whether copies of the data are among these bytes.
    copied: bool,
}

impl Disks {
    /// Notes that so many bytes of data will be written to a folder, or where it will be made, and how many copies of them.
    pub(super) fn take(&mut self, who: &str, folder: &Path, written: (u64, u64)) {
        self.add((who, ""), folder, room_at(folder), written);
    }

    /// The same where the room is known, on any machine.
    pub(super) fn add(&mut self, (who, host): (&str, &str), folder: &Path, room: Option<Room>, (bytes, copies): (u64, u64)) {
        let Some(room) = room else { return };
        let (who, copied) = (who.to_owned(), copies > 0 && !room.shares);
        let bytes = if copied { bytes.saturating_mul(1 + copies) } else { bytes };
        match self.0.iter_mut().find(|disk| disk.host == host && disk.room.device == room.device) {
            Some(disk) => {
                disk.bytes = disk.bytes.saturating_add(bytes);
                disk.copied |= copied;
                if !disk.who.contains(&who) {
                    disk.who.push(who);
                }
            }
            None => self.0.push(Disk { host: host.to_owned(), room, folder: folder.to_owned(), who: vec![who], bytes, copied }),
        }
    }

    /// The disks that are too small. What is counted is less than what a database will need: its indexes and its log are left out.
    pub(super) fn problems(mut self, inputs: &Inputs, request: Request<'_>) -> Vec<LabError> {
        if let Some(results) = request.results {
            let study = &inputs.study;
            // Where a number of transactions or the last stream ends a trial, its length is not known.
            let ends = |sweep: &Sweep| sweep.events.is_some() || sweep.of_streams;
            let window_ns = |sweep: &Sweep| if ends(sweep) { 0 } else { sweep.duration_ns };
            let seconds = |sweep: &Sweep| sweep.warmup_ns.saturating_add(window_ns(sweep)) / 1_000_000_000;
            let of = |w: &WorkloadSpec| study.trials_of(&w.name).saturating_mul(seconds(study.sweep_of(&w.name)));
            let seconds = study.workloads.iter().map(of).fold(0, u64::saturating_add);
            let records = seconds.saturating_mul(RECORD_SECOND);
            self.take("records", results, (records, 0));
        }
        let too_small = |disk: &&Disk| !disk.room.compresses && disk.bytes > disk.room.free_bytes;
        self.0.iter().filter(too_small).map(Disk::problem).collect()
    }
}

/// The room where a folder is, or will be made.
pub(crate) fn room_at(folder: &Path) -> Option<Room> {
    folder.ancestors().find_map(of_folder)
}

/// An empty name is that of the folder in which perbuck runs.
fn of_folder(folder: &Path) -> Option<Room> {
    room(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
}

impl Disk {
    fn problem(&self) -> LabError {
        let who = self.who.join(", ");
        let (host, folder) = match &*self.host {
            "" => (String::new(), std::path::absolute(&self.folder).unwrap_or_else(|_| self.folder.clone())),
            host => (format!("{host}:"), self.folder.clone()),
        };
        let (what, way_out) = match self.copied {
            true => ("the data and their copies for `reset = \"restore\"`", ", or write `reset = \"per-block\"`"),
            false => ("the data", ""),
        };
        let message = format!(
            "{who}: {what} need more than {} on the disk of {host}{}, and {} are free there",
            megabytes(self.bytes),
            folder.display(),
            megabytes(self.room.free_bytes)
        );
        let help = format!("free some space on that disk, or lower the size of the data in the workload{way_out}");
        LabError::new(ErrorKind::Files, message, help)
    }
}

pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{} MB", perbuck_core::units::thousands(bytes / 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shares_a_disk_is_added_up_and_a_folder_that_is_missing_is_that_above_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut disks = Disks::default();
        disks.take("a", folder.path(), (3, 0));
        disks.take("b", &folder.path().join("not/yet"), (4, 0));
        disks.take("b", folder.path(), (5, 0));
        let [disk] = &mut disks.0[..] else { panic!("{disks:?}") };
        assert_eq!((disk.bytes, disk.who.join(" ")), (12, "a b".to_owned()));
        (disk.bytes, disk.room.free_bytes) = (5_000_000_000, 2_000_000);
        let words = disk.problem().to_string();
        assert!(words.starts_with("a, b: the data need more than 5,000 MB on the disk of "), "{words}");
        assert!(words.contains(", and 2 MB are free there"), "{words}");
    }

    #[test]
    fn copies_count_where_no_two_files_share_blocks() {
        let room = |shares| Room { device: 1, total_bytes: 9, free_bytes: 9, compresses: false, shares };
        let of = |copies, shares| {
            let mut disks = Disks::default();
            disks.add(("a", ""), Path::new("/f"), Some(room(shares)), (10_000_000, copies));
            let disk = &disks.0[0];
            (disk.bytes, disk.problem().to_string())
        };
        assert_eq!([of(0, false).0, of(2, true).0, of(2, false).0], [10_000_000, 10_000_000, 30_000_000]);
        let words = of(2, false).1;
        assert!(
            words.starts_with("a: the data and their copies for `reset = \"restore\"` need more than 30 MB on the disk of /f"),
            "{words}"
        );
        assert!(words.contains("or write `reset = \"per-block\"`"), "{words}");
        assert!(of(2, true).1.starts_with("a: the data need more than 10 MB"), "it is said without them");
    }
}
