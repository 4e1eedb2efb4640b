//! Files that are made equal to others, by several threads, each of which takes one range of bytes after the other.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, available_parallelism};
use std::time::Duration;

/// Bytes of a range; between two of them a thread looks whether it is to end.
const RANGE: u64 = 16 * 1024 * 1024;
/// Bytes that are read at once: two such buffers fit into the cache of a processor.
const BUFFER: usize = 256 * 1024;
/// Bytes that are compared at once: a page of memory, of which the system writes nothing less.
const PAGE: usize = 4096;
/// More threads than these are not faster: memory and disk are the limit.
const THREADS_MAX: usize = 8;
/// Between two looks whether perbuck is still there.
const LOOK: Duration = Duration::from_millis(50);

/// A file, and one of the same length that gets its bytes.
pub(super) struct Pair {
    pub(super) from: PathBuf,
    pub(super) to: PathBuf,
    /// The length of both.
    pub(super) bytes: u64,
    /// Whether it was just made, and so has no bytes but zeros.
    pub(super) is_new: bool,
}

/// Gives each second file the bytes of the first. Ends early, with `false`, where `goes` says so.
pub(super) fn copy_ranges(pairs: Vec<Pair>, goes: &dyn Fn() -> bool) -> io::Result<bool> {
    // The largest first, so that no thread is left with one alone.
    let mut pairs = pairs;
    pairs.sort_by_key(|pair| std::cmp::Reverse(pair.bytes));
    let ranges = pairs.iter().flat_map(|pair| (0..pair.bytes.div_ceil(RANGE)).map(move |n| (pair, n * RANGE)));
    let (ranges, ends) = (Mutex::new(ranges), AtomicBool::new(false));
    let threads = available_parallelism().map_or(1, |n| n.get().min(THREADS_MAX));
    thread::scope(|scope| {
        let (tell, told) = channel();
        for _ in 0..threads {
            let (tell, ranges, ends) = (tell.clone(), &ranges, &ends);
            scope.spawn(move || {
                let next = || ranges.lock().ok()?.next().filter(|_| !ends.load(Ordering::Relaxed));
                let mut buffers = [vec![0; BUFFER], vec![0; BUFFER]];
                while let Some((pair, start)) = next() {
                    if let Err(error) = copy_range(pair, start, &mut buffers) {
                        // Only the first one is told.
                        let _ = tell.send(error);
                        return;
                    }
                }
            });
        }
        drop(tell);
        let mut came = Ok(goes());
        while matches!(came, Ok(true)) {
            match told.recv_timeout(LOOK) {
                Ok(error) => came = Err(error),
                Err(RecvTimeoutError::Timeout) => came = Ok(goes()),
                Err(RecvTimeoutError::Disconnected) => return came,
            }
        }
        ends.store(true, Ordering::Relaxed);
        came
    })
}

/// Writes the pages of a range that differ; of a file that was just made all of them, since the system would else find blocks for them
/// while a trial writes.
fn copy_range(pair: &Pair, start: u64, [wanted, found]: &mut [Vec<u8>; 2]) -> io::Result<()> {
    let (from, to) = (File::open(&pair.from)?, File::options().read(true).write(true).open(&pair.to)?);
    let end = pair.bytes.min(start + RANGE);
    let mut at = start;
    while at < end {
        let length = (end - at).min(BUFFER as u64) as usize;
        let (wanted, found) = (&mut wanted[..length], &mut found[..length]);
        from.read_exact_at(wanted, at)?;
        if pair.is_new {
            to.write_all_at(wanted, at)?;
        } else {
            to.read_exact_at(found, at)?;
            if wanted != found {
                for (page, (wanted, found)) in wanted.chunks(PAGE).zip(found.chunks(PAGE)).enumerate() {
                    if wanted != found {
                        to.write_all_at(wanted, at + (page * PAGE) as u64)?;
                    }
                }
            }
        }
        at += length as u64;
    }
    Ok(())
}
