//! Payment (2.5).
//!
//! Warehouse and district are changed before anything is read, so that under snapshot isolation the snapshot is taken
//! after the wait for the two rows that all payments of a warehouse fight for.

use std::io::Write;

use perbuck_core::rng::OpRng;
use perbuck_database::Dialect;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{Access, Session};
use perbuck_load::statement::{Catalogue, StatementId, Verb};
use perbuck_load::workload::Facts;

use super::DOLLAR;
use super::customer::{Selector, find_by_name};
use super::terminal::{Scope, Scratch, send};
use crate::Result;

const C_DATA: usize = 500;

/// What the user of the terminal enters (2.5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Input {
    warehouse: i64,
    district: i64,
    /// C_W_ID.
    customer_warehouse: i64,
    /// C_D_ID.
    customer_district: i64,
    customer: Selector,
    /// H_AMOUNT in cents.
    amount: i64,
}

impl Input {
    /// 85 % of the customers belong to the district where they pay.
    pub(super) fn draw(rng: &mut OpRng, scope: &Scope) -> Self {
        let warehouse = scope.warehouse;
        let district = Scope::any_district(rng);
        let (customer_warehouse, customer_district) = if rng.between(1, 100) <= 85 {
            (warehouse, district)
        } else {
            (scope.other_warehouse(rng), Scope::any_district(rng))
        };
        let customer = Selector::draw(rng, &scope.constants);
        let amount = rng.between(DOLLAR, 5_000 * DOLLAR);
        Self { warehouse, district, customer_warehouse, customer_district, customer, amount }
    }

