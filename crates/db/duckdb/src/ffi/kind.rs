//! Types of values, as far as perbuck reads and writes them.

use std::ptr;

use super::Library;
use super::api::RawType;

/// The type of a column or of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Int128,
    Float32,
    Float64,
    /// All its digits, and those after the point.
    Decimal {
        width: u8,
        scale: u8,
    },
    Text,
    Bytes,
    Date,
    Time,
    TimestampSeconds,
    TimestampMillis,
    Timestamp,
    TimestampZoned,
    /// The number of a type in `duckdb.h` that perbuck does not read.
    Other(u32),
}

/// Kinds with the numbers of their types in `duckdb.h`.
const NUMBERS: [(u32, Kind); 20] = [
    (1, Kind::Bool),
    (2, Kind::Int8),
    (3, Kind::Int16),
    (4, Kind::Int32),
    (5, Kind::Int64),
    (6, Kind::UInt8),
    (7, Kind::UInt16),
    (8, Kind::UInt32),
    (9, Kind::UInt64),
    (10, Kind::Float32),
    (11, Kind::Float64),
    (12, Kind::Timestamp),
    (13, Kind::Date),
    (14, Kind::Time),
    (16, Kind::Int128),
    (17, Kind::Text),
    (18, Kind::Bytes),
    (20, Kind::TimestampSeconds),
    (21, Kind::TimestampMillis),
    (31, Kind::TimestampZoned),
];
const DECIMAL: u32 = 19;

impl Kind {
    /// Bytes of a value in a vector; `None` where perbuck does not know.
    pub(super) fn width(self) -> Option<usize> {
        Some(match self {
            Self::Bool | Self::Int8 | Self::UInt8 => 1,
            Self::Int16 | Self::UInt16 => 2,
            Self::Int32 | Self::UInt32 | Self::Float32 | Self::Date => 4,
            Self::Int64 | Self::UInt64 | Self::Float64 | Self::Time => 8,
            Self::TimestampSeconds | Self::TimestampMillis | Self::Timestamp | Self::TimestampZoned => 8,
            Self::Int128 | Self::Text | Self::Bytes => 16,
            // As many bytes as its digits need.
            Self::Decimal { width: ..=4, .. } => 2,
            Self::Decimal { width: ..=9, .. } => 4,
            Self::Decimal { width: ..=18, .. } => 8,
            Self::Decimal { .. } => 16,
            Self::Other(_) => return None,
        })
    }

    /// The kind of a type that DuckDB has made for its caller, which is freed.
    ///
    /// # Safety
    /// The type is null or valid, and nothing else frees it.
    pub(super) unsafe fn take(library: &Library, mut raw: *mut RawType) -> Self {
        if raw.is_null() {
            return Self::Other(0);
        }
        let api = &library.api;
        // SAFETY: the type is valid until the last of these calls, which frees it, and is not used after it.
        unsafe {
            let number = (api.get_type_id)(raw);
            let kind = if number == DECIMAL {
                Self::Decimal { width: (api.decimal_width)(raw), scale: (api.decimal_scale)(raw) }
            } else {
                NUMBERS.iter().find(|(n, _)| *n == number).map_or(Self::Other(number), |(_, kind)| *kind)
            };
            (api.destroy_logical_type)(ptr::from_mut(&mut raw));
            kind
        }
    }

    /// A new type of this kind, which the caller frees; null for one that perbuck does not know.
    pub(super) fn make(self, library: &Library) -> *mut RawType {
        let number = NUMBERS.iter().find(|(_, kind)| *kind == self).map_or(0, |(number, _)| *number);
        // SAFETY: the functions take numbers alone, and an unknown one gives a type that is invalid, which can be freed like any other.
        unsafe {
            match self {
                Self::Decimal { width, scale } => (library.api.create_decimal_type)(width, scale),
                _ => (library.api.create_logical_type)(number),
            }
        }
    }
}
