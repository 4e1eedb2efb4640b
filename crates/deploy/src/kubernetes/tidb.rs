//! A TiDB cluster as TiDB Operator 1.6 reads it: a TidbCluster, and a TidbMonitor where the study has a machine for one.

use toml_edit::{Array, Value as Toml};

use super::object::{Entry, Object, Value, entry, map, texts};
use super::plan::{ADMIN, Cluster, Group, Plan, System};
use super::settings::{self, Settings};
use super::{Component, Kind, pod, storage};

/// The name of the TidbCluster and of the TidbMonitor. What the operator makes of them begins with it: `tidb-tikv-0`.
pub const NAME: &str = "tidb";
/// Runs beside TiDB and TiFlash for their logs; this one is for both architectures.
const HELPER: &str = "busybox:1.36.1";
/// Brings the rules of alerts. perbuck uses none of them, so that its version need not be the cluster's.
const INITIALIZER: (&str, &str) = ("pingcap/tidb-monitor-initializer", "v8.5.7");
/// Tells Prometheus of rules that change (the examples of TiDB Operator 1.6 name this version).
const RELOADER: (&str, &str) = ("pingcap/tidb-monitor-reloader", "v1.0.1");
/// Days that Prometheus keeps.
const RETENTION_DAYS: u32 = 15;
/// The setting of TiDB that says how many of its old logs stay.
const LOGS: &str = "log.file.max-backups";
const LOGS_KEPT: i64 = 3;
/// The setting of PD that the study's `replication_factor` is.
pub(super) const REPLICAS: &str = "replication.max-replicas";
/// Copies of the data where the study says nothing of them: PD's default.
pub(super) const COPIES: u32 = 3;
/// The setting of PD that names the labels of locations, so that no two copies of a region are in one zone.
const LOCATIONS: &str = "replication.location-labels";
/// Settings of TiFlash that begin so are those of the proxy beside it.
const PROXY: &str = "proxy.";

/// The objects of a system; nothing where it is no TiDB cluster.
pub fn objects(plan: &Plan, cluster: &Cluster, system: &System) -> Vec<Object> {
    if system.kind != Kind::Tidb {
        return Vec::new();
    }
    let monitor = cluster.groups_of(system).find(|(component, _)| *component == Component::Monitor);
    let monitor = monitor.map(|(_, group)| monitored(plan, cluster, system, group));
    [tidb_cluster(plan, cluster, system)].into_iter().chain(monitor).collect()
}

fn metadata(plan: &Plan, system: &System) -> Entry {
    pod::metadata(NAME, Some(&system.namespace), pod::of_contender(plan, Some(&system.contender)))
}

fn tidb_cluster(plan: &Plan, cluster: &Cluster, system: &System) -> Object {
    let own = Kind::Tidb.components().iter().filter(|component| **component != Component::Monitor);
    let components = own.filter_map(|component| {
        let (_, group) = cluster.groups_of(system).find(|(of, _)| of == component)?;
        Some(entry(component.role(), map(of_component((plan, cluster), system, *component, group))))
    });
    let spec = [
        entry("version", system.version.as_str()),
        entry("timezone", "UTC"),
        entry("imagePullPolicy", "IfNotPresent"),
        entry("configUpdateStrategy", "RollingUpdate"),
        entry("enableDynamicConfiguration", true),
        entry("pvReclaimPolicy", "Delete").of("the volumes go with the cluster, so that nothing is billed after it"),
        entry("hostNetwork", false),
        entry("labels", texts(pod::of_contender(plan, Some(&system.contender)))),
        entry("helper", map([entry("image", HELPER)])),
        entry("discovery", discovery(plan, cluster, system)),
    ];
    let mut object = Object::new(
        format!("TiDB {} of the contender `{}`.", system.version, system.contender),
        [
            entry("apiVersion", "pingcap.com/v1alpha1"),
            entry("kind", "TidbCluster"),
            metadata(plan, system),
            entry("spec", map(spec.into_iter().chain(components))),
        ],
    );
    object
        .head
        .push("The user root has no password: no service of it is reachable from outside of the cluster's network.".to_owned());
    object
}

/// Tells a new PD of the others. It is no part under test, so that it runs on the machine for those.
fn discovery(plan: &Plan, cluster: &Cluster, system: &System) -> Value {
    let admin = cluster.groups.iter().find(|g| g.role == ADMIN && g.contender.as_ref() == Some(&system.contender));
    let memory = |size: &'static str| entry("memory", size);
    let entries = [
        entry("labels", texts(pod::of_role(ADMIN, None))),
        entry("requests", map([entry("cpu", "50m"), memory("64Mi")])),
        entry("limits", map([memory("256Mi")])),
    ];
    let nodes = admin.map(|group| pod::node_selector(plan, group)).into_iter();
    map(entries.into_iter().chain(nodes).chain(admin.and_then(|group| pod::tolerations(cluster, group))))
}

