//! What the bundled lists cover: that they are complete for what they name, and that `docs/prices.md` says what they hold and lack.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use perbuck_core::toml_reader::TomlFile;

use crate::catalogue::{Bundled, catalogue};
use crate::snapshot::{FeeKind, Instance, Region, Snapshot};

/// The families of a list with their sizes, as its file has them, priced or not.
fn families(b: &Bundled) -> Vec<(String, Vec<String>)> {
    let file = TomlFile::parse(b.name, b.text.to_owned()).unwrap();
    let root = file.root();
    let sizes =
        |f: &perbuck_core::toml_reader::Section<'_>| f.tables("size").iter().map(|s| s.text("type").unwrap().value).collect();
    root.tables("family").iter().map(|f| (f.text("name").unwrap().value, sizes(f))).collect()
}

fn kinds(list: &Snapshot) -> Vec<&str> {
    let mut kinds: Vec<&str> = Vec::new();
    for volume in list.regions.iter().flat_map(|r| &r.volumes) {
        if !kinds.contains(&volume.kind.as_str()) {
            kinds.push(&volume.kind);
        }
    }
    kinds
}

/// What a region does not have and what it has against the list's own word.
fn faults(b: &Bundled, list: &Snapshot) -> Vec<String> {
    let mut faults = Vec::new();
    let mut declared: BTreeSet<(&str, &str)> = list.missing.iter().map(|m| (m.region.as_str(), m.name.as_str())).collect();
    for region in &list.regions {
        let mut look = |name: &str, there: bool, group: &str| match (
            there,
            list.missing.iter().find(|m| m.region == region.name && (m.name == name || m.name == group)),
        ) {
            (true, None) => {}
            (false, Some(m)) => {
                declared.remove(&(m.region.as_str(), m.name.as_str()));
            }
            (false, None) => faults.push(format!("{}: `{name}` has no price in {}", b.name, region.name)),
            (true, Some(_)) => {
                faults.push(format!("{}: `{name}` has a price in {}, and is said to be missing", b.name, region.name));
            }
        };
        for (family, sizes) in families(b) {
            sizes.iter().for_each(|size| look(size, region.instance(size).is_some(), &family));
        }
        kinds(list).iter().for_each(|kind| look(kind, region.volume(kind).is_some(), ""));
        if list.regions.iter().any(|r| r.volume_snapshot.is_some()) {
            look("volume snapshots", region.volume_snapshot.is_some(), "");
        }
    }
    faults.extend(declared.iter().map(|(region, name)| format!("{}: {region} or `{name}` is not in the list", b.name)));
    faults
}

fn read(b: &Bundled) -> Snapshot {
    Snapshot::read(b.name, b.text).unwrap()
}

#[test]
fn every_size_and_every_kind_of_volume_has_a_price_in_every_region_or_the_list_says_why_not() {
    for b in catalogue() {
        assert_eq!(faults(b, &read(b)), [""; 0], "{}", b.name);
    }
}

#[test]
fn a_price_that_is_taken_away_is_found() {
    let b = catalogue().iter().find(|b| b.name == "aws-2026-07").unwrap();
    let mut list = read(b);
    list.regions[0].instances.retain(|i| i.machine.name != "m7g.xlarge");
    list.regions[1].volumes.retain(|v| v.kind != "gp3");
    assert_eq!(
        faults(b, &list),
        ["aws-2026-07: `m7g.xlarge` has no price in us-east-1", "aws-2026-07: `gp3` has no price in us-west-2"]
    );
}

/// Families whose provider leaves a wider step between two sizes than a doubling.
const WIDE_STEPS: [&str; 3] = ["c5", "c3-standard", "c3-highmem"];

#[test]
fn no_family_leaves_out_a_size_in_its_middle() {
    // The list of 2021 has the machines of one published study.
    for b in catalogue().iter().filter(|b| b.name != "aws-2021-03") {
        let list = read(b);
        for (family, sizes) in families(b) {
            let machine = |size: &String| list.regions.iter().find_map(|r| r.instance(size)).unwrap().machine.vcpu;
            let vcpus: BTreeSet<u32> = sizes.iter().map(machine).collect();
            let vcpus: Vec<u32> = vcpus.into_iter().collect();
            assert!(vcpus[0] <= 4, "{}: {family} starts at {} vCPU", b.name, vcpus[0]);
            let wide = vcpus.windows(2).find(|pair| pair[1] > 2 * pair[0]);
            assert_eq!(wide.is_some(), WIDE_STEPS.contains(&family.as_str()), "{}: {family}: {vcpus:?}", b.name);
        }
    }
}

