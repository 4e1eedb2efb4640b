//! One MySQL or PostgreSQL server: its settings, its address, and a StatefulSet of one pod.

use super::object::{Entry, Object, Value, entry, map, texts};
use super::plan::{Cluster, Group, Plan, System};
use super::settings::{self, Settings};
use super::{Component, Kind, pod, storage};

/// A clean shutdown writes all changed pages of the buffer pool, which takes minutes.
const SHUTDOWN_SECONDS: u32 = 900;
/// The group of the server's user in both official images.
const GROUP: u32 = 999;

/// What one kind of server has of its own.
struct Server {
    component: Component,
    /// The name of its file of settings.
    file: &'static str,
    /// Where the file of settings is in its container.
    file_path: &'static str,
    /// Where its volume is.
    data: &'static str,
    /// The folder of the volume with the data; a new volume holds `lost+found`, which a new database refuses beside it.
    folder: Option<&'static str>,
    /// Arguments of the server.
    arguments: &'static [&'static str],
    /// The variable with the password of its first user.
    password: &'static str,
    /// Other variables.
    environment: &'static [(&'static str, &'static str, &'static str)],
    /// Succeeds once the server takes connections. It goes over TCP, where the server of the first start does not listen.
    ready: &'static [&'static str],
}

const MYSQL: Server = Server {
    component: Component::Mysql,
    file: "my.cnf",
    file_path: "/etc/mysql/conf.d/perbuck.cnf",
    data: "/var/lib/mysql",
    folder: Some("mysql"),
    arguments: &[],
    password: "MYSQL_ROOT_PASSWORD",
    environment: &[("MYSQL_ROOT_HOST", "%", "root may log in from the network")],
    ready: &["mysqladmin", "ping", "--host=127.0.0.1", "--user=root", "--silent"],
};

const POSTGRES: Server = Server {
    component: Component::Postgres,
    file: "postgresql.conf",
    file_path: "/etc/perbuck/postgresql.conf",
    data: "/perbuck",
    folder: None,
    arguments: &["postgres", "-c", "config_file=/etc/perbuck/postgresql.conf"],
    password: "POSTGRES_PASSWORD",
    environment: &[("PGDATA", "/perbuck/pgdata", "a folder of the volume, which also holds lost+found")],
    ready: &["pg_isready", "--host=127.0.0.1", "--username=postgres", "--quiet"],
};

/// The objects of a system; nothing where it is no single server.
pub fn objects(plan: &Plan, cluster: &Cluster, system: &System) -> Vec<Object> {
    let Some(server) = Server::of(system.kind) else { return Vec::new() };
    let Some((_, group)) = cluster.groups_of(system).find(|(component, _)| *component == server.component) else {
        return Vec::new();
    };
    server.objects(plan, cluster, system, group)
}

