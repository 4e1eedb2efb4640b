//! Newtypes for money, time and seeds, and the only conversions between them and text.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Money in integer micro-dollars (1 USD = 1 000 000). Exact: it is rounded only by [`MicroUsd::to_cents`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct MicroUsd(pub i64);

impl MicroUsd {
    /// Parses a decimal number of dollars, such as `0.0784`, without going through floating point.
    ///
    /// # Errors
    /// Says what is wrong when the text is no decimal number, has more than six decimals, or does not fit.
    pub fn parse_usd(text: &str) -> Result<Self, String> {
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) || digits.ends_with('.') {
            return Err(format!("`{text}` is not a decimal number of dollars"));
        }
        let significant = fraction.trim_end_matches('0');
        if significant.len() > 6 {
            return Err(format!("`{text}` has more than six decimals; money is kept in micro-dollars"));
        }
        let too_large = || format!("`{text}` dollars is too large");
        let whole: i64 = whole.parse().map_err(|_| too_large())?;
        let micros: i64 = format!("{significant:0<6}").parse().map_err(|_| too_large())?;
        let value = whole.checked_mul(1_000_000).and_then(|w| w.checked_add(micros)).ok_or_else(too_large)?;
        Ok(Self(if negative { -value } else { value }))
    }

    /// The dollars in digits, as [`Self::parse_usd`] reads them: `0.0784`, `3`.
    pub fn digits(self) -> String {
        unit_price_text(self).replace(['$', ','], "").trim_end_matches('0').trim_end_matches('.').to_owned()
    }

    /// `self + other`, or `None` where the sum does not fit.
    pub fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// Rounded once to whole cents, half away from zero; still in micro-dollars.
    pub fn to_cents(self) -> Self {
        let half = 5_000 * self.0.signum();
        Self((self.0 + half) / 10_000 * 10_000)
    }

    /// Dollars as a floating number, for ratios and charts only; sums of money stay integers.
    pub fn as_usd_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl MicroUsd {
    /// What was spent, for a sentence: `$12.40`, and less than a cent by name.
    pub fn spent_text(self) -> String {
        if self.0 > 0 && self.to_cents().0 == 0 { "less than $0.01".to_owned() } else { self.to_string() }
    }
}

/// Prints dollars and cents with thousands separators, rounded half away from zero: `$127,048.20`.
impl fmt::Display for MicroUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cents = self.to_cents().0 / 10_000;
        let sign = if cents < 0 { "-" } else { "" };
        let cents = cents.unsigned_abs();
        f.pad(&format!("{sign}${}.{:02}", thousands(cents / 100), cents % 100))
    }
}

/// The sum of counters of records. One that a forged record drives beyond the range stays at its end instead of starting at 0 again.
pub fn total(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

/// The head of a column or a caption, from words within a sentence.
pub fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A whole number with a comma every three digits.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A unit price with all its significant decimals and at least two: `$0.0784`.
pub fn unit_price_text(price: MicroUsd) -> String {
    let sign = if price.0 < 0 { "-" } else { "" };
    let micros = price.0.unsigned_abs();
    let fraction = format!("{:06}", micros % 1_000_000);
    let kept = format!("{:0<2}", fraction.trim_end_matches('0'));
    format!("{sign}${}.{kept}", thousands(micros / 1_000_000))
}

/// The number from which every random stream of a study is derived. Printed in every record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Seed(pub u64);

/// The longest duration of a study.
pub const TEN_YEARS_NS: u64 = 10 * 365 * 24 * 3_600_000_000_000;

/// Parses a duration such as `500ms`, `1.5s`, `10m`, `1h` into nanoseconds.
///
/// # Errors
/// Says what is wrong where the number or the unit is missing or the value does not fit.
pub fn parse_duration_ns(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit_ns: u64 = match unit.trim() {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "" => return Err(format!("`{text}` has no unit; write for instance `{text}s`")),
        other => return Err(format!("`{other}` is not a unit of time; use ns, us, ms, s, m or h")),
    };
    let value: f64 = number.parse().map_err(|_| format!("`{text}` is not a duration; write for instance `30s`"))?;
    let ns = value * unit_ns as f64;
    if !(0.0..=9e18).contains(&ns) {
        return Err(format!("`{text}` does not fit a duration"));
    }
    Ok(ns.round() as u64)
}

/// A duration for people: `1.2 ms`, `35 s`, `10 min`.
pub fn duration_text(ns: u64) -> String {
    let value = ns as f64;
    let short = |value: f64, unit: &str| {
        if value.fract() == 0.0 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
    };
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.0} µs", value / 1e3),
        1_000_000..10_000_000 => format!("{:.2} ms", value / 1e6),
        10_000_000..1_000_000_000 => format!("{:.1} ms", value / 1e6),
        1_000_000_000..120_000_000_000 => short(value / 1e9, "s"),
        _ => short(value / 60e9, "min"),
    }
}

