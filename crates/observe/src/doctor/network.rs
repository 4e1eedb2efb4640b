//! Queues of network devices: interrupts on too few processors, packets that are not passed on to the right one (RPS, RFS), and queues that
//! all processors send over (XPS).

use super::{Finding, Machine, Mend, set};
use crate::steering::{Queue, SendQueue, Share, mask, mask_width, queues, send_queues, senders, shares};
use crate::tree::ranges;

/// The size of the table of flows that scaling.rst of Linux names for a server of moderate load.
const FLOWS: u32 = 32_768;
const FLOW_TABLE: &str = "proc/sys/net/core/rps_sock_flow_entries";

/// The queues of one device after the other.
fn devices(machine: &Machine<'_>) -> Vec<Vec<Queue>> {
    let all = queues(machine.tree);
    all.chunk_by(|one, next| one.device == next.device).map(<[Queue]>::to_vec).collect()
}

/// Devices whose queues leave processors idle that could take packets, one finding for each.
pub(super) fn interrupts(machine: &Machine<'_>) -> Vec<Finding> {
    devices(machine).iter().filter_map(|own| finding(machine, &own.first()?.device, own)).collect()
}

/// What each queue of a device should have; empty where nothing is to be done.
fn wanted(machine: &Machine<'_>, own: &[Queue]) -> Vec<Share> {
    // Whoever passes packets on already has decided otherwise.
    if own.iter().all(|queue| !queue.passed_to.is_empty()) { Vec::new() } else { shares(machine.tree, own) }
}

/// Packets that are passed on, or should be, and follow a hash instead of the thread that reads them.
pub(super) fn flows(machine: &Machine<'_>) -> Option<Finding> {
    let entries: u32 = machine.tree.number(FLOW_TABLE)?;
    let (mut mends, mut seen) = (Vec::new(), Vec::new());
    let size = if entries == 0 { FLOWS } else { entries };
    for own in devices(machine) {
        let wanted = wanted(machine, &own);
        let passes = |i: usize| !own[i].passed_to.is_empty() || wanted.get(i).is_some_and(|share| !share.rps.is_empty());
        let passing: Vec<&Queue> = (0..own.len()).filter(|i| passes(*i)).map(|i| &own[i]).collect();
        let without: Vec<&&Queue> = passing.iter().filter(|queue| queue.flows == 0 || entries == 0).collect();
        let Some(queue) = without.first() else { continue };
        seen.push(format!("{} of {}", counted(without.len()), queue.device));
        // The kernel rounds up to a power of two, and an undo compares what it reads.
        let each = (size / u32::try_from(own.len()).unwrap_or(u32::MAX)).max(1).next_power_of_two();
        let none = without.iter().filter(|queue| queue.flows == 0);
        let path = |queue: &Queue| format!("sys/class/net/{}/queues/rx-{}/rps_flow_cnt", queue.device, queue.number);
        mends.extend(none.map(|queue| set(path(queue), each.to_string())));
    }
    if seen.is_empty() {
        return None;
    }
    if entries == 0 {
        mends.insert(0, set(FLOW_TABLE, FLOWS.to_string()));
    }
    Some(Finding {
        about: "RFS".to_owned(),
        seen: format!("no flows are remembered for {}, whose packets RPS passes on", seen.join(", ")),
        costs: "a packet is handled on another processor than that of the thread that reads it, which costs cache misses".into(),
        mends,
    })
}

/// Devices whose queues all processors send over, one finding for each.
pub(super) fn sending(machine: &Machine<'_>) -> Vec<Finding> {
    devices(machine).iter().filter_map(|own| sends(machine, &own.first()?.device, own)).collect()
}

fn sends(machine: &Machine<'_>, device: &str, received: &[Queue]) -> Option<Finding> {
    let own: Vec<SendQueue> = send_queues(machine.tree, device);
    let senders = senders(machine.tree, received, own.len());
    // A driver that has divided the processors, or a user, knows better.
    if senders.is_empty() || own.iter().all(|queue| !queue.sent_by.is_empty()) {
        return None;
    }
    let width = mask_width(machine.tree);
    let path = |number: u32| format!("sys/class/net/{device}/queues/tx-{number}/xps_cpus");
    let mends = own.iter().zip(&senders).map(|(queue, cpus)| set(path(queue.number), mask(cpus, width))).collect();
    let cores = machine.facts.cpu.cores.unwrap_or(0);
    Some(Finding {
        about: format!("XPS of {device}"),
        seen: format!("{} for {cores} cores to send by, and processors have none of their own", counted(own.len())),
        costs: "every processor sends over every queue, so they wait for each other's locks and share their cache lines".into(),
        mends,
    })
}

fn counted(queues: usize) -> String {
    format!("{queues} {}", if queues == 1 { "queue" } else { "queues" })
}

fn finding(machine: &Machine<'_>, device: &str, own: &[Queue]) -> Option<Finding> {
    let shares = wanted(machine, own);
    if shares.is_empty() {
        return None;
    }
    let cores = machine.facts.cpu.cores.unwrap_or(0);
    let taken: Vec<u32> = {
        let mut all: Vec<u32> =
            own.iter().filter(|queue| queue.taken_by.len() == 1).flat_map(|queue| queue.taken_by.clone()).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let by = match taken.as_slice() {
        [] => String::new(),
        [one] => format!("; processor {one} takes their interrupts"),
        some => format!("; processors {} take their interrupts", ranges(some)),
    };
    let mut mends: Vec<Mend> = own.iter().zip(&shares).flat_map(|(queue, share)| of_queue(machine, queue, share)).collect();
    if machine.runs(&["irqbalance"]) {
        mends.insert(0, Mend::Run("systemctl stop irqbalance".to_owned()));
    }
    Some(Finding {
        about: format!("interrupts of {device}"),
        seen: format!("{} for {cores} cores, and packets are not passed on{by}", counted(own.len())),
        costs: "under load these processors are full of interrupts while the others idle, which limits the throughput".into(),
        mends,
    })
}

/// Where the interrupts of a queue go, and where its packets.
fn of_queue(machine: &Machine<'_>, queue: &Queue, share: &Share) -> Vec<Mend> {
    let moved = queue.irq.filter(|_| queue.taken_by != [share.irq_cpu]);
    let affinity = moved.map(|irq| set(format!("proc/irq/{irq}/smp_affinity_list"), share.irq_cpu.to_string()));
    let path = format!("sys/class/net/{}/queues/rx-{}/rps_cpus", queue.device, queue.number);
    let rps = (!share.rps.is_empty()).then(|| set(path, mask(&share.rps, mask_width(machine.tree))));
    affinity.into_iter().chain(rps).collect()
}
