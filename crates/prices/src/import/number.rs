//! Prices as price lists write them, exact: decimal digits in a whole number, never floating point.
//!
//! The rule for what micro-dollars cannot hold: an amount with more than six decimals is rounded once, half up, and its digits
//! are kept beside it. A price that would round to nothing is refused.

use perbuck_core::units::MicroUsd;

/// Digits after the point that a price may have; lists have ten, products of two such prices stay below.
const SCALE_MAX: u32 = 24;
/// Above this an amount is no unit price: a billion dollars.
const LARGEST_USD: i128 = 1_000_000_000;

/// A decimal number that is not negative: `mantissa / 10^scale`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decimal {
    mantissa: i128,
    scale: u32,
}

/// A price in micro-dollars, with the listed digits where it had to be rounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exact {
    pub(crate) usd: MicroUsd,
    pub(crate) listed: Option<String>,
}

impl Decimal {
    /// Parses `0.0850000000`, `1`, `1.2e-05`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("\"{}\" is no decimal number", shown(text));
        let too_long = || format!("\"{}\" has more digits than a price has", shown(text));
        if text.starts_with('-') {
            return Err(format!("\"{}\" is negative", shown(text)));
        }
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i32>().map_err(|_| wrong())?),
            None => (text, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || digits.ends_with('.') || !all_digits(whole) || !all_digits(fraction) {
            return Err(wrong());
        }
        let fraction = fraction.trim_end_matches('0');
        if whole.len() + fraction.len() > 30 || !(-20..=12).contains(&exponent) {
            return Err(too_long());
        }
        let mantissa: i128 = format!("{whole}{fraction}").parse().map_err(|_| wrong())?;
        let scale = fraction.len() as i32 - exponent;
        if scale >= 0 {
            return Self { mantissa, scale: scale as u32 }.fitting().ok_or_else(too_long);
        }
        let mantissa = mantissa.checked_mul(10_i128.pow(scale.unsigned_abs())).ok_or_else(too_long)?;
        Ok(Self { mantissa, scale: 0 })
    }

    /// The whole number with so many billionths after the point.
    pub(crate) fn from_nanos(units: u64, nanos: u32) -> Self {
        Self { mantissa: i128::from(units) * 1_000_000_000 + i128::from(nanos), scale: 9 }
    }

    fn fitting(self) -> Option<Self> {
        (self.scale <= SCALE_MAX).then_some(self)
    }

    /// The product, or `None` where it has more digits than a price has.
    pub(crate) fn times(self, other: Self) -> Option<Self> {
        let mantissa = self.mantissa.checked_mul(other.mantissa)?;
        Self { mantissa, scale: self.scale + other.scale }.fitting()
    }

    /// The sum, or `None` where it has more digits than a price has.
    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        let to = |d: Self| d.mantissa.checked_mul(10_i128.pow(scale - d.scale));
        Self { mantissa: to(self)?.checked_add(to(other)?)?, scale }.fitting()
    }

    /// A 1024th part, which is a decimal number again: 1/1024 = 9765625 / 10^10.
    pub(crate) fn per_1024(self) -> Option<Self> {
        self.times(Self { mantissa: 9_765_625, scale: 10 })
    }

    /// Whether it is nothing.
    pub(crate) fn is_zero(self) -> bool {
        self.mantissa == 0
    }

    /// As a price in micro-dollars, rounded half up where it has more than six decimals.
    pub(crate) fn exact(self) -> Result<Exact, String> {
        if self.mantissa / 10_i128.pow(self.scale) > LARGEST_USD {
            return Err(format!("{} is more than a billion dollars", self.text()));
        }
        if self.scale <= 6 {
            let micros = self.mantissa * 10_i128.pow(6 - self.scale);
            return Ok(Exact { usd: MicroUsd(micros as i64), listed: None });
        }
        let unit = 10_i128.pow(self.scale - 6);
        let (kept, rest) = (self.mantissa / unit, self.mantissa % unit);
        let micros = kept + i128::from(rest * 2 >= unit);
        if micros == 0 && rest > 0 {
            return Err(format!("{} is less than half a millionth of a dollar", self.text()));
        }
        Ok(Exact { usd: MicroUsd(micros as i64), listed: (rest > 0).then(|| self.text()) })
    }

    /// All its digits, without zeros at the end.
    fn text(self) -> String {
        let unit = 10_i128.pow(self.scale);
        let fraction = format!("{:0width$}", self.mantissa % unit, width = self.scale as usize);
        let fraction = fraction.trim_end_matches('0');
        let whole = self.mantissa / unit;
        if fraction.is_empty() { whole.to_string() } else { format!("{whole}.{fraction}") }
    }
}

