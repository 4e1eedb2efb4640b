//! The 22 queries of CH-benCHmark, in standard SQL. Where the paper's texts bound dates from above, they do so by years that have gone; here the
//! bound is a century later, so that rows of a run of today are among them.

use perbuck_database::Dialect;

use super::kinds::QUERIES;

mod q12_to_q22;
mod q1_to_q11;

/// One SELECT for each query, without a semicolon at its end.
pub fn all(dialect: &dyn Dialect) -> [String; QUERIES] {
    let w = &Words(dialect);
    [
        q1_to_q11::q1(),
        q1_to_q11::q2(),
        q1_to_q11::q3(w),
        q1_to_q11::q4(),
        q1_to_q11::q5(w),
        q1_to_q11::q6(),
        q1_to_q11::q7(w),
        q1_to_q11::q8(w),
        q1_to_q11::q9(w),
        q1_to_q11::q10(w),
        q1_to_q11::q11(),
        q12_to_q22::q12(),
        q12_to_q22::q13(),
        q12_to_q22::q14(w),
        q12_to_q22::q15(),
        q12_to_q22::q16(w),
        q12_to_q22::q17(),
        q12_to_q22::q18(w),
        q12_to_q22::q19(w),
        q12_to_q22::q20(),
        q12_to_q22::q21(),
        q12_to_q22::q22(w),
    ]
}

/// From when on orders count: before the first of the data.
const SINCE: &str = "'2007-01-02 00:00:00'";
/// Until when: after any that a run makes.
const UNTIL: &str = "'2100-01-01 00:00:00'";
/// The supplier of a stock: the paper's function of warehouse and item.
const SUPPLIER_OF_STOCK: &str = "(s_w_id * s_i_id) % 10000";
/// An order with its lines, and with its customer.
const LINES_OF_ORDER: &str = "ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id";
const CUSTOMER_OF_ORDER: &str = "c_id = o_c_id AND c_w_id = o_w_id AND c_d_id = o_d_id";

/// The words that differ by database.
struct Words<'a>(&'a dyn Dialect);

impl Words<'_> {
    /// The nation of a customer: the code of the first letter of the state.
    fn nation_of_customer(&self) -> String {
        self.0.character_code(&self.0.first_characters("c_state", 1))
    }

    fn year(&self, column: &str) -> String {
        self.0.year_of(column)
    }

    fn first(&self, column: &str, count: u32) -> String {
        self.0.first_characters(column, count)
    }

    /// Whole dollars that meet a column of money.
    fn dollars(&self, number: u32) -> String {
        if self.0.exact_decimals() { number.to_string() } else { (u64::from(number) * 100).to_string() }
    }
}
