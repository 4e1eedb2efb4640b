//! The data: those of TPC-C, suppliers with their nations and regions, and the marker.

use std::collections::BTreeMap;

use perbuck_core::units::Seed;
use perbuck_database::Dialect;
use perbuck_database::dialect::Type::{BytewiseChar as Char, BytewiseVarchar as Varchar, Decimal, Int};
use perbuck_load::values::Params;
use perbuck_load::workload::{Check, Dataset, Part, TableSpec};

use super::Options;
use super::nations::{self, REGIONS, SUPPLIERS};
use crate::tpcc::ddl;
use crate::tpcc::schema::Table;
use crate::tpcc::{self, TpccData};

/// Suppliers of a batch.
const BATCH: i64 = 1_000;

/// A table of ours: it is in no warehouse.
const fn table(
    name: &'static str,
    columns: &'static [(&'static str, perbuck_database::dialect::Type)],
    key: &'static [&'static str],
) -> Table {
    Table { name, columns, key, index: None, warehouse: None, references: &[] }
}

/// Our tables, after the nine of TPC-C.
const TABLES: [Table; 4] = [
    table("region", &[("r_regionkey", Int), ("r_name", Char(25)), ("r_comment", Varchar(152))], &["r_regionkey"]),
    table(
        "nation",
        &[("n_nationkey", Int), ("n_name", Char(25)), ("n_regionkey", Int), ("n_comment", Varchar(152))],
        &["n_nationkey"],
    ),
    table(
        "supplier",
        &[
            ("su_suppkey", Int),
            ("su_name", Char(25)),
            ("su_address", Varchar(40)),
            ("su_nationkey", Int),
            ("su_phone", Char(15)),
            ("su_acctbal", Decimal(12, 2)),
            ("su_comment", Varchar(101)),
        ],
        &["su_suppkey"],
    ),
    table(MARKER_TABLE, &[("m_id", Int), ("m_number", Int)], &["m_id"]),
];

/// The table of the marker, which has one row.
pub(super) const MARKER_TABLE: &str = "ch_marker";

/// The data of CH-benCHmark.
#[derive(Debug)]
pub struct ChData {
    tpcc: TpccData,
    options: Options,
    dialect: &'static dyn Dialect,
    suppliers: Seed,
}

impl ChData {
    /// The data for these options; `seed` is the data seed.
    pub fn new(options: &Options, dialect: &'static dyn Dialect, seed: Seed) -> Self {
        let (tpcc, suppliers) = (TpccData::new(options.tpcc.clone(), dialect, seed), seed.derive("ch.supplier"));
        Self { tpcc, options: options.clone(), dialect, suppliers }
    }

    /// The first of our tables among all.
    fn first(&self) -> usize {
        if self.options.without_tpcc { 0 } else { tpcc::TABLES }
    }

    fn parts_of_tpcc(&self) -> u32 {
        if self.options.without_tpcc { 0 } else { self.tpcc.parts() }
    }
}

impl Dataset for ChData {
    fn tables(&self) -> Vec<TableSpec> {
        let mut tables = if self.options.without_tpcc { Vec::new() } else { self.tpcc.tables() };
        let rows = [REGIONS.len() as u64, nations::count(), SUPPLIERS as u64, 1];
        tables.extend(TABLES.iter().zip(rows).map(|(table, rows)| ddl::table(self.dialect, &self.options.tpcc, table, rows)));
        tables
    }

    fn parts(&self) -> u32 {
        self.parts_of_tpcc() + 1
    }

    fn part(&self, index: u32) -> Box<dyn Part> {
        if index < self.parts_of_tpcc() {
            return self.tpcc.part(index);
        }
        Box::new(OwnPart { seed: self.suppliers, first: self.first(), next: 0, from: 0 })
    }

    fn checks(&self) -> Vec<Check> {
        if self.options.without_tpcc { Vec::new() } else { self.tpcc.checks() }
    }

    fn room_for_checks(&self) -> &'static [&'static str] {
        self.tpcc.room_for_checks()
    }

    /// Our own tables are the same whatever those of TPC-C are.
    fn parameters(&self) -> BTreeMap<String, String> {
        if self.options.without_tpcc { BTreeMap::new() } else { self.tpcc.parameters() }
    }

    fn grows(&self) -> bool {
        true
    }
}

/// The rows of our own tables.
#[derive(Debug)]
struct OwnPart {
    seed: Seed,
    /// The first of our tables among all.
    first: usize,
    /// Which of them is next.
    next: usize,
    /// The next supplier.
    from: i64,
}

impl Part for OwnPart {
    fn next_batch(&mut self, cells: &mut Params) -> Option<usize> {
        let Self { seed, first, next, from } = self;
        cells.clear();
        let table = *next;
        match TABLES.get(table)?.name {
            "region" => nations::regions(cells),
            "nation" => nations::all_nations(cells),
            "supplier" => {
                (*from..*from + BATCH).for_each(|key| nations::supplier(cells, *seed, key));
                *from += BATCH;
            }
            _ => {
                cells.int(1).int(0);
            }
        }
        if TABLES[table].name != "supplier" || *from >= SUPPLIERS {
            *next += 1;
        }
        Some(*first + table)
    }
}
