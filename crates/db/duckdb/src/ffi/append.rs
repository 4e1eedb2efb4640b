//! Rows in bulk: batches of columns for DuckDB's appender.

use std::ffi::CStr;
use std::ptr;
use std::rc::Rc;

use super::api::{RawAppender, RawChunk, RawVector, SUCCESS};
use super::{Connection, Kind, Library, text};

/// Appends batches to a table, in the transaction of its connection.
#[derive(Debug)]
pub(crate) struct Appender {
    raw: *mut RawAppender,
    columns: Vec<Kind>,
    connection: Rc<Connection>,
}

impl Appender {
    /// For these columns of a table; the others take their defaults.
    ///
    /// # Errors
    /// DuckDB's message.
    pub(crate) fn new<'a>(
        connection: &Rc<Connection>,
        table: &CStr,
        columns: impl Iterator<Item = &'a CStr>,
    ) -> Result<Self, String> {
        let api = connection.api();
        let mut raw = ptr::null_mut();
        // SAFETY: the connection, the name and the place live through the call; no schema is the usual one.
        let state = unsafe { (api.appender_create)(connection.raw, ptr::null(), table.as_ptr(), ptr::from_mut(&mut raw)) };
        // From here on `Drop` frees it, also what is left of one that failed.
        let mut appender = Self { raw, columns: Vec::new(), connection: Rc::clone(connection) };
        appender.checked(state)?;
        for column in columns {
            // SAFETY: the appender is valid, and the name lives through the call.
            let state = unsafe { (api.appender_add_column)(appender.raw, column.as_ptr()) };
            appender.checked(state)?;
        }
        // SAFETY: the appender is valid, and columns are numbered from 0. The type is new, and `take` frees it.
        appender.columns = unsafe {
            let count = (api.appender_column_count)(raw);
            (0..count).map(|index| Kind::take(connection.library(), (api.appender_column_type)(raw, index))).collect()
        };
        Ok(appender)
    }

    /// The types of its columns.
    pub(crate) fn columns(&self) -> &[Kind] {
        &self.columns
    }

    /// Appends the rows of a batch, which DuckDB casts to the types of the table where they are others.
    ///
    /// # Errors
    /// DuckDB's message.
    pub(crate) fn append(&mut self, batch: &Batch) -> Result<(), String> {
        let api = self.connection.api();
        // SAFETY: both are valid, and DuckDB copies the rows during the call. Each row has a value in each column, or is NULL there:
        // see `Batch`.
        let state = unsafe {
            (api.data_chunk_set_size)(batch.raw, batch.rows as u64);
            (api.append_data_chunk)(self.raw, batch.raw)
        };
        self.checked(state)
    }

    /// Writes what was appended to the table. What one that was not closed has appended is written, too: the transaction has to be
    /// rolled back.
    ///
    /// # Errors
    /// DuckDB's message.
    pub(crate) fn close(mut self) -> Result<(), String> {
        // SAFETY: the appender is valid.
        let state = unsafe { (self.connection.api().appender_close)(self.raw) };
        self.checked(state)
    }

    fn checked(&mut self, state: u32) -> Result<(), String> {
        if state == SUCCESS {
            return Ok(());
        }
        // SAFETY: the appender is null or valid, and owns its message, which is copied.
        Err(unsafe { text((self.connection.api().appender_error)(self.raw)) })
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        // SAFETY: `new` made the appender, or left null, which is allowed; it is freed here alone, before its connection.
        unsafe { (self.connection.api().appender_destroy)(ptr::from_mut(&mut self.raw)) };
    }
}

/// A column that is being written.
#[derive(Debug)]
struct Column {
    kind: Kind,
    width: usize,
    vector: *mut RawVector,
    data: *mut u8,
}

/// Rows that are being written, column by column, from the first one. New buffers are zero: numbers of 0 and empty texts, so that a
/// row has a value before it is given one.
#[derive(Debug)]
pub(crate) struct Batch {
    library: &'static Library,
    raw: *mut RawChunk,
    columns: Vec<Column>,
    rows: usize,
}

