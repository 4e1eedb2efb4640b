//! New-Order (2.4).
//!
//! Lines are worked on one by one, in the order of (supply warehouse, item) and not in that of their numbers: the
//! specification leaves the order of manipulations within a transaction open, and with one order for everybody two
//! new orders never wait for each other in a circle over STOCK. The district is locked first, before any plain read,
//! so that under snapshot isolation the snapshot is taken after the wait for it.

use perbuck_core::rng::OpRng;
use perbuck_database::Dialect;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{Access, Session};
use perbuck_load::statement::{Catalogue, StatementId, Verb};
use perbuck_load::workload::Facts;

mod batched;

use super::ITEMS;
use super::terminal::{Scope, Scratch, missing, send};
use super::text::is_original;
use crate::Result;

pub(super) use batched::Batch;

/// Most lines that an order has (2.4.1.3).
const MAX_LINES: usize = 15;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Line {
    /// OL_NUMBER.
    number: i64,
    /// OL_I_ID; above [`ITEMS`] for the unused item.
    item: i64,
    /// OL_SUPPLY_W_ID.
    supply: i64,
    quantity: i64,
}

/// What the user of the terminal enters (2.4.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Input {
    warehouse: i64,
    district: i64,
    customer: i64,
    /// In the order in which they are worked on; the unused item last.
    lines: [Line; MAX_LINES],
    count: usize,
}

impl Input {
    pub(super) fn draw(rng: &mut OpRng, scope: &Scope) -> Self {
        let district = Scope::any_district(rng);
        let customer = scope.constants.customer(rng);
        let count = rng.between(5, 15) as usize;
        let entry_error = rng.between(1, 100) == 1;
        let mut lines = [Line::default(); MAX_LINES];
        for (i, line) in lines[..count].iter_mut().enumerate() {
            let drawn = scope.constants.item(rng);
            let item = if entry_error && i + 1 == count { ITEMS + 1 } else { drawn };
            let remote = rng.between(1, 100) == 1;
            let supply = if remote { scope.other_warehouse(rng) } else { scope.warehouse };
            *line = Line { number: i as i64 + 1, item, supply, quantity: rng.between(1, 10) };
        }
        if scope.go_tpc {
            // Every item once, and worked on in the order of the lines.
            make_distinct(rng, scope, &mut lines[..count]);
        } else {
            lines[..count].sort_unstable_by_key(|l| (l.item > ITEMS, l.supply, l.item, l.number));
        }
        Self { warehouse: scope.warehouse, district, customer, lines, count }
    }

    fn lines(&self) -> &[Line] {
        &self.lines[..self.count]
    }

    /// Lines, lines of another warehouse, and whether there is any of those.
    pub(super) fn facts(&self) -> Facts {
        let remote = self.lines().iter().filter(|l| l.supply != self.warehouse).count() as u16;
        [self.count as u16, remote, remote.min(1), 0]
    }

    /// O_ALL_LOCAL (2.4.2.2).
    fn all_local(&self) -> bool {
        self.lines().iter().all(|l| l.supply == self.warehouse)
    }
}

/// Draws items again until none comes twice, as go-tpc does.
fn make_distinct(rng: &mut OpRng, scope: &Scope, lines: &mut [Line]) {
    for i in 1..lines.len() {
        while lines[..i].iter().any(|l| l.item == lines[i].item) {
            lines[i].item = scope.constants.item(rng);
        }
    }
}

/// What the terminal shows of a committed order (2.4.3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Receipt {
    /// O_ID.
    pub(super) order: i64,
    /// The total amount in cents, taxed and discounted.
    pub(super) total: i64,
    /// Lines of brand "B"; the others are generic, "G".
    pub(super) branded: u32,
}

/// The order after its first half: its number and what the total depends on.
struct Head {
    order: i64,
    district_tax: i64,
    warehouse_tax: i64,
    discount: i64,
}

