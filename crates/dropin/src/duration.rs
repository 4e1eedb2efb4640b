//! Durations as Go writes them.

const UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Nanoseconds of a duration such as `1h30m`, `1.5s` or `0`, as Go's `time.ParseDuration` reads it; `None` where it is none,
/// below zero, or longer than Go's longest of 292 years.
pub(crate) fn go_duration_ns(text: &str) -> Option<u64> {
    if text == "0" {
        return Some(0);
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    let mut sum: u128 = 0;
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|end| *end > 0)?;
        let (digits, after) = rest.split_at(number);
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (_, unit_ns) = UNITS.iter().find(|(unit, _)| *unit == &after[..end])?;
        sum = sum.checked_add(scaled(digits, *unit_ns)?)?;
        rest = &after[end..];
    }
    u64::try_from(sum).ok().filter(|ns| i64::try_from(*ns).is_ok() && !text.is_empty())
}

/// A decimal number of units; what lies below a nanosecond is dropped, as in Go.
fn scaled(digits: &str, unit_ns: u128) -> Option<u128> {
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    if (whole.is_empty() && part.is_empty()) || part.contains('.') {
        return None;
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // Beyond 18 digits there is nothing left of any unit.
    let part = &part[..part.len().min(18)];
    let fraction = if part.is_empty() { 0 } else { part.parse::<u128>().ok()? * unit_ns / 10u128.pow(part.len() as u32) };
    whole.checked_mul(unit_ns)?.checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        for (text, ns) in [
            ("0", Some(0)),
            ("10s", Some(10_000_000_000)),
            ("1h30m", Some(5_400_000_000_000)),
            ("1.5s", Some(1_500_000_000)),
            (".5s", Some(500_000_000)),
            ("1.s", Some(1_000_000_000)),
            ("500ms", Some(500_000_000)),
            ("3µs", Some(3_000)),
            ("0.3333333333333333333333h", Some(1_199_999_999_999)),
            ("2562047h47m16.854775807s", Some(9_223_372_036_854_775_807)),
            ("2562047h47m16.854775808s", None),
            ("10", None),
            ("", None),
            ("s", None),
            (".s", None),
            ("1..5s", None),
            ("-1s", None),
            ("1d", None),
            ("1 s", None),
            ("10sec", None),
        ] {
            assert_eq!(go_duration_ns(text), ns, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_put_together_is_read_as_it_was(h in 0u64..2_000_000, m in 0u64..600, s in 0u64..600, ms in 0u64..5_000) {
            let ns = ((h * 60 + m) * 60 + s) * 1_000_000_000 + ms * 1_000_000;
            proptest::prop_assert_eq!(go_duration_ns(&format!("{h}h{m}m{s}s{ms}ms")), Some(ns));
        }

        #[test]
        fn no_text_is_too_strange(text in "[0-9.hmsnu+µ-]{0,12}") {
            let _ = go_duration_ns(&text);
        }
    }
}
