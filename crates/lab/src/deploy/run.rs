//! A deployment around the trials of a study: up before them, its addresses and passwords for them, down after them.

use std::collections::BTreeMap;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use perbuck_core::compare::{deployed_changes, deployed_otherwise};
use perbuck_core::run_record::{Deployed, Flag};
use perbuck_core::study::{Attached, Study};
use perbuck_database::secret::Secret;
use perbuck_deploy::kubernetes::plan::dns;
use perbuck_deploy::kubernetes::render::{AGENT, render};
use perbuck_deploy::kubernetes::{System, label};
use perbuck_fleet::Token;
use perbuck_kubernetes::Kind;
use perbuck_load::stop::StopToken;
use serde_json::Value;

use super::cluster::{Reached, reach, told};
use super::facts::{is_ready, name, text, trouble};
use super::state::Share;
use super::status::Status;
use super::up::pause;
use super::{Deployment, cost, hourly, now_unix_s, plan};
use crate::error::{ErrorKind, LabError};
use crate::estimate::Estimate;
use crate::fleet::{AgentAddress, FleetOptions};
use crate::inputs::Inputs;
use crate::progress::{Progress, clock_text};
use crate::run::RunOptions;

/// Asks the user whether to spend money; the text says how much.
pub type Consent = fn(&str) -> io::Result<bool>;

/// How the user wants money to be spent on clusters.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spending {
    /// How the user is asked; `None` does not ask.
    pub consent: Option<Consent>,
    /// After how many seconds the clusters are taken down if no perbuck runs the study; `None` is never.
    pub ttl_s: Option<u64>,
}

/// How long one attempt to reach an address may take, and all of them.
const CONNECT_LIMIT: Duration = Duration::from_secs(3);
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// A deployment that is up, with the study as its trials see it.
pub(crate) struct Driven<'i> {
    pub(crate) deployment: Deployment<'i>,
    pub(crate) inputs: Inputs,
    pub(crate) options: RunOptions,
    /// Whether a user had brought it up before, and takes it down.
    by_hand: bool,
}

impl<'i> Driven<'i> {
    /// Brings up what a study deploys.
    ///
    /// # Errors
    /// What [`Deployment::up`] fails by; a cluster that is not as billed; an address that cannot be reached; no consent.
    pub(crate) fn of(
        inputs: &'i Inputs,
        (share, has_trials): (&Share, bool),
        options: &RunOptions,
        progress: &mut dyn Progress,
        stop: &StopToken,
    ) -> Result<Self, LabError> {
        let mut deployment = Deployment::open(inputs, &options.results)?;
        let by_hand = deployment.is_up() && deployment.state.by_hand;
        let sweep = &inputs.study.sweep;
        if by_hand && options.deployment.is_none() && (sweep.deployments > 1 || sweep.one_by_one) {
            let message = "the clusters are up by `perbuck deploy up`, and this study makes them again between its trials";
            return Err(LabError::refused(message, "take them down first: perbuck deploy down"));
        }
        // Clusters that served another share of the run are no fresh ones for this.
        if deployment.is_up() && !by_hand && deployment.state.share.as_ref() != Some(share) {
            deployment.down(progress, stop)?;
        }
        deployment.begin(&options.spending)?;
        deployment.state.share = Some(share.clone());
        deployment.state.unchecked.extend(has_trials.then(|| share.clone()));
        deployment.up(progress, stop)?;
        let brought = deployment.as_billed().and_then(|()| deployment.reachable());
        let brought = brought.and_then(|found| found.hosts().iter().try_for_each(|host| answers(host, stop)).map(|()| found));
        let reachable = brought.map_err(|error| deployment.still_up(error))?;
        let fleet = reachable.fleet.or_else(|| options.fleet.clone());
        let driven = driven(inputs, &reachable.targets, reachable.passwords).map_err(|error| deployment.still_up(error))?;
        Ok(Self { deployment, inputs: driven, options: RunOptions { fleet, ..options.clone() }, by_hand })
    }

