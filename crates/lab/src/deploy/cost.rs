//! What a deployment costs: what the plan makes, by the price lists of the study, and for how long it ran.

use perbuck_core::bill::LineGroup;
use perbuck_core::study::{Contender, Fee, FeeTerms, Located, Node, Payment, Provider, Volume};
use perbuck_core::units::MicroUsd;
use perbuck_deploy::kubernetes::plan::CLIENT;
use perbuck_deploy::kubernetes::{Cluster, Group, Plan};
use perbuck_prices::Snapshot;

use super::state::{Seen, State, What};
use crate::inputs::Inputs;

const SECONDS_PER_HOUR: i128 = 3600;

/// One thing that a deployment makes, and what the bills say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostItem {
    /// The cluster.
    pub cluster: String,
    /// The contender; empty for what contenders share.
    pub contender: String,
    /// The role of its machines; empty for what is none of a role.
    pub role: String,
    /// What it is: `r6g.2xlarge`, `gp3, 1000 GB`.
    pub what: String,
    /// How many.
    pub count: u32,
    /// What one of them costs in a month; `None` where no price list says.
    pub each: Option<MicroUsd>,
    /// Where the bills have it.
    pub bill: InBill,
}

/// Where the bills of a study have something that its deployment makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InBill {
    /// It is a line of its contender's bill.
    Line,
    /// Each contender of the cluster is billed one, and they share it.
    Shared,
    /// It costs nothing.
    Free(&'static str),
    /// The study shows it and does not bill it: the load's machines.
    Shown,
    /// It is in no bill; how to bill it.
    Missing(&'static str),
}

impl InBill {
    /// In words.
    pub fn text(&self) -> String {
        match self {
            Self::Line => "in the bill".to_owned(),
            Self::Shared => "in the bill of each, and shared".to_owned(),
            Self::Free(why) => format!("free: {why}"),
            Self::Shown => "not billed: it makes the load".to_owned(),
            Self::Missing(way_out) => format!("in no bill; {way_out}"),
        }
    }
}

/// Everything that a plan makes, in the order of the plan.
pub fn cost_items(inputs: &Inputs, plan: &Plan) -> Vec<CostItem> {
    plan.clusters.iter().flat_map(|cluster| of_cluster(inputs, cluster)).collect()
}

/// What all of it costs in an hour, and whether something of it has no price.
pub fn hourly(inputs: &Inputs, items: &[CostItem]) -> (MicroUsd, bool) {
    let month: i128 = items.iter().filter_map(|item| Some(i128::from(item.each?.0) * i128::from(item.count))).sum();
    let hours = i128::from(inputs.study.price.hours_per_month.max(1));
    (micros(month, hours), items.iter().any(|item| item.each.is_none()))
}

/// What something that costs so much an hour costs in this time.
pub(super) fn for_time(an_hour: MicroUsd, seconds: u64) -> MicroUsd {
    micros(i128::from(an_hour.0) * i128::from(seconds), SECONDS_PER_HOUR)
}

/// Something that ran, and what it cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spent {
    /// What it was: `arm tikv: r6g.2xlarge`.
    pub what: String,
    /// How many of them.
    pub count: u32,
    /// For how long, all together.
    pub seconds: u64,
    /// What that cost; `None` where no price list says.
    pub cost: Option<MicroUsd>,
}

/// What everything that was seen has cost until `now`.
pub(super) fn spent(inputs: &Inputs, plan: &Plan, state: &State, now: u64) -> Vec<Spent> {
    let mut found: Vec<(Spent, i128)> = Vec::new();
    let mut add = |what: String, seconds: u64, month: Option<MicroUsd>| {
        let amount = month.map(|month| i128::from(month.0) * i128::from(seconds));
        match found.iter_mut().find(|(spent, _)| spent.what == what && spent.cost.is_some() == amount.is_some()) {
            Some((spent, sum)) => {
                (spent.count, spent.seconds) = (spent.count + 1, spent.seconds + seconds);
                *sum += amount.unwrap_or(0);
            }
            None => {
                let cost = amount.map(|_| MicroUsd(0));
                found.push((Spent { what, count: 1, seconds, cost }, amount.unwrap_or(0)));
            }
        }
    };
    for cluster in &plan.clusters {
        let prefix = format!("{}/", cluster.name);
        for seen in state.seen.iter().filter(|(key, _)| key.starts_with(&prefix)).map(|(_, seen)| seen) {
            let until = if seen.gone { seen.to_unix_s } else { now };
            add(title(seen), until.saturating_sub(seen.from_unix_s), of_seen(inputs, cluster, seen));
            if let (What::Node(_), Some(root)) = (&seen.what, root_of(inputs, cluster, seen)) {
                add(format!("{}: its root volume", title(seen)), until.saturating_sub(seen.from_unix_s), root);
            }
        }
        let Some(own) = state.clusters.get(&cluster.name) else { continue };
        let seconds = own.0.iter().map(|period| period.to_unix_s.unwrap_or(now).saturating_sub(period.from_unix_s)).sum();
        for item in fees(inputs, cluster) {
            add(format!("{}: {}", cluster.name, item.what), seconds, item.each);
        }
    }
    let hours = i128::from(inputs.study.price.hours_per_month.max(1)) * SECONDS_PER_HOUR;
    let priced = |(spent, sum): (Spent, i128)| Spent { cost: spent.cost.map(|_| micros(sum, hours)), ..spent };
    found.into_iter().map(priced).collect()
}

