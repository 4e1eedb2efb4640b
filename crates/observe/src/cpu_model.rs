//! The processor's name from `/proc/cpuinfo`.

use crate::facts::cores;

/// The model: the names of the distinct Arm cores in the order in which they appear, otherwise `model name` (x86),
/// otherwise `unknown`. On Arm a `model name` says no more than `ARMv8 Processor rev 0 (v8l)`.
pub(crate) fn of(cpuinfo: &str) -> String {
    let pairs = || cpuinfo.lines().filter_map(|l| l.split_once(':')).map(|(k, v)| (k.trim(), v.trim()));
    let mut cores: Vec<String> = Vec::new();
    let mut implementer = None;
    for (key, value) in pairs() {
        if key == "CPU implementer" {
            implementer = hex(value);
        } else if let ("CPU part", Some(implementer), Some(part)) = (key, implementer, hex(value)) {
            let name = core(implementer, part);
            if !cores.contains(&name) {
                cores.push(name);
            }
        }
    }
    if !cores.is_empty() {
        return cores.join(" + ");
    }
    pairs().find(|(k, v)| *k == "model name" && !v.is_empty()).map_or_else(|| "unknown".to_owned(), |(_, v)| v.to_owned())
}

fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// The name of an Arm core by the fields of its main ID register; the numbers themselves where it is not known here.
fn core(implementer: u32, part: u32) -> String {
    cores::arm(implementer, part)
        .map_or_else(|| format!("aarch64 implementer 0x{implementer:02x} part 0x{part:03x}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(cores: &[(&str, &str)]) -> String {
        let one = |(i, p): &(&str, &str)| {
            format!("processor\t: 0\nCPU implementer\t: {i}\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: {p}\n\n")
        };
        cores.iter().map(one).collect()
    }

    #[test]
    fn processors_have_names() {
        let x86 = "processor\t: 0\nmodel\t\t: 1\nmodel name\t: AMD EPYC 7763: 64-Core\nstepping\t: 1\n";
        let generic = "processor\t: 0\nmodel name\t: ARMv8 Processor rev 0 (v8l)\n";
        let n2 = arm(&[("0x41", "0xd49")]);
        for (cpuinfo, name) in [
            (x86, "AMD EPYC 7763: 64-Core"),
            (&arm(&[("0x41", "0xd0c"), ("0x41", "0xd0c")]), "Neoverse-N1"),
            (&arm(&[("0x41", "0xd4f")]), "Neoverse-V2"),
            (&arm(&[("0x48", "0xd01")]), "Kunpeng-920 (TaiShan v110)"),
            (&arm(&[("0x41", "0xd03"), ("0x41", "0xd08"), ("0x41", "0xd03")]), "Cortex-A53 + Cortex-A72"),
            (&format!("{generic}{n2}"), "Neoverse-N2"),
            (generic, "ARMv8 Processor rev 0 (v8l)"),
            (&arm(&[("0x99", "0x12")]), "aarch64 implementer 0x99 part 0x012"),
            ("", "unknown"),
            ("CPU part\t: 0xd0c\n", "unknown"),
            ("CPU implementer\t: 65\nCPU part\t: 0xd0c\n", "unknown"),
        ] {
            assert_eq!(of(cpuinfo), name, "{cpuinfo}");
        }
    }
}
