//! What is deployed for a study, from its contenders: clusters, groups of nodes, and database systems on them.

use std::collections::BTreeMap;

use perbuck_core::problem::Problem;
use perbuck_core::study::{Contender, DeploySpec, Located, Machine, Provider, Scalar, Study, Volume};

use super::component::{Component, Kind};
use super::label;
use planner::Planner;

mod checks;
mod planner;

pub use perbuck_core::study::{ADMIN, CLIENT};

/// A name of Kubernetes has no more characters (RFC 1123, a label).
const NAME_LIMIT: usize = 63;

/// All clusters of a study.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The study's name, as a label.
    pub study: String,
    /// Each cluster, in the order of the contenders.
    pub clusters: Vec<Cluster>,
}

/// One Kubernetes cluster. Contenders of one provider and region share it, so that they share a network with each other and with the client.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Its name in this study.
    pub name: String,
    /// Its name in the cloud: that of the study, and in a deployment a part of its number, so that no other deployment has it.
    pub cloud_name: String,
    /// Who makes it.
    pub provider: Provider,
    /// Where it is; `None` where it exists already.
    pub region: Option<String>,
    /// The context in the user's kubeconfig; `None` is the current one, or the one that the provider's tool writes.
    pub context: Option<String>,
    /// The version of Kubernetes.
    pub kubernetes: String,
    /// All zones of its nodes.
    pub zones: Vec<String>,
    /// All zones that the study names for it, in its order; nodes may stand in fewer.
    pub named_zones: Vec<String>,
    /// The version of TiDB Operator, where one is needed.
    pub operator: Option<String>,
    /// A file of the user with its CustomResourceDefinitions.
    pub crds: Option<String>,
    /// The operator's image, where the study names one.
    pub operator_image: Option<String>,
    /// The image of perbuck, which is the load agents'; without one the user starts them.
    pub agent: Option<String>,
    /// Its groups of nodes: those of each contender in the order of the study, the client's at the end.
    pub groups: Vec<Group>,
    /// The database systems on it.
    pub systems: Vec<System>,
}

/// Machines that are alike.
#[derive(Debug, Clone)]
pub struct Group {
    /// Its name, `arm-tikv`.
    pub name: String,
    /// Whose it is; `None` for the client of all.
    pub contender: Option<String>,
    /// The role that the study gives it.
    pub role: String,
    /// The part under test that runs there; `None` for the client's machines and the admin's.
    pub component: Option<Component>,
    /// The instance type.
    pub instance: String,
    /// What the price list says of that type.
    pub machine: Machine,
    /// How many machines.
    pub count: u32,
    /// The zones that they are spread over.
    pub zones: Vec<String>,
    /// The volume of the data on each, where the component keeps data.
    pub data: Option<Volume>,
    /// The volume that each boots from.
    pub root: Root,
    /// The node of the study.
    pub line: usize,
}

/// The volume that a machine boots from.
#[derive(Debug, Clone)]
pub struct Root {
    /// gp3, pd-balanced, …; empty where the user makes the nodes.
    pub kind: String,
    /// Size in GB.
    pub size_gb: u32,
    /// What the study says of it; `None` where perbuck chose it.
    pub declared: Option<Volume>,
}

/// One database system: what a contender is.
#[derive(Debug, Clone)]
pub struct System {
    /// The contender.
    pub contender: String,
    /// Its namespace.
    pub namespace: String,
    /// What it is.
    pub kind: Kind,
    /// Its version, as images are tagged.
    pub version: String,
    /// Copies of the data, where the study declares them.
    pub replication_factor: Option<u32>,
    /// The image of each component.
    pub images: BTreeMap<Component, String>,
    /// How many connections its servers must take: those of the largest trial, and some of perbuck's own.
    pub connections: u32,
    /// Settings by component.
    pub config: BTreeMap<Component, BTreeMap<String, Located<Scalar>>>,
    /// Parameters of the storage class.
    pub storage: BTreeMap<String, String>,
    /// Line of `deploy` in the study.
    pub line: usize,
}

