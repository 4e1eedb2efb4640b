//! The rows of a snapshot file that hold prices.

use perbuck_core::problem::{did_you_mean, nearest};
use perbuck_core::toml_reader::Section;
use perbuck_core::units::{MicroUsd, unit_price_text};

use super::{Known, checked_date, one_of, refuse_doubles};
use crate::snapshot::{
    CapacityPrice, Commitment, Doubt, FeeKind, Instance, Listed, Missing, Origin, Provisioned, Rate, Region, ThroughputStep,
    Tier, VolumeLimits, VolumePrice,
};

pub(super) fn read_region(s: &Section<'_>, known: &Known<'_>) -> Option<Region> {
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
    let volume_snapshot = snapshot.map_or(Some(None), |price| price.map(Some))?;
    let (instances, volumes) = (instances.into_iter().collect::<Option<_>>()?, volumes.into_iter().collect::<Option<_>>()?);
    Some(Region { name: name?.value, instances, volumes, volume_snapshot })
}

fn read_instance(s: &Section<'_>, region: &Section<'_>, known: &Known<'_>) -> Option<Instance> {
    let name = s.required_text("type", "\"c6g.large\"");
    let price = required_price(s, "usd_per_hour");
    let listed = s.text("listed_usd");
    let spot_usd_per_hour = optional_price(s, "spot_usd_per_hour");
    let commitments = s.each("commitment", read_commitment);
    let origin = read_origin(s, Some(region), known);
    s.finish();
    let (name, price, commitments) = (name?, price?, commitments?);
    refuse_double_commitments(s, &name.value, &commitments);
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
        spot_usd_per_hour,
        commitments,
        origin: origin?,
        line: s.line(),
    })
}

fn read_commitment(s: &Section<'_>) -> Option<Commitment> {
    let name = s.required_text("name", "\"1y-no-upfront\"");
    let months = s.required_int("months", 1..=120, "12");
    let (upfront, hourly) = (s.usd("upfront_usd"), s.usd("usd_per_hour"));
    s.finish();
    let (upfront, hourly) = (upfront.map_or(MicroUsd(0), |p| p.value), hourly.map_or(MicroUsd(0), |p| p.value));
    let name = name?.value;
    if upfront < MicroUsd(0) || hourly < MicroUsd(0) || (upfront, hourly) == (MicroUsd(0), MicroUsd(0)) {
        let message = format!("commitment `{name}` has neither an `upfront_usd` nor a `usd_per_hour` above zero, or one below");
        s.file().report(s.line(), message, "give what is paid at the start, what is paid for an hour, or both");
        return None;
    }
    Some(Commitment { name, months: months?.value as u32, upfront, usd_per_hour: hourly })
}

fn refuse_double_commitments(s: &Section<'_>, machine: &str, all: &[Commitment]) {
    for (i, c) in all.iter().enumerate() {
        if all[..i].iter().any(|before| before.name == c.name) {
            s.report("commitment", format!("`{machine}` has two commitments `{}`", c.name), "give each another name");
        }
    }
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
    let message = format!("`{key}`{} is {}, not above zero", of_row(s), unit_price_text(price));
    s.report(key, message, "give the list price, or leave the row out where it is not known");
    None
}

/// Which row a message is about, where that has a name.
fn of_row(s: &Section<'_>) -> String {
    let name = ["type", "kind", "item"].iter().find(|key| s.is_text(key)).and_then(|key| s.text(key));
    name.map(|name| format!(" of `{}`", name.value)).unwrap_or_default()
}

/// A price that may be absent; if it is there, it is above zero.
fn optional_price(s: &Section<'_>, key: &str) -> Option<MicroUsd> {
    if s.has(key) { required_price(s, key) } else { None }
}

/// The prices after the first one, ascending.
fn read_tiers(s: &Section<'_>, key: &str) -> Vec<Tier> {
    let mut tiers: Vec<Tier> = Vec::new();
    for row in s.tables(key) {
        let above = row.required_int("above", 1..=1_000_000_000_000, "32000");
        let usd = required_price(&row, "usd");
        row.finish();
        let (Some(above), Some(usd)) = (above, usd) else { continue };
        if tiers.last().is_some_and(|before| before.above >= above.value as u64) {
            row.report("above", format!("`{key}` is not ascending at {}", above.value), "sort the tiers by `above`, each once");
        }
        tiers.push(Tier { above: above.value as u64, usd });
    }
    tiers
}

