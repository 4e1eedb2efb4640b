//! How systems under test are put up, as pure functions: what to run with which arguments, never running it.

pub mod local;