fn title(seen: &Seen) -> String {
    let of =
        [seen.contender.as_str(), seen.role.as_str()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    match &seen.what {
        What::Node(instance) => format!("{of}: {instance}"),
        What::Volume => format!("{of}: volume"),
    }
}

/// An amount over a number of units, rounded half up to the micro-dollar.
fn micros(amount: i128, over: i128) -> MicroUsd {
    MicroUsd(i64::try_from((amount * 2 + over).div_euclid(over * 2)).unwrap_or(i64::MAX))
}

fn of_cluster(inputs: &Inputs, cluster: &Cluster) -> Vec<CostItem> {
    let mut items: Vec<CostItem> = cluster.groups.iter().flat_map(|group| of_group(inputs, cluster, group)).collect();
    items.extend(fees(inputs, cluster));
    let free = |what: &str, why| CostItem {
        cluster: cluster.name.clone(),
        contender: String::new(),
        role: String::new(),
        what: what.to_owned(),
        count: 1,
        each: Some(MicroUsd(0)),
        bill: InBill::Free(why),
    };
    if cluster.provider != Provider::Kubernetes {
        items.push(free("network, subnets, volume driver, DNS", "the cloud asks nothing for them; they run on the admin nodes"));
        items.push(free("addresses of pods", "the load reaches them within the network, so there is no load balancer"));
    }
    items.extend(not_billed(cluster).into_iter().map(|(what, count, why)| CostItem {
        count,
        each: None,
        bill: InBill::Missing(why),
        ..free(what, "")
    }));
    if cluster.operator.is_some() {
        items.push(free("operator", "it runs on the admin nodes"));
    }
    items
}

/// What a cloud bills by use or by address, and no line of a study has.
fn not_billed(cluster: &Cluster) -> Vec<(&'static str, u32, &'static str)> {
    const BY_USE: &str = "it depends on use: add `traffic` to the contender";
    const BY_ADDRESS: &str = "add a `fee` to the contender";
    let nodes = cluster.groups.iter().map(|group| group.count).sum();
    let zones = cluster.zones.len() > 1;
    let between = zones.then_some(("traffic between zones", 1, BY_USE));
    match cluster.provider {
        Provider::Kubernetes => Vec::new(),
        Provider::Eks => [("address of the NAT gateway", 1, BY_ADDRESS), ("images through the NAT gateway", 1, BY_USE)]
            .into_iter()
            .chain(between)
            .collect(),
        Provider::Gke => [("public addresses of nodes", nodes, BY_ADDRESS)].into_iter().chain(between).collect(),
    }
}

fn of_group(inputs: &Inputs, cluster: &Cluster, group: &Group) -> Vec<CostItem> {
    let contender = contender_of(inputs, cluster, group.contender.as_deref());
    let Some((contender, node)) = contender.and_then(|c| Some((c, c.nodes.iter().find(|n| n.role == group.role)?))) else {
        return Vec::new();
    };
    let item = |what: String, each, bill| CostItem {
        cluster: cluster.name.clone(),
        contender: group.contender.clone().unwrap_or_default(),
        role: group.role.clone(),
        what,
        count: group.count,
        each,
        bill,
    };
    let billed = if node.priced { InBill::Line } else { InBill::Shown };
    let mut items = vec![item(group.instance.clone(), machine(inputs, contender, node, &group.instance), billed.clone())];
    if let Some(volume) = &group.data {
        items.push(item(format!("{}, {} GB", volume.kind, volume.size_gb), volume_of(inputs, contender, node, volume), billed));
    }
    if !group.root.kind.is_empty() {
        let bill = match (&group.root.declared, node.priced) {
            (_, false) => InBill::Shown,
            (Some(_), _) => InBill::Line,
            (None, _) => InBill::Missing("declare `root_volume` in its node"),
        };
        let volume = root_volume(group, node);
        let what = format!("{}, {} GB, to boot from", volume.kind, volume.size_gb);
        items.push(item(what, volume_of(inputs, contender, node, &volume), bill));
    }
    items
}

/// The volume that a group's machines boot from.
fn root_volume(group: &Group, node: &Node) -> Volume {
    group.root.declared.clone().unwrap_or_else(|| Volume {
        kind: group.root.kind.clone(),
        size_gb: group.root.size_gb,
        included: None,
        iops: None,
        throughput_mib_s: None,
        usd_per_month: None,
        count: 1,
        daily_snapshots: false,
        daily_change_gb: 0,
        line: node.line,
    })
}

/// What a cluster costs by its being there: the fees of its contenders, each once, and those that the study leaves out.
fn fees(inputs: &Inputs, cluster: &Cluster) -> Vec<CostItem> {
    if cluster.provider == Provider::Kubernetes {
        return Vec::new();
    }
    let mut found: Vec<(String, Option<MicroUsd>)> = Vec::new();
    let contenders: Vec<&Contender> = cluster.systems.iter().filter_map(|s| inputs.study.contender(&s.contender)).collect();
    let mut kinds = Vec::new();
    for contender in &contenders {
        for fee in contender.fees.iter().filter(|fee| fee.group == LineGroup::Fee) {
            let by_time = matches!(fee.terms, FeeTerms::Hour(_) | FeeTerms::Month(_) | FeeTerms::Listed { quantity: None, .. });
            let kind = kind_of(inputs, contender, cluster, fee);
            let is_known = found.iter().any(|(name, _)| *name == fee.name) || !kind.is_empty() && kinds.contains(&kind);
            // A study may bill a load balancer, and perbuck makes none.
            if by_time && !is_known && kind != "load-balancer" {
                kinds.push(kind);
                found.push((fee.name.clone(), of_fee(inputs, contender, fee)));
            }
        }
    }
    let item = |what: String, each, bill| CostItem {
        cluster: cluster.name.clone(),
        contender: String::new(),
        role: String::new(),
        what,
        count: 1,
        each,
        bill,
    };
    let shared = if contenders.len() > 1 { InBill::Shared } else { InBill::Line };
    let mut items: Vec<CostItem> = found.into_iter().map(|(name, each)| item(name, each, shared.clone())).collect();
    let Some(contender) = contenders.first() else { return items };
    for (kind, what) in [("control-plane", "control plane"), ("nat", "NAT gateway")] {
        // Nodes of GKE have addresses of their own; those of EKS reach registries by a gateway.
        let needed = kind == "control-plane" || cluster.provider == Provider::Eks;
        if needed && !kinds.iter().any(|of| of == kind) {
            let each = listed(inputs, contender, cluster, kind).and_then(|fee| of_fee(inputs, contender, &fee));
            items.push(item(what.to_owned(), each, InBill::Missing("add a `fee` with its `item` to the contender")));
        }
    }
    items
}

/// What kind of fee it is, by the price list, or by its name.
fn kind_of(inputs: &Inputs, contender: &Contender, cluster: &Cluster, fee: &Fee) -> String {
    let by_list = || match &fee.terms {
        FeeTerms::Listed { item, .. } => list(inputs, contender)?.listed(cluster.region.as_deref()?, item).map(|l| l.kind.word()),
        _ => None,
    };
    let name = fee.name.to_lowercase();
    let has = |wanted: &str| name.split(|c: char| !c.is_alphanumeric()).any(|word| word == wanted);
    let by_name = match () {
        () if name.contains("control plane") => "control-plane",
        () if name.contains("load balancer") => "load-balancer",
        () if has("nat") => "nat",
        () => "",
    };
    by_list().unwrap_or(by_name).to_owned()
}

/// The first price of a kind that the list has for something that is paid by the hour.
fn listed(inputs: &Inputs, contender: &Contender, cluster: &Cluster, kind: &str) -> Option<Fee> {
    let region = cluster.region.as_deref()?;
    let mut all = list(inputs, contender)?.listed.iter().filter(|l| l.region == region || l.region == "*");
    let first = all.find(|l| l.kind.word() == kind && l.unit == "hour")?;
    let terms = FeeTerms::Listed { item: first.item.clone(), quantity: None };
    Some(Fee { name: first.item.clone(), group: LineGroup::Fee, count: 1, terms, line: contender.line })
}

/// The contender of a group; for the client of all the first that has one.
fn contender_of<'i>(inputs: &'i Inputs, cluster: &Cluster, own: Option<&str>) -> Option<&'i Contender> {
    let first = || {
        let all = cluster.systems.iter().filter_map(|system| inputs.study.contender(&system.contender));
        all.into_iter().find(|contender| contender.nodes.iter().any(|node| node.role == CLIENT))
    };
    own.map_or_else(first, |name| inputs.study.contender(name))
}

