//! What a price snapshot holds, after reading: every price with its date and its source.

pub use perbuck_core::study::{Rate, Rates};
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
    /// Prices of what is neither machine nor volume: control planes, load balancers, traffic.
    pub listed: Vec<Listed>,
    /// What has no price in a region although it has one in another.
    pub missing: Vec<Missing>,
}

/// That a region has no price for something that the list has elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The region.
    pub region: String,
    /// A machine type, a family, a kind of volume, or `volume snapshots`.
    pub name: String,
    /// Why there is no price: not sold there, or no source.
    pub why: String,
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
    /// Price of an hour of spare capacity, which the provider may take back; `None` where it is not known.
    pub spot_usd_per_hour: Option<MicroUsd>,
    /// What it costs who commits to it, in the order of the file.
    pub commitments: Vec<Commitment>,
    /// Where the price is from.
    pub origin: Origin,
    /// Line of the row in its file.
    pub line: usize,
}

/// The price of a machine for those who bind themselves to pay for a term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commitment {
    /// Its name, such as `1y-no-upfront`, `3y-convertible-all-upfront`, `1y-savings-plan-no-upfront`; unique in its row.
    pub name: String,
    /// Length of the term.
    pub months: u32,
    /// Paid once for the whole term.
    pub upfront: MicroUsd,
    /// Paid for each hour of the term, used or not; zero where all is paid at the start.
    pub usd_per_hour: MicroUsd,
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
    /// Virtual CPUs on one physical core: 1 where each is a core, 2 where they are hyper-threads; `None` where not known.
    pub vcpu_per_core: Option<u32>,
    /// What its network and its volumes can carry.
    pub rates: Rates,
}

impl Machine {
    /// Physical cores; half a core is one hyper-thread of two. `None` where it is not known what a vCPU is.
    pub fn cores(&self) -> Option<f64> {
        self.vcpu_per_core.map(|per_core| f64::from(self.vcpu) / f64::from(per_core))
    }
}

/// The prices of one kind of block volume.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct VolumePrice {
    /// The kind, `gp3`.
    pub kind: String,
    /// Price of one capacity unit for a month.
    pub capacity: CapacityPrice,
    /// What the capacity brings along, in words; empty where it needs none.
    pub includes: String,
    /// Price of operations per second; `None` where they come with the capacity.
    pub iops: Option<Provisioned>,
    /// What further IOPS cost above some number of them, ascending; below the first, `iops` holds.
    pub iops_tiers: Vec<Tier>,
    /// Price of throughput in MiB/s; `None` where it comes with the capacity.
    pub throughput: Option<Provisioned>,
    /// Throughput that comes with the capacity and differs by size, ascending; empty where it does not.
    pub throughput_steps: Vec<ThroughputStep>,
    /// What can be bought at all.
    pub limits: VolumeLimits,
    /// Line of the row in its file.
    pub line: usize,
}

/// The throughput of volumes above a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThroughputStep {
    /// Volumes of up to this many capacity units have the throughput of the step before.
    pub above_gb: u32,
    /// MiB/s.
    pub mib_s: Rate,
}

impl VolumePrice {
    /// Operations per second of a volume of so many capacity units that buys none; `None` where the list does not say.
    pub fn iops_of(&self, size_gb: u32) -> Option<u32> {
        let grown = self.limits.iops_per_gb.map(|per_gb| {
            let most = self.limits.iops_max.unwrap_or(u32::MAX);
            per_gb.saturating_mul(size_gb).max(self.limits.iops_min.unwrap_or(0)).min(most)
        });
        grown.or(self.iops.filter(|p| p.included > 0).map(|p| p.included))
    }

    /// Throughput in MiB/s of a volume of so many capacity units that buys none, as far as the list says.
    pub fn mib_s_of(&self, size_gb: u32) -> Rate {
        let step = self.throughput_steps.iter().rev().find(|step| step.above_gb < size_gb);
        let included = self.throughput.filter(|p| p.included > 0).map(|p| p.included);
        step.map_or(Rate { baseline: included, burst: None }, |step| step.mib_s)
    }
}

/// The price of each unit above so many of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tier {
    /// Units up to this number have the price of the tier before.
    pub above: u64,
    /// The price of one unit above, for a month where the unit is one of performance.
    pub usd: MicroUsd,
}

/// The bounds of a kind of volume; each only where it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VolumeLimits {
    /// Smallest size in capacity units.
    pub size_gb_min: Option<u32>,
    /// Largest size in capacity units.
    pub size_gb_max: Option<u32>,
    /// IOPS that come with each capacity unit, where performance grows with size.
    pub iops_per_gb: Option<u32>,
    /// IOPS that the smallest volume has.
    pub iops_min: Option<u32>,
    /// IOPS that the largest volume has, or the most that can be bought.
    pub iops_max: Option<u32>,
    /// Most throughput in MiB/s.
    pub mib_s_max: Option<u32>,
}

/// A price per GB and month.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CapacityPrice {
    /// The price of one GB (or GiB, see [`Snapshot::capacity_unit`]) for a month.
    pub usd_per_gb_month: MicroUsd,
    /// Where the price is from.
    pub origin: Origin,
}

