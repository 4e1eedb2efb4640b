//! What the audit of a published study, and the check of declared machines, ask of the price lists.

use perbuck_core::audit::Facts;
use perbuck_core::study::{Included, Machine as Described, Study};
use perbuck_core::units::MicroUsd;

use crate::released;
use crate::snapshot::{Machine, Region, Snapshot, VolumePrice};

/// The price lists of one study, in the order in which they are asked.
#[derive(Debug, Clone, Default)]
pub struct Lists(pub Vec<Snapshot>);

impl Lists {
    /// Puts what the lists say of machines and volumes into a study: of each contender its own list, or the first, which is the study's.
    pub fn describe_machines(&self, study: &mut Study) {
        for contender in &mut study.contenders {
            let own = contender.snapshot.as_ref();
            let Some(list) = own.map_or(self.0.first(), |own| self.0.iter().find(|l| l.name == own.value)) else { continue };
            for node in &mut contender.nodes {
                node.machine = list.regions.iter().find_map(|r| r.instance(&node.instance)).map(|i| described(&i.machine));
                for volume in &mut node.volumes {
                    let price = list.regions.iter().find_map(|r| r.volume(&volume.kind));
                    volume.included = price.map(|price| Included {
                        unit: list.capacity_unit.clone(),
                        iops: price.iops_of(volume.size_gb),
                        mib_s: price.mib_s_of(volume.size_gb),
                    });
                }
            }
        }
    }

    fn machine(&self, instance: &str) -> Option<&Machine> {
        self.regions().find_map(|r| r.instance(instance)).map(|i| &i.machine)
    }

    fn regions(&self) -> impl Iterator<Item = &Region> {
        self.0.iter().flat_map(|s| &s.regions)
    }

    fn region(&self, name: &str) -> impl Iterator<Item = &Region> {
        self.regions().filter(move |r| r.name == name)
    }

    fn volume(&self, kind: &str) -> impl Iterator<Item = &VolumePrice> {
        self.regions().filter_map(move |r| r.volume(kind))
    }
}

fn described(machine: &Machine) -> Described {
    let memory_bytes = (machine.memory_gib * f64::from(1u32 << 30)) as u64;
    let (arch, rates) = (machine.arch.clone(), machine.rates);
    Described { arch, vcpus: machine.vcpu, vcpus_per_core: machine.vcpu_per_core, memory_bytes, rates }
}

impl Facts for Lists {
    fn vcpu(&self, instance: &str) -> Option<u32> {
        self.machine(instance).map(|m| m.vcpu)
    }

    fn memory_gib(&self, instance: &str) -> Option<String> {
        self.machine(instance).map(|m| m.memory_gib.to_string())
    }

    fn usd_per_hour(&self, instance: &str, region: &str) -> Option<MicroUsd> {
        self.region(region).find_map(|r| r.instance(instance)).map(|i| i.usd_per_hour)
    }

    fn usd_per_gb_month(&self, kind: &str, region: &str) -> Option<MicroUsd> {
        self.region(region).find_map(|r| r.volume(kind)).map(|v| v.capacity.usd_per_gb_month)
    }

    fn network_mbit_s(&self, instance: &str) -> Option<u32> {
        self.machine(instance)?.rates.network_mbit_s.baseline
    }

    fn volume_mbit_s(&self, instance: &str) -> Option<(u32, u32)> {
        let rate = self.machine(instance)?.rates.volume_mbit_s;
        rate.baseline.map(|steady| (steady, rate.burst.unwrap_or(steady)))
    }

    fn volume_mib_s(&self, kind: &str, size_gb: u32) -> Option<u32> {
        self.volume(kind).find_map(|v| v.mib_s_of(size_gb).baseline)
    }

    fn released(&self, product: &str) -> Option<String> {
        released::of(product)
    }

    fn volume_iops(&self, kind: &str, size_gb: u32) -> Option<u32> {
        self.volume(kind).find_map(|v| v.iops_of(size_gb))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;
    use crate::snapshot::Rate;
    use perbuck_core::study::Located;

    #[test]
    fn sizes_prices_and_included_iops_come_from_the_lists() {
        let list = |name: &str| find(&Located { value: name.to_owned(), line: 1 }, "`price.snapshot`", "s.toml").unwrap();
        let lists = Lists(vec![list("gcp-2026-07"), list("aws-2024-08")]);
        assert_eq!((lists.vcpu("c6g.large"), lists.memory_gib("c6g.large").as_deref()), (Some(2), Some("4")));
        assert_eq!(lists.usd_per_hour("t2a-standard-8", "us-central1"), Some(MicroUsd(308_000)));
        assert_eq!(lists.usd_per_hour("t2a-standard-8", "us-west-2"), None);
        assert_eq!(lists.usd_per_gb_month("gp2", "ap-southeast-1"), Some(MicroUsd(120_000)));
        assert_eq!((lists.volume_iops("gp3", 500), lists.volume_iops("tape", 1)), (Some(3000), None));
        assert_eq!([33, 50, 1000, 10_000].map(|gb| lists.volume_iops("gp2", gb)), [100, 150, 3000, 16_000].map(Some));
        let mib_s = |kind, gb| lists.volume(kind).next().unwrap().mib_s_of(gb);
        let rate = |baseline, burst| Rate { baseline: Some(baseline), burst };
        assert_eq!([50, 170].map(|gb| mib_s("gp2", gb)), [rate(128, None); 2]);
        assert_eq!([171, 333].map(|gb| mib_s("gp2", gb)), [rate(128, Some(250)); 2]);
        assert_eq!([334, 16_000].map(|gb| mib_s("gp2", gb)), [rate(250, None); 2]);
        assert_eq!((mib_s("gp3", 50), mib_s("pd-ssd", 50)), (rate(125, None), Rate::default()));
    }

    #[test]
    fn a_study_learns_what_its_machines_and_volumes_can_do() {
        let text = r#"
        schema = 1
        name = "s"
        [[contender]]
        name = "a"
        node = [{ role = "db", instance = "c6g.large", volumes = [{ kind = "gp2", size_gb = 200 }, { kind = "tape", size_gb = 1 }] }]
        [[workload]]
        name = "w"
        kind = "sysbench"
        [sweep]
        connections = [1]
        duration = "1m"
        trials = 3
        "#;
        let mut study = Study::read("s.toml", text, &[]).unwrap();
        let name = Located { value: "aws-2021-03".to_owned(), line: 1 };
        Lists(vec![find(&name, "`price.snapshot`", "s.toml").unwrap()]).describe_machines(&mut study);
        let node = &study.contenders[0].nodes[0];
        assert_eq!(node.machine.as_ref().unwrap().rates.network_mbit_s.baseline, Some(750));
        let mib_s = Rate { baseline: Some(128), burst: Some(250) };
        assert_eq!(node.volumes[0].included, Some(Included { unit: "GB".into(), iops: Some(600), mib_s }));
        assert_eq!(node.volumes[1].included, None);
    }
}
