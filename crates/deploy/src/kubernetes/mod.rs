//! What a study deploys on Kubernetes, as files and objects: pure functions of the study and of the machine types of its price list.

pub mod agents;
pub mod capacity;
pub mod component;
pub mod eks;
#[cfg(test)]
mod fixture;
pub mod gke;
pub mod images;
pub mod object;
pub mod operator;
pub mod plan;
mod pod;
pub mod render;
#[cfg(test)]
mod schema;
mod settings;
pub mod single;
pub mod storage;
#[cfg(test)]
mod systems_tests;
pub mod tidb;

pub use component::{Component, Kind};
pub use object::Object;
pub use plan::{Cluster, Group, Plan, Root, System};

/// Labels of every object and node that perbuck makes.
pub mod label {
    /// The study's name.
    pub const STUDY: &str = "perbuck/study";
    /// The contender's name.
    pub const CONTENDER: &str = "perbuck/contender";
    /// The role of the study's `node`; of nodes, and the key of their taint.
    pub const ROLE: &str = "perbuck/role";
    /// The component under test, of pods.
    pub const COMPONENT: &str = "perbuck/component";
}
