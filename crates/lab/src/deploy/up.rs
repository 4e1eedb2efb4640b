//! Brings a deployment up, step by step; each step leaves alone what is there, so that it can be taken again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use perbuck_core::study::Provider;
use perbuck_deploy::kubernetes::System;
use perbuck_deploy::kubernetes::render::{AGENT, Agents, Layer, Rendered};
use perbuck_fleet::Token;
use perbuck_kubernetes::{Api, Change, Kind};
use perbuck_load::stop::StopToken;
use serde_json::{Value, json};

use super::cluster::{ID, MANAGER, Reached, told};
use super::facts::{is_ready, name, text, trouble, warning};
use super::state::{Period, where_it_is};
use super::{Deployment, claim, cluster, now_unix_s};
use crate::error::{ErrorKind, LabError};
use crate::progress::Progress;

/// How long pods may take to be ready: images of gigabytes and new volumes come first.
const READY_LIMIT: Duration = Duration::from_secs(1800);
/// How long the operator's kinds may take to be served after they were applied.
const KIND_LIMIT: Duration = Duration::from_secs(60);
/// How long the API server of a new cluster may be away.
const API_LIMIT: Duration = Duration::from_secs(600);
const POLL: Duration = Duration::from_secs(1);
/// Troubles that a failure repeats, at most.
const TROUBLES_SHOWN: usize = 8;

