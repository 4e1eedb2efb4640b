//! From TOML to a snapshot, or to all of its problems at once.
//!
//! A file says each fact once: machines stand in `[[family]]` tables, prices in `[[region]]` tables that name machines,
//! and sources under short ids. Reading joins them, so that every price carries its machine, date and source.

use std::collections::BTreeMap;

use perbuck_core::problem::Problem;
use perbuck_core::toml_reader::{Located, Section, TomlFile};

use crate::snapshot::{Listed, Machine, Missing, Rate, Rates, Region, Snapshot};
use rows::{read_listed, read_missing, read_region};

mod rows;
#[cfg(test)]
mod tests;

/// The schema number that this version reads.
const SCHEMA: i64 = 1;

impl Snapshot {
    /// Reads a price snapshot; `name` is how messages call the file.
    ///
    /// # Errors
    /// Every problem of the file, in the order of its lines.
    pub fn read(name: &str, text: &str) -> Result<Self, Vec<Problem>> {
        let file = TomlFile::parse(name, text.to_owned()).map_err(|p| vec![p])?;
        let snapshot = read_root(&file.root(), None);
        Self::whole(file, snapshot)
    }

    /// Puts the rows of an overlay over this list: a row of the same name is replaced as a whole, others are added.
    /// `file` is how messages call the overlay, `name` how the sources of its prices do.
    ///
    /// # Errors
    /// Every problem of the overlay, in the order of its lines.
    pub(crate) fn overlaid(&self, file: &str, name: &str, text: &str) -> Result<Self, Vec<Problem>> {
        let file = TomlFile::parse(file, text.to_owned()).map_err(|p| vec![p])?;
        let rows = read_root(&file.root(), Some((self, name)));
        Ok(self.with(Self::whole(file, rows)?))
    }

    fn whole(file: TomlFile, snapshot: Option<Self>) -> Result<Self, Vec<Problem>> {
        let mut problems = file.into_problems();
        // A region's bad date is met by each of its rows; the user need see it once.
        problems.dedup();
        match snapshot {
            Some(snapshot) if problems.is_empty() => Ok(snapshot),
            _ => Err(problems),
        }
    }
}

/// A whole list, or, with the list that they belong to and the name of their file, the rows of an overlay.
fn read_root(root: &Section<'_>, base: Option<(&Snapshot, &str)>) -> Option<Snapshot> {
    let schema = root.required_int("schema", 1..=SCHEMA, "1");
    let as_of = root.required_text("as_of", "\"2021-03-10\"").and_then(|date| checked_date(root, "as_of", date));
    let (name, provider, capacity_unit) = match base {
        None => read_head(root),
        Some((base, file)) => {
            root.has("base");
            (Some(format!("{} with {file}", base.name)), Some(base.provider.clone()), Some(base.capacity_unit.clone()))
        }
    };
    let sources = read_sources(root, base.is_none());
    let machines = base.map(|(base, _)| base.machines()).into_iter().flatten().chain(read_families(root)).collect();
    let default = base.map(|(_, file)| (as_of.clone().unwrap_or_default(), file.to_owned()));
    let known = Known { sources: &sources, machines: &machines, default };
    let region_rows = root.tables("region");
    refuse_doubles(root, &region_rows, "region", |s| s.text("name"));
    let regions: Vec<Option<Region>> = region_rows.iter().map(|s| read_region(s, &known)).collect();
    let listed: Vec<Option<Listed>> = root.tables("listed").iter().map(|s| read_listed(s, &known)).collect();
    refuse_double_items(root, &listed);
    let missing: Vec<Option<Missing>> = root.tables("missing").iter().map(read_missing).collect();
    root.finish();
    if regions.is_empty() && (base.is_none() || listed.is_empty()) {
        root.file().report(root.line(), "the snapshot has no `[[region]]`", "add at least one `[[region]]` table with prices");
    }
    schema?;
    let (regions, listed) = (regions.into_iter().collect::<Option<_>>()?, listed.into_iter().collect::<Option<_>>()?);
    let missing = missing.into_iter().collect::<Option<_>>()?;
    let (name, provider, as_of, capacity_unit) = (name?, provider?, as_of?, capacity_unit?);
    Some(Snapshot { name, provider, as_of, capacity_unit, regions, listed, missing })
}

/// Name, provider and unit of capacity of a whole list.
fn read_head(root: &Section<'_>) -> (Option<String>, Option<String>, Option<String>) {
    let name = root.required_text("name", "\"aws-2021-03\"").map(|name| name.value);
    let provider = root.required_text("provider", "\"aws\"").map(|provider| provider.value);
    one_of(root, "currency", "USD", &["USD"]);
    (name, provider, one_of(root, "capacity_unit", "GB", &["GB", "GiB"]))
}

/// What rows refer to by name.
struct Known<'a> {
    sources: &'a BTreeMap<String, String>,
    machines: &'a BTreeMap<String, Machine>,
    /// Date and source of rows that name none; only those of an overlay may.
    default: Option<(String, String)>,
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
    let help = "write year and month, and the day where it is known: \"2021-03\", \"2021-03-10\"";
    s.report(key, format!("`{key}` is no date: \"{}\"", date.value), help);
    None
}

fn read_sources(root: &Section<'_>, required: bool) -> BTreeMap<String, String> {
    let Some(s) = root.table("sources") else {
        if !required {
            return BTreeMap::new();
        }
        let help = "add a `[sources]` table: a short id and, as text, where the prices are from";
        root.report("sources", "`[sources]` is missing", help);
        return BTreeMap::new();
    };
    let mut sources = BTreeMap::new();
    for id in s.others() {
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
        let vcpu_per_core = s.count("vcpu_per_core", 1..=64);
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
            let rates = read_rates(row);
            row.finish();
            let (Some(name), Some(vcpu), Some(memory)) = (name, vcpu, memory) else { continue };
            // A family with a problem still names its machines, so that its prices are not reported as unknown too.
            let (family, arch, cpu) =
                (family.clone().unwrap_or_default(), arch.clone().unwrap_or_default(), cpu.clone().unwrap_or_default());
            let (name, vcpu, memory_gib) = (name.value, vcpu.value as u32, memory.value);
            let machine = Machine { name, family, arch, cpu, vcpu, memory_gib, vcpu_per_core, rates };
            machines.insert(machine.name.clone(), machine);
        }
        sizes.extend(rows);
    }
    refuse_doubles(root, &sizes, "size", |s| s.text("type"));
    machines
}

fn read_rates(s: &Section<'_>) -> Rates {
    let number = |key: &str| s.count(key, 1..=100_000_000);
    let rate = |baseline: &str, burst: &str| Rate { baseline: number(baseline), burst: number(burst) };
    Rates {
        network_mbit_s: rate("network_mbit_s", "network_burst_mbit_s"),
        volume_mbit_s: rate("volume_mbit_s", "volume_burst_mbit_s"),
        volume_iops: rate("volume_iops", "volume_burst_iops"),
    }
}

/// Reports each thing that is listed twice for one region; a bill could not know which one is meant.
fn refuse_double_items(root: &Section<'_>, listed: &[Option<Listed>]) {
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for l in listed.iter().flatten() {
        if let Some(first) = seen.get(&(&l.region, &l.item)) {
            let message = format!("`{}` is listed twice for {}, first on line {first}", l.item, l.region);
            root.file().report(l.line, message, "remove one of them; another price date belongs into another file");
        }
        seen.entry((&l.region, &l.item)).or_insert(l.line);
    }
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
