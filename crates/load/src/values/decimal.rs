//! Exact decimals as text.

/// `-12.3` with scale 2 is -1230; more digits than the scale are refused unless they are zeros.
pub(super) fn parse_decimal(text: &[u8], scale: u8) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut value: i64 = 0;
    let scale = usize::from(scale);
    if whole.is_empty() || fraction.bytes().skip(scale).any(|b| b != b'0') {
        return None;
    }
    for b in whole.bytes().chain(fraction.bytes().chain(std::iter::repeat(b'0')).take(scale)) {
        if !b.is_ascii_digit() {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(i64::from(b - b'0'))?;
    }
    Some(if negative { -value } else { value })
}

/// Writes `unscaled / 10^scale` as decimal digits, for text protocols.
pub fn write_decimal(out: &mut Vec<u8>, unscaled: i64, scale: u8) {
    let at = out.len();
    out.resize(at + decimal_length(unscaled, scale), 0);
    put_decimal(&mut out[at..], unscaled, scale);
}

/// How many bytes [`write_decimal`] writes: at most 23 for a scale of at most 18.
#[inline]
fn decimal_length(unscaled: i64, scale: u8) -> usize {
    let digits = unscaled.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 1;
    let point = usize::from(scale > 0);
    usize::from(unscaled < 0) + digits.max(usize::from(scale) + 1) + point
}

/// The same at the front of `to`, which must have room for it; how many bytes it took.
#[inline]
pub fn put_decimal(to: &mut [u8], unscaled: i64, scale: u8) -> usize {
    let length = decimal_length(unscaled, scale);
    let (mut rest, sign) = (unscaled.unsigned_abs(), usize::from(unscaled < 0));
    let number = &mut to[..length];
    number[0] = b'-';
    let (whole, fraction) = number.split_at_mut(length - usize::from(scale));
    for digit in fraction.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let mut end = whole.len();
    if scale > 0 {
        end -= 1;
        whole[end] = b'.';
    }
    for digit in whole[sign..end].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_survive_text() {
        for (unscaled, scale, text) in [
            (0, 2, "0.00"),
            (5, 2, "0.05"),
            (-1230, 2, "-12.30"),
            (7, 0, "7"),
            (1999, 4, "0.1999"),
            (100, 2, "1.00"),
            (0, 0, "0"),
            (i64::MAX, 0, "9223372036854775807"),
            (-5, 18, "-0.000000000000000005"),
            (-99_999, 4, "-9.9999"),
        ] {
            let mut out = Vec::new();
            write_decimal(&mut out, unscaled, scale);
            assert_eq!(std::str::from_utf8(&out), Ok(text));
            assert_eq!(parse_decimal(text.as_bytes(), scale), Some(unscaled));
        }
        let mut least = Vec::new();
        write_decimal(&mut least, i64::MIN, 18);
        assert_eq!(least, b"-9.223372036854775808");
        assert_eq!(parse_decimal(b"12.345", 2), None);
        assert_eq!(parse_decimal(b"12.3400", 2), Some(1234));
        assert_eq!(parse_decimal(b"1e5", 2), None);
        assert_eq!(parse_decimal(b"99999999999999999999", 0), None);
    }
}
