//! Plans for the tests of this module: of study texts, with the machine types that price lists would describe.

use perbuck_core::problem::Problem;
use perbuck_core::study::{Machine, Study};

use super::Plan;

/// Instance type, architecture, processors, memory in GiB.
const MACHINES: [(&str, &str, u32, u64); 12] = [
    ("c6g.large", "aarch64", 2, 4),
    ("c6g.2xlarge", "aarch64", 8, 16),
    ("r6g.2xlarge", "aarch64", 8, 64),
    ("c5.large", "x86_64", 2, 4),
    ("c5.2xlarge", "x86_64", 8, 16),
    ("r5.2xlarge", "x86_64", 8, 64),
    ("c5.4xlarge", "x86_64", 16, 32),
    ("r8g.4xlarge", "aarch64", 16, 128),
    ("c4a-standard-2", "aarch64", 2, 8),
    ("c4a-standard-4", "aarch64", 4, 16),
    ("c4a-standard-8", "aarch64", 8, 32),
    ("c4a-highmem-8", "aarch64", 8, 64),
];

/// The plan of a study's text.
pub(super) fn plan(text: &str) -> Result<Option<Plan>, Vec<Problem>> {
    let mut study = Study::read("s.toml", text, &[])?;
    for node in study.contenders.iter_mut().flat_map(|c| &mut c.nodes) {
        let of = MACHINES.iter().find(|(name, ..)| *name == node.instance);
        node.machine = of.map(|&(_, arch, vcpus, gib)| Machine {
            arch: arch.to_owned(),
            vcpus,
            memory_bytes: gib << 30,
            ..Machine::default()
        });
    }
    Plan::of(&study, "s.toml")
}

/// A study with these contenders.
pub(super) fn study(contenders: &str) -> String {
    format!(
        "schema = 1\nname = \"arm-value\"\nseed = 1\n[price]\nsnapshot = \"aws-2026-07\"\nregions = [\"us-east-1\"]\n{contenders}\n\
         [[workload]]\nname = \"w\"\nkind = \"k\"\n[sweep]\nconnections = [1]\n"
    )
}

/// TiDB on EKS, on Arm and on x86.
pub(super) const TIDB: &str = r#"
[[contender]]
name = "arm"
replication_factor = 3
node = [
  { role = "tidb", instance = "c6g.2xlarge", count = 3 },
  { role = "tikv", instance = "r6g.2xlarge", count = 3, volume = { kind = "gp3", size_gb = 1000, iops = 6000, throughput_mib_s = 500 } },
  { role = "pd", instance = "c6g.large", count = 1, volume = { kind = "gp3", size_gb = 50 } },
  { role = "admin", instance = "c6g.large", count = 1 },
  { role = "client", instance = "c5.4xlarge", count = 2, priced = false },
]
deploy = { provider = "eks", kind = "tidb", version = "v8.5.3", kubernetes = "1.33", operator = "v1.6.3", zones = ["us-east-1a"], image = { agent = "registry.example/perbuck:1" }, config = { tikv = { storage = { block-cache = { capacity = "24GiB" } } } } }

[[contender]]
name = "x86"
replication_factor = 3
node = [
  { role = "tidb", instance = "c5.2xlarge", count = 3 },
  { role = "tikv", instance = "r5.2xlarge", count = 3, volume = { kind = "gp3", size_gb = 1000, iops = 6000, throughput_mib_s = 500 } },
  { role = "pd", instance = "c5.large", count = 1, volume = { kind = "gp3", size_gb = 50 } },
  { role = "admin", instance = "c5.large", count = 1 },
  { role = "client", instance = "c5.4xlarge", count = 2, priced = false },
]
deploy = { provider = "eks", kind = "tidb", version = "v8.5.3", kubernetes = "1.33", operator = "v1.6.3", zones = ["us-east-1a"], image = { agent = "registry.example/perbuck:1" }, config = { tikv = { storage = { block-cache = { capacity = "24GiB" } } } } }
"#;

/// MySQL on an existing cluster.
pub(super) const MYSQL: &str = r#"
[[contender]]
name = "arm"
node = [
  { role = "mysql", instance = "r8g.4xlarge", count = 1, volume = { kind = "gp3", size_gb = 500, iops = 12000 } },
]
deploy = { provider = "kubernetes", kind = "mysql", version = "8.4", kubernetes = "1.37", storage = { provisioner = "rancher.io/local-path" }, config = { mysql = { innodb_buffer_pool_size = 103079215104 } } }
"#;
