//! The commands, one file each; every one returns its error instead of exiting.

pub(crate) mod audit;
pub(crate) mod capacity;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod demo;
pub(crate) mod prepare;
pub(crate) mod price;
pub(crate) mod prices;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod verify;
