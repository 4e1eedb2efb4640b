//! What programs read: one JSON document at the end of a run.

use serde::Serialize;

use super::lines::Row;
use crate::tpcc::machine::RunJson as OfTransactions;

/// A run as JSON: what `perbuck tpcc` says of the transactions, and the queries beside them.
#[derive(Debug, Serialize)]
pub(super) struct RunJson<'a> {
    #[serde(flatten)]
    pub(super) transactions: OfTransactions<'a>,
    pub(super) query_streams: u32,
    pub(super) current_queries: &'a [CurrentJson],
    pub(super) summary_queries: &'a [Row],
    /// An hour by the mean time of a query, as go-tpc has it.
    #[serde(rename = "QphH")]
    pub(super) qphh: Option<f64>,
    /// Those of all streams that ended in the window.
    pub(super) queries_per_hour: f64,
    /// The time from a commit until a query sees it: median, 99th percentile and longest; `null` where none was seen.
    pub(super) lag_ms: Option<[f64; 3]>,
    /// How the queries of a run differ from those of go-tpc.
    pub(super) other_than_go_tpc: &'static [&'static str],
}

/// The queries of the interval that ended at this second of the window.
#[derive(Debug, Serialize)]
pub(super) struct CurrentJson {
    pub(super) at_s: u32,
    pub(super) operations: Vec<Row>,
}