impl Deployment<'_> {
    /// Brings up everything that is not there yet, and waits until it is ready.
    ///
    /// # Errors
    /// The first step that fails, with its way out; a request to stop. What was made stays, and is known.
    pub fn up(&mut self, progress: &mut dyn Progress, stop: &StopToken) -> Result<(), LabError> {
        cluster::check_tools(&self.rendered)?;
        let made = self.rendered.iter().filter(|one| one.cluster.provider != Provider::Kubernetes);
        if made.clone().count() > 1 && made.clone().any(|one| one.agents.is_empty()) {
            let message = "the study has clusters in several networks, and no image of perbuck for agents in each";
            let help = "build one (docs/deploy.md) and name it: deploy.image.agent; the networks must reach each other, by peering or VPN";
            return Err(LabError::usage(message, help));
        }
        self.bring(progress, stop).map_err(|error| self.still_up(error))
    }

    fn bring(&mut self, progress: &mut dyn Progress, stop: &StopToken) -> Result<(), LabError> {
        let rendered = self.rendered.clone();
        for one in &rendered {
            if one.cluster.provider == Provider::Kubernetes {
                // A refusal leaves no deployment that `down` would have to end.
                let reached = cluster::reach(one, &self.root)?;
                reached.has_version().and_then(|()| self.is_ours(&reached))?;
            }
            self.note(one)?;
        }
        if std::mem::take(&mut self.watches) {
            self.watch_expiry()?;
        }
        for one in &rendered {
            if one.cluster.provider != Provider::Kubernetes {
                progress.line(&format!("cluster {} in {}", one.cluster.cloud_name, where_it_is(&one.cluster)));
            }
            cluster::make(one, &self.root, progress, stop)?;
            let reached = self.reached(one, progress, stop)?;
            reached.has_version().and_then(|()| self.is_ours(&reached))?;
            if one.cluster.provider == Provider::Kubernetes {
                claim::claim(&reached, &self.state.id, progress)?;
            }
            for layer in &one.layers {
                self.layer(&reached, layer, progress, stop)?;
            }
            self.saw(&reached)?;
        }
        for one in &rendered {
            let reached = cluster::reach(one, &self.root)?;
            wait_ready(&reached, progress, stop)?;
            self.saw(&reached)?;
        }
        Ok(())
    }

    /// Reaches a cluster. The API server of one that was just made may be away while its control plane grows.
    fn reached<'r>(&self, one: &'r Rendered, progress: &mut dyn Progress, stop: &StopToken) -> Result<Reached<'r>, LabError> {
        let since = Instant::now();
        loop {
            match cluster::reach(one, &self.root) {
                Err(error)
                    if one.cluster.provider != Provider::Kubernetes
                        && error.kind() == ErrorKind::Target
                        && since.elapsed() < API_LIMIT =>
                {
                    progress.passing(&format!("waiting for the API server of {}: {error}", one.cluster.name));
                    pause(stop)?;
                }
                other => return other,
            }
        }
    }

    /// Notes a cluster before it is made, so that it is known whatever happens.
    fn note(&mut self, rendered: &Rendered) -> Result<(), LabError> {
        let state = self.state.clusters.entry(rendered.cluster.name.clone()).or_default();
        if !state.is_up() {
            state.0.push(Period { at: where_it_is(&rendered.cluster), from_unix_s: now_unix_s(), to_unix_s: None });
        }
        self.state.write(&self.root)
    }

    /// Makes sure that no other deployment has the names of this one.
    fn is_ours(&self, reached: &Reached<'_>) -> Result<(), LabError> {
        for namespace in reached.rendered.namespaces() {
            let there = reached.api.get(&Kind::of("v1", "Namespace"), None, &namespace).map_err(told)?;
            let Some(there) = there else { continue };
            let of = text(&there, &["metadata", "annotations", ID]);
            if of != self.state.id {
                let whose = if of.is_empty() { "that perbuck did not make".to_owned() } else { format!("of deployment {of}") };
                let message = format!("the cluster has a namespace {namespace} {whose}");
                let help = "end it where it was begun (perbuck deploy down), or give this study another `name`";
                return Err(LabError::refused(message, help));
            }
        }
        Ok(())
    }

    fn layer(
        &mut self,
        reached: &Reached<'_>,
        layer: &Layer,
        progress: &mut dyn Progress,
        stop: &StopToken,
    ) -> Result<(), LabError> {
        if let Some(url) = &layer.crds {
            self.crds(reached, url, progress, stop)?;
        }
        for secret in &layer.secrets {
            make_secret(reached, &self.state.id, secret)?;
        }
        for object in &layer.objects {
            if stop.requested() {
                return Err(LabError::interrupted());
            }
            if object.kind() == "Job" {
                remove_ended(reached, object, progress, stop)?;
            }
            let mut json = object.value.json();
            json["metadata"]["annotations"][ID] = json!(self.state.id);
            let what = format!("{} {}", object.kind(), object.name());
            progress.passing(&format!("{}: {what}", reached.rendered.cluster.name));
            let applied = reached.api.apply(&json, MANAGER).map_err(told)?;
            applied.warnings.iter().for_each(|warning| progress.alert(&format!("{what}: {warning}")));
            let change = match applied.change {
                Change::Created => "made",
                Change::Changed => "changed",
                Change::Unchanged => "as it was",
            };
            progress.detail(&format!("{what}: {change}"));
        }
        Ok(())
    }

    /// The kinds of the operator: from the user's file, or from the operator's release.
    fn crds(&self, reached: &Reached<'_>, url: &str, progress: &mut dyn Progress, stop: &StopToken) -> Result<(), LabError> {
        let text = match self.crds.get(&reached.rendered.cluster.name) {
            Some(text) => text.clone(),
            None => {
                progress.passing(&format!("reading {url}"));
                Api::download(url).map_err(told)?
            }
        };
        let objects = perbuck_kubernetes::yaml(&text).map_err(told)?;
        let of = Kind::of("apiextensions.k8s.io/v1", "CustomResourceDefinition");
        let mut names = Vec::new();
        for object in objects.iter().filter(|object| text_of(object, "kind") == of.kind) {
            names.push(name(object).to_owned());
            // Those of a cluster that exists may serve another operator, too.
            let exists = reached.rendered.cluster.provider == Provider::Kubernetes;
            if !exists || reached.api.get(&of, None, name(object)).map_err(told)?.is_none() {
                reached.api.apply(object, MANAGER).map_err(told)?;
            }
        }
        if names.is_empty() {
            let help = "name the operator's file of them: deploy.crds = \"crd.yaml\"";
            return Err(LabError::new(ErrorKind::Usage, format!("{url} holds no CustomResourceDefinition"), help));
        }
        let since = Instant::now();
        for name in names {
            let served = || -> Result<bool, LabError> {
                Ok(reached.api.get(&of, None, &name).map_err(told)?.is_some_and(|crd| is_established(&crd)))
            };
            while !served()? {
                pause(stop)?;
                if since.elapsed() > KIND_LIMIT {
                    let message = format!("the API server does not serve {name} after {} s", KIND_LIMIT.as_secs());
                    return Err(LabError::new(ErrorKind::Target, message, "give the same command again"));
                }
            }
        }
        Ok(())
    }

    /// Notes what is there of every contender.
    pub(super) fn saw(&mut self, reached: &Reached<'_>) -> Result<(), LabError> {
        let cluster = &reached.rendered.cluster;
        let made = cluster.provider != Provider::Kubernetes;
        for system in &cluster.systems {
            let deployed = reached.deployed(system)?;
            self.state.saw((&cluster.name, &system.contender), &deployed, (made, now_unix_s()));
        }
        // Only who holds the deployment changes its file.
        if self.lock.is_some() { self.state.write(&self.root) } else { Ok(()) }
    }
}

fn text_of<'v>(of: &'v Value, key: &str) -> &'v str {
    text(of, &[key])
}

/// Removes a job of which a pod has ended, so that all of its pods are started again: Kubernetes starts none of them twice.
fn remove_ended(
    reached: &Reached<'_>,
    object: &perbuck_deploy::kubernetes::Object,
    progress: &mut dyn Progress,
    stop: &StopToken,
) -> Result<(), LabError> {
    let of = Kind::of("batch/v1", "Job");
    let read = || reached.api.get(&of, object.namespace(), object.name()).map_err(told);
    let Some(job) = read()? else { return Ok(()) };
    // The job counts a pod a while after its end.
    let pods = reached.list(("v1", "Pod"), object.namespace(), &format!("job-name={}", object.name()))?;
    let ended = pods.iter().any(|pod| ["Failed", "Succeeded"].contains(&text(pod, &["status", "phase"])));
    let counted = ["failed", "succeeded"].iter().any(|key| job["status"][key].as_u64().is_some_and(|n| n > 0));
    if !ended && !counted {
        return Ok(());
    }
    progress.line(&format!("a pod of job {} has ended, so all of its pods are started again", object.name()));
    reached.api.delete(&of, object.namespace(), object.name()).map_err(told)?;
    let since = Instant::now();
    while read()?.is_some() {
        pause(stop)?;
        if since.elapsed() > KIND_LIMIT {
            let message = format!("the job {} is still there after {} s", object.name(), KIND_LIMIT.as_secs());
            return Err(LabError::new(ErrorKind::Target, message, "give the same command again"));
        }
    }
    Ok(())
}

