//! The initial population (4.3) as parts that load in parallel, also within one warehouse.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

use perbuck_core::units::Seed;
use perbuck_database::Dialect;
use perbuck_load::values::Params;
use perbuck_load::workload::{Check, Dataset, Part, TableSpec};

use super::rows::{self, Source};
use super::schema::{CUSTOMER, DISTRICT, HISTORY, ITEM, NEW_ORDER, ORDER_LINE, ORDERS, STOCK, WAREHOUSE};
use super::{CUSTOMERS, DISTRICTS, FIRST_UNDELIVERED, ITEMS, ORDERS as ORDERS_PER_DISTRICT, Options, checks, ddl};

/// Where a batch ends: text and eight bytes for each cell. One row (or the lines of one order) may go beyond it.
const BATCH_BYTES: usize = 256 * 1024;

/// The data of TPC-C.
///
/// Part 0 holds ITEM. Each warehouse has ten parts more: part *t* holds its district *t*, that district's customers,
/// history and orders, and the *t*-th tenth of the warehouse's stock, about 8 MB of cells each.
#[derive(Debug)]
pub struct TpccData {
    options: Options,
    dialect: &'static dyn Dialect,
    source: Source,
    order_lines: OnceLock<u64>,
}

impl TpccData {
    /// The data for `options`; `seed` is the data seed, the same that [`Tpcc::new`](super::Tpcc::new) is given.
    pub fn new(options: Options, dialect: &'static dyn Dialect, seed: Seed) -> Self {
        Self { options, dialect, source: Source::new(seed), order_lines: OnceLock::new() }
    }

    /// How many order lines the seed gives: a sum over all orders, made once.
    fn order_lines(&self) -> u64 {
        *self.order_lines.get_or_init(|| {
            let lines = |w, d| (1..=ORDERS_PER_DISTRICT).map(move |o| self.source.line_count(w, d, o)).sum::<i64>();
            let districts = (1..=i64::from(self.options.warehouses)).flat_map(|w| (1..=DISTRICTS).map(move |d| (w, d)));
            districts.map(|(w, d)| lines(w, d) as u64).sum()
        })
    }
}

impl Dataset for TpccData {
    fn tables(&self) -> Vec<TableSpec> {
        let warehouses = u64::from(self.options.warehouses);
        let districts = warehouses * DISTRICTS as u64;
        let mut rows = [0; 9];
        rows[WAREHOUSE] = warehouses;
        rows[DISTRICT] = districts;
        rows[CUSTOMER] = districts * CUSTOMERS as u64;
        rows[HISTORY] = districts * CUSTOMERS as u64;
        rows[ORDERS] = districts * ORDERS_PER_DISTRICT as u64;
        rows[NEW_ORDER] = districts * (ORDERS_PER_DISTRICT - FIRST_UNDELIVERED + 1) as u64;
        rows[ORDER_LINE] = self.order_lines();
        rows[STOCK] = warehouses * ITEMS as u64;
        rows[ITEM] = ITEMS as u64;
        ddl::tables(self.dialect, &self.options, rows)
    }

    fn parts(&self) -> u32 {
        1 + self.options.warehouses * DISTRICTS as u32
    }

    fn part(&self, index: u32) -> Box<dyn Part> {
        Box::new(TpccPart::new(self.source, index))
    }

    fn checks(&self) -> Vec<Check> {
        checks::all()
    }

    fn room_for_checks(&self) -> &'static [&'static str] {
        self.dialect.room_for_checks()
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        self.options.data_parameters()
    }

    fn grows(&self) -> bool {
        true
    }
}

/// The rows of one part, table by table.
#[derive(Debug)]
struct TpccPart {
    source: Source,
    warehouse: i64,
    district: i64,
    /// O_C_ID of the district's orders; empty for ITEM.
    customers: Vec<i64>,
    /// What is left to make, last table first: its position and the numbers of its rows.
    left: Vec<(usize, RangeInclusive<i64>)>,
}

