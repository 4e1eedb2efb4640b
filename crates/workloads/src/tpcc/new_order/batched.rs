//! New-Order with one statement for all items, one for all stocks and one for all lines, as many drivers send it, and as
//! go-tpc does with the defects of its own (see [`super::super::compat_notes`]).
//!
//! The profile is the same: every row that the specification wants read and changed is read and changed, by fewer
//! statements. Stocks are locked in the order of (warehouse, item), as line by line.

use std::array;

use perbuck_database::Dialect;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{Access, Session};
use perbuck_load::statement::{Catalogue, StatementId, Verb};

use super::{Head, Input, Line, MAX_LINES, Receipt, Statements, quantity_after};
use crate::Result;
use crate::tpcc::ITEMS;
use crate::tpcc::terminal::{Scratch, missing, send};
use crate::tpcc::text::is_original;

/// Fewest rows in one statement: the five lines of the smallest order less the unused item.
const LEAST: usize = 4;

/// A statement for each number of rows from [`LEAST`] to [`MAX_LINES`].
type Sized = [StatementId; MAX_LINES - LEAST + 1];

#[derive(Debug, Clone, Copy)]
pub(in crate::tpcc) struct Batch {
    items: Sized,
    stocks: Sized,
    insert_lines: Sized,
    /// Only where go-tpc's traffic is reproduced.
    go_tpc: Option<GoTpc>,
}

/// Statements that go-tpc words otherwise.
#[derive(Debug, Clone, Copy)]
struct GoTpc {
    customer_and_warehouse: StatementId,
    next_order: StatementId,
}

/// What is known of the lines on the way, side by side.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    price: i64,
    original: bool,
    seen: bool,
    quantity: i64,
    brand: bool,
    /// Where S_DIST_xx ends in the scratch buffer, which has them one after the other.
    dist_ends: usize,
}

fn sized(mut add: impl FnMut(usize) -> StatementId) -> Sized {
    array::from_fn(|i| add(LEAST + i))
}

fn marks(one: &str, count: usize) -> String {
    vec![one; count].join(", ")
}

impl Batch {
    pub(in crate::tpcc) fn new(catalogue: &mut Catalogue, dialect: &'static dyn Dialect, go_tpc: bool) -> Self {
        let lock = dialect.row_lock();
        let dists: String = (1..=10).map(|d| format!(", s_dist_{d:02}")).collect();
        let order = if go_tpc { "" } else { " ORDER BY s_w_id, s_i_id" };
        let values = dialect.row_list();
        let items = sized(|n| {
            catalogue.add_read(format!("SELECT i_price, i_name, i_data, i_id FROM item WHERE i_id IN ({})", marks("?", n)))
        });
        let stocks = sized(|n| {
            catalogue.add_read(format!(
                "SELECT s_w_id, s_i_id, s_quantity, s_data{dists} FROM stock WHERE (s_w_id, s_i_id) IN ({values}{}){order}{lock}",
                marks("(?, ?)", n)
            ))
        });
        let insert_lines = sized(|n| {
            catalogue.add(
                Verb::Insert,
                format!(
                    "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, \
                     ol_dist_info) VALUES {}",
                    marks("(?, ?, ?, ?, ?, ?, ?, ?, ?)", n)
                ),
            )
        });
        let go_tpc = go_tpc.then(|| GoTpc {
            customer_and_warehouse: catalogue.add_read(
                "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse \
                 WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?",
            ),
            next_order: catalogue.add(Verb::Update, "UPDATE district SET d_next_o_id = ? + 1 WHERE d_w_id = ? AND d_id = ?"),
        });
        Self { items, stocks, insert_lines, go_tpc }
    }

    pub(in crate::tpcc) async fn run<S: Session>(
        &self,
        common: &Statements,
        connection: &mut Connection<S>,
        input: &Input,
        scratch: &mut Scratch,
    ) -> Result<Option<Receipt>> {
        connection.begin(Access::Write).await?;
        let head = match &self.go_tpc {
            Some(other) => other.open(common, connection, input).await?,
            None => common.open(connection, input).await?,
        };
        let mut found = [Found::default(); MAX_LINES];
        self.read_items(connection, input, &mut found).await?;
        let unused = input.lines().iter().any(|l| l.item > ITEMS);
        // go-tpc leaves here, before any work on the valid lines (its defect 3).
        if !(unused && self.go_tpc.is_some()) {
            let lines = &input.lines()[..input.count - usize::from(unused)];
            self.read_stocks(connection, input, lines, &mut found, &mut scratch.dist_info).await?;
            self.write(common, connection, input, &head, lines, &mut found, &scratch.dist_info).await?;
        }
        if unused {
            connection.rollback().await?;
            return Ok(None);
        }
        connection.commit().await?;
        let amounts: i64 = input.lines().iter().zip(&found).map(|(l, f)| l.quantity * f.price).sum();
        let branded = found[..input.count].iter().filter(|f| f.brand).count() as u32;
        Ok(Some(Receipt { order: head.order, total: head.total(amounts), branded }))
    }

