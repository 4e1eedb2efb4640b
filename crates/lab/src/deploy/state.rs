//! What perbuck knows of a deployment between two commands: which clusters it made, and what ran there from when to when.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use perbuck_core::run_record::Deployed;
use perbuck_deploy::kubernetes::{Cluster, Plan};
use perbuck_fleet::Token;
use serde::{Deserialize, Serialize};

use crate::error::{ErrorKind, LabError};
use crate::folder;
use crate::inputs::Limit;
use crate::store::replace;

/// The name of the file in the study's results folder.
pub(crate) const STATE_FILE: &str = "deployment.json";
/// The name of the file that the one perbuck holds which deploys the study.
const LOCK_FILE: &str = ".deployment.lock";
/// Digits of a deployment's number that its labels have.
const ID_DIGITS: usize = 12;

/// A deployment of a study.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct State {
    /// Tells its objects from those of every other deployment.
    pub(super) id: String,
    /// When it is to end by itself, seconds since 1970 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_unix_s: Option<u64>,
    /// Whether it is being taken down: what is there then is no whole deployment any more.
    #[serde(default)]
    pub(super) ending: bool,
    /// For which share of a run it was brought up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) share: Option<Share>,
    /// Shares with trials whose data were not checked after the last of them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) unchecked: BTreeSet<Share>,
    /// Whether `deploy up` brought it up, so that only `deploy down` takes it down.
    #[serde(default)]
    pub(super) by_hand: bool,
    /// Its clusters by name.
    pub(super) clusters: BTreeMap<String, ClusterState>,
    /// Machines and volumes that were seen, by cluster and name.
    pub(super) seen: BTreeMap<String, Seen>,
}

/// A part of a run with clusters of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Share {
    /// The deployment, from 1.
    pub(crate) deployment: u32,
    /// The contender, where those are up one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) contender: Option<String>,
}

/// A cluster: each time that it was up.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct ClusterState(pub(super) Vec<Period>);

/// A time that a cluster was up, or was being made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Period {
    /// Who makes it, and where.
    pub(super) at: String,
    /// When its making began.
    pub(super) from_unix_s: u64,
    /// When nothing of the study was there any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) to_unix_s: Option<u64>,
}

impl ClusterState {
    /// Whether anything of the study may be there.
    pub(super) fn is_up(&self) -> bool {
        self.0.last().is_some_and(|period| period.to_unix_s.is_none())
    }
}

/// Something that costs money while it exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Seen {
    /// The contender; empty for the client of all.
    pub(super) contender: String,
    /// Its role.
    pub(super) role: String,
    /// What it is.
    pub(super) what: What,
    /// When it was made.
    pub(super) from_unix_s: u64,
    /// When it was seen last, or was gone.
    pub(super) to_unix_s: u64,
    /// Whether it is gone.
    pub(super) gone: bool,
}

/// What costs money.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum What {
    /// A machine of this type.
    Node(String),
    /// A volume.
    Volume,
}

