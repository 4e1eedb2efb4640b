//! The rows of the initial population (4.3.3.1). Each is a function of (seed, table, warehouse, district, row), so
//! parts may be made in any order, and a stored row can be made again and compared.

use perbuck_core::rng::{OpRng, mix};
use perbuck_core::units::Seed;
use perbuck_load::values::Params;

use super::names::write_last_name;
use super::nurand::{last_name, load_constant};
use super::text::{a_string, digits, item_data, letters, zip};
use super::{CUSTOMERS, DOLLAR, FIRST_UNDELIVERED, ITEMS, ORDERS};

/// Every date of the initial population. 4.3.3.1 takes the clock's; a fixed instant keeps data a function of the seed.
const LOAD_DATE: &[u8] = b"2010-02-01 00:00:00";

#[derive(Debug, Clone, Copy)]
pub(super) struct Source {
    warehouse: Seed,
    district: Seed,
    customer: Seed,
    history: Seed,
    permutation: Seed,
    order: Seed,
    line_count: Seed,
    lines: Seed,
    stock: Seed,
    item: Seed,
    c_load: i64,
}

/// Districts of all warehouses in one numbering: the number of a random stream.
fn stream(warehouse: i64, district: i64) -> u64 {
    (warehouse as u64) << 4 | district as u64
}

impl Source {
    pub(super) fn new(seed: Seed) -> Self {
        Self {
            warehouse: seed.derive("tpcc.warehouse"),
            district: seed.derive("tpcc.district"),
            customer: seed.derive("tpcc.customer"),
            history: seed.derive("tpcc.history"),
            permutation: seed.derive("tpcc.permutation"),
            order: seed.derive("tpcc.order"),
            line_count: seed.derive("tpcc.line_count"),
            lines: seed.derive("tpcc.lines"),
            stock: seed.derive("tpcc.stock"),
            item: seed.derive("tpcc.item"),
            c_load: load_constant(seed),
        }
    }

    pub(super) fn item(&self, cells: &mut Params, id: i64) {
        let rng = &mut OpRng::at(self.item, 0, id as u64);
        cells.int(id).int(rng.between(1, 10_000)).text_with(|t| a_string(t, rng, 14, 24));
        cells.decimal(rng.between(DOLLAR, 100 * DOLLAR), 2).text_with(|t| item_data(t, rng));
    }

    pub(super) fn warehouse(&self, cells: &mut Params, id: i64) {
        let rng = &mut OpRng::at(self.warehouse, 0, id as u64);
        cells.int(id).text_with(|t| a_string(t, rng, 6, 10));
        address(cells, rng);
        cells.decimal(rng.between(0, 2_000), 4).decimal(300_000 * DOLLAR, 2);
    }

    pub(super) fn district(&self, cells: &mut Params, warehouse: i64, id: i64) {
        let rng = &mut OpRng::at(self.district, stream(warehouse, id), 0);
        cells.int(id).int(warehouse).text_with(|t| a_string(t, rng, 6, 10));
        address(cells, rng);
        cells.decimal(rng.between(0, 2_000), 4).decimal(30_000 * DOLLAR, 2).int(ORDERS + 1);
    }

    pub(super) fn stock(&self, cells: &mut Params, warehouse: i64, item: i64) {
        let rng = &mut OpRng::at(self.stock, warehouse as u64, item as u64);
        cells.int(item).int(warehouse).int(rng.between(10, 100));
        for _ in 0..10 {
            cells.text_with(|t| letters(t, rng, 24));
        }
        cells.int(0).int(0).int(0).text_with(|t| item_data(t, rng));
    }

    pub(super) fn customer(&self, cells: &mut Params, warehouse: i64, district: i64, id: i64) {
        let rng = &mut OpRng::at(self.customer, stream(warehouse, district), id as u64);
        // 4.3.3.1: the first thousand take the names in order, so that every name has a bearer.
        let name = if id <= 1_000 { id - 1 } else { last_name(rng, self.c_load) };
        cells.int(id).int(district).int(warehouse).text_with(|t| a_string(t, rng, 8, 16)).text(b"OE");
        cells.text_with(|t| write_last_name(t, name));
        address(cells, rng);
        cells.text_with(|t| digits(t, rng, 16)).text(LOAD_DATE);
        cells.text(if rng.below(10) == 0 { b"BC" } else { b"GC" }).decimal(50_000 * DOLLAR, 2);
        cells.decimal(rng.between(0, 5_000), 4).decimal(-10 * DOLLAR, 2).decimal(10 * DOLLAR, 2).int(1).int(0);
        cells.text_with(|t| a_string(t, rng, 300, 500));
    }

    /// The one row of HISTORY that each customer has.
    pub(super) fn history(&self, cells: &mut Params, warehouse: i64, district: i64, customer: i64) {
        let rng = &mut OpRng::at(self.history, stream(warehouse, district), customer as u64);
        cells.int(customer).int(district).int(warehouse).int(district).int(warehouse);
        cells.text(LOAD_DATE).decimal(10 * DOLLAR, 2).text_with(|t| a_string(t, rng, 12, 24));
    }

    /// O_C_ID of a district's orders, in their order: a random permutation of its customers.
    pub(super) fn customers_of_orders(&self, warehouse: i64, district: i64) -> Vec<i64> {
        let mut customers: Vec<i64> = (1..=CUSTOMERS).collect();
        OpRng::at(self.permutation, stream(warehouse, district), 0).shuffle(&mut customers);
        customers
    }

    /// O_OL_CNT: from 5 to 15. A hash and no stream, because all of them are summed to know the rows of ORDER_LINE.
    pub(super) fn line_count(&self, warehouse: i64, district: i64, order: i64) -> i64 {
        let bits = mix(self.line_count.0 ^ mix(stream(warehouse, district) << 12 | order as u64));
        5 + ((u128::from(bits) * 11) >> 64) as i64
    }

    pub(super) fn order(&self, cells: &mut Params, warehouse: i64, district: i64, id: i64, customer: i64) {
        let rng = &mut OpRng::at(self.order, stream(warehouse, district), id as u64);
        cells.int(id).int(district).int(warehouse).int(customer).text(LOAD_DATE);
        if id < FIRST_UNDELIVERED {
            cells.int(rng.between(1, 10))
        } else {
            cells.null()
        };
        cells.int(self.line_count(warehouse, district, id)).int(1);
    }

    pub(super) fn order_lines(&self, cells: &mut Params, warehouse: i64, district: i64, order: i64) {
        let rng = &mut OpRng::at(self.lines, stream(warehouse, district), order as u64);
        for number in 1..=self.line_count(warehouse, district, order) {
            cells.int(order).int(district).int(warehouse).int(number).int(rng.between(1, ITEMS)).int(warehouse);
            if order < FIRST_UNDELIVERED {
                cells.text(LOAD_DATE).int(5).decimal(0, 2);
            } else {
                cells.null().int(5).decimal(rng.between(1, 10_000 * DOLLAR - 1), 2);
            }
            cells.text_with(|t| letters(t, rng, 24));
        }
    }
}

pub(super) fn new_order(cells: &mut Params, warehouse: i64, district: i64, order: i64) {
    cells.int(order).int(district).int(warehouse);
}

fn address(cells: &mut Params, rng: &mut OpRng) {
    for _ in 0..3 {
        cells.text_with(|t| a_string(t, rng, 10, 20));
    }
    cells.text_with(|t| letters(t, rng, 2)).text_with(|t| zip(t, rng));
}
