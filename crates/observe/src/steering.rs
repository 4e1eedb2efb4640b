//! Which processors should take the packets of a network device: where interrupts of its queues go, and to which processors the kernel
//! passes the work on (RPS, Documentation/networking/scaling.rst of Linux).
//!
//! A device with fewer queues than the machine has cores keeps as many of them busy with interrupts, and the others idle. Each queue then
//! gets a share of the cores of its NUMA node. The first core of the share takes the interrupts, and the rest of it the packets.

use std::collections::BTreeMap;

use crate::tree::{Tree, cpu_list};

const NETWORK: &str = "sys/class/net";
const CPU: &str = "sys/devices/system/cpu";

/// A queue of a network device for received packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// The device: `eth0`.
    pub device: String,
    /// Its number, from 0.
    pub number: u32,
    /// The interrupt of the queue; `None` where no interrupt carries its name.
    pub irq: Option<u32>,
    /// The processors that take its interrupts now.
    pub taken_by: Vec<u32>,
    /// The processors that its packets are passed on to now; empty where those that take its interrupts do all.
    pub passed_to: Vec<u32>,
}

/// What a queue should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The processor that takes its interrupts.
    pub irq_cpu: u32,
    /// The processors that its packets are passed on to.
    pub rps: Vec<u32>,
}

/// The queues of all network devices of hardware, or of a hypervisor.
pub fn queues(tree: &Tree) -> Vec<Queue> {
    let interrupts = tree.text("proc/interrupts").unwrap_or_default();
    let devices = tree.names(NETWORK).into_iter().filter(|name| tree.text(&format!("{NETWORK}/{name}/device/uevent")).is_some());
    devices.flat_map(|device| of_device(tree, &device, &interrupts)).collect()
}

fn of_device(tree: &Tree, device: &str, interrupts: &str) -> Vec<Queue> {
    let folder = format!("{NETWORK}/{device}");
    // A virtio device is below the one of the bus, which has the interrupts.
    let own: Vec<String> =
        ["device/msi_irqs", "device/../msi_irqs"].iter().flat_map(|at| tree.names(&format!("{folder}/{at}"))).collect();
    let of_queue: BTreeMap<u32, u32> = interrupts.lines().filter_map(|line| queue_of(line, &own)).collect();
    let names = tree.names(&format!("{folder}/queues"));
    let numbers = names.iter().filter_map(|name| name.strip_prefix("rx-")?.parse::<u32>().ok());
    let queue = |number: u32| {
        let irq = of_queue.get(&number).copied();
        let affinity = |file: &str| irq.and_then(|irq| tree.line(&format!("proc/irq/{irq}/{file}"))).map(|list| cpu_list(&list));
        let mask = tree.line(&format!("{folder}/queues/rx-{number}/rps_cpus")).unwrap_or_default();
        Queue {
            device: device.to_owned(),
            number,
            irq,
            taken_by: affinity("effective_affinity_list").or_else(|| affinity("smp_affinity_list")).unwrap_or_default(),
            passed_to: cpus_of(&mask),
        }
    };
    numbers.map(queue).collect()
}

/// The queue and the number of an interrupt, where it is one of these and carries received packets: its name ends with the queue's number
/// (`eth0-Tx-Rx-1`, `virtio0-input.1`, `mlx5_comp1@pci:…`).
fn queue_of(line: &str, own: &[String]) -> Option<(u32, u32)> {
    let (irq, rest) = line.split_once(':')?;
    let irq = irq.trim();
    let name = rest.split_whitespace().last()?.split('@').next()?;
    let lower = name.to_ascii_lowercase();
    let receives = ["rx", "input", "comp", "queue"].iter().any(|word| lower.contains(word));
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let number = name[name.len() - digits..].parse().ok()?;
    (receives && own.iter().any(|one| one == irq)).then_some((number, irq.parse().ok()?))
}

/// What each queue of a device should have; empty where nothing is to be done, because there are as many queues as cores.
pub fn shares(tree: &Tree, queues: &[Queue]) -> Vec<Share> {
    let cores = cores(tree);
    if queues.is_empty() || queues.len() >= cores.len() {
        return Vec::new();
    }
    let nodes = nodes(tree, &cores);
    // A queue belongs to the node whose processor takes its interrupts; one that says nothing to the next node in turn.
    let node_of = |(i, queue): (usize, &Queue)| {
        let taken = queue.taken_by.first().filter(|_| queue.taken_by.len() == 1);
        let at = taken.and_then(|cpu| nodes.iter().position(|node| node.iter().flatten().any(|c| c == cpu)));
        at.unwrap_or(i % nodes.len())
    };
    let at: Vec<usize> = queues.iter().enumerate().map(node_of).collect();
    let of_node = |(node, cores): (usize, &Vec<Vec<u32>>)| {
        let own: Vec<usize> = (0..queues.len()).filter(|i| at[*i] == node).collect();
        let shares = split(cores, own.len());
        own.into_iter().zip(shares).collect::<Vec<_>>()
    };
    let mut all: Vec<(usize, Share)> = nodes.iter().enumerate().flat_map(of_node).collect();
    all.sort_by_key(|(i, _)| *i);
    // A node with more queues than cores gives a queue a core without anything to pass on to.
    if all.len() < queues.len() { Vec::new() } else { all.into_iter().map(|(_, share)| share).collect() }
}

