//! TPC-C by the specification, revision 5.11; clause numbers in comments refer to it.
//!
//! [`Tpcc`] runs the five transactions, [`TpccData`] makes the initial population and states the consistency
//! conditions. What other implementations get wrong and this one keeps: remote order lines read and change the stock
//! of the *remote* warehouse (2.4.2.2), amounts carry neither tax nor discount, the 1 % of new orders with an unused
//! item do all their work before they roll back (2.4.1.4), a terminal keeps its warehouse and district for life
//! (2.4.1.1, 2.8.1.1), cards are dealt without replacement (5.2.4.2), and the constants of NURand obey 2.1.6.1.
//!
//! What differs from an audited run, on purpose: no keying and think times, Delivery runs in the foreground
//! (2.7.2 queues it), dates of the initial population are a fixed instant so that data depend on the seed alone, and
//! screens (2.x.3) are not drawn, though every value that they show is fetched.

mod checks;
mod customer;
mod data;
mod deck;
mod delivery;
mod names;
mod new_order;
mod nurand;
mod order_status;
mod payment;
mod rows;
mod schema;
mod stock_level;
mod terminal;
mod text;

#[cfg(test)]
mod executed;
#[cfg(test)]
mod sqlite_session;

use std::collections::BTreeMap;

use crate::params::Reader;

pub use data::{TpccData, TpccPart};
pub use terminal::{Tpcc, TpccTerminal};

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

/// What a TPC-C run may be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// W of the specification (1.2.1): how many warehouses the database has, 1 to 100 000.
    pub warehouses: u32,
}

impl Options {
    /// Reads `warehouses` (1 to 100 000, 1 where absent). Problems stay in the reader.
    pub fn read(reader: &mut Reader<'_>) -> Self {
        let warehouses = reader.int("warehouses", 1..=100_000, 1);
        Self { warehouses: u32::try_from(warehouses).unwrap_or(1) }
    }

    /// Every parameter with its effective value.
    pub fn parameters(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("warehouses".to_owned(), self.warehouses.to_string())])
    }
}

#[cfg(test)]
mod tests {
    use perbuck_core::study::{Located, Scalar};

    use super::*;

    fn read(value: Option<i64>) -> (Options, bool) {
        let given: BTreeMap<String, Located<Scalar>> =
            value.map(|v| ("warehouses".to_owned(), Located { value: Scalar::Int(v), line: 1 })).into_iter().collect();
        let mut reader = Reader::new(&given);
        let options = Options::read(&mut reader);
        (options, reader.finish().is_ok())
    }

    #[test]
    fn warehouses_have_a_default_and_limits() {
        assert_eq!(read(None), (Options { warehouses: 1 }, true));
        assert_eq!(read(Some(100_000)), (Options { warehouses: 100_000 }, true));
        assert!(!read(Some(0)).1);
        assert!(!read(Some(100_001)).1);
        assert_eq!(Options { warehouses: 7 }.parameters()["warehouses"], "7");
    }
}
