//! What the rows of a table add up to, column by column: by that a check knows whether all of them are there and right.
//!
//! A whole number counts as it is, a decimal in its smallest units, a date as its distance from 1992-01-01 in days. A text counts its bytes,
//! and its letters `e` once more, so that one that was cut or damaged is seen.

use perbuck_database::dialect::{Dialect, Type};
use perbuck_load::values::{Params, Value};
use perbuck_load::workload::Dataset;

use super::dataset::TpchData;
use super::schema::TABLES;

/// The number of rows of a table, then the sum of each column in order.
pub(super) type Sums = Vec<i128>;

/// The first day of the data (4.2.3, STARTDATE).
const FIRST_DAY: &str = "1992-01-01";

/// The sums of all tables, from their rows. It takes about 5 s of one processor for a scale of 1, and 500 s for 100.
pub(super) fn of(data: &TpchData) -> Vec<Sums> {
    let kinds: Vec<Vec<Type>> = TABLES.iter().map(|table| table.columns().map(|(_, kind)| kind).collect()).collect();
    let mut sums: Vec<Sums> = kinds.iter().map(|kinds| vec![0; 1 + kinds.len()]).collect();
    let mut cells = Params::default();
    for index in 0..data.parts() {
        let mut part = data.part(index);
        while let Some(table) = part.next_batch(&mut cells) {
            add(&mut sums[table], &kinds[table], &cells);
        }
    }
    sums
}

/// Adds rows of a table.
pub(super) fn add(sums: &mut [i128], kinds: &[Type], cells: &Params) {
    let mut batch = vec![0_i64; kinds.len()];
    for (position, value) in cells.iter().enumerate() {
        let column = position % kinds.len();
        batch[column] += worth(kinds[column], value);
    }
    sums[0] += (cells.len() / kinds.len()) as i128;
    for (sum, batch) in sums[1..].iter_mut().zip(batch) {
        *sum += i128::from(batch);
    }
}

fn worth(kind: Type, value: Value<'_>) -> i64 {
    match value {
        Value::Null => 0,
        Value::Int(number) | Value::Decimal { unscaled: number, .. } => number,
        Value::Text(text) if kind == Type::Date => days(text),
        Value::Text(text) => (text.len() + text.iter().filter(|byte| **byte == b'e').count()) as i64,
    }
}

/// Days from 1992-01-01 to a date of the data, which is of the twentieth century.
fn days(date: &[u8]) -> i64 {
    const BEFORE_MONTH: [i64; 13] = [0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let two = |at: usize| i64::from(date[at] - b'0') * 10 + i64::from(date[at + 1] - b'0');
    let (year, month) = (two(2), two(5));
    let leap = i64::from(month > 2 && year % 4 == 0);
    365 * (year - 92) + (year - 89) / 4 + BEFORE_MONTH[month as usize] + leap + two(8) - 1
}

/// The same sum in SQL.
pub(super) fn sum(dialect: &dyn Dialect, column: &str, kind: Type) -> String {
    match kind {
        Type::Date => format!("SUM({})", dialect.days_since(FIRST_DAY, column)),
        Type::Char(_) | Type::Varchar(_) | Type::BytewiseChar(_) | Type::BytewiseVarchar(_) | Type::Text(_) => {
            format!("SUM(2 * LENGTH({column}) - LENGTH(REPLACE({column}, 'e', '')))")
        }
        _ => format!("SUM({column})"),
    }
}

/// A sum as a number of SQL.
pub(super) fn literal(dialect: &dyn Dialect, kind: Type, sum: i128) -> String {
    match kind {
        Type::Decimal(_, scale) if dialect.exact_decimals() => {
            let unit = 10_u128.pow(u32::from(scale));
            let (sign, units) = (if sum < 0 { "-" } else { "" }, sum.unsigned_abs());
            format!("{sign}{}.{:02$}", units / unit, units % unit, usize::from(scale))
        }
        _ => sum.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MYSQL, POSTGRES, SQLITE};

    #[test]
    fn days_count_leap_years() {
        let days = [b"1992-01-01", b"1992-03-01", b"1993-01-01", b"1995-06-17", b"1996-02-29", b"1996-03-01", b"1998-12-31"]
            .map(|d| days(d));
        assert_eq!(days, [0, 60, 366, 1_263, 1_520, 1_521, 2_556]);
    }

    #[test]
    fn sums_are_numbers_of_the_dialect() {
        let money = Type::Decimal(15, 2);
        assert_eq!(literal(POSTGRES, money, -1_234_567), "-12345.67");
        assert_eq!(literal(POSTGRES, money, -7), "-0.07");
        assert_eq!(literal(SQLITE, money, -1_234_567), "-1234567");
        assert_eq!(literal(POSTGRES, Type::BigInt, 7), "7");
        let days = |dialect| sum(dialect, "d", Type::Date);
        assert_eq!(
            (days(MYSQL), days(POSTGRES)),
            ("SUM(DATEDIFF(d, '1992-01-01'))".to_owned(), "SUM((d - DATE '1992-01-01'))".to_owned())
        );
    }
}
