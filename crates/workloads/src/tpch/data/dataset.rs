//! The data of TPC-H as parts that load in parallel: each makes its rows from any row on.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use perbuck_database::Dialect;
use perbuck_load::values::Params;
use perbuck_load::workload::{Check, Dataset, Part, TableSpec};

use super::rows::{Codes, Counts, Customers, NATIONS, Orders, Parts, REGIONS, SUPPLIERS_OF_PART, Suppliers, lines};
use super::schema::{CUSTOMER, LINEITEM, NATION, ORDERS, PART, PARTSUPP, REGION, SUPPLIER};
use super::sums::{self, Sums};
use super::{checks, ddl, expected};
use crate::params::put;
use crate::tpch::Scale;

/// Where a batch ends: text and eight bytes for each cell. One order with its lines, or one part with its suppliers, may go beyond it.
const BATCH_BYTES: usize = 256 * 1024;

/// Rows of the leading table of a part of the data: about 1 to 6 MB of text in each. A dialect may want them larger.
const SUPPLIERS_PER_PART: i64 = 10_000;
const CUSTOMERS_PER_PART: i64 = 20_000;
const PARTS_PER_PART: i64 = 5_000;
const ORDERS_PER_PART: i64 = 10_000;

/// What decides the data and the tables that they are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataOptions {
    /// The scale factor, below 30 000. From there on dbgen draws some keys otherwise, and these rows are not equal to its rows any more.
    pub scale: Scale,
    /// Whether there are indexes on foreign keys and dates. Without them a server that stores rows never ends several of the queries.
    pub indexes: bool,
    /// Whether the references of 1.4.2 are foreign keys.
    pub foreign_keys: bool,
    /// Partitions of `orders` and `lineitem` by a hash of the key of the order; 1 for none.
    pub partitions: u32,
}

impl DataOptions {
    /// Those of a scale: with indexes, without foreign keys and partitions, for queries alone.
    pub fn new(scale: Scale) -> Self {
        Self { scale, indexes: true, foreign_keys: false, partitions: 1 }
    }
}

/// The data of TPC-H.
///
/// Its parts are: `region`, `nation`, then slices of `supplier`, of `customer`, of `part` with `partsupp`, and of `orders` with `lineitem`.
#[derive(Debug)]
pub struct TpchData {
    dialect: &'static dyn Dialect,
    options: DataOptions,
    counts: Counts,
    lines: OnceLock<u64>,
    sums: OnceLock<Vec<Sums>>,
}

impl TpchData {
    /// The data for `options`.
    pub fn new(dialect: &'static dyn Dialect, options: DataOptions) -> Self {
        let counts = Counts::of(options.scale);
        Self { dialect, options, counts, lines: OnceLock::new(), sums: OnceLock::new() }
    }

    /// How many lines all orders have. Counted once: about 3 ms for a scale of 1, 3 s for 1000.
    fn lines(&self) -> u64 {
        *self.lines.get_or_init(|| lines(self.counts.orders))
    }

    /// What the rows of each table add up to. At a scale other than 0.01, 0.1, 1 and 10 it is made from the rows, once.
    pub(super) fn sums(&self) -> &[Sums] {
        self.sums.get_or_init(|| expected::sums(self.options.scale).unwrap_or_else(|| sums::of(self)))
    }

    /// The first part of the data of each kind after the two of `region` and `nation`, and the number of parts.
    fn slices(&self) -> [Slice; 4] {
        let (c, factor) = (&self.counts, i64::from(self.dialect.part_factor()));
        [
            Slice {
                rows: c.suppliers,
                per_part: factor * SUPPLIERS_PER_PART,
                make: |_, row| Source::Suppliers(Suppliers::at(row)),
            },
            Slice {
                rows: c.customers,
                per_part: factor * CUSTOMERS_PER_PART,
                make: |_, row| Source::Customers(Customers::at(row)),
            },
            Slice { rows: c.parts, per_part: factor * PARTS_PER_PART, make: |counts, row| Source::Parts(Parts::at(counts, row)) },
            Slice {
                rows: c.orders,
                per_part: factor * ORDERS_PER_PART,
                make: |counts, row| Source::Orders(Orders::at(counts, row)),
            },
        ]
    }
}

/// The rows of a table, or of two, cut into parts of the data.
struct Slice {
    rows: i64,
    per_part: i64,
    make: fn(Counts, i64) -> Source,
}

impl Slice {
    fn parts(&self) -> i64 {
        (self.rows + self.per_part - 1) / self.per_part
    }
}

