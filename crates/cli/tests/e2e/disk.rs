//! `perbuck doctor --disk` loads a real disk with fio, and leaves nothing on it however it ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{Desk, ended, wait_until};
use perbuck_lab::disk::Ceilings;

/// A folder on a disk: that of temporary files may lie in memory.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn is_empty(folder: &tempfile::TempDir) -> bool {
    fs::read_dir(folder.path()).unwrap().next().is_none()
}

#[test]
fn a_disk_is_measured_beside_what_its_volume_has() {
    let (desk, folder) = (Desk::new(), folder());
    desk.write(
        "s.toml",
        "schema = 1\nname = \"s\"\n[price]\nsnapshot = \"aws-2026-07\"\nregions = [\"us-east-1\"]\n[[contender]]\nname = \"arm\"\n\
         target = \"sqlite:x.db\"\nnode = [{ role = \"db\", instance = \"r8g.large\", volume = { kind = \"gp3\", size_gb = 500 } }]\n\
         [[workload]]\nname = \"w\"\nkind = \"sysbench\"\nscript = \"oltp_point_select\"\n",
    );
    let path = folder.path().to_str().unwrap();
    let text = desk.good(&["doctor", "--disk", path, "--seconds", "3", "--study", "s.toml"]);
    assert!(text.err.contains(&format!("fio loads the disk of {path} for 3 s")), "{}", text.err);
    for words in ["random reads of 16 KiB, 32 at once", "each with fsync", "arm db: gp3 of 500 GB has 3,000 IOPS and 125 MiB/s"] {
        assert!(text.out.contains(words), "{words} is not in {}", text.out);
    }
    let json = desk.good(&["doctor", "--disk", path, "--seconds", "3", "--json"]).out;
    let found: serde_json::Value = serde_json::from_str(&json).unwrap();
    let found: Ceilings = serde_json::from_value(found["disk"].clone()).unwrap();
    for one in [found.reads, found.writes, found.syncs] {
        assert!(one.iops > 0.0 && one.mib_s > 0.0 && one.p50_us > 0.0 && one.p99_us >= one.p50_us, "{found:?}");
    }
    // What 32 read at once, of 16 KiB each.
    let mib_s = found.reads.iops / 64.0;
    assert!((found.reads.mib_s / mib_s - 1.0).abs() < 0.05, "{found:?}");
    assert!(is_empty(&folder));
}

#[test]
fn ctrl_c_ends_the_load_and_nothing_is_left() {
    let (desk, folder) = (Desk::new(), folder());
    let path = folder.path().to_str().unwrap();
    let mut child = desk.command(&["doctor", "--disk", path, "--seconds", "300"]);
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut fio = None;
    wait_until("fio runs", || {
        fio = fio_of(child.id());
        fio.is_some()
    });
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let stopped = ended(child.wait_with_output().unwrap());
    assert_eq!(stopped.code, Some(130), "{stopped:#?}");
    assert!(is_empty(&folder) && !fio.unwrap().exists());
}

/// The folder below `/proc` of the fio that this process started and that loads the disk: asked for its version, it ends at once.
fn fio_of(parent: u32) -> Option<PathBuf> {
    let parent = format!("\nPPid:\t{parent}\n");
    let holds = |path: &Path, file: &str, text: &str| fs::read_to_string(path.join(file)).is_ok_and(|all| all.contains(text));
    let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    all.into_iter().find(|path| holds(path, "status", &parent) && holds(path, "cmdline", "fio\0--filename="))
}

#[test]
fn a_machine_without_fio_and_a_folder_in_memory_are_told() {
    let (desk, folder) = (Desk::new(), folder());
    let path = folder.path().to_str().unwrap();
    let without = ended(desk.command(&["doctor", "--disk", path]).env("PATH", "/none").output().unwrap());
    let said = format!("the disk of {path} was not measured: fio cannot be run");
    assert!(
        without.code == Some(1) && without.err.contains(&said) && without.err.contains("apt-get install fio"),
        "{without:#?}"
    );
    let none = desk.perbuck(&["doctor", "--disk", "/no/such/folder"]);
    assert!(none.code == Some(2) && none.err.contains("there is no folder /no/such/folder"), "{none:#?}");
    for words in [
        &["doctor", "--seconds", "5"][..],
        &["doctor", "--disk", path, "--seconds", "2"],
        &["doctor", "--disk", path, "--apply", "x"],
    ] {
        assert_eq!(desk.perbuck(words).code, Some(2), "{words:?}");
    }
}
