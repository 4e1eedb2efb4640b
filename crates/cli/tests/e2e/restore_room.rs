//! Room for the copies of `reset = "restore"`: looked at before the load by what the workload will load, and after it by what was loaded.

use std::fs::File;
use std::process::Command;

use crate::common::{Desk, Ended};

/// What is free on the disk of the desk; `None` where copies may take no room there.
fn free(desk: &Desk) -> Option<u64> {
    let output = Command::new("df").args(["-B1", "--output=fstype,avail"]).arg(desk.path(".")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let words: Vec<&str> = text.lines().last().unwrap().split_whitespace().collect();
    ["ext2", "ext3", "ext4", "tmpfs"].contains(&words[0]).then(|| words[1].parse().unwrap())
}

fn study(contender: &str, workload: &str) -> String {
    format!(
        "schema = 1\nname = \"s\"\n[[contender]]\nname = \"m\"\n{contender}\n[[workload]]\nname = \"w\"\nkind = \"sysbench\"\n\
         script = \"oltp_insert\"\n{workload}\n[sweep]\nconnections = [1]\nwarmup = \"0s\"\nduration = \"100ms\"\ntrials = 1\n"
    )
}

fn refused(ended: &Ended, words: &[&str]) {
    assert_eq!(ended.code, Some(5), "{ended:#?}");
    words.iter().for_each(|word| assert!(ended.err.contains(word), "`{word}` is missing in {ended:#?}"));
}

#[test]
fn data_that_fit_once_and_not_with_their_copies_are_refused_before_the_load() {
    let desk = Desk::new();
    let Some(free) = free(&desk) else { return };
    // A row of sysbench has about 190 bytes.
    let size = format!("tables = 20\ntable_size = {}", free / 190 * 6 / 10 / 20);
    for contender in ["target = \"sqlite:a.db\"", "server = { kind = \"mariadb\", folder = \".\" }"] {
        desk.write("s.toml", &study(contender, &size));
        desk.good(&["check", "--connect", "s.toml"]);
        desk.write("s.toml", &study(contender, &format!("{size}\nreset = \"restore\"")));
        for command in [&["check", "--connect", "s.toml"][..], &["run", "s.toml"]] {
            let ended = desk.perbuck(command);
            refused(
                &ended,
                &["s.toml: m", ": the data and their copies for `reset = \"restore\"` need more than ", " MB are free there"],
            );
            assert!(ended.err.contains("or write `reset = \"per-block\"`"), "{ended:#?}");
        }
        assert!(!desk.path("a.db").exists());
    }
}

#[test]
fn loaded_data_whose_copies_have_no_room_are_refused_before_the_copy() {
    let desk = Desk::new();
    if free(&desk).is_none() {
        return;
    }
    desk.write("s.toml", &study("target = \"sqlite:a.db\"", "tables = 1\ntable_size = 100\nreset = \"restore\""));
    desk.good(&["prepare", "s.toml"]);
    // A hole, larger than what is free on a disk that tests run on.
    File::options().write(true).open(desk.path("a.db")).unwrap().set_len(8 << 40).unwrap();
    let ended = desk.perbuck(&["run", "s.toml"]);
    refused(&ended, &["m, w: the copies of the data need 17,592,186 MB on the disk of ", " MB are free there"]);
    assert!(!desk.path("a.db.perbuck-copy").exists() && !desk.path("a.db.perbuck-unfinished").exists());
    assert_eq!(desk.records("results").len(), 0);
}
