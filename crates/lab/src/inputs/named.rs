//! Files that a user names. They may be pipes (`zcat list.gz > pipe &`, `<(…)`) or devices, whose other end may never come: such a
//! wait has no limit, and is said.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Instant;

use perbuck_load::watch::{FIRST, next_due, unmoved};

/// Where it is said; nowhere before a program has named the place.
static SAY: OnceLock<fn(&str)> = OnceLock::new();

/// Names what says that a file is waited for.
pub(crate) fn say_waits_by(say: fn(&str)) {
    SAY.get_or_init(|| say);
}

/// An opened file.
pub struct Named {
    file: File,
    /// Whether it is no pipe and no device.
    pub(super) is_plain: bool,
    /// Told of each piece that came, where the file may keep its reader waiting.
    moved: Option<Sender<()>>,
}

impl Named {
    /// Opens a file. A pipe waits for its writer, and says so.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(path: &Path) -> io::Result<Self> {
        let is_plain = fs::metadata(path).is_ok_and(|m| m.is_file() || m.is_dir());
        let moved = if is_plain { None } else { watch(&path.display().to_string()) };
        Ok(Self { file: File::open(path)?, is_plain, moved })
    }

    /// Standard input.
    ///
    /// # Errors
    /// Those of the system.
    pub fn stdin() -> io::Result<Self> {
        let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let is_plain = file.metadata()?.is_file();
        let moved = if is_plain { None } else { watch("standard input") };
        Ok(Self { file, is_plain, moved })
    }

    /// Its length in bytes as the system tells it: 0 of a pipe.
    pub(crate) fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |m| m.len())
    }
}

impl Read for Named {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer);
        if let Some(moved) = &self.moved {
            // The other thread lives as long as this end.
            let _ = moved.send(());
        }
        read
    }
}

/// Says in a thread of its own that nothing moves, until the returned end is dropped.
fn watch(name: &str) -> Option<Sender<()>> {
    let say = *SAY.get()?;
    let (moved, moves) = channel();
    let what = format!("waiting for {name}, which is a pipe or a device, to be written");
    // Without a thread the file is read, and nothing is said.
    thread::Builder::new().name("reading".to_owned()).spawn(move || tell(&moves, &what, say)).ok().map(|_| moved)
}

fn tell(moves: &Receiver<()>, what: &str, say: fn(&str)) {
    let (mut since, mut due) = (Instant::now(), FIRST);
    loop {
        match moves.recv_timeout(due.saturating_sub(since.elapsed())) {
            Ok(()) => (since, due) = (Instant::now(), FIRST),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                say(&unmoved(since.elapsed(), what));
                due = next_due(due);
            }
        }
    }
}
