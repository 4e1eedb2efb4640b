//! Follows the live file of a study, and adds up what it counts.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use perbuck_lab::folder;
use perbuck_lab::live::{LIVE_FILE, Line};

use super::counted::Counted;

/// Bytes that are read of a file that was not followed from its start: its end, some five hours of seconds.
const MOST: u64 = 16 * 1024 * 1024;
/// Bytes that are read at once.
const PART: usize = 64 * 1024;
/// A longer line is passed over; perbuck writes none that is a tenth of it.
const LONGEST: usize = 256 * 1024;
/// Bytes at the start of a file that tell one run from another: they hold the time of its first line.
const STAMP: usize = 40;

/// What was read of a live file.
#[derive(Debug, Default)]
pub(super) struct Follower {
    /// The start of the file that was read; another run starts another file under the same name.
    stamp: Vec<u8>,
    /// How far it was read.
    at: u64,
    /// The beginning of a line whose end is not there yet.
    begun: Vec<u8>,
    /// Whether the rest of a line is passed over.
    skips: bool,
    pub(super) counted: Counted,
}

impl Follower {
    /// One that knows a file as it is now, and counts only what comes after it.
    pub(super) fn after(folder: &Path) -> Self {
        let mut follower = Self::default();
        if let Ok((stamp, length)) = stamp(folder) {
            (follower.stamp, follower.at) = (stamp, length);
        }
        follower
    }

    /// Reads what has come since; a file that cannot be read adds nothing.
    pub(super) fn read(&mut self, folder: &Path) {
        // There is none before the first run, and the next scrape tries again.
        let _ = self.try_read(folder);
    }

    fn try_read(&mut self, folder: &Path) -> io::Result<()> {
        let (stamp, length) = stamp(folder)?;
        // A run that has written part of a line is looked at when the line is whole.
        if stamp.len() < STAMP {
            return Ok(());
        }
        if stamp != self.stamp || length < self.at {
            (self.stamp, self.at, self.skips) = (stamp, length.saturating_sub(MOST), length > MOST);
            self.begun.clear();
        }
        let mut file = folder::open(&folder.join(LIVE_FILE))?;
        file.seek(SeekFrom::Start(self.at))?;
        let mut part = vec![0; PART];
        loop {
            let read = file.read(&mut part)?;
            if read == 0 {
                return Ok(());
            }
            self.at += read as u64;
            self.take(&part[..read]);
        }
    }

    fn take(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|b| *b == b'\n') {
            let (line, rest) = bytes.split_at(end);
            if !std::mem::take(&mut self.skips) {
                self.begun.extend_from_slice(line);
                // What a newer perbuck says is left to it.
                let text = str::from_utf8(&self.begun).unwrap_or_default();
                if let Ok(line) = serde_json::from_str::<Line>(text) {
                    self.counted.add(&line);
                }
            }
            self.begun.clear();
            bytes = &rest[1..];
        }
        if self.begun.len() + bytes.len() > LONGEST {
            self.begun.clear();
            self.skips = true;
        } else if !self.skips {
            self.begun.extend_from_slice(bytes);
        }
    }
}

/// The start of the live file, and its length.
fn stamp(folder: &Path) -> io::Result<(Vec<u8>, u64)> {
    let file = folder::open(&folder.join(LIVE_FILE))?;
    let (length, mut stamp) = (file.metadata()?.len(), Vec::new());
    file.take(STAMP as u64).read_to_end(&mut stamp)?;
    Ok((stamp, length))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn began(at_ms: u64) -> String {
        format!("{{\"at_ms\":{at_ms},\"event\":\"began\",\"trials\":4,\"on_disk\":1}}\n")
    }

    fn second(transactions: u64) -> String {
        let trial = r#"{"contender":"a","workload":"w","connections":1,"trial":1}"#;
        let interval = r#"{"start_ms":0,"length_ms":1000,"transactions":0,"statements":0,"errors":0,"p50_ns":0,"p95_ns":0,"p99_ns":0,"max_ns":0}"#;
        let latency = format!(r#"{{"count":{transactions},"sum_ns":5,"exponential":[[-3,{transactions}]],"round":[]}}"#);
        let counts = format!(
            r#"{{"transactions":{transactions},"failed":0,"statements":0,"retries":0,"reconnects":0,"in_flight":1,"latency":{latency}}}"#
        );
        format!(
            "{{\"at_ms\":1700000000001,\"event\":\"second\",\"trial\":{trial},\"position\":2,\"left_s\":60,\"second\":{interval},\"counts\":{counts}}}\n"
        )
    }

    fn transactions(follower: &Follower) -> u64 {
        follower.counted.points.values().map(|p| p.transactions).sum()
    }

    #[test]
    fn lines_are_counted_once_however_they_come() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LIVE_FILE);
        let mut follower = Follower::default();
        follower.read(folder.path());
        let (line, mut text) = (second(5), began(1_700_000_000_000));
        text += &line[..30];
        fs::write(&path, &text).unwrap();
        follower.read(folder.path());
        assert_eq!((follower.counted.planned, transactions(&follower)), (4, 0));
        fs::write(&path, text.clone() + &line[30..]).unwrap();
        follower.read(folder.path());
        follower.read(folder.path());
        assert_eq!(transactions(&follower), 5);
        // The next run starts the file again, and the counters go on.
        fs::write(&path, began(1_700_000_009_000) + &second(7) + "no line\n" + &second(1) + &text[..9]).unwrap();
        follower.read(folder.path());
        assert_eq!(transactions(&follower), 13);
    }

    #[test]
    fn what_was_there_before_is_not_counted_by_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LIVE_FILE);
        fs::write(&path, began(1_700_000_000_000) + &second(5)).unwrap();
        let mut follower = Follower::after(folder.path());
        follower.read(folder.path());
        assert_eq!(transactions(&follower), 0);
        fs::write(&path, began(1_700_000_009_000) + &second(7)).unwrap();
        follower.read(folder.path());
        assert_eq!(transactions(&follower), 7);
    }

    #[test]
    fn endless_lines_and_files_take_bounded_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LIVE_FILE);
        let long = "x".repeat(3 * LONGEST);
        fs::write(&path, began(1_700_000_000_000) + &second(1) + &long + "\n" + &second(2)).unwrap();
        let mut follower = Follower::default();
        follower.read(folder.path());
        assert_eq!((transactions(&follower), follower.begun.len()), (3, 0));
        let many = second(1).repeat(MOST as usize / second(1).len() + 1000);
        fs::write(&path, began(1_700_000_001_000) + &many).unwrap();
        let mut other = Follower::default();
        other.read(folder.path());
        let (read, all) = (transactions(&other), many.len() / second(1).len());
        assert!(read > 1000 && (read as usize) < all, "{read} of {all}");
    }
}
