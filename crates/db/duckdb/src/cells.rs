//! The values of rows that are kept: integers and floats as numbers, decimals and dates as exact text.

use perbuck_load::values::Rows;

use crate::calendar::{MICROS_PER_DAY, civil};
use crate::ffi::{Answer, Cell};

/// Moves all rows of an answer into the buffer, or only counts them where it keeps none.
///
/// # Errors
/// A kept column has a type that perbuck does not read.
pub(crate) fn keep_rows(answer: &mut Answer, rows: &mut Rows) -> Result<(), String> {
    let (width, keep) = (answer.columns().len(), rows.keeps());
    let mut count = 0;
    while let Some(chunk) = answer.next_chunk() {
        count += chunk.rows() as u64;
        if !keep {
            continue;
        }
        let columns: Vec<_> = (0..width).map(|i| chunk.column(i).ok_or(i)).collect::<Result<_, usize>>().map_err(|i| {
            format!("Invalid Input Error: perbuck does not read the type of column {}; cast it to VARCHAR", i + 1)
        })?;
        for row in 0..chunk.rows() {
            for column in &columns {
                push(column.cell(row), rows);
            }
            rows.end_row();
        }
    }
    if !keep {
        rows.count_to(count);
    }
    Ok(())
}

fn push(cell: Cell<'_>, rows: &mut Rows) {
    match cell {
        Cell::Null => rows.push_null(),
        Cell::Int(v) => rows.push_int(v),
        // A sum of 64 bits has 128, and is small as a rule.
        Cell::Big(v) => match i64::try_from(v) {
            Ok(v) => rows.push_int(v),
            Err(_) => rows.push_text(v.to_string().as_bytes()),
        },
        Cell::Float(v) => rows.push_float(v),
        Cell::Decimal { unscaled, scale } => rows.push_text(decimal(unscaled, scale.into()).as_bytes()),
        Cell::Text(bytes) => rows.push_text(bytes),
        Cell::Date(days) => rows.push_text(date(days).as_bytes()),
        Cell::Time(micros) => rows.push_text(time(micros).as_bytes()),
        Cell::Timestamp(micros, zoned) => rows.push_text(timestamp(micros, zoned).as_bytes()),
    }
}

fn decimal(unscaled: i128, scale: usize) -> String {
    let (sign, digits) = (if unscaled < 0 { "-" } else { "" }, unscaled.unsigned_abs().to_string());
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

fn date(days: i32) -> String {
    match days {
        i32::MAX => return "infinity".to_owned(),
        // The lowest number is none of DuckDB's.
        days if days <= -i32::MAX => return "-infinity".to_owned(),
        _ => {}
    }
    let (year, month, day) = civil(days.into());
    if year > 0 { format!("{year:04}-{month:02}-{day:02}") } else { format!("{:04}-{month:02}-{day:02} (BC)", 1 - year) }
}

/// Digits after the second only where there are some.
fn time(micros: i64) -> String {
    let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
    let text = format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if rest == 0 { text } else { format!("{text}.{}", format!("{rest:06}").trim_end_matches('0')) }
}

fn timestamp(micros: i64, zoned: bool) -> String {
    if micros == i64::MAX || micros <= -i64::MAX {
        return if micros > 0 { "infinity" } else { "-infinity" }.to_owned();
    }
    let (days, rest) = (micros.div_euclid(MICROS_PER_DAY), micros.rem_euclid(MICROS_PER_DAY));
    // 64 bits of microseconds are 300,000 years, whose days fit into 32 bits.
    format!("{} {}{}", date(days as i32), time(rest), if zoned { "+00" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_keep_every_digit() {
        for (unscaled, scale, text) in [
            (0, 2, "0.00"),
            (5, 4, "0.0005"),
            (-5, 1, "-0.5"),
            (-1_230, 2, "-12.30"),
            (7, 0, "7"),
            (i128::from(i64::MAX) * 1_000, 3, "9223372036854775807.000"),
        ] {
            assert_eq!(decimal(unscaled, scale), text);
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (days, text) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (-25_509, "1900-02-28"),
            (-25_508, "1900-03-01"),
            (20_783, "2026-11-26"),
            (-719_162, "0001-01-01"),
            (-719_163, "0001-12-31 (BC)"),
            (i32::MAX, "infinity"),
            (-i32::MAX, "-infinity"),
        ] {
            assert_eq!(date(days), text);
        }
        assert_eq!(timestamp(951_782_400_000_000 - 1, false), "2000-02-28 23:59:59.999999");
        assert_eq!(timestamp(951_782_400_500_000, true), "2000-02-29 00:00:00.5+00");
        assert_eq!(timestamp(-1_000_000, false), "1969-12-31 23:59:59");
        assert_eq!(timestamp(i64::MAX, false), "infinity");
    }
}
