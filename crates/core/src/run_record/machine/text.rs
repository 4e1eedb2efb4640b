//! Facts of a machine in words.

use super::{CacheFacts, CgroupFacts, CpuFacts, DiskFacts, KernelFacts, LimitFacts, MachineFacts, MemoryFacts, NetworkFacts};
use super::{NumaNode, PlatformFacts};

/// Facts that belong together: each a name with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactGroup {
    /// What they are of: `processor`.
    pub title: &'static str,
    /// The facts; none is empty.
    pub facts: Vec<(String, String)>,
}

impl MachineFacts {
    /// All facts in words, in groups; a group without facts is left out.
    pub fn groups(&self) -> Vec<FactGroup> {
        let numa = || self.numa.iter().map(NumaNode::fact).collect();
        let disks = || self.disks.iter().map(DiskFacts::fact).collect();
        let network = || self.network.iter().map(NetworkFacts::fact).collect();
        let all = [
            ("platform", self.platform.facts()),
            ("processor", self.cpu.facts()),
            ("NUMA", numa()),
            ("memory", self.memory.facts()),
            ("kernel", self.kernel.facts()),
            ("control group", self.cgroup.facts()),
            ("disks", disks()),
            ("network", network()),
            ("limits", self.limits.facts()),
        ];
        let group = |(title, facts): (&'static str, Vec<(String, String)>)| FactGroup { title, facts };
        all.into_iter().map(group).filter(|group| !group.facts.is_empty()).collect()
    }

    /// The facts that a reader asks for first, in one line; empty where nothing is told.
    pub fn line(&self) -> String {
        let (cpu, memory) = (&self.cpu, &self.memory);
        let core = cpu.core.as_ref().map(|core| cpu.product.as_ref().map_or(core.clone(), |p| format!("{core} ({p})")));
        let smt = cpu.cores.zip(cpu.threads).map(|(cores, threads)| {
            if threads > cores { format!("{} with SMT", counted(cores, "core")) } else { counted(cores, "core") }
        });
        let some = [
            self.platform.instance_type.clone(),
            core,
            cpu.sockets.filter(|n| *n > 1).map(|n| counted(n, "socket")),
            smt,
            Some(self.numa.len()).filter(|n| *n > 1).map(|n| format!("{n} NUMA nodes")),
            memory.page_bytes.filter(|n| *n != 4096).map(|n| format!("pages of {}", bytes(n))),
            memory.transparent_huge_pages.as_ref().map(|word| format!("transparent huge pages {word}")),
            cpu.governor.as_ref().map(|word| format!("governor {word}")),
        ];
        some.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl CpuFacts {
    fn facts(&self) -> Vec<(String, String)> {
        let core = self.core.as_ref().map(|core| match &self.product {
            Some(product) => format!("{core} ({product})"),
            None => core.clone(),
        });
        let family = self.family.zip(self.model_number);
        let midr = self.implementer.as_ref().zip(self.part.as_ref());
        let stepping = self.stepping.as_ref().map(|s| format!(", {s}")).unwrap_or_default();
        let numbers = match (family, midr) {
            (Some((family, model)), _) => {
                let stepping = self.stepping.as_ref().map(|s| format!(", stepping {s}")).unwrap_or_default();
                Some(format!("family {family}, model {model}{stepping}"))
            }
            (None, Some((implementer, part))) => Some(format!("implementer {implementer}, part {part}{stepping}")),
            (None, None) => None,
        };
        let caches = self.caches.iter().map(CacheFacts::text).collect::<Vec<_>>().join("; ");
        let range = match (self.mhz_min, self.mhz_max) {
            (Some(min), Some(max)) => Some(format!("{min} to {max} MHz")),
            (min, max) => min.or(max).map(|mhz| format!("{mhz} MHz")),
        };
        told([
            ("vendor", self.vendor.clone()),
            ("model", self.model.clone()),
            ("core", core),
            ("numbers", numbers),
            ("microcode", self.microcode.clone()),
            ("online", self.online.clone()),
            ("isolated", self.isolated.clone()),
            ("sockets", self.sockets.map(|n| n.to_string())),
            ("cores", self.cores.map(|n| n.to_string())),
            ("threads", self.threads.map(|n| n.to_string())),
            ("SMT", self.smt.clone()),
            ("caches", Some(caches)),
            ("frequency", range),
            ("frequency limit", self.mhz_limit.map(|mhz| format!("{mhz} MHz"))),
            ("frequency driver", self.frequency_driver.clone()),
            ("governor", self.governor.clone()),
            ("boost", self.boost.map(on)),
            ("flags", Some(self.flags.join(" "))),
        ])
    }
}

impl CacheFacts {
    fn text(&self) -> String {
        let shared = if self.shared_by > 1 { format!(", each shared by {} threads", self.shared_by) } else { String::new() };
        format!("{} {} × {}{shared}", self.name, self.count, bytes(self.bytes))
    }
}

impl NumaNode {
    fn fact(&self) -> (String, String) {
        let cpus = if self.cpus.is_empty() { "no processors".to_owned() } else { format!("processors {}", self.cpus) };
        (format!("node {}", self.node), format!("{cpus}, {}", bytes(self.memory_bytes)))
    }
}

impl MemoryFacts {
    fn facts(&self) -> Vec<(String, String)> {
        let huge = self.huge_pages.zip(self.huge_page_bytes).map(|(count, size)| format!("{count} × {}", bytes(size)));
        let swap = self.swap_bytes.map(|n| if n == 0 { "none".to_owned() } else { bytes(n) });
        told([
            ("page size", self.page_bytes.map(bytes)),
            ("transparent huge pages", self.transparent_huge_pages.clone()),
            ("huge page defrag", self.huge_page_defrag.clone()),
            ("huge pages", huge),
            ("swap", swap),
            ("swappiness", self.swappiness.map(|n| n.to_string())),
            ("NUMA balancing", self.numa_balancing.map(on)),
            ("balloon", self.balloon.clone()),
        ])
    }
}

impl KernelFacts {
    fn facts(&self) -> Vec<(String, String)> {
        let mut facts = told([("release", self.release.clone()), ("clocksource", self.clocksource.clone())]);
        facts.extend(self.vulnerabilities.iter().map(|(fault, state)| (fault.clone(), state.clone())));
        facts
    }
}

impl PlatformFacts {
    fn facts(&self) -> Vec<(String, String)> {
        told([
            ("vendor", self.vendor.clone()),
            ("product", self.product.clone()),
            ("hypervisor", self.hypervisor.clone()),
            ("instance type", self.instance_type.clone()),
        ])
    }
}

impl CgroupFacts {
    fn facts(&self) -> Vec<(String, String)> {
        told([
            ("CPU time", self.cpu_m.map(processors)),
            ("processors", self.cpus.clone()),
            ("memory", self.memory_bytes.map(bytes)),
        ])
    }
}

impl DiskFacts {
    fn fact(&self) -> (String, String) {
        let all = [
            self.model.clone(),
            self.bytes.map(bytes),
            self.rotational.map(|spins| if spins { "rotational" } else { "not rotational" }.to_owned()),
            self.scheduler.as_ref().map(|s| format!("scheduler {s}")),
            self.queue_depth.map(|n| format!("queue depth {n}")),
        ];
        (self.names.join(" "), all.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

impl NetworkFacts {
    fn fact(&self) -> (String, String) {
        let all = [
            self.driver.clone(),
            Some(format!("queues rx {} tx {}", self.rx_queues, self.tx_queues)),
            self.mtu.map(|n| format!("MTU {n}")),
            self.mbit_s.map(|n| format!("{n} Mbit/s")),
            self.offloaded(true).map(|names| format!("offloads {names}")),
            self.offloaded(false).map(|names| format!("without {names}")),
            self.coalescing(),
        ];
        (self.name.clone(), all.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

impl NetworkFacts {
    fn offloaded(&self, is_on: bool) -> Option<String> {
        let names: Vec<&str> = self.offloads.iter().filter(|(_, on)| **on == is_on).map(|(name, _)| name.as_str()).collect();
        (!names.is_empty()).then(|| names.join(" "))
    }

    /// How long it waits before it interrupts.
    fn coalescing(&self) -> Option<String> {
        if self.adaptive_coalescing == Some(true) {
            return Some("coalescing adaptive".to_owned());
        }
        let one = |of: &str, us: Option<u32>| us.map(|us| format!(" {of} {us} µs")).unwrap_or_default();
        let both = one("rx", self.rx_coalescing_us) + &one("tx", self.tx_coalescing_us);
        (!both.is_empty()).then(|| format!("coalescing{both}"))
    }
}

impl LimitFacts {
    fn facts(&self) -> Vec<(String, String)> {
        let files = self.open_files.map(|soft| match self.open_files_max {
            Some(hard) if hard != soft => format!("{soft}, at most {hard}"),
            _ => soft.to_string(),
        });
        told([
            ("open files", files),
            ("somaxconn", self.somaxconn.map(|n| n.to_string())),
            ("local ports", self.local_ports.clone()),
        ])
    }
}

/// Those facts that are told.
fn told<const N: usize>(all: [(&str, Option<String>); N]) -> Vec<(String, String)> {
    let told = |(name, value): (&str, Option<String>)| Some((name.to_owned(), value.filter(|v| !v.is_empty())?));
    all.into_iter().filter_map(told).collect()
}

fn on(is_on: bool) -> String {
    if is_on { "on" } else { "off" }.to_owned()
}

/// Thousandths of a processor: `2.5 processors`.
fn processors(thousandths: u64) -> String {
    let fraction = format!(".{:03}", thousandths % 1000);
    format!("{}{} processors", thousandths / 1000, fraction.trim_end_matches('0').trim_end_matches('.'))
}

fn counted(count: u32, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// In the largest unit of which it is at least one, to a tenth.
fn bytes(count: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let Some((unit, size)) = UNITS.into_iter().find(|(_, size)| count >= *size) else { return format!("{count} B") };
    let tenths = (u128::from(count) * 10 + u128::from(size) / 2) / u128::from(size);
    match tenths % 10 {
        0 => format!("{} {unit}", tenths / 10),
        tenth => format!("{}.{tenth} {unit}", tenths / 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_told_is_said() {
        assert_eq!(MachineFacts::default().groups(), []);
        assert_eq!(MachineFacts::default().line(), "");
        let cpu = CpuFacts { cores: Some(2), threads: Some(4), core: Some("Zen 4".to_owned()), ..CpuFacts::default() };
        let memory = MemoryFacts { page_bytes: Some(65536), swap_bytes: Some(0), ..MemoryFacts::default() };
        let facts = MachineFacts { cpu, memory, ..MachineFacts::default() };
        assert_eq!(facts.line(), "Zen 4, 2 cores with SMT, pages of 64 KiB");
        let groups = facts.groups();
        assert_eq!(groups.iter().map(|g| g.title).collect::<Vec<_>>(), ["processor", "memory"]);
        assert_eq!(groups[1].facts[1], ("swap".to_owned(), "none".to_owned()));
    }

    #[test]
    fn shares_of_processors_have_no_needless_digits() {
        assert_eq!([16_000, 2_500, 50].map(processors), ["16 processors", "2.5 processors", "0.05 processors"]);
    }

    #[test]
    fn sizes_have_the_unit_that_fits() {
        for (count, text) in
            [(0, "0 B"), (1023, "1023 B"), (4096, "4 KiB"), (1 << 21, "2 MiB"), (25_276_502_016, "23.5 GiB"), (1 << 41, "2 TiB")]
        {
            assert_eq!(bytes(count), text);
        }
    }
}
