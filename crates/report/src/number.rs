//! How numbers are printed: rounded once, here, with thousands separators and a real minus sign.

use perbuck_core::metric::Metric;
use perbuck_core::stats::{Interval, Ratio};
use perbuck_core::units::thousands;

use crate::escape::clean;

/// Printed where there is no value.
pub(crate) const ABSENT: &str = "—";

/// A text, or what is printed in its place.
pub(crate) fn or_absent(text: Option<String>) -> String {
    text.unwrap_or_else(|| ABSENT.to_owned())
}

/// A number with that many decimals; absent where it is not finite.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    let digits = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let whole = whole.parse::<u64>().map_or_else(|_| whole.to_owned(), thousands);
    let zero = digits.bytes().all(|b| matches!(b, b'0' | b'.'));
    let sign = if value < 0.0 && !zero { "−" } else { "" };
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// A value of a metric with its unit.
pub(crate) fn measured(value: f64, decimals: usize, metric: &Metric) -> String {
    format!("{} {}", fixed(value, decimals), clean(&metric.label))
}

/// Decimals that give the largest of a column four significant digits (and none beyond the twelfth decimal).
pub(crate) fn column_decimals(values: impl IntoIterator<Item = f64>) -> usize {
    significant_decimals(largest(values), 4)
}

fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().filter(|v| v.is_finite()).fold(0.0, |m: f64, v| m.max(v.abs()))
}

/// Decimals that give a number so many significant digits.
pub(crate) fn significant_decimals(value: f64, digits: i32) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let magnitude = value.abs().log10().floor() as i32;
    (digits - 1 - magnitude).clamp(0, 12) as usize
}

