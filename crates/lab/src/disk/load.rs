//! The load itself.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use perbuck_observe::{file_system, room};
use serde_json::Value;

use super::{Ceiling, Ceilings, DiskLoad, FILE_BYTES, FILL};
use crate::error::LabError;
use crate::servers::without_passwords;

/// The file may take this part of what is free.
const SHARE: u64 = 10;
const BLOCK: usize = 1 << 20;
const POLL: Duration = Duration::from_millis(20);

/// Measures the disk of a folder of this machine.
///
/// # Errors
/// A machine without fio, a folder that cannot be used or has too little room, what fio says, and a stop.
pub(crate) fn measure(load: &DiskLoad, stopped: &dyn Fn() -> bool) -> Result<Ceilings, LabError> {
    let (folder, until) = (&load.folder, Instant::now() + load.limit());
    let fio = version(folder)?;
    has_room(folder)?;
    let mut file = tempfile::tempfile_in(folder).map_err(LabError::of_file("make a file in", folder))?;
    fill(&mut file, folder, stopped)?;
    let said = loaded(load, &file, stopped, until)?;
    let parts = ["reads", "writes", "syncs"].map(|name| ceiling(&said, name));
    let [Some(reads), Some(writes), Some(syncs)] = parts else {
        let all = said.lines().filter(|line| line.starts_with("fio: ")).take(3).collect::<Vec<_>>().join("; ");
        let message = format!("{}: fio measured nothing: {all}", folder.display());
        return Err(LabError::failed(message, "its file system may refuse direct access; give a folder of the server's data"));
    };
    Ok(Ceilings { folder: folder.clone(), fio, file_bytes: FILE_BYTES, reads, writes, syncs })
}