impl Batch {
    /// For columns of these types; `None` for one that perbuck does not write.
    pub(crate) fn new(library: &'static Library, kinds: &[Kind]) -> Option<Self> {
        let widths: Vec<usize> = kinds.iter().map(|kind| kind.width()).collect::<Option<_>>()?;
        let mut types: Vec<_> = kinds.iter().map(|kind| kind.make(library)).collect();
        // SAFETY: the types are valid. The chunk copies them, so each is freed once here.
        let raw = unsafe {
            let raw = (library.api.create_data_chunk)(types.as_mut_ptr(), types.len() as u64);
            for one in &mut types {
                (library.api.destroy_logical_type)(ptr::from_mut(one));
            }
            raw
        };
        if raw.is_null() {
            return None;
        }
        let column = |(&kind, width)| Column { kind, width, vector: ptr::null_mut(), data: ptr::null_mut() };
        let mut batch = Self { library, raw, columns: kinds.iter().zip(widths).map(column).collect(), rows: 0 };
        batch.clear();
        Some(batch)
    }

    /// Removes all rows, keeping the memory.
    pub(crate) fn clear(&mut self) {
        let (api, capacity) = (&self.library.api, self.library.vector_rows);
        self.rows = 0;
        // SAFETY: the chunk is valid and has these columns. Its buffers have room for `capacity` values of `width` bytes, and stay until
        // the next reset; zeros are a value of each of the types.
        unsafe {
            (api.data_chunk_reset)(self.raw);
            for (index, column) in self.columns.iter_mut().enumerate() {
                column.vector = (api.data_chunk_get_vector)(self.raw, index as u64);
                column.data = (api.vector_get_data)(column.vector).cast();
                column.data.write_bytes(0, capacity * column.width);
            }
        }
    }

    /// How many rows it has.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Begins a new row.
    pub(crate) fn add_row(&mut self) {
        assert!(self.rows < self.library.vector_rows, "a batch of {} rows is full", self.rows);
        self.rows += 1;
    }

    /// NULL, in a column of the last row.
    pub(crate) fn put_null(&mut self, column: usize) {
        let (row, vector) = (self.last(), self.columns[column].vector);
        // SAFETY: the vector is valid. Once it has a mask there is a bit for each row of its capacity, 64 in a word.
        unsafe {
            (self.library.api.vector_ensure_validity_writable)(vector);
            let word = (self.library.api.vector_get_validity)(vector).add(row / 64);
            *word &= !(1 << (row % 64));
        }
    }

    /// A number, the unscaled value of a decimal, the days of a date or the microseconds of a timestamp, in a column of the last row; it must be of a type of at most 64 bits.
    pub(crate) fn put_number(&mut self, column: usize, value: i64) {
        match (self.columns[column].kind, self.columns[column].width) {
            (Kind::Int8, 1) => self.put(column, (value as i8).to_ne_bytes()),
            (Kind::Int16 | Kind::Decimal { .. }, 2) => self.put(column, (value as i16).to_ne_bytes()),
            (Kind::Int32 | Kind::Date | Kind::Decimal { .. }, 4) => self.put(column, (value as i32).to_ne_bytes()),
            (Kind::Int64 | Kind::Timestamp | Kind::Decimal { .. }, 8) => self.put(column, value.to_ne_bytes()),
            (kind, _) => panic!("{kind:?} takes no number"),
        }
    }

    /// A text or bytes, in a column of the last row.
    pub(crate) fn put_text(&mut self, column: usize, bytes: &[u8]) {
        let (row, Column { kind, vector, .. }) = (self.last(), &self.columns[column]);
        assert!(matches!(kind, Kind::Text | Kind::Bytes), "{kind:?} takes no text");
        let assign = self.library.api.vector_assign_string_element_len;
        // SAFETY: the vector is one of texts, the row is within its capacity, and DuckDB copies the bytes during the call.
        unsafe { assign(*vector, row as u64, bytes.as_ptr().cast(), bytes.len() as u64) };
    }

    fn last(&self) -> usize {
        assert!(self.rows > 0, "a batch without a row takes no value");
        self.rows - 1
    }

    fn put<const N: usize>(&mut self, column: usize, bytes: [u8; N]) {
        let (row, Column { width, data, .. }) = (self.last(), &self.columns[column]);
        assert_eq!(N, *width);
        // SAFETY: the row is within the capacity of the buffer, whose values have `width` bytes.
        unsafe { data.add(row * N).cast::<[u8; N]>().write_unaligned(bytes) };
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // SAFETY: `new` made the chunk, and it is freed here alone.
        unsafe { (self.library.api.destroy_data_chunk)(ptr::from_mut(&mut self.raw)) };
    }
}
