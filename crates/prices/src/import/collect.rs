//! What importers found, joined to one snapshot.

use std::collections::{BTreeMap, BTreeSet};

use perbuck_core::units::{MicroUsd, unit_price_text};

use super::names::Provider;
use super::number::{Decimal, Exact};
use super::{ImportError, Imported, Options};
use crate::catalogue::machines;
use crate::snapshot::{
    CapacityPrice, Commitment, Doubt, Instance, Listed, Machine, Origin, Rates, Region, Snapshot, VolumePrice,
};

/// A machine as a list describes it.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) name: String,
    pub(crate) vcpu: u32,
    pub(crate) memory_gib: f64,
    /// As the list says it; by the provider's rule of naming where it does not.
    pub(crate) arch: Option<&'static str>,
    pub(crate) cpu: String,
    pub(crate) rates: Rates,
}

/// The prices of a machine in one region.
#[derive(Debug, Default)]
struct Row {
    usd: Option<Exact>,
    /// Another price that the list has for the same.
    other: Option<MicroUsd>,
    spot: Option<MicroUsd>,
    commitments: Vec<Commitment>,
}

#[derive(Debug, Default)]
struct Rows {
    instances: BTreeMap<String, Row>,
    volumes: BTreeMap<String, VolumePrice>,
    snapshot: Option<MicroUsd>,
}

/// Gathers rows; what is left out is counted.
#[derive(Debug)]
pub(crate) struct Collector {
    asked: Option<Provider>,
    provider: Option<Provider>,
    regions_wanted: BTreeSet<String>,
    families_wanted: BTreeSet<String>,
    pub(crate) spot: bool,
    pub(crate) commitments: bool,
    /// Sizes that are known from elsewhere, by type.
    known: BTreeMap<String, Machine>,
    shapes: BTreeMap<String, Shape>,
    regions: BTreeMap<String, Rows>,
    listed: Vec<Listed>,
    skipped: BTreeMap<String, u64>,
    rounded: u64,
    notes: Vec<String>,
}

/// Reasons to leave a row out that several formats have.
pub(crate) const ACCELERATED: &str = "built around accelerators, whose price does not follow vCPU and memory";
pub(crate) const OTHER_REGION: &str = "other region than asked for";
pub(crate) const ZERO: &str = "price is zero";
pub(crate) const COMMITMENT: &str = "price with a commitment; --commitments takes them";
pub(crate) const NO_SIZE: &str = "size of the machine type not known; --machines FILE gives sizes";

impl Collector {
    pub(crate) fn new(options: &Options) -> Self {
        let machines = machines().iter();
        Self {
            asked: options.provider.as_deref().map(Provider::named),
            provider: options.provider.as_deref().map(Provider::named),
            regions_wanted: options.regions.iter().cloned().collect(),
            families_wanted: options.families.iter().cloned().collect(),
            spot: options.spot,
            commitments: options.commitments,
            known: machines.chain(&options.machines).map(|m| (m.name.clone(), m.clone())).collect(),
            shapes: BTreeMap::new(),
            regions: BTreeMap::new(),
            listed: Vec::new(),
            skipped: BTreeMap::new(),
            rounded: 0,
            notes: Vec::new(),
        }
    }

    /// Fixes the provider where the list says it; a list of another one than asked for is refused.
    pub(crate) fn provider_is(&mut self, provider: Provider, line: u64) -> Result<(), ImportError> {
        match &self.provider {
            Some(before) if *before != provider => {
                let message = format!("this price is one of {}, but others are of {}", provider.name(), before.name());
                let help = "a snapshot has one provider: split the list, or give the right `--provider`";
                Err(ImportError::new(line, message, help))
            }
            _ => {
                self.provider = Some(provider);
                Ok(())
            }
        }
    }

    /// Whether another provider was asked for.
    pub(crate) fn is_of_another(&self, provider: &Provider) -> bool {
        self.asked.as_ref().is_some_and(|p| p != provider)
    }

