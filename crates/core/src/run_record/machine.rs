//! Facts of a machine that bear on performance.
//!
//! A fact stays as it is until the machine or its settings are changed: no current frequency, no free memory. A fact that the system does not tell
//! is absent. Nothing here tells one machine of a kind from another: no address, serial number or name of a host.

mod differences;
mod text;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use text::FactGroup;

/// What the system tells of its machine, by `/proc` and `/sys`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineFacts {
    /// Its processors.
    #[serde(default, skip_serializing_if = "untold")]
    pub cpu: CpuFacts,
    /// Its NUMA nodes, by number.
    #[serde(default, skip_serializing_if = "untold")]
    pub numa: Vec<NumaNode>,
    /// Its memory.
    #[serde(default, skip_serializing_if = "untold")]
    pub memory: MemoryFacts,
    /// Its kernel.
    #[serde(default, skip_serializing_if = "untold")]
    pub kernel: KernelFacts,
    /// Who made it, and what it runs on.
    #[serde(default, skip_serializing_if = "untold")]
    pub platform: PlatformFacts,
    /// What the control groups of perbuck's process leave of it.
    #[serde(default, skip_serializing_if = "untold")]
    pub cgroup: CgroupFacts,
    /// Its disks; equal ones are one entry.
    #[serde(default, skip_serializing_if = "untold")]
    pub disks: Vec<DiskFacts>,
    /// Its network devices.
    #[serde(default, skip_serializing_if = "untold")]
    pub network: Vec<NetworkFacts>,
    /// Limits of perbuck's process and of sockets.
    #[serde(default, skip_serializing_if = "untold")]
    pub limits: LimitFacts,
}

/// The processors of a machine, by `/proc/cpuinfo` and `/sys/devices/system/cpu`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CpuFacts {
    /// Who designed the core: `GenuineIntel`, `AuthenticAMD`, `Arm`, `HiSilicon`.
    #[serde(default, skip_serializing_if = "untold")]
    pub vendor: Option<String>,
    /// The model as the processor names itself (x86).
    #[serde(default, skip_serializing_if = "untold")]
    pub model: Option<String>,
    /// The name of the core by its numbers: `Neoverse-V2`, `Zen 4`, `Sapphire Rapids`. Absent where perbuck does not know the numbers.
    #[serde(default, skip_serializing_if = "untold")]
    pub core: Option<String>,
    /// What its seller calls it, where that follows from core and platform: `AWS Graviton4`.
    #[serde(default, skip_serializing_if = "untold")]
    pub product: Option<String>,
    /// Family (x86).
    #[serde(default, skip_serializing_if = "untold")]
    pub family: Option<u32>,
    /// Model number (x86).
    #[serde(default, skip_serializing_if = "untold")]
    pub model_number: Option<u32>,
    /// Stepping (x86), or variant and revision (`r1p1`, Arm).
    #[serde(default, skip_serializing_if = "untold")]
    pub stepping: Option<String>,
    /// Implementer by the main ID register (MIDR, Arm): `0x41`.
    #[serde(default, skip_serializing_if = "untold")]
    pub implementer: Option<String>,
    /// Part number by the main ID register (MIDR, Arm): `0xd4f`.
    #[serde(default, skip_serializing_if = "untold")]
    pub part: Option<String>,
    /// Version of its microcode.
    #[serde(default, skip_serializing_if = "untold")]
    pub microcode: Option<String>,
    /// Processors that are online, as ranges: `0-63`.
    #[serde(default, skip_serializing_if = "untold")]
    pub online: Option<String>,
    /// Processors that the scheduler leaves alone (`isolcpus`), as ranges; absent where there are none.
    #[serde(default, skip_serializing_if = "untold")]
    pub isolated: Option<String>,
    /// Sockets.
    #[serde(default, skip_serializing_if = "untold")]
    pub sockets: Option<u32>,
    /// Cores that are online, of all sockets.
    #[serde(default, skip_serializing_if = "untold")]
    pub cores: Option<u32>,
    /// Hardware threads that are online, of all cores.
    #[serde(default, skip_serializing_if = "untold")]
    pub threads: Option<u32>,
    /// State of simultaneous multithreading, by `smt/control`: `on`, `off`, `notsupported`.
    #[serde(default, skip_serializing_if = "untold")]
    pub smt: Option<String>,
    /// Its caches, by level.
    #[serde(default, skip_serializing_if = "untold")]
    pub caches: Vec<CacheFacts>,
    /// The lowest frequency that the hardware has, in MHz.
    #[serde(default, skip_serializing_if = "untold")]
    pub mhz_min: Option<u32>,
    /// The highest frequency that the hardware has, in MHz.
    #[serde(default, skip_serializing_if = "untold")]
    pub mhz_max: Option<u32>,
    /// The highest frequency that the system allows, in MHz, where it is below that of the hardware.
    #[serde(default, skip_serializing_if = "untold")]
    pub mhz_limit: Option<u32>,
    /// The driver of the frequency: `intel_pstate`, `cppc_cpufreq`.
    #[serde(default, skip_serializing_if = "untold")]
    pub frequency_driver: Option<String>,
    /// The governor of the frequency; with the processors of each where there are several.
    #[serde(default, skip_serializing_if = "untold")]
    pub governor: Option<String>,
    /// Whether frequencies above the nominal one are allowed.
    #[serde(default, skip_serializing_if = "untold")]
    pub boost: Option<bool>,
    /// Those of its flags that matter to a database, as the kernel calls them: `atomics` (LSE), `crc32`, `avx2`.
    #[serde(default, skip_serializing_if = "untold")]
    pub flags: Vec<String>,
}

