//! The databases: each module speaks one protocol and classifies its errors. No workload, no statistics.

pub mod mysql;
mod net;
pub mod postgres;
pub mod secret;
mod sql;
pub mod sqlite;
pub mod target;
pub mod tikv;
