//! The values of expressions, how they become each other, and how a server is told them.

use std::fmt::Write as _;

/// A value of an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// TRUE or FALSE.
    Bool(bool),
    /// A whole number of 64 bits.
    Int(i64),
    /// A binary floating number of 64 bits.
    Double(f64),
}

/// Why an expression has no value.
pub(super) type Outcome<T> = Result<T, String>;

/// Digits of a floating number in a statement: as many as every one of them keeps.
const DIGITS: usize = 15;

impl Value {
    fn word(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Int(_) => "int",
            Self::Double(_) => "double",
        }
    }

    fn coerce<T>(self, to: &str) -> Outcome<T> {
        Err(format!("cannot coerce {} to {to}", self.word()))
    }

    /// As a whole number; a floating one is rounded.
    pub(super) fn int(self) -> Outcome<i64> {
        match self {
            Self::Int(v) => Ok(v),
            Self::Double(v) => {
                let rounded = v.round_ties_even();
                // 2⁶³ itself is no whole number of 64 bits.
                if rounded.is_finite() && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded) {
                    Ok(rounded as i64)
                } else {
                    Err(format!("double to int overflow for {v}"))
                }
            }
            other => other.coerce("int"),
        }
    }

    /// As a floating number.
    pub(super) fn double(self) -> Outcome<f64> {
        match self {
            Self::Int(v) => Ok(v as f64),
            Self::Double(v) => Ok(v),
            other => other.coerce("double"),
        }
    }

    /// As a truth value; numbers are none.
    pub(super) fn bool(self) -> Outcome<bool> {
        match self {
            Self::Bool(v) => Ok(v),
            other => other.coerce("boolean"),
        }
    }

    /// Whether a condition holds: NULL and zero do not.
    pub(super) fn holds(self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(v) => v,
            Self::Int(v) => v != 0,
            Self::Double(v) => v != 0.0,
        }
    }

    pub(super) fn is_double(self) -> bool {
        matches!(self, Self::Double(_))
    }

    /// The value of a text, such as a cell of a result; `None` where the text is no number, truth value or NULL.
    pub fn of_text(text: &str) -> Option<Self> {
        let is = |word: &str| text.eq_ignore_ascii_case(word);
        let begins = |word: &str| word.get(..text.len()).is_some_and(|head| head.eq_ignore_ascii_case(text));
        Some(match text {
            "" => return None,
            _ if is("null") => Self::Null,
            _ if begins("true") || begins("yes") || is("on") => Self::Bool(true),
            _ if begins("false") || begins("no") || is("of") || is("off") => Self::Bool(false),
            _ if text.trim().bytes().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-')) => {
                Self::Int(text.trim().parse().ok()?)
            }
            _ => Self::Double(text.trim().parse().ok().filter(|_| !text.to_ascii_lowercase().contains("na"))?),
        })
    }

    /// Appends it as a statement writes it.
    pub fn write(self, out: &mut String) {
        // Writing to a text cannot fail.
        let _ = match self {
            Self::Null => out.write_str("NULL"),
            Self::Bool(v) => write!(out, "{v}"),
            Self::Int(v) => write!(out, "{v}"),
            Self::Double(v) => {
                write_double(out, v);
                Ok(())
            }
        };
    }

    /// With its type, as `debug()` says it.
    pub(super) fn described(self) -> String {
        let mut text = String::new();
        if self != Self::Null {
            text.push(' ');
            self.write(&mut text);
        }
        format!("{}{text}", self.word())
    }
}

/// Appends the shortest form with at most 15 digits: plain where the exponent is from -5 to 14, else with an exponent. As `%.15g` of C.
fn write_double(out: &mut String, value: f64) {
    if !value.is_finite() {
        out.push_str(if value.is_nan() {
            "nan"
        } else if value > 0.0 {
            "inf"
        } else {
            "-inf"
        });
        return;
    }
    let start = out.len();
    let _ = write!(out, "{value:.*e}", DIGITS - 1);
    let mut digits = [b'0'; DIGITS];
    let (mut count, mut exponent) = (0, 0_i32);
    let negative = out[start..].starts_with('-');
    if let Some((mantissa, power)) = out[start..].split_once('e') {
        for digit in mantissa.bytes().filter(u8::is_ascii_digit).take(DIGITS) {
            digits[count] = digit;
            count += 1;
        }
        exponent = power.parse().unwrap_or_default();
    }
    out.truncate(start);
    while count > 1 && digits[count - 1] == b'0' {
        count -= 1;
    }
    if negative {
        out.push('-');
    }
    let digit = |i: usize| char::from(if i < count { digits[i] } else { b'0' });
    if !(-4..DIGITS as i32).contains(&exponent) {
        out.push(digit(0));
        if count > 1 {
            out.push('.');
            (1..count).for_each(|i| out.push(digit(i)));
        }
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "e{sign}{:02}", exponent.abs());
    } else if exponent < 0 {
        out.push_str("0.");
        (1..-exponent).for_each(|_| out.push('0'));
        (0..count).for_each(|i| out.push(digit(i)));
    } else {
        let whole = exponent as usize + 1;
        (0..whole).for_each(|i| out.push(digit(i)));
        if count > whole {
            out.push('.');
            (whole..count).for_each(|i| out.push(digit(i)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: f64) -> String {
        let mut out = String::new();
        Value::Double(value).write(&mut out);
        out
    }

    #[test]
    fn floating_numbers_are_written_as_by_c() {
        for (value, expected) in [
            (0.0, "0"),
            (15.0, "15"),
            (-0.125, "-0.125"),
            (-0.00032, "-0.00032"),
            (0.000_032, "3.2e-05"),
            (1e30, "1e+30"),
            (8.507_059_173_023_46e37, "8.50705917302346e+37"),
            (123_456_789_012_345.0, "123456789012345"),
            (1e15, "1e+15"),
            (1.0 / 3.0, "0.333333333333333"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(written(value), expected);
        }
    }

    #[test]
    fn texts_become_values_where_they_are_some() {
        for (text, expected) in [
            ("+3", Some(Value::Int(3))),
            ("-10.1", Some(Value::Double(-10.1))),
            ("nUll", Some(Value::Null)),
            ("t", Some(Value::Bool(true))),
            ("ON", Some(Value::Bool(true))),
            ("of", Some(Value::Bool(false))),
            ("n", Some(Value::Bool(false))),
            ("1e3", Some(Value::Double(1000.0))),
            ("9223372036854775808", None),
            ("trueXXX", None),
            ("o", None),
            ("bla", None),
            ("", None),
        ] {
            assert_eq!(Value::of_text(text), expected, "{text}");
        }
    }

    #[test]
    fn a_number_too_large_for_an_integer_is_refused() {
        assert_eq!(Value::Double(7.5).int(), Ok(8));
        assert_eq!(Value::Double(-9_223_372_036_854_775_808.0).int(), Ok(i64::MIN));
        assert!(Value::Double(9_223_372_036_854_775_808.0).int().is_err() && Value::Double(f64::NAN).int().is_err());
        assert_eq!(Value::Bool(true).int().unwrap_err(), "cannot coerce boolean to int");
        assert_eq!(Value::Double(0.0).bool().unwrap_err(), "cannot coerce double to boolean");
        assert_eq!((Value::Null.described(), Value::Int(-4).described()), ("null".into(), "int -4".into()));
    }
}
