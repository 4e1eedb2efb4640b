//! The text of the 22 queries (2.4). Dates are computed by the client, so that the text is the same on every database whose decimals are exact.
//! A database without decimals has whole numbers of hundredths in their columns; its constants are in hundredths, too, and so are its answers
//! (`answers/columns.rs` says which).

use perbuck_database::Dialect;

use super::Substitution;
use super::substitution::{brand_name, fraction};
use crate::day::Day;

mod q17_to_q22;
mod q1_to_q8;
mod q9_to_q16;
#[cfg(test)]
mod tests;

/// One SELECT, without a semicolon at its end: the query of these values.
pub(in crate::tpch) fn statement(values: &Substitution, dialect: &dyn Dialect) -> String {
    let w = &Words(dialect);
    match *values {
        Substitution::Q1 { delta } => q1_to_q8::q1(w, delta),
        Substitution::Q2 { size, kind, region } => q1_to_q8::q2(size, kind, region),
        Substitution::Q3 { segment, date } => q1_to_q8::q3(w, segment, date),
        Substitution::Q4 { date } => q1_to_q8::q4(w, date),
        Substitution::Q5 { region, date } => q1_to_q8::q5(w, region, date),
        Substitution::Q6 { date, discount, quantity } => q1_to_q8::q6(w, date, discount, quantity),
        Substitution::Q7 { nations } => q1_to_q8::q7(w, nations),
        Substitution::Q8 { nation, region, kind } => q1_to_q8::q8(w, nation, region, kind),
        Substitution::Q9 { color } => q9_to_q16::q9(w, color),
        Substitution::Q10 { date } => q9_to_q16::q10(w, date),
        Substitution::Q11 { nation, scale } => q9_to_q16::q11(nation, &fraction(scale)),
        Substitution::Q12 { modes, date } => q9_to_q16::q12(w, modes, date),
        Substitution::Q13 { words } => q9_to_q16::q13(words),
        Substitution::Q14 { date } => q9_to_q16::q14(w, date),
        Substitution::Q15 { date } => q9_to_q16::q15(w, date),
        Substitution::Q16 { brand, kind, sizes } => q9_to_q16::q16(&brand_name(brand), kind, sizes),
        Substitution::Q17 { brand, container } => q17_to_q22::q17(&brand_name(brand), container),
        Substitution::Q18 { quantity } => q17_to_q22::q18(w, quantity),
        Substitution::Q19 { quantities, brands } => q17_to_q22::q19(w, quantities, &brands.map(brand_name)),
        Substitution::Q20 { color, date, nation } => q17_to_q22::q20(w, color, date, nation),
        Substitution::Q21 { nation } => q17_to_q22::q21(nation),
        Substitution::Q22 { codes } => q17_to_q22::q22(w, codes),
    }
}

/// What a text has that its functional query definition (2.4.x.2) has not, with its queries.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tpch) struct Variant {
    /// Numbers of the queries, in order.
    pub(in crate::tpch) queries: &'static [usize],
    /// A sentence with its clause.
    pub(in crate::tpch) what: &'static str,
}

/// The variants and minor modifications of a database's texts (8.3.4.3 asks for them); docs/method/tpch.md says them.
#[cfg(test)]
pub(in crate::tpch) fn variants(dialect: &dyn Dialect) -> Vec<Variant> {
    let mut all = vec![
        Variant {
            queries: &[1, 4, 5, 6, 10, 12, 14, 15, 20],
            what: "The client computes dates; the text has literals (2.2.3.3).",
        },
        Variant { queries: &[2, 3, 10, 18, 21], what: "LIMIT returns the first rows (2.1.2.9)." },
        Variant {
            queries: &[13],
            what: "Inside of its derived table the second column has its name, and the table's alias has no list of columns.",
        },
        Variant { queries: &[15], what: "A common table expression replaces the view: variant A of Appendix B." },
    ];
    if !dialect.exact_decimals() {
        all.push(Variant {
            queries: &[1, 3, 5, 6, 7, 8, 9, 10, 14, 15, 18, 19, 20, 22],
            what: "Decimals are whole numbers of hundredths, and so are the constants that they meet.",
        });
    }
    all
}

/// The words that differ by database.
struct Words<'a>(&'a dyn Dialect);

impl Words<'_> {
    fn date(&self, day: Day) -> String {
        self.0.date_literal(&day.to_string())
    }

    /// From a day, with it, to another one, without it.
    fn period(&self, column: &str, from: Day, to: Day) -> String {
        format!("{column} >= {} AND {column} < {}", self.date(from), self.date(to))
    }

    /// A whole number that meets a column of decimals.
    fn whole(&self, number: u32) -> String {
        if self.0.exact_decimals() { number.to_string() } else { (u64::from(number) * 100).to_string() }
    }

    /// Hundredths, less than 100 of them, that meet a column of decimals.
    fn hundredths(&self, number: u32) -> String {
        if self.0.exact_decimals() { format!("0.{number:02}") } else { number.to_string() }
    }

    /// The price of a line less its discount, which most queries sum.
    fn revenue(&self) -> String {
        format!("l_extendedprice * ({} - l_discount)", self.whole(1))
    }

    fn year(&self, column: &str) -> String {
        self.0.year_of(column)
    }
}
