//! The random streams of dbgen: each column has one, and each row takes its share of it, used or not (4.2.1).

use super::text::TEXT_BYTES;

/// Park and Miller's generator, `x = 16807 x mod (2^31 - 1)`.
const MULTIPLIER: u64 = 16_807;
const MODULUS: u64 = (1 << 31) - 1;

/// Powers of the multiplier: what so many numbers are left out by at once.
const POWERS: [u64; 128] = {
    let mut powers = [1; 128];
    let mut exponent = 1;
    while exponent < powers.len() {
        powers[exponent] = product(powers[exponent - 1], MULTIPLIER);
        exponent += 1;
    }
    powers
};

/// A stream of one column. It can start at any row, so parts of a table are independent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    value: u64,
    /// How many numbers a row takes, fewer than there are powers.
    per_row: u64,
    used: u64,
}

impl Stream {
    /// The stream of a column, before its first row.
    pub(super) fn new(seed: u32, per_row: u64) -> Self {
        Self { value: u64::from(seed), per_row, used: 0 }
    }

    /// The same before row `row`, counted from 0.
    pub(super) fn at_row(seed: u32, per_row: u64, row: u64) -> Self {
        let mut stream = Self::new(seed, per_row);
        stream.skip(per_row * row);
        stream
    }

    /// A number from `low` to `high`, both included.
    #[inline]
    pub(super) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.scaled((high - low + 1) as f64)
    }

    /// Thirty bits for five characters. dbgen asks for a number up to 2^31 - 1 in 32 bits: the width of that range overflows, and is negative.
    #[inline]
    pub(super) fn bits(&mut self) -> i64 {
        self.scaled(f64::from(i32::MIN))
    }

    /// The division is dbgen's: a product with the reciprocal differs in the last bit, and now and then in the number.
    #[inline]
    fn scaled(&mut self, width: f64) -> i64 {
        self.value = product(self.value, MULTIPLIER);
        self.used += 1;
        (self.value as f64 / MODULUS as f64 * width) as i64
    }

    /// Leaves out what the row has not used.
    #[inline]
    pub(super) fn end_row(&mut self) {
        self.value = product(self.value, POWERS[(self.per_row - self.used) as usize]);
        self.used = 0;
    }

    fn skip(&mut self, mut numbers: u64) {
        let mut factor = MULTIPLIER;
        while numbers > 0 {
            if numbers & 1 == 1 {
                self.value = product(self.value, factor);
            }
            factor = product(factor, factor);
            numbers >>= 1;
        }
    }
}

/// A product of two numbers below the modulus, reduced: 2^31 is 1 there, so the upper bits are added to the lower ones.
#[inline]
const fn product(one: u64, other: u64) -> u64 {
    let product = one * other;
    let sum = (product & MODULUS) + (product >> 31);
    if sum >= MODULUS { sum - MODULUS } else { sum }
}

/// The stream of a column of text: where each comment begins, and how long it is (4.2.2.14).
#[derive(Debug, Clone, Copy)]
pub(super) struct Comments {
    stream: Stream,
    shortest: i64,
    longest: i64,
}

impl Comments {
    /// Comments of `average` bytes, from four tenths of that to sixteen tenths, `per_row` of them in a row of the leading table.
    pub(super) fn at_row(seed: u32, average: i64, per_row: u64, row: u64) -> Self {
        let stream = Stream::at_row(seed, 2 * per_row, row);
        Self { stream, shortest: average * 4 / 10, longest: average * 16 / 10 }
    }

    /// Where the next comment begins in the text, and its length.
    #[inline]
    pub(super) fn next(&mut self) -> (usize, usize) {
        let at = self.stream.between(0, TEXT_BYTES as i64 - self.longest);
        (at as usize, self.stream.between(self.shortest, self.longest) as usize)
    }

    #[inline]
    pub(super) fn end_row(&mut self) {
        self.stream.end_row();
    }
}

#[cfg(test)]
mod tests {
    use tpchgen::random::{RandomBoundedInt, RowRandomInt};

    use super::*;

    #[test]
    fn numbers_are_those_of_the_streams_of_dbgen() {
        for row in [0, 1, 7, 1_000, 123_456_789] {
            let mut ours = Stream::at_row(209_208_115, 7, row);
            let mut theirs = RandomBoundedInt::new_with_seeds_per_row(209_208_115, 1, 50, 7);
            theirs.advance_rows(row as i64);
            for lines in [1, 7, 3, 7, 2, 1] {
                for _ in 0..lines {
                    assert_eq!(ours.between(1, 50), i64::from(theirs.next_value()));
                }
                ours.end_row();
                theirs.row_finished();
            }
        }
        let (mut ours, mut theirs) = (Stream::new(706_178_559, 9), RowRandomInt::new(706_178_559, 9));
        for _ in 0..100 {
            assert_eq!(ours.bits(), i64::from(theirs.next_int(0, i32::MAX)));
        }
    }

    #[test]
    fn products_stay_below_the_modulus() {
        let largest = MODULUS - 1;
        assert_eq!((product(largest, largest), product(largest, 1), product(1 << 30, 2)), (1, largest, 1));
    }
}
