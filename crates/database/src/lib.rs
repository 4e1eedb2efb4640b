//! What a database is to the rest of perbuck.

pub mod address;
pub mod secret;
pub mod sql;