/// What the operator makes a component's StatefulSet of.
fn of_component((plan, cluster): (&Plan, &Cluster), system: &System, component: Component, group: &Group) -> Vec<Entry> {
    let image = system.images.get(&component).map_or("", String::as_str);
    let (base, version) = pod::image(image);
    let mut all = vec![entry("baseImage", base)];
    if version != system.version {
        all.push(entry("version", version));
    }
    all.push(entry("replicas", group.count).of(format!("the node's machines: {}", group.instance)));
    all.push(entry("maxFailoverCount", 0_u32).of("a failed server gets no successor, which would change what is measured"));
    let class = storage::class(system, component);
    match (&group.data, component) {
        (Some(volume), Component::Tiflash) => {
            all.extend(pod::resources(cluster, group, None));
            let requests = map([entry("storage", storage::size(volume)).of(format!("{} of the node", volume.kind))]);
            let claim = map([entry("resources", map([entry("requests", requests)])), entry("storageClassName", class)]);
            all.push(entry("storageClaims", vec![claim]));
        }
        (Some(volume), _) => {
            all.extend(pod::resources(cluster, group, Some(volume)));
            all.push(entry("storageClassName", class));
        }
        (None, _) => all.extend(pod::resources(cluster, group, None)),
    }
    if component == Component::Tidb {
        let service = [
            entry("type", "ClusterIP").of("no load balancer: the client connects to each pod's address"),
            entry("exposeStatus", true).of("the port of metrics"),
        ];
        all.push(entry("service", map(service)));
        all.push(entry("separateSlowLog", false).of("no second container beside the server"));
    }
    all.push(entry("labels", texts(pod::of_role(&group.role, Some(component)))));
    all.push(pod::node_selector(plan, group));
    all.extend(pod::tolerations(cluster, group));
    all.push(pod::apart(pod::of_role(&group.role, Some(component))));
    if group.zones.len() > 1 {
        let zone = map([entry("topologyKey", pod::ZONE), entry("maxSkew", 1_u32)]);
        all.push(entry("topologySpreadConstraints", vec![zone]).of(format!("even over {}", group.zones.join(", "))));
    }
    all.push(entry("config", config(cluster, system, component)).of("the study's `config`, and what perbuck sets"));
    all
}

/// A component's settings: those of the study, and those that follow from its nodes.
fn config(cluster: &Cluster, system: &System, component: Component) -> Value {
    let none = Settings::new();
    let settings = system.config.get(&component).unwrap_or(&none);
    let file = |settings: &Settings, own: Vec<(&str, Toml)>| match settings::toml(settings, own) {
        empty if empty.is_empty() => map([]),
        text => Value::from(text),
    };
    match component {
        Component::Pd => file(settings, of_pd(cluster, system)),
        Component::Tiflash => {
            let part = |of_proxy: bool| -> Settings {
                let all = settings.iter().filter(|(path, _)| path.starts_with(PROXY) == of_proxy);
                let inner = all.map(|(path, found)| (path.strip_prefix(PROXY).unwrap_or(path).to_owned(), found.clone()));
                inner.collect()
            };
            map([entry("config", file(&part(false), Vec::new())), entry("proxy", file(&part(true), Vec::new()))])
        }
        Component::Tidb => file(settings, of_tidb(settings)),
        _ => file(settings, Vec::new()),
    }
}

/// A limit on slow logs, which TiDB keeps for ever by default: 300 MB each, on the volume that the machine boots from.
fn of_tidb(settings: &Settings) -> Vec<(&'static str, Toml)> {
    if settings.contains_key(LOGS) { Vec::new() } else { vec![(LOGS, Toml::from(LOGS_KEPT))] }
}

/// Copies of the data, and which labels of nodes say where each is.
fn of_pd(cluster: &Cluster, system: &System) -> Vec<(&'static str, Toml)> {
    let copies = system.replication_factor.map(|copies| (REPLICAS, Toml::from(i64::from(copies))));
    let spread = cluster.groups_of(system).any(|(component, group)| component == Component::Tikv && group.zones.len() > 1);
    let locations = || Toml::from(Array::from_iter([pod::ZONE, pod::HOST]));
    copies.into_iter().chain(spread.then(|| (LOCATIONS, locations()))).collect()
}

fn monitored(plan: &Plan, cluster: &Cluster, system: &System, group: &Group) -> Object {
    let image = |(base, version): (&str, &str)| [entry("baseImage", base), entry("version", version)];
    let prometheus = system.images.get(&Component::Monitor).map_or("", String::as_str);
    let mut container = image(pod::image(prometheus)).to_vec();
    container.extend(pod::resources(cluster, group, None));
    container.push(entry("reserveDays", RETENTION_DAYS));
    container.push(entry("service", map([entry("type", "ClusterIP")])));
    let volume = group.data.iter().flat_map(|volume| {
        [
            entry("persistent", true),
            entry("storage", storage::size(volume)).of(format!("{} of the node", volume.kind)),
            entry("storageClassName", storage::class(system, Component::Monitor)),
        ]
    });
    let spec = [
        entry("clusters", vec![texts([("name", NAME), ("namespace", system.namespace.as_str())])]),
        entry("replicas", 1_u32),
        entry("pvReclaimPolicy", "Delete"),
        entry("imagePullPolicy", "IfNotPresent"),
        entry("prometheus", map(container)),
        entry("initializer", map(image(INITIALIZER))),
        entry("reloader", map(image(RELOADER))),
        entry("labels", texts(pod::labels(plan, group))),
        pod::node_selector(plan, group),
    ];
    let entries = spec.into_iter().chain(pod::tolerations(cluster, group)).chain(volume);
    let mut object = Object::new(
        format!("Prometheus of the contender `{}`, without Grafana.", system.contender),
        [
            entry("apiVersion", "pingcap.com/v1alpha1"),
            entry("kind", "TidbMonitor"),
            metadata(plan, system),
            entry("spec", map(entries)),
        ],
    );
    object.head.push(
        "Delete it while the operator runs: only the operator removes its finalizer, and its namespace stays until then."
            .to_owned(),
    );
    object
}