/// Cores, each with its threads, divided among queues as evenly as can be.
fn split(cores: &[Vec<u32>], queues: usize) -> Vec<Share> {
    let share = |i: usize| {
        let (from, to) = (i * cores.len() / queues, (i + 1) * cores.len() / queues);
        let (first, rest) = cores.get(from..to)?.split_first()?;
        let mut rps: Vec<u32> = rest.iter().flatten().copied().collect();
        rps.sort_unstable();
        Some(Share { irq_cpu: *first.first()?, rps })
    };
    (0..queues).filter_map(share).collect()
}

/// The cores that are online, each with its threads, by the number of the first.
fn cores(tree: &Tree) -> Vec<Vec<u32>> {
    let online = cpu_list(&tree.line(&format!("{CPU}/online")).unwrap_or_default());
    let siblings = |cpu: &u32| {
        let list = tree.line(&format!("{CPU}/cpu{cpu}/topology/thread_siblings_list"));
        let all: Vec<u32> = cpu_list(&list.unwrap_or_default()).into_iter().filter(|one| online.contains(one)).collect();
        if all.is_empty() { vec![*cpu] } else { all }
    };
    let mut cores: Vec<Vec<u32>> = online.iter().map(siblings).collect();
    cores.sort();
    cores.dedup();
    cores
}

/// The cores of each NUMA node that has some.
fn nodes(tree: &Tree, cores: &[Vec<u32>]) -> Vec<Vec<Vec<u32>>> {
    let folder = "sys/devices/system/node";
    let names = tree.names(folder).into_iter().filter(|name| name.strip_prefix("node").is_some_and(|n| n.parse::<u32>().is_ok()));
    let lists = names.map(|name| cpu_list(&tree.line(&format!("{folder}/{name}/cpulist")).unwrap_or_default()));
    let of = |list: Vec<u32>| cores.iter().filter(|core| list.contains(&core[0])).cloned().collect::<Vec<_>>();
    let nodes: Vec<Vec<Vec<u32>>> = lists.map(of).filter(|node| !node.is_empty()).collect();
    if nodes.iter().map(Vec::len).sum::<usize>() == cores.len() { nodes } else { vec![cores.to_vec()] }
}

/// How many processors the masks of a machine are for.
pub fn mask_width(tree: &Tree) -> u32 {
    let possible = tree.line(&format!("{CPU}/possible")).or_else(|| tree.line(&format!("{CPU}/online")));
    cpu_list(&possible.unwrap_or_default()).last().map_or(0, |last| last + 1)
}

/// Processors as a mask of the kernel: words of 32 bits with a comma between, the highest first. A machine of up to 32 processors has one
/// word, without zeros in front.
pub fn mask(cpus: &[u32], width: u32) -> String {
    let words = (width.div_ceil(32)).max(1) as usize;
    let mut bits = vec![0_u32; words];
    for cpu in cpus {
        if let Some(word) = bits.get_mut(*cpu as usize / 32) {
            *word |= 1 << (cpu % 32);
        }
    }
    match bits.as_slice() {
        [one] => format!("{one:x}"),
        many => many.iter().rev().map(|word| format!("{word:08x}")).collect::<Vec<_>>().join(","),
    }
}

