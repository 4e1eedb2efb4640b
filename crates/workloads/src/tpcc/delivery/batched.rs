//! Delivery with one statement for all districts where the specification lets one do, as go-tpc sends it: the oldest
//! orders are still looked for district by district, and the ten customers are paid one by one.

use perbuck_database::Dialect;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{Access, Effect, Session};
use perbuck_load::statement::{Catalogue, StatementId, Verb};

use super::{Input, Statements};
use crate::Result;
use crate::tpcc::DISTRICTS;
use crate::tpcc::terminal::send;

const TEN: usize = DISTRICTS as usize;

/// The statements for ten orders. If districts are skipped there are fewer; the last order then fills their positions,
/// which changes nothing.
#[derive(Debug, Clone, Copy)]
pub(in crate::tpcc) struct Batch {
    remove: StatementId,
    update_orders: StatementId,
    customers: StatementId,
    update_lines: StatementId,
    totals: StatementId,
}

impl Batch {
    pub(in crate::tpcc) fn new(catalogue: &mut Catalogue, dialect: &'static dyn Dialect) -> Self {
        let values = dialect.row_list();
        let ten = format!("IN ({values}{})", ["(?, ?, ?)"; TEN].join(", "));
        let lock = dialect.row_lock();
        let (queue, orders) = (format!("(no_w_id, no_d_id, no_o_id) {ten}"), format!("(o_w_id, o_d_id, o_id) {ten}"));
        let lines = format!("(ol_w_id, ol_d_id, ol_o_id) {ten}");
        Self {
            remove: catalogue.add(Verb::Delete, format!("DELETE FROM new_order WHERE {queue}")),
            update_orders: catalogue.add(Verb::Update, format!("UPDATE orders SET o_carrier_id = ? WHERE {orders}")),
            customers: catalogue.add_read(format!("SELECT o_d_id, o_c_id FROM orders WHERE {orders}{lock}")),
            update_lines: catalogue
                .add(Verb::Update, format!("UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP WHERE {lines}")),
            totals: catalogue.add_read(format!("SELECT ol_d_id, SUM(ol_amount) FROM order_line WHERE {lines} GROUP BY ol_d_id")),
        }
    }

    pub(in crate::tpcc) async fn run<S: Session>(
        &self,
        common: &Statements,
        connection: &mut Connection<S>,
        input: &Input,
    ) -> Result<u16> {
        let Input { warehouse, carrier } = *input;
        connection.begin(Access::Write).await?;
        let (mut orders, mut count) = ([(0, 0); TEN], 0);
        for district in 1..=DISTRICTS {
            send(connection, common.oldest, [warehouse, district]).await?;
            if !connection.rows().is_empty() {
                orders[count] = (district, connection.rows().int(0, 0)?);
                count += 1;
            }
        }
        if count > 0 {
            let last = orders[count - 1];
            orders[count..].fill(last);
            self.deliver(common, connection, warehouse, carrier, &orders).await?;
        }
        connection.commit().await?;
        Ok((TEN - count) as u16)
    }

    async fn deliver<S: Session>(
        &self,
        common: &Statements,
        connection: &mut Connection<S>,
        warehouse: i64,
        carrier: i64,
        orders: &[(i64, i64); TEN],
    ) -> Result<()> {
        send_keys(connection, self.remove, None, warehouse, orders).await?;
        send_keys(connection, self.update_orders, Some(carrier), warehouse, orders).await?;
        send_keys(connection, self.customers, None, warehouse, orders).await?;
        // By district: its customer and the sum of its lines.
        let mut due = [(0, 0); TEN + 1];
        let rows = connection.rows();
        for row in 0..rows.len() as usize {
            due[rows.int(row, 0)?.clamp(0, DISTRICTS) as usize].0 = rows.int(row, 1)?;
        }
        send_keys(connection, self.update_lines, None, warehouse, orders).await?;
        send_keys(connection, self.totals, None, warehouse, orders).await?;
        let rows = connection.rows();
        for row in 0..rows.len() as usize {
            due[rows.int(row, 0)?.clamp(0, DISTRICTS) as usize].1 = rows.decimal(row, 1, 2)?;
        }
        for (district, (customer, total)) in due.iter().enumerate().filter(|(_, (customer, _))| *customer > 0) {
            connection.bind().decimal(*total, 2).int(warehouse).int(district as i64).int(*customer);
            connection.execute(common.update_customer).await?;
        }
        Ok(())
    }
}

/// Executes a statement with the keys of ten orders after what comes first.
fn send_keys<'c, S: Session>(
    connection: &'c mut Connection<S>,
    statement: StatementId,
    first: Option<i64>,
    warehouse: i64,
    orders: &[(i64, i64); TEN],
) -> impl Future<Output = Result<Effect>> + use<'c, S> {
    let cells = connection.bind();
    if let Some(value) = first {
        cells.int(value);
    }
    for (district, order) in orders {
        cells.int(warehouse).int(*district).int(*order);
    }
    connection.execute(statement)
}
