//! Order-Status (2.6).

use perbuck_core::rng::OpRng;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{Access, Session};
use perbuck_load::statement::{Catalogue, StatementId, Verb};
use perbuck_load::workload::Facts;

use super::customer::{Selector, find_by_name};
use super::names::write_last_name;
use super::terminal::{Scope, send};
use crate::Result;

/// What the user of the terminal enters (2.6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Input {
    warehouse: i64,
    district: i64,
    customer: Selector,
}

impl Input {
    pub(super) fn draw(rng: &mut OpRng, scope: &Scope) -> Self {
        let district = Scope::any_district(rng);
        Self { warehouse: scope.warehouse, district, customer: Selector::draw(rng, &scope.constants) }
    }

    /// Whether the customer is named.
    pub(super) fn facts(&self) -> Facts {
        [self.customer.is_name().into(), 0, 0, 0]
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Statements {
    by_id: StatementId,
    by_name: StatementId,
    last_order: StatementId,
    lines: StatementId,
    /// Counts the bearers of a name before they are read, as go-tpc does.
    count: Option<StatementId>,
}

impl Statements {
    /// They are the same in every dialect: nothing is locked.
    pub(super) fn new(catalogue: &mut Catalogue, counts_names: bool) -> Self {
        let count = "SELECT COUNT(c_id) FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ?";
        Self {
            count: counts_names.then(|| catalogue.add(Verb::Select, count)),
            by_id: catalogue.add(
                Verb::Select,
                "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            ),
            by_name: catalogue.add_read(
                "SELECT c_id, c_balance, c_first, c_middle FROM customer \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
            ),
            last_order: catalogue.add_read(
                "SELECT o_id, o_entry_d, o_carrier_id FROM orders \
                 WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1",
            ),
            lines: catalogue.add(
                Verb::Select,
                "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
            ),
        }
    }

    pub(super) async fn run<S: Session>(&self, connection: &mut Connection<S>, input: &Input) -> Result<()> {
        let (w, d) = (input.warehouse, input.district);
        connection.begin(Access::Read).await?;
        let customer = match input.customer {
            Selector::Id(id) => {
                send(connection, self.by_id, [w, d, id]).await?;
                id
            }
            Selector::LastName(name) => {
                if let Some(count) = self.count {
                    connection.bind().int(w).int(d).text_with(|t| write_last_name(t, name));
                    connection.execute(count).await?;
                }
                find_by_name(connection, self.by_name, (w, d), name).await?
            }
        };
        send(connection, self.last_order, [w, d, customer]).await?;
        let order = connection.rows().int(0, 0)?;
        send(connection, self.lines, [w, d, order]).await?;
        connection.commit().await
    }
}
