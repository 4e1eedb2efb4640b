//! Whether a study can have what it asks for from outside its own file, as far as the study alone tells.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use perbuck_core::metric::RELATIVE;
use perbuck_core::problem::{Problem, did_you_mean};
use perbuck_core::study::{Contender, FactorLevel, ServerSpec, Study, WorkloadSpec, base_of};
use perbuck_core::toml_reader::Scalar;
use perbuck_core::units::duration_text;
use perbuck_core::workload_kind::metrics;
use perbuck_database::registry::AnyTarget;
use perbuck_deploy::local::{KINDS, Kind};
use perbuck_workloads::Plan;

use crate::cold;
use crate::registry::Registry;
use crate::rest::STILL;
use crate::servers::host::Address;

/// Processes of one part that can be started; one machine has no use for more.
const PART_MAX: i64 = 100;

/// The address of a cluster that perbuck deploys, at any host.
pub(super) fn deployed_target(contender: &Contender) -> Option<String> {
    let kind = perbuck_deploy::kubernetes::Kind::named(&contender.deploy.as_ref()?.kind.value)?;
    Some(kind.target("localhost"))
}

/// The address of a private server, with any ports: it is its form that is looked at.
fn private_target(spec: &ServerSpec) -> Option<String> {
    let (kind, parts) = (Kind::named(&spec.kind.value)?, spec.parts());
    if parts.values().any(|count| i64::from(*count) > PART_MAX) {
        return None;
    }
    let ports: Vec<u16> = (1..).take(kind.ports(&parts)).collect();
    kind.target(&parts, (Ipv4Addr::LOCALHOST.into(), &ports), spec.options.as_ref().map_or("", |options| options.value.as_str()))
}

/// The address of a contender's database, as far as the study tells; `None` for one that is only priced.
pub(super) fn address(contender: &Contender) -> Option<String> {
    match (&contender.target, &contender.server) {
        (Some(target), _) => Some(target.value.clone()),
        (None, Some(spec)) => private_target(spec),
        (None, None) => deployed_target(contender),
    }
}

pub(super) struct Check<'a> {
    /// What messages call the study.
    pub(super) file: &'a str,
    pub(super) registry: Registry,
    pub(super) problems: Vec<Problem>,
}