    /// The provider, told from the name of a type where nothing else said it.
    pub(crate) fn provider_of(&mut self, name: &str, line: u64) -> Result<Provider, ImportError> {
        if let Some(provider) = &self.provider {
            return Ok(provider.clone());
        }
        let Some(provider) = Provider::of_type(name) else {
            let message = format!("the list does not say whose machine `{name}` is");
            return Err(ImportError::new(line, message, "give `--provider NAME`, or a column `provider`"));
        };
        self.provider_is(provider.clone(), line)?;
        Ok(provider)
    }

    pub(crate) fn skip(&mut self, reason: impl Into<String>) {
        *self.skipped.entry(reason.into()).or_default() += 1;
    }

    /// Whether one of these reasons to leave a row out holds; the first that does is counted.
    pub(crate) fn skips(&mut self, reasons: &[(bool, &str)]) -> bool {
        let found = reasons.iter().find(|(holds, _)| *holds);
        found.iter().for_each(|(_, reason)| self.skip(*reason));
        found.is_some()
    }

    /// Keeps something that the user should know.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Counts a price that was rounded and whose digits the file does not keep.
    pub(crate) fn rounded(&mut self) {
        self.rounded += 1;
    }

    /// Whether this region was asked for by its name.
    pub(crate) fn wants_by_name(&self, region: &str) -> bool {
        self.regions_wanted.contains(region)
    }

    /// Whether rows of this region are wanted.
    pub(crate) fn wants_region(&self, region: &str) -> bool {
        self.regions_wanted.is_empty() || self.regions_wanted.contains(region)
    }

    /// Counts a machine that is not asked for, and says so.
    pub(crate) fn unwanted(&mut self, provider: &Provider, region: &str, name: &str) -> bool {
        let other_family = !self.families_wanted.is_empty() && !self.families_wanted.contains(&provider.family(name));
        let reasons = [
            (!self.wants_region(region), OTHER_REGION),
            (other_family, "other family than asked for"),
            (provider.accelerated(name), ACCELERATED),
        ];
        self.skips(&reasons)
    }

    /// The size of a type that is known from the catalogue or was given.
    pub(crate) fn known(&self, name: &str) -> Option<Shape> {
        let m = self.known.get(name)?;
        let arch = Some(if m.arch == "aarch64" { "aarch64" } else { "x86_64" });
        let (cpu, rates) = (m.cpu.clone(), m.rates);
        Some(Shape { name: m.name.clone(), vcpu: m.vcpu, memory_gib: m.memory_gib, arch, cpu, rates })
    }

    /// All types whose size is known from elsewhere.
    pub(crate) fn known_types(&self) -> impl Iterator<Item = &Machine> {
        self.known.values()
    }

    /// Takes the on-demand price of a machine. Of two prices the lower stands, and the other is kept as disputed.
    pub(crate) fn instance(&mut self, region: &str, shape: &Shape, price: Exact) {
        if !self.describes(shape.clone()) {
            return;
        }
        self.rounded += u64::from(price.listed.is_some());
        let row = self.row(region, &shape.name);
        match &row.usd {
            Some(before) if before.usd == price.usd => {}
            Some(before) if before.usd < price.usd => row.other = Some(price.usd),
            before => {
                row.other = before.as_ref().map(|b| b.usd).or(row.other);
                row.usd = Some(price);
            }
        }
    }

    /// The price that a text says; nothing where that is zero, which is counted.
    pub(crate) fn price(&mut self, text: &str) -> Result<Option<Exact>, String> {
        let price = Decimal::parse(text)?;
        if self.skips(&[(price.is_zero(), ZERO)]) {
            return Ok(None);
        }
        price.exact().map(Some)
    }

    /// Takes the spot price that a text says, where spot prices are asked for and it says one.
    pub(crate) fn spot_text(&mut self, region: &str, name: &str, text: &str) -> Result<(), String> {
        if self.spot && !text.is_empty() {
            let price = Decimal::parse(text).and_then(Decimal::exact)?;
            self.spot(region, name, &price);
        }
        Ok(())
    }