/// Caches of one level and kind.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheFacts {
    /// `L1d`, `L1i`, `L2`, `L3`.
    pub name: String,
    /// Size of one, in bytes.
    pub bytes: u64,
    /// How many there are.
    pub count: u32,
    /// Hardware threads that share one.
    pub shared_by: u32,
}

/// A NUMA node, by `/sys/devices/system/node`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumaNode {
    /// Its number.
    pub node: u32,
    /// Its processors, as ranges; empty where it has memory alone.
    pub cpus: String,
    /// Its memory, in bytes.
    pub memory_bytes: u64,
}

/// Memory, by `/sys/kernel/mm`, `/proc/meminfo`, `/proc/swaps` and `/proc/sys/vm`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryFacts {
    /// Size of a page, in bytes.
    #[serde(default, skip_serializing_if = "untold")]
    pub page_bytes: Option<u64>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    #[serde(default, skip_serializing_if = "untold")]
    pub transparent_huge_pages: Option<String>,
    /// When the kernel makes them by compaction: `madvise`, `defer`, …
    #[serde(default, skip_serializing_if = "untold")]
    pub huge_page_defrag: Option<String>,
    /// Huge pages that are reserved; absent where there are none.
    #[serde(default, skip_serializing_if = "untold")]
    pub huge_pages: Option<u64>,
    /// Size of a reserved huge page, in bytes; absent where there are none.
    #[serde(default, skip_serializing_if = "untold")]
    pub huge_page_bytes: Option<u64>,
    /// Swap space, in bytes; 0 where there is none.
    #[serde(default, skip_serializing_if = "untold")]
    pub swap_bytes: Option<u64>,
    /// How readily the kernel swaps, 0 to 200.
    #[serde(default, skip_serializing_if = "untold")]
    pub swappiness: Option<u32>,
    /// Whether the kernel moves pages between NUMA nodes by itself.
    #[serde(default, skip_serializing_if = "untold")]
    pub numa_balancing: Option<bool>,
    /// The driver by which the hypervisor can take memory from the running machine: `virtio_balloon`, `hv_balloon`.
    #[serde(default, skip_serializing_if = "untold")]
    pub balloon: Option<String>,
}

/// The kernel, by `/proc/sys/kernel` and `/sys/devices/system`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelFacts {
    /// Its release, as `uname -r` tells it.
    #[serde(default, skip_serializing_if = "untold")]
    pub release: Option<String>,
    /// The clock that it reads: `tsc`, `arch_sys_counter`, `xen`.
    #[serde(default, skip_serializing_if = "untold")]
    pub clocksource: Option<String>,
    /// Faults of the processor that concern it, each with what the kernel does about it; absent are those that do not affect it.
    #[serde(default, skip_serializing_if = "untold")]
    pub vulnerabilities: BTreeMap<String, String>,
}

