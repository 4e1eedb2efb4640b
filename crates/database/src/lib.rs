//! The interface of a database to the rest of perbuck: a [`Dialect`] with its SQL and its features, a [`Target`], and a
//! [`Database`] that registers both with a driver. No product is named here.
//!
//! It stands on floor 1, on `core` and `load`; the rooms of the databases stand on it, and workloads ask it.
//!
//! ```
//! use perbuck_database::registry::Databases;
//!
//! // A list of databases is a type: `(Mysql, (Sqlite, ()))`. The empty one drives nothing.
//! assert!(<()>::parse("mysql://user@host/db").is_err());
//! ```

pub mod address;
pub mod bulk;
pub mod dialect;
pub mod endpoint;
pub mod file;
pub mod fingerprint;
pub mod plans;
pub mod registry;
pub mod secret;
pub mod server;
pub mod settings;
pub mod sql;
pub mod storage;

pub use dialect::Dialect;
pub use registry::{Database, Databases, Target, Wishes};
