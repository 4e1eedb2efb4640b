//! Exact decimal numbers of answers.

use std::cmp::Ordering;

/// Digits after the point that are kept: averages and quotients have endless ones.
const SCALE_MAX: usize = 18;

/// `unscaled / 10^scale`, without zeros at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number {
    unscaled: i128,
    scale: u32,
}

impl Number {
    /// `unscaled / 10^scale`.
    pub(super) fn new(mut unscaled: i128, mut scale: u32) -> Self {
        while scale > 0 && unscaled % 10 == 0 {
            (unscaled, scale) = (unscaled / 10, scale - 1);
        }
        Self { unscaled, scale }
    }

    /// A number as a database writes it: digits with or without a point, or a binary one with an exponent.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.contains(['e', 'E']) {
            let binary: f64 = text.parse().ok()?;
            return Self::parse(&format!("{binary:.SCALE_MAX$}"));
        }
        let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let fraction = fraction.get(..SCALE_MAX).unwrap_or(fraction);
        let all = || whole.bytes().chain(fraction.bytes());
        if all().next().is_none() || !all().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let unscaled = all().try_fold(0_i128, |sum, byte| sum.checked_mul(10)?.checked_add(i128::from(byte - b'0')))?;
        Some(Self::new(sign * unscaled, fraction.len() as u32))
    }

    /// Divided by `10^digits`.
    pub(super) fn shifted(self, digits: u32) -> Self {
        Self::new(self.unscaled, self.scale + digits)
    }

    /// Rounded to so many digits after the point, half away from zero.
    pub(super) fn rounded(self, digits: u32) -> Self {
        let Some(cut) = self.scale.checked_sub(digits).filter(|cut| *cut > 0) else { return self };
        let unit = 10_i128.pow(cut);
        Self::new((self.unscaled + self.unscaled.signum() * unit / 2) / unit, digits)
    }

    /// How many digits stand after the point.
    pub(super) fn scale(self) -> u32 {
        self.scale
    }

    /// Without its sign.
    pub(super) fn magnitude(self) -> Self {
        Self { unscaled: self.unscaled.abs(), ..self }
    }

    /// The difference; `None` where it has more digits than fit.
    pub(super) fn minus(self, other: Self) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        Some(Self::new(self.at(scale)?.checked_sub(other.at(scale)?)?, scale))
    }

    /// Whether it is less or the same; `None` as in [`Self::minus`].
    pub(super) fn at_most(self, other: Self) -> Option<bool> {
        let scale = self.scale.max(other.scale);
        Some(self.at(scale)?.cmp(&other.at(scale)?) != Ordering::Greater)
    }

    fn at(self, scale: u32) -> Option<i128> {
        self.unscaled.checked_mul(10_i128.checked_pow(scale - self.scale)?)
    }

    /// As text, with no more digits than it has.
    pub(super) fn text(self) -> String {
        if self.scale == 0 {
            return self.unscaled.to_string();
        }
        let (sign, digits) = (if self.unscaled < 0 { "-" } else { "" }, self.unscaled.unsigned_abs());
        let unit = 10_u128.pow(self.scale);
        format!("{sign}{}.{:0width$}", digits / unit, digits % unit, width = self.scale as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_databases_write_them_and_written_with_their_digits_alone() {
        for (text, shown) in [
            ("0", "0"),
            ("-0.00", "0"),
            ("037.50", "37.5"),
            (".5", "0.5"),
            ("-12.003", "-12.003"),
            ("1e-05", "0.00001"),
            ("1.5E3", "1500"),
            ("0.1234567890123456789", "0.123456789012345678"),
            ("56586554400.7300", "56586554400.73"),
        ] {
            assert_eq!(Number::parse(text).unwrap().text(), shown);
        }
        for text in ["", "-", ".", "1,5", "NaN", "inf", "1.2.3", "é1", "99999999999999999999999999999999999999999"] {
            assert_eq!(Number::parse(text), None, "{text}");
        }
    }

    #[test]
    fn arithmetic_is_exact() {
        let n = |text| Number::parse(text).unwrap();
        assert_eq!(n("0.3").minus(n("0.1")).unwrap(), n("0.2"));
        assert_eq!(["2.345", "2.3449", "-2.345", "7"].map(|text| n(text).rounded(2).text()), ["2.35", "2.34", "-2.35", "7"]);
        assert_eq!(n("3827312.9").shifted(2), n("38273.129"));
        assert_eq!((n("0.1").at_most(n("0.10")), n("0.11").at_most(n("0.1"))), (Some(true), Some(false)));
        assert_eq!(n("-3").magnitude(), n("3"));
        let large = n("1000000000000000000000000000000");
        assert_eq!(large.minus(n("0.000000000000000001")), None);
    }
}