impl State {
    /// A new deployment.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(super) fn new() -> Result<Self, LabError> {
        let (clusters, seen, unchecked) = Default::default();
        Ok(Self { id: id()?, expires_unix_s: None, ending: false, share: None, unchecked, by_hand: false, clusters, seen })
    }

    /// Begins again after all of it had ended. What was seen before still counts.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(super) fn renew(&mut self) -> Result<(), LabError> {
        (self.id, self.expires_unix_s) = (id()?, None);
        (self.ending, self.share, self.by_hand) = (false, None, false);
        Ok(())
    }

    /// The one of a study's folder, if it was deployed.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(super) fn read(root: &Path) -> Result<Option<Self>, LabError> {
        let path = root.join(STATE_FILE);
        if !folder::has_file(&path) {
            return Ok(None);
        }
        let text = folder::read_text("the state of the deployment", &path, Limit::TEXT)?;
        let read = serde_json::from_str(&text);
        read.map(Some).map_err(|e| {
            let message = format!("{} is not what perbuck wrote: {e}", path.display());
            LabError::new(ErrorKind::Files, message, "restore the file; it says what was made and is still to be ended")
        })
    }

    /// Writes it, whole or not at all.
    ///
    /// # Errors
    /// A disk that refuses.
    pub(super) fn write(&self, root: &Path) -> Result<(), LabError> {
        let text = serde_json::to_string_pretty(self).map_err(|e| LabError::failed(e.to_string(), ""))?;
        replace(&root.join(STATE_FILE), &(text + "\n"))
    }

    /// Notes what was seen of a contender now; `made` says whether perbuck made its cluster. What was there before and is not any more has
    /// gone in between. It is counted until now.
    pub(super) fn saw(&mut self, (cluster, contender): (&str, &str), deployed: &Deployed, (made, now): (bool, u64)) {
        // Machines of a client that drives all contenders are seen with each of them.
        let own = |shared: bool| if shared { "" } else { contender }.to_owned();
        let nodes = deployed.nodes.iter().map(|node| {
            let what = What::Node(node.instance.clone());
            (format!("{cluster}/node/{}", node.name), own(node.shared), node.role.clone(), what, node.created_unix_s)
        });
        let volumes = deployed.volumes.iter().map(|volume| {
            let key = format!("{cluster}/volume/{contender}/{}", volume.claim);
            (key, contender.to_owned(), volume.role.clone(), What::Volume, volume.created_unix_s)
        });
        let now_there: Vec<_> = nodes.chain(volumes).collect();
        let prefix = format!("{cluster}/");
        for (key, seen) in self
            .seen
            .iter_mut()
            .filter(|(key, seen)| key.starts_with(&prefix) && [contender, ""].contains(&seen.contender.as_str()))
        {
            if !seen.gone && !now_there.iter().any(|(there, ..)| there == key) {
                (seen.gone, seen.to_unix_s) = (true, now);
            }
        }
        for (key, contender, role, what, from) in now_there {
            // A node of a cluster that exists is paid for by the study from when the study took it.
            let known = self.seen.get(&key).filter(|seen| !seen.gone).map(|seen| seen.from_unix_s);
            let from_unix_s = known.unwrap_or(if made && from != 0 { from } else { now });
            // Another one of its name, which had gone, still counts.
            if let Some(gone) = self.seen.get(&key).filter(|seen| seen.gone).cloned() {
                self.seen.insert(format!("{key}@{}", gone.from_unix_s), gone);
            }
            self.seen.insert(key, Seen { contender, role, what, from_unix_s, to_unix_s: now.max(from_unix_s), gone: false });
        }
    }

    /// Whether machines or volumes of a cluster were seen that are not known to be gone.
    pub(super) fn has_seen(&self, cluster: &str) -> bool {
        let prefix = format!("{cluster}/");
        self.seen.iter().any(|(key, seen)| key.starts_with(&prefix) && !seen.gone)
    }

    /// Notes that nothing of a cluster is there any more.
    pub(super) fn ended(&mut self, cluster: &str, now: u64) {
        let prefix = format!("{cluster}/");
        for seen in self.seen.iter_mut().filter(|(key, seen)| key.starts_with(&prefix) && !seen.gone).map(|(_, seen)| seen) {
            (seen.gone, seen.to_unix_s) = (true, now);
        }
        if let Some(state) = self.clusters.get_mut(cluster) {
            for period in &mut state.0 {
                period.to_unix_s.get_or_insert(now);
            }
        }
    }

    /// Whether anything may still be there.
    pub(super) fn is_up(&self) -> bool {
        self.clusters.values().any(ClusterState::is_up)
    }

    /// Whether what is up are these clusters, made by the same provider in the same region.
    pub(super) fn is_of(&self, plan: &Plan) -> bool {
        let up = self.clusters.iter().filter(|(_, state)| state.is_up());
        let is_there = |name: &str, at: &str| plan.clusters.iter().any(|c| c.name == name && where_it_is(c) == at);
        up.into_iter().all(|(name, state)| state.0.last().is_none_or(|period| is_there(name, &period.at)))
    }
}

/// Who makes a cluster, and where; of one that exists its context.
pub(super) fn where_it_is(cluster: &Cluster) -> String {
    let of = cluster.region.as_deref().or(cluster.context.as_deref()).unwrap_or("the current context");
    let zone = cluster.named_zones.first().map_or(String::new(), |zone| format!(" {zone}"));
    format!("{} {of}{zone}", cluster.provider.word())
}

/// A number that tells a deployment from every other one.
fn id() -> Result<String, LabError> {
    let random = Token::made().map_err(|e| LabError::failed(e, ""))?;
    let digits: String = random.chars().filter(char::is_ascii_alphanumeric).take(ID_DIGITS).collect();
    Ok(digits.to_lowercase())
}

/// The lock of a study's deployment, until it is dropped.
///
/// # Errors
/// Another perbuck holds it.
pub(super) fn lock(root: &Path) -> Result<File, LabError> {
    let path: PathBuf = root.join(LOCK_FILE);
    let file = folder::create(&path).map_err(LabError::of_file("write", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let message = format!("another perbuck deploys this study ({} is locked)", path.display());
            Err(LabError::refused(message, "wait for it, or stop it"))
        }
        Err(TryLockError::Error(e)) => Err(LabError::file("lock", &path, &e)),
    }
}