    /// Takes it down where the trials are done; else says that it is up.
    pub(crate) fn end(
        mut self,
        done: Result<(), LabError>,
        progress: &mut dyn Progress,
        stop: &StopToken,
    ) -> Result<(), LabError> {
        done.map_err(|error| self.deployment.still_up(error))?;
        self.deployment.checked()?;
        if self.by_hand {
            progress.line("the clusters stay up, as `perbuck deploy up` left them; `perbuck deploy down` ends them");
            return Ok(());
        }
        self.deployment.down(progress, stop)
    }
}

/// Whether perbuck deploys any contender of a study: one whose target is given is reached where that is.
pub fn deploys(study: &Study) -> bool {
    study.contenders.iter().any(|c| c.deploy.is_some() && c.target.is_none())
}

impl Deployment<'_> {
    /// Asks whether to spend what the deployment costs, unless it is up, and notes when it ends by itself.
    ///
    /// # Errors
    /// The user says no, or cannot be asked.
    pub fn begin(&mut self, spending: &Spending) -> Result<(), LabError> {
        if !self.is_up() {
            consented(spending, &self.cost_text())?;
            self.state.renew()?;
            // Its clusters have names of their own.
            self.plan = plan(self.inputs)?.of_deployment(&self.state.id);
            self.rendered = render(&self.plan);
        }
        if let Some(ttl_s) = spending.ttl_s {
            self.state.expires_unix_s = Some(now_unix_s().saturating_add(ttl_s));
            self.watches = true;
        }
        Ok(())
    }

    /// Notes that the data of its share were checked after the last trial.
    fn checked(&mut self) -> Result<(), LabError> {
        if let Some(share) = &self.state.share {
            self.state.unchecked.remove(share);
        }
        self.state.write(&self.root)
    }

    /// Keeps it up until `deploy down`, whatever runs on it.
    pub fn keep(&mut self) {
        self.state.by_hand = true;
    }

    /// The target of each contender that is up.
    ///
    /// # Errors
    /// A cluster that does not answer, or a pod without an address.
    pub fn targets(&self) -> Result<BTreeMap<String, String>, LabError> {
        Ok(self.reachable()?.targets)
    }
}

/// Asks once for a whole run, whose contenders may be up one after the other.
///
/// # Errors
/// The user says no, or cannot be asked.
pub(crate) fn consented_to_all(inputs: &Inputs, options: &RunOptions) -> Result<(), LabError> {
    let text = if inputs.study.sweep.one_by_one {
        let own = inputs.study.contenders.iter().filter(|c| c.control_of.is_none());
        let texts = own.map(|c| Ok(Deployment::seen(&inputs.alone(&c.name)?, &options.results)?.cost_text()));
        format!("one after the other: {}", texts.collect::<Result<Vec<_>, LabError>>()?.join("; "))
    } else {
        Deployment::seen(inputs, &options.results)?.cost_text()
    };
    consented(&options.spending, &text)
}

fn consented(spending: &Spending, text: &str) -> Result<(), LabError> {
    let Some(ask) = spending.consent else { return Ok(()) };
    match ask(&format!("{text}; deploy?")) {
        Ok(true) => Ok(()),
        Ok(false) => Err(LabError::refused("nothing was deployed", "answer y, or give --yes")),
        Err(e) => Err(LabError::usage(format!("cannot ask whether to deploy: {e}"), "give --yes")),
    }
}

/// The study with the addresses of its cluster.
fn driven(inputs: &Inputs, targets: &BTreeMap<String, String>, passwords: BTreeMap<String, Secret>) -> Result<Inputs, LabError> {
    let attached = Attached { targets: targets.clone(), ..Attached::default() };
    inputs.with(attached.to(&inputs.text), passwords)
}

/// How a deployment's systems and agents are reached.
pub(crate) struct Reachable {
    /// The target of each contender.
    pub(crate) targets: BTreeMap<String, String>,
    /// The password of each contender that has one.
    passwords: BTreeMap<String, Secret>,
    /// Its agents, where it has any.
    fleet: Option<FleetOptions>,
    /// The addresses of all its servers.
    servers: Vec<String>,
}

impl Reachable {
    /// The addresses of servers and agents.
    fn hosts(&self) -> Vec<String> {
        let agents = self.fleet.iter().flat_map(|fleet| &fleet.agents).map(|agent| agent.address.clone());
        self.servers.iter().cloned().chain(agents).collect()
    }
}