fn is_established(crd: &Value) -> bool {
    let conditions = crd["status"]["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    conditions.iter().any(|c| text_of(c, "type") == "Established" && text_of(c, "status") == "True")
}

/// Makes a secret with a random text in one key, unless it is there: its text lies in the cluster alone.
fn make_secret(reached: &Reached<'_>, id: &str, secret: &perbuck_deploy::kubernetes::render::Secret) -> Result<(), LabError> {
    let there = reached.api.get(&Kind::of("v1", "Secret"), Some(&secret.namespace), &secret.name).map_err(told)?;
    if there.is_some() {
        return Ok(());
    }
    let random = Token::made().map_err(|e| LabError::failed(e, ""))?;
    let labels: BTreeMap<_, _> = secret.labels.iter().cloned().collect();
    let object = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": secret.name, "namespace": secret.namespace, "labels": labels, "annotations": { ID: id } },
        "stringData": { &secret.key: random },
    });
    reached.api.apply(&object, MANAGER).map_err(told).map(drop)
}

/// Waits a moment, or ends by a request to stop.
pub(super) fn pause(stop: &StopToken) -> Result<(), LabError> {
    pause_for(POLL, stop)
}

/// The same for a longer while.
pub(super) fn pause_for(time: Duration, stop: &StopToken) -> Result<(), LabError> {
    let since = Instant::now();
    while since.elapsed() < time {
        if stop.requested() {
            return Err(LabError::interrupted());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Waits until every pod of the parts under test, and of the load, is ready.
fn wait_ready(reached: &Reached<'_>, progress: &mut dyn Progress, stop: &StopToken) -> Result<(), LabError> {
    let since = Instant::now();
    let mut told_before = Vec::new();
    loop {
        let (mut open, mut troubles) = (Vec::new(), Vec::new());
        for Waited { of, namespace, components } in waited_for(reached) {
            let pods = reached.pods(&namespace)?;
            for (component, count) in components {
                let own =
                    |pod: &&Value| text(pod, &["metadata", "labels", perbuck_deploy::kubernetes::label::COMPONENT]) == component;
                let ready = pods.iter().filter(own).filter(|pod| is_ready(pod)).count();
                if ready < count as usize {
                    open.push(format!("{of}{component}: {ready} of {count} ready"));
                }
            }
            troubles.extend(pods.iter().filter(|pod| !is_ready(pod)).filter_map(trouble));
            let events = reached.list(("v1", "Event"), Some(&namespace), "")?;
            let mut warned: Vec<String> = events.iter().filter_map(warning).collect();
            warned.dedup();
            troubles.extend(warned);
        }
        if open.is_empty() {
            return Ok(());
        }
        progress.passing(&format!("{}: {}", reached.rendered.cluster.name, open.join(", ")));
        for trouble in &troubles {
            if !told_before.contains(trouble) {
                progress.line(trouble);
                told_before.push(trouble.clone());
            }
        }
        if since.elapsed() > READY_LIMIT {
            troubles.truncate(TROUBLES_SHOWN);
            let why = if troubles.is_empty() { "the cluster says no reason".to_owned() } else { troubles.join("\n") };
            let message = format!("not ready after {} min: {}\n{why}", READY_LIMIT.as_secs() / 60, open.join(", "));
            let help = "correct that, and give the same command again; `perbuck deploy down` ends what is there";
            return Err(LabError::new(ErrorKind::Target, message, help));
        }
        pause(stop)?;
    }
}

/// Pods of one namespace that must be ready.
struct Waited {
    /// Whose they are, with a space after it; empty for those of all.
    of: String,
    namespace: String,
    /// How many of each component.
    components: Vec<(&'static str, u32)>,
}

/// The pods that must be ready: of each contender its components, and the agents.
fn waited_for(reached: &Reached<'_>) -> Vec<Waited> {
    let cluster = &reached.rendered.cluster;
    let of = |system: &System| -> Vec<(&'static str, u32)> {
        cluster.groups_of(system).map(|(component, group)| (component.role(), group.count)).collect()
    };
    let of_system = |system: &System| Waited {
        of: format!("{} ", system.contender),
        namespace: system.namespace.clone(),
        components: of(system),
    };
    let agents = |agents: &Agents| Waited {
        of: String::new(),
        namespace: agents.namespace.clone(),
        components: vec![(AGENT, agents.count)],
    };
    cluster.systems.iter().map(of_system).chain(reached.rendered.agents.iter().map(agents)).collect()
}