/// Date, source and doubt of a row; date and source default to those of its region.
fn read_origin(s: &Section<'_>, region: Option<&Section<'_>>, known: &Known<'_>) -> Option<Origin> {
    let inherit = |key: &str, example: &str| {
        if known.default.is_some() && !s.has(key) && region.is_none_or(|r| !r.has(key)) {
            return None;
        }
        let own = s.has(key) || region.is_none_or(|r| !r.has(key));
        let section = if own { s } else { region.unwrap_or(s) };
        section.required_text(key, example).map(|text| (text, section))
    };
    let date = inherit("date", "\"2021-03-10\"").and_then(|(date, section)| checked_date(section, "date", date));
    let source = inherit("source", "\"id-in-sources\"");
    let mark = if s.has("mark") { one_of(s, "mark", "inferred", &["inferred"]) } else { None };
    let disputed = s.has("disputed_usd").then(|| required_price(s, "disputed_usd")).flatten();
    let doubt = disputed.map(Doubt::Disputed).or(mark.map(|_| Doubt::Inferred));
    let (default_date, default_source) = known.default.clone().unzip();
    let source = match source {
        None => default_source,
        Some((source, section)) => {
            let text = known.sources.get(&source.value);
            if text.is_none() {
                let known: Vec<&str> = known.sources.keys().map(String::as_str).collect();
                let add = || "add it to `[sources]` with a few words on what it is".to_owned();
                let help = did_you_mean(&source.value, &known, add);
                section.report("source", format!("`[sources]` has no `{}`", source.value), help);
            }
            text.cloned()
        }
    };
    Some(Origin { date: date.or(default_date)?, source: source?, doubt })
}

pub(super) fn read_missing(s: &Section<'_>) -> Option<Missing> {
    let region = s.required_text("region", "\"eu-west-1\"");
    let name = s.required_text("name", "\"gp3\"");
    let why = s.required_text("why", "\"not sold there\"");
    s.finish();
    Some(Missing { region: region?.value, name: name?.value, why: why?.value })
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
    let top = s.count("iops_priced_up_to", 1..=100_000_000);
    let iops_tiers = read_tiers(s, "iops_tier");
    let throughput_steps = read_throughput_steps(s);
    let limits = read_limits(s);
    s.finish();
    if iops.is_none() && !iops_tiers.is_empty() {
        s.report("iops_tier", "`iops_tier` without a price of IOPS", "add `included_iops` and `usd_per_iops_month`");
    }
    match (&mut iops, top) {
        (_, None) => {}
        (Some(iops), top) => iops.priced_up_to = top,
        (None, Some(_)) => {
            let help = "add `included_iops` and `usd_per_iops_month`";
            s.report("iops_priced_up_to", "`iops_priced_up_to` without a price of IOPS", help);
        }
    }
    let (kind, capacity, line) = (kind?.value, capacity?, s.line());
    Some(VolumePrice { kind, capacity, includes, iops, iops_tiers, throughput, throughput_steps, limits, line })
}

fn read_throughput_steps(s: &Section<'_>) -> Vec<ThroughputStep> {
    let mut steps: Vec<ThroughputStep> = Vec::new();
    for row in s.tables("mib_s_by_size") {
        let above = row.required_int("above", 0..=100_000_000, "170");
        let baseline = row.required_int("mib_s", 1..=100_000_000, "128");
        let burst = row.count("burst_mib_s", 1..=100_000_000);
        row.finish();
        let (Some(above), Some(baseline)) = (above, baseline) else { continue };
        let above_gb = above.value as u32;
        if steps.last().is_some_and(|before| before.above_gb >= above_gb) {
            let message = format!("`mib_s_by_size` is not ascending at {above_gb}");
            row.report("above", message, "sort the sizes by `above`, each once");
        }
        steps.push(ThroughputStep { above_gb, mib_s: Rate { baseline: Some(baseline.value as u32), burst } });
    }
    steps
}

fn read_limits(s: &Section<'_>) -> VolumeLimits {
    let number = |key: &str| s.count(key, 1..=100_000_000);
    VolumeLimits {
        size_gb_min: number("size_gb_min"),
        size_gb_max: number("size_gb_max"),
        iops_per_gb: number("iops_per_gb"),
        iops_min: number("iops_min"),
        iops_max: number("iops_max"),
        mib_s_max: number("mib_s_max"),
    }
}

fn read_provisioned(s: &Section<'_>, included: &str, price: &str) -> Option<Provisioned> {
    if !s.has(included) && !s.has(price) {
        return None;
    }
    let included = s.required_int(included, 0..=100_000_000, "3000");
    let price = required_price(s, price);
    Some(Provisioned { included: included?.value as u32, usd_per_month: price?, priced_up_to: None })
}

pub(super) fn read_listed(s: &Section<'_>, known: &Known<'_>) -> Option<Listed> {
    let region = s.required_text("region", "\"us-west-2\"");
    let item = s.required_text("item", "\"nat-gateway\"");
    let kind = read_kind(s);
    let unit = s.required_text("unit", "\"hour\"");
    let usd = required_price(s, "usd");
    let tiers = read_tiers(s, "tier");
    let note = s.text("note").map(|n| n.value).unwrap_or_default();
    let origin = read_origin(s, None, known);
    s.finish();
    let (region, item, unit) = (region?.value, item?.value, unit?.value);
    Some(Listed { region, item, kind: kind?, unit, usd: usd?, tiers, note, origin: origin?, line: s.line() })
}

fn read_kind(s: &Section<'_>) -> Option<FeeKind> {
    let Some(typed) = s.text("kind") else { return (!s.has("kind")).then_some(FeeKind::Other) };
    let kind = FeeKind::ALL.iter().find(|(_, word)| *word == typed.value).map(|(kind, _)| *kind);
    if kind.is_none() {
        let words: Vec<&str> = FeeKind::ALL.iter().map(|(_, word)| *word).collect();
        s.report("kind", format!("`kind` is \"{}\"", typed.value), format!("use one of: {}", words.join(", ")));
    }
    kind
}
