//! What looks wrong in a price list although it can be read.
//!
//! Public lists are wrong often enough to turn a comparison: one shows, on some days, the dedicated-tenancy price of
//! single sizes; others let the price of Windows through. Within a family a price follows vCPU and memory, so such a row stands out.

use std::collections::BTreeMap;

use perbuck_core::units::unit_price_text;

use crate::snapshot::{Doubt, Instance, Region, Snapshot};

/// Prices within a family may differ by this much from what their sizes say; some clouds round memory, and lists round prices.
const TOLERANCE: f64 = 0.012;

/// What dedicated tenancy costs against shared tenancy, by generation, and how near a ratio must come to be told as such.
const DEDICATED: [f64; 2] = [1.06, 1.10];
const DEDICATED_TOLERANCE: f64 = 0.005;

/// What a Windows licence adds to each vCPU and hour, on every cloud that sells it so.
const WINDOWS_USD_PER_VCPU: f64 = 0.046;
/// A machine of the same size and series costs this much more at least where a licence is suspected, …
const WINDOWS_MARKUP: f64 = 1.25;
/// … and without the licence it is this near to its sibling.
const SIBLING_TOLERANCE: f64 = 0.12;

/// Two lists agree about a price within this much (TPC-Pricing's limit).
const AGREEMENT: f64 = 0.02;

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The price is that of dedicated tenancy.
    Dedicated,
    /// The price holds a Windows licence.
    Windows,
    /// The price does not follow the size.
    NotLinear,
    /// Another list has another price, and the row does not say so.
    Disagrees,
    /// The row says itself that another list has another price. No fault.
    Disputed,
}

impl Rule {
    /// The word for it in the output.
    pub fn word(self) -> &'static str {
        match self {
            Self::Dedicated => "dedicated",
            Self::Windows => "windows",
            Self::NotLinear => "not-linear",
            Self::Disagrees => "disagrees",
            Self::Disputed => "disputed",
        }
    }

    /// Whether the list should not be used before a person looked into it.
    pub fn is_fault(self) -> bool {
        self != Self::Disputed
    }
}

/// Something that a person should look into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Line of the row in the snapshot file.
    pub line: usize,
    /// What it is about.
    pub rule: Rule,
    /// What looks wrong, naming the machine and the region.
    pub message: String,
}

/// All findings of a snapshot, in the order of its lines. That every price is above zero, reading has checked.
pub fn lint(snapshot: &Snapshot) -> Vec<Finding> {
    let mut findings: Vec<Finding> = snapshot.regions.iter().flat_map(lint_region).collect();
    findings.sort_by_key(|f| f.line);
    findings
}

/// The rows of `snapshot` whose price another list has otherwise, where they are not marked as disputed.
pub fn disagreements(snapshot: &Snapshot, other: &Snapshot) -> Vec<Finding> {
    let mut findings = Vec::new();
    for region in &snapshot.regions {
        for here in &region.instances {
            let Some(there) = other.region(&region.name).and_then(|r| r.instance(&here.machine.name)) else { continue };
            let ratio = here.usd_per_hour.as_usd_f64() / there.usd_per_hour.as_usd_f64();
            if (ratio - 1.0).abs() <= AGREEMENT || matches!(here.origin.doubt, Some(Doubt::Disputed(_))) {
                continue;
            }
            let theirs = unit_price_text(there.usd_per_hour);
            let message = format!("{} is {ratio:.3} times the {theirs} of {}", named(region, here), other.name);
            findings.push(Finding { line: here.line, rule: Rule::Disagrees, message });
        }
    }
    findings
}

fn lint_region(region: &Region) -> Vec<Finding> {
    let mut families: BTreeMap<&str, Vec<&Instance>> = BTreeMap::new();
    for instance in &region.instances {
        families.entry(&instance.machine.family).or_default().push(instance);
    }
    let mut findings: Vec<Finding> = families.values_mut().flat_map(|family| lint_family(region, family)).collect();
    for instance in &region.instances {
        if !findings.iter().any(|f| f.line == instance.line) {
            findings.extend(windows_beside_sibling(region, instance));
        }
        if let Some(Doubt::Disputed(other)) = instance.origin.doubt {
            let message = format!("{}; another list says {}", named(region, instance), unit_price_text(other));
            findings.push(Finding { line: instance.line, rule: Rule::Disputed, message });
        }
    }
    findings
}

