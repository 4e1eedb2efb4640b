//! Days of the calendar as numbers.

/// Microseconds of a day.
pub(crate) const MICROS_PER_DAY: i64 = 86_400_000_000;

const ERA_DAYS: i64 = 146_097;
/// From 1 March of the year 0 to 1970-01-01.
const EPOCH: i64 = 719_468;

/// Year, month and day of the Gregorian calendar, from the days since 1970-01-01: days are counted from 1 March of the year 0, so that a
/// leap day is the last of its year, in eras of 400 years.
pub(crate) fn civil(days: i64) -> (i64, i64, i64) {
    let from_march = days + EPOCH;
    let (era, day) = (from_march.div_euclid(ERA_DAYS), from_march.rem_euclid(ERA_DAYS));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day_of_month)
}

/// The days since 1970-01-01 of a date as `2024-02-29`; `None` for any other text, and for a day that is in no calendar.
pub(crate) fn days(text: &[u8]) -> Option<i32> {
    let &[a, b, c, d, b'-', e, f, b'-', g, h] = text else { return None };
    let date = (number([a, b, c, d])?, number([e, f])?, number([g, h])?);
    let (year, month, day) = date;
    // January and February are the last months of the year before.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let of_era = 365 * year + year / 4 - year / 100 + (153 * month + 2) / 5 + day - 1;
    let days = era * ERA_DAYS + of_era - EPOCH;
    (date.0 > 0 && civil(days) == date).then_some(days as i32)
}

/// The microseconds since 1970-01-01 of a time as `2024-02-29 23:59:59`; `None` for any other text.
pub(crate) fn micros(text: &[u8]) -> Option<i64> {
    let (date, time) = text.split_at_checked(10)?;
    let &[b' ', a, b, b':', c, d, b':', e, f] = time else { return None };
    let (hours, minutes, seconds) = (number([a, b])?, number([c, d])?, number([e, f])?);
    let is_time = hours < 24 && minutes < 60 && seconds < 60;
    let day = i64::from(days(date).filter(|_| is_time)?);
    Some(day * MICROS_PER_DAY + ((hours * 60 + minutes) * 60 + seconds) * 1_000_000)
}

fn number<const N: usize>(digits: [u8; N]) -> Option<i64> {
    digits.iter().try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| 10 * sum + i64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_nine_thousand_years_is_read_as_it_is_written() {
        let last = days(b"9999-12-31").unwrap();
        assert_eq!((days(b"0001-01-01"), last), (Some(-719_162), 2_932_896));
        for day in -719_162..=last {
            let (year, month, of_month) = civil(day.into());
            assert_eq!(days(format!("{year:04}-{month:02}-{of_month:02}").as_bytes()), Some(day));
        }
    }

    #[test]
    fn what_is_no_time_of_the_calendar_is_not_read() {
        for text in [
            "2023-02-29",
            "2024-00-01",
            "2024-13-01",
            "2024-04-31",
            "2024-04-00",
            "0000-01-01",
            "2024-4-1",
            "2024/04/01",
            "24-04-01",
            "",
        ] {
            assert_eq!(days(text.as_bytes()), None, "{text}");
        }
        assert_eq!(micros(b"1970-01-02 03:04:05"), Some(MICROS_PER_DAY + 11_045_000_000));
        assert_eq!(micros(b"1969-12-31 23:59:59"), Some(-1_000_000));
        for text in [
            "1970-01-02",
            "1970-01-02 24:00:00",
            "1970-01-02 03:60:00",
            "1970-01-02 03:04:60",
            "1970-02-30 03:04:05",
            "1970-01-02T03:04:05",
            "1970-01-02 03:04:05.5",
        ] {
            assert_eq!(micros(text.as_bytes()), None, "{text}");
        }
    }
}
