//! Memory, kernel and limits.

use perbuck_core::run_record::{KernelFacts, LimitFacts, MemoryFacts};

use super::balloon::balloon;
use crate::tree::{Tree, value};

const PAGES: &str = "sys/kernel/mm/transparent_hugepage";
const FAULTS: &str = "sys/devices/system/cpu/vulnerabilities";

pub(super) fn memory(tree: &Tree) -> MemoryFacts {
    let meminfo = tree.text("proc/meminfo").unwrap_or_default();
    let huge_pages = field(&meminfo, "HugePages_Total:").filter(|n| *n > 0);
    let swaps = tree.text("proc/swaps");
    let page_bytes = page_bytes(tree);
    MemoryFacts {
        page_bytes,
        transparent_huge_pages: tree.chosen(&format!("{PAGES}/enabled")),
        huge_page_defrag: tree.chosen(&format!("{PAGES}/defrag")),
        huge_pages,
        huge_page_bytes: huge_pages.and(field(&meminfo, "Hugepagesize:")).and_then(|kib| kib.checked_mul(1024)),
        swap_bytes: swaps.as_deref().map(swap_bytes),
        swappiness: tree.number("proc/sys/vm/swappiness"),
        numa_balancing: tree.number::<u8>("proc/sys/kernel/numa_balancing").map(|mode| mode > 0),
        balloon: balloon(tree, page_bytes).map(|found| found.driver.to_owned()),
    }
}

/// The size of a page, by the first mapping of this process.
fn page_bytes(tree: &Tree) -> Option<u64> {
    let smaps = tree.start_of("proc/self/smaps", 1024)?;
    field(&smaps, "KernelPageSize:")?.checked_mul(1024)
}

/// A number of a file of names with values, in the unit that stands there.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

/// Sizes of `/proc/swaps`, which are in KiB.
fn swap_bytes(text: &str) -> u64 {
    let kib = text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok());
    kib.fold(0, u64::saturating_add).saturating_mul(1024)
}

pub(super) fn kernel(tree: &Tree) -> KernelFacts {
    let fault = |name: String| Some((name.clone(), tree.line(&format!("{FAULTS}/{name}"))?));
    KernelFacts {
        release: tree.line("proc/sys/kernel/osrelease"),
        clocksource: tree.line("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        vulnerabilities: tree.names(FAULTS).into_iter().filter_map(fault).filter(|(_, state)| state != "Not affected").collect(),
    }
}

pub(super) fn limits(tree: &Tree) -> LimitFacts {
    let text = tree.text("proc/self/limits").unwrap_or_default();
    let files = text.lines().find_map(|line| line.strip_prefix("Max open files"));
    let files = |column: usize| files?.split_whitespace().nth(column)?.parse().ok();
    let ports = tree.line("proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    LimitFacts {
        open_files: files(0),
        open_files_max: files(1),
        somaxconn: tree.number("proc/sys/net/core/somaxconn"),
        local_ports: value(&ports.split_whitespace().collect::<Vec<_>>().join("-")),
    }
}
