//! From TOML to a snapshot, or to all of its problems at once.
//!
//! A file says each fact once: machines stand in `[[family]]` tables, prices in `[[region]]` tables that name machines,
//! and sources behind short ids. Reading joins them, so that every price carries its machine, date and source.

use std::collections::BTreeMap;

use perbuck_core::problem::{Problem, nearest};
use perbuck_core::toml_reader::{Located, Section, TomlFile};
use perbuck_core::units::MicroUsd;

use crate::snapshot::{CapacityPrice, Doubt, Instance, Listed, Machine, Origin, Provisioned, Region, Snapshot, VolumePrice};

/// The schema number that this version reads.
const SCHEMA: i64 = 1;

impl Snapshot {
    /// Reads a price snapshot; `name` is how messages call the file.
    ///
    /// # Errors
    /// Every problem of the file, in the order of its lines.
    pub fn read(name: &str, text: &str) -> Result<Self, Vec<Problem>> {
        let file = TomlFile::parse(name, text.to_owned()).map_err(|p| vec![p])?;
        let snapshot = read_root(&file.root());
        let mut problems = file.into_problems();
        // A region's bad date is met by each of its rows; the user need see it once.
        problems.dedup();
        match snapshot {
            Some(snapshot) if problems.is_empty() => Ok(snapshot),
            _ => Err(problems),
        }
    }
}

fn read_root(root: &Section<'_>) -> Option<Snapshot> {
    let schema = root.required_int("schema", 1..=SCHEMA, "1");
    let name = root.required_text("name", "\"aws-2021-03\"");
    let provider = root.required_text("provider", "\"aws\"");
    let as_of = root.required_text("as_of", "\"2021-03-10\"").and_then(|date| checked_date(root, "as_of", date));
    one_of(root, "currency", "USD", &["USD"]);
    let capacity_unit = one_of(root, "capacity_unit", "GB", &["GB", "GiB"]);
    let sources = read_sources(root);
    let machines = read_families(root);
    let known = Known { sources: &sources, machines: &machines };
    let region_rows = root.tables("region");
    refuse_doubles(root, &region_rows, "region", |s| s.text("name"));
    let regions: Vec<Option<Region>> = region_rows.iter().map(|s| read_region(s, &known)).collect();
    let listed: Vec<Option<Listed>> = root.tables("listed").iter().map(|s| read_listed(s, &known)).collect();
    root.finish();
    if regions.is_empty() {
        root.file().report(root.line(), "the snapshot has no `[[region]]`", "add at least one `[[region]]` table with prices");
    }
    schema?;
    let (regions, listed) = (regions.into_iter().collect::<Option<_>>()?, listed.into_iter().collect::<Option<_>>()?);
    Some(Snapshot { name: name?.value, provider: provider?.value, as_of: as_of?, capacity_unit: capacity_unit?, regions, listed })
}

/// What rows refer to by name.
struct Known<'a> {
    sources: &'a BTreeMap<String, String>,
    machines: &'a BTreeMap<String, Machine>,
}

/// A word out of a closed set; `example` is shown where it is missing.
fn one_of(s: &Section<'_>, key: &str, example: &str, words: &[&str]) -> Option<String> {
    let typed = s.required_text(key, &format!("\"{example}\""))?;
    if words.contains(&typed.value.as_str()) {
        return Some(typed.value);
    }
    s.report(key, format!("`{key}` is \"{}\"", typed.value), format!("use one of: {}", words.join(", ")));
    None
}

/// `2021-03` or `2021-03-10`.
fn checked_date(s: &Section<'_>, key: &str, date: Located<String>) -> Option<String> {
    let in_range = |part: &str, top: u32| part.len() == 2 && part.parse::<u32>().is_ok_and(|n| (1..=top).contains(&n));
    let parts: Vec<&str> = date.value.split('-').collect();
    let year = |part: &str| part.len() == 4 && part.bytes().all(|b| b.is_ascii_digit());
    let good = match parts[..] {
        [y, m] => year(y) && in_range(m, 12),
        [y, m, d] => year(y) && in_range(m, 12) && in_range(d, 31),
        _ => false,
    };
    if good {
        return Some(date.value);
    }
    s.report(
        key,
        format!("`{key}` is no date: \"{}\"", date.value),
        "write year and month, and the day where it is known: \"2021-03\", \"2021-03-10\"",
    );
    None
}

fn read_sources(root: &Section<'_>) -> BTreeMap<String, String> {
    let Some(s) = root.table("sources") else {
        root.report(
            "sources",
            "`[sources]` is missing",
            "add a `[sources]` table: a short id and, as text, where the prices are from",
        );
        return BTreeMap::new();
    };
    let mut sources = BTreeMap::new();
    for id in s.keys() {
        let Some(text) = s.text(&id) else { continue };
        if text.value.trim().is_empty() {
            s.report(&id, format!("source `{id}` says nothing"), "name the price list or article and its date");
        }
        sources.insert(id, text.value);
    }
    sources
}

