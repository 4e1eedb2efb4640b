//! One cluster of a deployment: made where perbuck makes it, reached by its API server, and what lies on it.

use std::path::{Path, PathBuf};

use perbuck_core::run_record::Deployed;
use perbuck_core::study::Provider;
use perbuck_deploy::kubernetes::gke;
use perbuck_deploy::kubernetes::render::{Create, Rendered};
use perbuck_deploy::kubernetes::{System, label};
use perbuck_kubernetes::{Api, ApiError, Context, Kind};
use perbuck_load::stop::StopToken;
use serde_json::Value;

use super::facts;
use super::tool::Tool;
use crate::error::{ErrorKind, LabError};
use crate::progress::Progress;
use crate::store::replace;

/// Who owns what perbuck applies.
pub(super) const MANAGER: &str = "perbuck";
/// The annotation that tells the objects of one deployment from those of another.
pub(super) const ID: &str = "perbuck/id";

/// eksctl from here has pod identities and AmazonLinux2023; gcloud from here has all flags that are used.
const EKSCTL: (u32, u32) = (0, 190);
const GCLOUD: (u32, u32) = (450, 0);

/// A cluster that is reached.
pub(super) struct Reached<'r> {
    pub(super) rendered: &'r Rendered,
    pub(super) api: Api,
    /// The version of its API server.
    pub(super) version: String,
}

/// An error of the API as one of this library.
pub(super) fn told(error: ApiError) -> LabError {
    LabError::new(ErrorKind::Target, error.to_string(), error.help)
}

/// Where the credentials of a cluster that perbuck makes lie: commands of the provider, and no secret.
fn kubeconfig(root: &Path, rendered: &Rendered) -> PathBuf {
    root.join(format!("deployment-{}.kubeconfig", rendered.cluster.name))
}

/// Whether perbuck was given credentials of a cluster that it makes, which is before it applies anything to it.
pub(super) fn has_credentials(rendered: &Rendered, root: &Path) -> bool {
    crate::folder::has_file(&kubeconfig(root, rendered))
}

/// The tool that makes a cluster; `None` for one that exists.
fn tool(rendered: &Rendered) -> Result<Option<Tool>, LabError> {
    match rendered.create {
        Create::Exists => Ok(None),
        Create::Eksctl(_) => Tool::find("eksctl", &["version"], EKSCTL).map(Some),
        Create::Gcloud { .. } => Tool::find("gcloud", &["version"], GCLOUD).map(Some),
    }
}

/// Makes sure that the tools of all clusters are there.
///
/// # Errors
/// One that is not.
pub(super) fn check_tools(all: &[Rendered]) -> Result<(), LabError> {
    all.iter().try_for_each(|rendered| tool(rendered).map(drop))
}

/// Makes a cluster, or what is missing of it. One that exists is left as it is.
///
/// # Errors
/// The tool fails, or a request to stop.
pub(super) fn make(rendered: &Rendered, root: &Path, progress: &mut dyn Progress, stop: &StopToken) -> Result<(), LabError> {
    let Some(tool) = tool(rendered)? else { return Ok(()) };
    let (cluster, own) = (&rendered.cluster, kubeconfig(root, rendered));
    let mut run = |words: &[&str]| tool.run(words, Some(&own), progress, stop);
    match &rendered.create {
        Create::Exists => {}
        Create::Eksctl(config) => {
            let file = root.join(format!("deployment-{}.yaml", cluster.name));
            replace(&file, &config.yaml())?;
            let (file, region) = (file.display().to_string(), cluster.region.clone().unwrap_or_default());
            let there = run(&["get", "cluster", "--name", &cluster.cloud_name, "--region", &region]).is_ok();
            if there {
                // What an interrupted call left out, in the order in which one needs the other; each leaves alone what is there.
                run(&["utils", "associate-iam-oidc-provider", "-f", &file, "--approve"])?;
                run(&["create", "addon", "-f", &file])?;
                run(&["create", "nodegroup", "-f", &file])?;
            } else if stop.requested() {
                return Err(LabError::interrupted());
            } else {
                run(&["create", "cluster", "-f", &file, "--write-kubeconfig=false"])?;
            }
            let path = own.display().to_string();
            tool.run(
                &["utils", "write-kubeconfig", "--cluster", &cluster.cloud_name, "--region", &region, "--kubeconfig", &path],
                None,
                progress,
                stop,
            )?;
        }
        Create::Gcloud { up, .. } => {
            for step in up {
                let words: Vec<&str> = step.words.iter().skip(1).map(String::as_str).collect();
                if !is_there(&tool, &words, progress, stop)? {
                    tool.run(&words, Some(&own), progress, stop)?;
                }
            }
            let zone = gke::zone(cluster);
            let words = ["container", "clusters", "get-credentials", &cluster.cloud_name, "--zone", &zone];
            tool.run(&words, Some(&own), progress, stop)?;
        }
    }
    Ok(())
}

/// Whether what a `gcloud … create` makes is there already: `describe` takes its first words, and where it is.
fn is_there(tool: &Tool, words: &[&str], progress: &mut dyn Progress, stop: &StopToken) -> Result<bool, LabError> {
    let Some(at) = words.iter().position(|word| *word == "create") else { return Ok(false) };
    let mut described: Vec<&str> =
        words.iter().take(at + 2).map(|word| if *word == "create" { "describe" } else { word }).collect();
    for pair in words.windows(2).filter(|pair| ["--cluster", "--zone", "--region", "--project"].contains(&pair[0])) {
        described.extend(pair);
    }
    let there = tool.run(&described, None, progress, stop).is_ok();
    if stop.requested() { Err(LabError::interrupted()) } else { Ok(there) }
}

