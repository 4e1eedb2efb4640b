//! Delivery (2.7), in the foreground: the ten districts of a warehouse in one database transaction, which 2.7.4.1
//! allows, as it does ten of one each.
//!
//! All reads lock what is changed next. There is no plain read at all, so under snapshot isolation no snapshot is taken
//! early, and a payment that commits in the middle is no conflict. The one exception is PostgreSQL's sum of the order lines,
//! which cannot lock; amounts never change, and PostgreSQL's default level takes a snapshot per statement.

use perbuck_core::rng::OpRng;
use perbuck_database::Dialect;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{Access, Session};
use perbuck_load::statement::{Catalogue, StatementId, Verb};

mod batched;

use super::DISTRICTS;
use super::terminal::{Scope, send};
use crate::Result;

pub(super) use batched::Batch;

/// What the user of the terminal enters (2.7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Input {
    warehouse: i64,
    carrier: i64,
}

impl Input {
    pub(super) fn draw(rng: &mut OpRng, scope: &Scope) -> Self {
        Self { warehouse: scope.warehouse, carrier: rng.between(1, 10) }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Statements {
    oldest: StatementId,
    remove: StatementId,
    order: StatementId,
    update_order: StatementId,
    total: StatementId,
    update_lines: StatementId,
    update_customer: StatementId,
}

impl Statements {
    pub(super) fn new(catalogue: &mut Catalogue, dialect: &'static dyn Dialect) -> Self {
        let lock = dialect.row_lock();
        let order_key = "WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?";
        let lines_key = "WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";
        let sum_lock = if dialect.locks_sums() { lock } else { "" };
        Self {
            oldest: catalogue.add_read(format!(
                "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1{lock}"
            )),
            remove: catalogue.add(Verb::Delete, "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?"),
            order: catalogue.add_read(format!("SELECT o_c_id FROM orders {order_key}{lock}")),
            update_order: catalogue.add(Verb::Update, format!("UPDATE orders SET o_carrier_id = ? {order_key}")),
            total: catalogue.add_read(format!("SELECT SUM(ol_amount) FROM order_line {lines_key}{sum_lock}")),
            update_lines: catalogue
                .add(Verb::Update, format!("UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP {lines_key}")),
            update_customer: catalogue.add(
                Verb::Update,
                "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            ),
        }
    }

    /// Returns how many districts had nothing to deliver and were skipped (2.7.4.2).
    pub(super) async fn run<S: Session>(&self, connection: &mut Connection<S>, input: &Input) -> Result<u16> {
        connection.begin(Access::Write).await?;
        let mut skipped = 0;
        for district in 1..=DISTRICTS {
            let delivered = self.deliver(connection, input, district).await?;
            skipped += u16::from(!delivered);
        }
        connection.commit().await?;
        Ok(skipped)
    }

    /// Delivers the oldest order of a district; false where there is none.
    async fn deliver<S: Session>(&self, connection: &mut Connection<S>, input: &Input, district: i64) -> Result<bool> {
        let Input { warehouse, carrier } = *input;
        send(connection, self.oldest, [warehouse, district]).await?;
        if connection.rows().is_empty() {
            return Ok(false);
        }
        let order = connection.rows().int(0, 0)?;
        send(connection, self.remove, [warehouse, district, order]).await?;
        send(connection, self.order, [warehouse, district, order]).await?;
        let customer = connection.rows().int(0, 0)?;
        send(connection, self.update_order, [carrier, warehouse, district, order]).await?;
        send(connection, self.total, [warehouse, district, order]).await?;
        let total = connection.rows().decimal(0, 0, 2)?;
        send(connection, self.update_lines, [warehouse, district, order]).await?;
        connection.bind().decimal(total, 2).int(warehouse).int(district).int(customer);
        connection.execute(self.update_customer).await?;
        Ok(true)
    }
}
