//! Settings and limits that spoil measurements.

use super::{Finding, Machine, Mend, set};
use crate::facts::balloon::balloon;

type Check = fn(&Machine<'_>) -> Option<Finding>;

pub(super) const ALL: &[Check] = &[
    quota,
    credits,
    clocksource,
    governor,
    huge_pages,
    swap,
    ballooning,
    balancing,
    scheduler,
    open_files,
    backlog,
    ports,
    time,
];

/// Files that a client of some thousand connections, or a server, needs open.
const OPEN_FILES: u64 = 65_535;
/// Connections that may wait for a server; 4096 is the kernel's own since 5.4.
const BACKLOG: u32 = 1024;
/// Outgoing connections that may wait for their end, at 60 s each.
const PORTS: u32 = 20_000;
/// Clocks that are read without a call of the kernel (vDSO).
const FAST_CLOCKS: [&str; 4] = ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"];
/// Programs that keep the clock right.
const TIME: [&str; 5] = ["chronyd", "ntpd", "systemd-timesyn", "ptp4l", "openntpd"];

fn finding(about: &str, seen: String, costs: &'static str, mends: Vec<Mend>) -> Option<Finding> {
    Some(Finding { about: about.to_owned(), seen, costs: costs.into(), mends })
}

fn quota(machine: &Machine<'_>) -> Option<Finding> {
    let limit = machine.facts.cgroup.cpu_m?;
    let threads = machine.facts.cpu.threads?;
    let seen = format!("a limit of {} processors on a machine of {threads}", limit as f64 / 1e3);
    let mends = vec![Mend::Run("give the group whole processors (cpuset), or no limit".to_owned())];
    finding("CPU limit", seen, "the kernel stops all threads of the group for the rest of each period, so latencies jump", mends)
}

/// Instance types whose processors are not always theirs.
fn credits(machine: &Machine<'_>) -> Option<Finding> {
    let kind = machine.facts.platform.instance_type.as_deref()?;
    let bursts = ["t2.", "t3.", "t3a.", "t4g.", "Standard_B", "e2-micro", "e2-small", "e2-medium", "f1-", "g1-"];
    if !bursts.iter().any(|start| kind.starts_with(start)) {
        return None;
    }
    let costs = "it works at full speed only as long as its credits last, so a trial depends on those before it";
    finding(
        "CPU credits",
        format!("{kind} earns credits"),
        costs,
        vec![Mend::Run("use a type with processors of its own".to_owned())],
    )
}

fn clocksource(machine: &Machine<'_>) -> Option<Finding> {
    const FOLDER: &str = "sys/devices/system/clocksource/clocksource0";
    let clock = machine.facts.kernel.clocksource.as_deref().filter(|clock| !FAST_CLOCKS.contains(clock))?;
    let available = machine.tree.line(&format!("{FOLDER}/available_clocksource")).unwrap_or_default();
    let better = FAST_CLOCKS.iter().find(|clock| available.split_whitespace().any(|one| one == **clock));
    let mends = better.map(|clock| set(format!("{FOLDER}/current_clocksource"), *clock)).into_iter().collect();
    finding("clocksource", format!("{clock}; there are {available}"), "each reading of the clock is a call of the kernel", mends)
}

fn governor(machine: &Machine<'_>) -> Option<Finding> {
    let governor = machine.facts.cpu.governor.as_deref().filter(|word| *word != "performance")?;
    const FOLDER: &str = "sys/devices/system/cpu/cpufreq";
    let path = |policy: String| format!("{FOLDER}/{policy}/scaling_governor");
    let other = |path: &String| machine.tree.line(path).is_some_and(|word| word != "performance");
    let mends = machine.tree.names(FOLDER).into_iter().map(path).filter(other).map(|path| set(path, "performance"));
    let costs = "the frequency follows the load, so a trial depends on what came before it";
    finding("governor", governor.to_owned(), costs, mends.collect())
}

fn huge_pages(machine: &Machine<'_>) -> Option<Finding> {
    let word = machine.facts.memory.transparent_huge_pages.as_deref().filter(|word| *word == "always")?;
    let costs = "the kernel makes and splits huge pages within requests, and servers take more memory than they say";
    finding("transparent huge pages", word.to_owned(), costs, vec![set("sys/kernel/mm/transparent_hugepage/enabled", "madvise")])
}

fn swap(machine: &Machine<'_>) -> Option<Finding> {
    let memory = &machine.facts.memory;
    let (bytes, swappiness) = (memory.swap_bytes.filter(|bytes| *bytes > 0)?, memory.swappiness.filter(|n| *n > 1)?);
    let seen = format!("{:.1} GiB of swap, swappiness {swappiness}", bytes as f64 / f64::from(1u32 << 30));
    finding(
        "swap",
        seen,
        "pages of a buffer pool that were swapped out are read again within requests",
        vec![set("proc/sys/vm/swappiness", "1")],
    )
}

/// Memory that a hypervisor took since the machine was started, or has.
fn ballooning(machine: &Machine<'_>) -> Option<Finding> {
    let found = balloon(machine.tree, machine.facts.memory.page_bytes)?;
    let size = |bytes: u64| match bytes >> 30 {
        0 => format!("{} MiB", bytes >> 20),
        _ => format!("{:.1} GiB", bytes as f64 / f64::from(1u32 << 30)),
    };
    let (held, (taken, given)) = (found.held_bytes.unwrap_or(0), found.moved_bytes.unwrap_or_default());
    if held == 0 && taken == 0 {
        return None;
    }
    let moved = found.moved_bytes.map(|_| format!("; since its start it took {} and released {}", size(taken), size(given)));
    let (verb, mend) = match found.driver {
        "virtio_balloon" => {
            ("holds", "on the hypervisor: virsh setmem DOMAIN MAXIMUM --live, or no <memballoon> in the machine's definition")
        }
        "vmw_balloon" => ("holds", "in vSphere: reserve all guest memory of the machine"),
        "hv_balloon" => ("holds", "on the hypervisor: Set-VMMemory -VMName NAME -DynamicMemoryEnabled $false"),
        _ => ("must release", "on the hypervisor: xl mem-set DOMAIN MAXIMUM"),
    };
    finding(
        "ballooning",
        format!("{} {verb} {} of this machine's memory{}", found.driver, size(held), moved.unwrap_or_default()),
        "the hypervisor takes memory from the page cache and from servers, so trials have unlike amounts of it",
        vec![Mend::Run(mend.to_owned())],
    )
}

fn balancing(machine: &Machine<'_>) -> Option<Finding> {
    machine.facts.memory.numa_balancing.filter(|on| *on && machine.facts.numa.len() > 1)?;
    let costs = "the kernel unmaps pages to see who uses them, and moves them between nodes within requests";
    finding("NUMA balancing", "on".to_owned(), costs, vec![set("proc/sys/kernel/numa_balancing", "0")])
}

fn scheduler(machine: &Machine<'_>) -> Option<Finding> {
    let slow = |word: &str| ["bfq", "cfq"].contains(&word);
    let disks = machine.facts.disks.iter().filter(|disk| disk.scheduler.as_deref().is_some_and(slow));
    let names: Vec<&String> = disks.flat_map(|disk| &disk.names).collect();
    if names.is_empty() {
        return None;
    }
    let list = names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    let mends = names.iter().map(|name| set(format!("sys/block/{name}/queue/scheduler"), "none")).collect();
    finding(
        "disk scheduler",
        format!("a fair scheduler on {list}"),
        "requests wait for those of other programs, and cost processor time",
        mends,
    )
}

fn open_files(machine: &Machine<'_>) -> Option<Finding> {
    let files = machine.facts.limits.open_files.filter(|files| *files < OPEN_FILES)?;
    let mends = vec![Mend::Run(format!("ulimit -n {OPEN_FILES}"))];
    finding("open files", files.to_string(), "each connection is an open file; more than these are refused", mends)
}

fn backlog(machine: &Machine<'_>) -> Option<Finding> {
    let most = machine.facts.limits.somaxconn.filter(|most| *most < BACKLOG)?;
    let costs = "connections that come at once are dropped, and tried again a second later";
    finding("somaxconn", most.to_string(), costs, vec![set("proc/sys/net/core/somaxconn", "4096")])
}

fn ports(machine: &Machine<'_>) -> Option<Finding> {
    let range = machine.facts.limits.local_ports.as_deref()?;
    let (first, last) = range.split_once('-')?;
    let count = last.parse::<u32>().ok()?.checked_sub(first.parse().ok()?)? + 1;
    if count >= PORTS {
        return None;
    }
    let costs = "each connection that ended holds its port for a minute, so trials that follow each other run out of them";
    finding(
        "local ports",
        format!("{range}, which are {count}"),
        costs,
        vec![set("proc/sys/net/ipv4/ip_local_port_range", "10240 65535")],
    )
}

fn time(machine: &Machine<'_>) -> Option<Finding> {
    // Within a container the host's programs are out of sight.
    if machine.runs(&TIME) || !machine.runs(&["systemd", "init"]) {
        return None;
    }
    let costs = "clocks of machines drift apart, so what one logged cannot be laid beside what the other did";
    finding(
        "time",
        "no program keeps the clock right".to_owned(),
        costs,
        vec![Mend::Run("systemctl enable --now chrony".to_owned())],
    )
}
