//! Factors: read, and multiplied into the workloads.

use std::collections::{BTreeMap, BTreeSet};

use crate::study::factor::{AT, spelled};
use crate::study::server::{read_config, read_server_settings};
use crate::study::{Contender, Factor, FactorLevel, Sweep, WorkloadSpec};
use crate::toml_reader::Section;

use super::{MEMBERS, path_safe};

/// Levels of a factor at most.
const LEVELS: usize = 50;

pub(super) fn read_factors(root: &Section<'_>) -> Option<Vec<Factor>> {
    let factors = root.each("factor", read_factor)?;
    let mut names = BTreeSet::new();
    for factor in &factors {
        if !names.insert(&factor.name) {
            root.file().report(factor.line, format!("two factors are named `{}`", factor.name), "give each its own name");
        }
    }
    // A workload is named by its levels alone.
    let mut names = BTreeSet::new();
    for level in factors.iter().flat_map(|factor| &factor.levels) {
        if !names.insert(&level.name) {
            root.file().report(level.line, format!("two levels are named `{}`", level.name), "give each its own name");
        }
    }
    check_twice(root, &factors);
    Some(factors)
}

/// What levels of two factors set, so that one of them would do nothing.
fn check_twice(root: &Section<'_>, factors: &[Factor]) {
    let mut set: BTreeMap<(&str, String), &str> = BTreeMap::new();
    for (factor, level) in factors.iter().flat_map(|factor| factor.levels.iter().map(move |level| (factor, level))) {
        let of_servers = level.server_settings.keys().chain(level.config.keys()).map(|key| ("server", spelled(key)));
        let of_workloads = level.parameters.keys().map(|key| ("workload", key.clone()));
        let workers = level.workers.map(|_| ("load", "workers".to_owned()));
        for key in of_servers.chain(of_workloads).chain(workers) {
            let name = key.1.clone();
            let first = *set.entry(key).or_insert(&factor.name);
            if first != factor.name {
                let message = format!("level `{}` sets `{name}`, which factor `{first}` sets, too", level.name);
                root.file().report(level.line, message, "let one factor set it");
            }
        }
    }
}

fn read_factor(s: &Section<'_>) -> Option<Factor> {
    let name = s.required_text("name", "\"pool\"").and_then(|n| path_safe(s, "name", n));
    let label = s.text("label").map(|l| l.value);
    let by_hand = s.boolean("by_hand").is_some_and(|v| v.value);
    let levels = s.each("level", |level| read_level(level, by_hand));
    s.finish();
    let (name, levels) = (name?, levels?);
    if !(2..=LEVELS).contains(&levels.len()) {
        let help = "give it from 2 to 50: `level = [{ name = \"small\", … }, { name = \"large\", … }]`";
        s.file().report(s.line(), format!("factor `{name}` has {} levels", levels.len()), help);
        return None;
    }
    Some(Factor { label: label.unwrap_or_else(|| name.clone()), name, levels, by_hand, line: s.line() })
}

fn read_level(s: &Section<'_>, by_hand: bool) -> Option<FactorLevel> {
    let name = s.required_text("name", "\"large\"").and_then(|n| path_safe(s, "name", n));
    let label = s.text("label").map(|l| l.value);
    let server_settings = read_server_settings(s);
    let config = s.table("config").map(|c| read_config(&c)).unwrap_or_default();
    let parameters = s.table("workload").map(|w| w.remaining_scalars()).unwrap_or_default();
    let workers = s.count("workers", 1..=4096);
    s.finish();
    let name = name?;
    let sets = !(server_settings.is_empty() && config.is_empty() && parameters.is_empty() && workers.is_none());
    if sets && by_hand {
        let help = "leave them out, or leave out `by_hand`";
        s.report("name", format!("level `{name}` sets something, and you set the levels of this factor"), help);
    }
    Some(FactorLevel {
        label: label.unwrap_or_else(|| name.clone()),
        name,
        server_settings,
        config,
        parameters,
        workers,
        line: s.line(),
    })
}

/// One workload for each combination of levels, in the order of the file: the last factor varies first.
pub(super) fn multiply(
    root: &Section<'_>,
    factors: &[Factor],
    written: Vec<WorkloadSpec>,
    sweep: Option<&Sweep>,
) -> Vec<WorkloadSpec> {
    if factors.is_empty() {
        return written;
    }
    let combinations = factors.iter().try_fold(written.len(), |n, factor| n.checked_mul(factor.levels.len()));
    if combinations.is_none_or(|n| n > MEMBERS) {
        let message = format!("the workloads at all levels are more than {MEMBERS}");
        root.file().report(factors[0].line, message, "leave out a factor, or divide the study");
        return written;
    }
    check_parameters(root, factors, &written);
    let mut all = written;
    for factor in factors {
        all =
            all.into_iter().flat_map(|spec| (0..factor.levels.len()).map(move |at| at_level(&spec, factor, at, sweep))).collect();
    }
    all
}

fn at_level(spec: &WorkloadSpec, factor: &Factor, at: usize, sweep: Option<&Sweep>) -> WorkloadSpec {
    let level = &factor.levels[at];
    let mut made = spec.clone();
    let join = if spec.at.is_empty() { AT } else { ',' };
    made.name = format!("{}{join}{}", spec.name, level.name);
    made.at.push(at);
    made.parameters.extend(level.parameters.clone());
    if let (Some(workers), Some(own)) = (level.workers, spec.sweep.as_ref().or(sweep)) {
        made.sweep = Some(Sweep { workers: Some(workers), ..own.clone() });
    }
    made
}

/// A parameter that a workload does not have, or that it has of its own.
fn check_parameters(root: &Section<'_>, factors: &[Factor], written: &[WorkloadSpec]) {
    for (factor, level) in factors.iter().flat_map(|factor| factor.levels.iter().map(move |level| (factor, level))) {
        for (key, given) in &level.parameters {
            let lacks = |spec: &&WorkloadSpec| spec.known.is_some_and(|kind| kind.parameters.iter().all(|p| p.name != key));
            if let Some(spec) = written.iter().find(lacks) {
                let message = format!(
                    "level `{}` sets `{key}`, which workload `{}` ({}) does not have",
                    level.name, spec.name, spec.kind.value
                );
                root.file().report(given.line, message, "leave it out, or make two studies");
            }
            if let Some(spec) = written.iter().find(|spec| spec.parameters.contains_key(key)) {
                let message = format!("workload `{}` has its own `{key}`, which factor `{}` varies", spec.name, factor.name);
                root.file().report(spec.parameters[key].line, message, "leave it out of the workload");
            }
        }
    }
}

/// Settings of a level that a contender cannot have.
pub(super) fn check_contenders(root: &Section<'_>, factors: &[Factor], contenders: &[Contender]) {
    for level in factors.iter().flat_map(|factor| &factor.levels) {
        let first = level.config.values().map(|v| v.line).min();
        let fixed = contenders.iter().find(|c| c.server.is_none() && c.target.is_some());
        if let (Some(line), Some(contender)) = (first, fixed) {
            let message = format!(
                "level `{}` has `config`, and perbuck does not start the server of contender `{}`",
                level.name, contender.name
            );
            root.file().report(line, message, "use `server_settings`, or `by_hand = true` in the factor and set it yourself");
        }
    }
}
