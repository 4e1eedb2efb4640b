//! What a study varies beside contenders, workloads and load: factors with named levels.
//!
//! Every contender is measured at every level. Reading the study makes one workload of each combination of levels, named
//! `workload@level,level`, so that ratios pair within a level and each level has its own baseline.

use std::collections::BTreeMap;

use super::{Contender, Located, Scalar, Study, WorkloadSpec};

/// Between the name of a workload and the levels at which it runs; no name that a user gives has it.
pub(super) const AT: char = '@';

/// Something that is varied.
#[derive(Debug, Clone)]
pub struct Factor {
    /// Path-safe name.
    pub name: String,
    /// What reports call it; the name where not given.
    pub label: String,
    /// Its levels, at least two; the first is the one that others are compared with.
    pub levels: Vec<FactorLevel>,
    /// Whether the user sets its levels outside of perbuck, and runs one of them at a time.
    pub by_hand: bool,
    /// Line of its header.
    pub line: usize,
}

/// One level of a factor, and what it sets.
#[derive(Debug, Clone)]
pub struct FactorLevel {
    /// Path-safe name, of one level in the whole study.
    pub name: String,
    /// What reports call it; the name where not given.
    pub label: String,
    /// Global settings of servers while its trials run, as in a contender.
    pub server_settings: BTreeMap<String, Located<String>>,
    /// Settings with which private servers are started, as in `config` of a `server`.
    pub config: BTreeMap<String, Located<String>>,
    /// Parameters of every workload.
    pub parameters: BTreeMap<String, Located<Scalar>>,
    /// Load threads.
    pub workers: Option<u32>,
    /// Line in the study.
    pub line: usize,
}

impl FactorLevel {
    /// What of it decides what is measured; parameters and load threads are in the workloads.
    pub(crate) fn identity(&self) -> String {
        let texts =
            |of: &BTreeMap<String, Located<String>>| of.iter().map(|(k, v)| (k.clone(), v.value.clone())).collect::<Vec<_>>();
        format!("{} {:?} {:?}", self.name, texts(&self.server_settings), texts(&self.config))
    }

    /// Whether servers differ at it.
    fn is_of_servers(&self) -> bool {
        !self.server_settings.is_empty() || !self.config.is_empty()
    }
}

impl Factor {
    /// The level of that name.
    pub fn level(&self, name: &str) -> Option<&FactorLevel> {
        self.levels.iter().find(|level| level.name == name)
    }

    /// Whether one of its levels is a state of servers that a trial must find.
    fn is_of_servers(&self) -> bool {
        self.by_hand || self.levels.iter().any(FactorLevel::is_of_servers)
    }
}

/// A setting in one spelling: capitals, `-` and `_` make no difference to servers.
pub(super) fn spelled(key: &str) -> String {
    key.to_ascii_lowercase().replace('-', "_")
}

/// The name of the workload that was written, of one at some levels.
pub fn base_of(workload: &str) -> &str {
    workload.split_once(AT).map_or(workload, |(base, _)| base)
}

impl Study {
    /// The factors with the level of each at which a workload runs; empty in a study without factors.
    pub fn levels_of<'s>(&'s self, spec: &'s WorkloadSpec) -> impl Iterator<Item = (&'s Factor, &'s FactorLevel)> {
        self.factors.iter().zip(&spec.at).filter_map(|(factor, at)| Some((factor, factor.levels.get(*at)?)))
    }

    /// The state of servers in which a workload runs: the names of the levels that set it; empty where no factor does.
    pub fn server_state(&self, spec: &WorkloadSpec) -> String {
        let names = self.levels_of(spec).filter(|(factor, _)| factor.is_of_servers()).map(|(_, level)| level.name.as_str());
        names.collect::<Vec<_>>().join(",")
    }

    /// A contender in the state of servers of a workload: its name, and after `@` that state.
    pub fn state_name(&self, contender: &str, spec: &WorkloadSpec) -> String {
        let state = self.server_state(spec);
        if state.is_empty() { contender.to_owned() } else { format!("{contender}{AT}{state}") }
    }

    /// One workload for each state of servers that the study has.
    pub fn by_state(&self) -> Vec<&WorkloadSpec> {
        let mut found: Vec<(String, &WorkloadSpec)> = Vec::new();
        for spec in &self.workloads {
            let state = self.server_state(spec);
            if found.iter().all(|(known, _)| *known != state) {
                found.push((state, spec));
            }
        }
        found.into_iter().map(|(_, spec)| spec).collect()
    }

    /// The levels at which a workload runs that the user sets, as `factor=level`.
    pub fn set_by_hand(&self, spec: &WorkloadSpec) -> Vec<String> {
        let by_hand = self.levels_of(spec).filter(|(factor, _)| factor.by_hand);
        by_hand.map(|(factor, level)| format!("{}={}", factor.name, level.name)).collect()
    }

    /// A contender as it is while a workload runs: with what the levels set on its servers.
    pub fn contender_at(&self, contender: &Contender, spec: &WorkloadSpec) -> Contender {
        let mut at = contender.clone();
        for (_, level) in self.levels_of(spec) {
            at.server_settings.extend(level.server_settings.clone());
            if let Some(server) = &mut at.server {
                // A level wins over the server's file, whatever the spelling.
                let set: Vec<String> = level.config.keys().map(|key| spelled(key)).collect();
                if let Some(file) = &mut server.config_file {
                    file.settings.retain(|key, _| !set.contains(&spelled(key)));
                }
                server.config.extend(level.config.clone());
            }
        }
        at
    }

    /// The workload of a name with its levels in words: `read-write, 35 GB, zipfian`.
    pub fn title_of(&self, workload: &str) -> String {
        let Some(spec) = self.workload(workload).filter(|_| !self.factors.is_empty()) else { return workload.to_owned() };
        let labels = self.levels_of(spec).map(|(_, level)| level.label.as_str());
        std::iter::once(base_of(workload)).chain(labels).collect::<Vec<_>>().join(", ")
    }
}
