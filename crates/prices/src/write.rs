//! From a snapshot to the text of its file. What is written reads back as it was, but for the lines of the rows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use perbuck_core::units::{MicroUsd, unit_price_text};

use crate::snapshot::{
    Commitment, Doubt, Instance, Listed, Machine, Missing, Origin, Rate, Region, Snapshot, ThroughputStep, Tier, VolumePrice,
};

/// The text of a snapshot file. Families and their sizes come in the order of their first price.
pub(crate) fn write(snapshot: &Snapshot) -> String {
    let sources = sources(snapshot);
    let [name, provider, as_of, unit] =
        [&snapshot.name, &snapshot.provider, &snapshot.as_of, &snapshot.capacity_unit].map(|text| quoted(text));
    let mut out = format!("schema = 1\nname = {name}\nprovider = {provider}\nas_of = {as_of}\n");
    out += &format!("currency = \"USD\"\ncapacity_unit = {unit}\n");
    out += &listed_rows(&snapshot.listed, &sources);
    if !snapshot.missing.is_empty() {
        let row = |m: &Missing| {
            format!("  {{ region = {}, name = {}, why = {} }},\n", quoted(&m.region), quoted(&m.name), quoted(&m.why))
        };
        let rows: Vec<String> = snapshot.missing.iter().map(row).collect();
        let _ = write!(out, "\nmissing = [\n{}]\n", rows.concat());
    }
    out += &source_lines(&sources);
    out += &families(snapshot);
    for region in &snapshot.regions {
        out += &one_region(region, &sources);
    }
    out
}

/// The rows of a list as an overlay over the bundled list `base`, to start a file of one's own from.
pub fn overlay_of(snapshot: &Snapshot, base: &str) -> String {
    let sources = sources(snapshot);
    let mut out = format!("schema = 1\nbase = {}\nas_of = {}\n", quoted(base), quoted(&snapshot.as_of));
    out += &listed_rows(&snapshot.listed, &sources);
    out += &source_lines(&sources);
    for region in snapshot.regions.iter().filter(|r| r.origins().next().is_some()) {
        out += &one_region(region, &sources);
    }
    out
}

fn listed_rows(all: &[Listed], sources: &BTreeMap<&str, String>) -> String {
    if all.is_empty() {
        return String::new();
    }
    let rows: Vec<String> = all.iter().map(|l| format!("  {},\n", listed(l, sources))).collect();
    format!("\nlisted = [\n{}]\n", rows.concat())
}

fn source_lines(sources: &BTreeMap<&str, String>) -> String {
    let lines: Vec<String> = sources.iter().map(|(source, id)| format!("{id} = {}\n", quoted(source))).collect();
    format!("\n[sources]\n{}", lines.concat())
}

/// Short ids of the sources, in the order of their text.
fn sources(snapshot: &Snapshot) -> BTreeMap<&str, String> {
    let texts: BTreeSet<&str> = snapshot.origins().map(|o| o.source.as_str()).collect();
    texts.into_iter().enumerate().map(|(i, text)| (text, format!("list-{}", i + 1))).collect()
}

fn families(snapshot: &Snapshot) -> String {
    let mut families: Vec<(&str, Vec<&Machine>)> = Vec::new();
    for machine in snapshot.regions.iter().flat_map(|r| &r.instances).map(|i| &i.machine) {
        match families.iter_mut().find(|(name, _)| *name == machine.family) {
            Some((_, sizes)) if sizes.iter().any(|m| m.name == machine.name) => {}
            Some((_, sizes)) => sizes.push(machine),
            None => families.push((&machine.family, vec![machine])),
        }
    }
    let mut out = String::new();
    for (family, machines) in families {
        let first = machines[0];
        let _ = write!(out, "\n[[family]]\nname = {}\narch = {}\n", quoted(family), quoted(&first.arch));
        let _ = writeln!(out, "cpu = {}", quoted(&first.cpu));
        if let Some(n) = first.vcpu_per_core {
            let _ = writeln!(out, "vcpu_per_core = {n}");
        }
        let rows: Vec<String> = machines.iter().map(|m| format!("  {},\n", size(m))).collect();
        let _ = write!(out, "size = [\n{}]\n", rows.concat());
    }
    out
}