impl TpccPart {
    fn new(source: Source, index: u32) -> Self {
        let Some(tenth) = index.checked_sub(1) else {
            return Self { source, warehouse: 0, district: 0, customers: Vec::new(), left: vec![(ITEM, 1..=ITEMS)] };
        };
        let warehouse = i64::from(tenth) / DISTRICTS + 1;
        let district = i64::from(tenth) % DISTRICTS + 1;
        let slice = ITEMS / DISTRICTS;
        let mut left = vec![
            (NEW_ORDER, FIRST_UNDELIVERED..=ORDERS_PER_DISTRICT),
            (ORDER_LINE, 1..=ORDERS_PER_DISTRICT),
            (ORDERS, 1..=ORDERS_PER_DISTRICT),
            (HISTORY, 1..=CUSTOMERS),
            (CUSTOMER, 1..=CUSTOMERS),
            (STOCK, (district - 1) * slice + 1..=district * slice),
            (DISTRICT, district..=district),
        ];
        if district == 1 {
            left.push((WAREHOUSE, warehouse..=warehouse));
        }
        Self { source, warehouse, district, customers: source.customers_of_orders(warehouse, district), left }
    }

    fn write(&self, cells: &mut Params, table: usize, row: i64) {
        let (source, w, d) = (&self.source, self.warehouse, self.district);
        match table {
            WAREHOUSE => source.warehouse(cells, row),
            DISTRICT => source.district(cells, w, row),
            STOCK => source.stock(cells, w, row),
            CUSTOMER => source.customer(cells, w, d, row),
            HISTORY => source.history(cells, w, d, row),
            ORDERS => source.order(cells, w, d, row, self.customers[row as usize - 1]),
            ORDER_LINE => source.order_lines(cells, w, d, row),
            NEW_ORDER => rows::new_order(cells, w, d, row),
            _ => source.item(cells, row),
        }
    }
}

impl Part for TpccPart {
    fn only(&mut self, wanted: &[bool]) {
        self.left.retain(|(table, _)| wanted[*table]);
    }

