//! Switches, softirqs, pressure and memory.

use std::collections::BTreeMap;

use procfs_core::{CpuPressure, FromRead as _, IoPressure, Meminfo, MemoryPressure};

use super::labelled;

type Values = BTreeMap<String, f64>;

/// Lines of `/proc/stat`, by their first word.
const STAT: [(&str, &str); 4] = [
    ("ctxt", "node_context_switches_total"),
    ("processes", "node_forks_total"),
    ("procs_running", "node_procs_running"),
    ("procs_blocked", "node_procs_blocked"),
];
/// Lines of `/proc/vmstat`: pages that went to swap and came from it, and pages that a program waited for.
const VMSTAT: [(&str, &str); 3] = [
    ("pswpin", "node_vmstat_pswpin_total"),
    ("pswpout", "node_vmstat_pswpout_total"),
    ("pgmajfault", "node_vmstat_pgmajfault_total"),
];
/// Lines of a group's `cpu.stat`, and what a value is divided by.
const THROTTLED: [(&str, &str, f64); 2] = [
    ("nr_throttled", "container_cpu_cfs_throttled_periods_total", 1.0),
    ("throttled_usec", "container_cpu_cfs_throttled_seconds_total", 1e6),
];

/// The number in the line of a text that begins with this word.
fn line(text: &str, word: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(' '))?;
    rest.trim().parse::<u64>().ok().map(|n| n as f64)
}

fn lines(text: &str, all: &[(&str, &str)], values: &mut Values) {
    values.extend(all.iter().filter_map(|(word, name)| Some(((*name).to_owned(), line(text, word)?))));
}

pub(super) fn stat(text: &str, values: &mut Values) {
    lines(text, &STAT, values);
}

pub(super) fn vmstat(text: &str, values: &mut Values) {
    lines(text, &VMSTAT, values);
}

pub(super) fn throttled(text: &str, values: &mut Values) {
    values.extend(THROTTLED.iter().filter_map(|(word, name, per)| Some(((*name).to_owned(), line(text, word)? / per))));
}

/// Softirqs by kind, of all processors (`/proc/softirqs`).
pub(super) fn softirqs(text: &str, values: &mut Values) {
    for (kind, counts) in text.lines().filter_map(|line| line.split_once(':')) {
        let counts: Option<Vec<u64>> = counts.split_whitespace().map(|n| n.parse().ok()).collect();
        let Some(counts) = counts.filter(|all| !all.is_empty() && !kind.trim().is_empty()) else { continue };
        values.insert(labelled("node_softirqs_total", "vector", kind.trim()), counts.iter().map(|n| *n as f64).sum());
    }
}

pub(super) fn memory(text: &str, values: &mut Values) {
    let Ok(read) = Meminfo::from_read(text.as_bytes()) else { return };
    let told = [("MemAvailable", read.mem_available), ("Dirty", Some(read.dirty)), ("Writeback", Some(read.writeback))];
    values.extend(told.into_iter().filter_map(|(name, bytes)| Some((format!("node_memory_{name}_bytes"), bytes? as f64))));
}

/// The time for which some tasks, or all, waited.
fn pressure(of: &str, waiting_us: u64, stalled_us: Option<u64>, values: &mut Values) {
    let parts = [("waiting", Some(waiting_us)), ("stalled", stalled_us)];
    values.extend(
        parts.into_iter().filter_map(|(part, us)| Some((format!("node_pressure_{of}_{part}_seconds_total"), us? as f64 / 1e6))),
    );
}

pub(super) fn pressure_cpu(text: &str, values: &mut Values) {
    if let Ok(read) = CpuPressure::from_read(text.as_bytes()) {
        pressure("cpu", read.some.total, None, values);
    }
}

pub(super) fn pressure_io(text: &str, values: &mut Values) {
    if let Ok(read) = IoPressure::from_read(text.as_bytes()) {
        pressure("io", read.some.total, Some(read.full.total), values);
    }
}

pub(super) fn pressure_memory(text: &str, values: &mut Values) {
    if let Ok(read) = MemoryPressure::from_read(text.as_bytes()) {
        pressure("memory", read.some.total, Some(read.full.total), values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(add: fn(&str, &mut Values), text: &str) -> Vec<(String, f64)> {
        let mut values = Values::new();
        add(text, &mut values);
        values.into_iter().collect()
    }

    fn named(all: &[(&str, f64)]) -> Vec<(String, f64)> {
        all.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn counters_are_read_as_the_kernel_writes_them() {
        let text = "cpu  1 2 3 4\nctxt 500\nbtime 7\nprocesses 9\nprocs_running 2\nprocs_blocked 1\n";
        let expected = [
            ("node_context_switches_total", 500.0),
            ("node_forks_total", 9.0),
            ("node_procs_blocked", 1.0),
            ("node_procs_running", 2.0),
        ];
        assert_eq!(read(stat, text), named(&expected));
        let text =
            "                    CPU0       CPU1\n          HI:          0          1\n      NET_RX:        700         50\n";
        let expected = [("node_softirqs_total{vector=\"HI\"}", 1.0), ("node_softirqs_total{vector=\"NET_RX\"}", 750.0)];
        assert_eq!(read(softirqs, text), named(&expected));
        assert_eq!(read(vmstat, "pswpin 3\npswpin_x 4\npgmajfault 5\n").len(), 2);
        let text = "usage_usec 5\nnr_throttled 3\nthrottled_usec 2500\n";
        let expected =
            [("container_cpu_cfs_throttled_periods_total", 3.0), ("container_cpu_cfs_throttled_seconds_total", 0.0025)];
        assert_eq!(read(throttled, text), named(&expected));
    }

    #[test]
    fn pressure_is_the_time_that_was_waited() {
        let text = "some avg10=0.00 avg60=1.50 avg300=0.10 total=2500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=500000\n";
        let of = |of: &str| {
            let name = |part| format!("node_pressure_{of}_{part}_seconds_total");
            vec![(name("stalled"), 0.5), (name("waiting"), 2.5)]
        };
        assert_eq!(read(pressure_io, text), of("io"));
        assert_eq!(read(pressure_memory, text), of("memory"));
        assert_eq!(read(pressure_cpu, text), named(&[("node_pressure_cpu_waiting_seconds_total", 2.5)]));
    }
}
