//! What a price snapshot holds, after reading: every price with its date and its source.

use perbuck_core::units::{MicroUsd, unit_price_text};

/// One provider's list prices around one date.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The name by which a study asks for it, `aws-2021-03`.
    pub name: String,
    /// The provider, `aws`.
    pub provider: String,
    /// The date of most of its rows, `2021-03-10`; each row has its own.
    pub as_of: String,
    /// What the provider calls the unit of capacity, `GB` or `GiB`; both mean what it bills.
    pub capacity_unit: String,
    /// The regions, each with its own prices, in the order of the file.
    pub regions: Vec<Region>,
    /// Prices that are looked up and not billed by themselves: control planes, load balancers, traffic.
    pub listed: Vec<Listed>,
}

/// The prices of one region.
#[derive(Debug, Clone, PartialEq)]
pub struct Region {
    /// Its name, as the provider spells it.
    pub name: String,
    /// Machines.
    pub instances: Vec<Instance>,
    /// Block volumes.
    pub volumes: Vec<VolumePrice>,
    /// Snapshots of volumes, where a price is known.
    pub volume_snapshot: Option<CapacityPrice>,
}

/// A machine and its price.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// What it is.
    pub machine: Machine,
    /// On-demand list price of an hour.
    pub usd_per_hour: MicroUsd,
    /// The price as listed, where it has more decimals than micro-dollars hold.
    pub listed_usd: Option<String>,
    /// Where the price is from.
    pub origin: Origin,
    /// Line of the row in its file.
    pub line: usize,
}

/// A machine type; the same in every region.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// The type, `c6g.2xlarge`.
    pub name: String,
    /// Types of one family differ in size only, `c6g`.
    pub family: String,
    /// `aarch64` or `x86_64`.
    pub arch: String,
    /// Processor, for people.
    pub cpu: String,
    /// Virtual CPUs: cores on some machines, hyper-threads on others.
    pub vcpu: u32,
    /// Memory in GiB.
    pub memory_gib: f64,
}

/// The prices of one kind of block volume.
#[derive(Debug, Clone, PartialEq)]
pub struct VolumePrice {
    /// The kind, `gp3`.
    pub kind: String,
    /// Price of one capacity unit for a month.
    pub capacity: CapacityPrice,
    /// What the capacity brings along, in words; empty where it needs none.
    pub includes: String,
    /// Price of operations per second; `None` where they come with the capacity.
    pub iops: Option<Provisioned>,
    /// Price of throughput in MiB/s; `None` where it comes with the capacity.
    pub throughput: Option<Provisioned>,
}

/// A price per GB and month.
#[derive(Debug, Clone, PartialEq)]
pub struct CapacityPrice {
    /// The price of one GB (or GiB, see [`Snapshot::capacity_unit`]) for a month.
    pub usd_per_gb_month: MicroUsd,
    /// Where the price is from.
    pub origin: Origin,
}

/// A performance figure of a volume that is bought above what is included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provisioned {
    /// How much comes with the volume.
    pub included: u32,
    /// The price of one more for a month.
    pub usd_per_month: MicroUsd,
    /// Above this the list has other prices, which are not known here.
    pub priced_up_to: Option<u32>,
}

/// A price that a study may copy into a fee.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The region; `*` where the source names none.
    pub region: String,
    /// What is sold, `nat-gateway`.
    pub item: String,
    /// The unit of the price, `hour`.
    pub unit: String,
    /// The price of one unit.
    pub usd: MicroUsd,
    /// What else to know; may be empty.
    pub note: String,
    /// Where the price is from.
    pub origin: Origin,
}

/// Where a price is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// `2021-03` or `2021-03-10`.
    pub date: String,
    /// The source in words.
    pub source: String,
    /// Why the price is less than certain.
    pub doubt: Option<Doubt>,
}

/// Why a price is less than certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// It was not listed for this region or date, but follows from one that was; the source says how.
    Inferred,
    /// Another list has this price for the same thing.
    Disputed(MicroUsd),
}

impl Origin {
    /// The source with the doubt behind it, as a bill prints it.
    pub fn text(&self) -> String {
        match self.doubt {
            None => self.source.clone(),
            Some(Doubt::Inferred) => format!("{} [inferred]", self.source),
            Some(Doubt::Disputed(other)) => format!("{} [disputed: another list says {}]", self.source, unit_price_text(other)),
        }
    }
}

impl Instance {
    /// The source as a bill prints it, with the listed price where that has more decimals.
    pub fn origin_text(&self) -> String {
        match &self.listed_usd {
            None => self.origin.text(),
            Some(listed) => format!("{}; listed at ${listed}, kept to six decimals", self.origin.text()),
        }
    }
}

impl Snapshot {
    /// The region of that name.
    pub fn region(&self, name: &str) -> Option<&Region> {
        self.regions.iter().find(|r| r.name == name)
    }

    /// The names of the regions for which `has` holds.
    pub fn regions_where(&self, has: impl Fn(&Region) -> bool) -> Vec<&str> {
        self.regions.iter().filter(|r| has(r)).map(|r| r.name.as_str()).collect()
    }
}

impl Region {
    /// The machine of that type and its price here.
    pub fn instance(&self, name: &str) -> Option<&Instance> {
        self.instances.iter().find(|i| i.machine.name == name)
    }

    /// The prices of that kind of volume here.
    pub fn volume(&self, kind: &str) -> Option<&VolumePrice> {
        self.volumes.iter().find(|v| v.kind == kind)
    }
}
