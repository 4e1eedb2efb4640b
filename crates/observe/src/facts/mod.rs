//! Facts of a machine that bear on performance, by the files of `/proc` and `/sys`.
//!
//! [`facts`] is a pure function of a [`Tree`]. `tests/data/machines` of this crate holds trees of machines that its tests do not run on.

pub(crate) mod balloon;
pub(crate) mod cgroup;
pub(crate) mod cloud;
pub(crate) mod cores;
mod cpu;
mod devices;
mod platform;
mod system;

use perbuck_core::run_record::MachineFacts;

use crate::tree::Tree;

/// The facts of a machine.
pub fn facts(tree: &Tree) -> MachineFacts {
    facts_with(tree, tree.text("proc/cpuinfo").as_deref())
}

/// The same without `/proc/cpuinfo`, which an emulator may have invented, or with one that was read before.
pub(crate) fn facts_with(tree: &Tree, cpuinfo: Option<&str>) -> MachineFacts {
    let platform = platform::facts(tree, cpuinfo.unwrap_or_default());
    let mut cpu = cpu::facts(tree, cpuinfo);
    let on_aws = platform.vendor.as_deref() == Some(platform::AWS);
    cpu.product = cpu.core.as_deref().filter(|_| on_aws).and_then(cores::graviton).map(str::to_owned);
    MachineFacts {
        cgroup: cgroup::facts(tree, cpu.online.as_deref()),
        cpu,
        numa: cpu::numa(tree),
        memory: system::memory(tree),
        kernel: system::kernel(tree),
        platform,
        disks: devices::disks(tree),
        network: devices::network(tree),
        limits: system::limits(tree),
    }
}

#[cfg(test)]
mod tests;
