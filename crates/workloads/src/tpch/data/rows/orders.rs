//! ORDERS, and the one to seven rows of LINEITEM that each of its rows has.

use perbuck_load::values::Params;

use super::{Comments, Counts, LISTS, Stream, comment, day, numbered, pick, retail_price};

/// The most lines of an order (4.2.3).
const LINES: u64 = 7;
/// The last day of an order, counted from 1992-01-01: ENDDATE less 151 days (4.2.3, O_ORDERDATE).
const LAST_DAY: i64 = 2_405;
/// 1995-06-17, by which lines are shipped and orders are fulfilled (4.2.3, CURRENTDATE), counted from 1992-01-01.
const TODAY: i64 = 1_263;
/// A third of the customers have no orders (4.2.3, O_CUSTKEY).
const WITHOUT_ORDERS: i64 = 3;
/// The stream of the number of lines.
const LINES_SEED: u32 = 1_434_868_289;

/// The rows of ORDERS and of LINEITEM.
#[derive(Debug)]
pub(in super::super) struct Orders {
    counts: Counts,
    customer: Stream,
    date: Stream,
    priority: Stream,
    clerk: Stream,
    comments: Comments,
    lines: Stream,
    quantity: Stream,
    discount: Stream,
    tax: Stream,
    instruction: Stream,
    mode: Stream,
    part: Stream,
    supplier: Stream,
    shipped: Stream,
    committed: Stream,
    received: Stream,
    returned: Stream,
    line_comments: Comments,
    /// The number of the next order; its key follows from it.
    next: i64,
    generation: i64,
}

/// What lines add up to.
#[derive(Debug, Default)]
struct Total {
    cents: i64,
    shipped: i64,
}

/// The key of an order: of 32 keys in a row the first eight are used (4.2.3, O_ORDERKEY), and the next eight by the orders of the first
/// generation of refresh sets.
pub(in super::super) fn key(number: i64, generation: i64) -> i64 {
    (number >> 3) << 5 | generation << 3 | number & 7
}

/// How many lines so many orders have.
pub(in super::super) fn lines(orders: i64) -> u64 {
    let mut lines = Stream::new(LINES_SEED, 1);
    (0..orders).map(|_| lines.between(1, LINES as i64) as u64).sum()
}

impl Orders {
    /// The orders from the one with number `row + 1` on.
    pub(in super::super) fn at(counts: Counts, row: i64) -> Self {
        Self::numbered_from(counts, row, row + 1, 0)
    }

    /// The orders from row `row` of the streams on, with numbers and keys of their own.
    pub(in super::super) fn numbered_from(counts: Counts, row: i64, next: i64, generation: i64) -> Self {
        let skipped = row as u64;
        let one = |seed| Stream::at_row(seed, 1, skipped);
        let line = |seed| Stream::at_row(seed, LINES, skipped);
        Self {
            counts,
            customer: one(851_767_375),
            date: one(1_066_728_069),
            priority: one(591_449_447),
            clerk: one(1_171_034_773),
            comments: Comments::at_row(276_090_261, 49, 1, skipped),
            lines: one(LINES_SEED),
            quantity: line(209_208_115),
            discount: line(554_590_007),
            tax: line(721_958_466),
            instruction: line(1_371_272_478),
            mode: line(675_466_456),
            part: line(1_808_217_256),
            supplier: line(2_095_021_727),
            shipped: line(1_769_349_045),
            committed: line(904_914_315),
            received: line(373_135_028),
            returned: line(717_419_739),
            line_comments: Comments::at_row(1_095_462_486, 27, LINES, skipped),
            next,
            generation,
        }
    }

    /// Writes the rows that are wanted of the next order.
    pub(in super::super) fn write(&mut self, order: Option<&mut Params>, mut lines: Option<&mut Params>) {
        let (key, date, count) =
            (key(self.next, self.generation), self.date.between(0, LAST_DAY), self.lines.between(1, LINES as i64));
        let mut total = Total::default();
        for number in 1..=count {
            self.line(lines.as_deref_mut(), key, number, date, &mut total);
        }
        if let Some(cells) = order {
            let status = match total.shipped {
                0 => b"O",
                shipped if shipped == count => b"F",
                _ => b"P",
            };
            cells.int(key).int(self.customer()).text(status).decimal(total.cents, 2);
            day(cells, date);
            pick(cells, &mut self.priority, &LISTS.priorities);
            numbered(cells, "Clerk#", self.clerk.between(1, self.counts.clerks));
            cells.int(0);
            comment(cells, &mut self.comments);
        }
        self.end_row();
    }

    fn line(&mut self, cells: Option<&mut Params>, key: i64, number: i64, date: i64, total: &mut Total) {
        let (quantity, discount, tax) = (self.quantity.between(1, 50), self.discount.between(0, 10), self.tax.between(0, 8));
        let part = self.part.between(1, self.counts.parts);
        let price = retail_price(part) * quantity;
        let shipped = date + self.shipped.between(1, 121);
        let is_shipped = shipped <= TODAY;
        // Fractions of a cent are dropped, twice.
        total.cents += price * (100 - discount) / 100 * (100 + tax) / 100;
        total.shipped += i64::from(is_shipped);
        let Some(cells) = cells else { return };
        let (committed, received) = (date + self.committed.between(30, 90), shipped + self.received.between(1, 30));
        cells.int(key).int(part).int(self.counts.supplier_of(part, self.supplier.between(0, 3))).int(number);
        cells.decimal(100 * quantity, 2).decimal(price, 2).decimal(discount, 2).decimal(tax, 2);
        if received <= TODAY {
            pick(cells, &mut self.returned, &LISTS.returns);
        } else {
            cells.text(b"N");
        }
        cells.text(if is_shipped { b"F" } else { b"O" });
        day(cells, shipped);
        day(cells, committed);
        day(cells, received);
        pick(cells, &mut self.instruction, &LISTS.instructions);
        pick(cells, &mut self.mode, &LISTS.modes);
        comment(cells, &mut self.line_comments);
    }

    /// One of those that have orders: a key that three divides gives way to one beside it.
    fn customer(&mut self) -> i64 {
        let last = self.counts.customers;
        let (mut key, mut step) = (self.customer.between(1, last), 1);
        while key % WITHOUT_ORDERS == 0 {
            key = (key + step).min(last);
            step = -step;
        }
        key
    }

    fn end_row(&mut self) {
        for stream in
            [&mut self.customer, &mut self.date, &mut self.priority, &mut self.clerk, &mut self.lines, &mut self.quantity]
        {
            stream.end_row();
        }
        for stream in
            [&mut self.discount, &mut self.tax, &mut self.instruction, &mut self.mode, &mut self.part, &mut self.supplier]
        {
            stream.end_row();
        }
        for stream in [&mut self.shipped, &mut self.committed, &mut self.received, &mut self.returned] {
            stream.end_row();
        }
        self.comments.end_row();
        self.line_comments.end_row();
        self.next += 1;
    }
}
