//! Exact numbers for the audit: fractions of integers, decimal text as it was printed, and the ways to round it.
//!
//! Floating point cannot say whether a printed number is a rounding or a truncation: 1065.216 is not one of its numbers.

use std::cmp::Ordering;
use std::fmt;

use num_rational::Ratio;
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul};

/// A fraction in lowest terms with a positive denominator. Every operation is exact or says that it does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Exact(Ratio<i128>);

/// How a value becomes one with fewer decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// To the nearest, half away from zero.
    HalfUp,
    /// To the nearest, half to the even digit.
    HalfEven,
    /// Digits beyond the last are cut off.
    Truncate,
    /// Away from zero.
    Away,
}

/// Decimals that a printed number may have, and the most that texts are made with.
pub const MOST_DECIMALS: u32 = 18;

impl Exact {
    /// Zero.
    pub const ZERO: Self = Self::whole(0);

    /// A whole number.
    pub const fn whole(n: i128) -> Self {
        Self(Ratio::new_raw(n, 1))
    }

    /// A fraction.
    ///
    /// # Errors
    /// A denominator of zero, or one that does not fit.
    pub fn fraction(above: i128, below: i128) -> Result<Self, String> {
        Self::whole(above).over(Self::whole(below))
    }

    /// The result of an operation. The smallest number has no positive twin, so it does not fit either.
    fn of(result: Option<Ratio<i128>>) -> Result<Self, String> {
        let fits = result.filter(|r| *r.numer() != i128::MIN);
        fits.map(Self).ok_or_else(|| "a number has more than 38 digits".to_owned())
    }

    /// Reads digits with an optional sign and decimal point; returns the decimals too. `12,225` may have its commas.
    ///
    /// # Errors
    /// Says why the text is no decimal number.
    pub fn parse(text: &str) -> Result<(Self, u32), String> {
        let wrong = || format!("`{text}` is not a decimal number");
        let unsigned = text.strip_prefix(['-', '−', '+']).unwrap_or(text);
        let negative = text.starts_with(['-', '−']);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        let plain = ungrouped(whole).ok_or_else(wrong)?;
        if plain.is_empty() || !digits(fraction) || unsigned.ends_with('.') {
            return Err(wrong());
        }
        let decimals = u32::try_from(fraction.len()).map_err(|_| wrong())?;
        if decimals > MOST_DECIMALS {
            return Err(format!("`{text}` has more than {MOST_DECIMALS} decimals"));
        }
        let number: i128 = format!("{plain}{fraction}").parse().map_err(|_| format!("`{text}` has too many digits"))?;
        let value = Self::fraction(if negative { -number } else { number }, power(decimals))?;
        Ok((value, decimals))
    }

    /// `self + other`.
    ///
    /// # Errors
    /// Where the result does not fit; the same for the operations below.
    pub fn plus(self, other: Self) -> Result<Self, String> {
        Self::of(self.0.checked_add(&other.0))
    }

    /// `self − other`.
    pub fn minus(self, other: Self) -> Result<Self, String> {
        self.plus(other.negated())
    }

    /// `−self`.
    #[must_use]
    pub fn negated(self) -> Self {
        Self(-self.0)
    }

    /// `self × other`.
    pub fn times(self, other: Self) -> Result<Self, String> {
        Self::of(self.0.checked_mul(&other.0))
    }

    /// `self ÷ other`.
    ///
    /// # Errors
    /// As [`Self::plus`], and a division by zero.
    pub fn over(self, other: Self) -> Result<Self, String> {
        if other == Self::ZERO {
            return Err("a division by zero".to_owned());
        }
        Self::of(self.0.checked_div(&other.0))
    }

    /// Without its sign.
    #[must_use]
    pub fn magnitude(self) -> Self {
        if self < Self::ZERO { self.negated() } else { self }
    }

    /// The value with so many decimals.
    pub fn rounded(self, decimals: u32, mode: Mode) -> Result<Self, String> {
        let scaled = self.times(Self::whole(power(decimals)))?.0;
        let (whole, rest) = (scaled.to_integer(), Self(scaled.fract()).magnitude().0);
        let up = match (mode, rest.cmp(&Ratio::new_raw(1, 2))) {
            (Mode::Truncate, _) | (Mode::HalfUp | Mode::HalfEven, Ordering::Less) => false,
            (Mode::Away, _) => *rest.numer() > 0,
            (Mode::HalfEven, Ordering::Equal) => whole % 2 != 0,
            (Mode::HalfUp | Mode::HalfEven, _) => true,
        };
        let digit = if up { scaled.numer().signum() } else { 0 };
        Self::fraction(whole + digit, power(decimals))
    }

    /// Rounded half away from zero and written with so many decimals: `1,065.22`; a minus sign before negative values.
    pub fn text(self, decimals: u32) -> String {
        let decimals = decimals.min(MOST_DECIMALS);
        let scaled = self.rounded(decimals, Mode::HalfUp).and_then(|r| r.times(Self::whole(power(decimals))));
        let Ok(Self(scaled)) = scaled else { return format!("{:e}", self.as_f64()) };
        let digits = scaled.numer().unsigned_abs().to_string();
        let digits = format!("{digits:0>width$}", width = decimals as usize + 1);
        let (whole, fraction) = digits.split_at(digits.len() - decimals as usize);
        let sign = if *scaled.numer() < 0 { "−" } else { "" };
        let whole = whole.parse::<u64>().map_or_else(|_| whole.to_owned(), crate::units::thousands);
        if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
    }