/// The beginning of what a file says, so that a message stays a line.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let mut short: String = text.chars().take(MOST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().count() > MOST {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exact(text: &str) -> (i64, Option<String>) {
        let exact = Decimal::parse(text).unwrap().exact().unwrap();
        (exact.usd.0, exact.listed)
    }

    #[test]
    fn prices_of_real_lists_are_read_exactly() {
        assert_eq!(exact("0.0850000000"), (85_000, None));
        assert_eq!(exact("2"), (2_000_000, None));
        assert_eq!(exact("0.0000166667"), (17, Some("0.0000166667".into())));
        assert_eq!(exact("0.377981788"), (377_982, Some("0.377981788".into())));
        assert_eq!(exact("1.2E-05"), (12, None));
        assert_eq!(exact("4.2e+01"), (42_000_000, None));
        assert_eq!(exact("0.0000005"), (1, Some("0.0000005".into())));
        assert_eq!(exact("0"), (0, None));
    }

    #[test]
    fn what_is_no_price_is_refused() {
        for bad in ["", ".", ".5", "5.", "NaN", "inf", "1,000", "0x10", "1e", "1e999", "1e-999", " 1", "--1", "1.2.3"] {
            assert!(Decimal::parse(bad).is_err(), "{bad}");
        }
        assert!(Decimal::parse("-0.1").unwrap_err().contains("negative"));
        assert!(Decimal::parse(&"9".repeat(40)).unwrap_err().contains("more digits"));
        assert!(Decimal::parse("1000000001").unwrap().exact().unwrap_err().contains("billion"));
        assert!(Decimal::parse("0.0000004").unwrap().exact().unwrap_err().contains("half a millionth"));
    }

    #[test]
    fn rates_of_cores_and_memory_add_up_exactly() {
        let rate = |core: &str, vcpu: &str, ram: &str, gib: &str| {
            let part = |a: &str, b: &str| Decimal::parse(a).unwrap().times(Decimal::parse(b).unwrap()).unwrap();
            part(core, vcpu).plus(part(ram, gib)).unwrap().exact().unwrap()
        };
        // n2-standard-8 in us-central1: 8 × 0.031611 + 32 × 0.004237.
        assert_eq!(rate("0.031611", "8", "0.004237", "32").usd, MicroUsd(388_472));
        assert_eq!(Decimal::parse("40.96").unwrap().per_1024().unwrap().exact().unwrap().usd, MicroUsd(40_000));
    }

    proptest! {
        #[test]
        fn six_decimals_round_trip(micros in 0i64..1_000_000_000_000_000) {
            let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
            prop_assert_eq!(exact(&text), (micros, None));
        }

        #[test]
        fn ten_decimals_are_rounded_by_half_a_millionth_at_most(tens in 10_000i128..1_000_000_000_000_000) {
            let text = format!("{}.{:010}", tens / 10_000_000_000, tens % 10_000_000_000);
            let (micros, listed) = exact(&text);
            let off = i128::from(micros) * 10_000 - tens;
            prop_assert!((-5_000 < off) && off <= 5_000);
            prop_assert_eq!(listed.is_some(), off != 0);
            if let Some(listed) = listed {
                prop_assert_eq!(exact(&listed).0, micros);
            }
        }

        #[test]
        fn any_text_is_a_number_or_refused(text in "\\PC{0,40}") {
            let _ = Decimal::parse(&text).map(Decimal::exact);
        }
    }
}