/// Compares each size with the median one; of two sizes the cheaper stands for both, as too dear is the usual error.
fn lint_family(region: &Region, family: &mut [&Instance]) -> Vec<Finding> {
    family.sort_by(|a, b| per_vcpu(a).total_cmp(&per_vcpu(b)));
    let typical = family[(family.len() - 1) / 2];
    let mut findings = Vec::new();
    for instance in family.iter() {
        let off = times_too_dear(usd(instance), instance, typical);
        if (off - 1.0).abs() <= TOLERANCE {
            continue;
        }
        let licence = WINDOWS_USD_PER_VCPU * f64::from(instance.machine.vcpu);
        let without = times_too_dear(usd(instance) - licence, instance, typical);
        let twin = DEDICATED.iter().find(|d| (off - **d).abs() <= DEDICATED_TOLERANCE);
        let (rule, guess) = match twin {
            Some(d) => (Rule::Dedicated, format!("{d:.2} twin: the price of dedicated tenancy?")),
            None if (without - 1.0).abs() <= TOLERANCE => (Rule::Windows, format!("+{WINDOWS_USD_PER_VCPU} per vCPU: Windows?")),
            None => (Rule::NotLinear, "the price does not follow the size".to_owned()),
        };
        let beside = format!("`{}` at {}", typical.machine.name, unit_price_text(typical.usd_per_hour));
        let message = format!("{} is {off:.3} times what it would be beside {beside}; {guess}", named(region, instance));
        findings.push(Finding { line: instance.line, rule, message });
    }
    findings
}

/// How far a price lies outside of what the sizes allow: it grows with vCPU and with memory, so it lies between the two.
fn times_too_dear(usd_per_hour: f64, instance: &Instance, typical: &Instance) -> f64 {
    let price = usd_per_hour / usd(typical);
    let vcpu = f64::from(instance.machine.vcpu) / f64::from(typical.machine.vcpu);
    let memory = instance.machine.memory_gib / typical.machine.memory_gib;
    price / price.clamp(vcpu.min(memory), vcpu.max(memory))
}

/// A whole family, or its only size, can hold the licence; then a family of the same series and size tells it.
fn windows_beside_sibling(region: &Region, instance: &Instance) -> Option<Finding> {
    let m = &instance.machine;
    let same_size = |s: &&Instance| {
        let o = &s.machine;
        o.family != m.family
            && o.arch == m.arch
            && o.vcpu == m.vcpu
            && o.memory_gib == m.memory_gib
            && series(&o.family) == series(&m.family)
    };
    let without = usd(instance) - WINDOWS_USD_PER_VCPU * f64::from(m.vcpu);
    let leak = |s: &&Instance| usd(instance) > WINDOWS_MARKUP * usd(s) && (without / usd(s) - 1.0).abs() <= SIBLING_TOLERANCE;
    let sibling = region.instances.iter().filter(same_size).find(leak)?;
    let beside = format!("`{}` at {}", sibling.machine.name, unit_price_text(sibling.usd_per_hour));
    let message = format!("{} beside {beside}; +{WINDOWS_USD_PER_VCPU} per vCPU: Windows?", named(region, instance));
    Some(Finding { line: instance.line, rule: Rule::Windows, message })
}

/// What families have in common that are built for the same: `m5` of m5 and m5a, `Standard_E` and `v5` of Standard_E*as_v5.
fn series(family: &str) -> (String, &str) {
    if let Some((size, version)) = family.rsplit_once('_').filter(|_| family.contains('*')) {
        return (size.split('*').next().unwrap_or(size).to_owned(), version);
    }
    let end = family
        .find(|c: char| c.is_ascii_digit())
        .map_or(family.len(), |at| at + family[at..].chars().take_while(char::is_ascii_digit).count());
    (family[..end].to_owned(), "")
}

fn named(region: &Region, instance: &Instance) -> String {
    format!("{} `{}` at {}", region.name, instance.machine.name, unit_price_text(instance.usd_per_hour))
}

fn usd(instance: &Instance) -> f64 {
    instance.usd_per_hour.as_usd_f64()
}

fn per_vcpu(instance: &Instance) -> f64 {
    usd(instance) / f64::from(instance.machine.vcpu)
}

#[cfg(test)]
mod tests;
