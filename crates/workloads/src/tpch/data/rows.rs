//! The rows of each table as dbgen makes them (4.2.3), from any row on. A row is written as cells, in the order of its columns.

mod codes;
mod customers;
mod orders;
mod parts;
mod suppliers;

use std::sync::LazyLock;

use perbuck_load::values::Params;
use tpchgen::dates::{MIN_GENERATE_DATE, TOTAL_DATE_RANGE, TPCHDate};
use tpchgen::distribution::Distributions;

use super::stream::{Comments, Stream};
use super::text::{text, values};
use crate::tpch::Scale;

pub(super) use codes::Codes;
pub(super) use customers::Customers;
pub(super) use orders::{Orders, key as order_key, lines};
pub(super) use parts::Parts;
pub(super) use suppliers::Suppliers;

/// The nations (4.2.3).
pub(super) const NATIONS: i64 = 25;
/// The regions (4.2.3).
pub(super) const REGIONS: i64 = 5;
/// Suppliers of a part (4.2.3).
pub(super) const SUPPLIERS_OF_PART: i64 = 4;

/// How many rows a database of a scale has (4.2.5.1), and what follows from them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    pub(super) suppliers: i64,
    pub(super) customers: i64,
    pub(super) parts: i64,
    pub(super) orders: i64,
    /// Clerks who take orders: no fewer than a database of scale 1 has.
    clerks: i64,
}

impl Counts {
    pub(super) fn of(scale: Scale) -> Self {
        let times = |of| scale.times(of) as i64;
        Self {
            suppliers: times(10_000),
            customers: times(150_000),
            parts: times(200_000),
            orders: times(1_500_000),
            clerks: times(1_000).max(1_000),
        }
    }

    /// One of the suppliers of a part, `number` from 0 to 3 (4.2.3 has the formula at PS_SUPPKEY).
    fn supplier_of(&self, part: i64, number: i64) -> i64 {
        (part + number * (self.suppliers / SUPPLIERS_OF_PART + (part - 1) / self.suppliers)) % self.suppliers + 1
    }
}

/// Lists of values that are drawn, each value as often as its weight (4.2.2.13).
struct Lists {
    types: Vec<&'static str>,
    containers: Vec<&'static str>,
    colors: Vec<&'static str>,
    segments: Vec<&'static str>,
    priorities: Vec<&'static str>,
    instructions: Vec<&'static str>,
    modes: Vec<&'static str>,
    returns: Vec<&'static str>,
}

static LISTS: LazyLock<Lists> = LazyLock::new(|| {
    let all = Distributions::static_default();
    Lists {
        types: values(all.part_types()),
        containers: values(all.part_containers()),
        colors: values(all.part_colors()),
        segments: values(all.market_segments()),
        priorities: values(all.order_priority()),
        instructions: values(all.ship_instructions()),
        modes: values(all.ship_modes()),
        returns: values(all.return_flags()),
    }
});

/// The days from 1992-01-01 to 1998-12-31 (4.2.3 has them as STARTDATE and ENDDATE), as `YYYY-MM-DD`.
static DAYS: LazyLock<Vec<[u8; 10]>> = LazyLock::new(|| {
    let day = |day| TPCHDate::new(MIN_GENERATE_DATE + day).to_string();
    let text = |day: String| std::array::from_fn(|at| day.as_bytes()[at]);
    (0..TOTAL_DATE_RANGE).map(day).map(text).collect()
});

/// Writes a day, counted from 1992-01-01.
#[inline]
fn day(cells: &mut Params, day: i64) {
    cells.text(&DAYS[day as usize]);
}

#[inline]
fn pick(cells: &mut Params, stream: &mut Stream, from: &[&'static str]) {
    cells.text(from[stream.between(0, from.len() as i64 - 1) as usize].as_bytes());
}

#[inline]
fn comment(cells: &mut Params, comments: &mut Comments) {
    cells.text_with(|out| text().append(out, comments.next()));
}

/// A name and a number of at least nine digits, such as `Clerk#000000001`.
#[inline]
fn numbered(cells: &mut Params, name: &str, number: i64) {
    cells.text_with(|out| {
        out.extend_from_slice(name.as_bytes());
        digits(out, number, 9);
    });
}

/// A number that is not negative, with at least so many digits.
#[inline]
fn digits(out: &mut Vec<u8>, number: i64, at_least: usize) {
    let length = at_least.max(number.checked_ilog10().unwrap_or(0) as usize + 1);
    let (start, mut rest) = (out.len(), number);
    out.resize(start + length, b'0');
    for digit in out[start..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

/// A random "v-string" of 10 to 40 characters (4.2.2.7): an address.
#[inline]
fn address(cells: &mut Params, stream: &mut Stream) {
    const CHARACTERS: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,";
    let length = stream.between(10, 40) as usize;
    let mut text = [0; 40];
    for five in text[..length].chunks_mut(5) {
        let mut bits = stream.bits();
        for character in five {
            *character = CHARACTERS[(bits & 63) as usize];
            bits >>= 6;
        }
    }
    cells.text(&text[..length]);
}

/// A phone number (4.2.2.9), whose first two digits follow from the nation.
#[inline]
fn phone(cells: &mut Params, stream: &mut Stream, nation: i64) {
    let parts =
        [(10 + nation, 2), (stream.between(100, 999), 3), (stream.between(100, 999), 3), (stream.between(1_000, 9_999), 4)];
    cells.text_with(|out| {
        for (position, (number, length)) in parts.into_iter().enumerate() {
            if position > 0 {
                out.push(b'-');
            }
            digits(out, number, length);
        }
    });
}

/// The price of a part in cents (4.2.3, P_RETAILPRICE).
#[inline]
fn retail_price(part: i64) -> i64 {
    90_000 + part / 10 % 20_001 + 100 * (part % 1_000)
}