#[test]
fn in_a_region_all_sizes_of_a_family_have_spot_prices_and_commitments_or_none_has() {
    for b in catalogue() {
        let list = read(b);
        for (region, family) in list.regions.iter().flat_map(|r| families(b).into_iter().map(move |f| (r, f.0))) {
            let rows: Vec<&Instance> = region.instances.iter().filter(|i| i.machine.family == family).collect();
            let terms: BTreeSet<Vec<&str>> =
                rows.iter().map(|i| i.commitments.iter().map(|c| c.name.as_str()).collect()).collect();
            assert!(terms.len() <= 1, "{}: {} {family}: {terms:?}", b.name, region.name);
        }
    }
}

/// `from` of `of`, or a word where that is none or all.
fn share(some: usize, of: usize) -> String {
    match some {
        0 => "none".to_owned(),
        n if n == of => "all".to_owned(),
        n => format!("{n} of {of}"),
    }
}

fn row(list: &Snapshot, region: &Region) -> String {
    let families: BTreeSet<&str> = region.instances.iter().map(|i| i.machine.family.as_str()).collect();
    let machines = region.instances.len();
    let spot = region.instances.iter().filter(|i| i.spot_usd_per_hour.is_some()).count();
    let committed = region.instances.iter().filter(|i| !i.commitments.is_empty()).count();
    let volumes: Vec<&str> = region.volumes.iter().map(|v| v.kind.as_str()).collect();
    let volumes = if volumes.is_empty() { "none".to_owned() } else { volumes.join(", ") };
    format!(
        "| {} | {} | {machines} in {} | {} | {} | {volumes} |\n",
        list.name,
        region.name,
        families.len(),
        share(spot, machines),
        share(committed, machines),
    )
}

/// The generated part of `docs/prices.md`.
fn text() -> String {
    let mut out =
        String::from("| list | region | machines, families | spot | commitments | volumes |\n|---|---|---|---|---|---|\n");
    let lists: Vec<Snapshot> = catalogue().iter().map(read).collect();
    for list in &lists {
        list.regions.iter().for_each(|region| out += &row(list, region));
    }
    out += "\nMissing in a region, though the list has it elsewhere:\n\n| list | region | what | why |\n|---|---|---|---|\n";
    for list in &lists {
        for m in &list.missing {
            let _ = writeln!(out, "| {} | {} | {} | {} |", list.name, m.region, m.name, m.why);
        }
    }
    out += "\nManaged databases:\n\n| list | machines | other items |\n|---|---|---|\n";
    for list in &lists {
        let machine = |i: &Instance| i.machine.family.split_once(".db.").map(|(engine, _)| engine.to_owned());
        let engines: BTreeSet<String> = list.regions.iter().flat_map(|r| &r.instances).filter_map(machine).collect();
        let items: BTreeSet<&str> =
            list.listed.iter().filter(|l| l.kind == FeeKind::ManagedDatabase).map(|l| l.item.as_str()).collect();
        let joined = |all: Vec<&str>| if all.is_empty() { "none".to_owned() } else { all.join(", ") };
        let engines = joined(engines.iter().map(String::as_str).collect());
        let _ = writeln!(out, "| {} | {engines} | {} |", list.name, joined(items.into_iter().collect()));
    }
    out
}

#[test]
fn the_docs_say_what_the_lists_hold_and_lack() {
    const START: &str = "<!-- coverage: UPDATE_GOLDEN=1 cargo test -p perbuck-prices coverage -->\n";
    const END: &str = "<!-- end of coverage -->\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/prices.md");
    let docs = std::fs::read_to_string(path).unwrap();
    let (before, rest) = docs.split_once(START).expect("docs/prices.md has the start of the coverage");
    let (found, after) = rest.split_once(END).expect("docs/prices.md has the end of the coverage");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, format!("{before}{START}{}{END}{after}", text())).unwrap();
    } else {
        assert_eq!(found, text(), "run it with UPDATE_GOLDEN=1, and read the difference");
    }
}