fn size(m: &Machine) -> String {
    let mut keys = vec![format!("type = {}, vcpu = {}, memory_gib = {}", quoted(&m.name), m.vcpu, m.memory_gib)];
    let mut rate = |rate: Rate, baseline: &str, burst: &str| {
        keys.extend(rate.baseline.map(|n| format!("{baseline} = {n}")));
        keys.extend(rate.burst.map(|n| format!("{burst} = {n}")));
    };
    rate(m.rates.network_mbit_s, "network_mbit_s", "network_burst_mbit_s");
    rate(m.rates.volume_mbit_s, "volume_mbit_s", "volume_burst_mbit_s");
    rate(m.rates.volume_iops, "volume_iops", "volume_burst_iops");
    format!("{{ {} }}", keys.join(", "))
}

fn one_region(region: &Region, sources: &BTreeMap<&str, String>) -> String {
    let mut out = format!("\n[[region]]\nname = {}\n", quoted(&region.name));
    // What most rows have in common is said once; a region without machines takes it from its volumes.
    let common = region.instances.first().map(|i| &i.origin);
    let common =
        common.or(region.volumes.first().map(|v| &v.capacity.origin)).or(region.volume_snapshot.as_ref().map(|s| &s.origin));
    let Some(common) = common else { return out };
    let _ = writeln!(out, "date = {}\nsource = {}", quoted(&common.date), quoted(&sources[common.source.as_str()]));
    if !region.instances.is_empty() {
        let rows: Vec<String> = region.instances.iter().map(|i| format!("  {},\n", instance(i, common, sources))).collect();
        let _ = write!(out, "instance = [\n{}]\n", rows.concat());
    }
    for volume in &region.volumes {
        out += &one_volume(volume, common, sources);
    }
    if let Some(price) = &region.volume_snapshot {
        let _ = writeln!(out, "\n[region.volume_snapshot]\nusd_per_gb_month = {}", usd(price.usd_per_gb_month));
        out += &lines(&origin(&price.origin, Some(common), sources));
    }
    out
}

fn instance(i: &Instance, common: &Origin, sources: &BTreeMap<&str, String>) -> String {
    let mut keys = vec![format!("type = {}", quoted(&i.machine.name)), format!("usd_per_hour = {}", usd(i.usd_per_hour))];
    keys.extend(i.listed_usd.as_ref().map(|listed| format!("listed_usd = {}", quoted(listed))));
    keys.extend(i.spot_usd_per_hour.map(|spot| format!("spot_usd_per_hour = {}", usd(spot))));
    if !i.commitments.is_empty() {
        let all: Vec<String> = i.commitments.iter().map(commitment).collect();
        keys.push(format!("commitment = [{}]", all.join(", ")));
    }
    keys.extend(origin(&i.origin, Some(common), sources));
    format!("{{ {} }}", keys.join(", "))
}

fn commitment(c: &Commitment) -> String {
    let mut keys = vec![format!("name = {}, months = {}", quoted(&c.name), c.months)];
    if c.upfront > MicroUsd(0) {
        keys.push(format!("upfront_usd = {}", usd(c.upfront)));
    }
    if c.usd_per_hour > MicroUsd(0) {
        keys.push(format!("usd_per_hour = {}", usd(c.usd_per_hour)));
    }
    format!("{{ {} }}", keys.join(", "))
}

fn one_volume(v: &VolumePrice, common: &Origin, sources: &BTreeMap<&str, String>) -> String {
    let mut keys =
        vec![format!("kind = {}", quoted(&v.kind)), format!("usd_per_gb_month = {}", usd(v.capacity.usd_per_gb_month))];
    if !v.includes.is_empty() {
        keys.push(format!("includes = {}", quoted(&v.includes)));
    }
    if let Some(iops) = v.iops {
        keys.push(format!("included_iops = {}\nusd_per_iops_month = {}", iops.included, usd(iops.usd_per_month)));
        keys.extend(iops.priced_up_to.map(|top| format!("iops_priced_up_to = {top}")));
    }
    if !v.iops_tiers.is_empty() {
        keys.push(format!("iops_tier = [{}]", tiers(&v.iops_tiers)));
    }
    if let Some(rate) = v.throughput {
        keys.push(format!("included_mib_s = {}\nusd_per_mib_s_month = {}", rate.included, usd(rate.usd_per_month)));
    }
    let l = v.limits;
    let limits = [
        ("size_gb_min", l.size_gb_min),
        ("size_gb_max", l.size_gb_max),
        ("iops_per_gb", l.iops_per_gb),
        ("iops_min", l.iops_min),
        ("iops_max", l.iops_max),
        ("mib_s_max", l.mib_s_max),
    ];
    keys.extend(limits.iter().filter_map(|(key, n)| n.map(|n| format!("{key} = {n}"))));
    if !v.throughput_steps.is_empty() {
        let steps: Vec<String> = v.throughput_steps.iter().map(throughput_step).collect();
        keys.push(format!("mib_s_by_size = [{}]", steps.join(", ")));
    }
    keys.extend(origin(&v.capacity.origin, Some(common), sources));
    format!("\n[[region.volume]]\n{}", lines(&keys))
}