impl Check<'_> {
    pub(super) fn problem(&mut self, line: usize, message: String, help: impl Into<String>) {
        let problem = Problem { file: self.file.to_owned(), line, message, help: help.into() };
        // What is wrong at every level of a factor is told once.
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// The target of a contender; `None` for one that is only priced.
    pub(super) fn target(&mut self, contender: &Contender) -> Option<AnyTarget> {
        let written = contender.target.as_ref()?;
        let target = self.registry.target(&written.value);
        target.map_err(|p| self.problem(written.line, format!("contender `{}`: {}", contender.name, p.message), p.help)).ok()
    }

    pub(super) fn private_server(&mut self, contender: &Contender) {
        let Some(spec) = &contender.server else { return };
        let name = &contender.name;
        let Some(kind) = Kind::named(&spec.kind.value) else {
            let help =
                format!("perbuck starts {}; give any other server by its `target`", KINDS.map(|(name, _)| name).join(", "));
            let message = format!("contender `{name}`: perbuck cannot start a server of kind `{}`", spec.kind.value);
            return self.problem(spec.kind.line, message, help);
        };
        if let Some((host, why)) = spec.host.as_ref().and_then(|host| Some((host, Address::read(&host.value).err()?))) {
            self.problem(host.line, format!("contender `{name}`: {why}"), "write it like `host = \"ssh://user@db-1\"`");
        }
        self.parts(kind, spec);
        let (parts, mut settings) = (spec.parts(), BTreeMap::new());
        for (key, value) in &spec.config {
            if let Err(refused) = kind.check(&parts, key, &value.value) {
                self.problem(value.line, format!("contender `{name}`: {}", refused.message), refused.help);
            }
            if let Some(other) = settings.insert(kind.setting(key), key) {
                let message = format!("contender `{name}`: `{other}` and `{key}` in `config` are one setting");
                self.problem(value.line, message, "keep one of them");
            }
        }
        let Some(options) = &spec.options else { return };
        if let Some(Err(p)) = private_target(spec).map(|target| self.registry.target(&target)) {
            self.problem(options.line, format!("contender `{name}`: {}", p.message), p.help);
        }
    }

    /// Reads the configuration files of private servers; settings that `config` has, too, are left to it.
    pub(super) fn config_files(&mut self, study: &mut Study) {
        for contender in &mut study.contenders {
            let Some(spec) = &mut contender.server else { continue };
            let (parts, kind) = (spec.parts(), Kind::named(&spec.kind.value));
            let given: Vec<String> = spec.config.keys().cloned().collect();
            let (Some(file), Some(kind)) = (&mut spec.config_file, kind) else { continue };
            match kind.read_file(&parts, &file.text) {
                Ok(mut found) => {
                    found.settings.retain(|key, _| !given.iter().any(|own| kind.setting(own) == kind.setting(key)));
                    file.settings = found.settings;
                }
                Err((line, why)) => {
                    let message = format!("contender `{}`: {}:{line}: {}", contender.name, file.name.value, why.message);
                    self.problem(file.name.line, message, why.help);
                }
            }
        }
    }

    /// What levels set that a contender cannot have.
    pub(super) fn levels(&mut self, study: &Study) {
        for level in study.factors.iter().flat_map(|factor| &factor.levels) {
            for contender in &study.contenders {
                self.level(level, contender);
            }
        }
    }

    fn level(&mut self, level: &FactorLevel, contender: &Contender) {
        let who = format!("level `{}`, contender `{}`", level.name, contender.name);
        let written = match (&contender.target, &contender.server) {
            (Some(target), _) => Some(target.value.clone()),
            (None, Some(spec)) => private_target(spec),
            (None, None) => None,
        };
        // What is wrong with the target itself is said elsewhere.
        let target = written.and_then(|target| self.registry.target(&target).ok());
        let settings = level.server_settings.values().map(|v| v.line).min();
        let lack = target.as_ref().and_then(|target| target.dialect().server_settings().err());
        if let (Some(line), Some(lack)) = (settings, lack) {
            self.problem(line, format!("{who}: {} `server_settings`", lack.why), lack.help);
        }
        let Some((spec, kind)) = contender.server.as_ref().and_then(|spec| Some((spec, Kind::named(&spec.kind.value)?))) else {
            return;
        };
        let parts = spec.parts();
        if let Some(line) = level.config.values().map(|v| v.line).min().filter(|_| !kind.keeps_data(&parts)) {
            let message = format!("{who}: this server would lose its data when it is started with another `config`");
            self.problem(line, message, "use `server_settings`, or give it stores of its own");
        }
        for (key, value) in &level.config {
            if let Err(refused) = kind.check(&parts, key, &value.value) {
                self.problem(value.line, format!("{who}: {}", refused.message), refused.help);
            }
            let other = spec.config.keys().find(|own| *own != key && kind.setting(own) == kind.setting(key));
            if let Some(other) = other {
                let message = format!("{who}: `{key}` and `{other}` of its `config` are one setting");
                self.problem(value.line, message, "write both alike");
            }
        }
    }

    /// How many of each part of a server are started.
    fn parts(&mut self, kind: Kind, spec: &ServerSpec) {
        let mut known = [&["config", "config_file", "folder", "kind", "options", "program", "version"], kind.parts()].concat();
        known.sort_unstable();
        for (part, found) in &spec.parts {
            let path = format!("contender.server.{part}");
            if !known.contains(&part.as_str()) {
                let help = did_you_mean(part, &known, || format!("known here: {}", known.join(", ")));
                self.problem(found.line, format!("unknown key `{path}`"), help);
            } else if !matches!(found.value, Scalar::Int(1..=PART_MAX)) {
                let message = format!("`{path}` is {}, not a whole number from 1 to {PART_MAX}", found.value);
                self.problem(found.line, message, format!("write for instance `{part} = 3`"));
            }
        }
    }

    /// How long a contender is waited for.
    fn rest(&mut self, contender: &Contender) {
        let Some(limit) = &contender.wait_ready_ns else { return };
        let (name, least) = (&contender.name, duration_text(STILL.as_nanos() as u64));
        if !contender.is_driven() {
            let message = format!("contender `{name}`: without a target there is no server for `wait_ready`");
            self.problem(limit.line, message, "add a target or a `server`, or remove it");
        } else if limit.value > 0 && limit.value <= STILL.as_nanos() as u64 {
            let message =
                format!("contender `{name}`: `wait_ready` is {}, and nothing may move for {least}", duration_text(limit.value));
            self.problem(limit.line, message, "give it minutes, or \"0s\" for no wait");
        }
    }

    /// What a contender asks of its transactions, and what its database has for it.
    pub(super) fn transactions(&mut self, study: &Study, contender: &Contender) {
        if contender.control_of.is_some() {
            return;
        }
        self.rest(contender);
        let written = address(contender);
        if let (None, Some(choice)) = (&written, contender.transactions.first().filter(|_| !contender.is_driven())) {
            let message = format!("contender `{}`: without a target there are no `transactions`", contender.name);
            self.problem(choice.line, message, "add a target or a `server`, or remove them");
        }
        let Some(Ok(target)) = written.map(|target| self.registry.target(&target)) else { return };
        for choice in &contender.transactions {
            let (key, name) = (choice.value.key(), target.dialect().name());
            let Some((variable, _)) = target.dialect().transactions(choice.value) else {
                let message = format!("contender `{}`: {name} has nothing for `transactions.{key}`", contender.name);
                self.problem(choice.line, message, "leave it out");
                continue;
            };
            let set = |(other, _): &(String, String)| other.eq_ignore_ascii_case(variable);
            if target.server().is_some_and(|server| server.settings.iter().any(set)) {
                let message =
                    format!("contender `{}`: `transactions.{key}` and `set.{variable}` in its address are one", contender.name);
                self.problem(choice.line, message, "keep one of them");
            }
            let own = study.workloads.iter().find(|workload| key == "isolation" && workload.parameters.contains_key(key));
            if let Some(workload) = own {
                let message = format!(
                    "contender `{}`: workload `{}` has its own `{key}`, which would count",
                    contender.name, workload.name
                );
                self.problem(choice.line, message, "keep one of them");
            }
        }
    }

    /// What a contender changes on running servers.
    pub(super) fn changes(&mut self, contender: &Contender) {
        // A control repeats its contender, whose problems are told once.
        if contender.control_of.is_some() {
            return;
        }
        // What is wrong with the target itself is said elsewhere.
        let target = contender.target.as_ref().map(|t| self.registry.target(&t.value));
        let lack = target.as_ref().and_then(|t| t.as_ref().ok()?.dialect().server_settings().err());
        let why = |what: &str| match (&contender.server, &target, lack) {
            (Some(_), _, _) => Some(format!("contender `{}`: a private server takes no {what}", contender.name)),
            (None, None, _) => Some(format!("contender `{}`: without a target there is no server for {what}", contender.name)),
            (None, Some(_), Some(lack)) => Some(format!("contender `{}`: {} {what}", contender.name, lack.why)),
            (None, Some(_), None) => None,
        };
        let settings = contender.server_settings.values().map(|v| v.line).min();
        if let Some((line, why)) = settings.zip(why("`server_settings`")) {
            let help = match (&contender.server, lack) {
                (Some(_), _) => "put them into `config` of the `server`",
                (None, Some(lack)) => lack.help,
                _ => "add a target of the MySQL protocol, or remove them",
            };
            self.problem(line, why, help);
        }
        if let Some((replicas, why)) = contender.tiflash_replicas.as_ref().zip(why("`tiflash_replicas`")) {
            self.problem(replicas.line, why, "only TiDB has TiFlash; remove it");
        }
    }

    /// Whose caches perbuck cannot make cold.
    pub(super) fn cold(&mut self, study: &Study, contender: &Contender) {
        if contender.control_of.is_some() || !study.workloads.iter().any(|w| study.sweep_of(&w.name).cold) {
            return;
        }
        let who = format!("contender `{}`", contender.name);
        let lost = contender
            .server
            .as_ref()
            .filter(|spec| Kind::named(&spec.kind.value).is_some_and(|kind| !kind.keeps_data(&spec.parts())));
        if let Some(spec) = lost {
            let message = format!("{who}: this server would lose its data when it is restarted for `caches = \"cold\"`");
            self.problem(spec.kind.line, message, "give it stores of its own, or leave `caches` out");
        }
        if let Some(deploy) = &contender.deploy {
            let message = format!("{who}: perbuck restarts no servers that it deploys, so `caches = \"cold\"` is not possible");
            self.problem(deploy.kind.line, message, "leave `caches` out");
        }
        // What is wrong with the target itself is said elsewhere.
        let held = |target: &AnyTarget| target.lease_file().is_some();
        let target = contender.target.as_ref().filter(|t| self.registry.target(&t.value).is_ok_and(|target| !held(&target)));
        if let Some(target) = target {
            self.problem(target.line, cold::not_held(&who), cold::HELP);
        }
    }

    pub(super) fn plan(&mut self, spec: &WorkloadSpec) -> Option<Plan> {
        let line = |key: &str| match key {
            "kind" => spec.kind.line,
            key => spec.parameters.get(key).map_or(spec.line, |p| p.line),
        };
        let plan = match self.registry.plan(&spec.kind.value, &spec.parameters) {
            Ok(plan) => plan,
            Err(found) => {
                for p in found {
                    self.problem(line(&p.key), format!("workload `{}`: {}", base_of(&spec.name), p.message), p.help);
                }
                return None;
            }
        };
        let Some(metric) = spec.metric.as_ref().filter(|m| !plan.kind.has(m, &plan.parameters())) else { return Some(plan) };
        if *metric == RELATIVE {
            let measured = metrics(&self.registry.kinds(), None).into_iter().filter(|m| **m != RELATIVE);
            let names: Vec<String> = measured.map(|m| format!("\"{}\"", m.name)).collect();
            let help = names.split_last().map_or(String::new(), |(last, most)| format!("use {} or {last}", most.join(", ")));
            let message = format!("workload `{}`: only published results can have the metric `relative`", base_of(&spec.name));
            self.problem(spec.line, message, help);
        } else {
            let message = format!("workload `{}` has no {}, so it has no {}", base_of(&spec.name), metric.counts, metric.label);
            self.problem(spec.line, message, "give this workload its own `metric = \"tps\"`");
        }
        None
    }

    /// Workloads that would spoil each other's tables; that their parameters agree is checked with the study.
    pub(super) fn conflicts(&mut self, study: &Study, plans: &[Plan]) {
        let all: Vec<(&WorkloadSpec, &Plan)> = study.workloads.iter().zip(plans).collect();
        for (i, (spec, plan)) in all.iter().enumerate() {
            let same = |(other, _): &&(&WorkloadSpec, &Plan)| other.database == spec.database;
            let why = all[..i].iter().filter(same).find_map(|(other, p)| Some((other, p.conflict(&***plan)?)));
            if let Some((other, why)) = why {
                if base_of(&other.name) == base_of(&spec.name) {
                    let message = format!("a factor gives workload `{}` other rows: {why}", base_of(&spec.name));
                    self.problem(spec.line, message, "make two studies: a level cannot change what shapes the rows");
                    continue;
                }
                let message = format!("workloads `{}` and `{}` cannot share their tables, because {why}", other.name, spec.name);
                self.problem(spec.line, message, "give one of them its own `database = \"…\"`");
            }
        }
    }

    /// Points that a workload has no room for.
    pub(super) fn too_many_connections(&mut self, study: &Study, plans: &[Plan]) {
        for (spec, plan) in study.workloads.iter().zip(plans) {
            let most = study.sweep_of(&spec.name).connections.iter().copied().max().unwrap_or(0);
            if let Some((limit, parameter)) = plan.connections_max().filter(|(limit, _)| *limit < most) {
                let line = spec.parameters.get(parameter).map_or(spec.line, |p| p.line);
                let message =
                    format!("workload `{}`: `{parameter}` is {limit}, and the sweep has {most} connections", base_of(&spec.name));
                self.problem(line, message, format!("set `{parameter} = {most}`"));
            }
        }
    }

    /// Workloads whose terminals wait for themselves under a schedule of arrivals.
    pub(super) fn paced_twice(&mut self, study: &Study, plans: &[Plan]) {
        for (spec, plan) in study.workloads.iter().zip(plans) {
            if let Some(parameter) = plan.paced_by().filter(|_| study.sweep.is_open()) {
                let line = spec.parameters.get(parameter).map_or(spec.line, |p| p.line);
                let message = format!(
                    "workload `{}`: `{parameter}` lets terminals pause, and the sweep says when they start",
                    base_of(&spec.name)
                );
                let help = format!("leave `{parameter}` out, or give the sweep `connections` without a rate");
                self.problem(line, message, help);
            }
        }
    }

    /// Hosts for queries that no workload asks.
    pub(super) fn query_hosts(&mut self, study: &Study) {
        let asks = |w: &WorkloadSpec| w.known.is_some_and(|kind| kind.interference.is_some()) && w.beside() > 0;
        for target in study.contenders.iter().filter_map(|c| c.target.as_ref()).filter(|_| !study.workloads.iter().any(asks)) {
            let parsed = self.registry.target(&target.value).ok();
            if parsed.as_ref().and_then(|t| t.server()).is_some_and(|server| server.query_host.is_some()) {
                let message =
                    "`queries` of the target names a host, and no workload has query streams beside its load".to_owned();
                self.problem(target.line, message, "leave it out, or add a workload such as `kind = \"ch\"`");
            }
        }
    }
}
