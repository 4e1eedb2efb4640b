//! Which processors should take the packets of a network device, and which send over which of its queues
//! (Documentation/networking/scaling.rst of Linux).
//!
//! A device with fewer queues than the machine has cores keeps as many of them busy with interrupts, and the others idle. Each queue then
//! gets a share of the cores of its NUMA node. The first core of the share takes the interrupts, and the rest of it the packets (RPS).
//! With a table of flows (RFS) a packet goes on to the processor whose thread reads it. All cores of a share send over one queue (XPS).

mod division;

use std::collections::BTreeMap;

pub use division::{Share, senders, shares};

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
    /// Flows that it remembers the processors of (RFS); 0 where packets follow a hash alone.
    pub flows: u32,
}

/// A queue of a network device for packets to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendQueue {
    /// Its number, from 0.
    pub number: u32,
    /// The processors that send over it now; empty where each packet's queue is drawn by a hash of its connection.
    pub sent_by: Vec<u32>,
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
            flows: tree.number(&format!("{folder}/queues/rx-{number}/rps_flow_cnt")).unwrap_or(0),
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

/// The queues of a device that it sends by; empty where it has no choice, or where it chooses by the queue that received.
pub fn send_queues(tree: &Tree, device: &str) -> Vec<SendQueue> {
    let folder = format!("{NETWORK}/{device}/queues");
    let names = tree.names(&folder);
    let numbers: Vec<u32> = names.iter().filter_map(|name| name.strip_prefix("tx-")?.parse().ok()).collect();
    let cpus = |number: u32, file: &str| tree.line(&format!("{folder}/tx-{number}/{file}")).map(|mask| cpus_of(&mask));
    if numbers.iter().any(|number| cpus(*number, "xps_rxqs").is_some_and(|queues| !queues.is_empty())) {
        return Vec::new();
    }
    // A device of one queue has the file, which cannot be read.
    let queue = |number: &u32| Some(SendQueue { number: *number, sent_by: cpus(*number, "xps_cpus")? });
    numbers.iter().filter_map(queue).collect()
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
mod tests;
