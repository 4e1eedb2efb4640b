//! Answers, read a chunk of rows at a time.

use std::marker::PhantomData;
use std::ptr;
use std::rc::Rc;
use std::slice;

use super::api::{RawChunk, RawResult, SUCCESS};
use super::{Connection, Kind, text};

/// `duckdb_result_type` of a statement that changed rows.
const CHANGED_ROWS: u32 = 1;
/// `duckdb_result_type` of a query.
const QUERY_RESULT: u32 = 3;
/// Bytes of a text that lie within the value itself, in place of a pointer.
const INLINE: usize = 12;

/// What a statement did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Rows,
    Changed(u64),
}

/// A value of an answer. Its text lies in the chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell<'a> {
    Null,
    Int(i64),
    Big(i128),
    Float(f64),
    Decimal {
        unscaled: i128,
        scale: u8,
    },
    Text(&'a [u8]),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since 1970-01-01, and whether in UTC.
    Timestamp(i64, bool),
}

/// The answer to a statement that succeeded.
#[derive(Debug)]
pub(crate) struct Answer {
    raw: RawResult,
    columns: Vec<Kind>,
    connection: Rc<Connection>,
}

impl Answer {
    /// The answer that a call fills.
    pub(super) fn of(connection: &Rc<Connection>, fill: impl FnOnce(*mut RawResult) -> u32) -> Result<Self, String> {
        let mut answer = Self { raw: RawResult::empty(), columns: Vec::new(), connection: Rc::clone(connection) };
        // What a call that failed has filled is freed by `Drop`, too.
        let state = fill(ptr::from_mut(&mut answer.raw));
        let api = connection.api();
        if state != SUCCESS {
            // SAFETY: the result was filled, and owns its message, which is copied.
            return Err(unsafe { text((api.result_error)(ptr::from_mut(&mut answer.raw))) });
        }
        if answer.outcome() == Outcome::Rows {
            let raw = ptr::from_mut(&mut answer.raw);
            // SAFETY: the result is valid, and columns are numbered from 0. The type is new, and `take` frees it.
            answer.columns = unsafe {
                let count = (api.column_count)(raw);
                (0..count).map(|index| Kind::take(connection.library(), (api.column_logical_type)(raw, index))).collect()
            };
        }
        Ok(answer)
    }

    /// What the statement did.
    pub(crate) fn outcome(&mut self) -> Outcome {
        let api = self.connection.api();
        // SAFETY: the result is valid as long as `self` lives.
        unsafe {
            match (api.result_return_type)(self.raw) {
                QUERY_RESULT => Outcome::Rows,
                CHANGED_ROWS => Outcome::Changed((api.rows_changed)(ptr::from_mut(&mut self.raw))),
                _ => Outcome::Changed(0),
            }
        }
    }

    /// The types of its columns.
    pub(crate) fn columns(&self) -> &[Kind] {
        &self.columns
    }

    /// The next rows; `None` after the last.
    pub(crate) fn next_chunk(&mut self) -> Option<Chunk<'_>> {
        let api = self.connection.api();
        // SAFETY: the result is valid as long as `self` lives. The chunk is new, and its `Drop` frees it.
        let raw = unsafe { (api.fetch_chunk)(self.raw) };
        if raw.is_null() {
            return None;
        }
        // SAFETY: the chunk is valid.
        let rows = unsafe { (api.data_chunk_get_size)(raw) } as usize;
        Some(Chunk { raw, rows, answer: self })
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        // SAFETY: a call has filled the result, or it is empty, which is allowed; it is freed here alone, before its connection.
        unsafe { (self.connection.api().destroy_result)(ptr::from_mut(&mut self.raw)) };
    }
}

/// Some rows of an answer.
#[derive(Debug)]
pub(crate) struct Chunk<'a> {
    raw: *mut RawChunk,
    rows: usize,
    answer: &'a Answer,
}

impl Chunk<'_> {
    /// How many rows it has.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// A column by its position; `None` for one of a type that perbuck does not read.
    pub(crate) fn column(&self, position: usize) -> Option<Column<'_>> {
        let kind = self.answer.columns[position];
        let width = kind.width()?;
        let api = self.answer.connection.api();
        // SAFETY: the chunk has as many vectors as the answer has columns, and the position is one of them. The vector and its
        // buffers live as long as the chunk. DuckDB flattens what `fetch_chunk` returns, so each row has its value.
        unsafe {
            let vector = (api.data_chunk_get_vector)(self.raw, position as u64);
            let (data, validity) = ((api.vector_get_data)(vector).cast(), (api.vector_get_validity)(vector));
            Some(Column { kind, width, rows: self.rows, data, validity, chunk: PhantomData })
        }
    }
}

