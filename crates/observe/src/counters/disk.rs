//! Block devices.

use std::collections::BTreeMap;

use procfs_core::{DiskStats, FromRead as _};

use super::labelled;

/// A sector of `/proc/diskstats`, whatever the device has (Documentation/admin-guide/iostats.rst).
const SECTOR_BYTES: f64 = 512.0;

/// Adds whole disks: a partition's work is its disk's, too.
pub(super) fn add(text: &str, values: &mut BTreeMap<String, f64>) {
    let Ok(DiskStats(all)) = DiskStats::from_read(text.as_bytes()) else { return };
    for disk in all.iter().filter(|disk| is_whole(&disk.name)) {
        let ms = |ms: u64| ms as f64 / 1e3;
        for (name, value) in [
            ("reads_completed_total", disk.reads as f64),
            ("read_bytes_total", disk.sectors_read as f64 * SECTOR_BYTES),
            ("read_time_seconds_total", ms(disk.time_reading)),
            ("writes_completed_total", disk.writes as f64),
            ("written_bytes_total", disk.sectors_written as f64 * SECTOR_BYTES),
            ("write_time_seconds_total", ms(disk.time_writing)),
            ("flush_requests_total", disk.flushes.unwrap_or(0) as f64),
            ("flush_requests_time_seconds_total", ms(disk.time_flushing.unwrap_or(0))),
            ("io_time_seconds_total", ms(disk.time_in_progress)),
            ("io_time_weighted_seconds_total", ms(disk.weighted_time_in_progress)),
        ] {
            values.insert(labelled(&format!("node_disk_{name}"), "device", &disk.name), value);
        }
    }
}

/// Whether a name is that of a whole disk that can be slow: `sda`, `nvme0n1` and `vda` are, `sda1`, `nvme0n1p1` and `loop0` are not.
fn is_whole(name: &str) -> bool {
    let ends_with_digit = name.ends_with(|c: char| c.is_ascii_digit());
    let numbered = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix)) && ends_with_digit;
    let part = |prefix: &str| name.starts_with(prefix) && name.rsplit_once('p').is_some_and(|(_, n)| n.parse::<u32>().is_ok());
    !(numbered(&["ram", "zram", "loop", "fd", "sr", "sd", "vd", "hd", "xvd"]) || part("nvme") || part("mmcblk"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_read_as_the_kernel_writes_them() {
        let mut values = BTreeMap::new();
        add(
            " 254 0 vda 100 2 2000 300 50 1 400 900 0 500 1200 0 0 0 0 7 70\n 254 1 vda1 9 9 9 9 9 9 9 9 0 9 9\n 7 0 loop0 1 0 1 1 0 0 0 0 0 1 1\n",
            &mut values,
        );
        assert_eq!(values.len(), 10, "{values:?}");
        assert_eq!(values["node_disk_read_bytes_total{device=\"vda\"}"], 1_024_000.0);
        assert_eq!(values["node_disk_write_time_seconds_total{device=\"vda\"}"], 0.9);
        assert_eq!(values["node_disk_io_time_weighted_seconds_total{device=\"vda\"}"], 1.2);
        assert_eq!(values["node_disk_flush_requests_time_seconds_total{device=\"vda\"}"], 0.07);
    }

    #[test]
    fn partitions_and_loops_are_no_disks() {
        for name in ["sda", "vdb", "nvme0n1", "nvme12n1", "md127", "dm-0", "xvda", "mmcblk0"] {
            assert!(is_whole(name), "{name}");
        }
        for name in ["sda1", "vdb12", "nvme0n1p3", "loop7", "ram0", "zram0", "sr0", "mmcblk0p1", "xvda1"] {
            assert!(!is_whole(name), "{name}");
        }
    }
}
