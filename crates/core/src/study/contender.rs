//! A contender: what is driven, where it runs, and what it costs.

use std::collections::BTreeMap;

use crate::units::thousands;

use super::{
    DeclaredBuild, DeploySpec, Discount, Fee, Located, Node, PrometheusSpec, Rate, ServerSpec, Traffic, TransactionChoice,
    Tuning, Volume,
};

/// One system under test.
#[derive(Debug, Clone, Default)]
pub struct Contender {
    /// Path-safe name.
    pub name: String,
    /// The contender that it repeats as an A/A control: the same system, measured a second time.
    pub control_of: Option<String>,
    /// What reports call it; the name where not given.
    pub label: String,
    /// Architecture of the priced machines, as declared (`aarch64`, `x86_64`).
    pub arch: Option<String>,
    /// Where load goes; `None` for a contender that is only priced.
    pub target: Option<Located<String>>,
    /// A private server to start and to drive; never beside a target.
    pub server: Option<ServerSpec>,
    /// A cluster that perbuck makes, and drives; never beside a server.
    pub deploy: Option<DeploySpec>,
    /// Global settings of the target's servers that hold while its trials run, by name in lower case.
    pub server_settings: BTreeMap<String, Located<String>>,
    /// Settings of its server's machine that hold while its trials run.
    pub tuning: Option<Tuning>,
    /// Where samples of its servers' machines are, in place of a process of perbuck there.
    pub prometheus: Option<PrometheusSpec>,
    /// Where the program of its server comes from, as declared.
    pub build: Option<DeclaredBuild>,
    /// How its transactions work; what is not here is left to the server.
    pub transactions: Vec<Located<TransactionChoice>>,
    /// How long its servers may take to come to rest after a load, in nanoseconds; `None` is what the database needs.
    pub wait_ready_ns: Option<Located<u64>>,
    /// TiFlash replicas of every table, from 1; `None` leaves them as they are.
    pub tiflash_replicas: Option<Located<u32>>,
    /// The storage in which its servers save copies of its data.
    pub backup: Option<Located<String>>,
    /// A file that holds the password; read only when connecting.
    pub password_file: Option<Located<String>>,
    /// Copies of the data, as declared.
    pub replication_factor: Option<u32>,
    /// A price snapshot of its own, where contenders have different providers.
    pub snapshot: Option<Located<String>>,
    /// A region of its own, in place of those of the study.
    pub region: Option<Located<String>>,
    /// The priced machines.
    pub nodes: Vec<Node>,
    /// Fees, licences and support, in the order of the file.
    pub fees: Vec<Fee>,
    /// Billed bytes.
    pub traffic: Vec<Traffic>,
    /// What is taken off the bill.
    pub discounts: Vec<Discount>,
    /// Line of its header.
    pub line: usize,
}

impl Contender {
    /// Whether it has something to drive: a target, or what perbuck makes.
    pub fn is_driven(&self) -> bool {
        self.target.is_some() || self.server.is_some() || self.deploy.is_some()
    }

    /// The address that decides what is measured; that of a deployed cluster is another each time.
    pub fn fixed_target(&self) -> Option<&str> {
        self.target.as_ref().filter(|_| self.deploy.is_none()).map(|target| target.value.as_str())
    }

    /// In words, each machine whose volumes have more than it carries at length, by the price list: what is bought is not what is had.
    pub fn volumes_beyond_machines(&self) -> Vec<String> {
        let of_node = |node: &Node| {
            let rates = node.machine.as_ref().map(|machine| machine.rates);
            let sum = |one: fn(&Volume) -> Option<u32>| -> Option<u64> {
                node.volumes.iter().map(|v| Some(u64::from(one(v)?) * u64::from(v.count))).sum()
            };
            let iops = sum(|v| v.iops.or(v.included.as_ref()?.iops)).zip(rates.map(|rates| rates.volume_iops));
            let mib_s = sum(|v| v.throughput_mib_s.or(v.included.as_ref()?.mib_s.baseline));
            // A MiB/s is 8.388608 Mbit/s.
            let mbit_s = mib_s.map(|n| n * 8_388_608 / 1_000_000).zip(rates.map(|rates| rates.volume_mbit_s));
            let beyond = |(has, rate): (u64, Rate), unit: &str| {
                let carries = rate.baseline.filter(|baseline| has > u64::from(*baseline))?;
                let burst = rate.burst.map(|n| format!(" ({} in a burst)", thousands(n.into()))).unwrap_or_default();
                let (name, role, machine) = (&self.name, &node.role, &node.instance);
                Some(format!(
                    "{name}: the volumes of each `{role}` have {} {unit} together, of which {machine} carries {} at length{burst}",
                    thousands(has),
                    thousands(carries.into())
                ))
            };
            [iops.and_then(|found| beyond(found, "IOPS")), mbit_s.and_then(|found| beyond(found, "Mbit/s"))]
        };
        self.nodes.iter().flat_map(of_node).flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{Included, Machine, Rates, Study};

    #[test]
    fn volumes_that_a_machine_cannot_carry_are_told() {
        let text = "schema = 1\nname = \"s\"\n[price]\nsnapshot = \"aws-2026-07\"\nregions = [\"r\"]\n[[contender]]\nname = \"a\"\n\
                    node = [{ role = \"db\", instance = \"m\", volumes = [{ kind = \"gp3\", size_gb = 9, iops = 8000 }, \
                    { kind = \"gp3\", size_gb = 9, count = 2 }] }]\n[[workload]]\nname = \"w\"\nkind = \"k\"\n";
        let mut contender = Study::read("s.toml", text, &[]).unwrap().contenders.remove(0);
        assert_eq!(contender.volumes_beyond_machines(), Vec::<String>::new(), "nothing is known of them");
        let (iops, mib_s) = (Some(3000), Rate { baseline: Some(125), burst: None });
        contender.nodes[0].volumes.iter_mut().for_each(|v| v.included = Some(Included { unit: "GB".into(), iops, mib_s }));
        let rate = |baseline, burst| Rate { baseline: Some(baseline), burst };
        let machine = |volume_iops, volume_mbit_s| {
            let rates = Rates { volume_iops, volume_mbit_s, ..Rates::default() };
            Some(Machine { rates, ..Machine::default() })
        };
        contender.nodes[0].machine = machine(rate(13_999, Some(20_000)), rate(3_145, None));
        let expected = [
            "a: the volumes of each `db` have 14,000 IOPS together, of which m carries 13,999 at length (20,000 in a burst)",
            "a: the volumes of each `db` have 3,145 Mbit/s together, of which m carries 3,144 at length",
        ];
        assert_eq!(contender.volumes_beyond_machines(), expected[..1]);
        contender.nodes[0].machine = machine(rate(14_000, None), rate(3_144, None));
        assert_eq!(contender.volumes_beyond_machines(), expected[1..]);
    }
}