impl Drop for Chunk<'_> {
    fn drop(&mut self) {
        // SAFETY: `next_chunk` got the chunk, and it is freed here alone. Columns borrow it.
        unsafe { (self.answer.connection.api().destroy_data_chunk)(ptr::from_mut(&mut self.raw)) };
    }
}

/// A column of some rows.
#[derive(Debug)]
pub(crate) struct Column<'a> {
    kind: Kind,
    width: usize,
    rows: usize,
    data: *const u8,
    /// Null where no value is NULL.
    validity: *const u64,
    chunk: PhantomData<&'a ()>,
}

impl<'a> Column<'a> {
    /// The value in a row.
    pub(crate) fn cell(&self, row: usize) -> Cell<'a> {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        // SAFETY: the mask has a bit for each row, 64 in a word.
        if !self.validity.is_null() && unsafe { *self.validity.add(row / 64) } >> (row % 64) & 1 == 0 {
            return Cell::Null;
        }
        match self.kind {
            Kind::Bool | Kind::UInt8 => Cell::Int(u8::from_ne_bytes(self.bytes(row)).into()),
            Kind::Int8 => Cell::Int(i8::from_ne_bytes(self.bytes(row)).into()),
            Kind::Int16 => Cell::Int(i16::from_ne_bytes(self.bytes(row)).into()),
            Kind::UInt16 => Cell::Int(u16::from_ne_bytes(self.bytes(row)).into()),
            Kind::Int32 => Cell::Int(i32::from_ne_bytes(self.bytes(row)).into()),
            Kind::UInt32 => Cell::Int(u32::from_ne_bytes(self.bytes(row)).into()),
            Kind::Int64 => Cell::Int(i64::from_ne_bytes(self.bytes(row))),
            Kind::UInt64 => Cell::Big(u64::from_ne_bytes(self.bytes(row)).into()),
            Kind::Int128 => Cell::Big(i128::from_ne_bytes(self.bytes(row))),
            Kind::Float32 => Cell::Float(f32::from_ne_bytes(self.bytes(row)).into()),
            Kind::Float64 => Cell::Float(f64::from_ne_bytes(self.bytes(row))),
            Kind::Decimal { scale, .. } => Cell::Decimal { unscaled: self.unscaled(row), scale },
            Kind::Text | Kind::Bytes => Cell::Text(self.text(row)),
            Kind::Date => Cell::Date(i32::from_ne_bytes(self.bytes(row))),
            Kind::Time => Cell::Time(i64::from_ne_bytes(self.bytes(row))),
            Kind::TimestampSeconds => self.timestamp(row, 1_000_000, false),
            Kind::TimestampMillis => self.timestamp(row, 1_000, false),
            Kind::Timestamp => self.timestamp(row, 1, false),
            Kind::TimestampZoned => self.timestamp(row, 1, true),
            // `Chunk::column` gives none of these.
            Kind::Other(_) => Cell::Null,
        }
    }

    fn timestamp(&self, row: usize, micros: i64, zoned: bool) -> Cell<'a> {
        Cell::Timestamp(i64::from_ne_bytes(self.bytes(row)).saturating_mul(micros), zoned)
    }

    fn unscaled(&self, row: usize) -> i128 {
        match self.width {
            2 => i16::from_ne_bytes(self.bytes(row)).into(),
            4 => i32::from_ne_bytes(self.bytes(row)).into(),
            8 => i64::from_ne_bytes(self.bytes(row)).into(),
            _ => i128::from_ne_bytes(self.bytes(row)),
        }
    }

    /// The bytes of a value.
    fn bytes<const N: usize>(&self, row: usize) -> [u8; N] {
        assert!(N == self.width && row < self.rows, "{N} bytes of a value of {} in row {row} of {}", self.width, self.rows);
        // SAFETY: the buffer has a value of `width` bytes for each row, and any bytes make an array.
        unsafe { self.data.add(row * N).cast::<[u8; N]>().read_unaligned() }
    }

    /// The text of a value: its length in four bytes, then the bytes themselves where they are few, or four of them and a pointer.
    fn text(&self, row: usize) -> &'a [u8] {
        let value: [u8; 16] = self.bytes(row);
        let [a, b, c, d, ..] = value;
        let length = u32::from_ne_bytes([a, b, c, d]) as usize;
        // SAFETY: the value lies in the buffer, which lives as long as the chunk; so does what it points to. A short text is within the
        // value, and a longer one at the pointer in its second half.
        unsafe {
            let value = self.data.add(row * 16);
            let at = if length <= INLINE { value.add(4) } else { value.add(8).cast::<*const u8>().read_unaligned() };
            slice::from_raw_parts(at, length)
        }
    }
}