fn throughput_step(step: &ThroughputStep) -> String {
    let rate = step.mib_s;
    let burst = rate.burst.map(|n| format!(", burst_mib_s = {n}")).unwrap_or_default();
    format!("{{ above = {}, mib_s = {}{burst} }}", step.above_gb, rate.baseline.unwrap_or_default())
}

fn listed(l: &Listed, sources: &BTreeMap<&str, String>) -> String {
    let mut keys = vec![
        format!("region = {}, item = {}, kind = {}", quoted(&l.region), quoted(&l.item), quoted(l.kind.word())),
        format!("unit = {}, usd = {}", quoted(&l.unit), usd(l.usd)),
    ];
    if !l.tiers.is_empty() {
        keys.push(format!("tier = [{}]", tiers(&l.tiers)));
    }
    if !l.note.is_empty() {
        keys.push(format!("note = {}", quoted(&l.note)));
    }
    keys.extend(origin(&l.origin, None, sources));
    format!("{{ {} }}", keys.join(", "))
}

fn tiers(tiers: &[Tier]) -> String {
    let all: Vec<String> = tiers.iter().map(|t| format!("{{ above = {}, usd = {} }}", t.above, usd(t.usd))).collect();
    all.join(", ")
}

/// The keys of an origin that differ from those of the region.
fn origin(o: &Origin, common: Option<&Origin>, sources: &BTreeMap<&str, String>) -> Vec<String> {
    let mut keys = Vec::new();
    if common.is_none_or(|c| c.date != o.date) {
        keys.push(format!("date = {}", quoted(&o.date)));
    }
    if common.is_none_or(|c| c.source != o.source) {
        keys.push(format!("source = {}", quoted(&sources[o.source.as_str()])));
    }
    match o.doubt {
        None => {}
        Some(Doubt::Inferred) => keys.push("mark = \"inferred\"".to_owned()),
        Some(Doubt::Disputed(other)) => keys.push(format!("disputed_usd = {}", usd(other))),
    }
    keys
}

fn lines(keys: &[String]) -> String {
    keys.iter().map(|key| format!("{key}\n")).collect()
}

/// Dollars as digits, exact.
fn usd(price: MicroUsd) -> String {
    unit_price_text(price).replace(['$', ','], "")
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::catalogue;
    use proptest::prelude::*;

    /// The same without the lines, which a rewritten file has elsewhere.
    pub(crate) fn without_lines(mut snapshot: Snapshot) -> Snapshot {
        for region in &mut snapshot.regions {
            region.instances.iter_mut().for_each(|i| i.line = 0);
            region.volumes.iter_mut().for_each(|v| v.line = 0);
        }
        snapshot.listed.iter_mut().for_each(|l| l.line = 0);
        snapshot
    }

    #[test]
    fn every_bundled_snapshot_reads_back_as_it_was() {
        for b in catalogue() {
            let before = Snapshot::read(b.name, b.text).unwrap();
            let after = Snapshot::read(b.name, &write(&before)).unwrap();
            assert_eq!(without_lines(after), without_lines(before), "{}", b.name);
        }
    }

    proptest! {
        #[test]
        fn any_text_reads_back(text in "\\PC{1,40}[\u{0}-\u{20}\"\\\\]{0,5}x") {
            let b = catalogue()[0];
            let mut before = Snapshot::read(b.name, b.text).unwrap();
            before.name.clone_from(&text);
            before.regions[0].instances[0].origin.source.clone_from(&text);
            let after = Snapshot::read(b.name, &write(&before)).unwrap();
            prop_assert_eq!(without_lines(after), without_lines(before));
        }
    }
}
