//! Whether an answer is the right one, and a number by which equal answers are known.

use std::fmt;

use perbuck_core::rng::mix;
use perbuck_database::Dialect;
use perbuck_load::values::Rows;

use super::columns::{self, Column, Kind};
use super::number::Number;
use super::{Answer, NULL};

/// What a sum of money may differ by (2.1.3.5 c).
const MONEY_TOLERANCE: i128 = 100;
/// An average or a quotient may differ by a part in so many (2.1.3.5 b and d).
const ONE_PERCENT: u32 = 2;

type Row = [Option<String>];

/// How an answer differs from the right one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tpch) enum Difference {
    /// In the number of its rows.
    Rows { expected: usize, found: usize },
    /// In the number of its columns; 0 are found where the driver did not keep the rows.
    Columns { expected: usize, found: usize },
    /// In a value; the first row is 1.
    Cell { row: usize, column: &'static str, expected: String, found: String },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows { expected, found } => write!(f, "{found} rows instead of {expected}"),
            Self::Columns { expected, found } => write!(f, "{found} columns instead of {expected}"),
            Self::Cell { row, column, expected, found } => write!(f, "row {row}, {column}: `{found}` instead of `{expected}`"),
        }
    }
}

/// Compares what a database answered to query 1 to 22 with its right answer.
///
/// Rows that ORDER BY leaves equal may come in any order. Where a LIMIT cuts such rows apart, only those of the expected answer are right: of
/// the queries with a limit, 2 and 21 order by a key, and the others by prices to the cent.
///
/// # Errors
/// The first difference.
pub(in crate::tpch) fn compare(number: usize, expected: &Answer, found: &Rows, dialect: &dyn Dialect) -> Result<(), Difference> {
    expected.compare(&Answer::found(number, found, dialect)?)
}

/// A number that right answers of different databases share: of counts, keys, texts and dates, of sums to the cent, and of the number of
/// rows. It leaves averages and quotients out, whose last digits differ by database, and the order of rows.
///
/// # Errors
/// As [`Answer::found`].
pub(in crate::tpch) fn digest(number: usize, found: &Rows, dialect: &dyn Dialect) -> Result<u64, Difference> {
    Ok(Answer::found(number, found, dialect)?.digest())
}

impl Answer {
    /// See [`compare`].
    pub(in crate::tpch) fn compare(&self, found: &Self) -> Result<(), Difference> {
        let shape = columns::of(self.number);
        if self.number != found.number {
            return Err(Difference::Columns { expected: shape.columns.len(), found: columns::of(found.number).columns.len() });
        }
        let (expected, found): (Vec<&Row>, Vec<&Row>) = (self.rows().collect(), found.rows().collect());
        if expected.len() != found.len() {
            return Err(Difference::Rows { expected: expected.len(), found: found.len() });
        }
        let tie = |a: &&Row, b: &&Row| !shape.order_by.is_empty() && shape.order_by.iter().all(|at| a[*at] == b[*at]);
        let mut start = 0;
        for ties in expected.chunk_by(tie) {
            same_rows(shape.columns, start, ties, &found[start..start + ties.len()])?;
            start += ties.len();
        }
        Ok(())
    }

    /// See [`digest`].
    pub(in crate::tpch) fn digest(&self) -> u64 {
        let columns = columns::of(self.number).columns;
        let rows = self.rows();
        let count = rows.len() as u64;
        let sum = rows.fold(0, |sum: u64, row| sum.wrapping_add(mix(row_digest(columns, row))));
        mix(sum ^ mix(count ^ ((self.number as u64) << 48)))
    }
}

/// Finds each row of a tie among as many found ones.
fn same_rows(columns: &[Column], start: usize, ties: &[&Row], found: &[&Row]) -> Result<(), Difference> {
    let mut left: Vec<(usize, &Row)> = found.iter().copied().enumerate().collect();
    for (at, expected) in ties.iter().enumerate() {
        let Some(same) = left.iter().position(|(_, row)| difference(columns, expected, row).is_none()) else {
            // The row at its own position, where no other one took it, tells best what differs.
            let (row, found) =
                left.iter().find(|(position, _)| *position == at).or(left.first()).copied().unwrap_or((at, ties[at]));
            let column = difference(columns, expected, found).unwrap_or(0);
            let show = |row: &Row| row[column].as_deref().unwrap_or(NULL).to_owned();
            return Err(Difference::Cell {
                row: start + row + 1,
                column: columns[column].name,
                expected: show(expected),
                found: show(found),
            });
        };
        left.swap_remove(same);
    }
    Ok(())
}

/// The first column in which two rows differ.
fn difference(columns: &[Column], expected: &Row, found: &Row) -> Option<usize> {
    (0..columns.len()).find(|at| match (&expected[*at], &found[*at]) {
        (Some(expected), Some(found)) => !is_right(columns[*at].kind, expected, found),
        (expected, found) => expected != found,
    })
}

fn is_right(kind: Kind, expected: &str, found: &str) -> bool {
    if kind == Kind::Text {
        return expected == found;
    }
    let (Some(v), Some(r)) = (Number::parse(expected), Number::parse(found)) else { return false };
    match kind {
        Kind::Text | Kind::Exact => v == r,
        Kind::Money => within_money(v, r),
        Kind::Average => within_one_percent(v, r),
        Kind::Quotient => within_one_percent(v, r) && within_money(v, r),
    }
}

fn within_money(v: Number, r: Number) -> bool {
    r.minus(v).and_then(|by| by.magnitude().at_most(Number::new(MONEY_TOLERANCE, 0))).unwrap_or(false)
}

/// `0.99 v <= round(r, 2) <= 1.01 v`. Where `v` is no official answer and has more digits, `r` is compared with all of its own.
fn within_one_percent(v: Number, r: Number) -> bool {
    let r = if v.scale() <= 2 { r.rounded(2) } else { r };
    r.minus(v).and_then(|by| by.magnitude().at_most(v.magnitude().shifted(ONE_PERCENT))).unwrap_or(false)
}

/// FNV-1a over the values that every database has alike.
fn row_digest(columns: &[Column], row: &Row) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for (column, cell) in columns.iter().zip(row) {
        let number = || cell.as_deref().and_then(Number::parse);
        let text = match (column.kind, cell) {
            (_, None) => None,
            (Kind::Exact, Some(text)) => Some(number().map_or_else(|| text.clone(), Number::text)),
            (Kind::Money, Some(text)) => Some(number().map_or_else(|| text.clone(), |sum| sum.rounded(2).text())),
            (Kind::Text, Some(text)) => Some(text.clone()),
            (Kind::Average | Kind::Quotient, Some(_)) => Some(String::new()),
        };
        // No text has these bytes: they end a value, and stand for NULL.
        text.as_deref().map_or(&[0xfe][..], str::as_bytes).iter().for_each(|byte| add(*byte));
        add(0xff);
    }
    hash
}
