//! The processors: what they are, how many, their caches and their frequency.

use std::collections::{BTreeMap, BTreeSet};

use perbuck_core::run_record::{CacheFacts, CpuFacts, NumaNode};

use super::cores;
use crate::tree::{Tree, cpu_list, ranges, value};

const CPUS: &str = "sys/devices/system/cpu";
const NODES: &str = "sys/devices/system/node";

/// Flags of x86 and features of Arm that databases use: checksums, encryption, vectors, atomics.
const FLAGS: [&str; 20] = [
    "sse4_2",
    "pclmulqdq",
    "aes",
    "vaes",
    "sha_ni",
    "avx2",
    "avx512f",
    "avx512bw",
    "amx_tile",
    "atomics",
    "crc32",
    "pmull",
    "sha2",
    "sha512",
    "asimddp",
    "lrcpc",
    "uscat",
    "sve",
    "sve2",
    "bf16",
];

/// What `/proc/cpuinfo` tells of the processors, if it may be believed, and what `/sys` does.
pub(super) fn facts(tree: &Tree, cpuinfo: Option<&str>) -> CpuFacts {
    let online = cpu_list(&tree.line(&format!("{CPUS}/online")).unwrap_or_default());
    let packages = online.iter().filter_map(|n| tree.line(&format!("{CPUS}/cpu{n}/topology/physical_package_id")));
    let sockets = count(packages.collect::<BTreeSet<_>>().len());
    let cores = online.iter().filter_map(|n| siblings(tree, *n)).collect::<BTreeSet<_>>().len();
    let found = CpuFacts {
        online: Some(ranges(&online)).filter(|text| !text.is_empty()),
        isolated: tree.line(&format!("{CPUS}/isolated")),
        sockets,
        cores: count(cores),
        threads: count(online.len()),
        smt: tree.line(&format!("{CPUS}/smt/control")),
        caches: caches(tree, &online),
        boost: boost(tree),
        ..CpuFacts::default()
    };
    identity(frequency(found, tree), tree, cpuinfo)
}

/// The NUMA nodes.
pub(super) fn numa(tree: &Tree) -> Vec<NumaNode> {
    let numbers = cpu_list(&tree.line(&format!("{NODES}/online")).unwrap_or_default());
    let node = |node: u32| {
        let meminfo = tree.text(&format!("{NODES}/node{node}/meminfo"))?;
        let total = meminfo.lines().find_map(|line| line.split_once("MemTotal:"))?.1;
        let memory_bytes = total.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?.checked_mul(1024)?;
        Some(NumaNode { node, cpus: tree.line(&format!("{NODES}/node{node}/cpulist")).unwrap_or_default(), memory_bytes })
    };
    numbers.into_iter().filter_map(node).collect()
}

fn count(n: usize) -> Option<u32> {
    u32::try_from(n).ok().filter(|n| *n > 0)
}

/// The hardware threads of the core of a processor; kernels before 5.3 have the older name alone.
fn siblings(tree: &Tree, cpu: u32) -> Option<String> {
    let topology = format!("{CPUS}/cpu{cpu}/topology");
    tree.line(&format!("{topology}/core_cpus_list")).or_else(|| tree.line(&format!("{topology}/thread_siblings_list")))
}

/// The caches. A cache that a processor shares is looked at once.
fn caches(tree: &Tree, online: &[u32]) -> Vec<CacheFacts> {
    let mut found: BTreeMap<(String, u64), (u32, u32)> = BTreeMap::new();
    let mut seen: BTreeSet<(String, u32)> = BTreeSet::new();
    for cpu in online {
        for index in tree.names(&format!("{CPUS}/cpu{cpu}/cache")).into_iter().filter(|name| name.starts_with("index")) {
            if seen.contains(&(index.clone(), *cpu)) {
                continue;
            }
            let of = |file: &str| tree.line(&format!("{CPUS}/cpu{cpu}/cache/{index}/{file}"));
            let size = of("size").and_then(|size| cache_bytes(&size));
            let Some(((level, kind), size)) = of("level").zip(of("type")).zip(size) else { continue };
            let name = cache_name(&level, &kind);
            let shared = cpu_list(&of("shared_cpu_list").unwrap_or_else(|| cpu.to_string()));
            let (caches, threads) = found.entry((name, size)).or_default();
            *caches += 1;
            *threads = (*threads).max(count(shared.len()).unwrap_or(1));
            seen.extend(shared.into_iter().map(|n| (index.clone(), n)));
        }
    }
    let fact = |((name, bytes), (count, shared_by))| CacheFacts { name, bytes, count, shared_by };
    found.into_iter().map(fact).collect()
}

fn cache_name(level: &str, kind: &str) -> String {
    let kind = match kind {
        "Data" => "d",
        "Instruction" => "i",
        _ => "",
    };
    format!("L{level}{kind}")
}

