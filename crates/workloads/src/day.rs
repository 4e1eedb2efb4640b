//! Days of the calendar, computed by the client.

use std::fmt;

/// A day of the Gregorian calendar, as the number of days since 0000-03-01. Years 0 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Day(u32);

/// Days from 1 March to the first day of the month that is so many months (0 to 11) later.
const fn days_before(month: u32) -> u32 {
    (153 * month + 2) / 5
}

impl Day {
    /// `year-month-day`; the month may go beyond 12, into later years.
    pub(crate) const fn new(year: u32, month: u32, day: u32) -> Self {
        // A year that starts in March ends with the day that not every year has.
        let months = year * 12 + month - 3;
        let (year, month) = (months / 12, months % 12);
        Self(year * 365 + year / 4 - year / 100 + year / 400 + days_before(month) + day - 1)
    }

    /// Year, month and day.
    fn civil(self) -> (u32, u32, u32) {
        // Days of 400, 100, 4 years and 1 year; the last year of each has one more.
        let (era, rest) = (self.0 / 146_097, self.0 % 146_097);
        let year = (rest - rest / 1_460 + rest / 36_524 - rest / 146_096) / 365;
        let day = rest - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let year = era * 400 + year + u32::from(month >= 10);
        (year, if month < 10 { month + 3 } else { month - 9 }, day - days_before(month) + 1)
    }

    /// The day of `YYYY-MM-DD`; `None` where no calendar has it, and before the year 1.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let part =
            |from: usize, to: usize| text.get(from..to).filter(|part| part.bytes().all(|b| b.is_ascii_digit()))?.parse().ok();
        let (year, month, day): (u32, u32, u32) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
        let points = text.len() == 10 && text.get(4..5) == Some("-") && text.get(7..8) == Some("-");
        if !points || year == 0 || !(1..=12).contains(&month) || day == 0 {
            return None;
        }
        Some(Self::new(year, month, day)).filter(|parsed| parsed.civil() == (year, month, day))
    }

    /// Its number, of which the next day has the next.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    /// The day with a number, as `YYYY-MM-DD` at the end of a buffer.
    pub(crate) fn write(number: u32, out: &mut Vec<u8>) {
        let (year, month, day) = Self(number).civil();
        for (value, mark) in [(year / 100, None), (year % 100, Some(b'-')), (month, Some(b'-')), (day, None)] {
            write_pair(value, out);
            out.extend(mark);
        }
    }

    /// So many days earlier.
    pub(crate) const fn minus_days(self, days: u32) -> Self {
        Self(self.0 - days)
    }

    /// So many months later; of the first day of a month, which all dates of the queries are that months are added to.
    pub(crate) fn plus_months(self, months: u32) -> Self {
        let (year, month, day) = self.civil();
        Self::new(year, month + months, day)
    }
}

/// Two digits.
pub(crate) fn write_pair(value: u32, out: &mut Vec<u8>) {
    out.extend([b'0' + (value / 10) as u8, b'0' + (value % 10) as u8]);
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_the_data_is_written_as_a_calendar_has_it() {
        let mut day = Day::new(1992, 1, 1);
        for year in 1992..=1998 {
            for (month, days) in [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].into_iter().enumerate() {
                let leap = month == 1 && year % 4 == 0;
                for of_month in 1..=days + u32::from(leap) {
                    let month = month as u32 + 1;
                    assert_eq!(day.to_string(), format!("{year}-{month:02}-{of_month:02}"));
                    assert_eq!(day, Day::new(year, month, of_month));
                    day = Day(day.0 + 1);
                }
            }
        }
        // 1900 had no 29 February, 2000 had one.
        assert_eq!(Day::new(1900, 3, 1).minus_days(1).to_string(), "1900-02-28");
        assert_eq!(Day::new(2000, 3, 1).minus_days(1).to_string(), "2000-02-29");
    }

    #[test]
    fn days_are_read_and_written_and_those_of_no_calendar_are_not() {
        for text in ["0001-03-01", "1999-12-31", "2000-02-29", "2024-02-29", "9999-12-31"] {
            let day = Day::parse(text).unwrap();
            let mut out = Vec::new();
            Day::write(day.number(), &mut out);
            assert_eq!((day.to_string().as_str(), out.as_slice()), (text, text.as_bytes()));
        }
        for text in [
            "2023-02-29",
            "1900-02-29",
            "2024-13-01",
            "2024-00-10",
            "2024-01-00",
            "2024-1-1",
            "2024/01/01",
            "0000-01-01",
            "",
            "x",
        ] {
            assert_eq!(Day::parse(text), None, "{text}");
        }
    }

    #[test]
    fn months_and_days_go_over_the_ends_of_years() {
        assert_eq!(Day::new(1993, 10, 1).plus_months(3).to_string(), "1994-01-01");
        assert_eq!(Day::new(1993, 12, 1).plus_months(1).to_string(), "1994-01-01");
        assert_eq!(Day::new(1994, 1, 1).plus_months(12).to_string(), "1995-01-01");
        assert_eq!(Day::new(1998, 12, 1).minus_days(90).to_string(), "1998-09-02");
        assert_eq!(Day::new(1993, 12 + 2, 1).to_string(), "1994-02-01");
    }
}