/// The processors of a mask; none of what is no mask.
pub fn cpus_of(mask: &str) -> Vec<u32> {
    let words: Option<Vec<u32>> = mask.trim().split(',').rev().map(|word| u32::from_str_radix(word, 16).ok()).collect();
    let each = |(i, word): (u32, u32)| (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| 32 * i + bit);
    (0..).zip(words.unwrap_or_default()).flat_map(each).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A machine of so many processors in nodes, with threads `n` and `n + cores` of a core, and a device of so many queues.
    fn machine(cpus: u32, threads: u32, nodes: u32, queues: u32) -> Tree {
        let cores = cpus / threads;
        let mut text = format!("== {CPU}/online\n0-{}\n", cpus - 1);
        for cpu in 0..cpus {
            let first = cpu % cores;
            let list: Vec<String> = (0..threads).map(|t| (first + t * cores).to_string()).collect();
            text += &format!("== {CPU}/cpu{cpu}/topology/thread_siblings_list\n{}\n", list.join(","));
        }
        for node in 0..nodes {
            let (each, first) = (cores / nodes, node * (cores / nodes));
            let list: Vec<String> =
                (0..threads).map(|t| format!("{}-{}", first + t * cores, first + each - 1 + t * cores)).collect();
            text += &format!("== sys/devices/system/node/node{node}/cpulist\n{}\n", list.join(","));
        }
        text += "== sys/class/net/eth0/device/uevent\nDRIVER=ena\n";
        for queue in 0..queues {
            text += &format!("== sys/class/net/eth0/queues/rx-{queue}/rps_cpus\n0\n");
        }
        Tree::unpacked(&text)
    }

    fn masks(tree: &Tree) -> Vec<String> {
        shares(tree, &queues(tree)).iter().map(|share| mask(&share.rps, mask_width(tree))).collect()
    }

    #[test]
    fn the_masks_of_known_machines() {
        assert_eq!(masks(&machine(16, 1, 1, 2)), ["fe", "fe00"]);
        assert_eq!(masks(&machine(64, 1, 1, 2)), ["00000000,fffffffe", "fffffffe,00000000"]);
        assert_eq!(masks(&machine(16, 1, 1, 16)), Vec::<String>::new());
        assert_eq!(masks(&machine(2, 1, 1, 1)), ["2"]);
        assert_eq!(masks(&machine(1, 1, 1, 1)), Vec::<String>::new());
        assert_eq!(masks(&machine(16, 1, 1, 0)), Vec::<String>::new());
    }

    #[test]
    fn threads_of_a_core_and_nodes_stay_together() {
        // Of 32 cores the first 16 with both of their threads; none of the core that takes the interrupts.
        assert_eq!(masks(&machine(64, 2, 1, 2)), ["0000fffe,0000fffe", "fffe0000,fffe0000"]);
        let two = machine(64, 2, 2, 2);
        assert_eq!(masks(&two), ["0000fffe,0000fffe", "fffe0000,fffe0000"]);
        let found: Vec<u32> = shares(&two, &queues(&two)).iter().map(|share| share.irq_cpu).collect();
        assert_eq!(found, [0, 16]);
        // Each core has a queue, whatever its threads.
        assert_eq!(masks(&machine(32, 2, 1, 16)), Vec::<String>::new());
    }

    #[test]
    fn queues_of_stored_machines_are_found_with_their_interrupts() {
        let read = |name: &str| {
            let path = format!("{}/tests/data/machines/{name}.txt", env!("CARGO_MANIFEST_DIR"));
            Tree::unpacked(&std::fs::read_to_string(path).unwrap())
        };
        let a1 = read("a1-16");
        let found = queues(&a1);
        assert_eq!(
            found.iter().map(|q| (q.irq, q.taken_by.clone())).collect::<Vec<_>>(),
            [(Some(33), vec![0]), (Some(34), vec![1])]
        );
        assert_eq!(masks(&a1), ["fe", "fe00"]);
        assert_eq!(shares(&a1, &found).iter().map(|share| share.irq_cpu).collect::<Vec<_>>(), [0, 8]);
        let m5 = read("m5-64");
        assert!(queues(&m5).iter().all(|q| q.passed_to.is_empty() && q.taken_by.len() == 1));
        assert_eq!(masks(&m5).len(), 2, "{:?}", queues(&m5));
        let kunpeng = queues(&read("kunpeng920-128"));
        assert_eq!((kunpeng.len(), kunpeng[15].irq), (16, Some(516)));
    }

    proptest! {
        #[test]
        fn masks_keep_their_processors(cpus in prop::collection::btree_set(0_u32..256, 0..256)) {
            let cpus: Vec<u32> = cpus.into_iter().collect();
            prop_assert_eq!(cpus_of(&mask(&cpus, 256)), cpus);
        }

        #[test]
        fn no_processor_takes_packets_of_two_queues(cores in 1_u32..65, threads in 1_u32..3, nodes in 1_u32..5, queues_of in 0_u32..70) {
            let tree = machine(cores * nodes * threads, threads, nodes, queues_of);
            let shares = shares(&tree, &queues(&tree));
            let mut all: Vec<u32> = shares.iter().flat_map(|s| s.rps.iter().copied().chain([s.irq_cpu])).collect();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(all.len(), count);
            prop_assert!(shares.is_empty() || shares.len() == queues_of as usize);
        }
    }
}