    /// Takes a spot price; of several zones the lowest stands.
    pub(crate) fn spot(&mut self, region: &str, name: &str, price: &Exact) {
        if price.usd <= MicroUsd(0) {
            return;
        }
        self.rounded += u64::from(price.listed.is_some());
        let row = self.row(region, name);
        row.spot = Some(row.spot.map_or(price.usd, |before| before.min(price.usd)));
    }

    /// Takes a price with a commitment; its parts may come one after the other, the larger of two equal parts stands.
    pub(crate) fn commitment(&mut self, region: &str, name: &str, new: Commitment) {
        let row = self.row(region, name);
        match row.commitments.iter_mut().find(|c| c.name == new.name) {
            Some(before) => {
                before.upfront = before.upfront.max(new.upfront);
                before.usd_per_hour = before.usd_per_hour.max(new.usd_per_hour);
            }
            None => row.commitments.push(new),
        }
    }

    pub(crate) fn volume(&mut self, region: &str, volume: VolumePrice) {
        self.regions.entry(region.to_owned()).or_default().volumes.insert(volume.kind.clone(), volume);
    }

    pub(crate) fn snapshot(&mut self, region: &str, usd: MicroUsd) {
        self.regions.entry(region.to_owned()).or_default().snapshot = Some(usd);
    }

    pub(crate) fn listed(&mut self, listed: Listed) {
        if !self.listed.iter().any(|l| l.region == listed.region && l.item == listed.item) {
            self.listed.push(listed);
        }
    }

    fn row(&mut self, region: &str, name: &str) -> &mut Row {
        self.regions.entry(region.to_owned()).or_default().instances.entry(name.to_owned()).or_default()
    }

    /// Keeps what a machine is; one file must not describe a type in two ways.
    fn describes(&mut self, shape: Shape) -> bool {
        if shape.arch.is_none() && self.provider.as_ref().and_then(|p| p.arch(&shape.name)).is_none() {
            self.skip("architecture not known; a column `arch` gives it");
            return false;
        }
        let Some(before) = self.shapes.get(&shape.name) else {
            self.shapes.insert(shape.name.clone(), shape);
            return true;
        };
        if before.vcpu == shape.vcpu && before.memory_gib == shape.memory_gib {
            return true;
        }
        self.skip("the list gives this type another size elsewhere");
        false
    }

    /// Everything that was gathered; `origin` is how the source of its prices begins.
    pub(crate) fn finish(mut self, options: &Options, origin: String) -> Result<Imported, ImportError> {
        let provider = self.provider.take();
        let machines = self.machines(provider.as_ref());
        let dated = Origin { date: options.date.clone(), ..Origin::default() };
        let all = std::mem::take(&mut self.regions).into_iter().map(|(name, rows)| self.region(name, rows, &machines, &dated));
        let mut regions: Vec<Region> = all.collect();
        regions.retain(|r| !r.instances.is_empty() || !r.volumes.is_empty() || r.volume_snapshot.is_some());
        let (Some(provider), false) = (provider, regions.is_empty()) else {
            return Err(self.nothing());
        };
        let missing = self.regions_wanted.iter().filter(|want| !regions.iter().any(|r| r.name == **want));
        let missing: Vec<&str> = missing.map(String::as_str).collect();
        let mut notes = self.notes;
        if !missing.is_empty() {
            notes.push(format!("the list has nothing to take in {}", missing.join(", ")));
        }
        if self.rounded > 0 {
            notes.push(format!("{} prices have more than six decimals and are rounded, half up; `listed_usd` keeps the digits of those on demand", self.rounded));
        }
        self.listed.iter_mut().for_each(|l| l.origin.clone_from(&dated));
        let snapshot = Snapshot {
            name: options.name.clone(),
            provider: provider.name().to_owned(),
            as_of: options.date.clone(),
            capacity_unit: provider.capacity_unit().to_owned(),
            regions,
            listed: self.listed,
            missing: Vec::new(),
        };
        Ok(Imported { snapshot, origin, notes, skipped: self.skipped })
    }

