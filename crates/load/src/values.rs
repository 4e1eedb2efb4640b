//! Parameters sent and rows received: two flat buffers that are filled again for every statement, so that the hot path
//! allocates nothing once they have grown.

use std::io::Write;
use std::ops::Range;

use smallvec::SmallVec;

use crate::error::{DriverError, ErrorClass};

mod decimal;

use decimal::parse_decimal;
pub use decimal::{put_decimal, write_decimal};

/// One parameter value. Text borrows from the buffer that holds it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An exact decimal, `unscaled / 10^scale`. SQLite, which has no decimals, stores the unscaled integer.
    Decimal {
        /// All digits.
        unscaled: i64,
        /// How many of them stand after the point.
        scale: u8,
    },
    /// Text in UTF-8 (or any bytes that the column takes).
    Text(&'a [u8]),
}

/// A text is known by its end, and begins at that of the text before it.
#[derive(Debug, Clone)]
enum Slot {
    Null,
    Int(i64),
    Decimal { unscaled: i64, scale: u8 },
    Text(usize),
}

/// The parameters of one statement, or the cells of many rows one after the other.
#[derive(Debug, Clone, Default)]
pub struct Params {
    /// A statement's few within the connection itself, and not one line of memory further away.
    slots: SmallVec<[Slot; 4]>,
    bytes: Vec<u8>,
}

impl Params {
    /// Empties it, keeping its memory.
    #[inline]
    pub fn clear(&mut self) -> &mut Self {
        self.slots.clear();
        self.bytes.clear();
        self
    }

    /// Appends NULL.
    #[inline]
    pub fn null(&mut self) -> &mut Self {
        self.slots.push(Slot::Null);
        self
    }

    /// Appends an integer.
    #[inline]
    pub fn int(&mut self, value: i64) -> &mut Self {
        self.slots.push(Slot::Int(value));
        self
    }

    /// Appends a decimal `unscaled / 10^scale`.
    #[inline]
    pub fn decimal(&mut self, unscaled: i64, scale: u8) -> &mut Self {
        self.slots.push(Slot::Decimal { unscaled, scale });
        self
    }

    /// Appends text.
    #[inline]
    pub fn text(&mut self, text: &[u8]) -> &mut Self {
        self.text_with(|bytes| bytes.extend_from_slice(text))
    }

    /// Appends text that `write` adds to the end of the buffer, without a copy in between.
    #[inline]
    pub fn text_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        write(&mut self.bytes);
        self.slots.push(Slot::Text(self.bytes.len()));
        self
    }

    /// Appends all values of another one.
    pub fn append(&mut self, other: &Self) {
        let before = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.slots.extend(other.slots.iter().map(|slot| match slot {
            Slot::Text(end) => Slot::Text(before + end),
            other => other.clone(),
        }));
    }

    /// How many values it holds.
    #[inline]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Bytes of text that it holds; what loaders cut batches by.
    pub fn text_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The text of all values, one after the other.
    pub fn all_text(&self) -> &[u8] {
        &self.bytes
    }

    /// All values in order.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Value<'_>> + Clone {
        let mut at = 0;
        self.slots.iter().map(move |slot| match slot {
            Slot::Null => Value::Null,
            Slot::Int(v) => Value::Int(*v),
            Slot::Decimal { unscaled, scale } => Value::Decimal { unscaled: *unscaled, scale: *scale },
            Slot::Text(end) => Value::Text(&self.bytes[std::mem::replace(&mut at, *end)..*end]),
        })
    }
}

/// A received cell; its text lies in a buffer, or is at hand when it is read.
#[derive(Debug, Clone)]
pub enum Cell<T> {
    /// NULL.
    Null,
    /// A whole number.
    Int(i64),
    /// A binary floating number.
    Float(f64),
    /// Text, and whatever a protocol sends as text.
    Text(T),
}

/// A received result set. Rows are always counted; their cells are kept only where the statement asks for it. To read one is an
/// error where there is no such cell, or one of another kind.
#[derive(Debug, Default)]
pub struct Rows {
    keep: bool,
    count: u64,
    /// Columns of the kept rows; 0 where none are kept, whatever a statement before has left.
    width: usize,
    /// Elsewhere, so that connections that keep nothing are small.
    kept: Option<Box<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    cells: Vec<Cell<Range<usize>>>,
    bytes: Vec<u8>,
}

