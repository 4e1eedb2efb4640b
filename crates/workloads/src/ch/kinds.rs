//! The kinds of transaction of a trial: those of TPC-C, the queries, and what measures how fresh their data are.

use std::borrow::Cow;

use crate::tpcc;

/// Position of the first query; the others follow.
pub(super) const Q1: u8 = tpcc::KINDS.len() as u8;
/// How many queries there are.
pub(super) const QUERIES: usize = 22;
/// A committed marker.
pub(super) const MARKER: u8 = Q1 + QUERIES as u8;
/// The time from the commit of a marker until a query sees it.
pub(super) const FRESHNESS: u8 = MARKER + 1;

/// All kinds by position.
#[rustfmt::skip]
pub const KINDS: [&str; 29] = [
    tpcc::KINDS[0], tpcc::KINDS[1], tpcc::KINDS[2], tpcc::KINDS[3], tpcc::KINDS[4],
    "Q1", "Q2", "Q3", "Q4", "Q5", "Q6", "Q7", "Q8", "Q9", "Q10", "Q11",
    "Q12", "Q13", "Q14", "Q15", "Q16", "Q17", "Q18", "Q19", "Q20", "Q21", "Q22",
    "marker", "freshness",
];

/// The kind whose time is the lag of the queries' data.
pub const LAG: &str = KINDS[FRESHNESS as usize];

/// Whether a kind is one of the queries.
pub fn is_query(kind: &str) -> bool {
    QUERY_KINDS.iter().any(|query| query == kind)
}

/// Some kinds for the declaration of a metric, counted from the first query.
macro_rules! names {
    ($($after:literal)*) => { [$(Cow::Borrowed(KINDS[Q1 as usize + $after])),*] };
}

/// The queries alone.
pub(super) static QUERY_KINDS: [Cow<'static, str>; QUERIES] = names!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_where_they_are_looked_for() {
        let at = |kind: u8| KINDS[usize::from(kind)];
        assert_eq!((at(Q1), at(MARKER - 1), at(MARKER), at(FRESHNESS)), ("Q1", "Q22", "marker", "freshness"));
        assert_eq!((KINDS[0], &*QUERY_KINDS[0], &*QUERY_KINDS[21]), ("new_order", "Q1", "Q22"));
    }
}
