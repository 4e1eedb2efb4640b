//! Everything that the system counts of its processors, disks, networks and memory, by the names of Prometheus' node_exporter.
//!
//! A name ends with `_total` where the value only grows. So what another program collected by these names reads the same.

mod disk;
mod interrupts;
mod kernel;
mod network;

use std::collections::BTreeMap;
use std::fs;

pub use interrupts::Interrupts;

/// What the system had counted at one time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counters {
    /// Values by name with labels, in the unit of the name: seconds, bytes, or a number.
    pub values: BTreeMap<String, f64>,
    /// Interrupts of devices by processor.
    pub interrupts: Interrupts,
}

/// Whether the value of a name only grows.
pub fn is_counter(name: &str) -> bool {
    name.split('{').next().is_some_and(|family| family.ends_with("_total"))
}

impl Counters {
    /// Reads files below `/proc` and `/sys` through a function, which returns `None` where there is no such file.
    pub fn read(file: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut values = BTreeMap::new();
        let mut with = |path: &str, add: fn(&str, &mut BTreeMap<String, f64>)| {
            if let Some(text) = file(path) {
                add(&text, &mut values);
            }
        };
        with("/proc/stat", kernel::stat);
        with("/proc/softirqs", kernel::softirqs);
        with("/proc/vmstat", kernel::vmstat);
        with("/proc/meminfo", kernel::memory);
        with("/proc/pressure/cpu", kernel::pressure_cpu);
        with("/proc/pressure/io", kernel::pressure_io);
        with("/proc/pressure/memory", kernel::pressure_memory);
        with("/proc/diskstats", disk::add);
        with("/proc/net/dev", network::devices);
        with("/proc/net/snmp", network::protocols);
        with("/proc/net/netstat", network::protocols);
        with("/proc/net/softnet_stat", network::softnet);
        let own = file("/proc/self/cgroup").and_then(|text| crate::withheld::unified_group(&text));
        if let Some(text) = own.and_then(|group| file(&format!("/sys/fs/cgroup{group}/cpu.stat"))) {
            kernel::throttled(&text, &mut values);
        }
        let interrupts = file("/proc/interrupts").map(|text| Interrupts::read(&text)).unwrap_or_default();
        Self { values, interrupts }
    }
}

/// What this system has counted so far.
pub fn counters() -> Counters {
    Counters::read(&|path| fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// A name with one label. Quotes and backslashes of a value are escaped, as in Prometheus' text format.
fn labelled(family: &str, label: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("{family}{{{label}=\"{value}\"}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_counts() {
        let seen = counters();
        for name in ["node_context_switches_total", "node_softirqs_total{vector=\"TIMER\"}", "node_netstat_Tcp_OutSegs_total"] {
            assert!(seen.values.get(name).is_some_and(|v| *v > 0.0), "{name}: {seen:?}");
        }
        assert!(seen.values["node_memory_MemAvailable_bytes"] > 1e6);
        assert!(is_counter("a_total{b=\"c\"}") && is_counter("a_total") && !is_counter("a_bytes"));
    }

    #[test]
    fn what_is_not_there_is_not_counted() {
        assert_eq!(Counters::read(&|_| None), Counters::default());
        assert_eq!(Counters::read(&|_| Some("x\n1 2 3\n\u{0}:".to_owned())), Counters::default());
    }

    #[test]
    fn labels_are_escaped() {
        assert_eq!(labelled("n_total", "device", "a\"b\\"), "n_total{device=\"a\\\"b\\\\\"}");
    }
}
