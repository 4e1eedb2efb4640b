//! What the bill of a study promises of disks, beside what one did.

use std::path::Path;

use perbuck_core::study::{Contender, Node, Study, Volume};
use perbuck_core::units::thousands;
use serde::Serialize;

use super::Ceilings;
use crate::error::LabError;
use crate::inputs;
use crate::registry::Registry;

/// Operations of 16 KiB in a MiB.
const IN_MIB: u32 = 64;

/// What a volume of a bill has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Promise {
    /// Contender and role: `arm tikv`.
    pub of: String,
    /// The volume: `gp3 of 1000 GB`.
    pub volume: String,
    /// Operations per second that are paid for; absent where the price list does not say.
    pub iops: Option<u32>,
    /// Throughput that is paid for, in MiB/s; absent likewise.
    pub mib_s: Option<u32>,
}

/// What the volumes of a study have, each kind of a role once; and what their machines do not carry of it.
///
/// # Errors
/// Every problem of the study.
pub fn promises(study: &Path) -> Result<(Vec<Promise>, Vec<String>), LabError> {
    let inputs = inputs::read((study, &Default::default()), None, Registry::default())?;
    let beyond = inputs.study.contenders.iter().flat_map(Contender::volumes_beyond_machines).collect();
    Ok((of(&inputs.study), beyond))
}

fn of(study: &Study) -> Vec<Promise> {
    let promise = |name: &str, node: &Node, volume: &Volume| {
        let included = volume.included.as_ref();
        Promise {
            of: format!("{name} {}", node.role),
            volume: format!("{} of {} GB", volume.kind, volume.size_gb),
            iops: volume.iops.or(included.and_then(|included| included.iops)),
            mib_s: volume.throughput_mib_s.or(included.and_then(|included| included.mib_s.baseline)),
        }
    };
    let all = study.contenders.iter().flat_map(|contender| contender.nodes.iter().map(move |node| (&contender.name, node)));
    all.flat_map(|(name, node)| node.volumes.iter().map(move |volume| promise(name, node, volume))).collect()
}

impl Promise {
    /// What is paid for, and which part of it a disk did.
    pub fn line(&self, found: &Ceilings) -> String {
        let (of, volume) = (&self.of, &self.volume);
        let iops = self.iops.map(|n| format!("{} IOPS", thousands(n.into())));
        let words: Vec<String> = iops.into_iter().chain(self.mib_s.map(|n| format!("{} MiB/s", thousands(n.into())))).collect();
        // What limits operations of 16 KiB.
        let limits = [self.iops, self.mib_s.map(|n| n.saturating_mul(IN_MIB))];
        let Some(limit) = limits.into_iter().flatten().min() else {
            return format!("{of}: {volume}; the price list does not say what it does");
        };
        let part = |iops: f64| format!("{:.0} %", 100.0 * iops / f64::from(limit.max(1)));
        let (reads, writes) = (part(found.reads.iops), part(found.writes.iops));
        format!("{of}: {volume} has {}; of what that is in 16 KiB, reads did {reads}, writes {writes}", words.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Ceiling;
    use super::*;

    #[test]
    fn a_part_is_of_what_limits_first() {
        let one = |iops| Ceiling { iops, mib_s: iops / 64.0, p50_us: 1.0, p99_us: 2.0 };
        let found = Ceilings {
            folder: "/data".into(),
            fio: "fio-3.33".into(),
            file_bytes: 1,
            reads: one(3000.0),
            writes: one(1500.0),
            syncs: one(1.0),
        };
        let promise = Promise { of: "arm db".into(), volume: "gp3 of 500 GB".into(), iops: Some(3000), mib_s: Some(125) };
        let said = "arm db: gp3 of 500 GB has 3,000 IOPS and 125 MiB/s; of what that is in 16 KiB, reads did 100 %, writes 50 %";
        assert_eq!(promise.line(&found), said);
        // 16,000 operations of 16 KiB are 250 MiB/s.
        let narrow = Promise { iops: Some(16_000), ..promise.clone() };
        assert!(narrow.line(&found).ends_with("reads did 38 %, writes 19 %"), "{}", narrow.line(&found));
        let unknown = Promise { iops: None, mib_s: None, ..promise };
        assert!(unknown.line(&found).ends_with("the price list does not say what it does"));
    }
}
