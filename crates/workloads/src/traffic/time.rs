//! Times as logs write them, in microseconds of a clock whose zone does not matter: only differences count.

/// Reads `2026-07-11 10:00:00.123 UTC`, `2026-07-11T10:00:00.123456Z` and `260711 10:00:00`.
pub(super) fn read_us(text: &str) -> Option<i64> {
    let text = text.trim();
    let (date, rest) = text.split_once(['T', ' '])?;
    let day = match date.split('-').collect::<Vec<_>>()[..] {
        [year, month, day] => days(number(year, 4)?, number(month, 2)?, number(day, 2)?)?,
        [short] if short.len() == 6 && short.is_ascii() => {
            days(2000 + number(&short[..2], 2)?, number(&short[2..4], 2)?, number(&short[4..], 2)?)?
        }
        _ => return None,
    };
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.'))).unwrap_or(rest.len());
    let (clock, fraction) = rest[..end].split_once('.').unwrap_or((&rest[..end], ""));
    let mut parts = clock.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    if hour > 24 || minute > 59 || second > 60 || !fraction.is_ascii() {
        return None;
    }
    let digits = &fraction[..fraction.len().min(6)];
    let micros = if digits.is_empty() { 0 } else { digits.parse::<i64>().ok()? * 10_i64.pow(6 - digits.len() as u32) };
    Some((((day * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000 + micros)
}

fn number(text: &str, length: usize) -> Option<i64> {
    (text.len() == length && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

/// Days since 1970 (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_all_forms() {
        let second = 1_000_000;
        assert_eq!(read_us("1970-01-02 00:00:01.5 UTC"), Some(86_401 * second + 500_000));
        assert_eq!(read_us("2026-07-11T10:00:00.123456Z"), Some(1_783_764_000 * second + 123_456));
        assert_eq!(read_us("260711 10:00:00"), Some(1_783_764_000 * second));
        assert_eq!(read_us("260711  9:00:00"), Some(1_783_760_400 * second));
        assert_eq!([read_us("2026-13-01 00:00:00"), read_us("later"), read_us("2026-07-11")], [None, None, None]);
    }
}