    fn nothing(&self) -> ImportError {
        let reasons: Vec<String> = self.skipped.iter().map(|(reason, count)| format!("{count} × {reason}")).collect();
        let found = if reasons.is_empty() { "it has no rows".to_owned() } else { format!("left out: {}", reasons.join("; ")) };
        let message = format!("nothing of this list can be imported; {found}");
        ImportError::new(0, message, "check the format, `--region` and `--family`")
    }

    fn region(&mut self, name: String, rows: Rows, machines: &BTreeMap<String, Machine>, origin: &Origin) -> Region {
        let mut instances = Vec::new();
        for (machine, row) in rows.instances {
            let (Some(machine), Some(price)) = (machines.get(&machine), row.usd) else {
                self.skip("spot or commitment without an on-demand price");
                continue;
            };
            if let Some(other) = row.other {
                let (kind, low, high) = (&machine.name, unit_price_text(price.usd), unit_price_text(other));
                let note = format!("{name} `{kind}` has two prices, {low} and {high}: the lower stands, marked as disputed");
                self.notes.push(note);
            }
            let mut commitments = row.commitments;
            commitments.retain(|c| c.upfront > MicroUsd(0) || c.usd_per_hour > MicroUsd(0));
            commitments.sort_by(|a, b| (a.months, &a.name).cmp(&(b.months, &b.name)));
            instances.push(Instance {
                machine: machine.clone(),
                usd_per_hour: price.usd,
                listed_usd: price.listed,
                spot_usd_per_hour: row.spot,
                commitments,
                origin: Origin { doubt: row.other.map(Doubt::Disputed), ..origin.clone() },
                line: 0,
            });
        }
        instances.sort_by(|a, b| size_order(&a.machine, &b.machine));
        let mut volumes: Vec<VolumePrice> = rows.volumes.into_values().collect();
        for volume in &mut volumes {
            volume.capacity.origin = origin.clone();
        }
        let volume_snapshot = rows.snapshot.map(|usd| CapacityPrice { usd_per_gb_month: usd, origin: origin.clone() });
        Region { name, instances, volumes, volume_snapshot }
    }

    /// The machines with what is the same for a family made so: a file says it once.
    fn machines(&self, provider: Option<&Provider>) -> BTreeMap<String, Machine> {
        let Some(provider) = provider else { return BTreeMap::new() };
        let mut cpus: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        let arch = |s: &Shape| s.arch.or(provider.arch(&s.name)).unwrap_or("x86_64");
        let family = |s: &Shape| match provider.arch(&s.name) {
            // A list that contradicts the rule of naming splits the family rather than mixing two architectures.
            Some(by_name) if by_name != arch(s) => format!("{} ({})", provider.family(&s.name), arch(s)),
            _ => provider.family(&s.name),
        };
        for shape in self.shapes.values().filter(|s| !s.cpu.is_empty()) {
            cpus.entry(family(shape)).or_default().insert(&shape.cpu);
        }
        let machine = |s: &Shape| {
            let family = family(s);
            let all: Vec<&str> = cpus.get(&family).into_iter().flatten().copied().collect();
            let cpu = if all.is_empty() { "not stated in the list".to_owned() } else { all.join(" or ") };
            let vcpu_per_core = provider.vcpu_per_core(&s.name);
            let (name, arch) = (s.name.clone(), arch(s).to_owned());
            Machine { name, family, arch, cpu, vcpu: s.vcpu, memory_gib: s.memory_gib, vcpu_per_core, rates: s.rates }
        };
        self.shapes.values().map(|s| (s.name.clone(), machine(s))).collect()
    }
}

/// Families by name, sizes within by what they have.
fn size_order(a: &Machine, b: &Machine) -> std::cmp::Ordering {
    (&a.family, a.vcpu).cmp(&(&b.family, b.vcpu)).then(a.memory_gib.total_cmp(&b.memory_gib)).then_with(|| a.name.cmp(&b.name))
}
