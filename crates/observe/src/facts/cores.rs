//! Names of cores by the numbers that a processor tells.
//!
//! Sources: `arch/arm64/include/asm/cputype.h`, `arch/x86/include/asm/intel-family.h` and `arch/x86/kernel/cpu/amd.c` (the ranges of models of
//! each Zen) of Linux; Arm's technical reference manuals; `sys-utils/lscpu-arm.c` of util-linux for the spelling of Arm cores.

/// An Arm core: implementer, part number, name.
type Arm = (u32, u32, &'static str);

const ARM: &[Arm] = &[
    (0x41, 0xd03, "Cortex-A53"),
    (0x41, 0xd05, "Cortex-A55"),
    (0x41, 0xd07, "Cortex-A57"),
    (0x41, 0xd08, "Cortex-A72"),
    (0x41, 0xd09, "Cortex-A73"),
    (0x41, 0xd0a, "Cortex-A75"),
    (0x41, 0xd0b, "Cortex-A76"),
    (0x41, 0xd41, "Cortex-A78"),
    (0x41, 0xd0c, "Neoverse-N1"),
    (0x41, 0xd49, "Neoverse-N2"),
    (0x41, 0xd8e, "Neoverse-N3"),
    (0x41, 0xd40, "Neoverse-V1"),
    (0x41, 0xd4f, "Neoverse-V2"),
    (0x41, 0xd84, "Neoverse-V3"),
    (0x41, 0xd4a, "Neoverse-E1"),
    (0x43, 0x0a1, "Cavium ThunderX"),
    (0x43, 0x0af, "Cavium ThunderX2"),
    (0x46, 0x001, "Fujitsu A64FX"),
    (0x48, 0xd01, "Kunpeng-920 (TaiShan v110)"),
    (0x48, 0xd02, "TaiShan v120"),
    (0x4e, 0x004, "NVIDIA Carmel"),
    (0x50, 0x000, "APM X-Gene"),
    (0x51, 0xc00, "Qualcomm Falkor"),
    (0x61, 0x022, "Apple M1 (Icestorm)"),
    (0x61, 0x023, "Apple M1 (Firestorm)"),
    (0x61, 0x032, "Apple M2 (Blizzard)"),
    (0x61, 0x033, "Apple M2 (Avalanche)"),
    (0x6d, 0xd49, "Azure Cobalt 100"),
    (0x70, 0x662, "Phytium FTC662"),
    (0x70, 0x663, "Phytium FTC663"),
    (0xc0, 0xac3, "Ampere-1"),
    (0xc0, 0xac4, "Ampere-1a"),
];

const IMPLEMENTERS: &[(u32, &str)] = &[
    (0x41, "Arm"),
    (0x43, "Cavium"),
    (0x46, "Fujitsu"),
    (0x48, "HiSilicon"),
    (0x4e, "NVIDIA"),
    (0x50, "APM"),
    (0x51, "Qualcomm"),
    (0x61, "Apple"),
    (0x6d, "Microsoft"),
    (0x70, "Phytium"),
    (0xc0, "Ampere"),
];

/// A core of x86: family, first and last model number, name.
type X86 = (u32, u32, u32, &'static str);

const INTEL: &[X86] = &[
    (6, 0x2a, 0x2a, "Sandy Bridge"),
    (6, 0x2d, 0x2d, "Sandy Bridge"),
    (6, 0x3a, 0x3a, "Ivy Bridge"),
    (6, 0x3e, 0x3e, "Ivy Bridge"),
    (6, 0x3c, 0x3c, "Haswell"),
    (6, 0x3f, 0x3f, "Haswell"),
    (6, 0x45, 0x46, "Haswell"),
    (6, 0x3d, 0x3d, "Broadwell"),
    (6, 0x47, 0x47, "Broadwell"),
    (6, 0x4f, 0x4f, "Broadwell"),
    (6, 0x56, 0x56, "Broadwell"),
    (6, 0x4e, 0x4e, "Skylake"),
    (6, 0x5e, 0x5e, "Skylake"),
    (6, 0x8e, 0x8e, "Kaby Lake"),
    (6, 0x9e, 0x9e, "Kaby Lake"),
    (6, 0x6a, 0x6a, "Ice Lake"),
    (6, 0x6c, 0x6c, "Ice Lake"),
    (6, 0x7d, 0x7e, "Ice Lake"),
    (6, 0x8c, 0x8d, "Tiger Lake"),
    (6, 0xa5, 0xa6, "Comet Lake"),
    (6, 0xa7, 0xa7, "Rocket Lake"),
    (6, 0x97, 0x97, "Alder Lake"),
    (6, 0x9a, 0x9a, "Alder Lake"),
    (6, 0xb7, 0xb7, "Raptor Lake"),
    (6, 0xba, 0xba, "Raptor Lake"),
    (6, 0xbf, 0xbf, "Raptor Lake"),
    (6, 0xaa, 0xaa, "Meteor Lake"),
    (6, 0xac, 0xac, "Meteor Lake"),
    (6, 0x8f, 0x8f, "Sapphire Rapids"),
    (6, 0xcf, 0xcf, "Emerald Rapids"),
    (6, 0xad, 0xae, "Granite Rapids"),
    (6, 0xaf, 0xaf, "Sierra Forest"),
    (6, 0xdd, 0xdd, "Clearwater Forest"),
];

const AMD: &[X86] = &[
    (0x17, 0x00, 0x2f, "Zen"),
    (0x17, 0x50, 0x5f, "Zen"),
    (0x17, 0x30, 0x4f, "Zen 2"),
    (0x17, 0x60, 0x7f, "Zen 2"),
    (0x17, 0x90, 0x91, "Zen 2"),
    (0x17, 0xa0, 0xaf, "Zen 2"),
    (0x19, 0x00, 0x0f, "Zen 3"),
    (0x19, 0x20, 0x5f, "Zen 3"),
    (0x19, 0x10, 0x1f, "Zen 4"),
    (0x19, 0x60, 0xaf, "Zen 4"),
    (0x1a, 0x00, 0x2f, "Zen 5"),
    (0x1a, 0x40, 0x4f, "Zen 5"),
    (0x1a, 0x60, 0x7f, "Zen 5"),
];

/// Cores with AMX. A hypervisor may show another model number than that of its processor; where the flags have AMX and the name has not, the
/// number is not to be believed.
const WITH_AMX: [&str; 3] = ["Sapphire Rapids", "Emerald Rapids", "Granite Rapids"];

/// AWS's own processors by their core (<https://aws.amazon.com/ec2/graviton/>).
const GRAVITON: [(&str, &str); 5] = [
    ("Cortex-A72", "AWS Graviton"),
    ("Neoverse-N1", "AWS Graviton2"),
    ("Neoverse-V1", "AWS Graviton3"),
    ("Neoverse-V2", "AWS Graviton4"),
    ("Neoverse-V3", "AWS Graviton5"),
];

/// The name of an Arm core by the fields of its main ID register.
pub(crate) fn arm(implementer: u32, part: u32) -> Option<&'static str> {
    ARM.iter().find(|row| (row.0, row.1) == (implementer, part)).map(|row| row.2)
}

/// Who designed an Arm core.
pub(crate) fn implementer(number: u32) -> Option<&'static str> {
    IMPLEMENTERS.iter().find(|row| row.0 == number).map(|row| row.1)
}

