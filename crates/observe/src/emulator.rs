//! Whether this program runs under a user-mode emulator such as `qemu-aarch64-static`.
//!
//! Such an emulator shows its guest a world of the guest's architecture: `uname` tells `aarch64`, `/proc/self/exe` is
//! the guest, `/proc/self/maps` hides the emulator, and newer ones invent a `/proc/cpuinfo`. It intercepts these by
//! path, so the same facts under another path come from the true kernel:
//!
//! - `/proc/thread-self/exe` and `/proc/self/task/PID/exe` are what the kernel runs, the emulator;
//! - `/proc/sys/kernel/arch` (Linux 6.1 and later) is the kernel's architecture;
//! - `/proc/cpuinfo` describes the kernel's processor under qemu before 8.1.
//!
//! Any of them convicts; natively all agree. A whole emulated machine (qemu's TCG) has a kernel of its own that believes
//! in its hardware; it is out of scope and counts as native.

use std::fs;
use std::path::PathBuf;

/// What emulation of this architecture by qemu is called in records.
const QEMU_USER: &str = "qemu-user";

/// What tells an emulated program from a native one.
#[derive(Debug, Default)]
pub(crate) struct Evidence<'c> {
    /// Architecture of this program.
    arch: &'c str,
    /// What `/proc/self/exe` claims to run.
    claimed: Option<PathBuf>,
    /// What the kernel runs.
    running: Vec<PathBuf>,
    kernel_arch: String,
    cpuinfo: &'c str,
}

/// Families of instruction sets that one processor runs natively.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    X86,
    Arm,
}

impl<'c> Evidence<'c> {
    /// Reads what the running system says; `cpuinfo` is the content of `/proc/cpuinfo`.
    pub(crate) fn gather(cpuinfo: &'c str) -> Self {
        let by_task = format!("/proc/self/task/{}/exe", std::process::id());
        Self {
            arch: std::env::consts::ARCH,
            claimed: fs::read_link("/proc/self/exe").ok(),
            running: ["/proc/thread-self/exe", &by_task].iter().filter_map(|p| fs::read_link(p).ok()).collect(),
            kernel_arch: fs::read_to_string("/proc/sys/kernel/arch").unwrap_or_default(),
            cpuinfo,
        }
    }

    /// The emulator's name; `None` where everything agrees, or nothing can be read.
    pub(crate) fn judge(&self) -> Option<String> {
        let file = |p: &PathBuf| p.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let mut running = self.running.iter();
        let other = match &self.claimed {
            Some(claimed) => running.find(|r| *r != claimed),
            None => running.find(|r| file(r).starts_with("qemu-")),
        };
        if let Some(other) = other {
            let qemu = other.to_string_lossy().contains("qemu");
            return Some(if qemu { QEMU_USER.to_owned() } else { file(other) });
        }
        let mine = family(self.arch)?;
        let kernel = family(self.kernel_arch.trim());
        let processor = described(self.cpuinfo);
        // The kernel's own word counts first; only old kernels leave it to the processor's description.
        kernel.or(processor).filter(|f| *f != mine).map(|_| QEMU_USER.to_owned())
    }
}

/// Whether `/proc/cpuinfo` may be one that the emulator of this program invented: it describes the program's kind of processor.
pub(crate) fn may_be_invented(cpuinfo: &str) -> bool {
    described(cpuinfo).is_none_or(|processor| family(std::env::consts::ARCH) == Some(processor))
}

fn family(arch: &str) -> Option<Family> {
    match arch {
        "x86_64" | "x86" | "i386" | "i486" | "i586" | "i686" => Some(Family::X86),
        _ if arch.starts_with("arm") || arch.starts_with("aarch64") => Some(Family::Arm),
        _ => None,
    }
}

/// The family of the processor that `/proc/cpuinfo` describes.
fn described(cpuinfo: &str) -> Option<Family> {
    let has = |key: &str| cpuinfo.lines().any(|l| l.split_once(':').is_some_and(|(k, _)| k.trim() == key));
    match (has("CPU implementer"), has("vendor_id") && has("cpu family")) {
        (true, false) => Some(Family::Arm),
        (false, true) => Some(Family::X86),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPYC: &str = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel name\t: AMD EPYC\n";
    const NEOVERSE: &str = "processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
    const PROGRAM: &str = "/tmp/perbuck";
    const QEMU: &str = "/usr/bin/qemu-aarch64-static";

    #[test]
    fn each_trace_alone_tells_an_emulated_program_and_native_ones_are_native() {
        let qemu = Some(QEMU_USER);
        for (arch, running, kernel, cpuinfo, expected) in [
            ("aarch64", QEMU, "x86_64\n", EPYC, qemu),
            // The executable alone: an old kernel and an invented processor, or the same architecture on both sides.
            ("aarch64", QEMU, "", NEOVERSE, qemu),
            ("x86_64", "/usr/bin/qemu-x86_64", "x86_64\n", EPYC, qemu),
            // The kernel's architecture alone, against an invented processor.
            ("aarch64", PROGRAM, "x86_64\n", NEOVERSE, qemu),
            // The processor alone.
            ("aarch64", PROGRAM, "", EPYC, qemu),
            ("x86_64", PROGRAM, "", NEOVERSE, qemu),
            // Another emulator goes by its own name.
            ("x86_64", "/usr/local/bin/box64", "aarch64", NEOVERSE, Some("box64")),
            ("x86_64", PROGRAM, "x86_64\n", EPYC, None),
            ("aarch64", PROGRAM, "aarch64\n", NEOVERSE, None),
            ("x86_64", PROGRAM, "", EPYC, None),
            ("arm", PROGRAM, "aarch64\n", NEOVERSE, None),
            ("riscv64", PROGRAM, "riscv64\n", "", None),
            ("x86_64", PROGRAM, "", "", None),
        ] {
            let (claimed, running, kernel_arch) = (Some(PROGRAM.into()), vec![running.into()], kernel.to_owned());
            let evidence = Evidence { arch, claimed, running, kernel_arch, cpuinfo };
            assert_eq!(evidence.judge().as_deref(), expected, "{evidence:?}");
        }
        // Without a claim, the name of what runs.
        let mute = Evidence { arch: "aarch64", running: vec![QEMU.into()], ..Evidence::default() };
        assert_eq!(mute.judge().as_deref(), qemu);
        assert_eq!(Evidence { arch: "x86_64", ..Evidence::default() }.judge(), None);
    }

    /// Whoever runs the tests under an emulator says so: `PERBUCK_TEST_EMULATOR=qemu-user qemu-aarch64-static …`.
    #[test]
    fn this_run_is_what_the_environment_says() {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let evidence = Evidence::gather(&cpuinfo);
        let expected = std::env::var("PERBUCK_TEST_EMULATOR").ok();
        assert_eq!(evidence.judge(), expected, "{:?}", (&evidence.claimed, &evidence.running, &evidence.kernel_arch));
    }
}
