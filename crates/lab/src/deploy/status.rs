//! What is there of a deployment, and how it differs from the study's bill.

use perbuck_core::compare::{deployed_otherwise, deployed_restarts};
use perbuck_core::run_record::Deployed;

use super::Deployment;
use super::cluster;
use super::state::ClusterState;
use crate::error::LabError;

/// What is there of one contender.
#[derive(Debug, Clone)]
pub struct Status {
    /// The contender.
    pub contender: String,
    /// Nodes, pods and volumes.
    pub deployed: Deployed,
    /// What differs from its bill, in words.
    pub differences: Vec<String>,
}

impl Deployment<'_> {
    /// What is there of each contender whose cluster is up.
    ///
    /// # Errors
    /// A cluster that does not answer.
    pub fn status(&mut self) -> Result<Vec<Status>, LabError> {
        let rendered = self.rendered.clone();
        let mut found = Vec::new();
        for one in &rendered {
            if !self.state.clusters.get(&one.cluster.name).is_some_and(ClusterState::is_up) {
                continue;
            }
            let reached = cluster::reach(one, &self.root)?;
            for system in &one.cluster.systems {
                let deployed = reached.deployed(system)?;
                let mut differences = deployed_otherwise(&self.inputs.study, &system.contender, &deployed);
                let restarts = deployed_restarts(&deployed);
                differences.extend(restarts);
                found.push(Status { contender: system.contender.clone(), deployed, differences });
            }
            self.saw(&reached)?;
        }
        Ok(found)
    }
}