    async fn read_items<S: Session>(
        &self,
        connection: &mut Connection<S>,
        input: &Input,
        found: &mut [Found; MAX_LINES],
    ) -> Result<()> {
        let lines = input.lines();
        let cells = connection.bind();
        for line in lines {
            cells.int(line.item);
        }
        connection.execute(self.items[lines.len() - LEAST]).await?;
        let rows = connection.rows();
        for row in 0..rows.len() as usize {
            let (price, original, item) = (rows.decimal(row, 0, 2)?, is_original(rows.text(row, 2)?), rows.int(row, 3)?);
            for (_, f) in lines.iter().zip(found.iter_mut()).filter(|(l, _)| l.item == item) {
                (f.price, f.original, f.seen) = (price, original, true);
            }
        }
        match lines.iter().zip(&*found).find(|(l, f)| f.seen == (l.item > ITEMS)) {
            Some((line, _)) => Err(missing(&format!("item {} does not belong to TPC-C, or is missing", line.item))),
            None => Ok(()),
        }
    }

    /// The warehouse whose stock is read and changed: go-tpc's is always the home (its defect 1).
    fn supply(&self, input: &Input, line: &Line) -> i64 {
        if self.go_tpc.is_some() { input.warehouse } else { line.supply }
    }

    async fn read_stocks<S: Session>(
        &self,
        connection: &mut Connection<S>,
        input: &Input,
        lines: &[Line],
        found: &mut [Found; MAX_LINES],
        dist_info: &mut Vec<u8>,
    ) -> Result<()> {
        let cells = connection.bind();
        for line in lines {
            cells.int(self.supply(input, line)).int(line.item);
        }
        connection.execute(self.stocks[lines.len() - LEAST]).await?;
        let rows = connection.rows();
        dist_info.clear();
        let dist = 3 + input.district as usize;
        for (line, f) in lines.iter().zip(found.iter_mut()) {
            let key = (self.supply(input, line), line.item);
            let mut row = 0;
            while row < rows.len() as usize && (rows.int(row, 0)?, rows.int(row, 1)?) != key {
                row += 1;
            }
            if row == rows.len() as usize {
                return Err(missing(&format!("warehouse {} has no stock of item {}", key.0, key.1)));
            }
            f.quantity = rows.int(row, 2)?;
            f.brand = f.original && is_original(rows.text(row, 3)?);
            dist_info.extend_from_slice(rows.text(row, dist)?);
            f.dist_ends = dist_info.len();
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "called in one place; a struct for it would only be unpacked again")]
    async fn write<S: Session>(
        &self,
        common: &Statements,
        connection: &mut Connection<S>,
        input: &Input,
        head: &Head,
        lines: &[Line],
        found: &mut [Found; MAX_LINES],
        dist_info: &[u8],
    ) -> Result<()> {
        let mut before: Option<(i64, i64, i64)> = None;
        for (line, f) in lines.iter().zip(found.iter()) {
            let supply = self.supply(input, line);
            // The same item twice in an order: its lines are neighbours, and the second starts where the first ended.
            let stock = before.filter(|(w, i, _)| (*w, *i) == (supply, line.item)).map_or(f.quantity, |(.., left)| left);
            let left = quantity_after(stock, line.quantity);
            let remote = i64::from(line.supply != input.warehouse);
            send(connection, common.update_stock, [left, line.quantity, remote, supply, line.item]).await?;
            before = Some((supply, line.item, left));
        }
        let cells = connection.bind();
        let mut from = 0;
        for (line, f) in lines.iter().zip(found.iter()) {
            let Line { number, item, supply, quantity } = *line;
            // go-tpc's amounts contain tax and discount (its defect 2).
            let amount = quantity * f.price;
            let amount = if self.go_tpc.is_some() { head.total(amount) } else { amount };
            cells.int(head.order).int(input.district).int(input.warehouse).int(number).int(item).int(supply);
            cells.int(quantity).decimal(amount, 2).text(&dist_info[from..f.dist_ends]);
            from = f.dist_ends;
        }
        connection.execute(self.insert_lines[lines.len() - LEAST]).await.map(drop)
    }
}

impl GoTpc {
    /// Everything before the lines, in go-tpc's order.
    async fn open<S: Session>(&self, common: &Statements, connection: &mut Connection<S>, input: &Input) -> Result<Head> {
        let Input { warehouse, district, customer, .. } = *input;
        send(connection, self.customer_and_warehouse, [warehouse, district, customer]).await?;
        let (discount, warehouse_tax) = (connection.rows().decimal(0, 0, 4)?, connection.rows().decimal(0, 3, 4)?);
        send(connection, common.district, [warehouse, district]).await?;
        let (order, district_tax) = (connection.rows().int(0, 0)?, connection.rows().decimal(0, 1, 4)?);
        send(connection, self.next_order, [order, warehouse, district]).await?;
        common.insert_heads(connection, input, order).await?;
        Ok(Head { order, district_tax, warehouse_tax, discount })
    }
}
