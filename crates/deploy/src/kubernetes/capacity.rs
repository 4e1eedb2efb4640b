//! What of a machine a pod can have: its processors and memory without what kubelet and the system keep for themselves.

use perbuck_core::study::{Machine, Provider};

const MIB: u64 = 1 << 20;

/// What the pods of every node take: network, volume driver, kube-proxy, log shipper.
const DAEMONS: Share = Share { cpu_m: 300, memory_bytes: 512 * MIB };
/// An instance's memory that its system sees, in percent: firmware and kernel keep the rest.
const SEEN_PERCENT: u64 = 96;
/// At this little free memory kubelet evicts pods (its default on EKS and GKE).
const EVICTION_BYTES: u64 = 100 * MIB;
/// EKS keeps 255 MiB, and 11 MiB for each pod that the network cards of a type have addresses for, whatever `maxPodsPerNode` says (nodeadm of
/// amazon-eks-ami, read 2026-07). More processors mean more cards: the most pods of the types with up to so many.
const EKS_PODS: [(u32, u64); 4] = [(8, 118), (16, 394), (48, 492), (u32::MAX, 1010)];
/// GKE keeps shares of memory, in GiB and percent (its documentation of node sizes): 25 % of the first 4 GiB, and so on.
const GKE: [(u64, u64); 5] = [(4, 25), (4, 20), (8, 10), (112, 6), (u64::MAX, 2)];

/// A part of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Thousandths of a processor.
    pub cpu_m: u64,
    /// Bytes of memory.
    pub memory_bytes: u64,
}

/// What one pod can have on a machine that it shares with none of another component.
pub fn pod(provider: Provider, machine: &Machine) -> Share {
    let seen = machine.memory_bytes / 100 * SEEN_PERCENT;
    let kept = match provider {
        Provider::Gke => of_gke(machine.memory_bytes),
        Provider::Eks | Provider::Kubernetes => of_eks(machine.vcpus),
    };
    let memory = seen.saturating_sub(kept + EVICTION_BYTES + DAEMONS.memory_bytes).max(256 * MIB);
    let cpu = (u64::from(machine.vcpus) * 1000).saturating_sub(kept_cpu_m(machine.vcpus) + DAEMONS.cpu_m).max(100);
    // Round numbers are easier to review.
    Share { cpu_m: cpu / 50 * 50, memory_bytes: memory / (64 * MIB) * (64 * MIB) }
}

/// EKS and GKE keep 6 % of the first processor, 1 % of the second, 0.5 % of the next two and 0.25 % of the others.
fn kept_cpu_m(vcpus: u32) -> u64 {
    let vcpus = u64::from(vcpus);
    let quarters = 240 * vcpus.min(1) + 40 * vcpus.saturating_sub(1).min(1) + 20 * vcpus.saturating_sub(2).min(2);
    (quarters + 10 * vcpus.saturating_sub(4)).div_ceil(4)
}

fn of_eks(vcpus: u32) -> u64 {
    let pods = EKS_PODS.iter().find(|(most, _)| vcpus <= *most).map_or(0, |(_, pods)| *pods);
    (255 + 11 * pods) * MIB
}

fn of_gke(memory: u64) -> u64 {
    let mut rest = memory;
    GKE.iter()
        .map(|(gib, percent)| {
            let part = rest.min(gib.saturating_mul(1 << 30));
            rest -= part;
            part / 100 * percent
        })
        .sum()
}

impl Share {
    /// Its processors as Kubernetes writes them: `7600m`.
    pub fn cpu(self) -> String {
        format!("{}m", self.cpu_m)
    }

    /// Its memory as Kubernetes writes it: `58Gi`, `3520Mi`.
    pub fn memory(self) -> String {
        let mib = self.memory_bytes / MIB;
        if mib.is_multiple_of(1024) { format!("{}Gi", mib / 1024) } else { format!("{mib}Mi") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(vcpus: u32, gib: u64) -> Machine {
        Machine { vcpus, memory_bytes: gib << 30, ..Machine::default() }
    }

    #[test]
    fn a_pod_has_what_kubelet_and_system_leave() {
        // By hand: 8 × 1000 − 60 − 10 − 10 − 10 − 300 = 7610; 0.96 × 64 GiB − 1553 − 100 − 512 MiB = 60 749 MiB.
        let eks = pod(Provider::Eks, &machine(8, 64));
        assert_eq!((eks.cpu().as_str(), eks.memory().as_str()), ("7600m", "60736Mi"));
        // 1 + 0.8 + 0.8 + 0.06 × 48 GiB = 5.48 GiB are kept.
        let gke = pod(Provider::Gke, &machine(8, 64));
        assert_eq!(gke.memory(), "56640Mi");
        // c8i.4xlarge: 0.96 × 32 GiB − 4589 − 100 − 512 MiB = 26 256 MiB.
        assert_eq!(pod(Provider::Eks, &machine(16, 32)).memory(), "26240Mi");
        let small = pod(Provider::Eks, &machine(2, 4));
        assert_eq!((small.cpu().as_str(), small.memory().as_str()), ("1600m", "1728Mi"));
    }
}
