//! What a CH-benCHmark run may be told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use perbuck_core::units::Seed;
use perbuck_core::workload_kind::WorkloadKind;
use perbuck_database::dialect::{Dialect, Feature};
use perbuck_load::workload::Dataset;

use super::kinds::QUERIES;
use super::nations::SUPPLIERS;
use super::registration::KIND;
use super::{Ch, ChData, queries};
use crate::benchmark::{Benchmark, DataSize, Explained};
use crate::params::{Reader, other_data, put};
use crate::{tpcc, tpch};

/// What a CH-benCHmark run may be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What TPC-C may be told: warehouses, and how its terminals work.
    pub tpcc: tpcc::Options,
    /// Whether connections run transactions; else each is a query stream.
    pub transactions: bool,
    /// Query streams beside the transactions. 0 to 1024.
    pub query_streams: u32,
    /// Variables that sessions of queries alone set when they open: name, and value as SQL has it.
    pub query_session: Vec<(String, String)>,
    /// Seconds after which the server ends a query, which then has failed. 1 to 86 400.
    pub limit_s: u32,
    /// The numbers of the queries that each stream repeats in this order; empty for all in the orders of TPC-H.
    pub queries: Vec<usize>,
    /// Whether the data are without the tables of TPC-C, which are there. No study says so: `perbuck ch prepare` adds what `perbuck tpcc prepare` lacks.
    pub without_tpcc: bool,
}

/// Above it, warehouse times item is beyond 32 bits, which some databases refuse.
const WAREHOUSES_MAX: u32 = 20_000;

impl Options {
    /// Query streams that are no connections of the load.
    pub(super) fn streams_beside(&self) -> u32 {
        if self.transactions { self.query_streams } else { 0 }
    }

    /// Connections of these streams, of what commits the marker, and of what looks for it.
    pub(super) fn connections_beside(&self) -> u32 {
        match self.streams_beside() {
            0 => 0,
            streams => streams + 2,
        }
    }

    /// The numbers of the queries that are asked, each once.
    fn asked(&self) -> Vec<usize> {
        let chosen: BTreeSet<usize> = self.queries.iter().copied().collect();
        if chosen.is_empty() { (1..=QUERIES).collect() } else { chosen.into_iter().collect() }
    }

    /// After which a query has failed, and a marker counts as not seen.
    pub(super) fn limit(&self) -> Duration {
        Duration::from_secs(u64::from(self.limit_s))
    }
}

impl Benchmark for Options {
    type Workload = Ch;

    fn kind() -> &'static WorkloadKind {
        &KIND
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        let options = Self {
            tpcc: tpcc::Options::read(reader),
            transactions: reader.switch("transactions"),
            query_streams: reader.int("query_streams") as u32,
            query_session: tpcc::session(reader, "query_session"),
            limit_s: reader.int("limit") as u32,
            queries: tpch::chosen(reader),
            without_tpcc: false,
        };
        if !options.transactions && reader.has("query_streams") {
            let message = "`query_streams` is given, and without `transactions` each connection is a query stream";
            reader.problem("query_streams", message, "leave it out, and give the workload as many `connections`");
        }
        if options.tpcc.warehouses > WAREHOUSES_MAX {
            let message =
                format!("`warehouses` is {}, and the queries multiply it by the number of an item", options.tpcc.warehouses);
            reader.problem("warehouses", message, format!("give {WAREHOUSES_MAX} at most"));
        }
        options
    }

    fn dataset(&self, dialect: &'static dyn Dialect, seed: Seed) -> Arc<dyn Dataset> {
        Arc::new(ChData::new(self, dialect, seed))
    }

    fn workload(&self, dialect: &'static dyn Dialect, seed: Seed) -> Ch {
        Ch::new(self.clone(), dialect, seed)
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        let mut all = self.tpcc.parameters();
        let mut put = |key: &str, value: &dyn ToString| put(&mut all, key, value);
        put("transactions", &self.transactions);
        put("query_streams", &self.streams_beside());
        put("limit", &self.limit_s);
        if !self.query_session.is_empty() {
            put("query_session", &tpcc::session_text(&self.query_session));
        }
        if !self.queries.is_empty() {
            put("queries", &tpch::chosen_text(&self.queries));
        }
        all
    }

    fn conflict(&self, other: &dyn Benchmark) -> Option<String> {
        let other: &Self = other.options()?;
        other_data(&self.tpcc.data_parameters(), &other.tpcc.data_parameters())
    }

    fn size(&self) -> DataSize {
        let of_tpcc = self.tpcc.size();
        DataSize { rows: of_tpcc.rows + SUPPLIERS as u64, ..of_tpcc }
    }

    fn refusal(&self, dialect: &dyn Dialect) -> Option<(String, String)> {
        self.tpcc.refusal(dialect).or_else(|| {
            let lack = dialect.lacks(Feature::SessionVariables).filter(|_| !self.query_session.is_empty())?;
            Some((format!("`query_session` is given, and {}", lack.why), "leave `query_session` out".to_owned()))
        })
    }

    fn explained(&self) -> Option<Explained> {
        let asks = !self.transactions || self.query_streams > 0;
        let name = |number: &usize| format!("Q{number}");
        asks.then(|| Explained { names: self.asked().iter().map(name).collect(), limit: self.limit() })
    }

    fn explained_query(&self, position: usize, dialect: &dyn Dialect) -> String {
        queries::all(dialect)[self.asked()[position] - 1].clone()
    }

    fn paced_by(&self) -> Option<&'static str> {
        self.tpcc.paced_by()
    }
}
