//! What looks wrong in a price list although it can be read.
//!
//! Public lists are wrong often enough to turn a comparison: one shows, on some days, the dedicated-tenancy price of
//! single sizes. Within a family a price per vCPU is the same for each size, so such a row stands out.

use std::collections::BTreeMap;

use perbuck_core::units::unit_price_text;

use crate::snapshot::{Instance, Region, Snapshot};

/// Prices per vCPU of one family may differ by this much; sizes of some clouds round memory, and lists round prices.
const TOLERANCE: f64 = 0.012;

/// What dedicated tenancy costs against shared tenancy, by generation, and how near a ratio must come to be told as such.
const DEDICATED: [f64; 2] = [1.06, 1.10];
const DEDICATED_TOLERANCE: f64 = 0.005;

/// Something that a person should look into; not an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Line of the row in the snapshot file.
    pub line: usize,
    /// What looks wrong, naming the machine and the region.
    pub message: String,
}

/// All warnings of a snapshot, in the order of its regions and families.
pub fn lint(snapshot: &Snapshot) -> Vec<Warning> {
    snapshot.regions.iter().flat_map(lint_region).collect()
}

fn lint_region(region: &Region) -> Vec<Warning> {
    let mut families: BTreeMap<&str, Vec<&Instance>> = BTreeMap::new();
    for instance in &region.instances {
        families.entry(&instance.machine.family).or_default().push(instance);
    }
    families.values_mut().flat_map(|family| lint_family(region, family)).collect()
}

/// Compares each size with the median one; of two sizes the cheaper stands for both, as too dear is the usual error.
fn lint_family(region: &Region, family: &mut [&Instance]) -> Vec<Warning> {
    family.sort_by(|a, b| per_vcpu(a).total_cmp(&per_vcpu(b)));
    let typical = family[(family.len() - 1) / 2];
    let mut warnings = Vec::new();
    for instance in family.iter() {
        let ratio = per_vcpu(instance) / per_vcpu(typical);
        if (ratio - 1.0).abs() <= TOLERANCE {
            continue;
        }
        let twin = DEDICATED.iter().find(|d| (ratio - **d).abs() <= DEDICATED_TOLERANCE);
        let guess = twin.map(|d| format!("; {d:.2} twin: the price of dedicated tenancy?")).unwrap_or_default();
        let message = format!(
            "{} `{}` at {} is {ratio:.3} times as dear per vCPU as `{}` at {}{guess}",
            region.name,
            instance.machine.name,
            unit_price_text(instance.usd_per_hour),
            typical.machine.name,
            unit_price_text(typical.usd_per_hour),
        );
        warnings.push(Warning { line: instance.line, message });
    }
    warnings
}

fn per_vcpu(instance: &Instance) -> f64 {
    instance.usd_per_hour.as_usd_f64() / f64::from(instance.machine.vcpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings(large: &str, xlarge: &str) -> Vec<Warning> {
        let text = format!(
            "schema = 1\nname = \"t\"\nprovider = \"aws\"\nas_of = \"2024-08\"\ncurrency = \"USD\"\ncapacity_unit = \"GB\"\n\
             [sources]\ns = \"a test\"\n\
             [[family]]\nname = \"c6g\"\narch = \"aarch64\"\ncpu = \"Graviton2\"\n\
             size = [{{ type = \"c6g.large\", vcpu = 2, memory_gib = 4 }},\n\
             {{ type = \"c6g.2xlarge\", vcpu = 8, memory_gib = 16 }}]\n\
             [[region]]\nname = \"us-west-2\"\ndate = \"2024-08\"\nsource = \"s\"\ninstance = [\n\
             {{ type = \"c6g.large\", usd_per_hour = {large} }},\n{{ type = \"c6g.2xlarge\", usd_per_hour = {xlarge} }},\n]\n"
        );
        lint(&Snapshot::read("t.toml", &text).unwrap())
    }

    #[test]
    fn a_dedicated_price_beside_a_shared_one_is_told() {
        let found = warnings("0.0721", "0.272");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].line, 20);
        assert!(found[0].message.contains("`c6g.large`") && found[0].message.contains("1.06 twin"), "{found:?}");
        assert!(warnings("0.068", "0.2992")[0].message.contains("1.10 twin"));
    }

    #[test]
    fn sizes_that_scale_pass_and_others_do_not() {
        assert!(warnings("0.068", "0.272").is_empty());
        assert!(warnings("0.068", "0.275").is_empty());
        let found = warnings("0.068", "0.32");
        assert!(found.len() == 1 && !found[0].message.contains("twin"), "{found:?}");
    }
}
