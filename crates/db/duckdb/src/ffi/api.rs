//! The functions of DuckDB's C API that perbuck calls, with the types of their arguments: `duckdb.h` of DuckDB 1.5, unchanged since 1.2.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use libloading::Library as Loaded;

/// A thing of DuckDB's that is known by its pointer alone.
macro_rules! opaque {
    ($($name:ident),+) => {$(
        #[repr(C)]
        pub(super) struct $name {
            _private: [u8; 0],
        }
    )+};
}

opaque!(RawDatabase, RawConnection, RawConfig, RawStatement, RawChunk, RawVector, RawType, RawAppender);

/// `duckdb_state` of success.
pub(super) const SUCCESS: u32 = 0;

/// `duckdb_result`: what an answer is known by. Its fields are DuckDB's own.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct RawResult {
    columns: u64,
    rows: u64,
    changed: u64,
    deprecated_columns: *mut c_void,
    deprecated_error: *mut c_char,
    internal: *mut c_void,
}

impl RawResult {
    /// What a function is given to fill.
    pub(super) fn empty() -> Self {
        let (deprecated_columns, internal) = (null_mut(), null_mut());
        Self { columns: 0, rows: 0, changed: 0, deprecated_columns, deprecated_error: null_mut(), internal }
    }
}

/// `duckdb_hugeint`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct RawHuge {
    pub(super) lower: u64,
    pub(super) upper: i64,
}

/// `duckdb_decimal`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct RawDecimal {
    pub(super) width: u8,
    pub(super) scale: u8,
    pub(super) value: RawHuge,
}

/// The functions by name, without their common `duckdb_`.
macro_rules! functions {
    ($(fn $name:ident($($argument:ty),* $(,)?) $(-> $result:ty)?;)+) => {
        /// Addresses of functions in a library that stays open until the process ends.
        pub(super) struct Api {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)+
        }

        impl Api {
            /// Looks all functions up; the name of the first one that the library lacks.
            pub(super) fn of(library: &Loaded) -> Result<Self, &'static str> {
                Ok(Self {
                    $($name: {
                        let name = concat!("duckdb_", stringify!($name));
                        // SAFETY: the type of the function is that of `duckdb.h`, which DuckDB keeps for all versions of its C API.
                        let found = unsafe { library.get(name) };
                        *found.map_err(|_| name)?
                    },)+
                })
            }
        }
    };
}

functions! {
    fn library_version() -> *const c_char;
    fn create_config(*mut *mut RawConfig) -> u32;
    fn set_config(*mut RawConfig, *const c_char, *const c_char) -> u32;
    fn destroy_config(*mut *mut RawConfig);
    fn open_ext(*const c_char, *mut *mut RawDatabase, *mut RawConfig, *mut *mut c_char) -> u32;
    fn close(*mut *mut RawDatabase);
    fn connect(*mut RawDatabase, *mut *mut RawConnection) -> u32;
    fn disconnect(*mut *mut RawConnection);
    fn interrupt(*mut RawConnection);
    fn free(*mut c_void);
    fn query(*mut RawConnection, *const c_char, *mut RawResult) -> u32;
    fn prepare(*mut RawConnection, *const c_char, *mut *mut RawStatement) -> u32;
    fn prepare_error(*mut RawStatement) -> *const c_char;
    fn destroy_prepare(*mut *mut RawStatement);
    fn nparams(*mut RawStatement) -> u64;
    fn param_logical_type(*mut RawStatement, u64) -> *mut RawType;
    fn bind_null(*mut RawStatement, u64) -> u32;
    fn bind_int8(*mut RawStatement, u64, i8) -> u32;
    fn bind_int16(*mut RawStatement, u64, i16) -> u32;
    fn bind_int32(*mut RawStatement, u64, i32) -> u32;
    fn bind_int64(*mut RawStatement, u64, i64) -> u32;
    fn bind_decimal(*mut RawStatement, u64, RawDecimal) -> u32;
    fn bind_varchar_length(*mut RawStatement, u64, *const c_char, u64) -> u32;
    fn bind_blob(*mut RawStatement, u64, *const c_void, u64) -> u32;
    fn execute_prepared(*mut RawStatement, *mut RawResult) -> u32;
    fn destroy_result(*mut RawResult);
    fn result_error(*mut RawResult) -> *const c_char;
    fn result_return_type(RawResult) -> u32;
    fn rows_changed(*mut RawResult) -> u64;
    fn column_count(*mut RawResult) -> u64;
    fn column_logical_type(*mut RawResult, u64) -> *mut RawType;
    fn fetch_chunk(RawResult) -> *mut RawChunk;
    fn create_logical_type(u32) -> *mut RawType;
    fn create_decimal_type(u8, u8) -> *mut RawType;
    fn destroy_logical_type(*mut *mut RawType);
    fn get_type_id(*mut RawType) -> u32;
    fn decimal_width(*mut RawType) -> u8;
    fn decimal_scale(*mut RawType) -> u8;
    fn create_data_chunk(*mut *mut RawType, u64) -> *mut RawChunk;
    fn destroy_data_chunk(*mut *mut RawChunk);
    fn data_chunk_reset(*mut RawChunk);
    fn data_chunk_get_size(*mut RawChunk) -> u64;
    fn data_chunk_set_size(*mut RawChunk, u64);
    fn data_chunk_get_vector(*mut RawChunk, u64) -> *mut RawVector;
    fn vector_size() -> u64;
    fn vector_get_data(*mut RawVector) -> *mut c_void;
    fn vector_get_validity(*mut RawVector) -> *mut u64;
    fn vector_ensure_validity_writable(*mut RawVector);
    fn vector_assign_string_element_len(*mut RawVector, u64, *const c_char, u64);
    fn appender_create(*mut RawConnection, *const c_char, *const c_char, *mut *mut RawAppender) -> u32;
    fn appender_add_column(*mut RawAppender, *const c_char) -> u32;
    fn appender_column_type(*mut RawAppender, u64) -> *mut RawType;
    fn appender_column_count(*mut RawAppender) -> u64;
    fn appender_error(*mut RawAppender) -> *const c_char;
    fn append_data_chunk(*mut RawAppender, *mut RawChunk) -> u32;
    fn appender_close(*mut RawAppender) -> u32;
    fn appender_destroy(*mut *mut RawAppender) -> u32;
}
