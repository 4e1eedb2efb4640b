//! Reads the plan off a study, and finds every contender that cannot be deployed as it stands.

use std::collections::BTreeMap;

use perbuck_core::problem::{Problem, did_you_mean};
use perbuck_core::study::{Contender, DeploySpec, Located, Node, Provider, Scalar, Stands, Study};

use super::super::component::{Component, Kind};
use super::super::{gke, images, storage};
use super::{ADMIN, CLIENT, Cluster, Group, NAME_LIMIT, Root, System, dns};

/// Connections beside those of a trial: loading, checks, looks.
const OWN_CONNECTIONS: u32 = 50;

pub(super) struct Planner<'a> {
    pub(super) study: &'a Study,
    pub(super) file: &'a str,
    pub(super) problems: Vec<Problem>,
    pub(super) clusters: Vec<Cluster>,
}

impl Planner<'_> {
    pub(super) fn problem(&mut self, line: usize, message: impl Into<String>, help: impl Into<String>) {
        self.problems.push(Problem { file: self.file.to_owned(), line, message: message.into(), help: help.into() });
    }

    pub(super) fn contender(&mut self, contender: &Contender, spec: &DeploySpec) {
        let Some(kind) = Kind::named(&spec.kind.value) else {
            let help = did_you_mean(&spec.kind.value, &Kind::WORDS, || format!("use one of {}", Kind::WORDS.join(", ")));
            self.problem(spec.kind.line, format!("`deploy.kind` is `{}`", spec.kind.value), help);
            return;
        };
        let Some(position) = self.cluster(contender, spec, kind) else { return };
        let mut groups: Vec<Group> = Vec::new();
        for node in contender.nodes.iter().filter(|n| n.role != CLIENT) {
            let Some(group) = self.group(contender, spec, kind, node) else { continue };
            if groups.iter().any(|g| g.role == group.role) {
                self.problem(
                    node.line,
                    format!("`{}` has two nodes of role `{}`", contender.name, node.role),
                    "put them into one node with a `count`",
                );
            }
            groups.push(group);
        }
        for component in kind.needs() {
            if !groups.iter().any(|g| g.component == Some(*component)) {
                let message =
                    format!("`{}` has no node of role `{}`, which {} needs", contender.name, component.role(), kind.label());
                self.problem(
                    contender.line,
                    message,
                    format!("add {{ role = \"{}\", instance = …, count = … }}", component.role()),
                );
            }
        }
        if spec.provider != Provider::Kubernetes && !groups.iter().any(|g| g.role == ADMIN) {
            let message =
                format!("`{}` has no node of role `{ADMIN}`: DNS, volume driver and operator need a machine", contender.name);
            self.problem(contender.line, message, format!("add {{ role = \"{ADMIN}\", instance = …, count = 1 }}"));
        }
        let namespace = dns(&format!("perbuck-{}-{}", self.study.name, contender.name));
        if namespace.len() > NAME_LIMIT {
            let message = format!("the namespace `{namespace}` has {} characters, above {NAME_LIMIT}", namespace.len());
            self.problem(contender.line, message, "give the study or the contender a shorter name");
        }
        if let Some(other) = self.clusters.iter().flat_map(|c| &c.systems).find(|system| system.namespace == namespace) {
            let message = format!("`{}` and `{}` have one name on Kubernetes: {namespace}", other.contender, contender.name);
            self.problem(
                contender.line,
                message,
                "give one of them another name: capitals, `.` and `_` make no difference there",
            );
        }
        self.storage(contender, spec);
        let images = self.images(contender, spec, kind, &groups);
        let config = self.config(spec, kind);
        let system = System {
            contender: contender.name.clone(),
            namespace,
            kind,
            version: spec.version.value.clone(),
            replication_factor: contender.replication_factor,
            connections: self.study.most_connections().saturating_add(OWN_CONNECTIONS),
            images,
            config,
            storage: spec.storage.iter().map(|(key, found)| (key.clone(), found.value.to_string())).collect(),
            line: spec.line,
        };
        self.check(contender, spec, &system, &groups);
        self.helpers(position, contender, spec);
        let Some(cluster) = self.clusters.get_mut(position) else { return };
        cluster.groups.extend(groups);
        cluster.systems.push(system);
    }

    /// What the cluster of a contender cannot be without, and what it must not have.
    fn cluster_keys(&mut self, spec: &DeploySpec) {
        let own = spec.provider != Provider::Kubernetes;
        if own && spec.context.is_some() {
            let message = format!("`deploy.context` names a cluster that exists, and `{}` makes one", spec.provider.word());
            self.problem(spec.line, message, "leave out `context`, or use `provider = \"kubernetes\"`");
        }
        if spec.kubernetes.is_none() {
            self.problem(spec.line, "`deploy` says no version of Kubernetes", "add `kubernetes = \"1.33\"`");
        }
        if own && spec.zones.is_empty() {
            self.problem(spec.line, "`deploy` names no zone", "add `zones = [\"us-east-1a\"]`; a study is best in one");
        }
    }

    /// The position of the contender's cluster, which is made where it is the first of its provider and region.
    fn cluster(&mut self, contender: &Contender, spec: &DeploySpec, kind: Kind) -> Option<usize> {
        let own = spec.provider != Provider::Kubernetes;
        let region = contender.region.as_ref().or(self.study.price.regions.first()).filter(|_| own).map(|r| r.value.clone());
        if own && region.is_none() {
            self.problem(
                spec.line,
                format!("`{}` names no region for its cluster", contender.name),
                "add `regions = [\"us-east-1\"]` to [price]",
            );
            return None;
        }
        self.cluster_keys(spec);
        let context = spec.context.as_ref().map(|context| context.value.clone());
        let kubernetes = spec.kubernetes.as_ref().map(|v| v.value.clone()).unwrap_or_default();
        let operator = kind.has_operator().then(|| spec.operator.as_ref().map(|v| v.value.clone()));
        match operator {
            Some(None) => self.problem(spec.line, "`deploy` says no version of TiDB Operator", "add `operator = \"v1.6.6\"`"),
            None if spec.operator.is_some() => {
                self.problem(spec.line, format!("{} has no operator", kind.label()), "leave out `operator`");
            }
            _ => {}
        }
        let operator = operator.flatten();
        let crds = spec.crds.as_ref().map(|file| file.value.clone());
        let same = |c: &Cluster| c.provider == spec.provider && c.region == region && c.context == context;
        if let Some(position) = self.clusters.iter().position(same) {
            self.join(position, spec, (&kubernetes, operator, crds));
            return Some(position);
        }
        let others = self.clusters.iter().filter(|c| c.provider == spec.provider).count();
        let number = if others == 0 { String::new() } else { format!("-{}", others + 1) };
        let several = if own { format!("-{}", spec.provider.word()) } else { String::new() };
        let name = dns(&format!("perbuck-{}{several}{number}", self.study.name));
        let (groups, systems, zones) = Default::default();
        let named_zones = spec.zones.iter().map(|zone| zone.value.clone()).collect();
        self.clusters.push(Cluster {
            cloud_name: name.clone(),
            name,
            provider: spec.provider,
            region,
            context,
            kubernetes,
            zones,
            named_zones,
            operator,
            crds,
            operator_image: None,
            agent: None,
            groups,
            systems,
        });
        Some(self.clusters.len() - 1)
    }

    /// Adds what another contender says of a cluster, and finds where they differ.
    fn join(&mut self, position: usize, spec: &DeploySpec, said: (&str, Option<String>, Option<String>)) {
        let (kubernetes, operator, crds) = said;
        let cluster = &mut self.clusters[position];
        let other = |own: &Option<String>, new: &Option<String>| own.is_some() && new.is_some() && own != new;
        let differs = [
            ("kubernetes", cluster.kubernetes != kubernetes),
            ("operator", other(&cluster.operator, &operator)),
            ("crds", other(&cluster.crds, &crds)),
        ];
        for zone in &spec.zones {
            if !cluster.named_zones.contains(&zone.value) {
                cluster.named_zones.push(zone.value.clone());
            }
        }
        cluster.operator = cluster.operator.take().or(operator);
        cluster.crds = cluster.crds.take().or(crds);
        for (key, _) in differs.into_iter().filter(|(_, differs)| *differs) {
            let message = format!("contenders of one cluster differ in `deploy.{key}`");
            let help = "give both the same value: they share provider and region, so they share a cluster";
            self.problem(spec.line, message, help);
        }
    }

    fn group(&mut self, contender: &Contender, spec: &DeploySpec, kind: Kind, node: &Node) -> Option<Group> {
        let component = kind.component(&node.role);
        if component.is_none() && ![ADMIN, CLIENT].contains(&node.role.as_str()) {
            let roles: Vec<&str> = kind.roles().chain([ADMIN, CLIENT]).collect();
            let help = did_you_mean(&node.role, &roles, || format!("its roles are: {}", roles.join(", ")));
            self.problem(node.line, format!("{} runs nothing on a node of role `{}`", kind.label(), node.role), help);
            return None;
        }
        let Some(machine) = node.machine.clone() else {
            let message = format!("no price list describes `{}`, so nothing is known of its memory", node.instance);
            self.problem(node.line, message, "use an instance type of a price list: perbuck prices show LIST");
            return None;
        };
        let keeps_data = component.is_some_and(Component::keeps_data);
        let volumes = node.volumes.len() as u32 + node.volumes.iter().map(|v| v.count - 1).sum::<u32>();
        match (keeps_data, volumes) {
            (true, 0) => {
                let message = format!("`{}` keeps data, and its node has no volume", node.role);
                self.problem(node.line, message, "add `volume = { kind = \"gp3\", size_gb = 1000 }`");
            }
            (true, 2..) => self.problem(
                node.line,
                format!("`{}` has {volumes} volumes, and perbuck gives it one", node.role),
                "keep one volume",
            ),
            (false, 1..) => {
                let message = format!("`{}` keeps no data, and its node has a volume", node.role);
                self.problem(node.line, message, "write `root_volume` for the volume that a machine boots from");
            }
            _ => {}
        }
        if spec.provider == Provider::Gke {
            self.disks(node);
        }
        let of_contender =
            if node.role == CLIENT && self.study.client.stands == Stands::Apart { None } else { Some(&contender.name) };
        let name = dns(&of_contender.map_or_else(|| node.role.clone(), |of| format!("{of}-{}", node.role)));
        Some(Group {
            name,
            contender: of_contender.cloned(),
            role: node.role.clone(),
            component,
            instance: node.instance.clone(),
            machine,
            count: node.count,
            zones: self.zones(spec, node),
            data: node.volumes.first().filter(|_| keeps_data).cloned(),
            root: root(spec.provider, node),
            line: node.line,
        })
    }

    /// The zones of a node: the one that it names, or as many of the contender's as it says.
    fn zones(&mut self, spec: &DeploySpec, node: &Node) -> Vec<String> {
        let all: Vec<String> = spec.zones.iter().map(|zone| zone.value.clone()).collect();
        let count = node.zones.unwrap_or(1) as usize;
        if let Some(zone) = &node.zone {
            return vec![zone.clone()];
        }
        if spec.provider != Provider::Kubernetes && count > all.len() && !all.is_empty() {
            let message = format!("`{}` is spread over {count} zones, and `deploy.zones` names {}", node.role, all.len());
            self.problem(node.line, message, "name as many zones");
        }
        all.into_iter().take(count).collect()
    }

    /// What `deploy.storage` may say: a driver where the cluster exists, and nowhere what the bill has from `node.volume`.
    fn storage(&mut self, contender: &Contender, spec: &DeploySpec) {
        let (own, named) = (spec.provider != Provider::Kubernetes, spec.storage.get(storage::PROVISIONER));
        match named {
            None if !own => self.problem(
                spec.line,
                format!("`{}` names no volume driver of the cluster", contender.name),
                "add `storage = { provisioner = \"rancher.io/local-path\" }`; its other keys are parameters of that driver",
            ),
            Some(found) if own => self.problem(
                found.line,
                format!("`{}` brings its own volume driver", spec.provider.word()),
                "leave out `storage.provisioner`",
            ),
            _ => {}
        }
        let name = named.map(|found| found.value.to_string());
        let known = storage::driver(spec.provider, name.as_deref()) != Provider::Kubernetes;
        for (key, found) in spec.storage.iter().filter(|(key, _)| known && storage::BILLED.contains(&key.to_lowercase().as_str()))
        {
            let message = format!("`deploy.storage.{key}` is what `node.volume` says, which the bill has");
            self.problem(found.line, message, "leave it out, and write `kind`, `iops` or `throughput_mib_s` of the volume");
        }
    }

    /// What GKE refuses of a group: Persistent Disk on machines without it.
    fn disks(&mut self, node: &Node) {
        let disks = node.volumes.iter().chain(&node.root_volume).filter(|v| v.kind.starts_with("pd-"));
        for volume in disks.filter(|_| !gke::takes_persistent_disks(&node.instance)) {
            let message = format!("`{}` takes no `{}`: its series has Hyperdisk alone", node.instance, volume.kind);
            self.problem(volume.line, message, "use `kind = \"hyperdisk-balanced\"`");
        }
    }

    /// What GKE refuses of names.
    fn gke_names(&mut self) {
        let clusters = self.clusters.iter().filter(|c| c.provider == Provider::Gke);
        let pools =
            |c: &Cluster| c.groups.iter().flat_map(|g| g.pools().into_iter().map(|p| (p.name, g.line))).collect::<Vec<_>>();
        let line = |c: &Cluster| c.systems.first().map_or(0, |system| system.line);
        let names: Vec<(String, usize)> = clusters
            .flat_map(|c| [(format!("{}-{}", c.name, "0".repeat(gke::NUMBER - 1)), line(c))].into_iter().chain(pools(c)))
            .collect();
        for (name, line) in names {
            let wrong = match name.len() {
                length if length > gke::NAME_LIMIT => format!("has {length} characters, above {} of GKE", gke::NAME_LIMIT),
                _ if name.starts_with(|c: char| c.is_ascii_digit()) => "begins with a digit, which GKE refuses".to_owned(),
                _ => continue,
            };
            self.problem(line, format!("the name `{name}` {wrong}"), "give the study or the contender another name");
        }
    }

    fn images(&mut self, contender: &Contender, spec: &DeploySpec, kind: Kind, groups: &[Group]) -> BTreeMap<Component, String> {
        let mut found = BTreeMap::new();
        for (component, group) in groups.iter().filter_map(|g| Some((g.component?, g))) {
            let declared = spec.images.get(component.role());
            let declared = declared.and_then(|by| by.get(&group.machine.arch).or_else(|| by.get("")));
            match images::image(kind, component, &spec.version.value, &group.machine.arch, declared.map(|i| i.value.as_str())) {
                Ok(image) => {
                    found.insert(component, image);
                }
                Err(message) => {
                    let help = format!("name one: image.{}.{} = \"…\"", component.role(), group.machine.arch);
                    self.problem(spec.line, format!("`{}`: {message}", contender.name), help);
                }
            }
        }
        let known: Vec<&str> = kind.roles().chain(images::HELPERS).collect();
        for (name, by) in spec.images.iter().filter(|(name, _)| !known.contains(&name.as_str())) {
            let help = did_you_mean(name, &known, || format!("its components are: {}", known.join(", ")));
            let line = by.values().next().map_or(spec.line, |image| image.line);
            self.problem(line, format!("{} has no component `{name}`", kind.label()), help);
        }
        found
    }

    fn config(&mut self, spec: &DeploySpec, kind: Kind) -> BTreeMap<Component, BTreeMap<String, Located<Scalar>>> {
        let mut found = BTreeMap::new();
        for (name, settings) in &spec.config {
            let Some(component) = kind.component(name) else {
                let roles: Vec<&str> = kind.roles().collect();
                let help = did_you_mean(name, &roles, || format!("its components are: {}", roles.join(", ")));
                let line = settings.values().next().map_or(spec.line, |setting| setting.line);
                self.problem(line, format!("{} has no component `{name}`", kind.label()), help);
                continue;
            };
            found.insert(component, settings.clone());
        }
        found
    }

    /// The machines that the load comes from: those of all contenders are the same ones, unless each has a client beside it.
    pub(super) fn clients(&mut self, deployed: &[(&Contender, &DeploySpec)]) {
        let beside = self.study.client.stands == Stands::Beside;
        if !beside && self.clusters.len() > 1 {
            let message = "contenders of several clusters have no network in common, and the client stands apart";
            self.problem(deployed.last().map_or(0, |(c, _)| c.line), message, "add `[client] stands = \"beside\"`");
        }
        for (contender, spec) in deployed {
            let Some(position) =
                self.clusters.iter().position(|c| c.systems.iter().any(|system| system.contender == contender.name))
            else {
                continue;
            };
            let Some(kind) = Kind::named(&spec.kind.value) else { continue };
            for node in contender.nodes.iter().filter(|n| n.role == CLIENT) {
                let Some(group) = self.group(contender, spec, kind, node) else { continue };
                let same = self.clusters[position].groups.iter().find(|g| g.name == group.name);
                match same {
                    None => self.clusters[position].groups.push(group),
                    Some(same) if (&same.instance, same.count, &same.zones) == (&group.instance, group.count, &group.zones) => {}
                    Some(_) => {
                        let message = format!("`{}` has another client than the contenders before it", contender.name);
                        let help = "one client drives all: give them the same machines, or write `[client] stands = \"beside\"`";
                        self.problem(node.line, message, help);
                    }
                }
            }
        }
        for cluster in &mut self.clusters {
            let mut zones: Vec<String> = cluster.groups.iter().flat_map(|g| g.zones.iter().cloned()).collect();
            zones.sort();
            zones.dedup();
            cluster.zones = zones;
        }
        self.gke_names();
    }
}

/// The volume that a machine boots from. Images and logs need about 20 GB.
fn root(provider: Provider, node: &Node) -> Root {
    let (kind, size_gb) = match provider {
        Provider::Eks => ("gp3", 20),
        Provider::Gke if !gke::takes_persistent_disks(&node.instance) => ("hyperdisk-balanced", 20),
        Provider::Gke => ("pd-balanced", 20),
        Provider::Kubernetes => ("", 0),
    };
    node.root_volume.as_ref().map_or_else(
        || Root { kind: kind.to_owned(), size_gb, declared: None },
        |v| Root { kind: v.kind.clone(), size_gb: v.size_gb, declared: Some(v.clone()) },
    )
}
