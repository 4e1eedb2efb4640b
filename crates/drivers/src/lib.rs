//! The databases: each module speaks one protocol and classifies its errors. No workload, no statistics.

pub mod mysql;
pub mod secret;
pub mod sqlite;
pub mod target;
