//! What a system's objects would not hold, found before they are made; and the images that all contenders of a cluster share.

use perbuck_core::study::{Contender, DeploySpec, Scalar};

use super::super::component::{Component, Kind};
use super::super::{settings, tidb};
use super::planner::Planner;
use super::{ADMIN, CLIENT, Group, System};

/// The releases of TiDB Operator whose objects perbuck writes. The README of 2.0.1 calls version 2 experimental (read 2026-11).
const OPERATOR: &str = "v1.6.";

impl Planner<'_> {
    /// What contenders must be that are up one after the other.
    pub(super) fn one_by_one(&mut self, deployed: usize) {
        let (study, all) = (self.study, self.study.contenders.iter().filter(|c| c.control_of.is_none()));
        if !study.sweep.one_by_one {
            return;
        }
        let (line, help) = (study.baseline().line, "leave out `sweep.contenders`");
        if all.count() != deployed || self.clusters.len() > 1 {
            let message = "`sweep.contenders` is \"one-by-one\", which is for contenders that perbuck deploys in one region of one provider";
            self.problem(line, message, help);
        }
        if study.decision.until.is_some() {
            self.problem(line, "`until` decides after each block, and contenders that are up one by one share none", help);
        }
    }

    /// Finds what the objects of a system would not hold.
    pub(super) fn check(&mut self, contender: &Contender, spec: &DeploySpec, system: &System, groups: &[Group]) {
        if let Some(operator) = spec.operator.as_ref().filter(|v| system.kind.has_operator() && !v.value.starts_with(OPERATOR)) {
            let message = format!("`deploy.operator` is `{}`, and perbuck deploys by TiDB Operator 1.6", operator.value);
            self.problem(operator.line, message, "write `operator = \"v1.6.6\"`");
        }
        for group in groups.iter().filter(|g| g.count != 1 && g.component.is_some_and(Component::is_single)) {
            let message = format!("`{}` has {} machines of role `{}`, and runs one", contender.name, group.count, group.role);
            self.problem(group.line, message, "write `count = 1`");
        }
        if system.kind == Kind::Tidb {
            self.check_tidb(contender, spec, system, groups);
        }
    }

    fn check_tidb(&mut self, contender: &Contender, spec: &DeploySpec, system: &System, groups: &[Group]) {
        for (component, settings) in &system.config {
            if let Some(path) = settings::value_and_table(settings) {
                let line = settings.get(path).map_or(spec.line, |found| found.line);
                let message = format!("`deploy.config.{}.{path}` is a value and a table of others", component.role());
                self.problem(line, message, "keep one of them");
            }
        }
        let set = system.config.get(&Component::Pd).and_then(|settings| settings.get(tidb::REPLICAS));
        if let (Some(set), Some(copies)) = (set, system.replication_factor)
            && set.value != Scalar::Int(copies.into())
        {
            let message = format!("`deploy.config.pd.{}` is {}, and `replication_factor` is {copies}", tidb::REPLICAS, set.value);
            self.problem(set.line, message, "leave it out: perbuck sets it to `replication_factor`");
        }
        let set = set.and_then(|set| if let Scalar::Int(copies) = set.value { u32::try_from(copies).ok() } else { None });
        let copies = system.replication_factor.or(set).unwrap_or(tidb::COPIES);
        for group in groups.iter().filter(|g| g.component == Some(Component::Tikv) && g.count < copies) {
            let message =
                format!("`{}` keeps {copies} copies of the data on {} machines of role `tikv`", contender.name, group.count);
            self.problem(group.line, message, format!("write `count = {copies}`, or `replication_factor = {}`", group.count));
        }
    }

    /// Reads the images of the operator and of the load agents, which contenders of one cluster share.
    pub(super) fn helpers(&mut self, position: usize, contender: &Contender, spec: &DeploySpec) {
        for (name, role) in [("operator", ADMIN), ("agent", CLIENT)] {
            let machine = contender.nodes.iter().find(|node| node.role == role).and_then(|node| node.machine.as_ref());
            let by = spec.images.get(name);
            let named = by.and_then(|by| machine.and_then(|m| by.get(&m.arch)).or_else(|| by.get(""))).cloned();
            let Some(cluster) = self.clusters.get_mut(position) else { return };
            let known = if name == "agent" { &mut cluster.agent } else { &mut cluster.operator_image };
            match (known.as_ref(), named) {
                (Some(known), Some(named)) if *known != named.value => {
                    let message = format!("contenders of one cluster differ in `deploy.image.{name}`");
                    self.problem(named.line, message, "name one image for all, of both architectures where machines differ");
                }
                (None, Some(named)) => *known = Some(named.value),
                _ => {}
            }
        }
    }
}