impl Cluster {
    /// The groups of a system, one for each component.
    pub fn groups_of<'a>(&'a self, system: &'a System) -> impl Iterator<Item = (Component, &'a Group)> {
        let own = self.groups.iter().filter(|g| g.contender.as_deref() == Some(system.contender.as_str()));
        own.filter_map(|g| Some((g.component?, g)))
    }

    /// The groups of the client's machines.
    pub fn clients(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().filter(|g| g.role == CLIENT)
    }
}

/// The machines of a group in one zone: what EKS calls a node group, and GKE a node pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// Its name: that of the group, with the zone where there are several.
    pub name: String,
    /// Its zone; `None` where the user made the nodes.
    pub zone: Option<String>,
    /// How many machines.
    pub count: u32,
}

impl Group {
    /// Its machines by zone, evenly; the first zones have one more. A pool of several zones spreads them only as well as it can.
    pub fn pools(&self) -> Vec<Pool> {
        let zones = self.zones.len() as u32;
        let pool = |name: String, zone: Option<&String>, count| Pool { name, zone: zone.cloned(), count };
        if zones < 2 {
            return vec![pool(self.name.clone(), self.zones.first(), self.count)];
        }
        let counts = (0..zones).map(|n| self.count / zones + u32::from(n < self.count % zones));
        let named = |zone: &String| format!("{}-{}", self.name, zone.rsplit('-').next().unwrap_or(zone));
        self.zones.iter().zip(counts).filter(|(_, n)| *n > 0).map(|(zone, n)| pool(named(zone), Some(zone), n)).collect()
    }

    /// The labels of its nodes.
    pub fn labels(&self, study: &str) -> Vec<(&'static str, String)> {
        let contender = self.contender.iter().map(|of| (label::CONTENDER, dns(of)));
        [(label::STUDY, study.to_owned())].into_iter().chain(contender).chain([(label::ROLE, self.role.clone())]).collect()
    }

    /// Whether a taint keeps other pods from its nodes: all but the admin's, where DNS, volume driver and operator run.
    pub fn is_tainted(&self) -> bool {
        self.role != ADMIN
    }

    /// How a comment calls its line of the study: `` `node.count` of arm, tikv``.
    pub fn source(&self, key: &str) -> String {
        let of = self.contender.as_deref().map_or_else(|| self.role.clone(), |of| format!("{of}, {}", self.role));
        format!("`node.{key}` of {of}")
    }
}

/// A text as a name of Kubernetes: lower case, digits and `-`.
pub fn dns(text: &str) -> String {
    let mut name: String = text.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    while name.contains("--") {
        name = name.replace("--", "-");
    }
    name.trim_matches('-').to_owned()
}

impl Plan {
    /// What is deployed for a study; `None` where no contender has `deploy`. `file` is how messages call the study.
    ///
    /// # Errors
    /// Every contender that cannot be deployed as it stands, with its line and the way out.
    pub fn of(study: &Study, file: &str) -> Result<Option<Self>, Vec<Problem>> {
        let deployed: Vec<(&Contender, &DeploySpec)> = study
            .contenders
            .iter()
            .filter(|c| c.control_of.is_none() && c.target.is_none())
            .filter_map(|c| Some((c, c.deploy.as_ref()?)))
            .collect();
        if deployed.is_empty() && !study.sweep.one_by_one {
            return Ok(None);
        }
        let mut planner = Planner { study, file, problems: Vec::new(), clusters: Vec::new() };
        for (contender, spec) in &deployed {
            planner.contender(contender, spec);
        }
        planner.clients(&deployed);
        planner.one_by_one(deployed.len());
        planner.problems.sort_by_key(|p| p.line);
        planner.problems.dedup();
        if planner.problems.is_empty() {
            Ok(Some(Self { study: dns(&study.name), clusters: planner.clusters }))
        } else {
            Err(planner.problems)
        }
    }
}

/// Digits of a deployment's number in the names of its clusters.
const ID_DIGITS: usize = 6;

impl Plan {
    /// The plan of one deployment: its clusters have names of their own.
    #[must_use]
    pub fn of_deployment(mut self, id: &str) -> Self {
        for cluster in self.clusters.iter_mut().filter(|cluster| cluster.provider != Provider::Kubernetes) {
            cluster.cloud_name = format!("{}-{}", cluster.name, &id[..ID_DIGITS.min(id.len())]);
        }
        self
    }
}

#[cfg(test)]
mod tests;