impl TpchData {
    /// The rows of a part.
    fn made(&self, index: u32) -> TpchPart {
        let mut index = match index {
            0 => return TpchPart::new(Source::Regions(Codes::regions()), REGIONS),
            1 => return TpchPart::new(Source::Nations(Codes::nations()), NATIONS),
            _ => i64::from(index) - 2,
        };
        let mut left = self.slices().into_iter();
        loop {
            // Beyond the last part there are no rows.
            let Some(slice) = left.next() else { return TpchPart::new(Source::Regions(Codes::regions()), 0) };
            if index < slice.parts() {
                let row = index * slice.per_part;
                return TpchPart::new((slice.make)(self.counts, row), slice.per_part.min(slice.rows - row));
            }
            index -= slice.parts();
        }
    }
}

impl Dataset for TpchData {
    fn tables(&self) -> Vec<TableSpec> {
        let mut rows = [0; 8];
        rows[REGION] = REGIONS as u64;
        rows[NATION] = NATIONS as u64;
        rows[PART] = self.counts.parts as u64;
        rows[SUPPLIER] = self.counts.suppliers as u64;
        rows[PARTSUPP] = (self.counts.parts * SUPPLIERS_OF_PART) as u64;
        rows[CUSTOMER] = self.counts.customers as u64;
        rows[ORDERS] = self.counts.orders as u64;
        rows[LINEITEM] = self.lines();
        ddl::tables(self.dialect, &self.options, rows)
    }

    fn parts(&self) -> u32 {
        2 + self.slices().iter().map(Slice::parts).sum::<i64>() as u32
    }

    fn part(&self, index: u32) -> Box<dyn Part> {
        Box::new(self.made(index))
    }

    fn checks(&self) -> Vec<Check> {
        checks::all(self.dialect, self)
    }

    fn room_for_checks(&self) -> &'static [&'static str] {
        self.dialect.room_for_checks()
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        put(&mut all, "scale", &self.options.scale.factor());
        put(&mut all, "indexes", &self.options.indexes);
        put(&mut all, "foreign_keys", &self.options.foreign_keys);
        put(&mut all, "partitions", &self.options.partitions);
        all
    }

    fn grows(&self) -> bool {
        // A pair of refresh functions leaves as many orders as before (2.5).
        false
    }
}

/// What makes the rows of a part.
#[derive(Debug)]
enum Source {
    Regions(Codes),
    Nations(Codes),
    Suppliers(Suppliers),
    Customers(Customers),
    Parts(Parts),
    Orders(Orders),
}

impl Source {
    /// The table that has most of the rows, and the leading table of two.
    fn tables(&self) -> (usize, Option<usize>) {
        match self {
            Self::Regions(_) => (REGION, None),
            Self::Nations(_) => (NATION, None),
            Self::Suppliers(_) => (SUPPLIER, None),
            Self::Customers(_) => (CUSTOMER, None),
            Self::Parts(_) => (PARTSUPP, Some(PART)),
            Self::Orders(_) => (LINEITEM, Some(ORDERS)),
        }
    }

    /// Writes the next row of the leading table, and those of the other one that belong to it.
    #[inline]
    fn write(&mut self, rows: Option<&mut Params>, leading: Option<&mut Params>) {
        match self {
            Self::Parts(parts) => parts.write(leading, rows),
            Self::Orders(orders) => orders.write(leading, rows),
            single => {
                let Some(cells) = rows else { return };
                match single {
                    Self::Regions(codes) | Self::Nations(codes) => codes.write(cells),
                    Self::Suppliers(suppliers) => suppliers.write(cells),
                    Self::Customers(customers) => customers.write(cells),
                    Self::Parts(_) | Self::Orders(_) => {}
                }
            }
        }
    }
}

/// The rows of one part. Those of the leading table of two gather until they make a batch.
#[derive(Debug)]
pub struct TpchPart {
    source: Source,
    /// Rows of the leading table, or of the only one, that are still to come.
    left: i64,
    leading: Params,
    wanted: [bool; 8],
}

impl TpchPart {
    fn new(source: Source, left: i64) -> Self {
        Self { source, left, leading: Params::default(), wanted: [true; 8] }
    }
}

fn is_batch(cells: &Params) -> bool {
    cells.text_bytes() + 8 * cells.len() >= BATCH_BYTES
}

impl Part for TpchPart {
    fn only(&mut self, wanted: &[bool]) {
        for (table, wanted) in self.wanted.iter_mut().zip(wanted) {
            *table = *wanted;
        }
    }

    fn next_batch(&mut self, cells: &mut Params) -> Option<usize> {
        let (table, leading) = self.source.tables();
        let (rows_wanted, leading_wanted) = (self.wanted[table], leading.is_some_and(|leading| self.wanted[leading]));
        cells.clear();
        while self.left > 0 && (rows_wanted || leading_wanted) && !is_batch(cells) && !is_batch(&self.leading) {
            self.source.write(rows_wanted.then_some(&mut *cells), leading_wanted.then_some(&mut self.leading));
            self.left -= 1;
        }
        if !cells.is_empty() {
            return Some(table);
        }
        std::mem::swap(cells, &mut self.leading);
        self.leading.clear();
        leading.filter(|_| !cells.is_empty())
    }
}
