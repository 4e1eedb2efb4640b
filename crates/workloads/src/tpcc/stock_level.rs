//! Stock-Level (2.8).

use perbuck_core::rng::OpRng;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{Access, Session};
use perbuck_load::statement::{Catalogue, StatementId};

use super::terminal::{Scope, send};
use crate::Result;

/// How many of the district's last orders are looked at (2.8.2.2).
const LAST_ORDERS: i64 = 20;

/// What the user of the terminal enters (2.8.1): the district is the terminal's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Input {
    warehouse: i64,
    district: i64,
    threshold: i64,
}

impl Input {
    pub(super) fn draw(rng: &mut OpRng, scope: &Scope) -> Self {
        Self { warehouse: scope.warehouse, district: scope.district, threshold: rng.between(10, 20) }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Statements {
    next_order: StatementId,
    low_stock: StatementId,
}

impl Statements {
    /// They are the same in every dialect: nothing is locked.
    pub(super) fn new(catalogue: &mut Catalogue, hinted: bool) -> Self {
        // go-tpc's hint, for the servers whose driver it drives; see [`super::compat::hints`].
        let hint = if hinted { "/*+ TIDB_INLJ(order_line, stock) */ " } else { "" };
        Self {
            next_order: catalogue.add_read("SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?"),
            low_stock: catalogue.add_read(format!(
                "SELECT {hint}COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ? AND s_quantity < ?"
            )),
        }
    }

    pub(super) async fn run<S: Session>(&self, connection: &mut Connection<S>, input: &Input) -> Result<()> {
        let Input { warehouse, district, threshold } = *input;
        connection.begin(Access::Read).await?;
        send(connection, self.next_order, [warehouse, district]).await?;
        let next = connection.rows().int(0, 0)?;
        send(connection, self.low_stock, [warehouse, district, next - LAST_ORDERS, next, threshold]).await?;
        // The number of items below the threshold.
        connection.rows().int(0, 0)?;
        connection.commit().await
    }
}
