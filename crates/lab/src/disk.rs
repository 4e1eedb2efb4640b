//! What the disk below a folder can do, before anything is loaded there: by `fio`, on a file without a name. The file is gone when perbuck and
//! fio are, however they end.

mod load;
mod promise;

use std::path::PathBuf;
use std::time::Duration;

use perbuck_load::stop::StopToken;
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::servers::Machine;

pub(crate) use load::measure;
pub use promise::{Promise, promises};

/// Size of the file, in bytes: more than the caches of most disks and controllers.
pub const FILE_BYTES: u64 = 1 << 30;
/// How long the file may take to be written.
const FILL: Duration = Duration::from_secs(60);

/// What is asked of a disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DiskLoad {
    /// A folder on it.
    pub folder: PathBuf,
    /// Seconds of load, for its three parts together.
    pub seconds: u32,
}

impl DiskLoad {
    /// How long all of it may take.
    pub(crate) fn limit(&self) -> Duration {
        FILL + Duration::from_secs(u64::from(self.seconds)) + Duration::from_secs(10)
    }
}

/// What a disk did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// The folder.
    pub folder: PathBuf,
    /// The version of the program that loaded it.
    pub fio: String,
    /// Size of the file, in bytes.
    pub file_bytes: u64,
    /// Random reads of 16 KiB past the page cache, 32 at once: a page of InnoDB.
    pub reads: Ceiling,
    /// Random writes likewise.
    pub writes: Ceiling,
    /// Writes of 4 KiB one after the other, each with fsync: a commit.
    pub syncs: Ceiling,
}

/// What it did under one load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Operations per second.
    pub iops: f64,
    /// Throughput in MiB/s.
    pub mib_s: f64,
    /// Median of the time of one, in microseconds; of writes with fsync it is that of the fsync.
    pub p50_us: f64,
    /// Its 99th percentile, in microseconds.
    pub p99_us: f64,
}

/// Headings of [`Ceilings::rows`].
pub const HEADS: &str = "Load | IOPS | MiB/s | p50 ms | p99 ms";

impl Ceilings {
    /// Measures the disk of a folder of this machine, or of the one that `host` names.
    ///
    /// # Errors
    /// A machine without fio, a folder that cannot be used or has too little room, a host that cannot be used, and Ctrl-C.
    pub fn of(host: Option<&str>, load: &DiskLoad, stop: &StopToken) -> Result<Self, LabError> {
        Machine::open(host, stop)?.ceilings(load, stop)
    }

    /// A row of a table for each load.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let row = |(what, c): (&str, &Ceiling)| {
            let ms = |us: f64| format!("{:.2}", us / 1e3);
            vec![what.to_owned(), format!("{:.0}", c.iops), format!("{:.1}", c.mib_s), ms(c.p50_us), ms(c.p99_us)]
        };
        let all = [
            ("random reads of 16 KiB, 32 at once", &self.reads),
            ("random writes of 16 KiB, 32 at once", &self.writes),
            ("writes of 4 KiB, each with fsync", &self.syncs),
        ];
        all.into_iter().map(row).collect()
    }
}
