//! Takes a deployment down, until nothing with its label is there.
//!
//! What is removed is found by label and annotation, not by the study as it is now: a contender that was taken out of the study goes, too.

use std::path::Path;
use std::time::{Duration, Instant};

use perbuck_core::study::Provider;
use perbuck_deploy::kubernetes::label;
use perbuck_deploy::kubernetes::object::owns_pods;
use perbuck_deploy::kubernetes::render::Rendered;
use perbuck_kubernetes::{Found, Kind};
use perbuck_load::stop::StopToken;
use serde_json::Value;

use super::cluster::{self, Reached, told};
use super::facts::{name, text};
use super::state::ClusterState;
use super::up::pause;
use super::{Deployment, claim, now_unix_s};
use crate::error::{ErrorKind, LabError};
use crate::progress::Progress;

/// How long pods, namespaces and volumes may each take to go.
const GONE_LIMIT: Duration = Duration::from_secs(900);
/// How long the API server may be away.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// Things that a message names, at most.
const NAMES_SHOWN: usize = 10;

/// What is told and asked while things go.
struct Watch<'a> {
    progress: &'a mut dyn Progress,
    stop: &'a StopToken,
}

impl Deployment<'_> {
    /// Takes everything down. What is not there any more is no failure.
    ///
    /// # Errors
    /// What is left, where something is; a request to stop. The same call goes on with the rest.
    pub fn down(&mut self, progress: &mut dyn Progress, stop: &StopToken) -> Result<(), LabError> {
        let done = self.end_all(&mut Watch { progress, stop });
        done.map_err(|error| self.still_up(error))
    }

    fn end_all(&mut self, watch: &mut Watch<'_>) -> Result<(), LabError> {
        self.state.ending = true;
        self.state.write(&self.root)?;
        let rendered = self.rendered.clone();
        let mut left = None;
        for one in rendered.iter().rev() {
            let name = &one.cluster.name;
            if !self.state.clusters.get(name).is_some_and(ClusterState::is_up) {
                continue;
            }
            let exists = one.cluster.provider == Provider::Kubernetes;
            let applied = exists || self.state.has_seen(name) || cluster::has_credentials(one, &self.root);
            match applied.then(|| answering(one, &self.root, watch)) {
                // Without credentials nothing was applied: it holds no volume.
                None => watch.progress.line(&format!("{name} was not yet reached, and is ended as it is")),
                Some(Ok(reached)) => {
                    self.saw(&reached)?;
                    self.empty(&reached, watch)?;
                }
                Some(Err(error)) if exists || error.kind() == ErrorKind::Interrupted => return Err(error),
                // One that perbuck makes may not have come so far; its tool knows what is there of it.
                Some(Err(error)) => {
                    watch.progress.alert(&format!("{name} is ended as it is: {error}"));
                    left.get_or_insert(error);
                }
            }
            if !exists {
                watch.progress.passing(&format!("ending {name}"));
                cluster::unmake(one, &self.root, watch.progress, watch.stop)?;
            }
            self.state.ended(name, now_unix_s());
            self.state.write(&self.root)?;
        }
        let Some(error) = left else { return Ok(()) };
        let message = format!("the clusters are gone, and volumes of them may be left: {error}");
        Err(LabError::failed(
            message,
            "look for volumes with the tag or label perbuck/study in the cloud's console, and delete them",
        ))
    }

    /// Removes what perbuck applied to a cluster, the volumes with it, and looks whether anything is left.
    fn empty(&self, reached: &Reached<'_>, watch: &mut Watch<'_>) -> Result<(), LabError> {
        let all = self.own(reached)?;
        // First what makes pods again, while its operator is there to end them.
        for found in all.iter().filter(|found| owns_pods(&found.kind.kind)) {
            remove(reached, found, watch)?;
        }
        let within: Vec<&str> =
            all.iter().filter(|found| found.kind.kind == "Namespace").map(|found| found.name.as_str()).collect();
        let running = || -> Result<Vec<Value>, LabError> {
            let lists = within.iter().map(|namespace| reached.list(("v1", "Pod"), Some(namespace), label::COMPONENT));
            Ok(lists.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
        };
        gone(reached, "pod", watch, &running)?;
        let owners = || -> Result<Vec<Value>, LabError> {
            let kinds: Vec<&Kind> = all.iter().map(|found| &found.kind).filter(|kind| owns_pods(&kind.kind)).collect();
            let lists = kinds.into_iter().map(|kind| reached.api.list(kind, None, &reached.selector()).map_err(told));
            Ok(lists.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
        };
        gone(reached, "object with a finalizer", watch, &owners)?;
        let (last, systems): (Vec<&Found>, Vec<&Found>) =
            all.iter().filter(|found| found.kind.kind == "Namespace").partition(|found| found.name == reached.rendered.namespace);
        for namespaces in [systems, last] {
            end(reached, "namespace", &namespaces, watch)?;
        }
        self.volumes_gone(reached, watch)?;
        let outside = |found: &&Found| found.namespace.is_none() && !["Namespace", "Node"].contains(&found.kind.kind.as_str());
        end(reached, "object", &all.iter().filter(outside).collect::<Vec<_>>(), watch)?;
        let exists = reached.rendered.cluster.provider == Provider::Kubernetes;
        if exists {
            claim::release(reached, &self.state.id)?;
        }
        nothing_left(reached, exists)
    }

    /// Waits until the volumes of the study's storage classes are gone.
    fn volumes_gone(&self, reached: &Reached<'_>, watch: &mut Watch<'_>) -> Result<(), LabError> {
        let classes = reached.list(("storage.k8s.io/v1", "StorageClass"), None, &reached.selector())?;
        let volumes = || -> Result<Vec<Value>, LabError> {
            let all = reached.list(("v1", "PersistentVolume"), None, "")?;
            let own = |v: &Value| classes.iter().any(|class| name(class) == text(v, &["spec", "storageClassName"]));
            Ok(all.into_iter().filter(own).collect())
        };
        gone(reached, "volume", watch, &volumes)
    }

    /// What this deployment applied, by label and annotation.
    fn own(&self, reached: &Reached<'_>) -> Result<Vec<Found>, LabError> {
        let mut own = Vec::new();
        for found in reached.api.labelled(&reached.selector()).map_err(told)? {
            let there = reached.api.get(&found.kind, found.namespace.as_deref(), &found.name).map_err(told)?;
            if there.is_some_and(|there| text(&there, &["metadata", "annotations", cluster::ID]) == self.state.id) {
                own.push(found);
            }
        }
        Ok(own)
    }
}

/// Reaches a cluster; one that perbuck made may be away for a moment.
fn answering<'r>(one: &'r Rendered, root: &Path, watch: &mut Watch<'_>) -> Result<Reached<'r>, LabError> {
    let since = Instant::now();
    loop {
        match cluster::reach(one, root) {
            Err(error) if error.kind() == ErrorKind::Target && since.elapsed() < ANSWER_LIMIT => {
                watch.progress.passing(&format!("waiting for the API server of {}: {error}", one.cluster.name));
                pause(watch.stop)?;
            }
            other => return other,
        }
    }
}

/// Removes an object; one that is gone already is none.
fn remove(reached: &Reached<'_>, found: &Found, watch: &mut Watch<'_>) -> Result<(), LabError> {
    if watch.stop.requested() {
        return Err(LabError::interrupted());
    }
    watch.progress.passing(&format!("removing {} {}", found.kind.kind, found.name));
    reached.api.delete(&found.kind, found.namespace.as_deref(), &found.name).map_err(told).map(drop)
}

/// Removes objects, and waits until the last of them is gone: the API server takes them off after what they own.
fn end(reached: &Reached<'_>, what: &str, all: &[&Found], watch: &mut Watch<'_>) -> Result<(), LabError> {
    for found in all {
        remove(reached, found, watch)?;
    }
    let there = || -> Result<Vec<Value>, LabError> {
        let each = all.iter().map(|found| reached.api.get(&found.kind, None, &found.name).map_err(told));
        Ok(each.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    };
    gone(reached, what, watch, &there)
}

/// Waits until nothing of a list is there any more.
fn gone(
    reached: &Reached<'_>,
    what: &str,
    watch: &mut Watch<'_>,
    list: &dyn Fn() -> Result<Vec<Value>, LabError>,
) -> Result<(), LabError> {
    let since = Instant::now();
    loop {
        let left = list()?;
        if left.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = left.iter().take(NAMES_SHOWN).map(name).collect();
        let names = format!("{} {what}{}: {}", left.len(), if left.len() == 1 { "" } else { "s" }, names.join(", "));
        watch.progress.passing(&format!("waiting for the end of {names}"));
        if since.elapsed() > GONE_LIMIT {
            let message = format!("still there after {} min: {names}", GONE_LIMIT.as_secs() / 60);
            // Without nodes nothing ends pods, and a cluster that perbuck makes goes in any case.
            if reached.rendered.cluster.provider != Provider::Kubernetes {
                watch.progress.alert(&format!("{message}; look for volumes with perbuck/study in the cloud's console later"));
                return Ok(());
            }
            return Err(LabError::new(ErrorKind::Failed, message, "`kubectl describe` says what holds them"));
        }
        pause(watch.stop)?;
    }
}

/// Refuses a cluster that still holds something with the study's label. The nodes of a cluster that perbuck makes end with it.
fn nothing_left(reached: &Reached<'_>, exists: bool) -> Result<(), LabError> {
    let left = reached.api.labelled(&reached.selector()).map_err(told)?;
    let left: Vec<String> = left
        .iter()
        .filter(|found| exists || found.kind != Kind::of("v1", "Node"))
        .map(|found| format!("{} {}", found.kind.kind, found.name))
        .collect();
    if left.is_empty() {
        return Ok(());
    }
    let names = left.iter().take(NAMES_SHOWN).cloned().collect::<Vec<_>>().join(", ");
    let message = format!("left with the label of this study: {names}");
    Err(LabError::failed(message, "another deployment of this name made them: end it where it was begun"))
}