impl Rows {
    /// For drivers: empties it before a statement; `keep` says whether cells will be wanted.
    #[inline]
    pub fn start(&mut self, keep: bool) {
        self.keep = keep;
        self.count = 0;
        self.width = 0;
        if keep {
            let kept = self.kept();
            kept.cells.clear();
            kept.bytes.clear();
        }
    }

    fn kept(&mut self) -> &mut Kept {
        self.kept.get_or_insert_default()
    }

    fn push(&mut self, cell: Cell<Range<usize>>) {
        if self.keep {
            self.kept().cells.push(cell);
        }
    }

    /// For drivers: whether cells must be pushed; otherwise only [`Self::end_row`] is called.
    #[inline]
    pub fn keeps(&self) -> bool {
        self.keep
    }

    /// For drivers: the next cell is NULL.
    pub fn push_null(&mut self) {
        self.push(Cell::Null);
    }

    /// For drivers: the next cell is an integer.
    pub fn push_int(&mut self, value: i64) {
        self.push(Cell::Int(value));
    }

    /// For drivers: the next cell is a binary floating number.
    pub fn push_float(&mut self, value: f64) {
        self.push(Cell::Float(value));
    }

    /// For drivers: the next cell is text (decimals and dates of text protocols included).
    pub fn push_text(&mut self, text: &[u8]) {
        if self.keep {
            let kept = self.kept();
            let start = kept.bytes.len();
            kept.bytes.extend_from_slice(text);
            kept.cells.push(Cell::Text(start..kept.bytes.len()));
        }
    }

    /// For drivers: the row is complete.
    #[inline]
    pub fn end_row(&mut self) {
        self.count += 1;
        if self.keep && self.count == 1 {
            self.width = self.kept().cells.len();
        }
    }

    /// For drivers: so many rows came, none of them kept.
    #[inline]
    pub fn count_to(&mut self, count: u64) {
        self.count = count;
    }

    /// How many rows came.
    #[inline]
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether none came.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Columns of the kept rows.
    pub fn width(&self) -> usize {
        self.width
    }

    /// A cell as it came.
    pub fn cell(&self, row: usize, column: usize) -> Result<Cell<&[u8]>, DriverError> {
        let kept = self.kept.as_deref().filter(|_| column < self.width);
        let cell = kept.and_then(|kept| Some((kept.cells.get(row * self.width + column)?, &kept.bytes)));
        match cell {
            Some((Cell::Null, _)) => Ok(Cell::Null),
            Some((Cell::Int(v), _)) => Ok(Cell::Int(*v)),
            Some((Cell::Float(v), _)) => Ok(Cell::Float(*v)),
            Some((Cell::Text(range), bytes)) => Ok(Cell::Text(&bytes[range.clone()])),
            None => Err(wrong_shape(format!(
                "the server sent {} rows of {} kept columns; row {row}, column {column} was expected",
                self.count, self.width
            ))),
        }
    }

    /// Whether the cell is NULL.
    pub fn is_null(&self, row: usize, column: usize) -> Result<bool, DriverError> {
        Ok(matches!(self.cell(row, column)?, Cell::Null))
    }

    /// The cell as an integer; text of digits is taken too, since text protocols send nothing else.
    pub fn int(&self, row: usize, column: usize) -> Result<i64, DriverError> {
        self.decimal(row, column, 0)
    }

    /// The cell as an exact decimal, `unscaled / 10^scale`, of at most `scale` digits after the point. An integer cell is
    /// taken as already unscaled, which is how SQLite keeps decimals; use it with scale 0 for true integers.
    pub fn decimal(&self, row: usize, column: usize, scale: u8) -> Result<i64, DriverError> {
        match self.cell(row, column)? {
            Cell::Int(v) => Ok(v),
            Cell::Text(text) => parse_decimal(text, scale).ok_or_else(|| {
                let text = String::from_utf8_lossy(text);
                wrong_shape(format!("`{text}` is no decimal number with {scale} digits after the point"))
            }),
            Cell::Float(v) => {
                Err(wrong_shape(format!("the server sent a floating-point number ({v}) where an exact number was expected")))
            }
            Cell::Null => {
                Err(wrong_shape(format!("the server sent NULL where a number was expected (row {row}, column {column})")))
            }
        }
    }