fn read_families(root: &Section<'_>) -> BTreeMap<String, Machine> {
    let families = root.tables("family");
    refuse_doubles(root, &families, "family", |s| s.text("name"));
    let mut machines = BTreeMap::new();
    let mut sizes = Vec::new();
    for s in &families {
        let family = s.required_text("name", "\"c6g\"");
        let arch = one_of(s, "arch", "aarch64", &["aarch64", "x86_64"]);
        let cpu = s.required_text("cpu", "\"AWS Graviton2 (Neoverse N1)\"");
        let rows = s.tables("size");
        s.finish();
        let (family, arch, cpu) = (family.map(|f| f.value), arch, cpu.map(|c| c.value));
        for row in &rows {
            let name = row.required_text("type", "\"c6g.large\"");
            let vcpu = row.required_int("vcpu", 1..=65_536, "2");
            let memory = row.number("memory_gib", 0.0, 1e6);
            if memory.is_none() && !row.has("memory_gib") {
                row.report("memory_gib", "`memory_gib` is missing", "add for instance `memory_gib = 4`");
            }
            row.finish();
            let (Some(name), Some(vcpu), Some(memory)) = (name, vcpu, memory) else { continue };
            // A family with a problem still names its machines, so that its prices are not reported as unknown too.
            let (family, arch, cpu) =
                (family.clone().unwrap_or_default(), arch.clone().unwrap_or_default(), cpu.clone().unwrap_or_default());
            let machine = Machine { name: name.value, family, arch, cpu, vcpu: vcpu.value as u32, memory_gib: memory.value };
            machines.insert(machine.name.clone(), machine);
        }
        sizes.extend(rows);
    }
    refuse_doubles(root, &sizes, "size", |s| s.text("type"));
    machines
}

/// Reports each row whose name a row before it has.
fn refuse_doubles(root: &Section<'_>, rows: &[Section<'_>], what: &str, name: impl Fn(&Section<'_>) -> Option<Located<String>>) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    // A name of the wrong type was reported when the row was read.
    for row in rows.iter().filter(|row| row.is_text("name") || row.is_text("type") || row.is_text("kind")) {
        let Some(name) = name(row) else { continue };
        if let Some(first) = seen.get(&name.value) {
            let message = format!("{what} `{}` is given twice, first on line {first}", name.value);
            root.file().report(name.line, message, "remove one of them; another price date belongs into another file");
        }
        seen.entry(name.value).or_insert(name.line);
    }
}

fn read_region(s: &Section<'_>, known: &Known<'_>) -> Option<Region> {
    let name = s.required_text("name", "\"us-west-2\"");
    // Defaults of the rows; asked for here so that they are known.
    s.has("date");
    s.has("source");
    let (rows, volume_rows) = (s.tables("instance"), s.tables("volume"));
    refuse_doubles(s, &rows, "instance", |r| r.text("type"));
    refuse_doubles(s, &volume_rows, "volume", |r| r.text("kind"));
    let instances: Vec<Option<Instance>> = rows.iter().map(|r| read_instance(r, s, known)).collect();
    let volumes: Vec<Option<VolumePrice>> = volume_rows.iter().map(|r| read_volume(r, s, known)).collect();
    let snapshot = s.table("volume_snapshot").map(|r| {
        let price = read_capacity(&r, s, known);
        r.finish();
        price
    });
    s.finish();
    let volume_snapshot = match snapshot {
        None => None,
        Some(price) => Some(price?),
    };
    let (instances, volumes) = (instances.into_iter().collect::<Option<_>>()?, volumes.into_iter().collect::<Option<_>>()?);
    Some(Region { name: name?.value, instances, volumes, volume_snapshot })
}