/// A time that a person waits, to the second or the minute: `45 s`, `12 min 5 s`, `1 h 52 min`.
pub fn hours_text(ms: u64) -> String {
    let seconds = ms.saturating_add(500) / 1000;
    let minutes = seconds.saturating_add(30) / 60;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3570 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", thousands(minutes / 60), minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn money_parses_exactly_and_prints_once_rounded() {
        assert_eq!(MicroUsd::parse_usd("0.4032"), Ok(MicroUsd(403_200)));
        assert_eq!(MicroUsd::parse_usd("-3"), Ok(MicroUsd(-3_000_000)));
        assert!(MicroUsd::parse_usd("0.0000001").is_err());
        assert!(MicroUsd::parse_usd("1e3").is_err());
        assert!(MicroUsd::parse_usd(".5").is_err());
        assert_eq!(MicroUsd(127_048_200_000).to_string(), "$127,048.20");
        assert_eq!(MicroUsd(883_008_000).to_string(), "$883.01");
        assert_eq!(MicroUsd(-5_000).to_string(), "-$0.01");
        assert_eq!(unit_price_text(MicroUsd(78_400)), "$0.0784");
        assert_eq!(unit_price_text(MicroUsd(2_000_000)), "$2.00");
    }

    #[test]
    fn what_was_used_is_told_in_hours_and_dollars() {
        let texts = [(400, "0 s"), (59_499, "59 s"), (59_500, "1 min 0 s"), (725_000, "12 min 5 s"), (3_569_000, "59 min 29 s")];
        let hours = [(3_570_000, "1 h 0 min"), (6_720_000, "1 h 52 min"), (3_600_000_000, "1,000 h 0 min")];
        for (ms, text) in texts.into_iter().chain(hours) {
            assert_eq!(hours_text(ms), text, "{ms}");
        }
        let money = [(0, "$0.00"), (4_999, "less than $0.01"), (5_000, "$0.01"), (12_400_000, "$12.40")];
        money.into_iter().for_each(|(micros, text)| assert_eq!(MicroUsd(micros).spent_text(), text));
    }

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(parse_duration_ns("1.5s"), Ok(1_500_000_000));
        assert_eq!(parse_duration_ns("10m"), Ok(600_000_000_000));
        assert!(parse_duration_ns("10").is_err());
        assert!(parse_duration_ns("ten s").is_err());
        assert!(parse_duration_ns("1fortnight").is_err());
    }

    proptest! {
        #[test]
        fn unit_prices_round_trip(micros in 0i64..1_000_000_000_000) {
            prop_assert_eq!(MicroUsd::parse_usd(&MicroUsd(micros).digits()), Ok(MicroUsd(micros)));
            prop_assert_eq!(MicroUsd::parse_usd(&MicroUsd(-micros).digits()), Ok(MicroUsd(-micros)));
        }

        #[test]
        fn rounding_moves_by_at_most_half_a_cent(micros in -1_000_000_000_000i64..1_000_000_000_000) {
            let rounded = MicroUsd(micros).to_cents().0;
            prop_assert!((rounded - micros).abs() <= 5_000);
            prop_assert_eq!(rounded % 10_000, 0);
        }
    }
}