    /// Whether the customer belongs to another warehouse, and whether he is named.
    pub(super) fn facts(&self) -> Facts {
        [u16::from(self.customer_warehouse != self.warehouse), self.customer.is_name().into(), 0, 0]
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Statements {
    update_warehouse: StatementId,
    update_district: StatementId,
    warehouse: StatementId,
    district: StatementId,
    by_name: StatementId,
    customer: StatementId,
    customer_data: StatementId,
    update_customer: StatementId,
    update_customer_data: StatementId,
    insert_history: StatementId,
    /// Whether the district is changed and read before the warehouse, as go-tpc does.
    district_first: bool,
}

const CUSTOMER_KEY: &str = "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
const PAY: &str = "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
                   c_payment_cnt = c_payment_cnt + 1";

impl Statements {
    pub(super) fn new(catalogue: &mut Catalogue, dialect: &'static dyn Dialect, district_first: bool) -> Self {
        let lock = dialect.row_lock();
        Self {
            district_first,
            update_warehouse: catalogue.add(Verb::Update, "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?"),
            update_district: catalogue.add(Verb::Update, "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?"),
            warehouse: catalogue
                .add_read("SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = ?"),
            district: catalogue.add_read(
                "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id = ? AND d_id = ?",
            ),
            by_name: catalogue
                .add_read("SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first"),
            customer: catalogue.add_read(format!(
                "SELECT c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, \
                 c_since, c_credit_lim, c_discount, c_balance FROM customer {CUSTOMER_KEY}{lock}"
            )),
            // Locking again costs nothing, and a plain read could be of a snapshot older than the lock.
            customer_data: catalogue.add_read(format!("SELECT c_data FROM customer {CUSTOMER_KEY}{lock}")),
            update_customer: catalogue.add(Verb::Update, format!("{PAY} {CUSTOMER_KEY}")),
            update_customer_data: catalogue.add(Verb::Update, format!("{PAY}, c_data = ? {CUSTOMER_KEY}")),
            insert_history: catalogue.add(
                Verb::Insert,
                "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
                 VALUES (?, ?, ?, ?, ?, CURRENT_TIMESTAMP, ?, ?)",
            ),
        }
    }

    pub(super) async fn run<S: Session>(
        &self,
        connection: &mut Connection<S>,
        input: &Input,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Input { warehouse, district, amount, .. } = *input;
        connection.begin(Access::Write).await?;
        if self.district_first {
            connection.bind().decimal(amount, 2).int(warehouse).int(district);
            connection.execute(self.update_district).await?;
        }
        connection.bind().decimal(amount, 2).int(warehouse);
        connection.execute(self.update_warehouse).await?;
        if !self.district_first {
            connection.bind().decimal(amount, 2).int(warehouse).int(district);
            connection.execute(self.update_district).await?;
        }
        send(connection, self.warehouse, [warehouse]).await?;
        scratch.h_data.clear();
        scratch.h_data.extend_from_slice(connection.rows().text(0, 0)?);
        send(connection, self.district, [warehouse, district]).await?;
        // 2.5.2.2: W_NAME and D_NAME with four spaces between them.
        scratch.h_data.extend_from_slice(b"    ");
        scratch.h_data.extend_from_slice(connection.rows().text(0, 0)?);
        let customer = self.charge(connection, input, &mut scratch.c_data).await?;
        let cells = connection.bind().int(customer).int(input.customer_district).int(input.customer_warehouse);
        cells.int(district).int(warehouse).decimal(amount, 2).text(&scratch.h_data);
        connection.execute(self.insert_history).await?;
        connection.commit().await
    }

    /// Changes the customer's row and returns C_ID.
    async fn charge<S: Session>(&self, connection: &mut Connection<S>, input: &Input, c_data: &mut Vec<u8>) -> Result<i64> {
        let (w, d, amount) = (input.customer_warehouse, input.customer_district, input.amount);
        let id = match input.customer {
            Selector::Id(id) => id,
            Selector::LastName(name) => find_by_name(connection, self.by_name, (w, d), name).await?,
        };
        send(connection, self.customer, [w, d, id]).await?;
        if connection.rows().text(0, 0)? == b"BC" {
            send(connection, self.customer_data, [w, d, id]).await?;
            prepend(c_data, id, input, connection.rows().text(0, 0)?);
            connection.bind().decimal(amount, 2).decimal(amount, 2).text(c_data).int(w).int(d).int(id);
            connection.execute(self.update_customer_data).await?;
        } else {
            connection.bind().decimal(amount, 2).decimal(amount, 2).int(w).int(d).int(id);
            connection.execute(self.update_customer).await?;
        }
        Ok(id)
    }
}

/// The new C_DATA of a customer with bad credit: the payment before the old text, cut at 500 (2.5.2.2).
fn prepend(out: &mut Vec<u8>, id: i64, input: &Input, old: &[u8]) {
    let Input { warehouse, district, customer_warehouse, customer_district, amount, .. } = *input;
    let (units, cents) = (amount / DOLLAR, amount % DOLLAR);
    out.clear();
    // Writing to a vector cannot fail.
    let _ = write!(out, "{id} {customer_district} {customer_warehouse} {district} {warehouse} {units}.{cents:02}|");
    out.extend_from_slice(old);
    out.truncate(C_DATA);
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
        let draws = 200_000u32;
        let (mut remote, mut by_name, mut amounts, mut others) = (0u32, 0u32, Vec::new(), Vec::new());
        for n in 0..draws {
            let input = Input::draw(&mut OpRng::at(Seed(4), 3, n.into()), &scope);
            assert!(input.warehouse == 4 && (100..=500_000).contains(&input.amount));
            assert!((1..=10).contains(&input.district) && (1..=10).contains(&input.customer_district));
            if input.customer_warehouse == 4 {
                assert_eq!(input.customer_district, input.district);
            } else {
                remote += 1;
            }
            match input.customer {
                Selector::LastName(name) => {
                    by_name += 1;
                    assert!((0..=999).contains(&name));
                }
                Selector::Id(id) => assert!((1..=3_000).contains(&id)),
            }
            amounts.push(input.amount);
            if input.customer_warehouse != 4 {
                others.push(input.customer_warehouse - i64::from(input.customer_warehouse > 4));
            }
        }
        let share = |n: u32| f64::from(n) / f64::from(draws);
        assert!((0.14..=0.16).contains(&share(remote)), "remote: {remote}");
        assert!((0.57..=0.63).contains(&share(by_name)), "by name: {by_name}");
        uniform("H_AMOUNT", &amounts, 100, 500_000, 500);
        uniform("C_W_ID of those from elsewhere", &others, 1, 9, 9);
    }

    #[test]
    fn bad_credit_is_told_in_front_and_cut_at_500() {
        let customer = Selector::Id(77);
        let input = Input { warehouse: 1, district: 2, customer_warehouse: 3, customer_district: 4, customer, amount: 12_305 };
        let mut out = b"left over".to_vec();
        prepend(&mut out, 77, &input, b"old");
        assert_eq!(out, b"77 4 3 2 1 123.05|old");
        prepend(&mut out, 77, &input, &[b'x'; 500]);
        assert!(out.len() == 500 && out.starts_with(b"77 4 3 2 1 123.05|xxx"));
    }
}