/// Makes sure that an address is reached from here. A pod that is ready listens, so another network is why it is not.
fn answers(host: &str, stop: &StopToken) -> Result<(), LabError> {
    let since = Instant::now();
    loop {
        let addresses = host.to_socket_addrs().map_err(|e| LabError::failed(format!("{host} is no address: {e}"), ""))?;
        let tried = addresses.map(|address| TcpStream::connect_timeout(&address, CONNECT_LIMIT)).next();
        match tried {
            Some(Ok(_)) => return Ok(()),
            Some(Err(error)) if since.elapsed() > ANSWER_LIMIT => {
                let message = format!("{host} cannot be reached from this machine: {error}");
                let help =
                    "run perbuck on a machine in the network of the cluster, such as one of its client nodes; see docs/deploy.md";
                return Err(LabError::new(ErrorKind::Target, message, help));
            }
            _ => pause(stop)?,
        }
    }
}

impl Deployment<'_> {
    /// What it costs an hour, and for the whole study, in words.
    pub fn cost_text(&self) -> String {
        let items = self.costs();
        let (an_hour, unpriced) = hourly(self.inputs, &items);
        let seconds = Estimate::of(self.inputs).total().as_secs();
        let whole = cost::for_time(an_hour, seconds);
        let names: Vec<&str> = self.plan.clusters.iter().flat_map(|c| &c.systems).map(|s| s.contender.as_str()).collect();
        let but = if unpriced { ", without what has no price" } else { "" };
        let time = clock_text(Duration::from_secs(seconds));
        format!("{} cost {an_hour} an hour{but}, and about {whole} for the whole study of {time}", names.join(" and "))
    }

    /// Refuses trials on a cluster that is not what the study bills.
    pub(super) fn as_billed(&mut self) -> Result<(), LabError> {
        let study = &self.inputs.study;
        let all = self.status()?;
        // A pod that started again before the trials disturbs none of them.
        let of = |s: &Status| -> Vec<String> {
            let differs = deployed_otherwise(study, &s.contender, &s.deployed).into_iter();
            differs.map(|text| format!("{}: {text}", s.contender)).collect()
        };
        let differs: Vec<String> = all.iter().flat_map(of).collect();
        if differs.is_empty() || self.inputs.study.notional {
            return Ok(());
        }
        Err(LabError::other_machines(&differs.join("; "), None))
    }

    /// What is there of a contender now, for a record; `None` of one that is not deployed.
    pub(crate) fn look(&self, contender: &str) -> Result<Option<Deployed>, LabError> {
        let twin = self.inputs.study.contender(contender).and_then(|c| c.control_of.as_deref());
        let contender = twin.unwrap_or(contender);
        for one in &self.rendered {
            if let Some(system) = one.cluster.systems.iter().find(|system| system.contender == contender) {
                return reach(one, &self.root)?.deployed(system).map(Some);
            }
        }
        Ok(None)
    }

    /// Whether pods of a contender moved, or started again, since a look at it.
    pub(crate) fn changed(&self, contender: &str, before: Option<&Deployed>) -> Option<Flag> {
        let before = before?;
        let changes = match self.look(contender) {
            Ok(after) => after.map(|after| deployed_changes(before, &after)).unwrap_or_default(),
            // What was measured stays.
            Err(error) => vec![format!("its pods could not be read after the trial: {error}")],
        };
        (!changes.is_empty()).then_some(Flag::PodsChanged { changes })
    }

    /// The addresses of what is up, read from its pods.
    pub(crate) fn reachable(&self) -> Result<Reachable, LabError> {
        let mut found = Reachable { targets: BTreeMap::new(), passwords: BTreeMap::new(), fleet: None, servers: Vec::new() };
        for one in &self.rendered {
            let reached = reach(one, &self.root)?;
            for system in &one.cluster.systems {
                let (hosts, password) = reached.entrance(system)?;
                let target = system.kind.target(&hosts.join(","));
                found.servers.extend(hosts);
                found.targets.insert(system.contender.clone(), target);
                found.passwords.extend(password.map(|password| (system.contender.clone(), password)));
            }
            for agents in &one.agents {
                let addresses = reached.addresses(&agents.namespace, AGENT, agents.contender.as_deref())?;
                let token = reached.secret(&agents.namespace, &agents.secret, &agents.key)?;
                let token = Token::of(&token).map_err(|e| LabError::failed(e, ""))?;
                let own = addresses
                    .into_iter()
                    .map(|host| AgentAddress { contender: agents.contender.clone(), address: format!("{host}:{}", agents.port) });
                let fleet = found.fleet.get_or_insert(FleetOptions { agents: Vec::new(), token, wait_for_lost: false });
                fleet.agents.extend(own);
            }
        }
        Ok(found)
    }

    /// A failure with what the cluster says of the pods that may have caused it.
    pub(crate) fn explain(&self, error: LabError) -> LabError {
        if ![ErrorKind::AgentLost, ErrorKind::Target].contains(&error.kind()) {
            return error;
        }
        let said = self.rendered.iter().filter_map(|one| reach(one, &self.root).ok()?.troubles().ok()).flatten();
        let said: Vec<String> = said.collect();
        if said.is_empty() { error } else { error.and_also(&said.join("; ")) }
    }

    /// A failure after which the clusters are still up.
    pub(super) fn still_up(&self, error: LabError) -> LabError {
        if !self.is_up() {
            return error;
        }
        let (an_hour, _) = hourly(self.inputs, &self.costs());
        let help =
            format!("the clusters are up, at {an_hour} an hour: the same command goes on, `perbuck deploy down` ends them");
        // What a stopped command says of trials is true of none here.
        if error.kind() == ErrorKind::Interrupted {
            return LabError::new(ErrorKind::Interrupted, "interrupted", help);
        }
        self.explain(error).also_help(&help)
    }
}

