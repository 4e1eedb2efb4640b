//! What differs where go-tpc's traffic is reproduced, so that old numbers have something to be compared with.

use perbuck_database::Dialect;

use super::Options;

/// How a run with `compat` differs from the specification, for people; empty without `compat`.
pub fn compat_notes(options: &Options) -> &'static [&'static str] {
    if options.go_tpc { &NOTES } else { &[] }
}

const NOTES: [&str; 8] = [
    "new orders read and change the stock of the home warehouse also for remote lines: no new order writes to two warehouses",
    "OL_AMOUNT contains tax and discount",
    "the 1 % of new orders with an unused item roll back before any work on their other lines",
    "the constants of NURand for items and customers are exchanged, A for items is 8189, and C for last names keeps no \
     distance from the load's",
    "items do not come twice in an order, and terminals do not lock stock in one common order: expect more deadlocks",
    "every transaction is drawn by itself (45/43/4/4/4 unless other weights are given), and not dealt from a deck",
    "terminals have no warehouse and no district: both are drawn for every transaction",
    "efficiency above 100 % means that terminals did not wait for keying and think times",
];

/// Whether go-tpc writes its hint for TiDB: a comment to MySQL and MariaDB, and an unknown word to the hints of YugabyteDB.
pub(super) fn hints(options: &Options, dialect: &dyn Dialect) -> bool {
    options.go_tpc && dialect.family() == "mysql"
}

pub(super) fn drives(dialect: &dyn Dialect) -> bool {
    matches!(dialect.family(), "mysql" | "postgres")
}