fn list<'i>(inputs: &'i Inputs, contender: &Contender) -> Option<&'i Snapshot> {
    let own = contender.snapshot.as_ref();
    own.map_or(inputs.lists.0.first(), |own| inputs.lists.0.iter().find(|list| list.name == own.value))
}

/// What a bill of this alone comes to in a month, in the region of the contender; `None` where no list has its price.
fn priced(inputs: &Inputs, contender: &Contender, alone: &Contender) -> Option<MicroUsd> {
    let region: &Located<String> = contender.region.as_ref().or(inputs.study.price.regions.first())?;
    let bill = perbuck_prices::bill(alone, region, &inputs.study.price, list(inputs, contender)?, None, &inputs.name).ok()?;
    Some(MicroUsd(bill.lines.iter().map(|line| line.monthly.0).sum()))
}

fn machine(inputs: &Inputs, contender: &Contender, node: &Node, instance: &str) -> Option<MicroUsd> {
    let node = Node { instance: instance.to_owned(), ..bare(node) };
    priced(inputs, contender, &Contender { nodes: vec![node], ..Contender::default() })
}

/// One volume: what a machine with it costs above one without, so that the one rule for prices holds.
fn volume_of(inputs: &Inputs, contender: &Contender, node: &Node, volume: &Volume) -> Option<MicroUsd> {
    let alone = |volumes: Vec<Volume>| {
        // A price of its own for the machine lets the volume be priced where the list lacks the machine.
        let node = Node { volumes, payment: Payment::Own(MicroUsd(0)), ..bare(node) };
        priced(inputs, contender, &Contender { nodes: vec![node], ..Contender::default() })
    };
    alone(vec![Volume { count: 1, daily_snapshots: false, ..volume.clone() }])
}