    /// The value as text: all its decimals where they end within ten, else ten of them and an ellipsis.
    pub fn full_text(self) -> String {
        const SHOWN: u32 = 10;
        let ends = (0..=SHOWN).find(|d| self.rounded(*d, Mode::Truncate) == Ok(self));
        ends.map_or_else(|| format!("{}…", self.text(6)), |d| self.text(d))
    }

    /// The value in decimal digits alone, such as `-1234.5`, with at most [`MOST_DECIMALS`] decimals: what [`Self::parse`] reads again.
    pub fn digits(self) -> String {
        let text = self.text(MOST_DECIMALS).replace(',', "").replace('−', "-");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }

    /// The value as a whole number, where it is one.
    pub fn to_whole(self) -> Option<i128> {
        self.0.is_integer().then(|| self.0.to_integer())
    }

    /// The nearest floating number, for charts and statistics.
    pub fn as_f64(self) -> f64 {
        *self.0.numer() as f64 / *self.0.denom() as f64
    }
}

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.full_text())
    }
}

/// The digits of a whole number whose groups of three may be separated by commas; `None` where the groups are wrong.
fn ungrouped(whole: &str) -> Option<String> {
    let groups: Vec<&str> = whole.split(',').collect();
    let digits = groups.iter().all(|g| g.bytes().all(|b| b.is_ascii_digit()));
    let right = groups.len() == 1 || ((1..=3).contains(&groups[0].len()) && groups[1..].iter().all(|g| g.len() == 3));
    (digits && right).then(|| groups.concat())
}

/// 10 to the power of at most [`MOST_DECIMALS`].
fn power(decimals: u32) -> i128 {
    10i128.pow(decimals.min(MOST_DECIMALS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exact(text: &str) -> Exact {
        Exact::parse(text).unwrap().0
    }

    #[test]
    fn decimal_text_is_read_with_its_digits() {
        assert_eq!(Exact::parse("-16.50").unwrap(), (Exact::fraction(-33, 2).unwrap(), 2));
        assert_eq!(Exact::parse("12,225").unwrap(), (Exact::whole(12_225), 0));
        for wrong in ["", "-", "1.", ".5", "1e3", "1,22", "1,2345", "12 3", "0x1", "1.1234567890123456789"] {
            assert!(Exact::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_mode_gives_its_own_digit() {
        let all = |text: &str, d| {
            [Mode::HalfUp, Mode::HalfEven, Mode::Truncate, Mode::Away].map(|m| exact(text).rounded(d, m).unwrap().text(d))
        };
        assert_eq!(all("1065.216", 2), ["1,065.22", "1,065.22", "1,065.21", "1,065.22"]);
        assert_eq!(all("0.125", 2), ["0.13", "0.12", "0.12", "0.13"]);
        assert_eq!(all("-0.125", 2), ["−0.13", "−0.12", "−0.12", "−0.13"]);
        assert_eq!(all("7", 2), ["7.00"; 4]);
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let large = Exact::whole(10i128.pow(37));
        assert!(large.times(large).is_err());
        assert!(Exact::whole(1).over(Exact::ZERO).unwrap_err().contains("zero"));
        assert_eq!(exact("2").over(exact("3")).unwrap().full_text(), "0.666667…");
        assert_eq!(exact("1065.216").full_text(), "1,065.216");
    }

    proptest! {
        #[test]
        fn texts_round_trip(n in -1_000_000_000_000i64..1_000_000_000_000, d in 0u32..7) {
            let value = Exact::fraction(i128::from(n), power(d)).unwrap();
            prop_assert_eq!(Exact::parse(&value.text(d)), Ok((value, d)));
            prop_assert_eq!(Exact::parse(&value.digits()).map(|(v, _)| v), Ok(value));
        }

        #[test]
        fn arithmetic_is_that_of_fractions(a in -9999i128..9999, b in 1i128..999, c in -9999i128..9999, d in 1i128..999) {
            let (x, y) = (Exact::fraction(a, b).unwrap(), Exact::fraction(c, d).unwrap());
            prop_assert_eq!(x.plus(y).unwrap().minus(y).unwrap(), x);
            prop_assert_eq!(x.plus(y).unwrap(), Exact::fraction(a * d + c * b, b * d).unwrap());
            prop_assert_eq!(x.times(y).unwrap(), Exact::fraction(a * c, b * d).unwrap());
            prop_assert_eq!(x.cmp(&y), (a * d).cmp(&(c * b)));
            if c != 0 {
                prop_assert_eq!(x.over(y).unwrap().times(y).unwrap(), x);
            }
        }

        #[test]
        fn rounding_moves_by_less_than_its_step(a in -99_999_999i128..99_999_999, b in 1i128..9999, d in 0u32..5) {
            let x = Exact::fraction(a, b).unwrap();
            let step = Exact::fraction(1, power(d)).unwrap();
            let moved = |m| x.rounded(d, m).unwrap().minus(x).unwrap().magnitude();
            let half = step.over(Exact::whole(2)).unwrap();
            prop_assert!(moved(Mode::HalfUp) <= half && moved(Mode::HalfEven) <= half);
            prop_assert!(moved(Mode::Truncate) < step && moved(Mode::Away) < step);
            prop_assert!(x.rounded(d, Mode::Truncate).unwrap().magnitude() <= x.magnitude());
            prop_assert!(x.rounded(d, Mode::Away).unwrap().magnitude() >= x.magnitude());
        }
    }
}
