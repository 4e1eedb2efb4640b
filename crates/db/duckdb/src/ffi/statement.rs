//! Prepared statements.

use std::ffi::CStr;
use std::ptr;
use std::rc::Rc;

use super::api::{RawDecimal, RawHuge, RawStatement, SUCCESS};
use super::{Answer, Connection, Kind, text};

/// A value for a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bind<'a> {
    Null,
    Int8(i8),
    Int16(i16),
    Int32(i32),
    Int64(i64),
    /// `unscaled / 10^scale`, as a decimal of so many digits.
    Decimal {
        unscaled: i64,
        width: u8,
        scale: u8,
    },
    Text(&'a [u8]),
    Bytes(&'a [u8]),
}

/// A statement of a connection.
#[derive(Debug)]
pub(crate) struct Statement {
    raw: *mut RawStatement,
    parameters: Vec<Kind>,
    connection: Rc<Connection>,
}

impl Statement {
    /// Prepares one statement.
    ///
    /// # Errors
    /// DuckDB's message.
    pub(crate) fn prepare(connection: &Rc<Connection>, sql: &CStr) -> Result<Self, String> {
        let api = connection.api();
        let mut raw = ptr::null_mut();
        // SAFETY: the connection, the text and the place live through the call.
        let state = unsafe { (api.prepare)(connection.raw, sql.as_ptr(), ptr::from_mut(&mut raw)) };
        // From here on `Drop` frees it, also what is left of a statement that failed.
        let mut statement = Self { raw, parameters: Vec::new(), connection: Rc::clone(connection) };
        if state != SUCCESS {
            // SAFETY: the statement is null or valid, and owns its message, which is copied.
            return Err(unsafe { text((api.prepare_error)(raw)) });
        }
        // SAFETY: the statement is valid, and parameters are numbered from 1 to their number. The type is new, and `take` frees it.
        statement.parameters = unsafe {
            let count = (api.nparams)(raw);
            (1..=count).map(|index| Kind::take(connection.library(), (api.param_logical_type)(raw, index))).collect()
        };
        Ok(statement)
    }

    /// The types of its parameters, as far as DuckDB knows them.
    pub(crate) fn parameters(&self) -> &[Kind] {
        &self.parameters
    }

    /// Gives the parameter at a position, from 0, its value.
    ///
    /// # Errors
    /// That DuckDB does not take it.
    pub(crate) fn bind(&self, position: usize, value: Bind<'_>) -> Result<(), String> {
        let (api, index) = (self.connection.api(), position as u64 + 1);
        // SAFETY: the statement is valid as long as `self` lives. DuckDB refuses an index beyond its parameters, and copies the bytes
        // of texts during the call.
        let state = unsafe {
            match value {
                Bind::Null => (api.bind_null)(self.raw, index),
                Bind::Int8(v) => (api.bind_int8)(self.raw, index, v),
                Bind::Int16(v) => (api.bind_int16)(self.raw, index, v),
                Bind::Int32(v) => (api.bind_int32)(self.raw, index, v),
                Bind::Int64(v) => (api.bind_int64)(self.raw, index, v),
                Bind::Decimal { unscaled, width, scale } => {
                    let value = RawHuge { lower: unscaled as u64, upper: if unscaled < 0 { -1 } else { 0 } };
                    (api.bind_decimal)(self.raw, index, RawDecimal { width, scale, value })
                }
                Bind::Text(bytes) => (api.bind_varchar_length)(self.raw, index, bytes.as_ptr().cast(), bytes.len() as u64),
                Bind::Bytes(bytes) => (api.bind_blob)(self.raw, index, bytes.as_ptr().cast(), bytes.len() as u64),
            }
        };
        if state == SUCCESS {
            Ok(())
        } else {
            Err(format!("Invalid Input Error: it does not take {value:?} for parameter {index}"))
        }
    }

    /// Executes it with the values that were bound last.
    ///
    /// # Errors
    /// DuckDB's message.
    pub(crate) fn execute(&self) -> Result<Answer, String> {
        // SAFETY: the statement lives through the call, and `Answer::of` frees what it fills.
        Answer::of(&self.connection, |result| unsafe { (self.connection.api().execute_prepared)(self.raw, result) })
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: `prepare` made the statement, or left null, which is allowed; it is freed here alone, before its connection.
        unsafe { (self.connection.api().destroy_prepare)(ptr::from_mut(&mut self.raw)) };
    }
}