/// A share as a percentage without a sign: `95 %`, `97.5 %`.
pub(crate) fn percent(share: f64) -> String {
    let text = format!("{:.3}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The same, rounded to a tenth of a percent.
pub(crate) fn rounded_percent(share: f64) -> String {
    percent((share * 1000.0).round() / 1000.0)
}

/// A share as a percentage with three significant digits at most: `6.1 %`, `0.35 %`.
pub(crate) fn short_percent(share: f64) -> String {
    let decimals = significant_decimals(share * 100.0, 2).min(2);
    format!("{} %", fixed(share * 100.0, decimals))
}

/// A relative difference, its sign always shown: `+131.2 %`, `−3.42 %`.
pub(crate) fn signed_percent(share: f64, decimals: usize) -> String {
    let text = fixed(share * 100.0, decimals);
    let sign = if text.starts_with('−') || text == ABSENT { "" } else { "+" };
    format!("{sign}{text} %")
}

/// Decimals of relative differences: two below a tenth, one above.
pub(crate) fn delta_decimals(shares: impl IntoIterator<Item = f64>) -> usize {
    if shares.into_iter().any(|s| s.abs() >= 0.1) { 1 } else { 2 }
}

/// Decimals that show two digits of an interval's width, or three digits of a value without one.
fn ratio_decimals(value: f64, interval: Option<Interval>) -> usize {
    match interval {
        Some(i) if i.high > i.low => significant_decimals(i.high - i.low, 2).clamp(2, 4),
        _ => significant_decimals(value, 3).clamp(2, 4),
    }
}

/// A ratio: `2.31×`.
pub(crate) fn ratio(r: &Ratio) -> String {
    format!("{}×", fixed(r.value, ratio_decimals(r.value, r.interval)))
}

/// The interval of a ratio: `2.10–2.54`; empty without one.
pub(crate) fn ratio_interval(r: &Ratio) -> String {
    r.interval.map(|i| range(i, ratio_decimals(r.value, r.interval))).unwrap_or_default()
}

/// The same in a sentence.
pub(crate) fn between(r: &Ratio) -> String {
    if r.interval.is_some() { ratio_interval(r) } else { "no interval".to_owned() }
}

/// An interval: `1,203–1,260`; a negative end gets words, since a dash would hide its sign.
pub(crate) fn range(i: Interval, decimals: usize) -> String {
    let between = if i.low < 0.0 { " to " } else { "–" };
    format!("{}{between}{}", fixed(i.low, decimals), fixed(i.high, decimals))
}

/// Decimals of dollars per unit: cents from a dollar on, four significant digits below.
pub(crate) fn dollar_decimals(values: impl IntoIterator<Item = f64>) -> usize {
    let largest = largest(values);
    if largest >= 1.0 { 2 } else { significant_decimals(largest, 4) }
}

/// A round number of nanoseconds on an axis: `200 µs`, `1 ms`, `5 s`.
pub(crate) fn axis_time(ns: f64) -> String {
    let (value, unit) = match ns {
        _ if ns < 1e3 => (ns, "ns"),
        _ if ns < 1e6 => (ns / 1e3, "µs"),
        _ if ns < 1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{} {unit}", fixed(value, 0))
}

/// Bytes in binary units: `15.6 GiB`.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(unit > 0 && value < 100.0 && value.fract() != 0.0);
    format!("{} {}", fixed(value, decimals), UNITS[unit])
}

/// A time in UTC: `2026-08-01 09:30:12 UTC` (days to civil date after Howard Hinnant's algorithm).
pub fn utc(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (h, m, s) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02} {h:02}:{m:02}:{s:02} UTC")
}

/// `3 trials`, `1 trial`.
pub(crate) fn counted(n: usize, one: &str) -> String {
    format!("{} {one}{}", thousands(n as u64), if n == 1 { "" } else { "s" })
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [start @ .., last] => format!("{} and {last}", start.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_once_and_separated() {
        assert_eq!(fixed(12_345.67, 0), "12,346");
        assert_eq!(fixed(-1234.5, 1), "−1,234.5");
        assert_eq!(fixed(-0.0001, 2), "0.00");
        assert_eq!(fixed(f64::NAN, 2), ABSENT);
        assert_eq!(fixed(1e30, 0), "1000000000000000019884624838656");
        assert_eq!(column_decimals([9.0, 123.4]), 1);
        assert_eq!(column_decimals([12_345.0, 0.5]), 0);
        assert_eq!(column_decimals([0.004_321]), 6);
        assert_eq!(column_decimals([]), 0);
    }

    #[test]
    fn differences_show_their_sign() {
        assert_eq!(signed_percent(1.312, 1), "+131.2 %");
        assert_eq!(signed_percent(-0.0342, 2), "−3.42 %");
        assert_eq!(signed_percent(0.0, 1), "+0.0 %");
        assert_eq!(percent(0.95), "95 %");
        assert_eq!(percent(0.975), "97.5 %");
        assert_eq!(short_percent(0.0612), "6.1 %");
    }

    #[test]
    fn ratios_show_as_many_digits_as_they_know() {
        let r = |value, low, high| Ratio { value, interval: Some(Interval { low, high }), log_error: 0.0, freedom: 1.0 };
        assert_eq!(ratio(&r(2.312, 2.104, 2.541)), "2.31×");
        assert_eq!(ratio_interval(&r(2.312, 2.104, 2.541)), "2.10–2.54");
        assert_eq!(ratio_interval(&r(1.0123, 1.0101, 1.0145)), "1.0101–1.0145");
        assert_eq!(ratio(&Ratio { value: 1.5, interval: None, log_error: 0.0, freedom: 0.0 }), "1.50×");
        assert_eq!(range(Interval { low: -3.0, high: 4.0 }, 0), "−3 to 4");
    }

    #[test]
    fn dates_and_sizes_are_the_known_ones() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_400_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(1_785_576_612_000), "2026-08-01 09:30:12 UTC");
        assert_eq!([5e2, 2e5, 1e6, 1e12].map(axis_time), ["500 ns", "200 µs", "1 ms", "1,000 s"]);
        assert_eq!(bytes(16 << 30), "16 GiB");
        assert_eq!(bytes(1_600_000), "1.5 MiB");
        assert_eq!(list(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    }
}