fn read_instance(s: &Section<'_>, region: &Section<'_>, known: &Known<'_>) -> Option<Instance> {
    let name = s.required_text("type", "\"c6g.large\"");
    let price = required_price(s, "usd_per_hour");
    let listed = s.text("listed_usd");
    let origin = read_origin(s, Some(region), known);
    s.finish();
    let (name, price) = (name?, price?);
    if let Some(listed) = listed.as_ref().filter(|l| rounded_to_micros(&l.value) != Some(price)) {
        let message = format!("`listed_usd` of `{}` does not round to its `usd_per_hour`: {}", name.value, listed.value);
        s.report("listed_usd", message, "write the listed digits, and the same number rounded to six decimals as `usd_per_hour`");
    }
    let machine = known.machines.get(&name.value).cloned();
    if machine.is_none() {
        let help = match nearest(&name.value, known.machines.keys().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`? otherwise add its vcpu and memory to a `[[family]]`"),
            None => "add its vcpu and memory to a `[[family]]`".to_owned(),
        };
        s.report("type", format!("`{}` stands in no `[[family]]`", name.value), help);
    }
    Some(Instance {
        machine: machine?,
        usd_per_hour: price,
        listed_usd: listed.map(|l| l.value),
        origin: origin?,
        line: s.line(),
    })
}

/// A decimal number of dollars rounded to six decimals, half up; `None` where it is no such number.
fn rounded_to_micros(text: &str) -> Option<MicroUsd> {
    let (whole, fraction) = text.split_once('.')?;
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (kept, rest) = fraction.split_at(fraction.len().min(6));
    let up = rest.bytes().next().is_some_and(|digit| digit >= b'5');
    MicroUsd::parse_usd(&format!("{whole}.{kept}")).ok()?.plus(MicroUsd(i64::from(up)))
}

/// A price that must be there, above zero and below what a bill can carry.
fn required_price(s: &Section<'_>, key: &str) -> Option<MicroUsd> {
    let price = s.usd(key);
    if price.is_none() && !s.has(key) {
        s.report(key, format!("`{key}` is missing"), format!("add for instance `{key} = 0.0784`"));
    }
    let price = price?.value;
    if price > MicroUsd(0) {
        return Some(price);
    }
    s.report(key, format!("`{key}` is not above zero"), "give the list price, or leave the row out where it is not known");
    None
}

/// Date, source and doubt of a row; date and source default to those of its region.
fn read_origin(s: &Section<'_>, region: Option<&Section<'_>>, known: &Known<'_>) -> Option<Origin> {
    let inherit = |key: &str, example: &str| {
        let own = s.has(key) || region.is_none_or(|r| !r.has(key));
        let section = if own { s } else { region.unwrap_or(s) };
        section.required_text(key, example).map(|text| (text, section))
    };
    let date = inherit("date", "\"2021-03-10\"").and_then(|(date, section)| checked_date(section, "date", date));
    let source = inherit("source", "\"id-in-sources\"");
    let mark = if s.has("mark") { one_of(s, "mark", "inferred", &["inferred"]) } else { None };
    let disputed = s.has("disputed_usd").then(|| required_price(s, "disputed_usd")).flatten();
    let (source, section) = source?;
    let text = known.sources.get(&source.value);
    if text.is_none() {
        let help = match nearest(&source.value, known.sources.keys().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "add it to `[sources]` with a few words on what it is".to_owned(),
        };
        section.report("source", format!("`[sources]` has no `{}`", source.value), help);
    }
    let doubt = disputed.map(Doubt::Disputed).or(mark.map(|_| Doubt::Inferred));
    Some(Origin { date: date?, source: text?.clone(), doubt })
}

fn read_capacity(s: &Section<'_>, region: &Section<'_>, known: &Known<'_>) -> Option<CapacityPrice> {
    let price = required_price(s, "usd_per_gb_month");
    let origin = read_origin(s, Some(region), known);
    Some(CapacityPrice { usd_per_gb_month: price?, origin: origin? })
}

fn read_volume(s: &Section<'_>, region: &Section<'_>, known: &Known<'_>) -> Option<VolumePrice> {
    let kind = s.required_text("kind", "\"gp3\"");
    let capacity = read_capacity(s, region, known);
    let includes = s.text("includes").map(|t| t.value).unwrap_or_default();
    let mut iops = read_provisioned(s, "included_iops", "usd_per_iops_month");
    let throughput = read_provisioned(s, "included_mib_s", "usd_per_mib_s_month");
    let top = s.int("iops_priced_up_to", 1..=100_000_000);
    s.finish();
    match (&mut iops, top) {
        (_, None) => {}
        (Some(iops), Some(top)) => iops.priced_up_to = Some(top.value as u32),
        (None, Some(_)) => s.report(
            "iops_priced_up_to",
            "`iops_priced_up_to` without a price of IOPS",
            "add `included_iops` and `usd_per_iops_month`",
        ),
    }
    Some(VolumePrice { kind: kind?.value, capacity: capacity?, includes, iops, throughput })
}

fn read_provisioned(s: &Section<'_>, included: &str, price: &str) -> Option<Provisioned> {
    if !s.has(included) && !s.has(price) {
        return None;
    }
    let included = s.required_int(included, 0..=100_000_000, "3000");
    let price = required_price(s, price);
    Some(Provisioned { included: included?.value as u32, usd_per_month: price?, priced_up_to: None })
}

fn read_listed(s: &Section<'_>, known: &Known<'_>) -> Option<Listed> {
    let region = s.required_text("region", "\"us-west-2\"");
    let item = s.required_text("item", "\"nat-gateway\"");
    let unit = s.required_text("unit", "\"hour\"");
    let usd = required_price(s, "usd");
    let note = s.text("note").map(|n| n.value).unwrap_or_default();
    let origin = read_origin(s, None, known);
    s.finish();
    Some(Listed { region: region?.value, item: item?.value, unit: unit?.value, usd: usd?, note, origin: origin? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
schema = 1
name = "t"
provider = "aws"
as_of = "2021-03-10"
currency = "USD"
capacity_unit = "GB"
listed = [{ region = "*", item = "nat", unit = "hour", usd = 0.045, date = "2021-03", source = "list" }]
[sources]
list = "a price list"
other = "another one"
[[family]]
name = "c6g"
arch = "aarch64"
cpu = "Graviton2"
size = [{ type = "c6g.large", vcpu = 2, memory_gib = 4 }]
[[region]]
name = "us-west-2"
date = "2021-03"
source = "list"
instance = [
  { type = "c6g.large", usd_per_hour = 0.068 },
]
[[region.volume]]
kind = "gp3"
usd_per_gb_month = 0.08
included_iops = 3000
usd_per_iops_month = 0.005
iops_priced_up_to = 16000
mark = "inferred"
[region.volume_snapshot]
usd_per_gb_month = 0.05
source = "other"
"#;

    #[test]
    fn rows_take_date_and_source_from_their_region_or_say_their_own() {
        let snapshot = Snapshot::read("t.toml", GOOD).unwrap();
        let region = snapshot.region("us-west-2").unwrap();
        let large = region.instance("c6g.large").unwrap();
        assert_eq!((large.machine.vcpu, large.machine.arch.as_str(), large.usd_per_hour), (2, "aarch64", MicroUsd(68_000)));
        assert_eq!((large.origin.date.as_str(), large.origin.source.as_str()), ("2021-03", "a price list"));
        assert_eq!(region.volume_snapshot.as_ref().unwrap().origin.source, "another one");
        let gp3 = region.volume("gp3").unwrap();
        assert_eq!(gp3.iops, Some(Provisioned { included: 3000, usd_per_month: MicroUsd(5_000), priced_up_to: Some(16_000) }));
        assert_eq!(gp3.capacity.origin.doubt, Some(Doubt::Inferred));
    }

    #[test]
    fn every_broken_line_is_named() {
        let twice = "usd_per_hour = 0.068 },\n  { type = \"c6g.large\", usd_per_hour = 0.07 },";
        let broken = [
            ("schema = 1", "schema = 2", "outside"),
            ("\"USD\"", "\"EUR\"", "use one of: USD"),
            ("\"2021-03-10\"", "\"March\"", "no date"),
            ("0.068", "0.0", "not above zero"),
            ("0.068", "-1", "not above zero"),
            ("0.068", "0.0680001", "more than six decimals"),
            ("usd_per_hour = 0.068", "usd_per_hour = 0.068, listed_usd = \"0.0681\"", "does not round"),
            ("usd_per_hour = 0.068 },", twice, "given twice, first on line 22"),
            ("instance = [\n  { type = \"c6g.large\"", "instance = [\n  { type = \"c6g.lrge\"", "did you mean `c6g.large`"),
            ("source = \"other\"", "source = \"othr\"", "did you mean `other`"),
            ("\"another one\"", "\"\"", "says nothing"),
            ("vcpu = 2, ", "", "vcpu"),
            ("memory_gib = 4", "memory = 4", "memory_gib"),
            ("usd_per_iops_month = 0.005\n", "", "usd_per_iops_month"),
            ("kind = \"gp3\"", "kind = \"gp3\"\ngrade = 1", "unknown key"),
            ("date = \"2021-03\"\nsource", "source", "date"),
        ];
        for (good, bad, expected) in broken {
            assert!(GOOD.contains(good), "{good}");
            let problems = Snapshot::read("t.toml", &GOOD.replacen(good, bad, 1)).unwrap_err();
            let all = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            assert!(all.contains(expected), "{bad}: {all}");
            assert!(problems.iter().all(|p| p.line > 0 && !p.help.is_empty()), "{all}");
        }
    }

    #[test]
    fn a_fault_of_a_region_is_told_once() {
        let rows = "{ type = \"c6g.large\", usd_per_hour = 0.068 },";
        let text =
            GOOD.replace("date = \"2021-03\"\nsource", "date = \"soon\"\nsource").replace(rows, &format!("{rows}\n{rows}"));
        let problems = Snapshot::read("t.toml", &text).unwrap_err();
        assert_eq!(problems.len(), 2, "one date and one double: {problems:#?}");
    }
}
