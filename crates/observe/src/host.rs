//! The machine that runs this program.

use std::thread::available_parallelism;

use nix::sys::utsname::uname;
use perbuck_core::run_record::{HostRecord, Observed, arch};

use crate::tree::Tree;
use crate::{cpu_model, emulator, facts};

/// The machine that runs this program, as it stands in a run record; `shared_with_server` is left to the caller. Under user-mode
/// emulation these are facts of the real machine, but for `arch`. A machine that is emulated as a whole (qemu's TCG, with a
/// kernel of its own) is not recognised. Reads some small files; call it once and keep the answer.
pub fn host() -> HostRecord {
    let tree = Tree::running();
    let read = |path: &str| tree.text(path).unwrap_or_default();
    let cpuinfo = read("proc/cpuinfo");
    let emulator = emulator::Evidence::gather(&cpuinfo).judge();
    let believed = (emulator.is_none() || !emulator::may_be_invented(&cpuinfo)).then_some(cpuinfo.as_str());
    HostRecord {
        arch: std::env::consts::ARCH.to_owned(),
        emulator,
        os: os(&read("etc/os-release"), &kernel()),
        cpu_model: cpu_model::of(&cpuinfo),
        // After affinity and container limits.
        cpus: available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX)),
        memory_bytes: memory_bytes(&read("proc/meminfo")),
        shared_with_server: false,
        facts: Some(Box::new(facts::facts_with(&tree, believed))),
    }
}

/// What this machine is to a server that runs on it. Under emulation the architecture is that of the program, not of the machine.
pub fn machine(host: &HostRecord) -> Observed {
    Observed {
        source: "the client's machine".to_owned(),
        arch: host.emulator.is_none().then(|| arch(&host.arch)).flatten().map(str::to_owned),
        vcpus: processors(&Tree::running().text("proc/cpuinfo").unwrap_or_default()),
        memory_bytes: Some(host.memory_bytes).filter(|bytes| *bytes > 0),
        ..Observed::default()
    }
}

/// The processors of the machine, whatever limits this process; `None` where the system lists none.
fn processors(cpuinfo: &str) -> Option<u32> {
    let listed = cpuinfo.lines().filter_map(|l| l.split_once(':')).filter(|(key, _)| key.trim() == "processor").count();
    u32::try_from(listed).ok().filter(|n| *n > 0)
}

fn kernel() -> String {
    let told = |u: nix::sys::utsname::UtsName| format!("{} {}", u.sysname().to_string_lossy(), u.release().to_string_lossy());
    uname().map_or_else(|_| std::env::consts::OS.to_owned(), told)
}

/// Distribution and kernel: `Debian GNU/Linux 12 (bookworm), Linux 6.1.0`; the kernel alone where there is no `os-release`.
fn os(os_release: &str, kernel: &str) -> String {
    let name = os_release.lines().find_map(|l| l.strip_prefix("PRETTY_NAME=")).map(|v| v.trim().trim_matches(['"', '\'']));
    match name.filter(|n| !n.is_empty()) {
        Some(name) => format!("{name}, {kernel}"),
        None => kernel.to_owned(),
    }
}

/// Memory of the machine, not of a container's limit; 0 where the system does not tell.
fn memory_bytes(meminfo: &str) -> u64 {
    let total = meminfo.lines().find_map(|l| l.strip_prefix("MemTotal:"));
    let kib = total.and_then(|t| t.trim().strip_suffix("kB")).and_then(|t| t.trim().parse::<u64>().ok());
    kib.and_then(|k| k.checked_mul(1024)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_facts() {
        let facts = host();
        assert_eq!(facts.arch, std::env::consts::ARCH);
        assert!(facts.cpus >= 1 && !facts.cpu_model.is_empty(), "{facts:?}");
        assert!(facts.memory_bytes > 1 << 26 && facts.os.contains("Linux") && facts.cpu_model != "unknown", "{facts:?}");
    }

    #[test]
    fn the_os_is_the_distribution_and_the_kernel() {
        let debian = "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n";
        assert_eq!(os(debian, "Linux 6.1.0"), "Debian GNU/Linux 12 (bookworm), Linux 6.1.0");
        assert_eq!(os("PRETTY_NAME=Void\n", "Linux 6.1.0"), "Void, Linux 6.1.0");
        assert_eq!(os("", "Linux 6.1.0"), "Linux 6.1.0");
    }

    #[test]
    fn processors_are_those_that_the_system_lists() {
        assert_eq!(processors("processor\t: 0\nmodel name\t: x\n\nprocessor\t: 1\n"), Some(2));
        assert_eq!(processors("cpu : unknown\n"), None);
        let host = host();
        assert!(machine(&host).vcpus.is_some_and(|n| n >= host.cpus), "{:?}", machine(&host));
        assert_eq!(machine(&HostRecord { emulator: Some("qemu-user".to_owned()), ..host }).arch, None);
    }

    #[test]
    fn memory_is_told_in_kibibytes() {
        assert_eq!(memory_bytes("MemTotal:        8135372 kB\nMemFree: 1 kB\n"), 8_135_372 * 1024);
        assert_eq!(memory_bytes("MemTotal: much\n"), 0);
        assert_eq!(memory_bytes(""), 0);
    }
}
