//! TPC-C by the specification, revision 5.11; clause numbers in comments refer to it.
//!
//! [`Tpcc`] runs the five transactions, [`TpccData`] makes the initial population and states the consistency
//! conditions. What other implementations get wrong and this one keeps: remote order lines read and change the stock
//! of the *remote* warehouse (2.4.2.2), amounts carry neither tax nor discount, the 1 % of new orders with an unused
//! item do all their work before they roll back (2.4.1.4), a terminal keeps its warehouse and district for life
//! (2.4.1.1, 2.8.1.1), cards are dealt without replacement (5.2.4.2), and the constants of NURand obey 2.1.6.1.
//!
//! What differs from an audited run, on purpose: no keying and think times unless asked for, Delivery runs in the foreground
//! (2.7.2 queues it), dates of the initial population are a fixed instant so that data depend on the seed alone, and
//! screens (2.x.3) are not drawn, though every value that they show is fetched.

pub mod audit;
mod checks;
mod compat;
mod customer;
mod data;
pub(crate) mod ddl;
mod deck;
mod delivery;
mod names;
mod new_order;
mod nurand;
mod options;
mod order_status;
mod pauses;
mod payment;
mod registration;
mod rows;
pub(crate) mod schema;
mod stock_level;
mod terminal;
mod text;

#[cfg(test)]
mod executed;
#[cfg(test)]
mod tests;

pub use compat::compat_notes;
pub use data::TpccData;
pub use deck::KINDS;
pub use options::{Isolation, Options, PartitionType};
pub(crate) use options::{session, session_text};
pub(crate) use registration::PARAMETERS;
pub use registration::{KIND, TPMC};
pub use terminal::{Tpcc, TpccTerminal};

/// How many tables there are (1.3).
pub(crate) const TABLES: usize = schema::TABLES.len();
/// Money is counted in cents.
const DOLLAR: i64 = 100;
/// Rows of ITEM (1.2.1); the numbers above it are the unused ones of 2.4.1.5.
const ITEMS: i64 = 100_000;
/// Districts of a warehouse (1.2.1).
const DISTRICTS: i64 = 10;
/// Customers of a district (1.2.1).
const CUSTOMERS: i64 = 3_000;
/// Orders of a district after the load (1.2.1).
const ORDERS: i64 = 3_000;
/// The first order of the initial population that was not delivered (4.3.3.1).
const FIRST_UNDELIVERED: i64 = 2_101;