impl Head {
    /// Σ amounts × (1 − C_DISCOUNT) × (1 + W_TAX + D_TAX), rounded half up to a cent; rates have four decimals.
    fn total(&self, amounts: i64) -> i64 {
        let product = amounts * (10_000 - self.discount) * (10_000 + self.warehouse_tax + self.district_tax);
        (product + 50_000_000) / 100_000_000
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Statements {
    district: StatementId,
    next_order: StatementId,
    warehouse: StatementId,
    customer: StatementId,
    insert_order: StatementId,
    insert_new_order: StatementId,
    item: StatementId,
    stock: StatementId,
    update_stock: StatementId,
    insert_line: StatementId,
}

/// One statement for all districts: S_DIST_xx is chosen by a parameter, since ten statements on each of many
/// connections would soon exhaust the server's prepared statements (16 382 by default on MySQL).
fn select_stock(dialect: &'static dyn Dialect) -> String {
    let cases: String = (1..=10).map(|d| format!(" WHEN {d} THEN s_dist_{d:02}")).collect();
    // It is compared with nothing but constants, which some servers take for text.
    let district = dialect.int_parameter();
    let lock = dialect.row_lock();
    format!("SELECT s_quantity, s_data, CASE {district}{cases} END FROM stock WHERE s_w_id = ? AND s_i_id = ?{lock}")
}

impl Statements {
    pub(super) fn new(catalogue: &mut Catalogue, dialect: &'static dyn Dialect) -> Self {
        let lock = dialect.row_lock();
        Self {
            district: catalogue.add_read(format!("SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ?{lock}")),
            next_order: catalogue
                .add(Verb::Update, "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?"),
            warehouse: catalogue.add_read("SELECT w_tax FROM warehouse WHERE w_id = ?"),
            customer: catalogue
                .add_read("SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"),
            insert_order: catalogue.add(
                Verb::Insert,
                "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) \
                 VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP, NULL, ?, ?)",
            ),
            insert_new_order: catalogue.add(Verb::Insert, "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)"),
            item: catalogue.add_read("SELECT i_price, i_name, i_data FROM item WHERE i_id = ?"),
            stock: catalogue.add_read(select_stock(dialect)),
            update_stock: catalogue.add(
                Verb::Update,
                "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, \
                 s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?",
            ),
            insert_line: catalogue.add(
                Verb::Insert,
                "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, \
                 ol_quantity, ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)",
            ),
        }
    }

    /// Runs it; `None` where the unused item made it roll back, with the work for all other lines done (2.4.2.3).
    pub(super) async fn run<S: Session>(
        &self,
        connection: &mut Connection<S>,
        input: &Input,
        scratch: &mut Scratch,
    ) -> Result<Option<Receipt>> {
        connection.begin(Access::Write).await?;
        let head = self.open(connection, input).await?;
        let (mut amounts, mut branded) = (0, 0);
        for line in input.lines() {
            let Some((amount, brand)) = self.line(connection, input, head.order, line, &mut scratch.dist_info).await? else {
                connection.rollback().await?;
                return Ok(None);
            };
            amounts += amount;
            branded += u32::from(brand);
        }
        connection.commit().await?;
        Ok(Some(Receipt { order: head.order, total: head.total(amounts), branded }))
    }

    async fn open<S: Session>(&self, connection: &mut Connection<S>, input: &Input) -> Result<Head> {
        let Input { warehouse, district, customer, .. } = *input;
        send(connection, self.district, [warehouse, district]).await?;
        let (order, district_tax) = (connection.rows().int(0, 0)?, connection.rows().decimal(0, 1, 4)?);
        send(connection, self.next_order, [warehouse, district]).await?;
        send(connection, self.warehouse, [warehouse]).await?;
        let warehouse_tax = connection.rows().decimal(0, 0, 4)?;
        send(connection, self.customer, [warehouse, district, customer]).await?;
        let discount = connection.rows().decimal(0, 0, 4)?;
        self.insert_heads(connection, input, order).await?;
        Ok(Head { order, district_tax, warehouse_tax, discount })
    }

    async fn insert_heads<S: Session>(&self, connection: &mut Connection<S>, input: &Input, order: i64) -> Result<()> {
        let Input { warehouse, district, customer, .. } = *input;
        let count = input.count as i64;
        send(connection, self.insert_order, [order, district, warehouse, customer, count, input.all_local().into()]).await?;
        send(connection, self.insert_new_order, [order, district, warehouse]).await.map(drop)
    }

    /// One line: its amount in cents and whether it is of a brand; `None` for the unused item.
    async fn line<S: Session>(
        &self,
        connection: &mut Connection<S>,
        input: &Input,
        order: i64,
        line: &Line,
        dist_info: &mut Vec<u8>,
    ) -> Result<Option<(i64, bool)>> {
        let Line { number, item, supply, quantity } = *line;
        send(connection, self.item, [item]).await?;
        let rows = connection.rows();
        if item > ITEMS && rows.is_empty() {
            return Ok(None);
        }
        if item > ITEMS || rows.is_empty() {
            return Err(missing(&format!("item {item} does not belong to TPC-C, or is missing")));
        }
        let amount = quantity * rows.decimal(0, 0, 2)?;
        let item_original = is_original(rows.text(0, 2)?);
        send(connection, self.stock, [input.district, supply, item]).await?;
        let rows = connection.rows();
        let left = quantity_after(rows.int(0, 0)?, quantity);
        let brand = item_original && is_original(rows.text(0, 1)?);
        dist_info.clear();
        dist_info.extend_from_slice(rows.text(0, 2)?);
        let remote = i64::from(supply != input.warehouse);
        send(connection, self.update_stock, [left, quantity, remote, supply, item]).await?;
        let cells = connection.bind().int(order).int(input.district).int(input.warehouse).int(number).int(item);
        cells.int(supply).int(quantity).decimal(amount, 2).text(dist_info);
        connection.execute(self.insert_line).await?;
        Ok(Some((amount, brand)))
    }
}

/// S_QUANTITY after an order of `ordered` (2.4.2.2).
fn quantity_after(stock: i64, ordered: i64) -> i64 {
    if stock >= ordered + 10 { stock - ordered } else { stock - ordered + 91 }
}

#[cfg(test)]
mod tests {
    use perbuck_core::units::Seed;

    use super::*;
    use crate::tpcc::terminal::tests::scope;
    use crate::tpcc::tests::uniform;

    #[test]
    fn inputs_lie_in_the_ranges_of_9_2_2_5() {
        let scope = scope(3, 10);
        let (mut rollbacks, mut lines, mut remote, mut local_orders) = (0u32, 0u32, 0u32, 0u32);
        let (mut counts, mut quantities, mut districts) = (Vec::new(), Vec::new(), Vec::new());
        let draws = 400_000;
        for n in 0..draws {
            let input = Input::draw(&mut OpRng::at(Seed(4), 3, n), &scope);
            counts.push(input.count as i64);
            districts.push(input.district);
            quantities.extend(input.lines().iter().take(2).map(|l| l.quantity));
            assert!((1..=10).contains(&input.district) && (1..=3_000).contains(&input.customer) && input.warehouse == 4);
            rollbacks += u32::from(input.lines().iter().any(|l| l.item > ITEMS));
            lines += input.count as u32;
            remote += input.lines().iter().filter(|l| l.supply != 4).count() as u32;
            local_orders += u32::from(input.all_local());
            assert!(input.lines().iter().all(|l| (1..=10).contains(&l.quantity) && (1..=10).contains(&l.supply)));
        }
        let share = |n: u32, of: u32| f64::from(n) / f64::from(of);
        assert!((0.009..=0.011).contains(&share(rollbacks, draws as u32)), "rollbacks: {rollbacks}");
        assert!((9.5..=10.5).contains(&share(lines, draws as u32)), "lines: {lines}");
        assert!((0.0095..=0.0105).contains(&share(remote, lines)), "remote lines: {remote} of {lines}");
        assert!((0.89..=0.92).contains(&share(local_orders, draws as u32)), "all local: {local_orders}");
        uniform("O_OL_CNT", &counts, 5, 15, 11);
        uniform("OL_QUANTITY", &quantities, 1, 10, 10);
        uniform("D_ID", &districts, 1, 10, 10);
    }

    #[test]
    fn lines_are_worked_on_in_one_order_with_the_unused_item_last() {
        let scope = scope(0, 3);
        let mut unused = 0;
        for n in 0..20_000 {
            let input = Input::draw(&mut OpRng::at(Seed(5), 0, n), &scope);
            let keys: Vec<_> = input.lines().iter().map(|l| (l.item > ITEMS, l.supply, l.item)).collect();
            assert!(keys.is_sorted());
            let mut numbers: Vec<i64> = input.lines().iter().map(|l| l.number).collect();
            if keys.last().is_some_and(|k| k.0) {
                unused += 1;
                assert_eq!(numbers.last(), Some(&(input.count as i64)), "2.4.1.5: the last item of the order");
            }
            numbers.sort_unstable();
            assert_eq!(numbers, (1..=input.count as i64).collect::<Vec<i64>>());
        }
        assert!(unused > 100);
    }

    #[test]
    fn one_warehouse_has_no_remote_lines() {
        let scope = scope(0, 1);
        assert!((0..5_000).all(|n| Input::draw(&mut OpRng::at(Seed(6), 0, n), &scope).all_local()));
    }

    #[test]
    fn stock_is_refilled_below_ten() {
        assert_eq!(quantity_after(20, 10), 10);
        assert_eq!(quantity_after(19, 10), 100);
        assert_eq!(quantity_after(10, 1), 100);
        assert_eq!(quantity_after(11, 1), 10);
    }

    #[test]
    fn the_total_is_exact_and_rounded_once() {
        let head = Head { order: 1, district_tax: 1_000, warehouse_tax: 500, discount: 2_000 };
        assert_eq!(head.total(10_000), 9_200); // $100 × 0.8 × 1.15
        let head = Head { order: 1, district_tax: 1, warehouse_tax: 0, discount: 1 };
        assert_eq!(head.total(1_500_000), 1_500_000); // 0.9999 × 1.0001 = 0.99999999
        assert_eq!(head.total(100_000_000), 99_999_999);
    }
}