/// Ends a cluster that perbuck made, with everything of it.
///
/// # Errors
/// The tool fails, or a request to stop.
pub(super) fn unmake(rendered: &Rendered, root: &Path, progress: &mut dyn Progress, stop: &StopToken) -> Result<(), LabError> {
    let Some(tool) = tool(rendered)? else { return Ok(()) };
    let (cluster, own) = (&rendered.cluster, kubeconfig(root, rendered));
    match &rendered.create {
        Create::Exists => {}
        Create::Eksctl(_) => {
            let region = cluster.region.clone().unwrap_or_default();
            let asked =
                tool.run(&["get", "cluster", "--name", &cluster.cloud_name, "--region", &region], Some(&own), progress, stop);
            // The control plane may be missing while the stacks around it are still being made.
            let stacks = ["utils", "describe-stacks", "--cluster", &cluster.cloud_name, "--region", &region];
            if is_missing(asked)? && is_missing(tool.run(&stacks, Some(&own), progress, stop))? {
                progress.line(&format!("{} is not there any more", cluster.name));
                return crate::folder::remove(&own).map_err(LabError::of_file("remove", &own));
            }
            let words = [
                "delete",
                "cluster",
                "--name",
                &cluster.cloud_name,
                "--region",
                &region,
                "--wait",
                "--disable-nodegroup-eviction",
            ];
            tool.run(&words, Some(&own), progress, stop)?;
        }
        Create::Gcloud { down, .. } => {
            for step in down {
                let words: Vec<&str> = step.words.iter().skip(1).map(String::as_str).collect();
                let said = tool.run(&words, Some(&own), progress, stop);
                // Its last step lists volumes that are left.
                let left = said.as_ref().map(|listed| listed.trim().to_owned()).unwrap_or_default();
                if !is_missing(said)? && words.contains(&"list") && !left.is_empty() {
                    let message = format!("volumes of this study are left, and billed:\n{left}");
                    return Err(LabError::failed(message, "delete them: gcloud compute disks delete NAME"));
                }
            }
        }
    }
    crate::folder::remove(&own).map_err(LabError::of_file("remove", &own))
}

/// Whether a tool says that what it was asked for does not exist.
///
/// # Errors
/// Any other failure.
fn is_missing(asked: Result<String, LabError>) -> Result<bool, LabError> {
    match asked {
        Ok(_) => Ok(false),
        Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
        Err(error) => {
            let text = error.to_string();
            let said = [
                "ResourceNotFoundException",
                "No cluster found",
                "NOT_FOUND",
                "code=404",
                "Not found",
                "was not found",
                "no eksctl-managed CloudFormation stacks",
            ];
            if said.iter().any(|said| text.contains(said)) { Ok(true) } else { Err(error) }
        }
    }
}

/// Reaches the API server of a cluster.
///
/// # Errors
/// It does not answer.
pub(super) fn reach<'r>(rendered: &'r Rendered, root: &Path) -> Result<Reached<'r>, LabError> {
    let cluster = &rendered.cluster;
    let own = (cluster.provider != Provider::Kubernetes).then(|| kubeconfig(root, rendered));
    let api = Api::connect(&Context { kubeconfig: own, name: cluster.context.clone() }).map_err(told)?;
    let version = api.server_version().map_err(told)?;
    Ok(Reached { rendered, api, version })
}

impl Reached<'_> {
    /// Refuses an API server of another version than the study says.
    ///
    /// # Errors
    /// It is.
    pub(super) fn has_version(&self) -> Result<(), LabError> {
        let (cluster, version) = (&self.rendered.cluster, &self.version);
        let wanted = cluster.kubernetes.trim_start_matches('v');
        let found = version.trim_start_matches('v');
        let fits = found == wanted || found.strip_prefix(wanted).is_some_and(|rest| rest.starts_with(['.', '-', '+']));
        if !fits {
            let message = format!("the API server of {} is {version}, and the study says Kubernetes {wanted}", cluster.name);
            return Err(LabError::new(ErrorKind::OtherMachines, message, "correct `deploy.kubernetes`, or use another cluster"));
        }
        Ok(())
    }

    /// The selector of everything of this study.
    pub(super) fn selector(&self) -> String {
        format!("{}={}", label::STUDY, self.rendered.study)
    }

    pub(super) fn list(&self, of: (&str, &str), namespace: Option<&str>, selector: &str) -> Result<Vec<Value>, LabError> {
        self.api.list(&Kind::of(of.0, of.1), namespace, selector).map_err(told)
    }

    /// The nodes of the study.
    pub(super) fn nodes(&self) -> Result<Vec<Value>, LabError> {
        self.list(("v1", "Node"), None, &self.selector())
    }

    /// The pods of a namespace.
    pub(super) fn pods(&self, namespace: &str) -> Result<Vec<Value>, LabError> {
        self.list(("v1", "Pod"), Some(namespace), "")
    }

    /// What is there of a contender.
    pub(super) fn deployed(&self, system: &System) -> Result<Deployed, LabError> {
        let claims = self.list(("v1", "PersistentVolumeClaim"), Some(&system.namespace), "")?;
        let classes = self.list(("storage.k8s.io/v1", "StorageClass"), None, &self.selector())?;
        let (nodes, pods) = (self.nodes()?, self.pods(&system.namespace)?);
        let of = (self.rendered.cluster.name.as_str(), self.version.as_str());
        Ok(facts::deployed(of, system, &nodes, (&pods, &claims, &classes)))
    }
}
