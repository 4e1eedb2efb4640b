//! The processors of a machine, divided among the queues of a network device. Threads of a core stay together, and so do cores of a NUMA node.

use super::{CPU, Queue};
use crate::tree::{Tree, cpu_list};

/// What a queue for received packets should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The processor that takes its interrupts.
    pub irq_cpu: u32,
    /// The processors that its packets are passed on to.
    pub rps: Vec<u32>,
}

/// A core: its threads.
type Core = Vec<u32>;

/// What each queue for received packets of a device should have; empty where nothing is to be done, because there are as many queues as cores.
pub fn shares(tree: &Tree, queues: &[Queue]) -> Vec<Share> {
    let cores = cores(tree);
    if queues.is_empty() || queues.len() >= cores.len() {
        return Vec::new();
    }
    let nodes = nodes(tree, &cores);
    let at = nodes_of(&nodes, queues, queues.len());
    // A node with more queues than cores gives a queue a core without anything to pass on to.
    let divided = within(&nodes, &at).unwrap_or_default();
    let share = |cores: Vec<Core>| {
        let (first, rest) = cores.split_first()?;
        let mut rps: Vec<u32> = rest.iter().flatten().copied().collect();
        rps.sort_unstable();
        Some(Share { irq_cpu: *first.first()?, rps })
    };
    divided.into_iter().filter_map(share).collect()
}

/// The processors that should send over each of so many queues of a device: each processor over one, and over the one with the number of the
/// queue that passes packets on to it. Empty where nothing is to be done: there is one queue alone, or one for each core.
pub fn senders(tree: &Tree, received: &[Queue], count: usize) -> Vec<Vec<u32>> {
    let cores = cores(tree);
    if count < 2 || count >= cores.len() {
        return Vec::new();
    }
    let nodes = nodes(tree, &cores);
    let at = nodes_of(&nodes, received, count);
    let mut divided = within(&nodes, &at).unwrap_or_else(|| split(&nodes.concat(), count));
    // Processors of a node without a queue send over those of the others.
    let left = nodes.iter().flat_map(|node| if divided.concat().contains(&node[0]) { Vec::new() } else { split(node, count) });
    let left: Vec<Vec<Core>> = left.collect();
    left.into_iter().enumerate().for_each(|(i, cores)| divided[i % count].extend(cores));
    let sorted = |cores: Vec<Core>| {
        let mut cpus = cores.concat();
        cpus.sort_unstable();
        cpus
    };
    divided.into_iter().map(sorted).collect()
}

/// The node of each of so many queues: that of the processor which takes the interrupts of the queue for received packets with its number.
/// One that says nothing gets the next node in order.
fn nodes_of(nodes: &[Vec<Core>], received: &[Queue], count: usize) -> Vec<usize> {
    let node_of = |i: usize| {
        let taken = received.get(i).and_then(|queue| queue.taken_by.first().filter(|_| queue.taken_by.len() == 1));
        let at = taken.and_then(|cpu| nodes.iter().position(|node| node.iter().flatten().any(|c| c == cpu)));
        at.unwrap_or(i % nodes.len())
    };
    (0..count).map(node_of).collect()
}

/// The cores of each queue, from those of its node alone; `None` where a node has more queues than cores.
fn within(nodes: &[Vec<Core>], at: &[usize]) -> Option<Vec<Vec<Core>>> {
    let mut all = vec![Vec::new(); at.len()];
    for (node, cores) in nodes.iter().enumerate() {
        let own: Vec<usize> = (0..at.len()).filter(|i| at[*i] == node).collect();
        if own.len() > cores.len() {
            return None;
        }
        own.iter().zip(split(cores, own.len())).for_each(|(i, part)| all[*i] = part);
    }
    Some(all)
}

/// Cores in so many parts, as equal as can be.
fn split(cores: &[Core], parts: usize) -> Vec<Vec<Core>> {
    (0..parts).map(|i| cores[i * cores.len() / parts..(i + 1) * cores.len() / parts].to_vec()).collect()
}

/// The cores that are online, each with its threads, by the number of the first.
fn cores(tree: &Tree) -> Vec<Core> {
    let online = cpu_list(&tree.line(&format!("{CPU}/online")).unwrap_or_default());
    let siblings = |cpu: &u32| {
        let list = tree.line(&format!("{CPU}/cpu{cpu}/topology/thread_siblings_list"));
        let all: Vec<u32> = cpu_list(&list.unwrap_or_default()).into_iter().filter(|one| online.contains(one)).collect();
        if all.is_empty() { vec![*cpu] } else { all }
    };
    let mut cores: Vec<Core> = online.iter().map(siblings).collect();
    cores.sort();
    cores.dedup();
    cores
}

/// The cores of each NUMA node that has some.
fn nodes(tree: &Tree, cores: &[Core]) -> Vec<Vec<Core>> {
    let folder = "sys/devices/system/node";
    let names = tree.names(folder).into_iter().filter(|name| name.strip_prefix("node").is_some_and(|n| n.parse::<u32>().is_ok()));
    let lists = names.map(|name| cpu_list(&tree.line(&format!("{folder}/{name}/cpulist")).unwrap_or_default()));
    let of = |list: Vec<u32>| cores.iter().filter(|core| list.contains(&core[0])).cloned().collect::<Vec<_>>();
    let nodes: Vec<Vec<Core>> = lists.map(of).filter(|node| !node.is_empty()).collect();
    if nodes.iter().map(Vec::len).sum::<usize>() == cores.len() { nodes } else { vec![cores.to_vec()] }
}