impl Server {
    fn of(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Mysql => Some(MYSQL),
            Kind::Postgres => Some(POSTGRES),
            Kind::Tidb => None,
        }
    }

    fn objects(&self, plan: &Plan, cluster: &Cluster, system: &System, group: &Group) -> Vec<Object> {
        let name = self.component.role();
        let head = |kind: &str, api: &str| {
            let metadata = pod::metadata(name, Some(&system.namespace), pod::labels(plan, group));
            [entry("apiVersion", api), entry("kind", kind), metadata]
        };
        let none = Settings::new();
        let settings = system.config.get(&self.component).unwrap_or(&none);
        let text = match self.component {
            Component::Mysql => settings::my_cnf(settings, system.connections),
            _ => settings::postgresql_conf(settings, system.connections),
        };
        let port = map([entry("name", name), entry("port", u32::from(self.component.port()))]);
        let service = [
            entry("clusterIP", "None").of("the client connects to the pod's address"),
            entry("selector", texts(pod::of_role(name, Some(self.component)))),
            entry("ports", vec![port]),
        ];
        let server = format!("{} {} of the contender `{}`.", system.kind.label(), system.version, system.contender);
        let data = entry("data", map([entry(self.file, text)]));
        let mut set = Object::new(
            server,
            head("StatefulSet", "apps/v1").into_iter().chain([entry("spec", self.stateful_set(plan, cluster, system, group))]),
        );
        let user = if self.component == Component::Mysql { "root" } else { "postgres" };
        set.head
            .push(format!("The password of its user {user} is in the Secret `{name}-root`, which `perbuck deploy up` makes."));
        vec![
            Object::new("The settings of the study's `config`.", head("ConfigMap", "v1").into_iter().chain([data])),
            Object::new("The server's name.", head("Service", "v1").into_iter().chain([entry("spec", map(service))])),
            set,
        ]
    }

    fn stateful_set(&self, plan: &Plan, cluster: &Cluster, system: &System, group: &Group) -> Value {
        let name = self.component.role();
        let claim = group.data.iter().map(|volume| {
            let requests = map([entry("storage", storage::size(volume)).of(format!("{} of the node", volume.kind))]);
            map([
                entry("metadata", map([entry("name", "data"), entry("labels", texts(pod::labels(plan, group)))])),
                entry(
                    "spec",
                    map([
                        entry("accessModes", vec!["ReadWriteOnce"]),
                        entry("storageClassName", storage::class(system, self.component)),
                        entry("resources", map([entry("requests", requests)])),
                    ]),
                ),
            ])
        });
        let template = [
            entry("metadata", map([entry("labels", texts(pod::labels(plan, group)))])),
            entry("spec", map(self.spec(plan, cluster, system, group))),
        ];
        map([
            entry("replicas", group.count).of(format!("the node's machine: {}", group.instance)),
            entry("serviceName", name),
            entry("selector", map([entry("matchLabels", texts(pod::of_role(name, Some(self.component))))])),
            entry("template", map(template)),
            entry("volumeClaimTemplates", claim.collect::<Vec<Value>>()),
        ])
    }

    fn spec(&self, plan: &Plan, cluster: &Cluster, system: &System, group: &Group) -> Vec<Entry> {
        let group_of_files = [entry("fsGroup", GROUP), entry("fsGroupChangePolicy", "OnRootMismatch")];
        let mut volumes = vec![map([entry("name", "settings"), entry("configMap", map([entry("name", self.component.role())]))])];
        if self.component == Component::Postgres {
            volumes.push(map([entry("name", "shared"), entry("emptyDir", map([entry("medium", "Memory")]))]));
        }
        let mut all = vec![
            entry("terminationGracePeriodSeconds", SHUTDOWN_SECONDS).of("a clean shutdown writes the whole buffer pool"),
            entry("automountServiceAccountToken", false),
            entry("enableServiceLinks", false),
            entry("securityContext", map(group_of_files)),
            pod::node_selector(plan, group),
        ];
        all.extend(pod::tolerations(cluster, group));
        all.push(entry("containers", vec![self.container(cluster, system, group)]));
        all.push(entry("volumes", volumes));
        all
    }

    fn container(&self, cluster: &Cluster, system: &System, group: &Group) -> Value {
        let name = self.component.role();
        let (secret, key) = system.kind.password_secret().unwrap_or_default();
        let key = map([entry("name", secret), entry("key", key)]);
        let password = map([entry("name", self.password), entry("valueFrom", map([entry("secretKeyRef", key)]))]);
        let others = self.environment.iter().map(|&(name, value, why)| map([entry("name", name), entry("value", value).of(why)]));
        let ready = entry("exec", map([entry("command", self.ready.to_vec())]));
        let every = |seconds: u32, failures: u32, allowed: u32| {
            map([
                ready.clone(),
                entry("periodSeconds", seconds),
                entry("timeoutSeconds", allowed),
                entry("failureThreshold", failures),
            ])
        };
        let image = system.images.get(&self.component).map_or("", String::as_str);
        let mut all = vec![entry("name", name), entry("image", image)];
        if !self.arguments.is_empty() {
            all.push(entry("args", self.arguments.to_vec()));
        }
        all.push(entry("env", [password].into_iter().chain(others).collect::<Vec<Value>>()));
        let port = map([entry("name", name), entry("containerPort", u32::from(self.component.port()))]);
        all.push(entry("ports", vec![port]));
        all.push(entry("resources", map(pod::resources(cluster, group, None))));
        all.push(entry("startupProbe", every(2, 900, 5)).of("30 minutes: recovery after a crash reads the whole log"));
        all.push(
            entry("readinessProbe", every(30, 3, 10)).of("seldom, and slow to give up: a server under load is late to answer"),
        );
        all.push(entry("volumeMounts", self.mounts()));
        map(all)
    }

    fn mounts(&self) -> Vec<Value> {
        let folder = self.folder.map(|folder| entry("subPath", folder).of("the volume also holds lost+found"));
        let data = [entry("name", "data"), entry("mountPath", self.data)];
        let settings = [entry("name", "settings"), entry("mountPath", self.file_path), entry("subPath", self.file)];
        let mut all = vec![map(data.into_iter().chain(folder)), map(settings)];
        if self.component == Component::Postgres {
            // Workers of one query share memory here; without a mount a container has 64 MiB.
            all.push(map([entry("name", "shared"), entry("mountPath", "/dev/shm")]));
        }
        all
    }
}