fn version(folder: &Path) -> Result<String, LabError> {
    let said = without_passwords(Command::new("fio").arg("--version")).stdin(Stdio::null()).output().map_err(|e| {
        let message = format!("the disk of {} was not measured: fio cannot be run: {e}", folder.display());
        LabError::failed(message, "install it on that machine: apt-get install fio, or dnf install fio")
    })?;
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

/// Refuses a folder whose file system lies in memory or would be full.
fn has_room(folder: &Path) -> Result<(), LabError> {
    if file_system(folder).is_some_and(|kind| ["tmpfs", "ramfs"].contains(&kind.as_str())) {
        return Err(LabError::usage(format!("{} lies in memory", folder.display()), "give a folder of the server's data"));
    }
    let missing = || LabError::usage(format!("there is no folder {}", folder.display()), "give a folder of the server's data");
    let free = room(folder).filter(|_| folder.is_dir()).ok_or_else(missing)?.free_bytes;
    if free < FILE_BYTES * SHARE {
        let gib = |bytes: u64| bytes as f64 / f64::from(1u32 << 30);
        let message = format!(
            "{}: {:.1} GiB are free, and a file of {} GiB would take more than a tenth of it",
            folder.display(),
            gib(free),
            gib(FILE_BYTES)
        );
        return Err(LabError::usage(message, "make room, or give another folder of the same disk"));
    }
    Ok(())
}

/// Fills the file with bytes that no disk can make smaller, so that reads find real data.
fn fill(file: &mut File, folder: &Path, stopped: &dyn Fn() -> bool) -> Result<(), LabError> {
    let (began, mut state, mut block) = (Instant::now(), 0x9e37_79b9_7f4a_7c15_u64, vec![0_u8; BLOCK]);
    for number in 1..=FILE_BYTES / BLOCK as u64 {
        for word in block.as_chunks_mut::<8>().0 {
            // xorshift64 (Marsaglia 2003).
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *word = state.to_ne_bytes();
        }
        if stopped() {
            return Err(LabError::interrupted());
        }
        // A part is on the disk before the next, so that a slow disk is seen in time.
        let written = file.write_all(&block).and_then(|()| if number.is_multiple_of(16) { file.sync_data() } else { Ok(()) });
        written.map_err(LabError::of_file("write a file in", folder))?;
        if began.elapsed() > FILL {
            let message = format!("{}: less than 1 GiB was written in {} s", folder.display(), FILL.as_secs());
            return Err(LabError::failed(message, "a disk that slow is not fit for a measurement; look at what else uses it"));
        }
    }
    Ok(())
}

/// A child that is ended when this is dropped.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the three loads and returns what fio says.
fn loaded(load: &DiskLoad, file: &File, stopped: &dyn Fn() -> bool, until: Instant) -> Result<String, LabError> {
    let failed = |e: std::io::Error| LabError::failed(format!("fio: {e}"), "");
    let mut output = tempfile::tempfile().map_err(failed)?;
    let mut command = Command::new("fio");
    // The file has no name but this one, and only root could open it by perbuck's own descriptor: perbuck's memory is closed to others.
    command.arg("--filename=/proc/self/fd/0").stdin(file.try_clone().map_err(failed)?);
    command.args([format!("--size={FILE_BYTES}"), format!("--runtime={}", (load.seconds / 3).max(1))]);
    command.args(["--output-format=json", "--thread", "--time_based", "--randrepeat=1", "--group_reporting"]);
    let deep = ["--direct=1", "--ioengine=libaio", "--iodepth=32", "--bs=16k", "--stonewall"];
    command.args(["--name=reads", "--rw=randread"]).args(deep).args(["--name=writes", "--rw=randwrite"]).args(deep);
    command.args(["--name=syncs", "--rw=write", "--ioengine=psync", "--bs=4k", "--fsync=1", "--stonewall"]);
    // Ctrl-C is for us.
    command.stdout(output.try_clone().map_err(failed)?).stderr(output.try_clone().map_err(failed)?);
    let mut child = Ending(without_passwords(&mut command).process_group(0).spawn().map_err(failed)?);
    while child.0.try_wait().map_err(failed)?.is_none() {
        if stopped() {
            return Err(LabError::interrupted());
        }
        if Instant::now() > until {
            return Err(LabError::failed(
                format!("fio did not end in {} s", load.limit().as_secs()),
                "is the disk of the folder stuck?",
            ));
        }
        thread::sleep(POLL);
    }
    let mut said = Vec::new();
    output.rewind().and_then(|()| output.read_to_end(&mut said)).map_err(failed)?;
    Ok(String::from_utf8_lossy(&said).into_owned())
}

/// What fio says of one of its jobs; `None` where it failed.
fn ceiling(said: &str, name: &str) -> Option<Ceiling> {
    // Warnings come before.
    let all: Value = serde_json::from_str(&said[said.find("{\n")?..]).ok()?;
    let job = all["jobs"].as_array()?.iter().find(|job| job["jobname"] == name)?;
    let of = &job[if name == "reads" { "read" } else { "write" }];
    let times = if name == "syncs" { &job["sync"]["lat_ns"] } else { &of["clat_ns"] };
    let us = |percentile: &str| Some(times["percentile"][percentile].as_f64()? / 1e3);
    let iops = of["iops"].as_f64().filter(|iops| *iops > 0.0 && job["error"] == 0)?;
    let mib_s = of["bw_bytes"].as_f64()? / f64::from(1u32 << 20);
    Some(Ceiling { iops, mib_s, p50_us: us("50.000000")?, p99_us: us("99.000000")? })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    /// What fio 3.33 said, shortened.
    const SAID: &str = r#"note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1
{
  "fio version" : "fio-3.33",
  "jobs" : [
    { "jobname" : "reads", "error" : 0, "read" : { "iops" : 3001.5, "bw_bytes" : 49152000, "clat_ns" : { "percentile" : { "50.000000" : 1000000, "99.000000" : 2500000 } } } },
    { "jobname" : "writes", "error" : 22, "write" : { "iops" : 0.0, "bw_bytes" : 0, "clat_ns" : { } } },
    { "jobname" : "syncs", "error" : 0, "write" : { "iops" : 500.0, "bw_bytes" : 2048000, "clat_ns" : { } },
      "sync" : { "lat_ns" : { "percentile" : { "50.000000" : 1500000, "99.000000" : 4000000 } } } }
  ]
}"#;

    #[test]
    fn what_fio_says_is_read_and_a_job_that_failed_says_nothing() {
        let reads = Ceiling { iops: 3001.5, mib_s: 46.875, p50_us: 1000.0, p99_us: 2500.0 };
        assert_eq!((ceiling(SAID, "reads"), ceiling(SAID, "writes"), ceiling("", "reads")), (Some(reads), None, None));
        assert_eq!(ceiling(SAID, "syncs").map(|c| (c.iops, c.p99_us)), Some((500.0, 4000.0)));
    }

    #[test]
    fn a_folder_in_memory_or_none_is_refused() {
        let refused = |folder: &str| has_room(Path::new(folder)).unwrap_err().to_string();
        assert!(refused("/no/such/folder").contains("there is no folder /no/such/folder"));
        assert!(refused("/proc").contains("0.0 GiB are free"), "{}", refused("/proc"));
        if file_system(Path::new("/dev/shm")).as_deref() == Some("tmpfs") {
            assert!(refused("/dev/shm").contains("/dev/shm lies in memory"));
        }
    }

    #[test]
    fn a_stop_ends_it_and_leaves_nothing() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let load = DiskLoad { folder: PathBuf::from(folder.path()), seconds: 3 };
        let mut file = tempfile::tempfile_in(folder.path()).unwrap();
        assert_eq!(fill(&mut file, folder.path(), &|| true).unwrap_err().to_string(), LabError::interrupted().to_string());
        let said = loaded(&load, &file, &|| true, Instant::now() + FILL);
        assert!(said.is_err() && fs::read_dir(folder.path()).unwrap().next().is_none());
    }
}