impl Reached<'_> {
    /// The addresses of the ready pods of a component, in the order of their names.
    fn addresses(&self, namespace: &str, component: &str, contender: Option<&str>) -> Result<Vec<String>, LabError> {
        let mut selector = format!("{}={component}", label::COMPONENT);
        if let Some(contender) = contender {
            selector += &format!(",{}={}", label::CONTENDER, dns(contender));
        }
        let mut pods = self.list(("v1", "Pod"), Some(namespace), &selector)?;
        pods.sort_by(|a, b| name(a).cmp(name(b)));
        let found: Vec<String> = pods
            .iter()
            .filter(|pod| is_ready(pod))
            .map(|pod| text(pod, &["status", "podIP"]).to_owned())
            .filter(|host| !host.is_empty())
            .collect();
        if found.is_empty() {
            let message = format!("no ready pod of {component} in {namespace} has an address");
            return Err(LabError::new(ErrorKind::Target, message, "see what is there: perbuck deploy status"));
        }
        // An IPv6 address stands in brackets before a port.
        Ok(found.into_iter().map(|host| if host.contains(':') { format!("[{host}]") } else { host }).collect())
    }

    /// The addresses of a system's servers, and its password where it has one.
    fn entrance(&self, system: &System) -> Result<(Vec<String>, Option<Secret>), LabError> {
        let entrance = system.kind.entrance();
        let hosts: Vec<String> = self
            .addresses(&system.namespace, entrance.role(), None)?
            .into_iter()
            .map(|host| format!("{host}:{}", entrance.port()))
            .collect();
        let secret = system.kind.password_secret();
        let password = secret.map(|(name, key)| self.secret(&system.namespace, name, key)).transpose()?;
        Ok((hosts, password.map(Secret::new)))
    }

    /// The text of a secret of the cluster.
    fn secret(&self, namespace: &str, name: &str, key: &str) -> Result<String, LabError> {
        let there = self.api.get(&Kind::of("v1", "Secret"), Some(namespace), name).map_err(told)?.unwrap_or(Value::Null);
        let missing = || {
            let message = format!("the cluster has no secret {name} with `{key}` in {namespace}");
            LabError::new(ErrorKind::Target, message, "bring the study up again: perbuck deploy up")
        };
        let bytes = BASE64.decode(text(&there, &["data", key])).ok().filter(|bytes| !bytes.is_empty());
        bytes.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(missing)
    }

    /// What is wrong with any pod of the study.
    fn troubles(&self) -> Result<Vec<String>, LabError> {
        let mut found = Vec::new();
        for namespace in self.rendered.namespaces() {
            found.extend(self.pods(&namespace)?.iter().filter_map(trouble));
        }
        Ok(found)
    }
}