    fn next_batch(&mut self, cells: &mut Params) -> Option<usize> {
        cells.clear();
        let (table, mut numbers) = self.left.pop()?;
        while cells.text_bytes() + 8 * cells.len() < BATCH_BYTES {
            let Some(row) = numbers.next() else { return Some(table) };
            self.write(cells, table, row);
        }
        if !numbers.is_empty() {
            self.left.push((table, numbers));
        }
        Some(table)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::testing::SQLITE;
    use perbuck_load::values::Value;

    use super::*;
    use crate::tpcc::text::is_original;

    pub(in crate::tpcc) fn data() -> TpccData {
        TpccData::new(Options { warehouses: 2, ..Options::default() }, SQLITE, Seed(42))
    }

    /// Calls `row` with the table and the cells of every row of these parts.
    pub(in crate::tpcc) fn each_row(data: &TpccData, parts: impl Iterator<Item = u32>, row: impl FnMut(usize, &[Value<'_>])) {
        each_row_of(data, &[true; 9], parts, row);
    }

    pub(in crate::tpcc) fn each_row_of(
        data: &TpccData,
        wanted: &[bool; 9],
        parts: impl Iterator<Item = u32>,
        mut row: impl FnMut(usize, &[Value<'_>]),
    ) {
        let widths: Vec<usize> = data.tables().iter().map(|t| t.bulk.columns.len()).collect();
        let mut cells = Params::default();
        for index in parts {
            let mut part = data.part(index);
            part.only(wanted);
            while let Some(table) = part.next_batch(&mut cells) {
                assert!(wanted[table]);
                assert!(cells.text_bytes() + 8 * cells.len() < BATCH_BYTES + 4_096);
                let values: Vec<Value<'_>> = cells.iter().collect();
                assert!(!values.is_empty() && values.len().is_multiple_of(widths[table]));
                values.chunks(widths[table]).for_each(|r| row(table, r));
            }
        }
    }

    pub(in crate::tpcc) fn int(value: Value<'_>) -> i64 {
        match value {
            Value::Int(v) => v,
            Value::Decimal { unscaled, .. } => unscaled,
            other => panic!("{other:?} is no number"),
        }
    }

    pub(in crate::tpcc) fn text(value: Value<'_>) -> Vec<u8> {
        match value {
            Value::Text(t) => t.to_vec(),
            other => panic!("{other:?} is no text"),
        }
    }

    #[test]
    fn every_table_has_exactly_its_rows() {
        let data = data();
        let mut counts = [0u64; 9];
        each_row(&data, 0..data.parts(), |table, _| counts[table] += 1);
        let declared: Vec<u64> = data.tables().iter().filter_map(|t| t.rows).collect();
        assert_eq!(counts.to_vec(), declared);
        assert_eq!(counts[..=STOCK], [2, 20, 60_000, 60_000, 60_000, 18_000, 100_000, 200_000]);
        assert!(counts[ORDER_LINE].abs_diff(600_000) < 5 * 775, "mean of ten lines: {}", counts[ORDER_LINE]);
    }

    #[test]
    fn rows_do_not_depend_on_the_order_of_the_parts() {
        let sums = |parts: &mut dyn Iterator<Item = u32>| {
            let data = data();
            let mut sums = [0u64; 9];
            each_row(&data, parts, |table, row| {
                let label = format!("{row:?}");
                sums[table] = sums[table].wrapping_add(Seed(0).derive(&label).0);
            });
            sums
        };
        let some = [0, 1, 7, 12];
        assert_eq!(sums(&mut some.into_iter()), sums(&mut some.into_iter().rev()));
        assert_ne!(sums(&mut [7].into_iter()), sums(&mut [12].into_iter()));
    }

    #[test]
    fn customers_follow_the_population_rules() {
        let data = data();
        let mut bad_credit = 0u32;
        each_row(&data, [5, 15].into_iter(), |table, row| {
            if table != CUSTOMER {
                return;
            }
            let id = int(row[0]);
            if id <= 1_000 {
                let mut expected = Vec::new();
                crate::tpcc::names::write_last_name(&mut expected, id - 1);
                assert_eq!(text(row[5]), expected);
            }
            assert_eq!(text(row[4]), b"OE");
            assert!(text(row[10]).ends_with(b"11111") && text(row[11]).len() == 16);
            bad_credit += u32::from(text(row[13]) == b"BC");
            assert_eq!((int(row[14]), int(row[16]), int(row[17]), int(row[18]), int(row[19])), (5_000_000, -1_000, 1_000, 1, 0));
        });
        assert!(bad_credit.abs_diff(600) < 5 * 24, "{bad_credit}");
    }

    #[test]
    fn orders_are_delivered_up_to_2100_and_their_customers_are_a_permutation() {
        for part in [4, 5, 15] {
            let warehouse = (i64::from(part) - 1) / 10 + 1;
            let (mut customers, mut line_counts, mut lines) = (Vec::new(), vec![0; 3_001], vec![0; 3_001]);
            each_row(&data(), [part].into_iter(), |table, row| match table {
                ORDERS => {
                    customers.push(int(row[3]));
                    line_counts[int(row[0]) as usize] = int(row[6]);
                    assert_eq!(row[5] == Value::Null, int(row[0]) > 2_100);
                    assert!((5..=15).contains(&int(row[6])) && int(row[7]) == 1);
                }
                ORDER_LINE => {
                    lines[int(row[0]) as usize] += 1;
                    assert_eq!(int(row[3]), lines[int(row[0]) as usize], "numbered from 1");
                    assert!((1..=ITEMS).contains(&int(row[4])) && int(row[5]) == warehouse && int(row[7]) == 5);
                    if int(row[0]) > 2_100 {
                        assert!(row[6] == Value::Null && (1..=999_999).contains(&int(row[8])));
                    } else {
                        assert!(row[6] != Value::Null && int(row[8]) == 0);
                    }
                }
                NEW_ORDER => assert!((2_101..=3_000).contains(&int(row[0]))),
                _ => {}
            });
            assert_eq!(line_counts, lines);
            assert_ne!(customers, (1..=CUSTOMERS).collect::<Vec<i64>>());
            customers.sort_unstable();
            assert_eq!(customers, (1..=CUSTOMERS).collect::<Vec<i64>>());
        }
    }

    #[test]
    fn items_and_stock_follow_the_population_rules() {
        let data = data();
        let (mut original, mut ids) = ([0u32; 2], Vec::new());
        each_row(&data, [0, 3].into_iter(), |table, row| match table {
            ITEM => {
                ids.push(int(row[0]));
                original[0] += u32::from(is_original(&text(row[4])));
            }
            STOCK => {
                assert!((20_001..=30_000).contains(&int(row[0])));
                assert!(row[3..13].iter().all(|d| text(*d).len() == 24));
                original[1] += u32::from(is_original(&text(row[16])));
            }
            _ => {}
        });
        assert_eq!(ids, (1..=ITEMS).collect::<Vec<i64>>());
        assert!(original[0].abs_diff(10_000) < 5 * 95 && original[1].abs_diff(1_000) < 5 * 30, "{original:?}");
    }
}