/// The name of a core of x86 by vendor, family, model number, stepping and the processor's flags.
pub(crate) fn x86(vendor: &str, family: u32, model: u32, stepping: Option<u32>, flags: &[&str]) -> Option<&'static str> {
    let known = match vendor {
        // One number for three generations of servers.
        "GenuineIntel" if (family, model) == (6, 0x55) => {
            return Some(match stepping? {
                0..=4 => "Skylake",
                5..=9 => "Cascade Lake",
                _ => "Cooper Lake",
            });
        }
        "GenuineIntel" => INTEL,
        "AuthenticAMD" => AMD,
        _ => return None,
    };
    let name = known.iter().find(|row| row.0 == family && (row.1..=row.2).contains(&model)).map(|row| row.3)?;
    (vendor != "GenuineIntel" || !flags.contains(&"amx_tile") || WITH_AMX.contains(&name)).then_some(name)
}

/// What AWS calls a processor of its own with this core.
pub(crate) fn graviton(core: &str) -> Option<&'static str> {
    GRAVITON.iter().find(|row| row.0 == core).map(|row| row.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_names() {
        assert_eq!(arm(0x41, 0xd4f), Some("Neoverse-V2"));
        assert_eq!((arm(0x41, 0xfff), implementer(0x48), implementer(0x99)), (None, Some("HiSilicon"), None));
        for (vendor, family, model, stepping, name) in [
            ("GenuineIntel", 6, 85, 4, Some("Skylake")),
            ("GenuineIntel", 6, 85, 7, Some("Cascade Lake")),
            ("GenuineIntel", 6, 85, 11, Some("Cooper Lake")),
            ("GenuineIntel", 6, 106, 6, Some("Ice Lake")),
            ("GenuineIntel", 6, 143, 8, Some("Sapphire Rapids")),
            ("GenuineIntel", 6, 173, 1, Some("Granite Rapids")),
            ("GenuineIntel", 5, 143, 8, None),
            ("AuthenticAMD", 0x17, 0x01, 2, Some("Zen")),
            ("AuthenticAMD", 0x17, 0x31, 0, Some("Zen 2")),
            ("AuthenticAMD", 0x19, 0x01, 1, Some("Zen 3")),
            ("AuthenticAMD", 0x19, 0x11, 1, Some("Zen 4")),
            ("AuthenticAMD", 0x1a, 0x02, 1, Some("Zen 5")),
            ("CentaurHauls", 6, 15, 1, None),
        ] {
            assert_eq!(x86(vendor, family, model, Some(stepping), &[]), name, "{vendor} {family} {model}");
        }
        assert_eq!(x86("GenuineIntel", 6, 0xa7, Some(1), &["amx_tile"]), None, "a client's number on a server's core");
        assert_eq!(x86("GenuineIntel", 6, 0xa7, Some(1), &[]), Some("Rocket Lake"));
        assert_eq!((graviton("Neoverse-V2"), graviton("Zen 4")), (Some("AWS Graviton4"), None));
    }
}
