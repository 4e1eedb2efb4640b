//! Interrupts of network queues: on too few processors, or moved about.

use super::{Finding, Machine, Mend, set};
use crate::steering::{Queue, Share, mask, mask_width, queues, shares};
use crate::tree::ranges;

/// Devices whose queues leave processors idle that could take packets, one finding for each.
pub(super) fn interrupts(machine: &Machine<'_>) -> Vec<Finding> {
    let all = queues(machine.tree);
    let mut names: Vec<&str> = all.iter().map(|queue| queue.device.as_str()).collect();
    names.dedup();
    let of_device = |name: &&str| {
        let own: Vec<Queue> = all.iter().filter(|queue| queue.device == **name).cloned().collect();
        finding(machine, name, &own)
    };
    names.iter().filter_map(of_device).collect()
}

fn finding(machine: &Machine<'_>, device: &str, own: &[Queue]) -> Option<Finding> {
    let shares = shares(machine.tree, own);
    // Whoever passes packets on already has decided otherwise.
    if shares.is_empty() || own.iter().all(|queue| !queue.passed_to.is_empty()) {
        return None;
    }
    let cores = machine.facts.cpu.cores.unwrap_or(0);
    let plural = if own.len() == 1 { "queue" } else { "queues" };
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
        seen: format!("{} {plural} for {cores} cores, and packets are not passed on{by}", own.len()),
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
