//! How systems under test are put up, as pure functions: which programs to run with which arguments and files. Who calls it runs
//! them. Today it knows private servers ([`local`]).
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::net::IpAddr;
//! use std::path::{Path, PathBuf};
//!
//! use perbuck_deploy::local::{Kind, Parts, Wanted};
//!
//! let (config, databases) = (BTreeMap::from([("work_mem".to_owned(), "64MB".to_owned())]), ["perbuck".to_owned()]);
//! let parts = Parts::new();
//! assert!(config.iter().all(|(key, value)| Kind::Postgres.check(&parts, key, value).is_ok()));
//! let wanted = Wanted {
//!     folder: Path::new("/tmp/pg"),
//!     parts: &parts,
//!     options: "",
//!     address: IpAddr::from([127, 0, 0, 1]),
//!     ports: &[5433],
//!     config: &config,
//!     databases: &databases,
//!     connections: 90,
//!     as_root: false,
//! };
//! let programs: Vec<PathBuf> = Kind::Postgres.programs(&parts).iter().map(|program| PathBuf::from(program.names[0])).collect();
//! let recipe = Kind::Postgres.recipe(&wanted, &programs, "s3cret").unwrap_or_else(|refused| panic!("{}", refused.message));
//! assert!(recipe.target.contains("127.0.0.1:5433") && !recipe.target.contains("s3cret"));
//! assert!(Kind::Postgres.check(&parts, "port", "1").is_err(), "perbuck sets it itself");
//! ```
//!
//! Place on the floor plan: floor 4 in time (manifests of deployments). It stands on no other crate of perbuck; `lab` starts what it
//! describes.

pub mod kubernetes;
pub mod local;