fn bare(node: &Node) -> Node {
    // What perbuck starts has no commitment, and is no spare capacity.
    let payment = if let Payment::Own(price) = node.payment { Payment::Own(price) } else { Payment::OnDemand };
    Node { count: 1, priced: true, volumes: Vec::new(), root_volume: None, payment, ..node.clone() }
}

fn of_fee(inputs: &Inputs, contender: &Contender, fee: &Fee) -> Option<MicroUsd> {
    priced(inputs, contender, &Contender { fees: vec![fee.clone()], ..Contender::default() })
}

/// What something that was seen costs in a month.
fn of_seen(inputs: &Inputs, cluster: &Cluster, seen: &Seen) -> Option<MicroUsd> {
    let (contender, node) = node_of(inputs, cluster, seen)?;
    match &seen.what {
        What::Node(instance) => machine(inputs, contender, node, instance),
        What::Volume => volume_of(inputs, contender, node, node.volumes.first()?),
    }
}

/// What the volume that a node boots from costs in a month, where perbuck made the node.
fn root_of(inputs: &Inputs, cluster: &Cluster, seen: &Seen) -> Option<Option<MicroUsd>> {
    let own = |group: &&Group| group.contender.as_deref().unwrap_or_default() == seen.contender && group.role == seen.role;
    let group = cluster.groups.iter().find(own).filter(|group| !group.root.kind.is_empty())?;
    let (contender, node) = node_of(inputs, cluster, seen)?;
    Some(volume_of(inputs, contender, node, &root_volume(group, node)))
}

fn node_of<'i>(inputs: &'i Inputs, cluster: &Cluster, seen: &Seen) -> Option<(&'i Contender, &'i Node)> {
    let own = Some(seen.contender.as_str()).filter(|name| !name.is_empty());
    let contender = contender_of(inputs, cluster, own)?;
    Some((contender, contender.nodes.iter().find(|node| node.role == seen.role)?))
}
