//! Disks and network devices.

use perbuck_core::run_record::{DiskFacts, NetworkFacts};

use crate::tree::Tree;

const DISKS: &str = "sys/block";
/// Offloads that bear on the cost of a packet, each with the names that the kernel has for it. It is on where one of these is.
const OFFLOADS: [(&str, &[&str]); 6] = [
    ("GRO", &["rx-gro"]),
    ("GSO", &["tx-generic-segmentation"]),
    ("TSO", &["tx-tcp-segmentation"]),
    ("LRO", &["rx-lro"]),
    ("rx-checksum", &["rx-checksum"]),
    ("tx-checksum", &["tx-checksum-ip-generic", "tx-checksum-ipv4"]),
];
const NETWORK: &str = "sys/class/net";
/// More of them are left out: a node of Kubernetes has a device for each pod.
const MOST: usize = 16;

/// The disks that are devices, and arrays of such; no loops, maps or memory.
pub(super) fn disks(tree: &Tree) -> Vec<DiskFacts> {
    let mut found: Vec<DiskFacts> = Vec::new();
    let is_disk = |name: &String| name.starts_with("md") || !tree.names(&format!("{DISKS}/{name}/device")).is_empty();
    for name in tree.names(DISKS).into_iter().filter(is_disk) {
        let queue = format!("{DISKS}/{name}/queue");
        // Whatever the size of its blocks, the kernel counts 512 bytes.
        let bytes = tree.number::<u64>(&format!("{DISKS}/{name}/size")).and_then(|sectors| sectors.checked_mul(512));
        if bytes.unwrap_or(0) == 0 {
            continue;
        }
        let disk = DiskFacts {
            names: Vec::new(),
            model: tree.line(&format!("{DISKS}/{name}/device/model")),
            bytes,
            rotational: tree.number::<u8>(&format!("{queue}/rotational")).map(|spins| spins == 1),
            scheduler: tree.chosen(&format!("{queue}/scheduler")),
            queue_depth: tree.number(&format!("{queue}/nr_requests")),
        };
        let room = found.len() < MOST;
        let equal = found.iter_mut().find(|other| DiskFacts { names: Vec::new(), ..(*other).clone() } == disk);
        match equal {
            Some(other) => other.names.push(name),
            None if room => found.push(DiskFacts { names: vec![name], ..disk }),
            None => (),
        }
    }
    found
}

/// The network devices of hardware, or of a hypervisor; where there are none, as within a container, the others but the loopback.
pub(super) fn network(tree: &Tree) -> Vec<NetworkFacts> {
    let names: Vec<String> = tree.names(NETWORK).into_iter().filter(|name| name != "lo").collect();
    let uevent = |name: &String| tree.text(&format!("{NETWORK}/{name}/device/uevent"));
    let mut own: Vec<&String> = names.iter().filter(|name| uevent(name).is_some()).collect();
    if own.is_empty() {
        own = names.iter().filter(|name| tree.line(&format!("{NETWORK}/{name}/operstate")).as_deref() == Some("up")).collect();
    }
    own.into_iter().take(MOST).map(|name| device(tree, name, uevent(name).as_deref())).collect()
}

fn device(tree: &Tree, name: &str, uevent: Option<&str>) -> NetworkFacts {
    let queues = tree.names(&format!("{NETWORK}/{name}/queues"));
    let count = |start: &str| u32::try_from(queues.iter().filter(|queue| queue.starts_with(start)).count()).unwrap_or(0);
    let told = tree.ethtool(name);
    let is_on = |name: &&str| told.get(*name).map(|value| value == "on");
    let offload = |(name, of): &(&str, &[&str])| Some(((*name).to_owned(), of.iter().filter_map(is_on).reduce(|a, b| a || b)?));
    let adaptive = is_on(&"adaptive-rx");
    // A device that adapts them changes them by itself.
    let us = |name: &str| told.get(name).filter(|_| adaptive != Some(true))?.parse().ok();
    let driver = uevent.and_then(|text| text.lines().find_map(|line| line.strip_prefix("DRIVER=")));
    NetworkFacts {
        name: name.to_owned(),
        driver: driver.and_then(crate::tree::value),
        rx_queues: count("rx-"),
        tx_queues: count("tx-"),
        mtu: tree.number(&format!("{NETWORK}/{name}/mtu")),
        // A device without a link, and many of a hypervisor, say -1.
        mbit_s: tree.number::<u32>(&format!("{NETWORK}/{name}/speed")).filter(|speed| *speed > 0),
        offloads: OFFLOADS.iter().filter_map(offload).collect(),
        adaptive_coalescing: adaptive,
        rx_coalescing_us: us("rx-usecs"),
        tx_coalescing_us: us("tx-usecs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_disks_are_one_and_memory_is_none() {
        let tree = Tree::unpacked(
            "== sys/block/loop0/size\n8\n== sys/block/zram0/size\n100\n== sys/block/nvme[1-3]n1/size\n2048\n\
             == sys/block/nvme[1-3]n1/device/model\nAmazon EC2 NVMe Instance Storage\n\
             == sys/block/nvme[1-3]n1/queue/scheduler\n[none] mq-deadline kyber\n== sys/block/sr0/size\n0\n== sys/block/sr0/device/model\nx\n\
             == sys/block/md0/size\n6144\n",
        );
        let found = disks(&tree);
        assert_eq!(found.iter().map(|d| d.names.join(" ")).collect::<Vec<_>>(), ["md0", "nvme1n1 nvme2n1 nvme3n1"]);
        assert_eq!((found[1].scheduler.as_deref(), found[1].bytes), (Some("none"), Some(1 << 20)));
    }

    #[test]
    fn a_container_has_the_device_that_it_was_given() {
        let tree = Tree::unpacked("== sys/class/net/lo/operstate\nunknown\n== sys/class/net/eth0/operstate\nup\n");
        assert_eq!(network(&tree).iter().map(|d| d.name.as_str()).collect::<Vec<_>>(), ["eth0"]);
    }
}