    /// The cell as text.
    pub fn text(&self, row: usize, column: usize) -> Result<&[u8], DriverError> {
        match self.cell(row, column)? {
            Cell::Text(text) => Ok(text),
            other => Err(wrong_shape(format!("the server sent {other:?} where text was expected (row {row}, column {column})"))),
        }
    }

    /// Appends any cell as text to a buffer that is used for many; whether it is not NULL.
    pub fn write(&self, row: usize, column: usize, out: &mut Vec<u8>) -> Result<bool, DriverError> {
        // Nothing fails that is written to memory.
        let _ = match self.cell(row, column)? {
            Cell::Null => return Ok(false),
            Cell::Int(v) => write!(out, "{v}"),
            // A number of 32 bits has the digits of its own precision.
            Cell::Float(v) if f64::from(v as f32).to_bits() == v.to_bits() => write!(out, "{}", v as f32),
            Cell::Float(v) => write!(out, "{v}"),
            Cell::Text(text) => out.write_all(text),
        };
        Ok(true)
    }

    /// Any cell for people; NULL as `NULL`.
    pub fn display(&self, row: usize, column: usize) -> Result<String, DriverError> {
        Ok(match self.cell(row, column)? {
            Cell::Null => "NULL".to_owned(),
            Cell::Int(v) => v.to_string(),
            Cell::Float(v) => v.to_string(),
            Cell::Text(text) => String::from_utf8_lossy(text).into_owned(),
        })
    }
}

fn wrong_shape(message: String) -> DriverError {
    DriverError::client(ErrorClass::Fatal, "shape", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_come_back_as_they_went_in() {
        let mut p = Params::default();
        p.int(-5).text(b"abc").null().decimal(-1230, 2).text_with(|b| b.extend_from_slice(b"xy"));
        let all: Vec<Value<'_>> = p.iter().collect();
        let expected =
            [Value::Int(-5), Value::Text(b"abc"), Value::Null, Value::Decimal { unscaled: -1230, scale: 2 }, Value::Text(b"xy")];
        assert_eq!(all, expected);
        {
            let mut rest = p.iter().skip(1);
            assert!(rest.next() == Some(expected[1]) && rest.clone().eq(expected[2..].iter().copied()));
        }
        assert!(p.clear().is_empty());
    }

    #[test]
    fn rows_are_read_by_position_and_refuse_what_is_not_there() {
        let mut r = Rows::default();
        r.start(true);
        for i in 0..3 {
            r.push_int(i);
            r.push_text(b"1.50");
            r.end_row();
        }
        assert_eq!((r.len(), r.int(2, 0), r.decimal(1, 1, 2)), (3, Ok(2), Ok(150)));
        let mut floats = Rows::default();
        floats.start(true);
        floats.push_float(f64::from(0.4f32));
        floats.push_float(0.4);
        floats.end_row();
        let mut text = Vec::new();
        assert_eq!((floats.write(0, 0, &mut text), floats.write(0, 1, &mut text), &*text), (Ok(true), Ok(true), &b"0.40.4"[..]));
        let mut text = b"=".to_vec();
        assert_eq!((r.write(2, 0, &mut text), r.write(1, 1, &mut text), text), (Ok(true), Ok(true), b"=21.50".to_vec()));
        assert!(r.int(3, 0).is_err() && r.int(0, 2).is_err() && r.text(0, 0).is_err());
        r.start(false);
        assert!(r.is_empty() && r.int(0, 0).is_err());
        // What the statement before has left is not taken for this one's.
        r.push_int(7);
        r.end_row();
        assert_eq!((r.len(), r.width(), r.int(0, 0).is_err()), (1, 0, true));
        r.start(true);
        assert!(r.int(0, 0).is_err());
    }
}