/// The platform, by `/sys/class/dmi/id` and signs of a hypervisor.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlatformFacts {
    /// The maker of the machine: `Amazon EC2`, `Google`.
    #[serde(default, skip_serializing_if = "untold")]
    pub vendor: Option<String>,
    /// Its product.
    #[serde(default, skip_serializing_if = "untold")]
    pub product: Option<String>,
    /// The hypervisor that it runs on; `unknown` where there is one without a name. Absent where nothing tells of one.
    #[serde(default, skip_serializing_if = "untold")]
    pub hypervisor: Option<String>,
    /// The instance type of the cloud, where the platform tells it or the cloud was asked: `r8g.16xlarge`.
    #[serde(default, skip_serializing_if = "untold")]
    pub instance_type: Option<String>,
}

/// Limits by control groups of version 1 or 2; the tightest of the process's group and those above it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CgroupFacts {
    /// CPU time that it may use, in thousandths of a processor; absent where it is not limited.
    #[serde(default, skip_serializing_if = "untold")]
    pub cpu_m: Option<u64>,
    /// Processors that it may use, as ranges; absent where it may use all that are online.
    #[serde(default, skip_serializing_if = "untold")]
    pub cpus: Option<String>,
    /// Memory that it may use, in bytes; absent where it is not limited.
    #[serde(default, skip_serializing_if = "untold")]
    pub memory_bytes: Option<u64>,
}

/// Equal disks, by `/sys/block`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskFacts {
    /// Their names: `nvme1n1`.
    pub names: Vec<String>,
    /// Their model.
    #[serde(default, skip_serializing_if = "untold")]
    pub model: Option<String>,
    /// Size of one, in bytes.
    #[serde(default, skip_serializing_if = "untold")]
    pub bytes: Option<u64>,
    /// Whether the kernel takes them for spinning disks; many virtual disks say so and do not spin.
    #[serde(default, skip_serializing_if = "untold")]
    pub rotational: Option<bool>,
    /// The scheduler: `none`, `mq-deadline`.
    #[serde(default, skip_serializing_if = "untold")]
    pub scheduler: Option<String>,
    /// Requests that its queue may hold.
    #[serde(default, skip_serializing_if = "untold")]
    pub queue_depth: Option<u32>,
}

/// A network device, by `/sys/class/net`, and by the kernel's answer to what `ethtool` asks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkFacts {
    /// Its name: `ens5`.
    pub name: String,
    /// Its driver: `ena`, `virtio_net`.
    #[serde(default, skip_serializing_if = "untold")]
    pub driver: Option<String>,
    /// Queues for received packets.
    pub rx_queues: u32,
    /// Queues for packets to be sent.
    pub tx_queues: u32,
    /// Longest packet, in bytes (MTU).
    #[serde(default, skip_serializing_if = "untold")]
    pub mtu: Option<u32>,
    /// Speed in Mbit/s; many virtual devices do not tell it.
    #[serde(default, skip_serializing_if = "untold")]
    pub mbit_s: Option<u32>,
    /// Offloads that perbuck knows, and whether they are on: `GRO`, `TSO`, `rx-checksum`.
    #[serde(default, skip_serializing_if = "untold")]
    pub offloads: BTreeMap<String, bool>,
    /// Whether the device itself changes how long it waits before it interrupts.
    #[serde(default, skip_serializing_if = "untold")]
    pub adaptive_coalescing: Option<bool>,
    /// Time from a received packet to an interrupt, in µs, so that more may share it; absent where the device changes it itself.
    #[serde(default, skip_serializing_if = "untold")]
    pub rx_coalescing_us: Option<u32>,
    /// The same of packets that were sent.
    #[serde(default, skip_serializing_if = "untold")]
    pub tx_coalescing_us: Option<u32>,
}

/// Limits that many connections meet, by `/proc/self/limits` and `/proc/sys/net`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitFacts {
    /// Files that perbuck may have open; absent where it is not limited.
    #[serde(default, skip_serializing_if = "untold")]
    pub open_files: Option<u64>,
    /// To how many perbuck may raise that; absent where it is not limited.
    #[serde(default, skip_serializing_if = "untold")]
    pub open_files_max: Option<u64>,
    /// Connections that may wait for a server to accept them.
    #[serde(default, skip_serializing_if = "untold")]
    pub somaxconn: Option<u32>,
    /// Ports of outgoing connections: `32768-60999`.
    #[serde(default, skip_serializing_if = "untold")]
    pub local_ports: Option<String>,
}

/// Whether a fact is not told.
fn untold<T: Default + PartialEq>(fact: &T) -> bool {
    *fact == T::default()
}
