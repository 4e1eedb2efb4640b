//! Whether trials ran on the machines that their study declares: the one rule for declared against observed.
//!
//! A fact that a source does not tell contradicts nothing, and neither does a machine that the price list does not describe.

use std::collections::BTreeMap;

use super::{Remark, deployed_otherwise};
use crate::run_record::{Observed, RunRecord, arch, machine_text};
use crate::study::{Contender, Machine, Node, Study};

/// What a system sees of an instance's memory, as shares of it: firmware and kernel keep a part, and lists mix GB with GiB.
const MEMORY_SEEN: (f64, f64) = (0.75, 1.05);

/// What a file system has of its volume, as shares of it: it keeps a part for itself, and lists mix GB with GiB.
const VOLUME_SEEN: (f64, f64) = (0.9, 1.08);
const BYTES_PER_GB: f64 = 1e9;

/// What contradicts the declared machines of a contender, in words; `None` where nothing does.
pub fn other_machine(study: &Study, contender: &str, observed: &[Observed]) -> Option<String> {
    let declared = declared(study, contender)?;
    let nodes: Vec<&Node> = declared.nodes.iter().filter(|n| n.priced).collect();
    let stated = declared.arch.as_deref().and_then(arch);
    let mut contradicted: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for seen in observed {
        // A part of a cluster runs on the machines of its name, where the study has any of that name.
        let of_role: Vec<&Node> = declared.nodes.iter().filter(|n| Some(&n.role) == seen.role.as_ref()).collect();
        let own = if of_role.is_empty() { &nodes } else { &of_role };
        let copies = declared.replication_factor.zip(seen.copies).filter(|(wanted, copies)| wanted != copies);
        let copies = copies.map(|(wanted, _)| format!("`replication_factor = {wanted}`"));
        if let Some(wanted) = copies.or_else(|| contradicts(own, stated, seen)) {
            contradicted.entry(wanted).or_default().push(format!("{} (by {})", seen.text(), seen.source));
        }
    }
    let all: Vec<String> = contradicted
        .into_iter()
        .map(|(wanted, seen)| format!("declared as {wanted}, and run on {}", seen.join(" and ")))
        .collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// What was declared, where what was seen contradicts it.
fn contradicts(nodes: &[&Node], stated: Option<&str>, seen: &Observed) -> Option<String> {
    if let Some(count) = seen.machines {
        let declared: u32 = nodes.iter().filter(|n| Some(&n.role) == seen.role.as_ref()).map(|n| n.count).sum();
        return (declared != 0 && declared != count)
            .then(|| format!("{declared} × {}", seen.role.as_deref().unwrap_or_default()));
    }
    if seen.volume_bytes.is_some() {
        return None;
    }
    // A machine that no list describes may be the one that was observed.
    let described = nodes.iter().map(|n| Some((n.instance.as_str(), n.machine.as_ref()?)));
    let machines: Vec<(&str, &Machine)> = described.collect::<Option<_>>().unwrap_or_default();
    let as_stated = same(stated, seen.arch.as_deref());
    if as_stated && (machines.is_empty() || machines.iter().any(|(_, m)| fits(m, seen))) {
        return None;
    }
    let mut wanted: Vec<String> = machines.iter().map(|(name, m)| format!("{name} ({})", m.text())).collect();
    wanted.dedup();
    if wanted.is_empty() {
        wanted.extend(stated.map(str::to_owned));
    }
    Some(wanted.join(" or "))
}

/// That the data lie on a volume of another size than all that a contender is billed for, in words. It contradicts no bill for certain: data
/// may lie on a part of a volume, or on a disk that belongs to the machine.
pub fn other_volume(study: &Study, contender: &str, observed: &[Observed]) -> Option<String> {
    let bytes = observed.iter().find_map(|seen| seen.volume_bytes)?;
    let nodes: Vec<&Node> = declared(study, contender)?.nodes.iter().filter(|n| n.priced).collect();
    let is_it = |gb: u32| (VOLUME_SEEN.0..=VOLUME_SEEN.1).contains(&(bytes as f64 / (f64::from(gb) * BYTES_PER_GB)));
    let together = |node: &Node| node.volumes.iter().map(|v| v.size_gb.saturating_mul(v.count)).fold(0, u32::saturating_add);
    if nodes.iter().any(|node| is_it(together(node)) || node.volumes.iter().any(|v| is_it(v.size_gb))) {
        return None;
    }
    let mut all: Vec<String> = nodes.iter().flat_map(|n| &n.volumes).map(|v| format!("{} of {} GB", v.kind, v.size_gb)).collect();
    all.dedup();
    let on = format!("{:.0} GB", bytes as f64 / 1e9);
    (!all.is_empty()).then(|| format!("its data lie on a file system of {on}, and its bill has {}", all.join(" and ")))
}

/// Whether a study says anything about the machines of a contender that could be contradicted.
pub fn declares_machine(study: &Study, contender: &str) -> bool {
    declared(study, contender).is_some_and(|c| {
        c.arch.is_some() || c.replication_factor.is_some() || c.nodes.iter().any(|n| n.priced && n.machine.is_some())
    })
}

/// The trials that ran on other machines than their contender declares, by what contradicts it.
pub fn other_machines(study: &Study, records: &[RunRecord]) -> Vec<Remark> {
    let mut found: BTreeMap<String, Remark> = BTreeMap::new();
    for record in records {
        let of_cluster = record.target.deployed.iter().flat_map(|seen| deployed_otherwise(study, &record.key.contender, seen));
        let all = other_machine(study, &record.key.contender, &record.target.observed).into_iter().chain(of_cluster);
        let text = all.collect::<Vec<_>>().join("; ");
        if text.is_empty() {
            continue;
        }
        let first = || Remark { text: text.clone(), flag: None, trials: 0, example: record.key.path() };
        found.entry(text.clone()).or_insert_with(first).trials += 1;
    }
    found.into_values().collect()
}

/// The same for a reader: a study that is notional says so, whatever was observed.
pub(super) fn remarks(study: &Study, records: &[RunRecord]) -> Vec<Remark> {
    let mut remarks = other_machines(study, records);
    let Some(first) = records.first().filter(|_| study.notional) else { return remarks };
    remarks.iter_mut().for_each(|r| r.text = format!("notional: {}", r.text));
    if remarks.is_empty() {
        let text = "notional: by the study its trials did not run on the machines that it declares".to_owned();
        remarks.push(Remark { text, flag: None, trials: records.len(), example: first.key.path() });
    }
    remarks
}

/// The contender whose machines count: a control runs on those of what it repeats.
pub(super) fn declared<'s>(study: &'s Study, contender: &str) -> Option<&'s Contender> {
    let own = study.contender(contender)?;
    own.control_of.as_deref().map_or(Some(own), |of| study.contender(of))
}

fn fits(machine: &Machine, seen: &Observed) -> bool {
    // Instances may be started without hyper-threads.
    let cores = machine.vcpus_per_core.filter(|n| *n > 0).map(|n| machine.vcpus / n);
    let memory = |bytes: u64| (MEMORY_SEEN.0..=MEMORY_SEEN.1).contains(&(bytes as f64 / machine.memory_bytes as f64));
    same(arch(&machine.arch), seen.arch.as_deref())
        && seen.vcpus.is_none_or(|n| n == machine.vcpus || Some(n) == cores)
        && seen.memory_bytes.is_none_or(memory)
}

/// Whether two words may be of one architecture; an absent one is of any.
fn same(declared: Option<&str>, seen: Option<&str>) -> bool {
    declared.zip(seen).is_none_or(|(a, b)| a == b)
}

impl Machine {
    /// In words: `aarch64, 4 vCPU, 16 GiB`.
    pub fn text(&self) -> String {
        machine_text(Some(&self.arch), Some(self.vcpus), Some(self.memory_bytes))
    }
}
