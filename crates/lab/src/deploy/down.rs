//! Takes a deployment down: what it made in the reverse order, until nothing with its label is there.

use std::time::{Duration, Instant};

use perbuck_core::study::Provider;
use perbuck_kubernetes::Found;
use perbuck_load::stop::StopToken;
use serde_json::Value;

use super::cluster::{self, Reached, kind, told};
use super::facts::{name, text};
use super::state::ClusterState;
use super::up::pause;
use super::{Deployment, claim, now_unix_s};
use crate::error::{ErrorKind, LabError};
use crate::progress::Progress;

/// How long pods and volumes may take to go.
const GONE_LIMIT: Duration = Duration::from_secs(900);
/// Things that a message names, at most.
const NAMES_SHOWN: usize = 10;

impl Deployment<'_> {
    /// Takes everything down. What is not there any more is no failure.
    ///
    /// # Errors
    /// What is left, where something is; a request to stop. The same call goes on with the rest.
    pub fn down(&mut self, progress: &mut dyn Progress, stop: &StopToken) -> Result<(), LabError> {
        let rendered = self.rendered.clone();
        for one in rendered.iter().rev() {
            let name = &one.cluster.name;
            if !self.state.clusters.get(name).is_some_and(ClusterState::is_up) {
                continue;
            }
            let exists = one.cluster.provider == Provider::Kubernetes;
            match cluster::reach(one, &self.root) {
                Ok(reached) => {
                    self.saw(&reached)?;
                    self.empty(&reached, progress, stop)?;
                }
                // One that perbuck makes may not have come so far; its tool knows what is there of it.
                Err(error) if !exists => progress.line(&format!("{name} does not answer, so only its tool ends it: {error}")),
                Err(error) => return Err(error),
            }
            if !exists {
                progress.passing(&format!("ending {name}"));
                cluster::unmake(one, &self.root, progress, stop)?;
            }
            self.state.ended(name, now_unix_s());
            self.state.write(&self.root)?;
        }
        Ok(())
    }

    /// Removes what perbuck applied to a cluster, the volumes with it, and looks whether anything is left.
    fn empty(&mut self, reached: &Reached<'_>, progress: &mut dyn Progress, stop: &StopToken) -> Result<(), LabError> {
        let namespaces: Vec<String> = reached.rendered.namespaces();
        for layer in reached.rendered.layers.iter().rev() {
            for object in layer.objects.iter().rev() {
                if stop.requested() {
                    return Err(LabError::interrupted());
                }
                // What is in a namespace goes with it, but for the operator's objects, whose parts only the operator ends.
                let of = kind(object.api_version(), object.kind());
                progress.passing(&format!("removing {} {}", object.kind(), object.name()));
                if self.is_mine(reached, object)? {
                    reached.api.delete(&of, object.namespace(), object.name()).map_err(told)?;
                }
                if object.owns_pods()
                    && let Some(namespace) = object.namespace()
                {
                    self.gone(&format!("pods of {namespace}"), progress, stop, &|| reached.pods(namespace))?;
                }
            }
        }
        self.gone("namespaces", progress, stop, &|| reached.list(("v1", "Namespace"), None, &reached.selector()))?;
        let volumes = || -> Result<Vec<Value>, LabError> {
            let all = reached.list(("v1", "PersistentVolume"), None, "")?;
            let own = |v: &Value| namespaces.iter().any(|n| n == text(v, &["spec", "claimRef", "namespace"]));
            Ok(all.into_iter().filter(own).collect())
        };
        self.gone("volumes", progress, stop, &volumes)?;
        if reached.rendered.cluster.provider == Provider::Kubernetes {
            claim::release(reached, &self.state.id)?;
        }
        let nodes = reached.rendered.cluster.provider != Provider::Kubernetes;
        let left = reached.api.labelled(&reached.selector()).map_err(told)?;
        let left: Vec<&Found> = left.iter().filter(|found| !(nodes && found.kind.kind == "Node")).collect();
        if left.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = left.iter().take(NAMES_SHOWN).map(|f| format!("{} {}", f.kind.kind, f.name)).collect();
        let message = format!("{} objects of this study are left: {}", left.len(), names.join(", "));
        Err(LabError::new(ErrorKind::Failed, message, "give the same command again; `kubectl describe` says what holds them"))
    }

    /// Whether an object of the cluster is of this deployment; one that is not there is not.
    fn is_mine(&self, reached: &Reached<'_>, object: &perbuck_deploy::kubernetes::Object) -> Result<bool, LabError> {
        let of = kind(object.api_version(), object.kind());
        let there = match reached.api.get(&of, object.namespace(), object.name()) {
            // A kind that the server does not know has no objects.
            Err(error) if error.kind == perbuck_kubernetes::ErrorKind::NotFound => None,
            other => other.map_err(told)?,
        };
        Ok(there.is_some_and(|there| text(&there, &["metadata", "annotations", cluster::ID]) == self.state.id))
    }

    /// Waits until nothing of a list is there any more.
    pub(super) fn gone(
        &self,
        what: &str,
        progress: &mut dyn Progress,
        stop: &StopToken,
        list: &dyn Fn() -> Result<Vec<Value>, LabError>,
    ) -> Result<(), LabError> {
        let since = Instant::now();
        loop {
            let left = list()?;
            if left.is_empty() {
                return Ok(());
            }
            let names: Vec<&str> = left.iter().take(NAMES_SHOWN).map(name).collect();
            progress.passing(&format!("waiting until {} {what} are gone: {}", left.len(), names.join(", ")));
            if since.elapsed() > GONE_LIMIT {
                let message = format!(
                    "{} {what} are still there after {} min: {}",
                    left.len(),
                    GONE_LIMIT.as_secs() / 60,
                    names.join(", ")
                );
                return Err(LabError::new(ErrorKind::Failed, message, "they still cost money; give the same command again"));
            }
            pause(stop)?;
        }
    }
}