/// `48K`.
fn cache_bytes(size: &str) -> Option<u64> {
    size.strip_suffix('K')?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Range, driver and governor of the frequency, by the policies of the processors.
fn frequency(facts: CpuFacts, tree: &Tree) -> CpuFacts {
    let folder = format!("{CPUS}/cpufreq");
    let policies: Vec<String> = tree.names(&folder).into_iter().filter(|name| name.starts_with("policy")).collect();
    let all = |file: &str| -> Vec<u32> {
        let khz = policies.iter().filter_map(|policy| tree.number::<u32>(&format!("{folder}/{policy}/{file}")));
        khz.map(|khz| khz / 1000).collect()
    };
    let mut governors: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    let mut drivers = BTreeSet::new();
    for policy in &policies {
        drivers.extend(tree.line(&format!("{folder}/{policy}/scaling_driver")));
        if let Some(governor) = tree.line(&format!("{folder}/{policy}/scaling_governor")) {
            let cpus = tree.line(&format!("{folder}/{policy}/affected_cpus")).unwrap_or_default();
            let cpus = cpus.split_whitespace().filter_map(|n| n.parse::<u32>().ok());
            governors.entry(governor).or_default().extend(cpus);
        }
    }
    let several = governors.len() > 1;
    let text = |(governor, cpus): (String, BTreeSet<u32>)| {
        if several { format!("{governor} on {}", ranges(&cpus.into_iter().collect::<Vec<_>>())) } else { governor }
    };
    let governor = governors.into_iter().map(text).collect::<Vec<_>>().join(", ");
    let mhz_max = all("cpuinfo_max_freq").into_iter().max();
    CpuFacts {
        mhz_min: all("cpuinfo_min_freq").into_iter().min(),
        mhz_max,
        mhz_limit: all("scaling_max_freq").into_iter().min().filter(|limit| Some(*limit) < mhz_max),
        frequency_driver: Some(drivers.into_iter().collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty()),
        governor: value(&governor),
        ..facts
    }
}

fn boost(tree: &Tree) -> Option<bool> {
    let own = tree.number::<u8>(&format!("{CPUS}/intel_pstate/no_turbo")).map(|no| no == 0);
    own.or_else(|| tree.number::<u8>(&format!("{CPUS}/cpufreq/boost")).map(|boost| boost == 1))
}

/// What the processors are. `/proc/cpuinfo` tells it of each; where it may not be believed, the main ID register of Arm still does.
fn identity(facts: CpuFacts, tree: &Tree, cpuinfo: Option<&str>) -> CpuFacts {
    let text = cpuinfo.unwrap_or_default();
    let pairs = || text.lines().filter_map(|line| line.split_once(':')).map(|(key, value)| (key.trim(), value.trim()));
    let first = |key: &str| pairs().find(|(k, v)| *k == key && !v.is_empty()).map(|(_, v)| v);
    let words: Vec<&str> = first("flags").or_else(|| first("Features")).unwrap_or_default().split_whitespace().collect();
    let flags = FLAGS.iter().filter(|flag| words.contains(*flag)).map(|flag| (*flag).to_owned()).collect();
    let facts = CpuFacts { flags, microcode: first("microcode").and_then(value), ..facts };
    if let Some(register) = register(tree).or_else(|| register_of(&first)) {
        return arm(facts, register, cpu_names(text));
    }
    let decimal = |key: &str| first(key).and_then(|v| v.parse::<u32>().ok());
    let (family, model_number, stepping) = (decimal("cpu family"), decimal("model"), decimal("stepping"));
    let vendor = first("vendor_id").and_then(value);
    let core = vendor.as_deref().zip(family).zip(model_number);
    let core = core.and_then(|((vendor, family), model)| cores::x86(vendor, family, model, stepping, &words));
    CpuFacts {
        vendor,
        model: first("model name").and_then(value),
        core: core.map(str::to_owned),
        family,
        model_number,
        stepping: stepping.map(|n| n.to_string()),
        ..facts
    }
}

/// Fields of Arm's main ID register: implementer, variant, part, revision.
type Register = (u32, u32, u32, u32);

fn register(tree: &Tree) -> Option<Register> {
    let midr = tree.line(&format!("{CPUS}/cpu0/regs/identification/midr_el1"))?;
    let midr = u64::from_str_radix(midr.strip_prefix("0x")?, 16).ok()?;
    let field = |start: u32, bits: u32| u32::try_from((midr >> start) & ((1 << bits) - 1)).unwrap_or(0);
    Some((field(24, 8), field(20, 4), field(4, 12), field(0, 4)))
}

/// The same by the lines of `/proc/cpuinfo`.
fn register_of<'t>(first: &impl Fn(&str) -> Option<&'t str>) -> Option<Register> {
    let hex = |key: &str| u32::from_str_radix(first(key)?.strip_prefix("0x")?, 16).ok();
    let revision = first("CPU revision").and_then(|v| v.parse().ok());
    Some((hex("CPU implementer")?, hex("CPU variant").unwrap_or(0), hex("CPU part")?, revision.unwrap_or(0)))
}

/// The names of the distinct Arm cores of `/proc/cpuinfo`, or nothing where one has none.
fn cpu_names(cpuinfo: &str) -> Option<String> {
    let is_arm = cpuinfo.lines().any(|line| line.starts_with("CPU implementer"));
    is_arm.then(|| crate::cpu_model::of(cpuinfo)).filter(|name| name != "unknown" && !name.contains(" implementer 0x"))
}

fn arm(facts: CpuFacts, (implementer, variant, part, revision): Register, names: Option<String>) -> CpuFacts {
    CpuFacts {
        vendor: cores::implementer(implementer).map(str::to_owned),
        core: names.or_else(|| cores::arm(implementer, part).map(str::to_owned)),
        stepping: Some(format!("r{variant}p{revision}")),
        implementer: Some(format!("0x{implementer:02x}")),
        part: Some(format!("0x{part:03x}")),
        ..facts
    }
}
