//! Interrupts of devices, of each queue by the processor that took them.

use std::collections::BTreeMap;

/// Interrupts since the start of the machine, by device and processor. Those of the kernel itself, such as timers, are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Interrupts(BTreeMap<String, Vec<(u32, u64)>>);

impl Interrupts {
    /// Reads what the kernel writes into `/proc/interrupts` (proc_interrupts(5)): a head with the numbers of the processors that are
    /// online, and a line for each interrupt. A name of several devices, or of several lines, is one.
    pub fn read(text: &str) -> Self {
        let mut lines = text.lines();
        let head = lines.next().unwrap_or_default();
        let online: Option<Vec<u32>> = head.split_whitespace().map(|cpu| cpu.strip_prefix("CPU")?.parse().ok()).collect();
        let Some(online) = online.filter(|all| !all.is_empty()) else { return Self::default() };
        let mut all: BTreeMap<String, Vec<(u32, u64)>> = BTreeMap::new();
        for line in lines {
            let Some((_, rest)) = line.split_once(':').filter(|(number, _)| number.trim().parse::<u32>().is_ok()) else {
                continue;
            };
            let mut words = rest.split_whitespace();
            let counts: Vec<u64> = words.by_ref().take(online.len()).map_while(|word| word.parse().ok()).collect();
            if counts.len() < online.len() {
                continue;
            }
            let device = all.entry(device(words)).or_default();
            for (cpu, count) in online.iter().zip(counts).filter(|(_, count)| *count > 0) {
                match device.iter_mut().find(|(known, _)| known == cpu) {
                    Some((_, sum)) => *sum += count,
                    None => device.push((*cpu, count)),
                }
            }
        }
        Self(all)
    }

    /// How many each processor took of each device.
    pub fn each(&self) -> impl Iterator<Item = (&str, u32, u64)> {
        self.0.iter().flat_map(|(device, counts)| counts.iter().map(move |(cpu, count)| (device.as_str(), *cpu, *count)))
    }

    /// How many one processor took of a device.
    pub fn of(&self, device: &str, cpu: u32) -> u64 {
        let counts = self.0.get(device).into_iter().flatten();
        counts.into_iter().find(|(known, _)| *known == cpu).map_or(0, |(_, count)| *count)
    }

    /// The name of the series of a device and a processor.
    pub fn series(device: &str, cpu: u32) -> String {
        let device = super::labelled("", "devices", device);
        format!("node_interrupts_total{{cpu=\"{cpu}\",{}", device.trim_start_matches('{'))
    }
}

/// The name of the device: what stands after the controller, its pin and its kind (`PCI-MSI 65537-edge eth0-rx-0`,
/// `GICv3 78 Level virtio0`, `ITS-MSI 524288 Edge nvme0q0`).
fn device<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let words: Vec<&str> = words.collect();
    let kind = words.iter().position(|word| {
        let word = word.to_ascii_lowercase();
        ["edge", "level", "fasteoi"].iter().any(|kind| word == *kind || word.ends_with(&format!("-{kind}")))
    });
    let after = kind.map_or(1, |at| at + 1).min(words.len());
    words[after..].join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_read_as_kernels_of_both_architectures_write_them() {
        let x86 = "           CPU0       CPU2\n  0:         45          0   IO-APIC    2-edge      timer\n 24:          0        900  PCI-MSI \
                   65537-edge      virtio0-input.0\n 25:          3          0   PCI-MSIX-0000:00:05.0    1-edge      ens5-Tx-Rx-0\n\
                   LOC:      99999      88888   Local timer interrupts\nERR:          0\n";
        let seen: Vec<_> = Interrupts::read(x86).each().map(|(device, cpu, count)| (device.to_owned(), cpu, count)).collect();
        assert_eq!(
            seen,
            [("ens5-Tx-Rx-0".to_owned(), 0, 3), ("timer".to_owned(), 0, 45), ("virtio0-input.0".to_owned(), 2, 900)]
        );
        let arm = "            CPU0       CPU1\n 11:      5       6     GICv3  27 Level     arch_timer\n 56:  7  0   ITS-MSI 81920 Edge      \
                   ena-mgmnt@pci:0000:00:05.0\n57: 1 2 ITS-MSI 81921 Edge eth0-Tx-Rx-0\nIPI0: 1 1 Rescheduling interrupts\n";
        let arm = Interrupts::read(arm);
        assert_eq!((arm.of("eth0-Tx-Rx-0", 1), arm.of("arch_timer", 0), arm.of("eth0-Tx-Rx-0", 7)), (2, 5, 0));
        assert_eq!(arm.each().count(), 5);
    }

    #[test]
    fn lines_of_one_device_are_one_and_what_is_cut_off_is_none() {
        let two = "CPU0 CPU1\n1: 1 0 PCI-MSI 1-edge q\n2: 2 4 PCI-MSI 2-edge q\n3: 1\n4: x y PCI-MSI 3-edge z\n";
        let two = Interrupts::read(two);
        assert_eq!((two.of("q", 0), two.of("q", 1), two.each().count()), (3, 4, 2));
        assert_eq!(Interrupts::read("no head\n1: 1 2\n"), Interrupts::default());
        assert_eq!(Interrupts::read(""), Interrupts::default());
        assert_eq!(Interrupts::series("eth0", 3), "node_interrupts_total{cpu=\"3\",devices=\"eth0\"}");
    }
}
