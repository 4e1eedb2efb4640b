//! Exact numbers for the audit: fractions of integers, decimal text as it was printed, and the ways to round it.
//!
//! Floating point cannot say whether a printed figure is a rounding or a truncation: 1065.216 is not one of its numbers.

use std::cmp::Ordering;
use std::fmt;

/// A fraction in lowest terms with a positive denominator. Every operation is exact or says that it does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Exact {
    above: i128,
    below: i128,
}

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

/// What a value that does not fit is told by.
const TOO_LONG: &str = "a number has more than 38 digits";

impl Exact {
    /// Zero.
    pub const ZERO: Self = Self { above: 0, below: 1 };

    /// A whole number.
    pub const fn whole(n: i128) -> Self {
        Self { above: n, below: 1 }
    }

    /// A fraction.
    ///
    /// # Errors
    /// A denominator of zero, or one that does not fit.
    pub fn fraction(above: i128, below: i128) -> Result<Self, String> {
        if below == 0 {
            return Err("a division by zero".to_owned());
        }
        let divisor = gcd(above.unsigned_abs(), below.unsigned_abs());
        let divisor = i128::try_from(divisor).map_err(|_| TOO_LONG.to_owned())?.max(1);
        let (above, below) = (above / divisor, below / divisor);
        if below < 0 {
            let turned = above.checked_neg().zip(below.checked_neg());
            return turned.map(|(above, below)| Self { above, below }).ok_or_else(|| TOO_LONG.to_owned());
        }
        Ok(Self { above, below })
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
        let divisor = i128::try_from(gcd(self.below.unsigned_abs(), other.below.unsigned_abs())).unwrap_or(1).max(1);
        let (a, b) = (self.above.checked_mul(other.below / divisor), other.above.checked_mul(self.below / divisor));
        let below = self.below.checked_mul(other.below / divisor);
        match (a.zip(b).and_then(|(a, b)| a.checked_add(b)), below) {
            (Some(above), Some(below)) => Self::fraction(above, below),
            _ => Err(TOO_LONG.to_owned()),
        }
    }

    /// `self − other`.
    ///
    /// # Errors
    /// As [`Self::plus`].
    pub fn minus(self, other: Self) -> Result<Self, String> {
        self.plus(other.negated())
    }

    /// `−self`.
    #[must_use]
    pub fn negated(self) -> Self {
        // The smallest number cannot be reached: what is parsed and reduced has a positive twin.
        Self { above: self.above.checked_neg().unwrap_or(i128::MAX), below: self.below }
    }

    /// `self × other`.
    ///
    /// # Errors
    /// As [`Self::plus`].
    pub fn times(self, other: Self) -> Result<Self, String> {
        // Crosswise first, so that only a result that is itself too long does not fit.
        let left = Self::fraction(self.above, other.below)?;
        let right = Self::fraction(other.above, self.below)?;
        let product = left.above.checked_mul(right.above).zip(left.below.checked_mul(right.below));
        product.map(|(above, below)| Self { above, below }).ok_or_else(|| TOO_LONG.to_owned())
    }

    /// `self ÷ other`.
    ///
    /// # Errors
    /// As [`Self::plus`], and a division by zero.
    pub fn over(self, other: Self) -> Result<Self, String> {
        let inverse = Self::fraction(other.below, other.above)?;
        self.times(inverse)
    }

    /// Without its sign.
    #[must_use]
    pub fn magnitude(self) -> Self {
        if self.above < 0 { self.negated() } else { self }
    }

    /// The value with so many decimals.
    ///
    /// # Errors
    /// As [`Self::plus`].
    pub fn rounded(self, decimals: u32, mode: Mode) -> Result<Self, String> {
        let scaled = self.times(Self::whole(power(decimals.min(MOST_DECIMALS))))?;
        let (whole, rest) = (scaled.above / scaled.below, (scaled.above % scaled.below).unsigned_abs());
        let sign = scaled.above.signum();
        let below = scaled.below.unsigned_abs();
        let up = match mode {
            Mode::Truncate => false,
            Mode::Away => rest > 0,
            // rest ≥ below − rest says the same as 2·rest ≥ below and cannot overflow.
            Mode::HalfUp => rest > 0 && rest >= below - rest,
            Mode::HalfEven => rest > 0 && (rest > below - rest || (rest == below - rest && whole % 2 != 0)),
        };
        let digit = if up { sign } else { 0 };
        Self::fraction(whole + digit, power(decimals.min(MOST_DECIMALS)))
    }

    /// Rounded half away from zero and written with so many decimals: `1,065.22`; a minus sign before negative values.
    pub fn text(self, decimals: u32) -> String {
        let decimals = decimals.min(MOST_DECIMALS);
        let scaled = self.rounded(decimals, Mode::HalfUp).and_then(|r| r.times(Self::whole(power(decimals))));
        let Ok(scaled) = scaled else { return format!("{:e}", self.as_f64()) };
        let digits = scaled.above.unsigned_abs().to_string();
        let digits = format!("{digits:0>width$}", width = decimals as usize + 1);
        let (whole, fraction) = digits.split_at(digits.len() - decimals as usize);
        let sign = if scaled.above < 0 { "−" } else { "" };
        let whole = whole.parse::<u64>().map_or_else(|_| whole.to_owned(), crate::units::thousands);
        if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
    }

    /// The value as text: all its decimals where they end within ten, else ten of them and an ellipsis.
    pub fn full_text(self) -> String {
        const SHOWN: u32 = 10;
        let ends = (0..=SHOWN).find(|d| self.rounded(*d, Mode::Truncate) == Ok(self));
        ends.map_or_else(|| format!("{}…", self.text(6)), |d| self.text(d))
    }

    /// The value as a whole number, where it is one.
    pub fn to_whole(self) -> Option<i128> {
        (self.below == 1).then_some(self.above)
    }

    /// The nearest floating number, for charts and statistics.
    pub fn as_f64(self) -> f64 {
        self.above as f64 / self.below as f64
    }
}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Exact {
    fn cmp(&self, other: &Self) -> Ordering {
        // By whole parts and then by the turned fractions of the rests, as Euclid does: nothing can overflow.
        let (mut a, mut b, mut turned) = (*self, *other, false);
        loop {
            let (wa, wb) = (a.above.div_euclid(a.below), b.above.div_euclid(b.below));
            let (ra, rb) = (a.above.rem_euclid(a.below), b.above.rem_euclid(b.below));
            let order = wa.cmp(&wb).then_with(|| match (ra, rb) {
                (0, 0) => Ordering::Equal,
                (0, _) => Ordering::Less,
                (_, 0) => Ordering::Greater,
                _ => Ordering::Equal,
            });
            if order != Ordering::Equal || ra == 0 || rb == 0 {
                return if turned { order.reverse() } else { order };
            }
            (a, b) = (Self { above: a.below, below: ra }, Self { above: b.below, below: rb });
            turned = !turned;
        }
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

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
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
