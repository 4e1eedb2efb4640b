//! All files and objects of a plan, in the order in which they are applied.

use perbuck_core::study::Provider;

use super::gke::Step;
use super::object::{Object, yaml_file};
use super::plan::{CLIENT, dns};
use super::{Cluster, Plan, System, agents, eks, gke, label, operator, single, storage, tidb};
use crate::kubernetes::component::Kind;

/// The component of the load's agents, in labels of pods.
pub const AGENT: &str = "agent";

/// One cluster with everything on it.
#[derive(Debug, Clone)]
pub struct Rendered {
    /// The study's name, as its label.
    pub study: String,
    /// The namespace of what perbuck itself runs: operator and agents.
    pub namespace: String,
    /// The cluster.
    pub cluster: Cluster,
    /// How it is made.
    pub create: Create,
    /// What is applied to it, in order.
    pub layers: Vec<Layer>,
    /// The load's agents on it.
    pub agents: Vec<Agents>,
}

/// How a cluster comes to be.
#[derive(Debug, Clone)]
pub enum Create {
    /// It exists.
    Exists,
    /// By eksctl, from this configuration.
    Eksctl(Box<Object>),
    /// By gcloud, step by step.
    Gcloud {
        /// The steps that make it.
        up: Vec<Step>,
        /// The steps that end it.
        down: Vec<Step>,
    },
}

/// Objects that are applied together.
#[derive(Debug, Clone)]
pub struct Layer {
    /// The file that has them.
    pub file: String,
    /// What they are.
    pub head: String,
    /// The address of the kinds that must be served before.
    pub crds: Option<String>,
    /// Secrets that must be there before: they have random texts, and no file has them.
    pub secrets: Vec<Secret>,
    /// The objects.
    pub objects: Vec<Object>,
}

/// A secret of one random text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The key of its text.
    pub key: String,
    /// Its labels.
    pub labels: Vec<(String, String)>,
}

/// Agents on the machines of one client.
#[derive(Debug, Clone)]
pub struct Agents {
    /// Whose they are; `None` where they drive all contenders.
    pub contender: Option<String>,
    /// Their namespace.
    pub namespace: String,
    /// How many.
    pub count: u32,
    /// The port that they listen at.
    pub port: u16,
    /// The secret of their token.
    pub secret: String,
    /// Its key.
    pub key: String,
}

/// A file of a rendering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path, below the folder of the rendering.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// Renders a plan.
pub fn render(plan: &Plan) -> Vec<Rendered> {
    plan.clusters.iter().map(|cluster| one(plan, cluster)).collect()
}

fn one(plan: &Plan, cluster: &Cluster) -> Rendered {
    let create = match cluster.provider {
        Provider::Kubernetes => Create::Exists,
        Provider::Eks => Create::Eksctl(Box::new(eks::config(plan, cluster))),
        Provider::Gke => Create::Gcloud { up: gke::steps(plan, cluster), down: gke::teardown(plan, cluster) },
    };
    let layer = |file: &str, head: &str, objects| {
        let (file, head, secrets) = (file.to_owned(), head.to_owned(), Vec::new());
        Layer { file, head, crds: None, secrets, objects }
    };
    let mut layers = vec![layer("2-base.yaml", "Namespaces and storage classes.", storage::objects(plan, cluster))];
    if let Some(version) = &cluster.operator {
        let operator = layer("3-operator.yaml", "TiDB Operator.", operator::objects(plan, cluster));
        layers.push(Layer { crds: Some(operator::crds_url(version)), ..operator });
    }
    for system in &cluster.systems {
        let objects = match system.kind {
            Kind::Tidb => tidb::objects(plan, cluster, system),
            Kind::Mysql | Kind::Postgres => single::objects(plan, cluster, system),
        };
        let file = format!("4-{}.yaml", system.contender);
        let head = format!("Contender `{}`: {} {}.", system.contender, system.kind.label(), system.version);
        layers.push(Layer { secrets: root_secret(plan, system), ..layer(&file, &head, objects) });
    }
    let agents = agents::all(plan, cluster);
    if !agents.is_empty() {
        let own = layer("5-agents.yaml", "The agents that make the load.", agents::objects(plan, cluster));
        layers.push(Layer { secrets: vec![agents::token(plan)], ..own });
    }
    let namespace = operator::namespace(plan);
    Rendered { study: plan.study.clone(), namespace, cluster: cluster.clone(), create, layers, agents }
}

/// The password of a system's administrator, where it has one.
fn root_secret(plan: &Plan, system: &System) -> Vec<Secret> {
    let Some((name, key)) = system.kind.password_secret() else { return Vec::new() };
    let labels = [(label::STUDY, plan.study.as_str()), (label::CONTENDER, &dns(&system.contender))];
    vec![Secret {
        namespace: system.namespace.clone(),
        name: name.to_owned(),
        key: key.to_owned(),
        labels: labels.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec(),
    }]
}

impl Rendered {
    /// The namespaces that it makes.
    pub fn namespaces(&self) -> Vec<String> {
        let all = self.layers.iter().flat_map(|layer| &layer.objects);
        all.filter(|object| object.kind() == "Namespace").map(|object| object.name().to_owned()).collect()
    }

    /// Its files, each below a folder of the cluster's name.
    pub fn files(&self) -> Vec<File> {
        let path = |name: &str| format!("{}/{name}", self.cluster.name);
        let mut files = match &self.create {
            Create::Exists => Vec::new(),
            Create::Eksctl(config) => vec![File { path: path("1-cluster.yaml"), text: config.yaml() }],
            Create::Gcloud { up, down } => vec![
                File { path: path("1-cluster.sh"), text: gke::script(up) },
                File { path: path("9-down.sh"), text: gke::script(down) },
            ],
        };
        files.extend(self.layers.iter().map(|layer| {
            let mut head = vec![layer.head.clone()];
            head.extend(layer.crds.iter().map(|url| format!("Its kinds come first: kubectl apply --server-side -f {url}")));
            head.extend(layer.secrets.iter().map(|secret| {
                format!(
                    "Its secret comes first: {} in {}, with a random `{}`; README.md has the command.",
                    secret.name, secret.namespace, secret.key
                )
            }));
            File { path: path(&layer.file), text: yaml_file(&head, &layer.objects) }
        }));
        files
    }

    /// Whether machines for the load are there, and nothing runs on them: the study names no image of perbuck.
    pub fn has_idle_clients(&self) -> bool {
        self.agents.is_empty() && self.cluster.groups.iter().any(|group| group.role == CLIENT)
    }
}