/// A performance value of a volume that is bought above what is included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provisioned {
    /// How much comes with the volume.
    pub included: u32,
    /// The price of one more for a month.
    pub usd_per_month: MicroUsd,
    /// Above this the list has other prices, which are not known here.
    pub priced_up_to: Option<u32>,
}

/// What a price of [`Snapshot::listed`] is paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FeeKind {
    /// Managing a cluster.
    ControlPlane,
    /// A load balancer that exists.
    LoadBalancer,
    /// What a load balancer does, by its capacity units.
    LoadBalancerUse,
    /// A NAT gateway that exists.
    Nat,
    /// Bytes through a NAT gateway.
    NatUse,
    /// Bytes between zones of a region.
    CrossZoneTraffic,
    /// Bytes to other regions.
    InterRegionTraffic,
    /// Bytes to the internet.
    InternetTraffic,
    /// A volume or a part of one that is not sold as the volumes of a region are.
    Disk,
    /// A database that the provider runs, or a part of its bill.
    ManagedDatabase,
    /// Something else.
    Other,
}

impl FeeKind {
    /// All kinds with their words in a file.
    pub const ALL: [(Self, &'static str); 11] = [
        (Self::ControlPlane, "control-plane"),
        (Self::LoadBalancer, "load-balancer"),
        (Self::LoadBalancerUse, "load-balancer-use"),
        (Self::Nat, "nat"),
        (Self::NatUse, "nat-use"),
        (Self::CrossZoneTraffic, "cross-zone-traffic"),
        (Self::InterRegionTraffic, "inter-region-traffic"),
        (Self::InternetTraffic, "internet-traffic"),
        (Self::Disk, "disk"),
        (Self::ManagedDatabase, "managed-database"),
        (Self::Other, "other"),
    ];

    /// The word in a file.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("other", |(_, word)| word)
    }
}

/// A price that is neither one of a machine nor of a volume.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The region; `*` where the source names none.
    pub region: String,
    /// What is sold, `nat-gateway`; unique in its region.
    pub item: String,
    /// What kind of thing that is.
    pub kind: FeeKind,
    /// The unit of the price, `hour`.
    pub unit: String,
    /// The price of one unit, up to the first of `tiers`.
    pub usd: MicroUsd,
    /// What further units of a month cost, ascending.
    pub tiers: Vec<Tier>,
    /// What else to know; may be empty.
    pub note: String,
    /// Where the price is from.
    pub origin: Origin,
    /// Line of the row in its file.
    pub line: usize,
}

/// Where a price is from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
    /// The price of another list, where lists disagree.
    pub(crate) fn disputed(&self) -> Option<MicroUsd> {
        match self.doubt {
            Some(Doubt::Disputed(other)) => Some(other),
            Some(Doubt::Inferred) | None => None,
        }
    }

    /// Its date, and its source as a bill prints it.
    pub(crate) fn dated(&self) -> (String, String) {
        (self.date.clone(), self.text())
    }

    /// The source with the doubt after it, as a bill prints it.
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

    /// What is listed as `item` in a region, or for all regions.
    pub fn listed(&self, region: &str, item: &str) -> Option<&Listed> {
        let of = |region: &str| self.listed.iter().find(|l| l.region == region && l.item == item);
        of(region).or_else(|| of("*"))
    }

    /// Why a region has no price for a machine type or a kind of volume, where the list says so.
    pub fn why_missing(&self, region: &str, name: &str) -> Option<&str> {
        let machine = self.regions.iter().find_map(|r| r.instance(name)).map(|i| i.machine.family.as_str());
        let meant = |m: &&Missing| m.region == region && (m.name == name || Some(m.name.as_str()) == machine);
        self.missing.iter().find(meant).map(|m| m.why.as_str())
    }

    /// Where its prices are from, each as often as there are prices.
    pub(crate) fn origins(&self) -> impl Iterator<Item = &Origin> {
        self.regions.iter().flat_map(Region::origins).chain(self.listed.iter().map(|l| &l.origin))
    }

    /// The names of the regions for which `has` holds.
    pub fn regions_where(&self, has: impl Fn(&Region) -> bool) -> Vec<&str> {
        self.regions.iter().filter(|r| has(r)).map(|r| r.name.as_str()).collect()
    }
}

impl Region {
    pub(crate) fn origins(&self) -> impl Iterator<Item = &Origin> {
        let volumes = self.volumes.iter().map(|v| &v.capacity).chain(&self.volume_snapshot);
        self.instances.iter().map(|i| &i.origin).chain(volumes.map(|v| &v.origin))
    }

    /// The machine of that type and its price here.
    pub fn instance(&self, name: &str) -> Option<&Instance> {
        self.instances.iter().find(|i| i.machine.name == name)
    }

    /// The prices of that kind of volume here.
    pub fn volume(&self, kind: &str) -> Option<&VolumePrice> {
        self.volumes.iter().find(|v| v.kind == kind)
    }
}
