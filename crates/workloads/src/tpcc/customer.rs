//! Choosing a customer, as Payment and Order-Status do (2.5.1.2, 2.6.1.2).

use perbuck_core::rng::OpRng;
use perbuck_load::connection::Connection;
use perbuck_load::driver::Session;
use perbuck_load::statement::StatementId;

use super::names::write_last_name;
use super::nurand::{Constants, last_name};
use super::terminal::missing;
use crate::Result;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Selector {
    /// By C_ID.
    Id(i64),
    /// By the number of C_LAST.
    LastName(i64),
}

impl Selector {
    pub(super) fn is_name(self) -> bool {
        matches!(self, Self::LastName(_))
    }

    /// By last name in 60 % of the cases.
    pub(super) fn draw(rng: &mut OpRng, constants: &Constants) -> Self {
        if rng.between(1, 100) <= 60 { Self::LastName(last_name(rng, constants.last)) } else { Self::Id(constants.customer(rng)) }
    }
}

/// C_ID of the customer of that last name at position n/2, rounded up, in the order of C_FIRST (2.5.2.2). `by_name`
/// takes C_W_ID, C_D_ID and C_LAST and returns C_ID first.
/// It is a fatal error if no customer has the name: 4.3.3.1 gives every name a bearer.
pub(super) async fn find_by_name<S: Session>(
    connection: &mut Connection<S>,
    by_name: StatementId,
    (warehouse, district): (i64, i64),
    name: i64,
) -> Result<i64> {
    connection.bind().int(warehouse).int(district).text_with(|t| write_last_name(t, name));
    connection.execute(by_name).await?;
    let rows = connection.rows();
    if rows.is_empty() {
        let what = format!("warehouse {warehouse}, district {district} has no customer of last name number {name}");
        return Err(missing(&what));
    }
    // Rows are counted from 0, positions from 1.
    rows.int((rows.len().div_ceil(2) - 1) as usize, 0)
}
