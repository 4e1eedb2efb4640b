//! What ran on a Kubernetes cluster for one contender, as its API server tells it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nodes, pods and volumes of one contender. Its client's nodes are among them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Deployed {
    /// The cluster.
    pub cluster: String,
    /// Version of its API server.
    pub kubernetes: String,
    /// Its nodes, by name.
    pub nodes: Vec<DeployedNode>,
    /// Its pods, by name.
    pub pods: Vec<DeployedPod>,
    /// Its volumes, by claim.
    pub volumes: Vec<DeployedVolume>,
}

/// A node; its facts are its labels and its `status.nodeInfo`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeployedNode {
    /// Its name.
    pub name: String,
    /// The role of the study's `node` that it was made for.
    pub role: String,
    /// Whether it is one of the load's machines that all contenders share.
    #[serde(default)]
    pub shared: bool,
    /// `node.kubernetes.io/instance-type`; empty where the cluster does not say.
    pub instance: String,
    /// `x86_64` or `aarch64`, of `kubernetes.io/arch`.
    pub arch: String,
    /// `topology.kubernetes.io/zone`; empty where the cluster does not say.
    pub zone: String,
    /// Version of its kernel.
    pub kernel: String,
    /// Thousandths of a processor that pods may have.
    pub allocatable_cpu_m: u64,
    /// Bytes of memory that pods may have.
    pub allocatable_bytes: u64,
    /// When it was made, seconds since 1970 UTC.
    pub created_unix_s: u64,
}

/// A pod of the system under test, or of the load.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeployedPod {
    /// Its name.
    pub name: String,
    /// Tells it from an earlier pod of that name.
    pub uid: String,
    /// The component that it runs, as `node` calls its role.
    pub role: String,
    /// The node that it runs on; empty where it runs on none.
    pub node: String,
    /// Whether it is ready.
    pub ready: bool,
    /// Thousandths of a processor that it requests.
    pub cpu_m: u64,
    /// Bytes of memory that it requests.
    pub memory_bytes: u64,
    /// How often its containers were started again.
    pub restarts: u32,
    /// The image of its main container.
    pub image: String,
    /// The digest of what ran; empty where the cluster does not say.
    pub digest: String,
}

/// A volume of the system under test. IOPS and throughput are those that were requested; what the cloud gave cannot be read here.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeployedVolume {
    /// Its claim.
    pub claim: String,
    /// The component whose data it holds, as `node` calls its role.
    pub role: String,
    /// Its storage class.
    pub class: String,
    /// gp3, pd-ssd, …, as the class requests it; empty where it does not.
    pub kind: String,
    /// Size in GiB.
    pub size_gib: u64,
    /// Requested operations per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<u32>,
    /// Requested throughput in MiB/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput_mib_s: Option<u32>,
    /// When it was made, seconds since 1970 UTC.
    pub created_unix_s: u64,
}
